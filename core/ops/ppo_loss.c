// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The recorded form of PPO's loss. Its gradients are a by-product of the forward pass over the rows
// (real_ppo.h), so they are kept, and backward only scales them.

#include "ops/kernels.h"
#include "tensor/tape.h"

static void ppo_backward(corral_node *node)
{
    const corral_kernels *kernels = corral_kernels_of(node->tensor.dtype);
    void *logits_grad = corral_tensor_gradient(node->a), *value_grad = corral_tensor_gradient(node->b);
    if (logits_grad != NULL) {
        kernels->add_scaled(corral_tensor_count(node->a), node->tensor.grad, node->kept[0], logits_grad);
    }
    if (value_grad != NULL) {
        kernels->add_scaled(corral_tensor_count(node->b), node->tensor.grad, node->kept[1], value_grad);
    }
}

static bool check_ppo(const corral_tensor *logits, const corral_tensor *value, const corral_ppo_terms *terms)
{
    corral_tape *tape = logits->tape;
    if (!corral_tape_ready(logits, value, "ppo_loss")) return false;
    const size_t rows = logits->shape[0];
    if (logits->dimension_count != 2 || value->shape[0] != rows || corral_tensor_count(value) != rows ||
        value->dimension_count == 0) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "ppo_loss: needs logits [rows, actions] and a value [rows] or [rows, 1]");
        return false;
    }
    if (terms->kl_coefficient != 0 && terms->old_log_probs == NULL) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "ppo_loss: a penalty on the divergence needs old_log_probs");
        return false;
    }
    for (size_t r = 0; r < rows; r++) {
        if (terms->action[r] >= 0 && (size_t)terms->action[r] < logits->shape[1]) continue;
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "ppo_loss: action %d of row %zu is not one of %zu",
                         terms->action[r], r, logits->shape[1]);
        return false;
    }
    return true;
}

corral_tensor *corral_ppo_loss(corral_tensor *logits, corral_tensor *value, const corral_ppo_terms *terms,
                               corral_ppo_stats *stats)
{
    corral_tape *tape = logits->tape;
    if (!check_ppo(logits, value, terms)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, logits->dtype, 0, NULL, logits, value);
    if (node == NULL) return &tape->empty;
    node->backward = ppo_backward;

    const size_t size = corral_dtype_size(logits->dtype);
    corral_ppo_rows run = {
        .rows = logits->shape[0],
        .actions = logits->shape[1],
        .logits = logits->data,
        .value = value->data,
        .terms = terms,
        .stats = stats,
    };
    if (logits->requires_grad)
        run.logits_grad = corral_tape_scratch(tape, corral_tensor_count(logits) * size);
    if (value->requires_grad) run.value_grad = corral_tape_scratch(tape, corral_tensor_count(value) * size);
    if (tape->status != CORRAL_OK) return &tape->empty;
    node->kept[0] = run.logits_grad;
    node->kept[1] = run.value_grad;
    const double loss = corral_kernels_of(logits->dtype)->ppo(&run);
    if (logits->dtype == CORRAL_F64) {
        *(double *)node->tensor.data = loss;
    } else {
        *(float *)node->tensor.data = (float)loss;
    }
    return &node->tensor;
}
