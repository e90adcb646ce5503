// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A node is always the sum of the two below it, worked out anew and never corrected by a difference: so no
/// error piles up over millions of writes, and the same leaves make the same tree, in whatever order they
/// were written.
#include "sum_tree.h"

#include <stdlib.h>

static size_t leaves_of(size_t count)
{
    size_t leaves = 1;
    while (leaves < count)
        leaves *= 2;
    return leaves;
}

size_t sum_tree_bytes(size_t count)
{
    return 2 * leaves_of(count) * sizeof(double);
}

corral_status sum_tree_init(sum_tree *tree, size_t count)
{
    tree->leaves = leaves_of(count);
    tree->node = calloc(2 * tree->leaves, sizeof *tree->node);
    if (tree->node == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the priorities of %zu rows", count);
    return CORRAL_OK;
}

void sum_tree_finish(sum_tree *tree)
{
    free(tree->node);
    *tree = (sum_tree){0};
}

void sum_tree_set(sum_tree *tree, size_t index, double value)
{
    CORRAL_ASSERT(index < tree->leaves && value >= 0);
    size_t at = tree->leaves + index;
    tree->node[at] = value;
    while (at > 1) {
        at /= 2;
        tree->node[at] = tree->node[2 * at] + tree->node[2 * at + 1];
    }
}

double sum_tree_get(const sum_tree *tree, size_t index)
{
    return tree->node[tree->leaves + index];
}

double sum_tree_total(const sum_tree *tree)
{
    return tree->node[1];
}

size_t sum_tree_find(const sum_tree *tree, double mass)
{
    CORRAL_ASSERT(tree->node[1] > 0);
    size_t at = 1;
    while (at < tree->leaves) {
        const double left = tree->node[2 * at], right = tree->node[2 * at + 1];
        // A mass that rounding left at or above the sum finds an empty right side; it belongs to the left
        // one.
        if (mass < left || !(right > 0)) {
            at = 2 * at;
        } else {
            mass -= left;
            at = 2 * at + 1;
        }
    }
    return at - tree->leaves;
}
