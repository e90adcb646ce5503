// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What operations element by element share, of one tensor and of two: their nodes, and how a loop of a table
/// is run over a node's tensors.
#ifndef CORRAL_CORE_OPS_POINTWISE_H
#define CORRAL_CORE_OPS_POINTWISE_H

#include "ops/broadcast.h"
#include "tensor/tape.h"

typedef void corral_unary_loop(const corral_unary_run *run);
typedef void corral_binary_loop(const corral_binary_run *run);

/// A node of x's shape; NULL after a failure.
corral_node *corral_pointwise_append(const char *name, corral_tensor *x);
void corral_pointwise_forward(const corral_node *node, corral_unary_loop *loop);
/// Does nothing where x needs no gradient.
void corral_pointwise_backward(const corral_node *node, corral_unary_loop *loop);

/// A node of the shape that both make together, and the plan of how; NULL after a failure, such as shapes
/// that do not go together.
corral_node *corral_pairwise_append(const char *name, corral_tensor *a, corral_tensor *b,
                                    corral_broadcast *out_plan);
/// Forward by a plan that is known, and by one made anew.
void corral_pairwise_walk(const corral_node *node, const corral_broadcast *plan, corral_binary_loop *loop);
void corral_pairwise_forward(const corral_node *node, corral_binary_loop *loop);
void corral_pairwise_backward(const corral_node *node, corral_binary_loop *loop);

/// An activation that a product could not fuse.
corral_tensor *corral_activate(corral_tensor *x, corral_activation activation);

#endif
