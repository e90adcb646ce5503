// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The distributions as recorded operations. A node keeps the run that its loops were called with; backward
// adds where the gradients are, and calls the loops' counterparts.

#include "ops/distribution_kernels.h"
#include "tensor/tape.h"

#include "corral/core/ops.h"

#include <string.h>

/// Room for a copy of `bytes` at `from` until the reset; NULL after a failure.
static void *keep(corral_tape *tape, const void *from, size_t bytes)
{
    void *kept = corral_tape_scratch(tape, bytes);
    if (kept != NULL && bytes > 0) memcpy(kept, from, bytes);
    return kept;
}

// --- masks ------------------------------------------------------------------------------------------------

static void mask_forward(corral_node *node)
{
    corral_distributions_of(node->tensor.dtype)
        ->mask(corral_tensor_count(node->a), node->a->data, node->kept[0], node->tensor.data);
}

static void mask_backward(corral_node *node)
{
    void *grad = corral_tensor_gradient(node->a);
    if (grad == NULL) return;
    corral_distributions_of(node->tensor.dtype)
        ->mask_grad(corral_tensor_count(node->a), node->kept[0], node->tensor.grad, grad);
}

corral_tensor *corral_mask_logits(corral_tensor *logits, const uint8_t *allowed)
{
    corral_tape *tape = logits->tape;
    if (!corral_tape_ready(logits, NULL, "mask_logits")) return &tape->empty;
    corral_node *node =
        corral_tape_append(tape, logits->dtype, logits->dimension_count, logits->shape, logits, NULL);
    if (node == NULL) return &tape->empty;
    node->forward = mask_forward;
    node->backward = mask_backward;
    node->kept[0] = allowed;
    mask_forward(node);
    return &node->tensor;
}

// --- discrete ---------------------------------------------------------------------------------------------

/// Actions may have changed since the recording: each forward checks them.
static bool check_actions(const corral_node *node, const corral_discrete_run *run)
{
    for (size_t i = 0; i < run->rows * run->count && run->action != NULL; i++) {
        const size_t limit = run->sizes == NULL ? 2 : run->sizes[i % run->count];
        if (run->action[i] >= 0 && (size_t)run->action[i] < limit) continue;
        corral_tape_fail(node->tensor.tape, CORRAL_ERROR_INVALID,
                         "%s: action %d of row %zu is not one of %zu", node->name, run->action[i],
                         i / run->count, limit);
        return false;
    }
    return true;
}

/// The run of a node, with what its tensors hold now.
static corral_discrete_run discrete_run(const corral_node *node)
{
    corral_discrete_run run = *(const corral_discrete_run *)node->kept[0];
    run.logits = node->a->data;
    run.other = node->b == NULL ? NULL : node->b->data;
    run.y = node->tensor.data;
    return run;
}

static void discrete_forward(corral_node *node)
{
    const corral_discrete_run run = discrete_run(node);
    if (check_actions(node, &run)) corral_distributions_of(node->tensor.dtype)->discrete[node->kind](&run);
}

static void discrete_backward(corral_node *node)
{
    corral_discrete_run run = discrete_run(node);
    run.y_grad = node->tensor.grad;
    run.logits_grad = corral_tensor_gradient(node->a);
    if (node->b != NULL) run.other_grad = corral_tensor_gradient(node->b);
    if (run.logits_grad == NULL && run.other_grad == NULL) return;
    corral_distributions_of(node->tensor.dtype)->discrete_grad[node->kind](&run);
}

/// `run` has everything but what the tensors tell.
static corral_tensor *record_discrete(corral_discrete_kind kind, corral_discrete_run run,
                                      corral_tensor *logits, corral_tensor *other)
{
    corral_tape *tape = logits->tape;
    run.rows = logits->shape[0];
    run.width = logits->shape[1];
    if (run.sizes != NULL) {
        run.sizes = keep(tape, run.sizes, run.count * sizeof *run.sizes);
    } else {
        run.count = run.width;
    }
    corral_node *node = corral_tape_append(tape, logits->dtype, 1, logits->shape, logits, other);
    if (node == NULL) return &tape->empty;
    node->kind = kind;
    node->forward = discrete_forward;
    node->backward = discrete_backward;
    node->kept[0] = keep(tape, &run, sizeof run);
    if (tape->status == CORRAL_OK) discrete_forward(node);
    return tape->status == CORRAL_OK ? &node->tensor : &tape->empty;
}

/// The logits of both distributions are [rows, n] (`other` may be NULL).
static bool check_logits(const char *name, const corral_tensor *logits, const corral_tensor *other)
{
    if (!corral_tape_ready(logits, other, name)) return false;
    const bool same = other == NULL || (other->dimension_count == 2 && other->shape[0] == logits->shape[0] &&
                                        other->shape[1] == logits->shape[1]);
    if (logits->dimension_count == 2 && same) return true;
    corral_tape_fail(logits->tape, CORRAL_ERROR_INVALID, "%s: needs logits [rows, n]%s", name,
                     other == NULL ? "" : ", of both distributions alike");
    return false;
}

static bool check_parts(const char *name, const corral_tensor *logits, size_t count, const size_t *sizes)
{
    size_t sum = 0;
    bool fits = count > 0;
    for (size_t i = 0; i < count && fits; i++)
        fits = sizes[i] > 0 && !__builtin_add_overflow(sum, sizes[i], &sum);
    if (fits && sum == logits->shape[1]) return true;
    corral_tape_fail(
        logits->tape, CORRAL_ERROR_INVALID,
        "%s: the %zu parts do not make up the %zu logits of a row; each needs a size of 1 or more", name,
        count, logits->shape[1]);
    return false;
}

corral_tensor *corral_categorical_log_prob(corral_tensor *logits, size_t count, const size_t *sizes,
                                           const int32_t *action)
{
    const char *name = "categorical_log_prob";
    if (!check_logits(name, logits, NULL) || !check_parts(name, logits, count, sizes))
        return &logits->tape->empty;
    return record_discrete(CORRAL_CATEGORICAL_LOG_PROB,
                           (corral_discrete_run){.count = count, .sizes = sizes, .action = action}, logits,
                           NULL);
}

corral_tensor *corral_categorical_entropy(corral_tensor *logits, size_t count, const size_t *sizes)
{
    const char *name = "categorical_entropy";
    if (!check_logits(name, logits, NULL) || !check_parts(name, logits, count, sizes))
        return &logits->tape->empty;
    return record_discrete(CORRAL_CATEGORICAL_ENTROPY, (corral_discrete_run){.count = count, .sizes = sizes},
                           logits, NULL);
}

corral_tensor *corral_categorical_kl(corral_tensor *p, corral_tensor *q, size_t count, const size_t *sizes)
{
    const char *name = "categorical_kl";
    if (!check_logits(name, p, q) || !check_parts(name, p, count, sizes)) return &p->tape->empty;
    return record_discrete(CORRAL_CATEGORICAL_KL, (corral_discrete_run){.count = count, .sizes = sizes}, p,
                           q);
}

corral_tensor *corral_bernoulli_log_prob(corral_tensor *logits, const int32_t *action)
{
    const char *name = "bernoulli_log_prob";
    if (!check_logits(name, logits, NULL)) return &logits->tape->empty;
    return record_discrete(CORRAL_BERNOULLI_LOG_PROB, (corral_discrete_run){.action = action}, logits, NULL);
}

corral_tensor *corral_bernoulli_entropy(corral_tensor *logits)
{
    if (!check_logits("bernoulli_entropy", logits, NULL)) return &logits->tape->empty;
    return record_discrete(CORRAL_BERNOULLI_ENTROPY, (corral_discrete_run){0}, logits, NULL);
}

corral_tensor *corral_bernoulli_kl(corral_tensor *p, corral_tensor *q)
{
    if (!check_logits("bernoulli_kl", p, q)) return &p->tape->empty;
    return record_discrete(CORRAL_BERNOULLI_KL, (corral_discrete_run){0}, p, q);
}

// --- normal -----------------------------------------------------------------------------------------------

/// What a node of normal distributions reads.
typedef struct normal_record {
    corral_tensor *p_mean, *p_log_std, *q_mean, *q_log_std, *value; // NULL where there is none
    bool squashed;
} normal_record;

static void *gradient_of(corral_tensor *tensor)
{
    return tensor == NULL ? NULL : corral_tensor_gradient(tensor);
}

static corral_normal_side side_of(const corral_tensor *mean, const corral_tensor *log_std)
{
    if (mean == NULL) return (corral_normal_side){0};
    return (corral_normal_side){.mean = mean->data,
                                .log_std = log_std->data,
                                .step = log_std->dimension_count == 2 ? log_std->shape[1] : 0};
}

/// The run of a node, with what its tensors hold now.
static corral_normal_run normal_run(const corral_node *node, const normal_record *record)
{
    return (corral_normal_run){
        .rows = record->p_mean->shape[0],
        .n = record->p_mean->shape[1],
        .p = side_of(record->p_mean, record->p_log_std),
        .q = side_of(record->q_mean, record->q_log_std),
        .value = record->value == NULL ? NULL : record->value->data,
        .squashed = record->squashed,
        .y = node->tensor.data,
    };
}

static void normal_forward(corral_node *node)
{
    const corral_normal_run run = normal_run(node, node->kept[0]);
    corral_distributions_of(node->tensor.dtype)->normal[node->kind](&run);
}

static void normal_backward(corral_node *node)
{
    const normal_record *record = node->kept[0];
    corral_normal_run run = normal_run(node, record);
    run.y_grad = node->tensor.grad;
    run.p.mean_grad = gradient_of(record->p_mean);
    run.p.log_std_grad = gradient_of(record->p_log_std);
    run.q.mean_grad = gradient_of(record->q_mean);
    run.q.log_std_grad = gradient_of(record->q_log_std);
    run.value_grad = gradient_of(record->value);
    if (node->tensor.tape->status != CORRAL_OK) return;
    corral_distributions_of(node->tensor.dtype)->normal_grad[node->kind](&run);
}

/// True for a mean [rows, n] with deviations [rows, n] or [n], or none at all.
static bool check_side(const char *name, const corral_tensor *mean, const corral_tensor *log_std)
{
    if (mean == NULL) return true;
    if (!corral_tape_ready(mean, log_std, name)) return false;
    const bool per_row = log_std->dimension_count == 2 && log_std->shape[0] == mean->shape[0];
    const bool shared = log_std->dimension_count == 1;
    if (mean->dimension_count == 2 && (per_row || shared) &&
        log_std->shape[log_std->dimension_count - 1] == mean->shape[1])
        return true;
    corral_tape_fail(mean->tape, CORRAL_ERROR_INVALID,
                     "%s: needs a mean [rows, n] and log_std [rows, n] or [n]", name);
    return false;
}

/// True for a tensor of the mean's shape, or none.
static bool check_like(const char *name, const corral_tensor *mean, const corral_tensor *other)
{
    if (other == NULL) return true;
    if (!corral_tape_ready(mean, other, name)) return false;
    if (other->dimension_count == 2 && other->shape[0] == mean->shape[0] && other->shape[1] == mean->shape[1])
        return true;
    corral_tape_fail(mean->tape, CORRAL_ERROR_INVALID, "%s: the shapes differ; both must be [rows, n]", name);
    return false;
}

static corral_tensor *record_normal(const char *name, corral_normal_kind kind, normal_record record)
{
    corral_tape *tape = record.p_mean->tape;
    if (!check_side(name, record.p_mean, record.p_log_std) ||
        !check_side(name, record.q_mean, record.q_log_std) ||
        !check_like(name, record.p_mean, record.q_mean) || !check_like(name, record.p_mean, record.value))
        return &tape->empty;
    corral_node *node = corral_tape_append(tape, record.p_mean->dtype, 1, record.p_mean->shape, record.p_mean,
                                           record.p_log_std);
    if (node == NULL) return &tape->empty;
    corral_node_reads(node, record.q_mean);
    corral_node_reads(node, record.q_log_std);
    corral_node_reads(node, record.value);
    node->kind = kind;
    node->forward = normal_forward;
    node->backward = normal_backward;
    node->kept[0] = keep(tape, &record, sizeof record);
    if (tape->status != CORRAL_OK) return &tape->empty;
    normal_forward(node);
    return &node->tensor;
}

corral_tensor *corral_normal_log_prob(corral_tensor *mean, corral_tensor *log_std, corral_tensor *value)
{
    return record_normal("normal_log_prob", CORRAL_NORMAL_LOG_PROB,
                         (normal_record){.p_mean = mean, .p_log_std = log_std, .value = value});
}

corral_tensor *corral_squashed_normal_log_prob(corral_tensor *mean, corral_tensor *log_std,
                                               corral_tensor *value)
{
    return record_normal(
        "squashed_normal_log_prob", CORRAL_NORMAL_LOG_PROB,
        (normal_record){.p_mean = mean, .p_log_std = log_std, .value = value, .squashed = true});
}

corral_tensor *corral_normal_entropy(corral_tensor *mean, corral_tensor *log_std)
{
    return record_normal("normal_entropy", CORRAL_NORMAL_ENTROPY,
                         (normal_record){.p_mean = mean, .p_log_std = log_std});
}

corral_tensor *corral_normal_kl(corral_tensor *p_mean, corral_tensor *p_log_std, corral_tensor *q_mean,
                                corral_tensor *q_log_std)
{
    return record_normal(
        "normal_kl", CORRAL_NORMAL_KL,
        (normal_record){.p_mean = p_mean, .p_log_std = p_log_std, .q_mean = q_mean, .q_log_std = q_log_std});
}

corral_tensor *corral_normal_rsample(corral_tensor *mean, corral_tensor *log_std, corral_tensor *noise)
{
    if (!check_side("normal_rsample", mean, log_std) || !check_like("normal_rsample", mean, noise))
        return &mean->tape->empty;
    return corral_add(mean, corral_mul(corral_exp(log_std), noise));
}
