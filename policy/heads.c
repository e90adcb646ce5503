// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Policies over any actions: from a network's features to distributions, on a tape. Acting and learning
/// record the same operations, and so compute the same bits.
///
/// Choices are categorical, side by side. Numbers are normal, with a mean from the network and a deviation
/// that is
///   free    a weight per number, the same everywhere
///   state   another output of the network, within exp(-20) .. exp(2)
///   gsde    sqrt(sum over features f of (phi_f sigma_f)^2 + 1e-6), sigma a weight per feature and number:
///           generalised state-dependent exploration (Raffin et al. 2021). Its noise is a linear function of
///           the features, phi (sigma o z), whose z stays the same for some steps. No gradient goes through
///           phi here, as in Stable-Baselines3.
#include "policy_internal.h"

#include "corral/base/rng.h"
#include "corral/core/distributions.h"
#include "corral/core/init.h"

#include <math.h>
#include <string.h>

static const double gsde_floor = 1e-6;

// --- building ---------------------------------------------------------------------------------------------

corral_status policy_heads_build(corral_policy *policy, size_t features)
{
    policy_heads *heads = &policy->heads;
    const policy_actions *actions = &policy->actions;
    corral_status status = CORRAL_OK;
    if (actions->logits > 0)
        status = policy_add_layer(policy, &heads->logits, "policy", features, actions->logits, CORRAL_LINEAR);
    if (status != CORRAL_OK || actions->numbers == 0) return status;
    status = policy_add_layer(policy, &heads->mean, "mean", features, actions->numbers, CORRAL_LINEAR);
    if (status != CORRAL_OK) return status;
    if (policy->config.deviation == CORRAL_DEVIATION_STATE)
        return policy_add_layer(policy, &heads->log_std_layer, "log_std", features, actions->numbers,
                                CORRAL_LINEAR);
    const bool gsde = policy->config.deviation == CORRAL_DEVIATION_GSDE;
    const size_t shape[] = {features, actions->numbers};
    return corral_params_add(policy->params, "log_std", gsde ? 2 : 1, gsde ? shape : shape + 1,
                             &heads->log_std);
}

static void fill_entry(corral_policy *policy, uint32_t index, double value)
{
    const corral_param *entry = corral_params_entry(policy->params, index);
    float *data = (float *)corral_params_data(policy->params) + entry->offset;
    for (size_t i = 0; i < entry->count; i++)
        data[i] = (float)value;
}

corral_status policy_heads_init(corral_policy *policy, uint64_t seed)
{
    const policy_heads *heads = &policy->heads;
    const policy_actions *actions = &policy->actions;
    corral_status status = CORRAL_OK;
    if (actions->logits > 0) status = policy_init_layer(policy, &heads->logits, 0.01, seed);
    if (status != CORRAL_OK || actions->numbers == 0) return status;
    status = policy_init_layer(policy, &heads->mean, 0.01, seed);
    if (policy->config.deviation != CORRAL_DEVIATION_STATE) {
        fill_entry(policy, heads->log_std, policy->config.log_std_init);
    } else if (status == CORRAL_OK) {
        status = policy_init_layer(policy, &heads->log_std_layer, 0.01, seed);
        fill_entry(policy, heads->log_std_layer.bias, policy->config.log_std_init);
    }
    return status;
}

// --- on a tape --------------------------------------------------------------------------------------------

static corral_tensor *gsde_log_std(const corral_policy *policy, corral_tensor *features)
{
    corral_tape *tape = features->tape;
    corral_tensor *phi_squared = corral_square(corral_detach(features));
    corral_tensor *variance =
        corral_exp(corral_scale(corral_parameter(tape, policy->heads.log_std), 2.0)); // sigma^2
    corral_tensor *sum =
        corral_add(corral_matmul(phi_squared, variance), corral_constant(tape, CORRAL_F32, gsde_floor));
    return corral_scale(corral_ln(sum), 0.5);
}

static corral_tensor *apply(const policy_layer *layer, corral_tensor *x)
{
    return corral_linear(x, layer->weight, layer->bias, CORRAL_LINEAR);
}

void policy_heads_graph(const corral_policy *policy, corral_tensor *features, policy_outputs *out)
{
    const policy_heads *heads = &policy->heads;
    const policy_actions *actions = &policy->actions;
    out->features = features;
    if (actions->logits > 0) out->logits = apply(&heads->logits, features);
    if (actions->numbers == 0) return;
    out->mean = apply(&heads->mean, features);
    switch (policy->config.deviation) {
    case CORRAL_DEVIATION_FREE:
        out->log_std = corral_parameter(features->tape, heads->log_std);
        break;
    case CORRAL_DEVIATION_STATE:
        out->log_std =
            corral_clamp(apply(&heads->log_std_layer, features), POLICY_LOG_STD_LOW, POLICY_LOG_STD_HIGH);
        break;
    case CORRAL_DEVIATION_GSDE:
        out->log_std = gsde_log_std(policy, features);
        break;
    }
}

// --- acting -----------------------------------------------------------------------------------------------

/// One block of rows, [rows, ...] each.
typedef struct act_rows {
    size_t rows;
    const policy_outputs *network;
    const float *noise; // NULL: the mode
    const uint8_t *mask;
    float *inputs; // logits and what follows them, in rows of action_count
    int32_t *action;
    float *log_prob;
} act_rows;

/// Copies [rows, width] into columns of wider rows; `from` may be one row for all.
static void place(size_t rows, size_t width, const float *from, bool shared, float *to, size_t to_width)
{
    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * to_width, from + (shared ? 0 : r * width), width * sizeof *to);
}

static void write_inputs(const corral_policy *policy, const act_rows *a)
{
    const policy_actions *actions = &policy->actions;
    const size_t width = policy->config.action_count, numbers = actions->numbers;
    if (actions->logits > 0)
        place(a->rows, actions->logits, a->network->logits->data, false, a->inputs, width);
    if (numbers == 0) return;
    place(a->rows, numbers, a->network->mean->data, false, a->inputs + actions->logits, width);
    place(a->rows, numbers, a->network->log_std->data, policy->config.deviation == CORRAL_DEVIATION_FREE,
          a->inputs + actions->logits + numbers, width);
}

/// Draws the choices of one row, or takes the most probable ones. Returns their log-probability.
static float choose(const corral_policy *policy, const act_rows *a, size_t r)
{
    const policy_actions *actions = &policy->actions;
    const float *logits = (const float *)a->network->logits->data + r * actions->logits;
    float *masked = policy->row_scratch, log_prob = 0;
    int32_t *action = a->action + r * (actions->choices + actions->numbers);
    if (a->mask != NULL) {
        corral_mask_logits_forward(actions->logits, logits, a->mask + r * actions->logits, masked);
        logits = masked;
    }
    if (a->noise != NULL) {
        const float *uniform = a->noise + r * policy->noise_width;
        corral_multi_categorical_sample(1, actions->choices, actions->sizes, logits, uniform, action,
                                        &log_prob);
    } else {
        corral_multi_categorical_mode(1, actions->choices, actions->sizes, logits, action);
        corral_multi_categorical_log_probs(1, actions->choices, actions->sizes, logits, action, &log_prob);
    }
    return log_prob;
}

/// phi (sigma o z), per number.
static void gsde_noise(const corral_policy *policy, const float *features, const float *z, float *out)
{
    const corral_param *entry = corral_params_entry(policy->params, policy->heads.log_std);
    const float *log_std = (const float *)corral_params_data_const(policy->params) + entry->offset;
    const size_t numbers = policy->actions.numbers;
    for (size_t i = 0; i < numbers; i++) {
        double sum = 0;
        for (size_t f = 0; f < entry->shape[0]; f++)
            sum += (double)features[f] * exp((double)log_std[f * numbers + i]) * (double)z[f * numbers + i];
        out[i] = (float)sum;
    }
}

/// Draws the numbers of one row, or takes their means. Returns their log-density.
static float draw_numbers(const corral_policy *policy, const act_rows *a, size_t r)
{
    const policy_actions *actions = &policy->actions;
    const corral_policy_config *config = &policy->config;
    const size_t n = actions->numbers, features = a->network->features->shape[1];
    const float *mean = (const float *)a->network->mean->data + r * n;
    const float *log_std = a->inputs + r * config->action_count + actions->logits + n;
    float *value = policy->row_scratch, log_prob = 0;
    memcpy(value, mean, n * sizeof *value);
    if (a->noise != NULL) {
        const float *z = a->noise + r * policy->noise_width + actions->choices;
        if (config->deviation == CORRAL_DEVIATION_GSDE) {
            float *shift = policy->row_scratch + n;
            gsde_noise(policy, (const float *)a->network->features->data + r * features, z, shift);
            for (size_t i = 0; i < n; i++)
                value[i] += shift[i];
        } else {
            corral_normal_sample(1, n, mean, log_std, CORRAL_LOG_STD_PER_ROW, z, value, &log_prob);
        }
    }
    if (config->squash)
        corral_squashed_normal_log_probs(1, n, mean, log_std, CORRAL_LOG_STD_PER_ROW, value, &log_prob);
    else
        corral_normal_log_probs(1, n, mean, log_std, CORRAL_LOG_STD_PER_ROW, value, &log_prob);
    memcpy(a->action + r * (actions->choices + n) + actions->choices, value, n * sizeof *value);
    return log_prob;
}

static void act(const corral_policy *policy, const act_rows *a)
{
    write_inputs(policy, a);
    if (a->action == NULL) return;
    for (size_t r = 0; r < a->rows; r++) {
        const bool chooses = policy->actions.choices > 0;
        float log_prob = chooses ? choose(policy, a, r) : 0;
        if (policy->actions.numbers > 0) {
            const float density = draw_numbers(policy, a, r);
            log_prob = chooses ? log_prob + density : density;
        }
        if (a->log_prob != NULL) a->log_prob[r] = log_prob;
    }
}

corral_status policy_act_heads(corral_policy *policy, const corral_policy_input *in,
                               const corral_policy_output *out)
{
    const corral_policy_config *config = &policy->config;
    policy_outputs network = {0};
    policy_past past = {.steps = 1};
    if (in->memory != NULL && policy->hidden != NULL) {
        corral_policy_part_memory(config, in->rows, in->memory, policy->hidden, policy->cell);
        past.hidden = policy->hidden;
        past.cell = policy->cell;
    }
    corral_policy_filter(policy, in->rows, in->observation, policy->scratch[0]);
    corral_tape_reset(policy->tape, policy->params, NULL);
    policy_graph_outputs(policy, policy->tape, in->rows, policy->scratch[0], &past, &network);
    corral_status status = corral_tape_status(policy->tape);
    if (status != CORRAL_OK) return status;
    if (out->memory != NULL && policy->hidden != NULL)
        policy_memory_join(policy, &network, in->rows, out->memory);
    if (out->value != NULL) memcpy(out->value, network.value->data, in->rows * sizeof *out->value);
    if (out->logits == NULL) return CORRAL_OK;
    const act_rows rows = {.rows = in->rows,
                           .network = &network,
                           .noise = in->noise,
                           .mask = config->masked ? in->mask : NULL,
                           .inputs = out->logits,
                           .action = out->action,
                           .log_prob = out->log_prob};
    act(policy, &rows);
    const size_t words = corral_policy_action_words(config), bytes = corral_policy_action_bytes(config);
    for (size_t r = 0; out->env_action != NULL && r < in->rows; r++)
        corral_policy_env_action(config, out->action + r * words, (char *)out->env_action + r * bytes);
    return CORRAL_OK;
}

// --- learning ---------------------------------------------------------------------------------------------

static corral_tensor *sum_of(corral_tensor *a, corral_tensor *b)
{
    return a == NULL ? b : b == NULL ? a : corral_add(a, b);
}

/// The entropy of a squashed normal distribution has no closed form. This estimates it at the action that was
/// taken, written as mean + deviation z with z held fixed, so that its gradient is that of the entropy:
///     H(normal) + sum of log(1 - tanh(x)^2)
static corral_tensor *squashed_entropy(const policy_outputs *network, corral_tensor *value)
{
    corral_tensor *mean = corral_detach(network->mean), *log_std = corral_detach(network->log_std);
    corral_tensor *z = corral_div(corral_sub(value, mean), corral_exp(log_std));
    corral_tensor *x = corral_normal_rsample(network->mean, network->log_std, z);
    corral_tensor *squeezed = corral_sub(corral_normal_log_prob(mean, log_std, x),
                                         corral_squashed_normal_log_prob(mean, log_std, x));
    return corral_add(corral_normal_entropy(network->mean, network->log_std), squeezed);
}

static void judge_choices(const corral_policy *policy, const policy_outputs *network,
                          const corral_policy_taken *taken, size_t rows, corral_policy_judged *out)
{
    const policy_actions *actions = &policy->actions;
    corral_tensor *logits = network->logits;
    if (policy->config.masked) logits = corral_mask_logits(logits, taken->mask);
    out->log_prob = corral_categorical_log_prob(logits, actions->choices, actions->sizes, taken->choice);
    out->entropy = corral_categorical_entropy(logits, actions->choices, actions->sizes);
    if (taken->old_logits == NULL) return;
    corral_tensor *old =
        corral_input(logits->tape, CORRAL_F32, 2, (size_t[]){rows, actions->logits}, taken->old_logits);
    if (policy->config.masked) old = corral_mask_logits(old, taken->mask);
    out->kl = corral_categorical_kl(old, logits, actions->choices, actions->sizes);
}

static void judge_numbers(const corral_policy *policy, const policy_outputs *network,
                          const corral_policy_taken *taken, size_t rows, corral_policy_judged *out)
{
    const size_t shape[] = {rows, policy->actions.numbers};
    corral_tape *tape = network->mean->tape;
    corral_tensor *mean = network->mean, *log_std = network->log_std;
    corral_tensor *value = corral_input(tape, CORRAL_F32, 2, shape, taken->number);
    corral_tensor *log_prob, *entropy, *kl = NULL;
    if (policy->config.squash) {
        log_prob = corral_squashed_normal_log_prob(mean, log_std, value);
        entropy = squashed_entropy(network, value);
    } else {
        log_prob = corral_normal_log_prob(mean, log_std, value);
        entropy = corral_normal_entropy(mean, log_std);
    }
    if (taken->old_mean != NULL)
        kl = corral_normal_kl(corral_input(tape, CORRAL_F32, 2, shape, taken->old_mean),
                              corral_input(tape, CORRAL_F32, 2, shape, taken->old_log_std), mean, log_std);
    out->log_prob = sum_of(out->log_prob, log_prob);
    out->entropy = sum_of(out->entropy, entropy);
    out->kl = sum_of(out->kl, kl);
}

void corral_policy_judge(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                         const corral_policy_taken *taken, corral_policy_judged *out)
{
    policy_outputs network = {0};
    *out = (corral_policy_judged){0};
    const policy_past past = {
        .steps = taken->steps, .reset = taken->reset, .hidden = taken->hidden, .cell = taken->cell};
    policy_graph_outputs(policy, tape, rows, filtered, &past, &network);
    out->value = network.value;
    if (policy->actions.choices > 0) judge_choices(policy, &network, taken, rows, out);
    if (policy->actions.numbers > 0) judge_numbers(policy, &network, taken, rows, out);
}
