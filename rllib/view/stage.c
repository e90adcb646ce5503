// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "stage.h"

#include "panel.h"
#include "theme.h"

#include <math.h>
#include <stdio.h>

static const float margin = 24, gap = 20, head_height = 58, foot_height = 40, panel_width = 328;

typedef struct brush {
    const stage *stage;
    canvas *canvas;
    fonts *fonts;
    float s; // pixels per unit
} brush;

static text_style style(const brush *b, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * b->s, .color = color, .anchor = anchor};
}

static text_style bold(const brush *b, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * b->s, .color = color, .anchor = anchor, .bold = true};
}

static void paint_card(const brush *b, box a, uint32_t color)
{
    const float radius = 12 * b->s, edge = fmaxf(b->s, 1);
    canvas_box(b->canvas, (box){a.left - edge, a.top - edge, a.right + edge, a.bottom + edge}, radius + edge,
               THEME_EDGE);
    canvas_box(b->canvas, a, radius, color | 0xff);
}

/// How an episode ended, over the foot of its picture.
static void paint_ending(const brush *b, const moment *m, box a)
{
    if (!m->ended) return;
    char text[96];
    snprintf(text, sizeof text, "%s after %u steps, return %.4g", m->terminated ? "ended" : "cut off",
             m->step, m->episode_return);
    const text_style look = style(b, 13, 0xffffffff, TEXT_MIDDLE);
    const float width = text_width(b->fonts, look, text), x = (a.left + a.right) / 2, y = a.top + 34 * b->s;
    canvas_box(b->canvas,
               (box){x - width / 2 - 14 * b->s, y - 18 * b->s, x + width / 2 + 14 * b->s, y + 9 * b->s},
               14 * b->s, m->terminated ? 0x22303fd0 : 0x4f9d69e0);
    text_draw(b->canvas, b->fonts, x, y, look, text);
}

static void paint_picture(const brush *b, const player *who, box card)
{
    const scene *drawn = player_scene(who);
    const float inset = 10 * b->s;
    paint_card(b, card, drawn->render != NULL ? drawn->render->background : THEME_CARD);
    const box inner = {card.left + inset, card.top + inset, card.right - inset, card.bottom - inset};
    if (drawn->render == NULL) {
        text_draw(b->canvas, b->fonts, (card.left + card.right) / 2, (card.top + card.bottom) / 2,
                  style(b, 15, THEME_FAINT, TEXT_MIDDLE), "This environment draws no picture");
    } else {
        scene_paint(drawn, b->canvas, b->fonts, scene_fit(drawn, inner));
    }
    paint_ending(b, player_moment(who), card);
}

static void paint_head(const brush *b)
{
    const stage *g = b->stage;
    const player *who = g->cells[0].player;
    const float left = margin * b->s, right = (float)b->canvas->width - margin * b->s;
    text_draw(b->canvas, b->fonts, left, 31 * b->s, bold(b, 20, THEME_INK, TEXT_LEFT),
              player_get_config(who)->type->id);
    text_draw(b->canvas, b->fonts, left, 51 * b->s, style(b, 13, THEME_SOFT, TEXT_LEFT),
              g->count == 1 ? g->cells[0].title : "the same seeds for each");
    text_printf(b->canvas, b->fonts, right, 31 * b->s, bold(b, 14, THEME_INK, TEXT_RIGHT), "episode %u",
                player_moment(who)->episode);
    text_printf(b->canvas, b->fonts, right, 51 * b->s, style(b, 13, THEME_SOFT, TEXT_RIGHT), "seed %llu%s",
                (unsigned long long)player_get_config(who)->seed,
                player_get_config(who)->stochastic ? ", drawn actions" : "");
    if (!g->recording) return;
    const float x = (float)b->canvas->width / 2;
    canvas_circle(b->canvas, x - 50 * b->s, 32 * b->s, 5 * b->s, THEME_WARM);
    text_draw(b->canvas, b->fonts, x - 38 * b->s, 37 * b->s, style(b, 13, THEME_WARM, TEXT_LEFT),
              "recording");
}

static void paint_transport(const brush *b, float x, float y)
{
    const float s = b->s;
    canvas_circle(b->canvas, x, y, 13 * s, THEME_INK);
    if (b->stage->playing) {
        canvas_box(b->canvas, (box){x - 4.5f * s, y - 5 * s, x - 1.5f * s, y + 5 * s}, s, 0xffffffff);
        canvas_box(b->canvas, (box){x + 1.5f * s, y - 5 * s, x + 4.5f * s, y + 5 * s}, s, 0xffffffff);
    } else {
        const float triangle[3][2] = {{x - 3.5f * s, y - 6 * s}, {x - 3.5f * s, y + 6 * s}, {x + 6 * s, y}};
        canvas_polygon(b->canvas, triangle, 3, 0xffffffff);
    }
}

static void paint_foot(const brush *b)
{
    const stage *g = b->stage;
    const float left = margin * b->s, right = (float)b->canvas->width - margin * b->s;
    const float y = (float)b->canvas->height - 25 * b->s, base = y + 5 * b->s;
    paint_transport(b, left + 13 * b->s, y);
    char text[96];
    snprintf(text, sizeof text, "%s   %gx%s", g->playing ? "playing" : "paused", g->speed,
             g->human ? "   you play: arrows, digits" : "");
    text_draw(b->canvas, b->fonts, left + 38 * b->s, base, style(b, 13, THEME_SOFT, TEXT_LEFT), text);
    text_draw(b->canvas, b->fonts, right, base, style(b, 13, THEME_FAINT, TEXT_RIGHT),
              "Space play    , . step    N next    +/- speed    H help");
}

static void paint_single(const brush *b, box area)
{
    const stage *g = b->stage;
    const player *who = g->cells[0].player;
    if (!g->panel) {
        paint_picture(b, who, area);
        return;
    }
    const float split = area.right - panel_width * b->s, pad = 22 * b->s;
    paint_picture(b, who, (box){area.left, area.top, split - gap * b->s, area.bottom});
    const box card = {split, area.top, area.right, area.bottom};
    paint_card(b, card, THEME_CARD);
    panel_paint(who, b->canvas, b->fonts,
                (box){card.left + pad, card.top + 18 * b->s, card.right - pad, card.bottom - 6 * b->s}, b->s,
                g->human);
}

static void paint_grid(const brush *b, box area)
{
    const stage *g = b->stage;
    const uint32_t columns = (uint32_t)ceil(sqrt((double)g->count)),
                   rows = (g->count + columns - 1) / columns;
    const float space = 14 * b->s, caption = 26 * b->s;
    const float width = (area.right - area.left - space * (float)(columns - 1)) / (float)columns;
    const float height = (area.bottom - area.top - space * (float)(rows - 1)) / (float)rows;
    for (uint32_t i = 0; i < g->count; i++) {
        const moment *m = player_moment(g->cells[i].player);
        const float left = area.left + (float)(i % columns) * (width + space);
        const float top = area.top + (float)(i / columns) * (height + space);
        const box clip = {left, top, left + width, top + height};
        canvas_clip(b->canvas, &clip);
        const text_style numbers = style(b, 12, THEME_SOFT, TEXT_RIGHT);
        text_printf(b->canvas, b->fonts, left + width, top + 15 * b->s, numbers, "%.4g   step %u",
                    m->episode_return, m->step);
        const box room = {left, top, left + width - 120 * b->s, top + height};
        canvas_clip(b->canvas, &room);
        text_draw(b->canvas, b->fonts, left, top + 15 * b->s, bold(b, 12, THEME_INK, TEXT_LEFT),
                  g->cells[i].title);
        canvas_clip(b->canvas, NULL);
        paint_picture(b, g->cells[i].player,
                      (box){left + b->s, top + caption, left + width - b->s, top + height - b->s});
    }
}

static const char *const keys[][2] = {
    {"Space", "play, pause"},
    {". or Right", "one step on"},
    {", or Left", "one step back"},
    {"N", "next episode"},
    {"R", "this episode again"},
    {"S", "another seed"},
    {"+  -", "faster, slower"},
    {"A", "the agent plays, or you do"},
    {"Arrows, 0-9", "actions, when you play"},
    {"P", "panel"},
    {"C", "picture of this view, as PNG"},
    {"V", "record a video, and stop"},
    {"F", "full screen"},
    {"H  Q", "this help, quit"},
};

static void paint_help(const brush *b)
{
    const uint32_t count = sizeof keys / sizeof keys[0];
    const float width = 440 * b->s, line = 27 * b->s, height = line * (float)count + 84 * b->s;
    const float left = ((float)b->canvas->width - width) / 2, top = ((float)b->canvas->height - height) / 2;
    canvas_box(b->canvas, (box){0, 0, (float)b->canvas->width, (float)b->canvas->height}, 0, 0x22303f70);
    paint_card(b, (box){left, top, left + width, top + height}, THEME_CARD);
    text_draw(b->canvas, b->fonts, left + 32 * b->s, top + 44 * b->s, bold(b, 18, THEME_INK, TEXT_LEFT),
              "Keys");
    for (uint32_t i = 0; i < count; i++) {
        const float y = top + 80 * b->s + line * (float)i;
        text_draw(b->canvas, b->fonts, left + 32 * b->s, y, bold(b, 13, THEME_ACCENT, TEXT_LEFT), keys[i][0]);
        text_draw(b->canvas, b->fonts, left + 168 * b->s, y, style(b, 14, THEME_INK, TEXT_LEFT), keys[i][1]);
    }
}

static void paint_message(const brush *b)
{
    const text_style look = style(b, 13, 0xffffffff, TEXT_MIDDLE);
    const float width = text_width(b->fonts, look, b->stage->message), x = (float)b->canvas->width / 2;
    const float y = (float)b->canvas->height - 74 * b->s;
    canvas_box(b->canvas,
               (box){x - width / 2 - 18 * b->s, y - 21 * b->s, x + width / 2 + 18 * b->s, y + 13 * b->s},
               17 * b->s, 0x22303fe8);
    text_draw(b->canvas, b->fonts, x, y, look, b->stage->message);
}

void stage_paint(const stage *g, canvas *c, fonts *f)
{
    const brush b = {g, c, f, g->scale};
    canvas_clip(c, NULL);
    canvas_clear(c, THEME_PAGE);
    const float foot = g->controls ? foot_height + 12 : margin;
    const box area = {margin * b.s, (head_height + 12) * b.s, (float)c->width - margin * b.s,
                      (float)c->height - foot * b.s};
    paint_head(&b);
    if (g->count == 1)
        paint_single(&b, area);
    else
        paint_grid(&b, area);
    if (g->controls) paint_foot(&b);
    if (g->message != NULL) paint_message(&b);
    if (g->help) paint_help(&b);
}
