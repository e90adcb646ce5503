// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Proximal policy optimisation (Schulman et al. 2017), clipped surrogate.
///
///   for each epoch: shuffle the rows; for each minibatch:
///     A <- (A - mean A) / (std A + 1e-8)             (per minibatch, if asked for)
///     lanes of rows, in parallel: gradient of [surrogate + c_v value loss - c_e entropy + c_k divergence]
///       (an actor and a critic that share no weight in parallel too, each with its terms)
///     sum of the lanes in a fixed tree, clip the norm, one Adam step
///     stop when the divergence from the acting policy exceeds 1.5 target_kl
///
/// A minibatch is a list of row indices into the batch; the next one is prepared while one is learned. Each
/// lane copies its rows into buffers of its own in small blocks, records them on a tape, and adds their
/// gradient to the lane's block.
#include "ppo.h"

#include "ppo_device.h"
#include "taken.h"

#include "../learner/lanes.h"

#include "corral/base/log.h"
#include "corral/base/rng.h"
#include "corral/core/ops.h"

#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/// What one thread works in.
typedef struct ppo_bench {
    corral_tape *tape;
    float *observation; // [rows, observation_size]
    float *log_probs;   // [rows, action_count]; NULL where the divergence is not penalised
    ppo_taken *taken;   // for actions that are more than one plain choice, else NULL
    int32_t *action;    // [rows] and so on
    float *log_prob, *value, *advantage, *target;
} ppo_bench;

/// What the blocks of a lane add up; on cache lines of its own, because threads write to their lanes at once.
typedef struct lane_sums {
    alignas(64) corral_ppo_stats stats;
} lane_sums;

/// Some rows of an epoch's order, and how their advantages are normalised.
typedef struct minibatch {
    int64_t epoch;
    size_t first, row_count;
    const uint32_t *rows;
    float advantage_mean, advantage_scale;
} minibatch;

struct ppo {
    corral_ppo_config config;
    uint64_t run_seed;
    corral_policy *policy;
    corral_team *team;
    corral_optimizer *optimizer;
    ppo_device *device; // where updates run; NULL: here
    lanes_plan plan;
    size_t sequence;    // rows that stay together, in their order; lanes and blocks count in these
    bool halved;        // part 0 of the plan is the actor, part 1 the critic
    ppo_bench *bench;   // one per thread
    uint32_t *order[2]; // [usable rows] of this epoch and the next
    size_t order_capacity;
    // the update in work
    const batch *batch;
    uint64_t first_epoch; // numbers the update's epochs, for the order of rows
    minibatch now, next;
    float clip_range, entropy_coefficient, kl_coefficient;
    lane_sums lane[LANES_PARTS][CORRAL_LANES];
};

static corral_status learn_block(void *context, const lanes_block *block);
static void prepare_next(void *context);

// --- life -------------------------------------------------------------------------------------------------

/// [rows of a block, width] floats.
static float *create_rows(const ppo *p, size_t width)
{
    return aligned_alloc(64, LANES_BLOCK_ROWS * p->sequence * width * sizeof(float));
}

static corral_status create_benches(ppo *p)
{
    const unsigned threads = corral_team_size(p->team);
    const corral_policy_config *policy = corral_policy_get_config(p->policy);
    const bool penalised = p->config.kl_coefficient > 0;
    p->bench = calloc(threads, sizeof *p->bench);
    if (p->bench == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %u learner threads", threads);
    for (unsigned i = 0; i < threads; i++) {
        ppo_bench *bench = &p->bench[i];
        corral_status status = corral_tape_create(&bench->tape);
        if (status != CORRAL_OK) return status;
        bench->observation = create_rows(p, policy->observation_size);
        if (penalised) bench->log_probs = create_rows(p, policy->action_count);
        bench->action = (int32_t *)(void *)create_rows(p, 1);
        bench->log_prob = create_rows(p, 1);
        bench->value = create_rows(p, 1);
        bench->advantage = create_rows(p, 1);
        bench->target = create_rows(p, 1);
        if (bench->observation == NULL || bench->action == NULL || bench->log_prob == NULL ||
            bench->value == NULL || bench->advantage == NULL || bench->target == NULL ||
            (penalised && bench->log_probs == NULL))
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %u learner threads", threads);
        if (corral_policy_is_general(p->policy))
            status = ppo_taken_create(p->policy, LANES_BLOCK_ROWS * p->sequence, &bench->taken);
        if (status != CORRAL_OK) return status;
    }
    return CORRAL_OK;
}

static void plan_lanes(ppo *p)
{
    p->plan = (lanes_plan){.team = p->team,
                           .optimizer = p->optimizer,
                           .learn = learn_block,
                           .beside = prepare_next,
                           .context = p};
    p->halved = corral_policy_halves(p->policy, &p->plan.part[0], &p->plan.part[1]);
    p->plan.part_count = p->halved ? 2 : 1;
    if (!p->halved) p->plan.part[0] = (corral_span){0, corral_params_count(corral_policy_params(p->policy))};
}

static size_t sequence_of(const corral_ppo_config *config, const corral_policy_config *policy)
{
    if (policy->memory == CORRAL_MEMORY_NONE) return 1;
    return (size_t)(config->sequence > 0 ? config->sequence : config->steps);
}

corral_status ppo_create(const corral_ppo_config *config, uint64_t run_seed, corral_policy *policy,
                         corral_team *team, ppo **out_ppo)
{
    ppo *p = aligned_alloc(alignof(ppo), sizeof *p);
    if (p == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for PPO");
    memset(p, 0, sizeof *p);
    p->config = *config;
    p->run_seed = run_seed;
    p->policy = policy;
    p->team = team;
    p->sequence = sequence_of(config, corral_policy_get_config(policy));
    corral_optimizer_config optimizer = corral_optimizer_config_default();
    optimizer.epsilon = config->adam_epsilon;
    optimizer.max_grad_norm = config->max_grad_norm;
    corral_status status = corral_optimizer_create(&optimizer, corral_policy_params(policy), &p->optimizer);
    if (status == CORRAL_OK) status = create_benches(p);
    plan_lanes(p);
    if (status != CORRAL_OK) {
        ppo_destroy(p);
        return status;
    }
    *out_ppo = p;
    return CORRAL_OK;
}

void ppo_destroy(ppo *p)
{
    if (p == NULL) return;
    for (unsigned i = 0; p->bench != NULL && i < corral_team_size(p->team); i++) {
        corral_tape_destroy(p->bench[i].tape);
        free(p->bench[i].observation);
        free(p->bench[i].log_probs);
        ppo_taken_destroy(p->bench[i].taken);
        free(p->bench[i].action);
        free(p->bench[i].log_prob);
        free(p->bench[i].value);
        free(p->bench[i].advantage);
        free(p->bench[i].target);
    }
    free(p->bench);
    free(p->order[0]);
    free(p->order[1]);
    ppo_device_destroy(p->device);
    corral_optimizer_destroy(p->optimizer);
    free(p);
}

corral_status ppo_place(ppo *p, const ppo_placement *placement)
{
    return ppo_device_create(&p->config, p->run_seed, placement, p->policy, p->optimizer, &p->device);
}

corral_optimizer *ppo_optimizer(ppo *p)
{
    // A device that fails now fails again, with its sentence, in the next update.
    if (p->device != NULL && ppo_device_fetch(p->device) != CORRAL_OK)
        corral_log(CORRAL_LOG_ERROR, "%s", corral_last_error());
    return p->optimizer;
}

// --- one lane ---------------------------------------------------------------------------------------------

static void gather_observations(const ppo *p, ppo_bench *bench, const uint32_t *rows, size_t count)
{
    const batch *b = p->batch;
    const size_t width = b->observation_size;
    for (size_t i = 0; i < count; i++) {
        float *to = bench->observation + i * width;
        if (b->observation != NULL)
            memcpy(to, b->observation + rows[i] * width, width * sizeof(float));
        else
            corral_policy_filter(p->policy, 1, b->raw + rows[i] * b->observation_bytes, to);
    }
}

static void gather_actions(const ppo *p, ppo_bench *bench, const uint32_t *rows, size_t count)
{
    const batch *b = p->batch;
    for (size_t i = 0; i < count; i++) {
        const size_t row = rows[i];
        if (bench->taken == NULL) bench->action[i] = b->action[row];
        bench->log_prob[i] = b->log_prob[row];
        bench->advantage[i] = (b->advantage[row] - p->now.advantage_mean) * p->now.advantage_scale;
    }
    if (bench->log_probs == NULL) return;
    for (size_t i = 0; i < count; i++)
        memcpy(bench->log_probs + i * b->actions, b->log_probs + rows[i] * b->actions,
               b->actions * sizeof(float));
}

static void gather_values(const batch *b, ppo_bench *bench, const uint32_t *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bench->value[i] = b->value[rows[i]];
        bench->target[i] = b->target[rows[i]];
    }
}

static corral_ppo_terms terms_of(const ppo *p, const ppo_bench *bench)
{
    return (corral_ppo_terms){
        .action = bench->action,
        .old_log_prob = bench->log_prob,
        .old_value = bench->value,
        .advantage = bench->advantage,
        .value_target = bench->target,
        .clip_range = p->clip_range,
        .value_clip_range = (float)p->config.value_clip_range,
        .value_error_clip = (float)p->config.value_error_clip,
        .value_coefficient = (float)p->config.value_coefficient,
        .entropy_coefficient = p->entropy_coefficient,
        .kl_coefficient = p->kl_coefficient,
        .old_log_probs = bench->log_probs,
        .total_rows = p->now.row_count,
    };
}

static corral_status learn_block(void *context, const lanes_block *block)
{
    ppo *p = context;
    ppo_bench *bench = &p->bench[block->thread];
    const uint32_t *rows = p->now.rows + block->first * p->sequence;
    const size_t count = block->count * p->sequence;
    const bool acts = !p->halved || block->part == 0, judges = !p->halved || block->part == 1;
    gather_observations(p, bench, rows, count);
    if (acts) gather_actions(p, bench, rows, count);
    if (judges) gather_values(p->batch, bench, rows, count);
    const corral_ppo_terms terms = terms_of(p, bench);
    corral_tensor *logits = NULL, *value = NULL;
    corral_ppo_stats *stats = &p->lane[block->part][block->lane].stats;
    corral_tape_reset(bench->tape, corral_policy_params(p->policy), block->gradient);
    if (bench->taken != NULL)
        return corral_backward(ppo_taken_loss(bench->taken, p->batch, bench->tape, rows, count,
                                              bench->observation, &terms, stats));
    corral_policy_graph(p->policy, bench->tape, count, bench->observation, acts ? &logits : NULL,
                        judges ? &value : NULL);
    return corral_backward(corral_ppo_loss(logits, value, &terms, stats));
}

// --- the next minibatch -----------------------------------------------------------------------------------

static corral_status reserve_orders(ppo *p, size_t rows)
{
    if (rows <= p->order_capacity) return CORRAL_OK;
    p->order_capacity = 0;
    for (int i = 0; i < 2; i++) {
        free(p->order[i]);
        p->order[i] = calloc(rows, sizeof *p->order[i]);
    }
    if (p->order[0] == NULL || p->order[1] == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to shuffle %zu rows", rows);
    p->order_capacity = rows;
    return CORRAL_OK;
}

static void shuffle(ppo *p, int64_t epoch)
{
    const batch *b = p->batch;
    uint32_t *order = p->order[epoch % 2];
    const uint64_t key =
        corral_stream_key(p->run_seed, CORRAL_STREAM_SHUFFLE, p->first_epoch + (uint64_t)epoch);
    batch_shuffle(b, key, order);
}

/// The sum of (advantage - centre), or of its square, over the minibatch, in four chains.
static double sum_over_rows(const ppo *p, const minibatch *m, double centre, bool squared)
{
    double sum[4] = {0};
    for (size_t i = 0; i < m->row_count; i++) {
        const double deviation = (double)p->batch->advantage[m->rows[i]] - centre;
        sum[i % 4] += squared ? deviation * deviation : deviation;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Mean 0 and deviation 1 (with n - 1) over the minibatch. A single row has no deviation and is left as it
/// is.
static void measure_advantage(const ppo *p, minibatch *m)
{
    m->advantage_mean = 0;
    m->advantage_scale = 1;
    if (!p->config.normalize_advantage || m->row_count < 2) return;
    const double count = (double)m->row_count, mean = sum_over_rows(p, m, 0, false) / count;
    const double m2 = sum_over_rows(p, m, mean, true);
    m->advantage_mean = (float)mean;
    m->advantage_scale = (float)(1.0 / (sqrt(m2 / (count - 1)) + 1e-8));
}

static minibatch prepare(ppo *p, int64_t epoch, size_t first)
{
    const size_t size = (size_t)p->config.minibatch, left = p->batch->usable_count - first;
    if (first == 0) shuffle(p, epoch);
    minibatch m = {.epoch = epoch, .first = first, .row_count = left < size ? left : size};
    m.rows = p->order[epoch % 2] + first;
    measure_advantage(p, &m);
    return m;
}

/// The one after `now`; after the last one an epoch that there is not.
static void prepare_next(void *context)
{
    ppo *p = context;
    const size_t end = p->now.first + p->now.row_count;
    if (end < p->batch->usable_count)
        p->next = prepare(p, p->now.epoch, end);
    else if (p->now.epoch + 1 < p->config.epochs)
        p->next = prepare(p, p->now.epoch + 1, 0);
    else
        p->next = (minibatch){.epoch = p->config.epochs};
}

// --- one minibatch ----------------------------------------------------------------------------------------

static void sum_lanes(const ppo *p, size_t lanes, corral_ppo_stats *out_stats)
{
    *out_stats = (corral_ppo_stats){0};
    for (size_t i = 0; i < p->plan.part_count * lanes; i++) {
        const corral_ppo_stats *lane = &p->lane[i / lanes][i % lanes].stats;
        out_stats->policy_loss += lane->policy_loss;
        out_stats->value_loss += lane->value_loss;
        out_stats->entropy += lane->entropy;
        out_stats->approx_kl += lane->approx_kl;
        out_stats->clip_fraction += lane->clip_fraction;
        out_stats->kl += lane->kl;
        out_stats->infinite_kl += lane->infinite_kl;
        out_stats->max_ratio_deviation = fmax(out_stats->max_ratio_deviation, lane->max_ratio_deviation);
        out_stats->rows += lane->rows;
    }
}

static corral_status learn_minibatch(ppo *p, double learning_rate, corral_ppo_stats *out_stats,
                                     double *out_norm)
{
    const size_t units = p->now.row_count / p->sequence, lanes = corral_lane_count(units);
    memset(p->lane, 0, sizeof p->lane);
    corral_status status = lanes_run(&p->plan, units);
    if (status != CORRAL_OK) return status;
    sum_lanes(p, lanes, out_stats);
    return corral_optimizer_step(p->optimizer, lanes, learning_rate, p->team, out_norm);
}

// --- the update -------------------------------------------------------------------------------------------

static void add_means(ppo_result *result, const corral_ppo_stats *stats, double norm)
{
    const double rows = (double)stats->rows;
    result->policy_loss += stats->policy_loss / rows;
    result->value_loss += stats->value_loss / rows;
    result->entropy += stats->entropy / rows;
    result->approx_kl += stats->approx_kl / rows;
    result->clip_fraction += stats->clip_fraction / rows;
    result->kl += stats->kl / rows;
    result->infinite_kl += stats->infinite_kl;
    result->grad_norm += norm;
}

static void finish_means(const ppo *p, ppo_result *result)
{
    if (result->minibatches == 0) return;
    const double count = (double)result->minibatches;
    double *const sums[] = {&result->policy_loss, &result->value_loss,    &result->entropy,
                            &result->approx_kl,   &result->clip_fraction, &result->kl,
                            &result->grad_norm};
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
        *sums[i] /= count;
    result->loss = result->policy_loss + p->config.value_coefficient * result->value_loss -
                   result->entropy_coefficient * result->entropy + result->kl_coefficient * result->kl;
}

/// What the divergence from the acting policy was over the rows of an epoch.
typedef struct epoch_kl {
    double sum, rows;
} epoch_kl;

/// Learns `p->now`; writes whether the divergence says stop.
static corral_status learn_now(ppo *p, ppo_result *result, epoch_kl *kl, bool *out_stop)
{
    corral_ppo_stats stats;
    double norm = 0;
    corral_status status = learn_minibatch(p, result->learning_rate, &stats, &norm);
    if (status == CORRAL_ERROR_NOT_FINITE) {
        result->skipped++;
        return CORRAL_OK;
    }
    if (status != CORRAL_OK) return status;
    if (result->minibatches == 0) result->first_ratio_deviation = stats.max_ratio_deviation;
    result->minibatches++;
    add_means(result, &stats, norm);
    kl->sum += stats.kl;
    kl->rows += (double)stats.rows;
    result->last_kl = kl->sum / kl->rows;
    *out_stop = p->config.target_kl > 0 && stats.approx_kl / (double)stats.rows > 1.5 * p->config.target_kl;
    return CORRAL_OK;
}

corral_status ppo_update(ppo *p, batch *b, const ppo_moment *now, ppo_result *out_result)
{
    CORRAL_ASSERT(now->kl_coefficient == 0 || (p->config.kl_coefficient > 0 && b->log_probs != NULL));
    ppo_result result = {
        .learning_rate = corral_schedule_at(&p->config.learning_rate, now->progress),
        .clip_range = corral_schedule_at(&p->config.clip_range, now->progress),
        .entropy_coefficient = corral_schedule_at(&p->config.entropy_coefficient, now->progress),
        .kl_coefficient = now->kl_coefficient,
    };
    if (p->device != NULL) {
        const corral_status status = ppo_device_update(p->device, b, now, &result);
        finish_means(p, &result);
        *out_result = result;
        return status;
    }
    batch_estimate(b, p->config.gamma, p->config.lambda);
    p->batch = b;
    p->clip_range = (float)result.clip_range;
    p->entropy_coefficient = (float)result.entropy_coefficient;
    p->kl_coefficient = (float)result.kl_coefficient;
    p->first_epoch = now->update * (uint64_t)p->config.epochs;
    corral_status status = reserve_orders(p, b->usable_count);
    if (status != CORRAL_OK) return status;
    bool stop = b->usable_count == 0;
    epoch_kl kl = {0};
    if (!stop) p->next = prepare(p, 0, 0);
    while (!stop && p->next.epoch < p->config.epochs) {
        p->now = p->next;
        if (p->now.first == 0) {
            result.epochs++;
            kl = (epoch_kl){0};
        }
        status = learn_now(p, &result, &kl, &stop);
        if (status != CORRAL_OK) return status;
    }
    finish_means(p, &result);
    *out_result = result;
    return CORRAL_OK;
}

double ppo_adapt_kl_coefficient(const corral_ppo_config *config, double coefficient, double kl)
{
    if (config->kl_target == 0 || coefficient == 0) return coefficient;
    if (kl > 2 * config->kl_target)
        coefficient *= 1.5;
    else if (kl < 0.5 * config->kl_target)
        coefficient *= 0.5;
    // Within a thousand of where it started: so it cannot overflow, and one that sank while the policy hardly
    // moved is back within 17 iterations.
    return fmin(fmax(coefficient, config->kl_coefficient / 1000), config->kl_coefficient * 1000);
}
