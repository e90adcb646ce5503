// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// GIF, frame by frame.
//
// Each frame is the smallest rectangle that differs from the one before, with a palette of its own. Colours
// are counted in 32 x 32 x 32 bins; the fullest 256 bins give the palette (each the mean of its pixels, so
// that flat colours stay as they are), and the others go to the nearest of them.
//
// A GIF counts time in hundredths of a second. Frame k is shown until the hundredth nearest to (k + 1) / fps,
// so that roundings do not add up. Viewers show delays below 2/100 s as a tenth: 50 frames per second are the
// most.

#include "film_format.h"

#include <gif_lib.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 1 << 15, COLORS = 256 };

typedef struct bin {
    uint32_t count;
    uint32_t sum[3];
    int16_t color; // of the palette, -1: not decided
} bin;

typedef struct gif_writer {
    GifFileType *file;
    uint32_t width, height, frames;
    double fps;
    uint8_t *last; // [height, width, 3] the frame before
    uint8_t *line; // [width] colour numbers
    bin *bins;     // [BINS]
    uint16_t used[BINS];
} gif_writer;

typedef struct area {
    uint32_t left, top, width, height;
} area;

static corral_status gif_fail(const gif_writer *w)
{
    const char *said = GifErrorString(w->file != NULL ? w->file->Error : E_GIF_ERR_OPEN_FAILED);
    return corral_fail(CORRAL_ERROR_IO, "the GIF cannot be written: %s",
                       said != NULL ? said : "unknown error");
}

static corral_status gif_close(void *writer, bool keep)
{
    gif_writer *w = writer;
    corral_status status = CORRAL_OK;
    if (keep && w->frames == 0) status = corral_fail(CORRAL_ERROR_EMPTY, "a recording without frames");
    int error = 0;
    if (w->file != NULL && EGifCloseFile(w->file, &error) != GIF_OK && keep)
        status = corral_fail(CORRAL_ERROR_IO, "the GIF cannot be finished: %s", GifErrorString(error));
    free(w->last);
    free(w->line);
    free(w->bins);
    free(w);
    return status;
}

/// The screen's size, and the extension that lets viewers play it again and again.
static bool write_head(gif_writer *w)
{
    unsigned char again[3] = {1, 0, 0};
    EGifSetGifVersion(w->file, true);
    return EGifPutScreenDesc(w->file, (int)w->width, (int)w->height, 8, 0, NULL) == GIF_OK &&
           EGifPutExtensionLeader(w->file, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
           EGifPutExtensionBlock(w->file, 11, "NETSCAPE2.0") == GIF_OK &&
           EGifPutExtensionBlock(w->file, sizeof again, again) == GIF_OK &&
           EGifPutExtensionTrailer(w->file) == GIF_OK;
}

static corral_status gif_open(const char *path, uint32_t width, uint32_t height, double fps,
                              void **out_writer)
{
    gif_writer *w = calloc(1, sizeof *w);
    if (w == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a GIF");
    w->width = width;
    w->height = height;
    w->fps = fps;
    w->last = malloc((size_t)width * height * 3);
    w->line = malloc(width);
    w->bins = calloc(BINS, sizeof *w->bins);
    corral_status status = CORRAL_OK;
    if (w->last == NULL || w->line == NULL || w->bins == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a GIF");
    int error = 0;
    if (status == CORRAL_OK) {
        const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        w->file = descriptor >= 0 ? EGifOpenFileHandle(descriptor, &error) : NULL;
        if (descriptor < 0)
            status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot create %s", path);
        else if (w->file == NULL) // which has closed the descriptor
            status = corral_fail(CORRAL_ERROR_IO, "cannot create %s: %s", path, GifErrorString(error));
        else if (!write_head(w))
            status = gif_fail(w);
    }
    if (status != CORRAL_OK) {
        (void)gif_close(w, false);
        return status;
    }
    *out_writer = w;
    return CORRAL_OK;
}

// --- what changed, and its colours ------------------------------------------------------------------------

static const uint8_t *pixel_at(const canvas *frame, uint32_t x, uint32_t y)
{
    return frame->rgb + ((size_t)y * frame->width + x) * 3;
}

/// The rectangle that differs from the last frame; one pixel where nothing does.
static area find_change(const gif_writer *w, const canvas *frame)
{
    if (w->frames == 0) return (area){0, 0, w->width, w->height};
    uint32_t left = w->width, top = w->height, right = 0, bottom = 0;
    for (uint32_t y = 0; y < w->height; y++) {
        const uint8_t *now = pixel_at(frame, 0, y), *then = w->last + (size_t)y * w->width * 3;
        if (memcmp(now, then, (size_t)w->width * 3) == 0) continue;
        uint32_t first = 0, end = w->width;
        while (memcmp(now + first * 3, then + first * 3, 3) == 0)
            first++;
        while (memcmp(now + (end - 1) * 3, then + (end - 1) * 3, 3) == 0)
            end--;
        left = first < left ? first : left;
        right = end > right ? end : right;
        top = y < top ? y : top;
        bottom = y + 1;
    }
    return bottom == 0 ? (area){0, 0, 1, 1} : (area){left, top, right - left, bottom - top};
}

static uint32_t bin_of(const uint8_t *pixel)
{
    return (uint32_t)(pixel[0] >> 3) << 10 | (uint32_t)(pixel[1] >> 3) << 5 | pixel[2] >> 3;
}

/// Returns how many bins hold something; w->used lists them.
static uint32_t count_colors(gif_writer *w, const canvas *frame, area a)
{
    uint32_t used = 0;
    for (uint32_t y = a.top; y < a.top + a.height; y++) {
        for (uint32_t x = a.left; x < a.left + a.width; x++) {
            const uint8_t *pixel = pixel_at(frame, x, y);
            bin *b = &w->bins[bin_of(pixel)];
            if (b->count++ == 0) w->used[used++] = (uint16_t)bin_of(pixel);
            for (int i = 0; i < 3; i++)
                b->sum[i] += pixel[i];
        }
    }
    return used;
}

static int fullest_first(const void *a, const void *b, void *context)
{
    const bin *bins = context;
    const uint32_t x = bins[*(const uint16_t *)a].count, y = bins[*(const uint16_t *)b].count;
    if (x != y) return x < y ? 1 : -1;
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static int distance(const GifColorType *color, const int *rgb)
{
    const int red = color->Red - rgb[0], green = color->Green - rgb[1], blue = color->Blue - rgb[2];
    return 3 * red * red + 6 * green * green + blue * blue;
}

static int nearest(const GifColorType *palette, uint32_t count, const bin *b)
{
    int rgb[3], best = 0;
    for (int i = 0; i < 3; i++)
        rgb[i] = (int)(b->sum[i] / b->count);
    for (uint32_t i = 1; i < count; i++)
        if (distance(&palette[i], rgb) < distance(&palette[best], rgb)) best = (int)i;
    return best;
}

/// Decides the colour number of every bin that is used. Returns how many colours there are.
static uint32_t make_palette(gif_writer *w, uint32_t used, GifColorType *palette)
{
    qsort_r(w->used, used, sizeof w->used[0], fullest_first, w->bins);
    const uint32_t count = used < COLORS ? used : COLORS;
    for (uint32_t i = 0; i < count; i++) {
        bin *b = &w->bins[w->used[i]];
        palette[i] = (GifColorType){(GifByteType)((b->sum[0] + b->count / 2) / b->count),
                                    (GifByteType)((b->sum[1] + b->count / 2) / b->count),
                                    (GifByteType)((b->sum[2] + b->count / 2) / b->count)};
        b->color = (int16_t)i;
    }
    for (uint32_t i = count; i < used; i++)
        w->bins[w->used[i]].color = (int16_t)nearest(palette, count, &w->bins[w->used[i]]);
    return count;
}

// --- writing ----------------------------------------------------------------------------------------------

static bool put_timing(gif_writer *w)
{
    const double until = round((w->frames + 1) * 100 / w->fps), from = round(w->frames * 100 / w->fps);
    const GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT,
                                          .UserInputFlag = false,
                                          .DelayTime = (int)fmin(fmax(until - from, 2), 65535),
                                          .TransparentColor = NO_TRANSPARENT_COLOR};
    GifByteType bytes[4];
    const size_t size = EGifGCBToExtension(&control, bytes);
    return EGifPutExtension(w->file, GRAPHICS_EXT_FUNC_CODE, (int)size, bytes) == GIF_OK;
}

static bool put_lines(gif_writer *w, const canvas *frame, area a)
{
    for (uint32_t y = a.top; y < a.top + a.height; y++) {
        for (uint32_t x = 0; x < a.width; x++)
            w->line[x] = (uint8_t)w->bins[bin_of(pixel_at(frame, a.left + x, y))].color;
        if (EGifPutLine(w->file, w->line, (int)a.width) != GIF_OK) return false;
    }
    return true;
}

static corral_status gif_add(void *writer, const canvas *frame)
{
    gif_writer *w = writer;
    const area a = find_change(w, frame);
    const uint32_t used = count_colors(w, frame, a);
    GifColorType palette[COLORS] = {{0}};
    const uint32_t count = make_palette(w, used, palette);
    int size = 2; // of the palette: a power of two
    while (size < (int)count)
        size *= 2;
    ColorMapObject *map = GifMakeMapObject(size, palette);
    const bool good = map != NULL && put_timing(w) &&
                      EGifPutImageDesc(w->file, (int)a.left, (int)a.top, (int)a.width, (int)a.height, false,
                                       map) == GIF_OK &&
                      put_lines(w, frame, a);
    GifFreeMapObject(map);
    for (uint32_t i = 0; i < used; i++)
        w->bins[w->used[i]] = (bin){0};
    if (!good) return gif_fail(w);
    memcpy(w->last, frame->rgb, (size_t)w->width * w->height * 3);
    w->frames++;
    return CORRAL_OK;
}

const film_format film_gif = {".gif", 50, gif_open, gif_add, gif_close};
