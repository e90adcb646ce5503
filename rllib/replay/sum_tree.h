// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Numbers of at least 0 in a tree of their sums: drawing one in proportion to its size takes log n.
///
/// A node has sixteen children, which lie side by side: a million numbers are five levels, and a draw or a
/// write touches two cache lines of each. Writes change the numbers at once and note which sums they leave
/// out of date; sum_tree_settle() brings those up to date together, so that a run of neighbours costs little
/// more than one of them.
///
/// A sum is always worked out anew from its children, in a fixed order, and never corrected by a difference:
/// so no error piles up over millions of writes, and the same numbers make the same tree, in whatever order
/// they were written.
#ifndef CORRAL_RLLIB_SUM_TREE_H
#define CORRAL_RLLIB_SUM_TREE_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SUM_TREE_FAN = 16, SUM_TREE_LEVELS = 9, SUM_TREE_STALE = 1024 };

typedef struct sum_tree {
    uint32_t levels;                // level 0 holds the numbers, the last one a single node of sums
    double *level[SUM_TREE_LEVELS]; // each filled up with zeros to whole nodes
    double total;
    double *memory;
    uint32_t stale[SUM_TREE_STALE]; // nodes of level 0 whose sums are out of date; some may be there twice
    uint32_t stale_count;
} sum_tree;

/// How many bytes a tree of `count` numbers takes.
size_t sum_tree_bytes(size_t count);
/// All 0. At most 2^32 numbers.
CORRAL_MUST_USE corral_status sum_tree_init(sum_tree *tree, size_t count);
void sum_tree_finish(sum_tree *tree);

void sum_tree_set(sum_tree *tree, size_t index, double value);
double sum_tree_get(const sum_tree *tree, size_t index);

/// Brings the sums up to date: before the two that follow, and after any writes.
void sum_tree_settle(sum_tree *tree);
double sum_tree_total(const sum_tree *tree);
/// For each mass, from 0 to below the total, the index under which the running sum of the numbers passes it.
/// Never one of 0, whatever rounding does, as long as the total is more than 0. Uses up `mass`.
void sum_tree_find(const sum_tree *tree, size_t count, double *mass, uint32_t *out_index);

#endif
