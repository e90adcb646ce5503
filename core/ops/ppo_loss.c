// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The recorded form of PPO's loss. Its gradients are a by-product of the forward pass over the rows
// (real_ppo.h), so they are kept, and backward only scales them.

#include "ops/kernels.h"
#include "tensor/tape.h"

/// What the loss reads, kept so that it can be computed anew, and its gradients.
typedef struct ppo_record {
    corral_ppo_terms terms;
    corral_ppo_rows run;
} ppo_record;

static bool actions_exist(const corral_tensor *logits, const int32_t *action)
{
    for (size_t r = 0; r < logits->shape[0]; r++) {
        if (action[r] >= 0 && (size_t)action[r] < logits->shape[1]) continue;
        corral_tape_fail(logits->tape, CORRAL_ERROR_INVALID,
                         "ppo_loss: action %d of row %zu is not one of %zu", action[r], r, logits->shape[1]);
        return false;
    }
    return true;
}

static void ppo_forward(corral_node *node)
{
    const ppo_record *record = node->kept[0];
    const corral_tensor *logits = node->a, *value = node->b;
    if (logits != NULL && !actions_exist(logits, record->terms.action)) return;
    corral_ppo_rows run = record->run;
    run.terms = &record->terms;
    run.logits = logits != NULL ? logits->data : NULL;
    run.value = value != NULL ? value->data : NULL;
    const double loss = corral_kernels_of(node->tensor.dtype)->ppo(&run);
    if (node->tensor.dtype == CORRAL_F64) {
        *(double *)node->tensor.data = loss;
    } else {
        *(float *)node->tensor.data = (float)loss;
    }
}

static void add_kept(const corral_node *node, corral_tensor *tensor, const void *kept)
{
    void *grad = tensor == NULL ? NULL : corral_tensor_gradient(tensor);
    if (grad != NULL)
        corral_kernels_of(node->tensor.dtype)
            ->add_scaled(corral_tensor_count(tensor), node->tensor.grad, kept, grad);
}

static void ppo_backward(corral_node *node)
{
    const ppo_record *record = node->kept[0];
    add_kept(node, node->a, record->run.logits_grad);
    add_kept(node, node->b, record->run.value_grad);
}

static bool check_logits(const corral_tensor *logits, const corral_ppo_terms *terms)
{
    corral_tape *tape = logits->tape;
    if (logits->dimension_count != 2) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID, "ppo_loss: needs logits [rows, actions]");
        return false;
    }
    if (terms->kl_coefficient != 0 && terms->old_log_probs == NULL) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "ppo_loss: a penalty on the divergence needs old_log_probs");
        return false;
    }
    return true;
}

static bool check_value(const corral_tensor *value, const corral_tensor *logits)
{
    const bool is_column = value->dimension_count > 0 && corral_tensor_count(value) == value->shape[0];
    if (is_column && (logits == NULL || value->shape[0] == logits->shape[0])) return true;
    corral_tape_fail(value->tape, CORRAL_ERROR_INVALID,
                     "ppo_loss: needs a value [rows] or [rows, 1] of as many rows as the logits");
    return false;
}

corral_tensor *corral_ppo_loss(corral_tensor *logits, corral_tensor *value, const corral_ppo_terms *terms,
                               corral_ppo_stats *stats)
{
    const corral_tensor *any = logits != NULL ? logits : value;
    corral_tape *tape = any->tape;
    if (!corral_tape_ready(any, value, "ppo_loss")) return &tape->empty;
    if (logits != NULL && !check_logits(logits, terms)) return &tape->empty;
    if (value != NULL && !check_value(value, logits)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, any->dtype, 0, NULL, logits, value);
    if (node == NULL) return &tape->empty;
    node->forward = ppo_forward;
    node->backward = ppo_backward;
    ppo_record *record = corral_tape_scratch(tape, sizeof *record);
    if (record == NULL) return &tape->empty;
    *record = (ppo_record){
        .terms = *terms,
        .run = {.rows = any->shape[0], .actions = logits != NULL ? logits->shape[1] : 0, .stats = stats},
    };
    node->kept[0] = record;
    const size_t size = corral_dtype_size(any->dtype);
    const bool wanted = node->tensor.requires_grad;
    if (wanted && logits != NULL && logits->requires_grad)
        record->run.logits_grad = corral_tape_scratch(tape, corral_tensor_count(logits) * size);
    if (wanted && value != NULL && value->requires_grad)
        record->run.value_grad = corral_tape_scratch(tape, corral_tensor_count(value) * size);
    if (tape->status != CORRAL_OK) return &tape->empty;
    ppo_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}
