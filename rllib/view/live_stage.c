// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "live_stage.h"

#include "chart.h"
#include "parts.h"
#include "theme.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const float margin = 24, gap = 20, head_height = 58, foot_height = 40, panel_width = 328;

// --- cells ------------------------------------------------------------------------------------------------

static void paint_caption(const brush *b, const live_frame *f, const watch *w, box a)
{
    char who[64], what[64];
    if (w->hello.workers > 0)
        snprintf(who, sizeof who, "worker %u, environment %u", f->worker, f->environment);
    else
        snprintf(who, sizeof who, "environment %u", f->environment);
    snprintf(what, sizeof what, "step %u   return %.4g", f->step, f->episode_return);
    const float base = a.bottom - 10 * b->s;
    const text_style left = brush_style(b, 12, THEME_SOFT, TEXT_LEFT),
                     right = brush_style(b, 12, THEME_INK, TEXT_RIGHT);
    text_draw(b->canvas, b->fonts, a.right - 14 * b->s, base, right, what);
    const float room = a.right - a.left - 40 * b->s - text_width(b->fonts, right, what);
    if (text_width(b->fonts, left, who) <= room)
        text_draw(b->canvas, b->fonts, a.left + 14 * b->s, base, left, who);
}

static void paint_cell(const brush *b, const watch *w, const watch_cell *c, box card)
{
    const float inset = 8 * b->s, foot = 30 * b->s;
    brush_card(b, card, w->hello.width > 0 ? w->hello.background : THEME_CARD);
    const float x = (card.left + card.right) / 2, y = (card.top + card.bottom) / 2;
    const box inner = {card.left + inset, card.top + inset, card.right - inset, card.bottom - foot};
    if (c->scene.render == NULL)
        text_draw(b->canvas, b->fonts, x, y, brush_style(b, 14, THEME_FAINT, TEXT_MIDDLE),
                  "This environment draws no picture");
    else if (!c->filled)
        text_draw(b->canvas, b->fonts, x, y, brush_style(b, 14, THEME_FAINT, TEXT_MIDDLE),
                  w->ended ? "The run has ended" : "Waiting for an episode to begin");
    else
        scene_paint(&c->scene, b->canvas, b->fonts, scene_fit(&c->scene, inner));
    if (!c->filled) return;
    if (c->frame.ended) {
        char text[64];
        snprintf(text, sizeof text, "%s, return %.4g", c->frame.terminated ? "ended" : "cut off",
                 c->frame.episode_return);
        brush_label(b, x, card.top + 30 * b->s, c->frame.terminated ? 0x22303fd0 : 0x4f9d69e0, text);
    }
    paint_caption(b, &c->frame, w, card);
}

static void paint_cells(const brush *b, const live_stage *g, box area)
{
    const watch *w = g->watch;
    const bool alone = g->alone >= 0 && (uint32_t)g->alone < w->hello.cells;
    const uint32_t count = alone ? 1 : w->hello.cells;
    if (count == 0) return;
    const uint32_t columns = count > 1 ? 2 : 1, rows = (count + columns - 1) / columns;
    const float space = 14 * b->s;
    const float width = (area.right - area.left - space * (float)(columns - 1)) / (float)columns;
    const float height = (area.bottom - area.top - space * (float)(rows - 1)) / (float)rows;
    for (uint32_t i = 0; i < count; i++) {
        const float left = area.left + (width + space) * (float)(i % columns),
                    top = area.top + (height + space) * (float)(i / columns);
        paint_cell(b, w, &w->cells[alone ? (uint32_t)g->alone : i],
                   (box){left, top, left + width, top + height});
    }
}

// --- the panel --------------------------------------------------------------------------------------------

typedef double value_of(const live_point *p);

static double return_of(const live_point *p)
{
    return p->return_mean;
}
static double eval_of(const live_point *p)
{
    return p->eval_mean;
}
static double loss_of(const live_point *p)
{
    return p->loss;
}

static double rounded(double value, double to)
{
    return round(value / to) * to;
}

typedef struct range {
    double low, high;
} range;

static void widen(range *r, const watch *w, value_of *value)
{
    for (uint32_t i = 0; i < w->point_count; i++) {
        const double v = value(&w->points[i]);
        if (!isfinite(v)) continue;
        r->low = fmin(r->low, v);
        r->high = fmax(r->high, v);
    }
}

static void place(const watch *w, const range *r, box a, double steps, double v, float *out)
{
    const double first = (double)w->points[0].env_steps,
                 last = (double)w->points[w->point_count - 1].env_steps;
    out[0] = a.left + (float)((steps - first) / fmax(last - first, 1)) * (a.right - a.left);
    out[1] = a.bottom - (float)((v - r->low) / (r->high - r->low)) * (a.bottom - a.top);
}

static void paint_line(const brush *b, const watch *w, const range *r, box a, value_of *value, uint32_t color)
{
    float before[2] = {0}, at[2];
    bool any = false;
    for (uint32_t i = 0; i < w->point_count; i++) {
        const double v = value(&w->points[i]);
        if (!isfinite(v)) continue;
        place(w, r, a, (double)w->points[i].env_steps, v, at);
        if (any) canvas_line(b->canvas, before[0], before[1], at[0], at[1], 1.6f * b->s, color);
        before[0] = at[0];
        before[1] = at[1];
        any = true;
    }
    if (any) canvas_circle(b->canvas, before[0], before[1], 3 * b->s, color);
}

static void paint_dots(const brush *b, const watch *w, const range *r, box a, value_of *value, uint32_t color)
{
    float at[2];
    for (uint32_t i = 0; i < w->point_count; i++) {
        const double v = value(&w->points[i]);
        if (!isfinite(v)) continue;
        place(w, r, a, (double)w->points[i].env_steps, v, at);
        canvas_circle(b->canvas, at[0], at[1], 3.2f * b->s, color);
    }
}

/// A curve with its range beside it. `second` NULL: one alone.
static void paint_curve(const brush *b, const watch *w, box a, const char *title, value_of *value,
                        value_of *second)
{
    range r = {INFINITY, -INFINITY};
    widen(&r, w, value);
    if (second != NULL) widen(&r, w, second);
    text_draw(b->canvas, b->fonts, a.left, a.top + 10 * b->s, brush_bold(b, 11, THEME_FAINT, TEXT_LEFT),
              title);
    if (second != NULL) {
        canvas_circle(b->canvas, a.right - 66 * b->s, a.top + 6 * b->s, 3.2f * b->s, THEME_WARM);
        text_draw(b->canvas, b->fonts, a.right, a.top + 10 * b->s,
                  brush_style(b, 11, THEME_FAINT, TEXT_RIGHT), "evaluation");
    }
    const box plot = {a.left + 44 * b->s, a.top + 24 * b->s, a.right - 6 * b->s, a.bottom};
    canvas_box(b->canvas, (box){plot.left, plot.bottom, a.right, plot.bottom + fmaxf(b->s, 1)}, 0,
               THEME_EDGE);
    canvas_box(b->canvas, (box){plot.left, plot.top, a.right, plot.top + fmaxf(b->s, 1)}, 0, THEME_TRACK);
    if (!(r.high >= r.low)) return;
    if (!(r.high > r.low)) r = (range){r.low - 0.5, r.high + 0.5};
    char text[32];
    const double fine = chart_step(r.low, r.high, 1000);
    const text_style small = brush_style(b, 11, THEME_SOFT, TEXT_RIGHT);
    text_draw(b->canvas, b->fonts, plot.left - 8 * b->s, plot.top + 5 * b->s, small,
              chart_number(rounded(r.high, fine), text, sizeof text));
    text_draw(b->canvas, b->fonts, plot.left - 8 * b->s, plot.bottom + 3 * b->s, small,
              chart_number(rounded(r.low, fine), text, sizeof text));
    paint_line(b, w, &r, plot, value, THEME_ACCENT);
    if (second != NULL) paint_dots(b, w, &r, plot, second, THEME_WARM);
}

static void paint_number(const brush *b, float x, float y, const char *name, double value, bool large)
{
    char text[32] = "-";
    text_draw(b->canvas, b->fonts, x, y, brush_bold(b, 11, THEME_FAINT, TEXT_LEFT), name);
    if (isfinite(value)) chart_number(value, text, sizeof text);
    text_draw(b->canvas, b->fonts, x, y + (large ? 36 : 26) * b->s,
              large ? brush_bold(b, 34, THEME_INK, TEXT_LEFT) : brush_style(b, 20, THEME_INK, TEXT_LEFT),
              text);
}

static void paint_progress(const brush *b, const watch *w, float left, float right, float y)
{
    const double budget = (double)w->hello.step_budget, done = (double)w->now.env_steps;
    const float share = budget > 0 ? (float)fmin(done / budget, 1) : 0, thick = 6 * b->s;
    canvas_box(b->canvas, (box){left, y, right, y + thick}, thick, THEME_TRACK);
    if (share > 0.01f)
        canvas_box(b->canvas, (box){left, y, left + (right - left) * share, y + thick}, thick, THEME_ACCENT);
}

static void paint_panel(const brush *b, const watch *w, box card)
{
    const float pad = 22 * b->s, left = card.left + pad, right = card.right - pad, s = b->s;
    const float middle = left + (right - left) * 0.52f;
    float y = card.top + 30 * s;
    const live_point *p = &w->now;
    brush_card(b, card, THEME_CARD);
    const bool any = w->point_count > 0;
    paint_number(b, left, y, "RETURN", any ? rounded(p->return_mean, 0.01) : NAN, true);
    paint_number(b, middle, y, "STEPS A SECOND", any ? rounded(p->steps_per_second, 1) : NAN, false);
    y += 66 * s;
    paint_number(b, left, y, "STEPS", any ? (double)p->env_steps : NAN, false);
    paint_number(b, middle, y, "EPISODES", any ? (double)p->episodes : NAN, false);
    y += 44 * s;
    paint_progress(b, w, left, right, y);
    y += 28 * s;
    const float height = (card.bottom - y - 60 * s) / 2;
    paint_curve(b, w, (box){left, y, right, y + height}, "RETURN", return_of, eval_of);
    y += height + 26 * s;
    paint_curve(b, w, (box){left, y, right, y + height}, "LOSS", loss_of, NULL);
}

// --- around -----------------------------------------------------------------------------------------------

/// Of corral_stop_reason_name().
static const char *why(const char *reason)
{
    static const char *const words[][2] = {{"return", "its goal is reached"},
                                           {"steps", "by its budget of steps"},
                                           {"seconds", "by its limit of time"},
                                           {"interrupted", "interrupted"},
                                           {"failed", "by a failure"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], reason) == 0) return words[i][1];
    return "without a word";
}

static void paint_head(const brush *b, const live_stage *g)
{
    const watch *w = g->watch;
    const float left = margin * b->s, right = (float)b->canvas->width - margin * b->s;
    char text[420];
    text_draw(b->canvas, b->fonts, left, 31 * b->s, brush_bold(b, 20, THEME_INK, TEXT_LEFT),
              w->greeted ? w->hello.env : "connecting");
    if (!w->greeted) return;
    snprintf(text, sizeof text, "%s, %s, %u environment%s", w->hello.run, w->hello.algorithm, w->hello.envs,
             w->hello.envs == 1 ? "" : "s");
    text_draw(b->canvas, b->fonts, left, 51 * b->s, brush_style(b, 13, THEME_SOFT, TEXT_LEFT), text);
    const char *state = w->ended ? w->ending[0] != '\0' ? "ended" : "gone" : g->held ? "held" : "live";
    const uint32_t color = w->ended ? THEME_FAINT : g->held ? THEME_SOFT : THEME_WARM;
    const text_style look = brush_bold(b, 14, color, TEXT_RIGHT);
    text_draw(b->canvas, b->fonts, right, 31 * b->s, look, state);
    canvas_circle(b->canvas, right - text_width(b->fonts, look, state) - 12 * b->s, 26 * b->s, 5 * b->s,
                  color);
    if (w->ended)
        snprintf(text, sizeof text, "%s", why(w->ending));
    else if (w->hello.workers > 0)
        snprintf(text, sizeof text, "%u of %u workers", w->now.workers_alive, w->hello.workers);
    else
        snprintf(text, sizeof text, "policy version %llu", (unsigned long long)w->now.policy_version);
    text_draw(b->canvas, b->fonts, right, 51 * b->s, brush_style(b, 13, THEME_SOFT, TEXT_RIGHT), text);
}

static void paint_foot(const brush *b)
{
    const float right = (float)b->canvas->width - margin * b->s;
    text_draw(b->canvas, b->fonts, right, (float)b->canvas->height - 20 * b->s,
              brush_style(b, 13, THEME_FAINT, TEXT_RIGHT),
              "Space hold    1-4 one, 0 all    P panel    C picture    H help");
}

static const char *const keys[][2] = {
    {"Space", "hold the picture, go on"},
    {"1 - 4, 0", "one environment, all of them"},
    {"P", "panel"},
    {"C", "picture of this view, as PNG"},
    {"F", "full screen"},
    {"H  Q", "this help, quit"},
};

void live_stage_paint(const live_stage *g, canvas *c, fonts *f)
{
    const brush b = {c, f, g->scale};
    canvas_clip(c, NULL);
    canvas_clear(c, THEME_PAGE);
    paint_head(&b, g);
    const float foot = g->controls ? foot_height + 12 : margin;
    box area = {margin * b.s, (head_height + 12) * b.s, (float)c->width - margin * b.s,
                (float)c->height - foot * b.s};
    if (g->panel) {
        const float split = area.right - panel_width * b.s;
        paint_panel(&b, g->watch, (box){split, area.top, area.right, area.bottom});
        area.right = split - gap * b.s;
    }
    paint_cells(&b, g, area);
    if (g->controls) paint_foot(&b);
    if (g->message != NULL) brush_message(&b, g->message);
    if (g->help) brush_help(&b, keys, sizeof keys / sizeof keys[0]);
}
