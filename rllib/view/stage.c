// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "stage.h"

#include "panel.h"
#include "parts.h"
#include "theme.h"

#include <math.h>
#include <stdio.h>

static const float margin = 24, gap = 20, head_height = 58, foot_height = 40, panel_width = 328;

/// How an episode ended, over the foot of its picture.
static void paint_ending(const brush *b, const moment *m, box a)
{
    if (!m->ended) return;
    char text[96];
    snprintf(text, sizeof text, "%s after %u steps, return %.4g", m->terminated ? "ended" : "cut off",
             m->step, m->episode_return);
    brush_label(b, (a.left + a.right) / 2, a.top + 34 * b->s, m->terminated ? 0x22303fd0 : 0x4f9d69e0, text);
}

static void paint_picture(const brush *b, const stage *g, const player *who, box card)
{
    const scene *drawn = player_scene(who);
    const float inset = 10 * b->s;
    brush_card(b, card, drawn->render != NULL ? drawn->render->background : THEME_CARD);
    const box inner = {card.left + inset, card.top + inset, card.right - inset, card.bottom - inset};
    if (drawn->render == NULL) {
        text_draw(b->canvas, b->fonts, (card.left + card.right) / 2, (card.top + card.bottom) / 2,
                  brush_style(b, 15, THEME_FAINT, TEXT_MIDDLE), "This environment draws no picture");
    } else {
        const box fit = scene_fit(drawn, inner), before = b->canvas->clip;
        canvas_clip(b->canvas, g->zoom.times > 1 ? &inner : &fit);
        scene_paint(drawn, b->canvas, b->fonts, g->zoom.times > 1 ? scene_zoom(fit, g->zoom) : fit);
        canvas_clip(b->canvas, &before);
    }
    paint_ending(b, player_moment(who), card);
}

static void paint_head(const brush *b, const stage *g)
{
    const player *who = g->cells[0].player;
    const float left = margin * b->s, right = (float)b->canvas->width - margin * b->s;
    text_draw(b->canvas, b->fonts, left, 31 * b->s, brush_bold(b, 20, THEME_INK, TEXT_LEFT),
              player_get_config(who)->type->id);
    text_draw(b->canvas, b->fonts, left, 51 * b->s, brush_style(b, 13, THEME_SOFT, TEXT_LEFT),
              g->count == 1 ? g->cells[0].title : "the same seeds for each");
    text_printf(b->canvas, b->fonts, right, 31 * b->s, brush_bold(b, 14, THEME_INK, TEXT_RIGHT), "episode %u",
                player_moment(who)->episode);
    text_printf(b->canvas, b->fonts, right, 51 * b->s, brush_style(b, 13, THEME_SOFT, TEXT_RIGHT),
                "seed %llu%s", (unsigned long long)player_get_config(who)->seed,
                player_get_config(who)->stochastic ? ", drawn actions" : "");
    if (g->rival != NULL)
        text_draw(b->canvas, b->fonts, (float)b->canvas->width / 2, 51 * b->s,
                  brush_bold(b, 13, THEME_ACCENT, TEXT_MIDDLE), g->rival);
    if (!g->recording) return;
    const float x = (float)b->canvas->width / 2;
    canvas_circle(b->canvas, x - 50 * b->s, 32 * b->s, 5 * b->s, THEME_WARM);
    text_draw(b->canvas, b->fonts, x - 38 * b->s, 37 * b->s, brush_style(b, 13, THEME_WARM, TEXT_LEFT),
              "recording");
}

static void paint_transport(const brush *b, const stage *g, float x, float y)
{
    const float s = b->s;
    canvas_circle(b->canvas, x, y, 13 * s, THEME_INK);
    if (g->playing) {
        canvas_box(b->canvas, (box){x - 4.5f * s, y - 5 * s, x - 1.5f * s, y + 5 * s}, s, 0xffffffff);
        canvas_box(b->canvas, (box){x + 1.5f * s, y - 5 * s, x + 4.5f * s, y + 5 * s}, s, 0xffffffff);
    } else {
        const float triangle[3][2] = {{x - 3.5f * s, y - 6 * s}, {x - 3.5f * s, y + 6 * s}, {x + 6 * s, y}};
        canvas_polygon(b->canvas, triangle, 3, 0xffffffff);
    }
}

static void paint_foot(const brush *b, const stage *g)
{
    const float left = margin * b->s, right = (float)b->canvas->width - margin * b->s;
    const float y = (float)b->canvas->height - 25 * b->s, base = y + 5 * b->s;
    paint_transport(b, g, left + 13 * b->s, y);
    const corral_env_keys *keys = g->human ? player_keys(g->cells[0].player) : NULL;
    const char *hands = keys != NULL ? keys->help : "arrows, digits";
    char text[160];
    snprintf(text, sizeof text, "%s   %gx%s%s", g->playing ? "playing" : "paused", g->speed,
             g->human ? "   you play: " : "", g->human ? hands : "");
    text_draw(b->canvas, b->fonts, left + 38 * b->s, base, brush_style(b, 13, THEME_SOFT, TEXT_LEFT), text);
    text_draw(b->canvas, b->fonts, right, base, brush_style(b, 13, THEME_FAINT, TEXT_RIGHT),
              "Space play    , . step    N next    +/- speed    H help");
}

static void paint_single(const brush *b, const stage *g, box area)
{
    const player *who = g->cells[0].player;
    if (!g->panel) {
        paint_picture(b, g, who, area);
        return;
    }
    const float split = area.right - panel_width * b->s, pad = 22 * b->s;
    paint_picture(b, g, who, (box){area.left, area.top, split - gap * b->s, area.bottom});
    const box card = {split, area.top, area.right, area.bottom};
    brush_card(b, card, THEME_CARD);
    panel_paint(who, b->canvas, b->fonts,
                (box){card.left + pad, card.top + 18 * b->s, card.right - pad, card.bottom - 6 * b->s}, b->s,
                g->human);
}

static void paint_grid(const brush *b, const stage *g, box area)
{
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
        const text_style numbers = brush_style(b, 12, THEME_SOFT, TEXT_RIGHT);
        text_printf(b->canvas, b->fonts, left + width, top + 15 * b->s, numbers, "%.4g   step %u",
                    m->episode_return, m->step);
        const box room = {left, top, left + width - 120 * b->s, top + height};
        canvas_clip(b->canvas, &room);
        text_draw(b->canvas, b->fonts, left, top + 15 * b->s, brush_bold(b, 12, THEME_INK, TEXT_LEFT),
                  g->cells[i].title);
        canvas_clip(b->canvas, NULL);
        paint_picture(b, g, g->cells[i].player,
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
    {"Z, wheel", "zoom in, and out again"},
    {"C", "picture of this view, as PNG"},
    {"V", "record a video, and stop"},
    {"F", "full screen"},
    {"H  Q", "this help, quit"},
};

void stage_paint(const stage *g, canvas *c, fonts *f)
{
    const brush b = {c, f, g->scale};
    canvas_clip(c, NULL);
    canvas_clear(c, THEME_PAGE);
    const float foot = g->controls ? foot_height + 12 : margin;
    const box area = {margin * b.s, (head_height + 12) * b.s, (float)c->width - margin * b.s,
                      (float)c->height - foot * b.s};
    paint_head(&b, g);
    if (g->count == 1)
        paint_single(&b, g, area);
    else
        paint_grid(&b, g, area);
    if (g->controls) paint_foot(&b, g);
    if (g->message != NULL) brush_message(&b, g->message);
    if (g->help) brush_help(&b, keys, sizeof keys / sizeof keys[0]);
}
