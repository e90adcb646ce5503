// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Anomaly mode searches each result when the next one is appended, since operations compute after they
// append; whoever asks for the tape's status has the last one searched. In backward it searches what a step
// added to.
//
// The report counts what the arena hands out. A row is found by comparing pointers: names are literals, or
// strings of the caller that stay, so equal names are one row or, from two places, two; they are merged when
// the report is read.

#include "tensor/watch.h"

#include "tensor/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static corral_status watch(corral_tape *tape)
{
    if (tape->watch != NULL) return CORRAL_OK;
    tape->watch = calloc(1, sizeof *tape->watch);
    if (tape->watch == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "tape: no memory to watch it");
    tape->watch->site = "";
    return CORRAL_OK;
}

void corral_watch_destroy(struct corral_tape_watch *watched)
{
    if (watched == NULL) return;
    corral_arena_finish(&watched->before);
    free(watched);
}

corral_status corral_tape_set_anomaly(corral_tape *tape, bool on)
{
    const corral_status status = on ? watch(tape) : CORRAL_OK;
    if (tape->watch != NULL && status == CORRAL_OK) tape->watch->anomaly = on;
    return status;
}

corral_status corral_tape_set_report(corral_tape *tape, bool on)
{
    const corral_status status = on ? watch(tape) : CORRAL_OK;
    if (tape->watch != NULL && status == CORRAL_OK) tape->watch->report = on;
    return status;
}

void corral_watch_reset(corral_tape *tape)
{
    struct corral_tape_watch *w = tape->watch;
    if (w->now.bytes > w->largest.bytes) w->largest = w->now;
    w->now.count = w->now.bytes = 0;
    w->site = "";
    w->checked = NULL;
    w->backwards = false;
    if (!w->anomaly) return;
    const corral_arena recording = tape->arena; // stays readable for one round more
    tape->arena = w->before;
    w->before = recording;
}

// --- NaN --------------------------------------------------------------------------------------------------

/// The first NaN, or `count`.
static size_t find_nan(corral_dtype dtype, size_t count, const void *values)
{
    size_t i = 0;
    if (dtype == CORRAL_F64) {
        while (i < count && !isnan(((const double *)values)[i]))
            i++;
    } else {
        while (i < count && !isnan(((const float *)values)[i]))
            i++;
    }
    return i;
}

static bool search_result(const corral_node *node)
{
    const size_t count = corral_tensor_count(&node->tensor);
    const size_t at = find_nan(node->tensor.dtype, count, node->tensor.data);
    if (at == count) return false;
    corral_tape_fail(node->tensor.tape, CORRAL_ERROR_NOT_FINITE,
                     "anomaly: %s gave the first NaN, as element %zu of the %zu of its result", node->name,
                     at, count);
    return true;
}

/// From the oldest that was not searched to the newest.
static bool search_results(const corral_node *node, const corral_node *checked)
{
    if (node == NULL || node == checked) return false;
    return search_results(node->previous, checked) || search_result(node);
}

void corral_watch_results(corral_tape *tape)
{
    struct corral_tape_watch *w = tape->watch;
    if (!w->anomaly || tape->status != CORRAL_OK || w->checked == tape->last) return;
    search_results(tape->last, w->checked);
    w->checked = tape->last;
}

static bool search_gradient(const corral_node *node, corral_dtype dtype, size_t count, const void *gradient,
                            const char *whose)
{
    const size_t at = gradient == NULL ? count : find_nan(dtype, count, gradient);
    if (at == count) return false;
    corral_tape_fail(
        node->tensor.tape, CORRAL_ERROR_NOT_FINITE,
        "anomaly: backward of %s gave the first NaN, in element %zu of the %zu of the gradient of %s",
        node->name, at, count, whose);
    return true;
}

void corral_watch_gradients(const corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    if (!tape->watch->anomaly || tape->status != CORRAL_OK) return;
    // Operations may have more inputs than two: all that was recorded before may have been added to.
    for (const corral_node *n = node->previous; n != NULL; n = n->previous) {
        if (search_gradient(node, n->tensor.dtype, corral_tensor_count(&n->tensor), n->tensor.grad, n->name))
            return;
    }
    if (tape->gradients == NULL || tape->params == NULL) return;
    for (uint32_t i = 0; i < tape->params->entry_count; i++) {
        const corral_param *entry = &tape->params->entries[i];
        if (search_gradient(node, tape->params->dtype, entry->count, corral_tape_parameter_gradient(tape, i),
                            entry->name))
            return;
    }
}

// --- the report -------------------------------------------------------------------------------------------

static const char *const backward_use = "backward";

void corral_tape_site(corral_tape *tape, const char *site)
{
    if (tape->watch != NULL) tape->watch->site = site;
}

static corral_tape_use *row_of(corral_watch_table *table, const char *site, const char *operation)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].site == site && table->rows[i].operation == operation) return &table->rows[i];
    }
    if (table->count == CORRAL_WATCH_ROWS) {
        table->rows[table->count - 1].operation = "others";
        return &table->rows[table->count - 1];
    }
    corral_tape_use *row = &table->rows[table->count++];
    *row = (corral_tape_use){.site = site, .operation = operation};
    return row;
}

void corral_watch_memory(corral_tape *tape, size_t size)
{
    struct corral_tape_watch *w = tape->watch;
    if (!w->report) return;
    corral_tape_use *row = row_of(&w->now, w->backwards ? backward_use : w->site, tape->operation);
    row->count++;
    row->bytes += size;
    w->now.bytes += size;
}

static int compare_uses(const void *a, const void *b)
{
    const corral_tape_use *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    const int sites = strcmp(x->site, y->site);
    return sites != 0 ? sites : strcmp(x->operation, y->operation);
}

size_t corral_tape_report(const corral_tape *tape, corral_tape_use *out_rows, size_t limit)
{
    if (tape->watch == NULL) return 0;
    const struct corral_tape_watch *w = tape->watch;
    const corral_watch_table *table = w->now.bytes > w->largest.bytes ? &w->now : &w->largest;
    corral_tape_use rows[CORRAL_WATCH_ROWS];
    size_t count = 0;
    for (size_t i = 0; i < table->count; i++) {
        size_t at = 0;
        while (at < count && (strcmp(rows[at].site, table->rows[i].site) != 0 ||
                              strcmp(rows[at].operation, table->rows[i].operation) != 0))
            at++;
        if (at == count)
            rows[count++] = (corral_tape_use){table->rows[i].site, table->rows[i].operation, 0, 0};
        rows[at].count += table->rows[i].count;
        rows[at].bytes += table->rows[i].bytes;
    }
    qsort(rows, count, sizeof rows[0], compare_uses);
    for (size_t i = 0; i < count && i < limit; i++)
        out_rows[i] = rows[i];
    return count;
}
