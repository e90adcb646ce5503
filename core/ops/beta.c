// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Beta distributions as recorded operations.

#include "ops/distribution_kernels.h"
#include "tensor/tape.h"

/// What a node reads; NULL where there is none. A sample's value is its uniform number.
typedef struct beta_record {
    corral_tensor *p_alpha, *p_beta, *q_alpha, *q_beta, *value;
} beta_record;

static void *gradient_of(corral_tensor *tensor)
{
    return tensor == NULL ? NULL : corral_tensor_gradient(tensor);
}

static const void *data_of(const corral_tensor *tensor)
{
    return tensor == NULL ? NULL : tensor->data;
}

/// The run of a node, with what its tensors hold now.
static corral_beta_run beta_run(const corral_node *node)
{
    const beta_record *record = node->kept[0];
    return (corral_beta_run){
        .rows = record->p_alpha->shape[0],
        .n = record->p_alpha->shape[1],
        .p = {.alpha = data_of(record->p_alpha), .beta = data_of(record->p_beta)},
        .q = {.alpha = data_of(record->q_alpha), .beta = data_of(record->q_beta)},
        .value = data_of(record->value),
        .y = node->tensor.data,
    };
}

static void beta_forward(corral_node *node)
{
    const corral_beta_run run = beta_run(node);
    corral_distributions_of(node->tensor.dtype)->beta[node->kind](&run);
}

static void beta_backward(corral_node *node)
{
    const beta_record *record = node->kept[0];
    corral_beta_run run = beta_run(node);
    run.y_grad = node->tensor.grad;
    run.p.alpha_grad = gradient_of(record->p_alpha);
    run.p.beta_grad = gradient_of(record->p_beta);
    run.q.alpha_grad = gradient_of(record->q_alpha);
    run.q.beta_grad = gradient_of(record->q_beta);
    if (node->kind != CORRAL_BETA_RSAMPLE) run.value_grad = gradient_of(record->value);
    if (node->tensor.tape->status == CORRAL_OK)
        corral_distributions_of(node->tensor.dtype)->beta_grad[node->kind](&run);
}

/// True for a tensor [rows, n] like the first parameter, or none.
static bool check_like(const char *name, const corral_tensor *first, const corral_tensor *other)
{
    if (other == NULL) return true;
    if (!corral_tape_ready(first, other, name)) return false;
    if (first->dimension_count == 2 && other->dimension_count == 2 && first->shape[0] == other->shape[0] &&
        first->shape[1] == other->shape[1])
        return true;
    corral_tape_fail(first->tape, CORRAL_ERROR_INVALID, "%s: the shapes differ; all must be [rows, n]", name);
    return false;
}

static corral_tensor *record_beta(const char *name, corral_beta_kind kind, beta_record record)
{
    corral_tensor *first = record.p_alpha;
    corral_tape *tape = first->tape;
    if (!check_like(name, first, record.p_beta) || !check_like(name, first, record.q_alpha) ||
        !check_like(name, first, record.q_beta) || !check_like(name, first, record.value))
        return &tape->empty;
    const uint32_t dimensions = kind == CORRAL_BETA_RSAMPLE ? 2 : 1;
    corral_node *node =
        corral_tape_append(tape, first->dtype, dimensions, first->shape, first, record.p_beta);
    beta_record *kept = corral_tape_scratch(tape, sizeof *kept);
    if (node == NULL || kept == NULL) return &tape->empty;
    *kept = record;
    corral_node_reads(node, record.q_alpha);
    corral_node_reads(node, record.q_beta);
    corral_node_reads(node, record.value);
    node->kind = kind;
    node->forward = beta_forward;
    node->backward = beta_backward;
    node->kept[0] = kept;
    beta_forward(node);
    return &node->tensor;
}

corral_tensor *corral_beta_log_prob(corral_tensor *alpha, corral_tensor *beta, corral_tensor *value)
{
    return record_beta("beta_log_prob", CORRAL_BETA_LOG_PROB, (beta_record){alpha, beta, NULL, NULL, value});
}

corral_tensor *corral_beta_entropy(corral_tensor *alpha, corral_tensor *beta)
{
    return record_beta("beta_entropy", CORRAL_BETA_ENTROPY, (beta_record){alpha, beta, NULL, NULL, NULL});
}

corral_tensor *corral_beta_kl(corral_tensor *p_alpha, corral_tensor *p_beta, corral_tensor *q_alpha,
                              corral_tensor *q_beta)
{
    return record_beta("beta_kl", CORRAL_BETA_KL, (beta_record){p_alpha, p_beta, q_alpha, q_beta, NULL});
}

corral_tensor *corral_beta_rsample(corral_tensor *alpha, corral_tensor *beta, corral_tensor *uniform)
{
    return record_beta("beta_rsample", CORRAL_BETA_RSAMPLE, (beta_record){alpha, beta, NULL, NULL, uniform});
}
