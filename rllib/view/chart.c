// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "chart.h"

#include "theme.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 512, DOT_ROWS = 16 };

static const uint32_t colors[] = {THEME_ACCENT, THEME_WARM,  THEME_GREEN,
                                  0xe8b84affu,  0x8184cbffu, 0x33475bffu};
static const char *const terminal_colors[] = {"34", "31", "32", "33", "35", "36"};

enum { COLORS = sizeof colors / sizeof colors[0] };

static const box plot = {72, 64, CHART_WIDTH - 28, CHART_HEIGHT - 96};

double chart_step(double low, double high, int parts)
{
    const double rough = fmax(high - low, 1e-12) / parts, power = pow(10, floor(log10(rough)));
    const double share = rough / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

const char *chart_number(double value, char *text, size_t size)
{
    static const struct {
        double unit;
        const char *letter;
    } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (fabs(value) < units[i].unit) continue;
        snprintf(text, size, "%.4g%s", value / units[i].unit, units[i].letter);
        return text;
    }
    snprintf(text, size, "%.4g", fabs(value) < 1e-12 ? 0 : value);
    return text;
}

/// The range of an axis, a little wider than its values, on whole steps.
typedef struct axis {
    double low, high, step;
} axis;

static axis make_axis(double low, double high, int parts)
{
    if (!(high > low)) {
        low -= fmax(fabs(low) * 0.1, 0.5);
        high += fmax(fabs(high) * 0.1, 0.5);
    }
    const double step = chart_step(low, high, parts);
    return (axis){floor(low / step) * step, ceil(high / step) * step, step};
}

typedef struct frame {
    axis x, y;
} frame;

static frame frame_of(const curves *c)
{
    frame f = {make_axis(c->x_low, c->x_high, 6), make_axis(c->y_low, c->y_high, 5)};
    if (c->x_low < f.x.step) f.x.low = 0;
    f.x.high = fmax(c->x_high, f.x.low + 1e-9); // curves end where the paper does
    return f;
}

static void place(const frame *f, double x, double y, float *out)
{
    out[0] = plot.left + (float)((x - f->x.low) / (f->x.high - f->x.low)) * (plot.right - plot.left);
    out[1] = plot.bottom - (float)((y - f->y.low) / (f->y.high - f->y.low)) * (plot.bottom - plot.top);
}

// --- on paper ---------------------------------------------------------------------------------------------

static void draw_axes(const chart *c, const frame *f, sheet *s)
{
    char text[32];
    float line[2][2];
    for (double y = f->y.low; y <= f->y.high + f->y.step * 0.01; y += f->y.step) {
        place(f, f->x.low, y, line[0]);
        place(f, f->x.high, y, line[1]);
        sheet_line(s, (const float(*)[2])line, 2, 1, THEME_TRACK);
        sheet_text(s, plot.left - 10, line[0][1] + 4,
                   (text_style){.size = 12, .color = THEME_SOFT, .anchor = TEXT_RIGHT},
                   chart_number(y, text, sizeof text));
    }
    for (double x = f->x.low; x <= f->x.high + f->x.step * 0.01; x += f->x.step) {
        place(f, x, f->y.low, line[0]);
        sheet_text(s, line[0][0], plot.bottom + 20,
                   (text_style){.size = 12, .color = THEME_SOFT, .anchor = TEXT_MIDDLE},
                   chart_number(x, text, sizeof text));
    }
    place(f, f->x.low, f->y.low, line[0]);
    place(f, f->x.high, f->y.low, line[1]);
    sheet_line(s, (const float(*)[2])line, 2, 1, THEME_FAINT);
    sheet_text(s, (plot.left + plot.right) / 2, plot.bottom + 44,
               (text_style){.size = 13, .color = THEME_SOFT, .anchor = TEXT_MIDDLE}, c->x_label);
}

/// Long curves are thinned to the points that can be told apart.
static uint32_t place_curve(const frame *f, const curve *c, float (*out)[2])
{
    const uint32_t stride = (c->count + POINTS_MAX - 2) / (POINTS_MAX - 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i<c->count; i += stride> 0 ? stride : 1)
        place(f, c->x[i], c->y[i], out[count++]);
    if (c->count > 0) place(f, c->x[c->count - 1], c->y[c->count - 1], out[count - 1]);
    return count;
}

static void draw_range(const frame *f, const curve_group *g, uint32_t color, sheet *s)
{
    float point[2 * POINTS_MAX][2];
    const uint32_t n = g->mean.count < POINTS_MAX ? g->mean.count : POINTS_MAX;
    for (uint32_t i = 0; i < n; i++) {
        place(f, g->mean.x[i], g->low[i], point[i]);
        place(f, g->mean.x[i], g->high[i], point[2 * n - 1 - i]);
    }
    sheet_area(s, (const float(*)[2])point, 2 * n, (color & ~0xffu) | 0x30);
}

static void draw_group(const frame *f, const curve_group *g, uint32_t color, sheet *s)
{
    float point[POINTS_MAX][2];
    if (g->member_count > 1) {
        draw_range(f, g, color, s);
        for (uint32_t i = 0; i < g->member_count; i++)
            sheet_line(s, (const float(*)[2])point, place_curve(f, &g->members[i], point), 0.8f,
                       (color & ~0xffu) | 0x50);
    }
    const curve *main = g->member_count == 1 ? &g->members[0] : &g->mean;
    sheet_line(s, (const float(*)[2])point, place_curve(f, main, point), 2.4f, color);
}

static void draw_legend(const chart *c, sheet *s)
{
    const uint32_t columns = c->curves->count > 1 ? 2 : 1;
    for (uint32_t i = 0; i < c->curves->count && i < 4; i++) {
        const float x = plot.left + (float)(i % columns) * 430,
                    y = CHART_HEIGHT - 24 + (float)(i / columns) * 16 - 4;
        const float line[2][2] = {{x, y - 4}, {x + 22, y - 4}};
        sheet_line(s, line, 2, 3, colors[i % COLORS]);
        sheet_text(s, x + 32, y, (text_style){.size = 12, .color = THEME_INK}, c->curves->groups[i].label);
    }
}

void chart_draw(const chart *c, sheet *s)
{
    const frame f = frame_of(c->curves);
    sheet_begin(s, CHART_WIDTH, CHART_HEIGHT, THEME_CARD);
    sheet_text(s, plot.left, 38, (text_style){.size = 18, .color = THEME_INK, .bold = true}, c->title);
    draw_axes(c, &f, s);
    for (uint32_t i = c->curves->count; i-- > 0;)
        draw_group(&f, &c->curves->groups[i], colors[i % COLORS], s);
    draw_legend(c, s);
    sheet_end(s);
}

// --- in a terminal ----------------------------------------------------------------------------------------

typedef struct dots {
    uint8_t *mask;  // [rows, columns] of 2 x 4 dots
    uint8_t *group; // [rows, columns] whose colour
    uint32_t columns, rows;
} dots;

static void set_dot(dots *d, uint32_t x, uint32_t y, uint8_t group)
{
    static const uint8_t bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x / 2 >= d->columns || y / 4 >= d->rows) return;
    const size_t cell = (size_t)(y / 4) * d->columns + x / 2;
    d->mask[cell] |= bit[y % 4][x % 2];
    d->group[cell] = group;
}

/// One column of dots after the other, joined from top to bottom where the curve is steep.
static void dot_curve(dots *d, const frame *f, const curve *c, uint8_t group)
{
    int32_t last = -1;
    const double height = d->rows * 4 - 1;
    for (uint32_t x = 0; x < d->columns * 2; x++) {
        double value;
        if (!curve_at(c, f->x.low + (f->x.high - f->x.low) * x / (d->columns * 2 - 1), &value)) continue;
        const int32_t y = (int32_t)lround((1 - (value - f->y.low) / (f->y.high - f->y.low)) * height);
        const int32_t from = last < 0 ? y : last;
        for (int32_t at = from < y ? from : y; at <= (from > y ? from : y); at++)
            set_dot(d, x, (uint32_t)at, group);
        last = y;
    }
}

static void print_row(const dots *d, uint32_t row, FILE *out, bool color)
{
    for (uint32_t x = 0; x < d->columns; x++) {
        const size_t cell = (size_t)row * d->columns + x;
        const uint8_t mask = d->mask[cell];
        if (mask == 0) {
            fputc(' ', out);
            continue;
        }
        if (color) fprintf(out, "\033[%sm", terminal_colors[d->group[cell] % COLORS]);
        fprintf(out, "\xe2%c%c", 0xa0 | mask >> 6, 0x80 | (mask & 0x3f)); // U+2800 + mask
        if (color) fputs("\033[0m", out);
    }
    fputc('\n', out);
}

static void print_foot(const chart *c, const frame *f, const dots *d, FILE *out, bool color)
{
    char low[32], high[32];
    chart_number(f->x.low, low, sizeof low);
    chart_number(f->x.high, high, sizeof high);
    const int room = (int)d->columns - (int)strlen(low) - (int)strlen(high);
    const int label = (int)strlen(c->x_label), before = room > label ? (room - label) / 2 : 0;
    fprintf(out, "%9s%s%*s%s%*s%s\n", "", low, before, "", room > label ? c->x_label : "",
            room > label ? room - label - before : room, "", high);
    for (uint32_t i = 0; i < c->curves->count; i++) {
        const curve_group *g = &c->curves->groups[i];
        char last[32];
        const bool any = g->mean.count > 0;
        if (any) chart_number(g->mean.y[g->mean.count - 1], last, sizeof last);
        if (color) fprintf(out, "\033[%sm", terminal_colors[i % COLORS]);
        fprintf(out, "%9s%s%s  %s%s\n", "", "--", color ? "\033[0m" : "", g->label,
                any ? "" : " (no values)");
        if (any) fprintf(out, "%13slast %s\n", "", last);
    }
}

void chart_print(const chart *c, FILE *out, uint32_t columns, bool color)
{
    const frame f = frame_of(c->curves);
    dots d = {.columns = columns > 30 ? columns - 10 : 20, .rows = DOT_ROWS};
    d.mask = calloc((size_t)d.rows * d.columns, 1);
    d.group = calloc((size_t)d.rows * d.columns, 1);
    if (d.mask != NULL && d.group != NULL) {
        for (uint32_t i = c->curves->count; i-- > 0;)
            dot_curve(&d, &f, &c->curves->groups[i].mean, (uint8_t)(i % COLORS));
        fprintf(out, "%9s%s\n", "", c->title);
        for (uint32_t row = 0; row < d.rows; row++) {
            char text[32] = "";
            const double y = f.y.high - (f.y.high - f.y.low) * row / (d.rows - 1);
            if (row % 5 == 0) chart_number(y, text, sizeof text);
            fprintf(out, "%7s \xe2\x94\x82", text); // a vertical line
            print_row(&d, row, out, color);
        }
        print_foot(c, &f, &d, out, color);
    }
    free(d.mask);
    free(d.group);
}
