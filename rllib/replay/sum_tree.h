// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Numbers of at least 0 in a binary tree of their sums: drawing one in proportion to its size takes log n.
#ifndef CORRAL_RLLIB_SUM_TREE_H
#define CORRAL_RLLIB_SUM_TREE_H

#include "corral/base/status.h"

#include <stddef.h>

typedef struct sum_tree {
    size_t leaves; // a power of two
    double *node;  // [2 leaves]: 1 is the root, 2 i and 2 i + 1 are under i, the leaves are the last half
} sum_tree;

/// How many bytes a tree of `count` numbers takes.
size_t sum_tree_bytes(size_t count);
/// All 0.
CORRAL_MUST_USE corral_status sum_tree_init(sum_tree *tree, size_t count);
void sum_tree_finish(sum_tree *tree);

void sum_tree_set(sum_tree *tree, size_t index, double value);
double sum_tree_get(const sum_tree *tree, size_t index);
double sum_tree_total(const sum_tree *tree);
/// The index under which the running sum of the numbers passes `mass`, from 0 to below the total. Never one
/// of 0, whatever rounding does, as long as the total is more than 0.
size_t sum_tree_find(const sum_tree *tree, double mass);

#endif
