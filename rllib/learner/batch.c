// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "batch.h"

#include "advantage.h"

#include "corral/base/rng.h"
#include "corral/core/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Larger ones are kept as the environments gave them only.
static const size_t keep_bytes = (size_t)64 << 20;

corral_status batch_init(batch *b, uint32_t envs, uint32_t steps, const corral_policy_config *policy)
{
    const size_t rows = (size_t)envs * steps, bytes = corral_policy_observation_bytes(policy);
    const bool same = policy->observation.part_count == 0 && !policy->normalize_observation;
    const bool large =
        policy->observation.part_count > 0 && policy->observation_size * sizeof(float) > keep_bytes / rows;
    *b = (batch){.envs = envs,
                 .steps = steps,
                 .observation_size = policy->observation_size,
                 .observation_bytes = bytes,
                 .rows = rows,
                 .actions = policy->action_count,
                 .action_words = (uint32_t)corral_policy_action_words(policy),
                 .mask_bytes = (uint32_t)corral_policy_mask_bytes(policy),
                 .general = policy->action.part_count > 0 || policy->masked};
    b->raw = calloc(rows, bytes);
    b->observation = same     ? (float *)(void *)b->raw
                     : !large ? calloc(rows * policy->observation_size, sizeof *b->observation)
                              : NULL;
    b->action = calloc(rows * b->action_words, sizeof *b->action);
    b->mask = calloc(rows, b->mask_bytes + 1);
    b->log_prob = calloc(rows, sizeof *b->log_prob);
    b->value = calloc(rows, sizeof *b->value);
    b->last_value = calloc(envs, sizeof *b->last_value);
    b->reward = calloc(rows, sizeof *b->reward);
    b->advantage = calloc(rows, sizeof *b->advantage);
    b->target = calloc(rows, sizeof *b->target);
    b->terminated = calloc(rows, 1);
    b->truncated = calloc(rows, 1);
    b->final_value = calloc(rows, sizeof *b->final_value);
    b->usable = calloc(rows, sizeof *b->usable);
    if (b->raw == NULL || (b->observation == NULL && !large) || b->action == NULL || b->mask == NULL ||
        b->log_prob == NULL || b->value == NULL || b->last_value == NULL || b->reward == NULL ||
        b->advantage == NULL || b->target == NULL || b->terminated == NULL || b->truncated == NULL ||
        b->final_value == NULL || b->usable == NULL) {
        batch_finish(b);
        return corral_fail(CORRAL_ERROR_NO_MEMORY,
                           "no memory for %zu rows of a rollout; lower envs or ppo.steps", rows);
    }
    return CORRAL_OK;
}

corral_status batch_keep_log_probs(batch *b)
{
    b->log_probs = calloc(b->rows * b->actions, sizeof *b->log_probs);
    if (b->log_probs != NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NO_MEMORY,
                       "no memory for %u probabilities of each of %zu rows; lower envs or ppo.steps",
                       b->actions, b->rows);
}

corral_status batch_keep_memory(batch *b, uint32_t sequence, const corral_policy_config *policy)
{
    b->sequence = sequence;
    b->memory_size = corral_policy_memory_size(policy);
    b->memory = calloc(b->rows / sequence * b->memory_size, sizeof *b->memory);
    b->reset = calloc(b->rows, 1);
    if (b->memory != NULL && b->reset != NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for what a policy remembers in %zu rows", b->rows);
}

void batch_finish(batch *b)
{
    if ((void *)b->observation != b->raw) free(b->observation);
    void *const memory[] = {b->raw,       b->action, b->log_prob,   b->value,      b->reward,
                            b->advantage, b->target, b->terminated, b->truncated,  b->final_value,
                            b->log_probs, b->usable, b->episodes,   b->last_value, b->mask,
                            b->memory,    b->reset};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
    *b = (batch){0};
}

static corral_status reserve_episodes(batch *b, size_t count)
{
    if (count <= b->episode_capacity) return CORRAL_OK;
    batch_episode *grown = realloc(b->episodes, count * sizeof *grown);
    if (grown == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %zu episodes of a round", count);
    b->episodes = grown;
    b->episode_capacity = count;
    return CORRAL_OK;
}

static void gather_memory(batch *b, const corral_fragment *f, size_t first_row)
{
    const size_t rows = (size_t)f->header.spec.env_count * b->steps;
    memcpy(b->memory + first_row / b->sequence * b->memory_size, f->memory,
           rows / b->sequence * b->memory_size * sizeof *b->memory);
    // The state before a sequence is that of its episode already: nothing is to be forgotten at its
    // beginning.
    for (size_t r = 0; r < rows; r++)
        b->reset[first_row + r] = r % b->sequence != 0 && (f->terminated[r - 1] || f->truncated[r - 1] ||
                                                           (!f->valid[r - 1] && f->valid[r]));
}

/// Whether nothing failed in the sequence of row r.
static bool sequence_is_valid(const batch *b, const corral_fragment *f, size_t r)
{
    const size_t first = r / b->sequence * b->sequence;
    for (size_t k = first; k < first + b->sequence; k++)
        if (!f->valid[k]) return false;
    return true;
}

static void gather_columns(batch *b, const corral_fragment *f, size_t first_row)
{
    const size_t rows = (size_t)f->header.spec.env_count * b->steps, bytes = b->observation_bytes;
    memcpy(b->action + first_row * b->action_words, f->action, rows * b->action_words * sizeof *b->action);
    memcpy(b->log_prob + first_row, f->log_prob, rows * sizeof *b->log_prob);
    memcpy(b->reward + first_row, f->reward, rows * sizeof *b->reward);
    memcpy(b->terminated + first_row, f->terminated, rows);
    memcpy(b->truncated + first_row, f->truncated, rows);
    memset(b->final_value + first_row, 0, rows * sizeof *b->final_value);
    if (b->log_probs != NULL && b->general)
        memcpy(b->log_probs + first_row * b->actions, f->logits, rows * b->actions * sizeof *b->log_probs);
    else if (b->log_probs != NULL)
        corral_categorical_log_probs(rows, b->actions, f->logits, b->log_probs + first_row * b->actions);
    for (size_t e = 0; e < f->header.spec.env_count; e++) {
        // These columns have one row more: where it was cut.
        const size_t row = first_row + e * b->steps, from = e * (b->steps + 1);
        memcpy(b->raw + row * bytes, f->observation + from * bytes, b->steps * bytes);
        memcpy(b->mask + row * b->mask_bytes, f->mask + from * b->mask_bytes, b->steps * b->mask_bytes);
        memcpy(b->value + row, f->value + from, b->steps * sizeof *b->value);
        b->last_value[f->header.env_begin + e] = f->value[from + b->steps];
    }
    if (b->sequence > 0) gather_memory(b, f, first_row);
    for (size_t r = 0; r < rows; r++) {
        const bool whole = b->sequence == 0 || sequence_is_valid(b, f, r);
        if (f->valid[r] && whole) b->usable[b->usable_count++] = (uint32_t)(first_row + r);
        if (!f->valid[r]) b->truncated[first_row + r] = 1; // no trace runs through a row that is left out
    }
}

static void gather_episodes(batch *b, const corral_fragment *f, size_t first_row)
{
    for (uint32_t k = 0; k < f->header.ended_count; k++) {
        const unsigned char *observation;
        const corral_fragment_ended record = corral_fragment_ended_at(f, k, &observation);
        b->final_value[first_row + (size_t)record.environment * b->steps + record.step] = record.final_value;
        batch_episode *episode = &b->episodes[b->episode_count++];
        *episode = (batch_episode){
            .environment = f->header.env_begin + record.environment,
            .step = record.step,
            .length = record.length,
            .number = record.number,
            .episode_return = record.episode_return,
            .terminated = record.terminated,
            .truncated = record.truncated,
        };
        memcpy(episode->info, corral_fragment_info_at(f, k), f->header.spec.info_count * sizeof(double));
    }
}

static int by_step(const void *left, const void *right)
{
    const batch_episode *a = left, *b = right;
    if (a->step != b->step) return a->step < b->step ? -1 : 1;
    return a->environment < b->environment ? -1 : a->environment > b->environment;
}

corral_status batch_gather(batch *b, const corral_fragment *fragments, uint32_t count,
                           const corral_policy *policy)
{
    size_t episodes = 0;
    for (uint32_t i = 0; i < count; i++)
        episodes += fragments[i].header.ended_count;
    corral_status status = reserve_episodes(b, episodes);
    if (status != CORRAL_OK) return status;
    b->usable_count = b->episode_count = 0;
    b->failures = b->policy_lag = 0;
    b->failure[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t lag = corral_policy_version(policy) - fragments[i].header.policy_version;
        if (lag > b->policy_lag) b->policy_lag = lag;
        const size_t first_row = (size_t)fragments[i].header.env_begin * b->steps;
        gather_columns(b, &fragments[i], first_row);
        gather_episodes(b, &fragments[i], first_row);
        b->failures += fragments[i].header.failed_count;
        if (b->failure[0] == '\0') snprintf(b->failure, sizeof b->failure, "%s", fragments[i].failure);
    }
    // Fragments list their episodes by step and then environment; so does the whole round, however it was
    // cut.
    if (b->episode_count > 1) qsort(b->episodes, b->episode_count, sizeof *b->episodes, by_step);
    if (b->observation != NULL && (void *)b->observation != b->raw)
        corral_policy_filter(policy, b->rows, b->raw, b->observation);
    return CORRAL_OK;
}

void batch_shuffle(const batch *b, uint64_t key, uint32_t *out_order)
{
    const size_t together = b->sequence > 0 ? b->sequence : 1, groups = b->usable_count / together;
    corral_stream_permutation(key, 0, out_order, (uint32_t)groups);
    for (size_t g = groups; g-- > 0;) { // backwards, so that no entry is written before it is read
        const size_t from = out_order[g] * together;
        for (size_t k = 0; k < together; k++)
            out_order[g * together + k] = b->usable[from + k];
    }
}

void batch_estimate(batch *b, double gamma, double lambda)
{
    for (uint32_t e = 0; e < b->envs; e++) {
        const size_t row = (size_t)e * b->steps;
        const advantage_input in = {
            .steps = b->steps,
            .reward = b->reward + row,
            .value = b->value + row,
            .last_value = b->last_value[e],
            .terminated = b->terminated + row,
            .truncated = b->truncated + row,
            .final_value = b->final_value + row,
            .gamma = gamma,
            .lambda = lambda,
        };
        advantage_estimate(&in, b->advantage + row, b->target + row);
    }
}

bool batch_explained_variance(const batch *b, double *out_value)
{
    double target_sum = 0, rest_sum = 0;
    for (size_t i = 0; i < b->usable_count; i++) {
        const size_t row = b->usable[i];
        target_sum += b->target[row];
        rest_sum += b->target[row] - b->value[row];
    }
    const double target_mean = target_sum / (double)b->usable_count,
                 rest_mean = rest_sum / (double)b->usable_count;
    double target_m2 = 0, rest_m2 = 0;
    for (size_t i = 0; i < b->usable_count; i++) {
        const size_t row = b->usable[i];
        const double target = b->target[row] - target_mean, rest = b->target[row] - b->value[row] - rest_mean;
        target_m2 += target * target;
        rest_m2 += rest * rest;
    }
    if (b->usable_count == 0 || !(target_m2 > 0)) return false;
    *out_value = 1 - rest_m2 / target_m2;
    return true;
}
