// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "sum_tree.h"

#include <stdlib.h>

static size_t nodes_of(size_t count)
{
    return (count + SUM_TREE_FAN - 1) / SUM_TREE_FAN;
}

size_t sum_tree_bytes(size_t count)
{
    size_t numbers = 0;
    do {
        count = nodes_of(count);
        numbers += count * SUM_TREE_FAN;
    } while (count > 1);
    return numbers * sizeof(double);
}

corral_status sum_tree_init(sum_tree *tree, size_t count)
{
    CORRAL_ASSERT(count > 0 && count <= (size_t)UINT32_MAX + 1);
    *tree = (sum_tree){0};
    const size_t bytes = sum_tree_bytes(count);
    tree->memory = aligned_alloc(SUM_TREE_FAN * sizeof(double), bytes);
    if (tree->memory == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the priorities of %zu rows", count);
    for (size_t i = 0; i < bytes / sizeof(double); i++)
        tree->memory[i] = 0;
    double *at = tree->memory;
    do {
        count = nodes_of(count);
        tree->level[tree->levels++] = at;
        at += count * SUM_TREE_FAN;
    } while (count > 1);
    return CORRAL_OK;
}

void sum_tree_finish(sum_tree *tree)
{
    free(tree->memory);
    *tree = (sum_tree){0};
}

// --- writing ----------------------------------------------------------------------------------------------

void sum_tree_set(sum_tree *tree, size_t index, double value)
{
    CORRAL_ASSERT(value >= 0);
    tree->level[0][index] = value;
    const uint32_t node = (uint32_t)(index / SUM_TREE_FAN), count = tree->stale_count;
    // Neighbours are often written one after the other, also in two places at once.
    if (count > 0 && tree->stale[count - 1] == node) return;
    if (count > 1 && tree->stale[count - 2] == node) return;
    tree->stale[tree->stale_count++] = node;
    if (tree->stale_count == SUM_TREE_STALE) sum_tree_settle(tree);
}

double sum_tree_get(const sum_tree *tree, size_t index)
{
    return tree->level[0][index];
}

/// In pairs: four additions deep instead of sixteen.
static inline double sum_of(const double *child)
{
    double eight[8], four[4];
    for (int i = 0; i < 8; i++)
        eight[i] = child[i] + child[i + 8];
    for (int i = 0; i < 4; i++)
        four[i] = eight[i] + eight[i + 4];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

void sum_tree_settle(sum_tree *tree)
{
    uint32_t *stale = tree->stale, count = tree->stale_count;
    if (count == 0) return;
    for (uint32_t level = 0; level + 1 < tree->levels; level++) {
        uint32_t above = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t node = stale[i], parent = node / SUM_TREE_FAN;
            tree->level[level + 1][node] = sum_of(tree->level[level] + (size_t)node * SUM_TREE_FAN);
            if (above == 0 || stale[above - 1] != parent) stale[above++] = parent;
        }
        count = above;
    }
    tree->total = sum_of(tree->level[tree->levels - 1]);
    tree->stale_count = 0;
}

// --- drawing ----------------------------------------------------------------------------------------------

double sum_tree_total(const sum_tree *tree)
{
    CORRAL_ASSERT(tree->stale_count == 0);
    return tree->total;
}

/// Which of four numbers a mass falls upon; the mass becomes what is left of it there. A mass that rounding
/// left at or above the sum of all belongs to the last number that is not 0.
static inline uint32_t choose_of_four(const double number[4], double *mass)
{
    const double first = number[0], second = first + number[1], third = second + number[2];
    const double before[4] = {0, first, second, third};
    uint32_t chosen = (uint32_t)(*mass >= first) + (*mass >= second) + (*mass >= third);
    while (number[chosen] == 0 && chosen > 0)
        chosen--;
    *mass -= before[chosen];
    return chosen;
}

/// Which child a mass falls upon: first among sums of four, so that few additions wait for each other.
static inline uint32_t choose(const double *child, double *mass)
{
    double four[4];
    for (int i = 0; i < 4; i++)
        four[i] = (child[4 * i] + child[4 * i + 1]) + (child[4 * i + 2] + child[4 * i + 3]);
    const uint32_t group = choose_of_four(four, mass);
    return 4 * group + choose_of_four(child + 4 * group, mass);
}

/// Level by level for all of them together, so that they wait for memory together.
void sum_tree_find(const sum_tree *tree, size_t count, double *mass, uint32_t *out_index)
{
    CORRAL_ASSERT(tree->stale_count == 0 && tree->total > 0);
    for (size_t i = 0; i < count; i++)
        out_index[i] = 0;
    for (uint32_t level = tree->levels; level-- > 0;) {
        for (size_t i = 0; i < count; i++) {
            const size_t first = (size_t)out_index[i] * SUM_TREE_FAN;
            out_index[i] = (uint32_t)first + choose(tree->level[level] + first, &mass[i]);
            if (level > 0) __builtin_prefetch(tree->level[level - 1] + (size_t)out_index[i] * SUM_TREE_FAN);
        }
    }
}
