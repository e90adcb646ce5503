// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The recorded forms of the losses. Gradients are a by-product of the forward pass (real_*.h), so they are
// kept, and backward only scales them.

#include "ops/kernels.h"
#include "ops/loss_kernels.h"
#include "tensor/tape.h"

#include <string.h>

/// Scratch for the gradient of `x`, NULL where it needs none.
static void *kept_gradient(const corral_tensor *x)
{
    if (!x->requires_grad) return NULL;
    return corral_tape_scratch(x->tape, corral_tensor_count(x) * corral_dtype_size(x->dtype));
}

static void write_loss(corral_node *node, double loss)
{
    if (node->tensor.dtype == CORRAL_F64)
        *(double *)node->tensor.data = loss;
    else
        *(float *)node->tensor.data = (float)loss;
}

/// The node's result after its first forward.
static corral_tensor *run_first(corral_node *node)
{
    corral_tape *tape = node->tensor.tape;
    node->forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

static void add_kept(const corral_node *node, corral_tensor *input, const void *kept)
{
    void *grad = input == NULL || kept == NULL ? NULL : corral_tensor_gradient(input);
    if (grad == NULL) return;
    corral_kernels_of(node->tensor.dtype)
        ->add_scaled(corral_tensor_count(input), node->tensor.grad, kept, grad);
}

// --- PPO over any distribution ----------------------------------------------------------------------------

enum { PPO_INPUTS = 4 };

/// The inputs (log_prob, entropy, value, kl) and their gradients, and what else the loss reads.
typedef struct ppo_record {
    corral_tensor *input[PPO_INPUTS];
    void *grad[PPO_INPUTS];
    corral_ppo_terms terms;
    corral_ppo_stats *stats;
} ppo_record;

static void ppo_rows_forward(corral_node *node)
{
    const ppo_record *record = node->kept[0];
    corral_tensor *const *input = record->input;
    write_loss(node, corral_losses_of(node->tensor.dtype)
                         ->ppo_terms(&(corral_ppo_terms_run){
                             .rows = input[0]->shape[0],
                             .log_prob = input[0]->data,
                             .entropy = input[1]->data,
                             .value = input[2]->data,
                             .kl = input[3] == NULL ? NULL : input[3]->data,
                             .terms = &record->terms,
                             .log_prob_grad = record->grad[0],
                             .entropy_grad = record->grad[1],
                             .value_grad = record->grad[2],
                             .kl_grad = record->grad[3],
                             .stats = record->stats,
                         }));
}

static void ppo_rows_backward(corral_node *node)
{
    const ppo_record *record = node->kept[0];
    for (size_t i = 0; i < PPO_INPUTS; i++)
        add_kept(node, record->input[i], record->grad[i]);
}

static bool check_ppo_rows(const ppo_record *record, const corral_ppo_terms *terms)
{
    corral_tensor *log_prob = record->input[0];
    if (!corral_tape_ready(log_prob, NULL, "ppo_rows_loss")) return false;
    for (size_t i = 0; i < PPO_INPUTS; i++) {
        const corral_tensor *x = record->input[i];
        if (x == NULL) continue;
        if (!corral_tape_ready(log_prob, x, "ppo_rows_loss")) return false;
        const bool column = i == 2 && x->dimension_count == 2 && x->shape[1] == 1;
        if ((x->dimension_count == 1 || column) && x->shape[0] == log_prob->shape[0]) continue;
        corral_tape_fail(log_prob->tape, CORRAL_ERROR_INVALID,
                         "ppo_rows_loss: needs log_prob, entropy, value and kl of [rows] each");
        return false;
    }
    if (terms->kl_coefficient == 0 || record->input[3] != NULL) return true;
    corral_tape_fail(log_prob->tape, CORRAL_ERROR_INVALID,
                     "ppo_rows_loss: a penalty on the divergence needs kl");
    return false;
}

corral_tensor *corral_ppo_rows_loss(corral_tensor *log_prob, corral_tensor *entropy, corral_tensor *value,
                                    corral_tensor *kl, const corral_ppo_terms *terms, corral_ppo_stats *stats)
{
    corral_tape *tape = log_prob->tape;
    ppo_record record = {.input = {log_prob, entropy, value, kl}, .terms = *terms, .stats = stats};
    if (!check_ppo_rows(&record, terms)) return &tape->empty;
    corral_node *node = corral_tape_append(tape, log_prob->dtype, 0, NULL, log_prob, entropy);
    ppo_record *kept = corral_tape_scratch(tape, sizeof *kept);
    for (size_t i = 0; i < PPO_INPUTS; i++)
        record.grad[i] = record.input[i] == NULL ? NULL : kept_gradient(record.input[i]);
    if (tape->status != CORRAL_OK) return &tape->empty;
    *kept = record;
    node->forward = ppo_rows_forward;
    node->backward = ppo_rows_backward;
    node->kept[0] = kept;
    corral_node_reads(node, value);
    corral_node_reads(node, kl);
    return run_first(node);
}

// --- distributional worths --------------------------------------------------------------------------------

/// What a loss of worths reads, kept so that it can be computed anew. The gradient is in node->kept[1].
typedef struct worth_record {
    corral_c51_terms c51; // of one of both losses
    corral_quantile_terms quantile;
    float *error;
    corral_dqn_stats *stats;
} worth_record;

static void worth_backward(corral_node *node)
{
    add_kept(node, node->a, node->kept[1]);
}

/// True for [rows, actions * each].
static bool check_worths(const char *name, const corral_tensor *x, size_t actions, size_t each)
{
    if (!corral_tape_ready(x, NULL, name)) return false;
    if (x->dimension_count == 2 && actions > 0 && each > 0 && x->shape[1] / each == actions &&
        x->shape[1] % each == 0)
        return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: needs [rows, %zu * %zu]", name, actions, each);
    return false;
}

/// Zeroes the kept gradient; false, with the failure recorded, for actions that do not exist. They may have
/// changed since the recording.
static bool begin_worths(const corral_node *node, const int32_t *action, size_t actions)
{
    const corral_tensor *x = node->a;
    for (size_t r = 0; r < x->shape[0]; r++) {
        if (action[r] >= 0 && (size_t)action[r] < actions) continue;
        corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: action %d of row %zu is not one of %zu",
                         node->name, action[r], r, actions);
        return false;
    }
    if (node->kept[1] != NULL)
        memset(corral_unconst(node->kept[1]), 0, corral_tensor_count(x) * corral_dtype_size(x->dtype));
    return true;
}

static corral_tensor *record_worths(corral_tensor *x, worth_record record, void (*forward)(corral_node *))
{
    corral_tape *tape = x->tape;
    corral_node *node = corral_tape_append(tape, x->dtype, 0, NULL, x, NULL);
    worth_record *kept = corral_tape_scratch(tape, sizeof *kept);
    void *grad = kept_gradient(x);
    if (tape->status != CORRAL_OK) return &tape->empty;
    *kept = record;
    node->forward = forward;
    node->backward = worth_backward;
    node->kept[0] = kept;
    node->kept[1] = grad;
    return run_first(node);
}

static void c51_forward(corral_node *node)
{
    const worth_record *record = node->kept[0];
    if (!begin_worths(node, record->c51.action, record->c51.support.actions)) return;
    write_loss(node, corral_losses_of(node->tensor.dtype)
                         ->c51(&(corral_c51_run){.rows = node->a->shape[0],
                                                 .logits = node->a->data,
                                                 .terms = &record->c51,
                                                 .logits_grad = corral_unconst(node->kept[1]),
                                                 .error = record->error,
                                                 .stats = record->stats}));
}

corral_tensor *corral_c51_loss(corral_tensor *logits, const corral_c51_terms *terms, float *out_error,
                               corral_dqn_stats *stats)
{
    const corral_c51_support *support = &terms->support;
    if (!check_worths("c51_loss", logits, support->actions, support->atoms)) return &logits->tape->empty;
    if (support->atoms < 2 || support->atoms > CORRAL_C51_MOST_ATOMS || !(support->v_min < support->v_max))
        return corral_tape_fail(logits->tape, CORRAL_ERROR_INVALID,
                                "c51_loss: needs 2 to %d atoms and v_min below v_max, got %zu, %g and %g",
                                CORRAL_C51_MOST_ATOMS, support->atoms, (double)support->v_min,
                                (double)support->v_max);
    return record_worths(logits, (worth_record){.c51 = *terms, .error = out_error, .stats = stats},
                         c51_forward);
}

static void quantile_forward(corral_node *node)
{
    const worth_record *record = node->kept[0];
    if (!begin_worths(node, record->quantile.action, record->quantile.actions)) return;
    write_loss(node, corral_losses_of(node->tensor.dtype)
                         ->quantile(&(corral_quantile_run){.rows = node->a->shape[0],
                                                           .quantiles = node->a->data,
                                                           .terms = &record->quantile,
                                                           .quantiles_grad = corral_unconst(node->kept[1]),
                                                           .error = record->error,
                                                           .stats = record->stats}));
}

corral_tensor *corral_quantile_loss(corral_tensor *quantiles, const corral_quantile_terms *terms,
                                    float *out_error, corral_dqn_stats *stats)
{
    if (!check_worths("quantile_loss", quantiles, terms->actions, terms->quantiles))
        return &quantiles->tape->empty;
    if (terms->targets == 0 || !(terms->huber_delta >= 0.0f))
        return corral_tape_fail(quantiles->tape, CORRAL_ERROR_INVALID,
                                "quantile_loss: needs 1 target or more and a huber_delta of 0 or more");
    return record_worths(quantiles, (worth_record){.quantile = *terms, .error = out_error, .stats = stats},
                         quantile_forward);
}
