// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Supervised losses: cross entropy, fused, and those that are made of other operations.

#include "ops/kernels.h"
#include "ops/loss_kernels.h"
#include "tensor/tape.h"

#include "corral/core/distributions.h"
#include "corral/core/elements.h"

#include <string.h>

typedef struct cross_entropy_record {
    corral_cross_entropy_terms terms;
    void *grad, *log_p; // grad: NULL where there is none
} cross_entropy_record;

/// Targets may have changed since the recording: each forward checks them.
static bool check_targets(const corral_tensor *logits, const corral_cross_entropy_terms *terms)
{
    for (size_t r = 0; r < logits->shape[0]; r++) {
        const int32_t target = terms->target[r];
        if (target == terms->ignored || (target >= 0 && (size_t)target < logits->shape[1])) continue;
        corral_tape_fail(logits->tape, CORRAL_ERROR_INVALID,
                         "cross_entropy_loss: target %d of row %zu is not one of %zu classes", target, r,
                         logits->shape[1]);
        return false;
    }
    return true;
}

static void cross_entropy_forward(corral_node *node)
{
    const cross_entropy_record *record = node->kept[0];
    const corral_tensor *logits = node->a;
    const corral_dtype dtype = logits->dtype;
    if (!check_targets(logits, &record->terms)) return;
    if (record->grad != NULL) memset(record->grad, 0, corral_tensor_count(logits) * corral_dtype_size(dtype));
    const double loss =
        corral_losses_of(dtype)->cross_entropy(&(corral_cross_entropy_run){.rows = logits->shape[0],
                                                                           .classes = logits->shape[1],
                                                                           .logits = logits->data,
                                                                           .terms = &record->terms,
                                                                           .logits_grad = record->grad,
                                                                           .log_p = record->log_p});
    if (dtype == CORRAL_F64)
        *(double *)node->tensor.data = loss;
    else
        *(float *)node->tensor.data = (float)loss;
}

static void cross_entropy_backward(corral_node *node)
{
    const cross_entropy_record *record = node->kept[0];
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->tensor.dtype)
        ->add_scaled(corral_tensor_count(node->a), node->tensor.grad, record->grad, grad);
}

corral_tensor *corral_cross_entropy_loss(corral_tensor *logits, const corral_cross_entropy_terms *terms)
{
    corral_tape *tape = logits->tape;
    if (!corral_tape_ready(logits, NULL, "cross_entropy_loss")) return &tape->empty;
    if (logits->dimension_count != 2 || logits->shape[1] == 0 ||
        !(terms->smoothing >= 0.0f && terms->smoothing <= 1.0f))
        return corral_tape_fail(
            tape, CORRAL_ERROR_INVALID,
            "cross_entropy_loss: needs logits [rows, classes] and a smoothing from 0 to 1");
    corral_node *node = corral_tape_append(tape, logits->dtype, 0, NULL, logits, NULL);
    cross_entropy_record *record = corral_tape_scratch(tape, sizeof *record);
    if (node == NULL || record == NULL) return &tape->empty;
    const size_t size = corral_dtype_size(logits->dtype);
    *record =
        (cross_entropy_record){.terms = *terms, .log_p = corral_tape_scratch(tape, logits->shape[1] * size)};
    if (node->tensor.requires_grad)
        record->grad = corral_tape_scratch(tape, corral_tensor_count(logits) * size);
    if (tape->status != CORRAL_OK) return &tape->empty;
    node->forward = cross_entropy_forward;
    node->backward = cross_entropy_backward;
    node->kept[0] = record;
    cross_entropy_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

// --- made of other operations -----------------------------------------------------------------------------

/// False, with the failure recorded, where the shapes differ: losses do not broadcast.
static bool alike(const char *name, const corral_tensor *x, const corral_tensor *y)
{
    if (!corral_tape_ready(x, y, name)) return false;
    bool same = x->dimension_count == y->dimension_count;
    for (uint32_t i = 0; i < x->dimension_count && same; i++)
        same = x->shape[i] == y->shape[i];
    if (!same)
        corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: the two shapes differ; reshape one of them",
                         name);
    return same;
}

/// softplus(x) - target x: the same, and right for large x of either sign.
corral_tensor *corral_bce_with_logits_loss(corral_tensor *x, corral_tensor *target)
{
    if (!alike("bce_with_logits_loss", x, target)) return &x->tape->empty;
    return corral_mean(corral_sub(corral_softplus(x), corral_mul(target, x)));
}

corral_tensor *corral_huber_loss(corral_tensor *x, corral_tensor *y, double delta)
{
    return corral_scale(corral_smooth_l1_loss(x, y, delta), delta);
}

corral_tensor *corral_l1_loss(corral_tensor *x, corral_tensor *y)
{
    return corral_smooth_l1_loss(x, y, 0.0);
}

corral_tensor *corral_gaussian_nll_loss(corral_tensor *mean, corral_tensor *log_std, corral_tensor *target)
{
    return corral_neg(corral_mean(corral_normal_log_prob(mean, log_std, target)));
}
