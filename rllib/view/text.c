// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "text.h"

#include "corral/base/file.h"

#include <SDL2/SDL_ttf.h>

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPEN_MAX = 48, SIZE_MAX_PIXELS = 400 };

typedef struct open_font {
    TTF_Font *font;
    int size;
    bool bold;
} open_font;

struct fonts {
    char *plain, *bold; // paths
    open_font open[OPEN_MAX];
    int count;
};

static const char *const places[] = {
    "/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu-sans-fonts",
    "/usr/share/fonts/dejavu",          "/usr/share/fonts/TTF",
    "/usr/local/share/fonts",
};

static corral_status find_files(fonts *f)
{
    const char *own = getenv("CORRAL_FONT");
    if (own != NULL && own[0] != '\0') {
        f->plain = corral_format("%s", own);
        f->bold = corral_format("%s", own);
    }
    for (size_t i = 0; f->plain == NULL && i < sizeof places / sizeof places[0]; i++) {
        char *path = corral_format("%s/DejaVuSans.ttf", places[i]);
        if (path != NULL && access(path, R_OK) == 0) {
            f->plain = path;
            f->bold = corral_format("%s/DejaVuSans-Bold.ttf", places[i]);
        } else {
            free(path);
        }
    }
    if (f->plain != NULL && f->bold != NULL && access(f->plain, R_OK) == 0) return CORRAL_OK;
    if (own != NULL && own[0] != '\0')
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "CORRAL_FONT: cannot read %s", own);
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "no font found: install fonts-dejavu-core, or let CORRAL_FONT "
                                               "name a font file");
}

corral_status fonts_open(fonts **out_fonts)
{
    fonts *f = calloc(1, sizeof *f);
    if (f == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for fonts");
    if (TTF_Init() != 0) {
        free(f);
        return corral_fail(CORRAL_ERROR_IO, "SDL2_ttf does not start: %s", TTF_GetError());
    }
    const corral_status status = find_files(f);
    if (status != CORRAL_OK) {
        fonts_close(f);
        return status;
    }
    *out_fonts = f;
    return CORRAL_OK;
}

void fonts_close(fonts *f)
{
    if (f == NULL) return;
    for (int i = 0; i < f->count; i++)
        TTF_CloseFont(f->open[i].font);
    TTF_Quit();
    free(f->plain);
    free(f->bold);
    free(f);
}

/// Opened once per size; when there are too many, the oldest is closed.
static TTF_Font *font_of(fonts *f, text_style style)
{
    if (!(style.size >= 1 && style.size <= SIZE_MAX_PIXELS)) return NULL;
    const int size = (int)lroundf(style.size);
    for (int i = 0; i < f->count; i++)
        if (f->open[i].size == size && f->open[i].bold == style.bold) return f->open[i].font;

    TTF_Font *font = TTF_OpenFont(style.bold ? f->bold : f->plain, size);
    if (font == NULL) font = TTF_OpenFont(f->plain, size);
    if (font == NULL) return NULL;
    TTF_SetFontHinting(font, TTF_HINTING_LIGHT);
    if (f->count == OPEN_MAX) {
        TTF_CloseFont(f->open[0].font);
        memmove(f->open, f->open + 1, (OPEN_MAX - 1) * sizeof f->open[0]);
        f->count--;
    }
    f->open[f->count++] = (open_font){font, size, style.bold};
    return font;
}

float text_width(fonts *f, text_style style, const char *text)
{
    TTF_Font *font = font_of(f, style);
    int width = 0;
    if (font == NULL || text[0] == '\0' || TTF_SizeUTF8(font, text, &width, NULL) != 0) return 0;
    return (float)width;
}

static void paint(canvas *c, const SDL_Surface *glyphs, int32_t left, int32_t top, uint32_t color)
{
    for (int y = 0; y < glyphs->h; y++) {
        const uint8_t *row = (const uint8_t *)glyphs->pixels + (size_t)y * (size_t)glyphs->pitch;
        for (int x = 0; x < glyphs->w; x++) {
            uint32_t pixel; // ARGB
            memcpy(&pixel, row + (size_t)x * 4, sizeof pixel);
            if (pixel >> 24 != 0) canvas_pixel(c, left + x, top + y, color, (float)(pixel >> 24) / 255);
        }
    }
}

float text_draw(canvas *c, fonts *f, float x, float y, text_style style, const char *text)
{
    TTF_Font *font = font_of(f, style);
    if (font == NULL || text[0] == '\0' || !(fabsf(x) < 1e5f && fabsf(y) < 1e5f)) return 0;
    SDL_Surface *glyphs = TTF_RenderUTF8_Blended(font, text, (SDL_Color){255, 255, 255, 255});
    if (glyphs == NULL) return 0;
    const float width = (float)glyphs->w;
    const float left = x - (style.anchor == TEXT_LEFT ? 0 : style.anchor == TEXT_MIDDLE ? width / 2 : width);
    paint(c, glyphs, (int32_t)lroundf(left), (int32_t)lroundf(y) - TTF_FontAscent(font), style.color);
    SDL_FreeSurface(glyphs);
    return width;
}

float text_printf(canvas *c, fonts *f, float x, float y, text_style style, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text_draw(c, f, x, y, style, text);
}
