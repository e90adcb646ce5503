// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "curves.h"

#include "run/csv.h"
#include "run/monitor.h"

#include "corral/base/file.h"
#include "corral/rllib/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRID = 300, WINDOW = 100 };

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

/// Whatever x does not grow is of a part of the run that was resumed from before it, and left out.
static corral_status read_table(const char *path, const char *x_name, const char *y_name, curve *out)
{
    csv table;
    uint32_t x_column = 0, y_column = 0, limit = 0;
    corral_status status = csv_open(&table, path);
    if (status == CORRAL_OK) status = csv_column(&table, x_name, &x_column);
    if (status == CORRAL_OK) status = csv_column(&table, y_name, &y_column);
    while (status == CORRAL_OK && csv_next(&table)) {
        double x, y;
        if (!csv_number(&table, x_column, &x) || !csv_number(&table, y_column, &y)) continue;
        if (out->count > 0 && x <= out->x[out->count - 1]) continue;
        status = curve_add(out, x, y, &limit);
    }
    csv_close(&table);
    return status;
}

/// The mean over the last hundred episodes, as progress.csv has it, after each episode.
static corral_status average(const monitor_episode *episodes, size_t count, bool by_seconds, bool of_lengths,
                             curve *out)
{
    double sum = 0, steps = 0;
    uint32_t limit = 0;
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < count && status == CORRAL_OK; i++) {
        steps += episodes[i].length;
        sum += of_lengths ? episodes[i].length : episodes[i].episode_return;
        if (i >= WINDOW)
            sum -= of_lengths ? episodes[i - WINDOW].length : episodes[i - WINDOW].episode_return;
        const double x = by_seconds ? episodes[i].seconds : steps;
        if (out->count > 0 && x <= out->x[out->count - 1]) continue;
        status = curve_add(out, x, sum / (double)(i < WINDOW ? i + 1 : WINDOW), &limit);
    }
    return status;
}

static corral_status read_monitor(const char *path, const char *x_name, const char *y_name, curve *out)
{
    const bool of_lengths = strcmp(y_name, "rollout/ep_len_mean") == 0;
    if (!of_lengths && strcmp(y_name, "rollout/ep_rew_mean") != 0)
        return corral_fail(
            CORRAL_ERROR_NOT_FOUND,
            "%s: of monitor files there are rollout/ep_rew_mean and rollout/ep_len_mean, not %s", path,
            y_name);
    monitor_episode *episodes;
    size_t count;
    corral_status status = monitor_read(path, &episodes, &count);
    if (status != CORRAL_OK) return status;
    status = average(episodes, count, strcmp(x_name, "time/time_elapsed") == 0, of_lengths, out);
    free(episodes);
    return status;
}

static corral_status read_run(const char *run, const char *x_name, const char *y_name, curve *out)
{
    char *path = corral_format("%s/progress.csv", run);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const bool monitored = access(path, F_OK) != 0 && monitor_is_at(run);
    const corral_status status =
        monitored ? read_monitor(run, x_name, y_name, out) : read_table(path, x_name, y_name, out);
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
