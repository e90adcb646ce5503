// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A policy as an ONNX graph: the same steps as acting, of the operations that every runtime has (Gemm, Tanh,
/// Relu, ArgMax, Clip by Min and Max). The normalisation is in f64, as here.
#include "corral/policy/export.h"

#include "onnx_writer.h"
#include "policy_internal.h"

#include "corral/base/file.h"
#include "corral/core/losses.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct exporter {
    const corral_policy *policy;
    onnx_graph graph;
    bool no_memory;
} exporter;

static onnx_value unary(exporter *e, const char *operation, onnx_value x)
{
    return onnx_node(&e->graph, operation, NULL, &x, 1, NULL);
}

static onnx_value binary(exporter *e, const char *operation, onnx_value a, onnx_value b)
{
    return onnx_node(&e->graph, operation, NULL, (onnx_value[]){a, b}, 2, NULL);
}

static onnx_value cast(exporter *e, const char *name, onnx_value x, onnx_type to)
{
    return onnx_node(&e->graph, "Cast", name, &x, 1, (onnx_attribute[]){{"to", to}, {NULL, 0}});
}

static onnx_value named(exporter *e, const char *name, onnx_value x)
{
    return onnx_node(&e->graph, "Identity", name, &x, 1, NULL);
}

static onnx_value integers(exporter *e, size_t count, const int64_t *values)
{
    return onnx_tensor(&e->graph, NULL, ONNX_INT64, 1, (int64_t[]){(int64_t)count}, values,
                       count * sizeof *values);
}

static onnx_value doubles(exporter *e, size_t count, const double *values)
{
    return onnx_tensor(&e->graph, NULL, ONNX_DOUBLE, 1, (int64_t[]){(int64_t)count}, values,
                       count * sizeof *values);
}

/// Columns first .. first+count-1.
static onnx_value columns(exporter *e, onnx_value x, size_t first, size_t count)
{
    const int64_t from = (int64_t)first, to = (int64_t)(first + count), axis = 1;
    return onnx_node(&e->graph, "Slice", NULL,
                     (onnx_value[]){x, integers(e, 1, &from), integers(e, 1, &to), integers(e, 1, &axis)}, 4,
                     NULL);
}

static onnx_value concatenate(exporter *e, const char *name, const onnx_value *parts, size_t count)
{
    return onnx_node(&e->graph, "Concat", name, parts, count, (onnx_attribute[]){{"axis", 1}, {NULL, 0}});
}

// --- layers -----------------------------------------------------------------------------------------------

static onnx_value parameter(exporter *e, uint32_t index)
{
    const corral_param *entry = corral_params_entry(e->policy->params, index);
    int64_t shape[CORRAL_MAX_DIMENSIONS];
    char name[ONNX_NAME];
    snprintf(name, sizeof name, "weights/%s", entry->name); // outputs may have the same names
    for (uint32_t i = 0; i < entry->dimension_count; i++)
        shape[i] = (int64_t)entry->shape[i];
    return onnx_tensor(&e->graph, name, ONNX_FLOAT, entry->dimension_count, shape,
                       (const float *)corral_params_data_const(e->policy->params) + entry->offset,
                       entry->count * sizeof(float));
}

static onnx_value layer(exporter *e, const policy_layer *l, onnx_value x)
{
    static const char *const activations[] = {[CORRAL_TANH] = "Tanh", [CORRAL_RELU] = "Relu"};
    x = onnx_node(&e->graph, "Gemm", NULL, (onnx_value[]){x, parameter(e, l->weight), parameter(e, l->bias)},
                  3, (onnx_attribute[]){{"transB", 1}, {NULL, 0}});
    return l->activation == CORRAL_LINEAR ? x : unary(e, activations[l->activation], x);
}

static onnx_value tower(exporter *e, const policy_tower *t, onnx_value x)
{
    for (uint32_t i = 0; i < t->count; i++)
        x = layer(e, &t->layer[i], x);
    return x;
}

// --- the filter -------------------------------------------------------------------------------------------

/// Mean, 1 / deviation and bound of each number that the network sees; 0, 1 and none of what is not
/// normalised.
static void fill_columns(const corral_policy *policy, double *mean, double *inverse, double *bound)
{
    const policy_filter *filter = &policy->filter;
    size_t at = 0, statistic = 0;
    for (uint32_t k = 0; k < policy->layout.part_count; k++) {
        const bool numbers = policy->layout.part[k].kind == CORRAL_PART_NUMBERS;
        for (size_t i = 0; i < corral_part_size(&policy->layout.part[k]); i++, at++) {
            mean[at] = numbers ? filter->mean[statistic] : 0;
            inverse[at] = numbers ? filter->inverse[statistic] : 1;
            bound[at] = numbers ? policy->config.observation_clip : DBL_MAX;
            statistic += numbers;
        }
    }
}

static onnx_value normalise(exporter *e, onnx_value x)
{
    const size_t size = e->policy->config.observation_size;
    if (!e->policy->config.normalize_observation) return x;
    double *mean = calloc(4 * size, sizeof *mean);
    if (mean == NULL) {
        e->no_memory = true;
        return x;
    }
    double *inverse = mean + size, *high = inverse + size, *low = high + size;
    fill_columns(e->policy, mean, inverse, high);
    for (size_t i = 0; i < size; i++)
        low[i] = -high[i];
    x = binary(e, "Sub", cast(e, NULL, x, ONNX_DOUBLE), doubles(e, size, mean));
    x = binary(e, "Mul", x, doubles(e, size, inverse));
    x = binary(e, "Min", binary(e, "Max", x, doubles(e, size, low)), doubles(e, size, high));
    free(mean);
    return cast(e, NULL, x, ONNX_FLOAT);
}

// --- actions ----------------------------------------------------------------------------------------------

/// The most probable choice, the first one among equals: [batch, 1].
static onnx_value best(exporter *e, onnx_value logits, int64_t start)
{
    const onnx_value index = onnx_node(&e->graph, "ArgMax", NULL, &logits, 1,
                                       (onnx_attribute[]){{"axis", 1}, {"keepdims", 1}, {NULL, 0}});
    return start == 0 ? index : binary(e, "Add", index, integers(e, 1, &start));
}

static void write_plain_action(exporter *e, onnx_value logits)
{
    const int64_t shape = -1;
    const onnx_value action = best(e, logits, e->policy->config.action_start);
    onnx_node(&e->graph, "Reshape", "action", (onnx_value[]){action, integers(e, 1, &shape)}, 2, NULL);
    onnx_output(&e->graph, "action", ONNX_INT64, 0);
}

static void write_choices(exporter *e, onnx_value logits)
{
    const corral_policy *policy = e->policy;
    onnx_value *parts = calloc(policy->actions.choices, sizeof *parts);
    if (parts == NULL) {
        e->no_memory = true;
        return;
    }
    size_t choice = 0, first = 0;
    for (uint32_t k = 0; k < policy->config.action.part_count; k++) {
        const corral_part *part = &policy->config.action.part[k];
        if (part->kind != CORRAL_PART_CHOICES) continue;
        for (uint32_t i = 0; i < part->count; i++, first += part->choices)
            parts[choice++] = best(e, columns(e, logits, first, part->choices), part->start);
    }
    concatenate(e, "choices", parts, choice);
    onnx_output(&e->graph, "choices", ONNX_INT64, choice);
    free(parts);
}

/// See into_bounds() in actions.c. Numbers of whole types stay floats here, rounded.
static onnx_value write_part(exporter *e, const corral_part *part, onnx_value x)
{
    const corral_policy_config *config = &e->policy->config;
    const bool scaled = (config->squash || config->rescale) && isfinite(part->low) && isfinite(part->high);
    const double low = (double)(float)part->low, high = (double)(float)part->high;
    x = cast(e, NULL, x, ONNX_DOUBLE);
    if (scaled) {
        const double one = 1, half = 0.5 * (part->high - part->low), offset = part->low;
        x = binary(e, "Mul", binary(e, "Add", x, doubles(e, 1, &one)), doubles(e, 1, &half));
        x = binary(e, "Add", x, doubles(e, 1, &offset));
    }
    if (part->dtype == CORRAL_PART_U8 || part->dtype == CORRAL_PART_I32) x = unary(e, "Round", x);
    if (!isinf(low)) x = binary(e, "Max", x, doubles(e, 1, &low));
    if (!isinf(high)) x = binary(e, "Min", x, doubles(e, 1, &high));
    return cast(e, NULL, x, ONNX_FLOAT);
}

static void write_numbers(exporter *e, onnx_value mean)
{
    const corral_policy_config *config = &e->policy->config;
    onnx_value parts[CORRAL_PARTS_MAX];
    size_t count = 0, first = 0;
    if (config->squash) mean = unary(e, "Tanh", mean);
    for (uint32_t k = 0; k < config->action.part_count; k++) {
        const corral_part *part = &config->action.part[k];
        if (part->kind != CORRAL_PART_NUMBERS) continue;
        parts[count++] = write_part(e, part, columns(e, mean, first, part->count));
        first += part->count;
    }
    concatenate(e, "numbers", parts, count);
    onnx_output(&e->graph, "numbers", ONNX_FLOAT, first);
}

static void write_heads(exporter *e, onnx_value features)
{
    const policy_heads *heads = &e->policy->heads;
    const policy_actions *actions = &e->policy->actions;
    if (actions->logits > 0) {
        const onnx_value logits = named(e, "logits", layer(e, &heads->logits, features));
        onnx_output(&e->graph, "logits", ONNX_FLOAT, actions->logits);
        write_choices(e, logits);
    }
    if (actions->numbers == 0) return;
    const onnx_value mean = named(e, "mean", layer(e, &heads->mean, features));
    onnx_output(&e->graph, "mean", ONNX_FLOAT, actions->numbers);
    write_numbers(e, mean);
    if (e->policy->config.deviation == CORRAL_DEVIATION_STATE) {
        const double low = POLICY_LOG_STD_LOW, high = POLICY_LOG_STD_HIGH;
        const onnx_value x = cast(e, NULL, layer(e, &heads->log_std_layer, features), ONNX_DOUBLE);
        cast(e, "log_std", binary(e, "Min", binary(e, "Max", x, doubles(e, 1, &low)), doubles(e, 1, &high)),
             ONNX_FLOAT);
        onnx_output(&e->graph, "log_std", ONNX_FLOAT, actions->numbers);
    } else if (e->policy->config.deviation == CORRAL_DEVIATION_FREE) {
        // A weight each: added to zeros of the mean's shape, so that it has a row for each observation.
        const float zero = 0;
        const onnx_value nothing = onnx_tensor(&e->graph, NULL, ONNX_FLOAT, 0, NULL, &zero, sizeof zero);
        onnx_node(&e->graph, "Add", "log_std",
                  (onnx_value[]){binary(e, "Mul", mean, nothing), parameter(e, heads->log_std)}, 2, NULL);
        onnx_output(&e->graph, "log_std", ONNX_FLOAT, actions->numbers);
    }
}

// --- Q-networks -------------------------------------------------------------------------------------------

static onnx_value sum_over(exporter *e, onnx_value x, int64_t axis, bool keep)
{
    return onnx_node(&e->graph, "ReduceSum", NULL, (onnx_value[]){x, integers(e, 1, &axis)}, 2,
                     (onnx_attribute[]){{"keepdims", keep}, {NULL, 0}});
}

static onnx_value mean_over(exporter *e, onnx_value x, int64_t axis, size_t count, bool keep)
{
    const float share = 1.0f / (float)count;
    const onnx_value factor = onnx_tensor(&e->graph, NULL, ONNX_FLOAT, 0, NULL, &share, sizeof share);
    return binary(e, "Mul", sum_over(e, x, axis, keep), factor);
}

static onnx_value worths(exporter *e, onnx_value q)
{
    const corral_policy_config *config = &e->policy->config;
    if (config->worth == CORRAL_WORTH_MEAN) return q;
    if (config->worth == CORRAL_WORTH_QUANTILE) return mean_over(e, q, 2, config->atoms, false);
    float support[CORRAL_C51_MOST_ATOMS];
    for (uint32_t i = 0; i < config->atoms; i++)
        support[i] = (float)(config->value_min +
                             (config->value_max - config->value_min) * i / (double)(config->atoms - 1));
    const onnx_value values = onnx_tensor(&e->graph, NULL, ONNX_FLOAT, 1, (int64_t[]){config->atoms}, support,
                                          config->atoms * sizeof *support);
    const onnx_value shares =
        onnx_node(&e->graph, "Softmax", NULL, &q, 1, (onnx_attribute[]){{"axis", 2}, {NULL, 0}});
    return sum_over(e, binary(e, "Mul", shares, values), 2, false);
}

static void write_q_network(exporter *e, onnx_value x)
{
    const corral_policy *policy = e->policy;
    const size_t actions = policy->config.action_count, atoms = policy_atoms(&policy->config);
    const int64_t shape[] = {-1, (int64_t)actions, (int64_t)atoms}, row[] = {-1, 1, (int64_t)atoms};
    const bool flat = policy->config.worth == CORRAL_WORTH_MEAN && !policy->config.dueling;
    const onnx_value features = tower(e, &policy->trunk, x);
    onnx_value q = tower(e, &policy->actor, features);
    if (!flat) q = binary(e, "Reshape", q, integers(e, 3, shape));
    if (policy->config.dueling) {
        const onnx_value value =
            binary(e, "Reshape", tower(e, &policy->critic, features), integers(e, 3, row));
        q = binary(e, "Add", value, binary(e, "Sub", q, mean_over(e, q, 1, actions, true)));
    }
    q = worths(e, q);
    const int64_t result[] = {-1, (int64_t)actions};
    q = onnx_node(&e->graph, "Reshape", "q_values", (onnx_value[]){q, integers(e, 2, result)}, 2, NULL);
    onnx_output(&e->graph, "q_values", ONNX_FLOAT, actions);
    write_plain_action(e, q);
}

// --- the whole --------------------------------------------------------------------------------------------

static void write_actor_critic(exporter *e, onnx_value x)
{
    const corral_policy *policy = e->policy;
    x = tower(e, &policy->trunk, x);
    const onnx_value features = tower(e, &policy->actor, x);
    if (policy->general) {
        write_heads(e, features);
    } else {
        const onnx_value logits = named(e, "logits", features);
        onnx_output(&e->graph, "logits", ONNX_FLOAT, policy->config.action_count);
        write_plain_action(e, logits);
    }
    named(e, "value", tower(e, &policy->critic, x));
    onnx_output(&e->graph, "value", ONNX_FLOAT, 1);
}

corral_status corral_policy_export_onnx(const corral_policy *policy, const char *path)
{
    if (policy->body.image_count > 0 || policy->config.memory != CORRAL_MEMORY_NONE)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "%s: a policy with convolutions or a memory cannot be written as ONNX", path);
    exporter e = {.policy = policy};
    onnx_bytes bytes = {0};
    onnx_input(&e.graph, "observation", ONNX_FLOAT, policy->config.observation_size);
    const onnx_value x = normalise(&e, (onnx_value){"observation"});
    if (policy->config.kind == CORRAL_POLICY_Q)
        write_q_network(&e, x);
    else
        write_actor_critic(&e, x);
    corral_status status =
        onnx_model(&e.graph, "A policy that Corral trained; it acts without drawing.", &bytes);
    if (status == CORRAL_OK && e.no_memory)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write a network as ONNX");
    if (status == CORRAL_OK) status = corral_file_write(path, bytes.data, bytes.size);
    onnx_bytes_finish(&bytes);
    onnx_graph_finish(&e.graph);
    return status;
}
