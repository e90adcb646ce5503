// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "curves.h"

#include "corral/base/file.h"
#include "corral/rllib/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COLUMNS_MAX = 256, GRID = 300 };
static const size_t csv_bytes_max = (size_t)256 << 20;

// --- one run ----------------------------------------------------------------------------------------------

static void curve_finish(curve *c)
{
    free(c->x);
    free(c->y);
    *c = (curve){0};
}

static corral_status curve_add(curve *c, double x, double y, uint32_t *limit)
{
    if (c->count == *limit) {
        const uint32_t wanted = *limit == 0 ? 256 : *limit * 2;
        double *xs = realloc(c->x, wanted * sizeof *xs);
        if (xs != NULL) c->x = xs;
        double *ys = realloc(c->y, wanted * sizeof *ys);
        if (ys != NULL) c->y = ys;
        if (xs == NULL || ys == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a curve");
        *limit = wanted;
    }
    c->x[c->count] = x;
    c->y[c->count++] = y;
    return CORRAL_OK;
}

/// Cuts a line at its commas. Returns how many cells there are.
static uint32_t split(char *line, char **cells)
{
    uint32_t count = 0;
    line[strcspn(line, "\r")] = '\0';
    for (char *rest = line; rest != NULL && count < COLUMNS_MAX;)
        cells[count++] = strsep(&rest, ",");
    return count;
}

static corral_status find_column(const char *path, char *const *names, uint32_t count, const char *name,
                                 uint32_t *out_column)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) != 0) continue;
        *out_column = i;
        return CORRAL_OK;
    }
    const char *near = corral_nearest(name, (const char *const *)names, count);
    if (near != NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s has no column %s; did you mean %s?", path, name, near);
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s has no column %s; its first line lists them", path, name);
}

static bool number_in(char *const *cells, uint32_t count, uint32_t column, double *out)
{
    if (column >= count || cells[column][0] == '\0') return false;
    char *end;
    *out = strtod(cells[column], &end);
    return *end == '\0' && isfinite(*out);
}

static corral_status parse(const char *path, char *text, const char *x_name, const char *y_name, curve *out)
{
    char *cells[COLUMNS_MAX], *rest = text;
    char *line = strsep(&rest, "\n");
    uint32_t count = split(line, cells), x_column = 0, y_column = 0, limit = 0;
    corral_status status = find_column(path, cells, count, x_name, &x_column);
    if (status == CORRAL_OK) status = find_column(path, cells, count, y_name, &y_column);
    while (status == CORRAL_OK && rest != NULL) {
        line = strsep(&rest, "\n");
        count = split(line, cells);
        double x, y;
        if (!number_in(cells, count, x_column, &x) || !number_in(cells, count, y_column, &y)) continue;
        if (out->count > 0 && x <= out->x[out->count - 1]) continue;
        status = curve_add(out, x, y, &limit);
    }
    return status;
}

static corral_status read_run(const char *run, const char *x_name, const char *y_name, curve *out)
{
    char *path = corral_format("%s/progress.csv", run), *text;
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    size_t size;
    corral_status status = corral_file_read(path, csv_bytes_max, &text, &size);
    if (status == CORRAL_OK) {
        status = parse(path, text, x_name, y_name, out);
        free(text);
    }
    free(path);
    return status;
}

bool curve_at(const curve *c, double x, double *out_y)
{
    if (c->count == 0 || x < c->x[0] || x > c->x[c->count - 1]) return false;
    uint32_t low = 0, high = c->count - 1;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (c->x[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    const double width = c->x[high] - c->x[low];
    const double share = width > 0 ? (x - c->x[low]) / width : 0;
    *out_y = c->y[low] + (c->y[high] - c->y[low]) * share;
    return true;
}

// --- groups -----------------------------------------------------------------------------------------------

static bool changes_nothing(const char *key)
{
    static const char *const keys[] = {"seed", "workers", "threads", "transport"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

static bool same_but_seed(const corral_train_config *a, const corral_train_config *b)
{
    const char *names[64];
    const size_t count = corral_config_diff(corral_train_fields, a, b, names, 64);
    for (size_t i = 0; i < count && i < 64; i++)
        if (!changes_nothing(names[i])) return false;
    return count <= 64;
}

/// A run whose settings cannot be read (of an older version, say) is a group of its own.
static bool read_config(const char *run, corral_train_config *out)
{
    *out = corral_train_config_default();
    char *path = corral_format("%s/config.yaml", run);
    const bool good = path != NULL && corral_config_read(corral_train_fields, out, path) == CORRAL_OK;
    free(path);
    return good;
}

static curve_group *group_of(curves *c, corral_train_config *configs, bool *known, const char *run)
{
    corral_train_config config;
    const bool good = read_config(run, &config);
    for (uint32_t i = 0; good && i < c->count; i++)
        if (known[i] && same_but_seed(&configs[i], &config)) return &c->groups[i];
    configs[c->count] = config;
    known[c->count] = good;
    curve_group *group = &c->groups[c->count++];
    snprintf(group->label, sizeof group->label, "%s", run);
    for (size_t end = strlen(group->label); end > 1 && group->label[end - 1] == '/'; end--)
        group->label[end - 1] = '\0';
    return group;
}

/// Mean and range on an even grid.
static corral_status summarise(curve_group *g)
{
    double from = INFINITY, to = -INFINITY;
    for (uint32_t i = 0; i < g->member_count; i++) {
        const curve *m = &g->members[i];
        if (m->count == 0) continue;
        from = fmin(from, m->x[0]);
        to = fmax(to, m->x[m->count - 1]);
    }
    g->low = calloc(GRID, sizeof *g->low);
    g->high = calloc(GRID, sizeof *g->high);
    g->mean.x = calloc(GRID, sizeof *g->mean.x);
    g->mean.y = calloc(GRID, sizeof *g->mean.y);
    if (g->low == NULL || g->high == NULL || g->mean.x == NULL || g->mean.y == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a curve");
    for (uint32_t k = 0; from <= to && k < GRID; k++) {
        const double x = k == GRID - 1 ? to : from + (to - from) * k / (GRID - 1);
        double sum = 0, low = INFINITY, high = -INFINITY, y;
        uint32_t with = 0;
        for (uint32_t i = 0; i < g->member_count; i++) {
            if (!curve_at(&g->members[i], x, &y)) continue;
            sum += y;
            low = fmin(low, y);
            high = fmax(high, y);
            with++;
        }
        if (with == 0) continue;
        const uint32_t at = g->mean.count++;
        g->mean.x[at] = x;
        g->mean.y[at] = sum / with;
        g->low[at] = low;
        g->high[at] = high;
    }
    return CORRAL_OK;
}

static void measure(curves *c)
{
    c->x_low = c->y_low = INFINITY;
    c->x_high = c->y_high = -INFINITY;
    for (uint32_t g = 0; g < c->count; g++) {
        for (uint32_t k = 0; k < c->groups[g].mean.count; k++) {
            c->x_low = fmin(c->x_low, c->groups[g].mean.x[k]);
            c->x_high = fmax(c->x_high, c->groups[g].mean.x[k]);
            c->y_low = fmin(c->y_low, c->groups[g].low[k]);
            c->y_high = fmax(c->y_high, c->groups[g].high[k]);
        }
    }
}

static corral_status read_all(curves *c, const char *const *runs, uint32_t run_count, const char *x_name,
                              const char *y_name, corral_train_config *configs, bool *known)
{
    for (uint32_t i = 0; i < run_count; i++) {
        curve_group *g = group_of(c, configs, known, runs[i]);
        if (g->members == NULL) g->members = calloc(run_count, sizeof *g->members);
        if (g->members == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for curves");
        const corral_status status = read_run(runs[i], x_name, y_name, &g->members[g->member_count++]);
        if (status != CORRAL_OK) return status;
    }
    for (uint32_t i = 0; i < c->count; i++) {
        curve_group *g = &c->groups[i];
        const corral_status status = summarise(g);
        if (status != CORRAL_OK) return status;
        const size_t length = strlen(g->label);
        if (g->member_count > 1)
            snprintf(g->label + length, sizeof g->label - length, " and %u like it", g->member_count - 1);
    }
    measure(c);
    return c->x_low <= c->x_high
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_EMPTY, "%s: no value of %s has been reported yet", runs[0], y_name);
}

corral_status curves_read(const char *const *runs, uint32_t run_count, const char *x_name, const char *y_name,
                          curves *out_curves)
{
    *out_curves = (curves){.groups = calloc(run_count, sizeof(curve_group))};
    corral_train_config *configs = calloc(run_count, sizeof *configs);
    bool *known = calloc(run_count, sizeof *known);
    const corral_status status = out_curves->groups != NULL && configs != NULL && known != NULL
                                     ? read_all(out_curves, runs, run_count, x_name, y_name, configs, known)
                                     : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for curves");
    free(configs);
    free(known);
    if (status != CORRAL_OK) curves_finish(out_curves);
    return status;
}

void curves_finish(curves *c)
{
    for (uint32_t g = 0; g < c->count; g++) {
        for (uint32_t i = 0; i < c->groups[g].member_count; i++)
            curve_finish(&c->groups[g].members[i]);
        free(c->groups[g].members);
        curve_finish(&c->groups[g].mean);
        free(c->groups[g].low);
        free(c->groups[g].high);
    }
    free(c->groups);
    *c = (curves){0};
}
