// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Deep Q-learning (Mnih et al. 2015), with double Q-learning (van Hasselt et al. 2016), dueling networks
/// (Wang et al. 2016), returns over n steps and prioritised replay (Schaul et al. 2016) as configured.
///
///   insert the round's rows; for each minibatch, drawn from the replay:
///     y = R + d Q_target(s', argmax Q(s'))                d is 0 after a true end, gamma^k elsewhere
///     lanes of rows, in parallel: gradient of w h(Q(s, a) - y)
///     sum of the lanes in a fixed tree, clip the norm, one Adam step; tell the replay the errors
///   every `target_update` environment steps: Q_target += tau (Q - Q_target)
///
/// Where worths are distributions, y is one too (C51: Bellemare et al. 2017; quantiles: Dabney et al. 2018),
/// and h is the loss between the two. Noisy networks (Fortunato et al. 2018) bear noise of their own in each
/// minibatch.
///
/// The replay keeps observations as the environments gave them, and both s and s' are filtered by the
/// statistics of now when they are drawn.
#include "dqn.h"

#include "dqn_device.h"

#include "../learner/lanes.h"

#include "corral/base/log.h"
#include "corral/base/rng.h"
#include "corral/core/losses.h"
#include "corral/core/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// What one thread works in.
typedef struct dqn_bench {
    corral_tape *tape;
    float *raw;                // [LANES_BLOCK_ROWS, raw_size]
    float *observation, *next; // [LANES_BLOCK_ROWS, observation_size], filtered
    float *next_output;        // [LANES_BLOCK_ROWS, action_count, atoms] the target network's
    float *worth;              // [LANES_BLOCK_ROWS, action_count] of the next actions
    float *target;             // [LANES_BLOCK_ROWS, atoms]
    uint8_t *next_mask;        // [LANES_BLOCK_ROWS, mask_bytes] what is allowed at the next observations
    int32_t action[LANES_BLOCK_ROWS], next_action[LANES_BLOCK_ROWS];
    float reward[LANES_BLOCK_ROWS], discount[LANES_BLOCK_ROWS], weight[LANES_BLOCK_ROWS];
} dqn_bench;

struct dqn {
    corral_dqn_config config;
    uint64_t run_seed;
    uint32_t steps;
    size_t raw_size;   // 4-byte words of a raw observation, which nobody but the policy looks into
    size_t mask_bytes; // of what is allowed at an observation, which the replay keeps behind it; 0: all is
    size_t observation_size, actions, atoms;
    corral_policy *policy, *target;
    corral_team *team;
    corral_optimizer *optimizer;
    dqn_device *device; // where minibatches are learned; NULL: here
    replay *replay;
    dqn_bench *bench;     // one per thread
    const float **finals; // [rows of a round] last observations of the episodes that ended there
    char *row[2];         // a step's two observations, each with its mask behind it
    // the minibatch in work, [minibatch] each
    replay_draw *draws;
    float *error;
    corral_dqn_stats lane_stats[CORRAL_LANES];
};

// --- life -------------------------------------------------------------------------------------------------

static corral_status no_memory(void)
{
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the minibatches of DQN; lower dqn.minibatch");
}

/// [LANES_BLOCK_ROWS, width] floats.
static float *create_rows(size_t width)
{
    return aligned_alloc(64, LANES_BLOCK_ROWS * width * sizeof(float));
}

static corral_status create_benches(dqn *d)
{
    const unsigned threads = corral_team_size(d->team);
    d->bench = calloc(threads, sizeof *d->bench);
    if (d->bench == NULL) return no_memory();
    for (unsigned i = 0; i < threads; i++) {
        dqn_bench *bench = &d->bench[i];
        corral_status status = corral_tape_create(&bench->tape);
        if (status != CORRAL_OK) return status;
        bench->raw = create_rows(d->raw_size);
        bench->observation = create_rows(d->observation_size);
        bench->next = create_rows(d->observation_size);
        bench->next_output = create_rows(d->actions * d->atoms);
        bench->worth = create_rows(d->actions);
        bench->target = create_rows(d->atoms);
        bench->next_mask = (uint8_t *)create_rows(d->mask_bytes / sizeof(float) + 1);
        if (bench->next_mask == NULL || bench->raw == NULL || bench->observation == NULL ||
            bench->next == NULL || bench->next_output == NULL || bench->worth == NULL ||
            bench->target == NULL)
            return no_memory();
    }
    return CORRAL_OK;
}

/// The bounds of how often rows are drawn; a tolerance of 0 is the least one.
static corral_status set_limits(dqn *d)
{
    const corral_dqn_config *config = &d->config;
    if (config->samples_per_insert == 0) return CORRAL_OK;
    rate_limiter *limiter = replay_limiter(d->replay);
    *limiter = dqn_rate_limiter(config);
    return rate_limiter_check(limiter, config->train_freq, config->minibatch);
}

static corral_status create_memory(dqn *d, uint32_t envs)
{
    const size_t row_bytes = d->raw_size * sizeof(float) + d->mask_bytes;
    const replay_config config = dqn_replay_config(&d->config, envs, row_bytes);
    const size_t rows = (size_t)d->config.minibatch;
    d->draws = calloc(rows, sizeof *d->draws);
    d->error = calloc(rows, sizeof *d->error);
    d->finals = calloc((size_t)envs * d->steps, sizeof *d->finals);
    d->row[0] = malloc(row_bytes);
    d->row[1] = malloc(row_bytes);
    if (d->draws == NULL || d->error == NULL || d->finals == NULL || d->row[0] == NULL || d->row[1] == NULL)
        return no_memory();
    if (config.capacity == 0 || config.capacity < (size_t)d->config.learning_starts)
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "dqn.buffer_bytes: %lld bytes hold %zu rows, and learning starts with %lld; raise it",
            (long long)d->config.buffer_bytes, config.capacity, (long long)d->config.learning_starts);
    corral_status status = replay_create(&config, &d->replay);
    return status == CORRAL_OK ? set_limits(d) : status;
}

corral_status dqn_create(const corral_dqn_config *config, uint64_t run_seed, uint32_t envs, uint32_t steps,
                         corral_policy *policy, corral_team *team, dqn **out_dqn)
{
    dqn *d = calloc(1, sizeof *d);
    if (d == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for DQN");
    d->config = *config;
    d->run_seed = run_seed;
    d->steps = steps;
    d->raw_size = corral_policy_observation_bytes(corral_policy_get_config(policy)) / sizeof(float);
    d->mask_bytes = corral_policy_mask_bytes(corral_policy_get_config(policy));
    d->observation_size = corral_policy_get_config(policy)->observation_size;
    d->actions = corral_policy_get_config(policy)->action_count;
    d->atoms = config->distribution == CORRAL_WORTH_MEAN ? 1 : (size_t)config->atoms;
    d->policy = policy;
    d->team = team;
    corral_optimizer_config optimizer = corral_optimizer_config_default();
    optimizer.epsilon = config->adam_epsilon;
    optimizer.max_grad_norm = config->max_grad_norm;
    corral_status status = corral_policy_clone(policy, &d->target);
    if (status == CORRAL_OK)
        status = corral_optimizer_create(&optimizer, corral_policy_params(policy), &d->optimizer);
    if (status == CORRAL_OK) status = create_memory(d, envs);
    if (status == CORRAL_OK) status = create_benches(d);
    if (status != CORRAL_OK) {
        dqn_destroy(d);
        return status;
    }
    *out_dqn = d;
    return CORRAL_OK;
}

void dqn_destroy(dqn *d)
{
    if (d == NULL) return;
    for (unsigned i = 0; d->bench != NULL && i < corral_team_size(d->team); i++) {
        corral_tape_destroy(d->bench[i].tape);
        free(d->bench[i].raw);
        free(d->bench[i].observation);
        free(d->bench[i].next);
        free(d->bench[i].next_output);
        free(d->bench[i].worth);
        free(d->bench[i].target);
        free(d->bench[i].next_mask);
    }
    free(d->bench);
    free(d->draws);
    free(d->error);
    free(d->finals);
    free(d->row[0]);
    free(d->row[1]);
    replay_destroy(d->replay);
    dqn_device_destroy(d->device);
    corral_optimizer_destroy(d->optimizer);
    corral_policy_destroy(d->target);
    free(d);
}

corral_status dqn_place(dqn *d, corral_device *device, corral_precision precision)
{
    return dqn_device_create(&d->config, device, precision, d->policy, d->target, d->optimizer, &d->device);
}

/// A device that fails now fails again, with its sentence, in the next update.
static void fetch_from_device(dqn *d)
{
    if (d->device != NULL && dqn_device_fetch(d->device) != CORRAL_OK)
        corral_log(CORRAL_LOG_ERROR, "%s", corral_last_error());
}

corral_optimizer *dqn_optimizer(dqn *d)
{
    fetch_from_device(d);
    return d->optimizer;
}

corral_policy *dqn_target(dqn *d)
{
    fetch_from_device(d);
    return d->target;
}

replay *dqn_replay(dqn *d)
{
    return d->replay;
}

// --- rows of a round --------------------------------------------------------------------------------------

/// An observation as the replay keeps it. Of an episode's last one it is not known what would be allowed: a
/// mask of NULL allows all.
static const void *with_mask(const dqn *d, char *row, const float *observation, const uint8_t *mask)
{
    if (d->mask_bytes == 0) return observation;
    const size_t bytes = d->raw_size * sizeof *observation;
    memcpy(row, observation, bytes);
    if (mask != NULL)
        memcpy(row + bytes, mask, d->mask_bytes);
    else
        memset(row + bytes, 1, d->mask_bytes);
    return row;
}

static void insert_environment(dqn *d, const corral_fragment *f, uint32_t e)
{
    const size_t width = d->raw_size, first = (size_t)e * d->steps;
    const float *observation = (const float *)(const void *)f->observation + (first + e) * width;
    const uint8_t *mask = f->mask + (first + e) * d->mask_bytes;
    for (uint32_t t = 0; t < d->steps; t++, observation += width, mask += d->mask_bytes) {
        const size_t row = first + t;
        if (!f->valid[row]) {
            replay_forget(d->replay, f->header.env_begin + e);
            continue;
        }
        const bool ended = f->terminated[row] || f->truncated[row];
        const replay_step step = {
            .observation = with_mask(d, d->row[0], observation, mask),
            .action = f->action[row],
            .reward = f->reward[row],
            .terminated = f->terminated[row],
            .truncated = f->truncated[row],
            // Where an episode ended the next row is of another one: its own last observation is kept apart.
            .next = ended ? with_mask(d, d->row[1], d->finals[row], NULL)
                          : with_mask(d, d->row[1], observation + width, mask + d->mask_bytes),
        };
        replay_push(d->replay, f->header.env_begin + e, &step);
    }
}

void dqn_insert(dqn *d, const corral_fragment *fragments, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const corral_fragment *f = &fragments[i];
        for (uint32_t k = 0; k < f->header.ended_count; k++) {
            const unsigned char *observation;
            const corral_fragment_ended record = corral_fragment_ended_at(f, k, &observation);
            d->finals[(size_t)record.environment * d->steps + record.step] =
                (const float *)(const void *)observation;
        }
        for (uint32_t e = 0; e < f->header.spec.env_count; e++)
            insert_environment(d, f, e);
    }
}

// --- one lane ---------------------------------------------------------------------------------------------

void dqn_targets(size_t rows, size_t actions, const float *reward, const float *discount,
                 const float *q_target, const int32_t *next_action, float *out_target)
{
    for (size_t r = 0; r < rows; r++) {
        // Nothing comes after a true end, whatever a network says of it.
        const float future =
            discount[r] == 0 ? 0 : discount[r] * q_target[r * actions + (size_t)next_action[r]];
        out_target[r] = reward[r] + future;
    }
}

static void gather_block(const dqn *d, dqn_bench *bench, size_t first, size_t count)
{
    const size_t width = d->raw_size;
    for (size_t i = 0; i < count; i++) {
        const replay_draw *draw = &d->draws[first + i];
        const replay_transition t = replay_at(d->replay, draw);
        memcpy(bench->raw + i * width, t.observation, width * sizeof(float));
        bench->action[i] = t.action;
        bench->reward[i] = t.reward;
        bench->discount[i] = t.discount;
        bench->weight[i] = draw->weight;
    }
    corral_policy_filter(d->policy, count, bench->raw, bench->observation);
    for (size_t i = 0; i < count; i++) {
        const char *next = replay_at(d->replay, &d->draws[first + i]).next;
        memcpy(bench->raw + i * width, next, width * sizeof(float));
        memcpy(bench->next_mask + i * d->mask_bytes, next + width * sizeof(float), d->mask_bytes);
    }
    corral_policy_filter(d->policy, count, bench->raw, bench->next);
}

/// What a network says of the next observations, without gradients; good until the tape's reset.
static corral_status ask_of_next(corral_policy *policy, dqn_bench *bench, size_t count, const float **out)
{
    corral_tensor *output;
    corral_tape_reset(bench->tape, corral_policy_weights(policy), NULL);
    corral_policy_graph(policy, bench->tape, count, bench->next, &output, NULL);
    *out = output->data;
    return corral_tape_status(bench->tape);
}

/// The action that is judged best at each next observation among those that are allowed there: by the online
/// network's worths or the target's own.
static corral_status choose_next(const dqn *d, dqn_bench *bench, size_t count)
{
    const float *judge = bench->next_output;
    if (d->config.double_q) {
        const corral_status status = ask_of_next(d->policy, bench, count, &judge);
        if (status != CORRAL_OK) return status;
    }
    corral_policy_worths(d->policy, count, judge, bench->worth);
    corral_policy_best(count, d->actions, bench->worth, d->mask_bytes > 0 ? bench->next_mask : NULL,
                       bench->next_action);
    return CORRAL_OK;
}

static corral_c51_support support_of(const dqn *d)
{
    return (corral_c51_support){d->actions, d->atoms, (float)d->config.value_min, (float)d->config.value_max};
}

static corral_status find_targets(const dqn *d, dqn_bench *bench, size_t count)
{
    const float *output;
    corral_status status = ask_of_next(d->target, bench, count, &output);
    if (status != CORRAL_OK) return status;
    memcpy(bench->next_output, output, count * d->actions * d->atoms * sizeof *output);
    status = choose_next(d, bench, count);
    if (status != CORRAL_OK) return status;
    const corral_c51_support support = support_of(d);
    switch ((corral_worth)d->config.distribution) {
    case CORRAL_WORTH_MEAN:
        dqn_targets(count, d->actions, bench->reward, bench->discount, bench->next_output, bench->next_action,
                    bench->target);
        break;
    case CORRAL_WORTH_CATEGORICAL:
        corral_c51_target(count, &support, bench->next_output, bench->next_action, bench->reward,
                          bench->discount, bench->target);
        break;
    case CORRAL_WORTH_QUANTILE:
        corral_quantile_target(count, d->actions, d->atoms, bench->next_output, bench->next_action,
                               bench->reward, bench->discount, bench->target);
        break;
    }
    return CORRAL_OK;
}

static corral_tensor *loss_of(const dqn *d, const dqn_bench *bench, corral_tensor *output, float *out_error,
                              corral_dqn_stats *stats)
{
    const size_t all = (size_t)d->config.minibatch;
    const float delta = (float)d->config.huber_delta;
    const corral_dqn_terms mean = {bench->action, bench->target, bench->weight, delta, all};
    const corral_c51_terms categorical = {support_of(d), bench->action, bench->target, bench->weight, all};
    const corral_quantile_terms quantile = {d->actions,    d->atoms,      d->atoms, bench->action,
                                            bench->target, bench->weight, delta,    all};
    switch ((corral_worth)d->config.distribution) {
    case CORRAL_WORTH_CATEGORICAL:
        return corral_c51_loss(output, &categorical, out_error, stats);
    case CORRAL_WORTH_QUANTILE:
        return corral_quantile_loss(output, &quantile, out_error, stats);
    default:
        return corral_dqn_loss(output, &mean, out_error, stats);
    }
}

static corral_status learn_block(void *context, const lanes_block *block)
{
    dqn *d = context;
    dqn_bench *bench = &d->bench[block->thread];
    gather_block(d, bench, block->first, block->count);
    corral_status status = find_targets(d, bench, block->count);
    if (status != CORRAL_OK) return status;
    corral_tensor *output;
    corral_tape_reset(bench->tape, corral_policy_weights(d->policy), block->gradient);
    corral_policy_graph(d->policy, bench->tape, block->count, bench->observation, &output, NULL);
    status = corral_backward(loss_of(d, bench, output, d->error + block->first, &d->lane_stats[block->lane]));
    if (status == CORRAL_OK) corral_policy_noise_gradient(d->policy, block->gradient);
    return status;
}

// --- one minibatch ----------------------------------------------------------------------------------------

static void sum_lanes(const dqn *d, size_t lanes, corral_dqn_stats *out_stats)
{
    *out_stats = (corral_dqn_stats){0};
    for (size_t i = 0; i < lanes; i++) {
        const corral_dqn_stats *lane = &d->lane_stats[i];
        out_stats->loss += lane->loss;
        out_stats->q += lane->q;
        out_stats->error += lane->error;
        out_stats->rows += lane->rows;
    }
}

/// Only priorities need the errors: without them the device is not waited for.
static corral_status learn_on_device(dqn *d, size_t rows)
{
    const bool wanted = d->config.priority_alpha > 0;
    bool skipped = false;
    const corral_status status =
        dqn_device_learn(d->device, d->replay, d->draws, wanted ? d->error : NULL, &skipped);
    if (status == CORRAL_OK && wanted && !skipped) replay_tell_errors(d->replay, d->draws, d->error, rows);
    return status;
}

static corral_status learn_minibatch(dqn *d, uint64_t draw, dqn_result *result)
{
    const size_t rows = (size_t)d->config.minibatch;
    const uint64_t key = corral_stream_key(d->run_seed, CORRAL_STREAM_REPLAY, draw);
    replay_sample(d->replay, key, rows, result->priority_beta, d->draws);
    if (d->device != NULL) return learn_on_device(d, rows);
    memset(d->lane_stats, 0, sizeof d->lane_stats);
    // The two networks' noise is independent, and the same for all rows of a minibatch.
    corral_policy_draw_noise(d->policy,
                             corral_stream_key(d->run_seed, CORRAL_STREAM_LEARNING_NOISE, 2 * draw));
    corral_policy_draw_noise(d->target,
                             corral_stream_key(d->run_seed, CORRAL_STREAM_LEARNING_NOISE, 2 * draw + 1));
    double norm = 0;
    const lanes_plan plan = {
        .team = d->team,
        .optimizer = d->optimizer,
        .part = {{0, corral_params_count(corral_policy_params(d->policy))}},
        .part_count = 1,
        .learn = learn_block,
        .context = d,
        .short_lanes = true,
    };
    const size_t lanes = lanes_count(&plan, rows);
    corral_status status = lanes_run(&plan, rows);
    if (status == CORRAL_OK)
        status = corral_optimizer_step(d->optimizer, lanes, result->learning_rate, d->team, &norm);
    if (status != CORRAL_OK) return status;
    corral_dqn_stats stats;
    sum_lanes(d, lanes, &stats);
    replay_tell_errors(d->replay, d->draws, d->error, rows);
    result->loss += stats.loss / (double)rows;
    result->q += stats.q / (double)rows;
    result->error += stats.error / (double)rows;
    result->grad_norm += norm;
    result->minibatches++;
    return CORRAL_OK;
}

// --- the update -------------------------------------------------------------------------------------------

static void move_target(dqn *d, dqn_result *result)
{
    result->target_updates++;
    if (d->device != NULL) {
        dqn_device_move_target(d->device);
        return;
    }
    corral_params *to = corral_policy_params(d->target);
    float *target = corral_params_data(to);
    const float *online = corral_params_data(corral_policy_params(d->policy));
    const size_t count = corral_params_count(to);
    const float tau = (float)d->config.tau;
    if (d->config.tau == 1)
        memcpy(target, online, count * sizeof *target);
    else
        for (size_t i = 0; i < count; i++)
            target[i] += tau * (online[i] - target[i]);
    corral_params_refresh(to);
}

static void finish_means(dqn_result *result)
{
    const double count = (double)result->minibatches;
    if (result->minibatches == 0) return;
    result->loss /= count;
    result->q /= count;
    result->error /= count;
    result->grad_norm /= count;
}

/// How many minibatches an update may still draw, having drawn `done`.
static bool wants_another(const dqn *d, int64_t done)
{
    const corral_dqn_config *config = &d->config;
    if (config->samples_per_insert > 0)
        return rate_limiter_may_sample(replay_limiter(d->replay), config->minibatch);
    return done < (config->gradient_steps > 0 ? config->gradient_steps : config->train_freq);
}

corral_status dqn_update(dqn *d, const dqn_moment *now, dqn_result *out_result)
{
    const corral_dqn_config *config = &d->config;
    dqn_result result = {
        .learning_rate = corral_schedule_at(&config->learning_rate, now->progress),
        .priority_beta = corral_schedule_at(&config->priority_beta, now->progress),
    };
    const uint64_t every = (uint64_t)config->target_update;
    const bool ready =
        replay_count(d->replay) > 0 && replay_limiter(d->replay)->inserts >= config->learning_starts;
    if (d->device != NULL) {
        const corral_status status = dqn_device_begin(d->device, result.learning_rate);
        if (status != CORRAL_OK) return status;
    }
    for (int64_t i = 0; ready && wants_another(d, i); i++) {
        const corral_status status = learn_minibatch(d, now->first_draw + (uint64_t)i, &result);
        if (status == CORRAL_ERROR_NOT_FINITE)
            result.skipped++;
        else if (status != CORRAL_OK)
            return status;
        else if (every == 0)
            move_target(d, &result);
    }
    if (d->device != NULL) {
        const corral_status status = dqn_device_finish(d->device, &result);
        if (status != CORRAL_OK) return status;
    }
    corral_policy_still_noise(d->policy); // whoever looks at the policy between updates sees it without
    finish_means(&result);
    // Counted in environment steps alone: how often there are updates does not come into it.
    if (every > 0 && now->env_steps / every != now->env_steps_before / every) move_target(d, &result);
    *out_result = result;
    return CORRAL_OK;
}
