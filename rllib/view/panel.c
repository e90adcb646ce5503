// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "panel.h"

#include "hands.h"
#include "theme.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdio.h>

enum { ROWS_MAX = 12, STRIP_MAX = 512, PAST_MAX = 240 };

/// A pen that moves down the column.
typedef struct pen {
    const player *player;
    canvas *canvas;
    fonts *fonts;
    float left, right, y, bottom, scale;
} pen;

static text_style style(const pen *p, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * p->scale, .color = color, .anchor = anchor};
}

static text_style bold(const pen *p, float size, uint32_t color, text_anchor anchor)
{
    return (text_style){.size = size * p->scale, .color = color, .anchor = anchor, .bold = true};
}

static float units(const pen *p, float amount)
{
    return amount * p->scale;
}

static void heading(pen *p, const char *text)
{
    p->y += units(p, 12);
    text_draw(p->canvas, p->fonts, p->left, p->y, bold(p, 11, THEME_FAINT, TEXT_LEFT), text);
}

static void rule(pen *p)
{
    p->y += units(p, 20);
    canvas_box(p->canvas, (box){p->left, roundf(p->y), p->right, roundf(p->y) + 1}, 0, THEME_EDGE);
    p->y += units(p, 18);
}

static void print_value(char *text, size_t size, double value)
{
    if (value == floor(value) && fabs(value) < 1e7)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, fabs(value) < 100 ? "%.2f" : "%.1f", value);
}

// --- sections ---------------------------------------------------------------------------------------------

static void paint_return(pen *p)
{
    const moment *m = player_moment(p->player);
    const float middle = p->left + (p->right - p->left) * 0.52f,
                last = p->left + (p->right - p->left) * 0.76f;
    const float top = p->y + units(p, 12);
    char text[48];
    heading(p, "RETURN");
    text_draw(p->canvas, p->fonts, middle, top, bold(p, 11, THEME_FAINT, TEXT_LEFT), "STEP");
    text_draw(p->canvas, p->fonts, last, top, bold(p, 11, THEME_FAINT, TEXT_LEFT), "REWARD");
    p->y += units(p, 36);
    print_value(text, sizeof text, m->episode_return);
    text_draw(p->canvas, p->fonts, p->left, p->y, bold(p, 34, THEME_INK, TEXT_LEFT), text);
    text_printf(p->canvas, p->fonts, middle, p->y, style(p, 20, THEME_INK, TEXT_LEFT), "%u", m->step);
    print_value(text, sizeof text, m->reward);
    text_draw(p->canvas, p->fonts, last, p->y, style(p, 20, THEME_INK, TEXT_LEFT), m->step > 0 ? text : "-");
    rule(p);
}

/// The values of the episode so far, in a band of their range.
static void paint_curve(const pen *p, box area)
{
    const moment *past;
    const uint32_t count = player_past(p->player, PAST_MAX, &past);
    float low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        low = fminf(low, past[i].value);
        high = fmaxf(high, past[i].value);
    }
    const float middle = (low + high) / 2,
                reach = fmaxf((high - low) / 2, fmaxf(fabsf(middle) * 0.02f, 1e-3f));
    const float step = (area.right - area.left) / (PAST_MAX - 1);
    float x = area.left, y = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float next_x = area.left + step * (float)i;
        const float next_y =
            (area.top + area.bottom) / 2 - (past[i].value - middle) / reach * (area.bottom - area.top) / 2;
        if (i > 0) canvas_line(p->canvas, x, y, next_x, next_y, units(p, 1.6f), THEME_ACCENT);
        x = next_x;
        y = next_y;
    }
    if (count > 0) canvas_circle(p->canvas, x, y, units(p, 3), THEME_ACCENT);
}

static void paint_worth(pen *p)
{
    if (player_get_config(p->player)->policy == NULL) return;
    heading(p, "VALUE");
    const float top = p->y - units(p, 6);
    text_printf(p->canvas, p->fonts, p->left, p->y + units(p, 26), style(p, 20, THEME_INK, TEXT_LEFT), "%.2f",
                (double)player_moment(p->player)->value);
    p->y += units(p, 62);
    const float start = p->left + (p->right - p->left) * 0.34f;
    paint_curve(p, (box){start, top, p->right - units(p, 3), p->y + units(p, 2)});
    rule(p);
}

static void paint_action(pen *p, const opinion *o, uint32_t action, bool chosen)
{
    char name[32];
    const float track = p->left + units(p, 84), end = p->right - units(p, 54), thickness = units(p, 8);
    const uint32_t ink = chosen ? THEME_INK : THEME_SOFT;
    p->y += units(p, 25);
    const float top = roundf(p->y - units(p, 8));
    text_draw(p->canvas, p->fonts, p->left, p->y, style(p, 13, ink, TEXT_LEFT),
              hands_action_name(player_get_config(p->player)->type, (int32_t)action, name, sizeof name));
    canvas_box(p->canvas, (box){track, top, end, top + thickness}, thickness, THEME_TRACK);
    if (o->share[action] > 0.002f)
        canvas_box(p->canvas, (box){track, top, track + (end - track) * o->share[action], top + thickness},
                   thickness, chosen ? THEME_ACCENT : THEME_PALE);
    text_printf(p->canvas, p->fonts, p->right, p->y, style(p, 13, ink, TEXT_RIGHT),
                o->worths ? "%.2f" : "%.1f %%", (o->worths ? 1 : 100) * (double)o->number[action]);
}

static void paint_last_action(pen *p, bool human)
{
    char name[32] = "-";
    const int32_t last = player_moment(p->player)->action;
    if (last >= 0) hands_action_name(player_get_config(p->player)->type, last, name, sizeof name);
    heading(p, "LAST ACTION");
    p->y += units(p, 24);
    text_draw(p->canvas, p->fonts, p->left, p->y, style(p, 16, THEME_INK, TEXT_LEFT), name);
    text_draw(p->canvas, p->fonts, p->right, p->y, style(p, 13, THEME_FAINT, TEXT_RIGHT),
              human ? "yours" : "drawn evenly");
    rule(p);
}

static void paint_actions(pen *p, bool human)
{
    const opinion o = player_opinion(p->player);
    const moment *next = player_next(p->player);
    const int32_t chosen = next != NULL ? next->action : player_choice(p->player);
    if (o.count == 0) {
        paint_last_action(p, human);
        return;
    }
    heading(p, o.worths ? "WORTH OF ACTIONS" : "ACTIONS");
    for (uint32_t i = 0; i < o.count && i < ROWS_MAX; i++)
        paint_action(p, &o, i, (int32_t)i == chosen);
    rule(p);
}

/// What the environment says of itself, if anything.
static void paint_info(pen *p)
{
    const corral_env_info *info = corral_env_extension(player_get_config(p->player)->type, CORRAL_ENV_INFO);
    const moment *now = player_moment(p->player);
    if (info == NULL) return;
    heading(p, "INFO");
    for (uint32_t i = 0; i < info->count; i++) {
        char text[48] = "-";
        if (now->step > 0 && !isnan(now->info[i])) print_value(text, sizeof text, now->info[i]);
        p->y += units(p, 23);
        text_draw(p->canvas, p->fonts, p->left, p->y, style(p, 13, THEME_SOFT, TEXT_LEFT), info->name[i]);
        text_draw(p->canvas, p->fonts, p->right, p->y, style(p, 13, THEME_INK, TEXT_RIGHT), text);
    }
    rule(p);
}

/// -1..1: by its bounds where they are near, else bent, so that any number fits.
static float bend(const corral_space *leaf, uint32_t i, float value)
{
    const double low = leaf->low_each != NULL ? leaf->low_each[i] : leaf->low;
    const double high = leaf->high_each != NULL ? leaf->high_each[i] : leaf->high;
    const double reach = fmax(fabs(low), fabs(high));
    if (leaf->kind == CORRAL_SPACE_BOX && reach > 0 && reach <= 1000) return (float)(value / reach);
    return value / (1 + fabsf(value));
}

static void paint_number(pen *p, uint32_t i, float value)
{
    const corral_space *leaf = &player_get_config(p->player)->type->spaces.observation[0];
    const float track = p->left + units(p, 30), end = p->right - units(p, 68), thickness = units(p, 6);
    const float middle = (track + end) / 2, share = fminf(fmaxf(bend(leaf, i, value), -1), 1);
    p->y += units(p, 24);
    const float top = roundf(p->y - units(p, 7)), tip = middle + (end - track) / 2 * share;
    text_printf(p->canvas, p->fonts, p->left, p->y, style(p, 13, THEME_FAINT, TEXT_LEFT), "%u", i);
    canvas_box(p->canvas, (box){track, top, end, top + thickness}, thickness, THEME_TRACK);
    canvas_box(p->canvas, (box){fminf(middle, tip), top, fmaxf(middle, tip), top + thickness}, thickness,
               value < 0 ? THEME_WARM : THEME_GREEN);
    canvas_box(p->canvas,
               (box){roundf(middle), top - units(p, 1), roundf(middle) + 1, top + thickness + units(p, 1)}, 0,
               THEME_FAINT);
    text_printf(p->canvas, p->fonts, p->right, p->y, style(p, 13, THEME_INK, TEXT_RIGHT), "%.3f",
                (double)value);
}

/// Many numbers as a strip of thin bars about a line.
static void paint_strip(pen *p, const float *value, uint32_t count)
{
    const corral_space *leaf = &player_get_config(p->player)->type->spaces.observation[0];
    const float height = units(p, 30), middle = p->y + units(p, 16) + height;
    const float step = (p->right - p->left) / (float)count;
    for (uint32_t i = 0; i < count; i++) {
        const float share = fminf(fmaxf(bend(leaf, i, value[i]), -1), 1), x = p->left + step * (float)i;
        canvas_box(p->canvas,
                   (box){x, fminf(middle, middle - height * share), x + fmaxf(step * 0.8f, 1),
                         fmaxf(middle, middle - height * share)},
                   0, value[i] < 0 ? THEME_WARM : THEME_GREEN);
    }
    p->y = middle + height;
}

static void paint_observation(pen *p)
{
    float value[STRIP_MAX];
    const uint32_t count = player_observation(p->player, value, STRIP_MAX);
    const corral_space *leaf = &player_get_config(p->player)->type->spaces.observation[0];
    heading(p, "OBSERVATION");
    if (leaf->kind != CORRAL_SPACE_BOX && count == 1) {
        p->y += units(p, 24);
        text_printf(p->canvas, p->fonts, p->left, p->y, style(p, 16, THEME_INK, TEXT_LEFT), "%.0f",
                    (double)value[0]);
    } else if (count <= ROWS_MAX) {
        for (uint32_t i = 0; i < count; i++)
            paint_number(p, i, value[i]);
    } else {
        text_printf(p->canvas, p->fonts, p->right, p->y, style(p, 11, THEME_FAINT, TEXT_RIGHT), "%u numbers",
                    count);
        paint_strip(p, value, count < STRIP_MAX ? count : STRIP_MAX);
    }
}

void panel_paint(const player *who, canvas *c, fonts *f, box area, float scale, bool human)
{
    const box before = c->clip;
    canvas_clip(c, &area);
    pen p = {who, c, f, area.left, area.right, area.top, area.bottom, scale};
    paint_return(&p);
    paint_worth(&p);
    if (p.y < p.bottom) paint_actions(&p, human);
    if (p.y < p.bottom) paint_info(&p);
    if (p.y < p.bottom) paint_observation(&p);
    canvas_clip(c, &before);
}
