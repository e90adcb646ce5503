// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "parts.h"

#include "theme.h"

#include <math.h>

text_style brush_style(const brush *b, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * b->s, .color = color, .anchor = anchor};
}

text_style brush_bold(const brush *b, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * b->s, .color = color, .anchor = anchor, .bold = true};
}

void brush_card(const brush *b, box a, uint32_t color)
{
    const float radius = 12 * b->s, edge = fmaxf(b->s, 1);
    canvas_box(b->canvas, (box){a.left - edge, a.top - edge, a.right + edge, a.bottom + edge}, radius + edge,
               THEME_EDGE);
    canvas_box(b->canvas, a, radius, color | 0xff);
}

void brush_label(const brush *b, float x, float y, uint32_t color, const char *text)
{
    const text_style look = brush_style(b, 13, 0xffffffff, TEXT_MIDDLE);
    const float width = text_width(b->fonts, look, text);
    canvas_box(b->canvas,
               (box){x - width / 2 - 14 * b->s, y - 18 * b->s, x + width / 2 + 14 * b->s, y + 9 * b->s},
               14 * b->s, color);
    text_draw(b->canvas, b->fonts, x, y, look, text);
}

void brush_message(const brush *b, const char *text)
{
    const text_style look = brush_style(b, 13, 0xffffffff, TEXT_MIDDLE);
    const float width = text_width(b->fonts, look, text), x = (float)b->canvas->width / 2;
    const float y = (float)b->canvas->height - 74 * b->s;
    canvas_box(b->canvas,
               (box){x - width / 2 - 18 * b->s, y - 21 * b->s, x + width / 2 + 18 * b->s, y + 13 * b->s},
               17 * b->s, 0x22303fe8);
    text_draw(b->canvas, b->fonts, x, y, look, text);
}

void brush_help(const brush *b, const char *const (*keys)[2], uint32_t count)
{
    const float width = 440 * b->s, line = 27 * b->s, height = line * (float)count + 84 * b->s;
    const float left = ((float)b->canvas->width - width) / 2, top = ((float)b->canvas->height - height) / 2;
    canvas_box(b->canvas, (box){0, 0, (float)b->canvas->width, (float)b->canvas->height}, 0, 0x22303f70);
    brush_card(b, (box){left, top, left + width, top + height}, THEME_CARD);
    text_draw(b->canvas, b->fonts, left + 32 * b->s, top + 44 * b->s, brush_bold(b, 18, THEME_INK, TEXT_LEFT),
              "Keys");
    for (uint32_t i = 0; i < count; i++) {
        const float y = top + 80 * b->s + line * (float)i;
        text_draw(b->canvas, b->fonts, left + 32 * b->s, y, brush_bold(b, 13, THEME_ACCENT, TEXT_LEFT),
                  keys[i][0]);
        text_draw(b->canvas, b->fonts, left + 168 * b->s, y, brush_style(b, 14, THEME_INK, TEXT_LEFT),
                  keys[i][1]);
    }
}
