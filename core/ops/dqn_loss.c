// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The recorded forms of Q-learning's loss and of the dueling head (real_dqn.h has the loops). The loss's
// gradient is a by-product of its forward pass, so it is kept, and backward only scales it.

#include "ops/kernels.h"
#include "tensor/tape.h"

#include <string.h>

// --- the loss ---------------------------------------------------------------------------------------------

/// What the loss reads, kept so that it can be computed anew.
typedef struct dqn_record {
    corral_dqn_terms terms;
    corral_dqn_rows run;
} dqn_record;

static bool actions_exist(const corral_tensor *q, const int32_t *action)
{
    for (size_t r = 0; r < q->shape[0]; r++) {
        if (action[r] >= 0 && (size_t)action[r] < q->shape[1]) continue;
        corral_tape_fail(q->tape, CORRAL_ERROR_INVALID, "dqn_loss: action %d of row %zu is not one of %zu",
                         action[r], r, q->shape[1]);
        return false;
    }
    return true;
}

static void dqn_forward(corral_node *node)
{
    const dqn_record *record = node->kept[0];
    const corral_tensor *q = node->a;
    if (!actions_exist(q, record->terms.action)) return;
    corral_dqn_rows run = record->run;
    run.q = q->data;
    run.terms = &record->terms;
    if (run.q_grad != NULL) memset(run.q_grad, 0, corral_tensor_count(q) * corral_dtype_size(q->dtype));
    const double loss = corral_kernels_of(q->dtype)->dqn(&run);
    if (q->dtype == CORRAL_F64)
        *(double *)node->tensor.data = loss;
    else
        *(float *)node->tensor.data = (float)loss;
}

static void dqn_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_kernels_of(node->tensor.dtype)
        ->add_scaled(corral_tensor_count(node->a), node->tensor.grad,
                     ((const dqn_record *)node->kept[0])->run.q_grad, grad);
}

static bool check_dqn(const corral_tensor *q)
{
    if (!corral_tape_ready(q, NULL, "dqn_loss")) return false;
    if (q->dimension_count != 2) {
        corral_tape_fail(q->tape, CORRAL_ERROR_INVALID, "dqn_loss: needs q [rows, actions]");
        return false;
    }
    return true;
}

corral_tensor *corral_dqn_loss(corral_tensor *q, const corral_dqn_terms *terms, float *out_error,
                               corral_dqn_stats *stats)
{
    corral_tape *tape = q->tape;
    if (!check_dqn(q)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, q->dtype, 0, NULL, q, NULL);
    if (node == NULL) return &tape->empty;
    node->forward = dqn_forward;
    node->backward = dqn_backward;
    dqn_record *record = corral_tape_scratch(tape, sizeof *record);
    void *q_grad = NULL;
    if (node->tensor.requires_grad)
        q_grad = corral_tape_scratch(tape, corral_tensor_count(q) * corral_dtype_size(q->dtype));
    if (tape->status != CORRAL_OK) return &tape->empty;
    *record = (dqn_record){
        .terms = *terms,
        .run = {.rows = q->shape[0],
                .actions = q->shape[1],
                .q_grad = q_grad,
                .error = out_error,
                .stats = stats},
    };
    node->kept[0] = record;
    dqn_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

// --- the dueling head -------------------------------------------------------------------------------------

static size_t atoms_of(const corral_tensor *value)
{
    return value->dimension_count == 2 ? value->shape[1] : 1;
}

static void dueling_forward(corral_node *node)
{
    const size_t atoms = atoms_of(node->a);
    corral_kernels_of(node->tensor.dtype)
        ->dueling(node->tensor.shape[0], node->tensor.shape[1] / atoms, atoms, node->a->data, node->b->data,
                  node->tensor.data);
}

static void dueling_backward(corral_node *node)
{
    const size_t atoms = atoms_of(node->a);
    void *value_grad = corral_tensor_gradient(node->a), *advantage_grad = corral_tensor_gradient(node->b);
    corral_kernels_of(node->tensor.dtype)
        ->dueling_grad(node->tensor.shape[0], node->tensor.shape[1] / atoms, atoms, node->tensor.grad,
                       value_grad, advantage_grad);
}

corral_tensor *corral_dueling(corral_tensor *value, corral_tensor *advantage)
{
    corral_tape *tape = value->tape;
    if (!corral_tape_ready(value, advantage, "dueling")) return &tape->empty;
    const size_t atoms = atoms_of(value);
    if (advantage->dimension_count != 2 || value->dimension_count < 1 || value->dimension_count > 2 ||
        atoms == 0 || advantage->shape[1] == 0 || advantage->shape[1] % atoms != 0 ||
        value->shape[0] != advantage->shape[0])
        return corral_tape_fail(
            tape, CORRAL_ERROR_INVALID,
            "dueling: needs a value [rows] or [rows, atoms] and advantages [rows, actions "
            "x atoms]");
    corral_node *node = corral_tape_append(tape, value->dtype, 2, advantage->shape, value, advantage);
    if (node == NULL) return &tape->empty;
    node->forward = dueling_forward;
    node->backward = dueling_backward;
    dueling_forward(node);
    return &node->tensor;
}

void corral_dueling_forward(size_t rows, size_t actions, size_t atoms, const float *value,
                            const float *advantage, float *out_q)
{
    corral_kernels_f32.dueling(rows, actions, atoms, value, advantage, out_q);
}
