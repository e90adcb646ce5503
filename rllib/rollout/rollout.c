// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rollout.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rollout_slice {
    const rollout_config *config;
    const environment_setup *setup;
    corral_env_batch *batch;
    corral_fragment_layout layout;
    uint32_t env_begin, env_count;
    corral_env_rows observation_rows[SPACES_LEAVES_MAX]; // of `observation`, per leaf
    bool started;                                        // reset or loaded
    uint64_t next_step;                                  // of each environment
    double exploration;   // share of exploring actions in the fragment that was asked for
    uint64_t *action_key; // [env] stream of action noise
    // one step of all environments
    unsigned char *observation;                     // [env, observation bytes]: what is acted on next
    int32_t *action;                                // [env, action words]
    unsigned char *env_action;                      // [env, action bytes]
    corral_env_rows action_rows[SPACES_LEAVES_MAX]; // of `env_action`, per leaf
    uint8_t *mask;                                  // [env, mask bytes]
    size_t noise_width;
    float *noise, *log_prob, *logits, *value;
    float *remembered;   // [env, memory]: before `observation`
    bool noise_is_fresh; // it does not hold that of the step before
    double *reward;
    uint8_t *terminated, *truncated, *failed;
    uint32_t *episode_start; // [env] step of this fragment at which the open episode began
    corral_episode *ended;
    uint32_t *ended_row;
    double *ended_info; // [env, numbers that an environment says of itself]
    void *memory;       // all of the arrays above
};

// --- what is told, and how large things are ---------------------------------------------------------------

corral_status rollout_config_init(rollout_config *rollout, const corral_train_config *config,
                                  const environment_setup *setup, const corral_policy_config *policy)
{
    memset(rollout, 0, sizeof *rollout); // padding too: the bytes travel
    rollout->magic = ROLLOUT_CONFIG_MAGIC;
    rollout->size = sizeof *rollout;
    char name[CORRAL_ENV_NAME_SIZE];
    const corral_status status = corral_train_config_env(config, name);
    if (status != CORRAL_OK) return status;
    char *portable = corral_env_portable_name(name, setup->type);
    const int length = snprintf(rollout->env, sizeof rollout->env, "%s", portable != NULL ? portable : "");
    free(portable);
    if (length <= 0 || (size_t)length >= sizeof rollout->env)
        return corral_fail(CORRAL_ERROR_INVALID, "env: the path of %s is too long", config->env);
    memcpy(&rollout->env_params, &config->env_params, sizeof rollout->env_params);
    rollout->max_episode_steps = config->max_episode_steps;
    rollout->run_seed = (uint64_t)config->seed;
    rollout->steps = (uint32_t)corral_train_config_rollout_steps(config);
    rollout->sequence = config->ppo.sequence > 0 ? (uint32_t)config->ppo.sequence : rollout->steps;
    memcpy(&rollout->policy, policy, sizeof rollout->policy);
    return CORRAL_OK;
}

static corral_status create_batch(const rollout_config *config, const environment_setup *setup,
                                  uint32_t env_begin, uint32_t env_count, corral_env_batch **out_batch)
{
    const corral_env_batch_config batch = {
        .type = setup->type,
        .count = env_count,
        .first_index = env_begin,
        .run_seed = config->run_seed,
        .role = CORRAL_STREAM_ENVIRONMENT,
        .max_episode_steps = config->max_episode_steps,
        .param_values = setup->values,
    };
    return corral_env_batch_create(&batch, out_batch);
}

/// What a recurrent policy remembers of one environment. It is a part of that environment's saved state.
static uint32_t memory_bytes(const rollout_config *config)
{
    return (uint32_t)(corral_policy_memory_size(&config->policy) * sizeof(float));
}

/// The words of an action: its choices, then its numbers.
static void set_runs(const corral_policy_space *action, corral_fragment_layout *layout)
{
    corral_fragment_run runs[CORRAL_FRAGMENT_RUNS];
    uint32_t count = 0, numbers = 0;
    for (uint32_t k = 0; k < action->part_count; k++) {
        const corral_part *part = &action->part[k];
        if (part->kind == CORRAL_PART_NUMBERS)
            numbers += part->count;
        else
            runs[count++] = (corral_fragment_run){part->count, part->choices};
    }
    if (numbers > 0) runs[count++] = (corral_fragment_run){numbers, 0};
    corral_fragment_layout_set_runs(layout, count, runs);
}

static corral_status layout_of(const rollout_config *config, const environment_setup *setup,
                               const corral_env_batch *batch, uint32_t env_count,
                               corral_fragment_layout *out_layout)
{
    const uint32_t memory = memory_bytes(config);
    const corral_fragment_spec spec = {
        .env_count = env_count,
        .steps = config->steps,
        .observation_bytes = setup->spaces.observation_bytes,
        .action_count = setup->spaces.action_count,
        .state_bytes = (uint32_t)corral_env_batch_state_size(batch) + memory,
        .memory_rows = memory > 0 ? config->steps / config->sequence : 0,
        .memory_bytes = memory,
        .action_words = (uint32_t)corral_policy_action_words(&config->policy),
        .mask_bytes = (uint32_t)corral_policy_mask_bytes(&config->policy),
        .info_count = corral_env_info_count(setup->type),
    };
    const corral_status status = corral_fragment_layout_init(&spec, out_layout);
    if (status == CORRAL_OK && config->policy.action.part_count > 0)
        set_runs(&config->policy.action, out_layout);
    return status;
}

corral_status rollout_fragment_layout(const rollout_config *config, const environment_setup *setup,
                                      uint32_t env_count, corral_fragment_layout *out_layout, bool *out_exact)
{
    corral_env_batch *batch; // one environment tells how large a state is
    corral_status status = create_batch(config, setup, 0, 1, &batch);
    if (status != CORRAL_OK) return status;
    status = layout_of(config, setup, batch, env_count, out_layout);
    *out_exact = corral_env_batch_state_exact(batch);
    corral_env_batch_destroy(batch);
    return status;
}

// --- the slice --------------------------------------------------------------------------------------------

/// Cuts one block of memory into the slice's arrays, each aligned to 64 bytes; with NULL only measures.
static size_t cut_arrays(rollout_slice *s, char *memory)
{
    const size_t n = s->env_count, actions = s->layout.spec.action_count;
    size_t used = 0;
#define CUT(array, count)                                                                                    \
    do {                                                                                                     \
        if (memory != NULL) s->array = (void *)(memory + used);                                              \
        used += ((count) * sizeof *s->array + 63) / 64 * 64;                                                 \
    } while (0)
    CUT(action_key, n);
    CUT(observation, n * s->layout.spec.observation_bytes);
    CUT(action, n * s->layout.spec.action_words);
    CUT(env_action, n * s->setup->spaces.action_bytes);
    CUT(mask, n * s->layout.spec.mask_bytes);
    CUT(noise, n * s->noise_width);
    CUT(remembered, n * (s->layout.spec.memory_bytes / sizeof(float)));
    CUT(log_prob, n);
    CUT(logits, n * actions);
    CUT(value, n);
    CUT(reward, n);
    CUT(terminated, n);
    CUT(truncated, n);
    CUT(failed, n);
    CUT(episode_start, n);
    CUT(ended, n);
    CUT(ended_row, n);
    CUT(ended_info, n * s->layout.spec.info_count);
#undef CUT
    return used;
}

corral_status rollout_slice_create(const rollout_config *config, const environment_setup *setup,
                                   uint32_t env_begin, uint32_t env_count, rollout_slice **out_slice)
{
    rollout_slice *slice = calloc(1, sizeof *slice);
    if (slice == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a slice of environments");
    slice->config = config;
    slice->setup = setup;
    slice->env_begin = env_begin;
    slice->env_count = env_count;
    slice->noise_width = corral_policy_noise_width(&config->policy);
    slice->noise_is_fresh = true;
    corral_status status = create_batch(config, setup, env_begin, env_count, &slice->batch);
    if (status == CORRAL_OK) status = layout_of(config, setup, slice->batch, env_count, &slice->layout);
    if (status == CORRAL_OK) {
        const size_t size = cut_arrays(slice, NULL);
        slice->memory = aligned_alloc(64, size);
        if (slice->memory == NULL) {
            status =
                corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a slice of %u environments", env_count);
        } else {
            memset(slice->memory, 0, size);
            cut_arrays(slice, slice->memory);
            environment_observation_rows(&setup->spaces, slice->observation, setup->spaces.observation_bytes,
                                         slice->observation_rows);
            environment_action_rows(&setup->spaces, slice->env_action, setup->spaces.action_bytes,
                                    slice->action_rows);
        }
    }
    if (status != CORRAL_OK) {
        rollout_slice_destroy(slice);
        return status;
    }
    for (uint32_t i = 0; i < env_count; i++)
        slice->action_key[i] = corral_stream_key(config->run_seed, CORRAL_STREAM_ACTION, env_begin + i);
    *out_slice = slice;
    return CORRAL_OK;
}

void rollout_slice_destroy(rollout_slice *slice)
{
    if (slice == NULL) return;
    corral_env_batch_destroy(slice->batch);
    free(slice->memory);
    free(slice);
}

const corral_fragment_layout *rollout_slice_layout(const rollout_slice *slice)
{
    return &slice->layout;
}

/// Environments that have been played cannot go back, and their episodes are numbered: fresh ones take their
/// place.
static corral_status start_anew(rollout_slice *slice, const corral_env_rows *rows)
{
    if (slice->started) {
        slice->started = false;
        corral_env_batch_destroy(slice->batch);
        slice->batch = NULL;
    }
    corral_status status = CORRAL_OK;
    if (slice->batch == NULL)
        status = create_batch(slice->config, slice->setup, slice->env_begin, slice->env_count, &slice->batch);
    return status == CORRAL_OK ? corral_env_batch_reset(slice->batch, rows) : status;
}

static void forget(rollout_slice *slice)
{
    memset(slice->remembered, 0, (size_t)slice->env_count * slice->layout.spec.memory_bytes);
}

/// What the environments saved and what the policy remembers of them, which lie side by side. Environments
/// that cannot be loaded begin anew, and nothing is remembered.
static corral_status load_states(rollout_slice *slice, const char *state)
{
    const size_t memory = slice->layout.spec.memory_bytes, all = slice->layout.spec.state_bytes;
    const size_t own = all - memory, count = slice->env_count;
    if (memory == 0) return corral_env_batch_load(slice->batch, state, count * all, slice->observation_rows);
    char *states = malloc(count * own);
    if (states == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the states of %zu environments", count);
    for (size_t i = 0; i < count; i++) {
        memcpy(states + i * own, state + i * all, own);
        memcpy((char *)slice->remembered + i * memory, state + i * all + own, memory);
    }
    const corral_status status =
        corral_env_batch_load(slice->batch, states, count * own, slice->observation_rows);
    if (!corral_env_batch_state_exact(slice->batch)) forget(slice);
    free(states);
    return status;
}

corral_status rollout_slice_seek(rollout_slice *slice, const rollout_request *request, const void *state)
{
    const size_t states = (size_t)slice->env_count * slice->layout.spec.state_bytes;
    const size_t observations = (size_t)slice->env_count * slice->layout.spec.observation_bytes;
    const corral_env_rows *rows = slice->observation_rows;
    corral_status status = CORRAL_OK;
    slice->exploration = request->exploration;
    if (request->state_bytes > 0) {
        if (request->state_bytes != states + observations)
            return corral_fail(CORRAL_ERROR_CORRUPT, "a request's state has %u bytes where %zu are expected",
                               request->state_bytes, states + observations);
        memcpy(slice->observation, (const char *)state + states, observations);
        status = load_states(slice, state);
    } else if (slice->started && slice->next_step == request->first_step) {
        return CORRAL_OK;
    } else if (request->first_step == 0) {
        forget(slice);
        status = start_anew(slice, rows);
    } else {
        return corral_fail(
            CORRAL_ERROR_STALE,
            "environments %u to %u stand at step %llu, a fragment from step %llu was asked for",
            slice->env_begin, slice->env_begin + slice->env_count - 1, (unsigned long long)slice->next_step,
            (unsigned long long)request->first_step);
    }
    slice->started = status == CORRAL_OK;
    slice->noise_is_fresh = true;
    slice->next_step = request->first_step;
    return status;
}

// --- collecting -------------------------------------------------------------------------------------------

static inline char *column(void *block, size_t offset)
{
    return (char *)block + offset;
}

static void store_observations(const rollout_slice *s, void *block, uint32_t t)
{
    const size_t bytes = s->layout.spec.observation_bytes, rows = (size_t)s->layout.spec.steps + 1;
    for (uint32_t i = 0; i < s->env_count; i++)
        memcpy(column(block, s->layout.observation) + (i * rows + t) * bytes, s->observation + i * bytes,
               bytes);
}

/// Asks what is allowed where the environments stand, and keeps it beside the observations.
static corral_status store_masks(const rollout_slice *s, void *block, uint32_t t)
{
    const size_t bytes = s->layout.spec.mask_bytes, rows = (size_t)s->layout.spec.steps + 1;
    if (bytes == 0) return CORRAL_OK;
    const corral_status status = corral_env_batch_masks(s->batch, s->mask);
    for (uint32_t i = 0; status == CORRAL_OK && i < s->env_count; i++)
        memcpy(column(block, s->layout.mask) + (i * rows + t) * bytes, s->mask + i * bytes, bytes);
    return status;
}

static void store_step(const rollout_slice *s, void *block, uint32_t t)
{
    const size_t steps = s->layout.spec.steps, actions = s->layout.spec.action_count;
    const size_t words = s->layout.spec.action_words;
    int32_t *action = (void *)column(block, s->layout.action);
    float *logits = (void *)column(block, s->layout.logits),
          *log_prob = (void *)column(block, s->layout.log_prob);
    float *value = (void *)column(block, s->layout.value), *reward = (void *)column(block, s->layout.reward);
    uint8_t *terminated = (void *)column(block, s->layout.terminated);
    uint8_t *truncated = (void *)column(block, s->layout.truncated),
            *valid = (void *)column(block, s->layout.valid);
    for (size_t i = 0; i < s->env_count; i++) {
        const size_t at = i * steps + t;
        memcpy(action + at * words, s->action + i * words, words * sizeof *action);
        memcpy(logits + at * actions, s->logits + i * actions, actions * sizeof *logits);
        log_prob[at] = s->log_prob[i];
        value[i * (steps + 1) + t] = s->value[i];
        reward[at] = (float)s->reward[i];
        terminated[at] = s->terminated[i];
        truncated[at] = s->truncated[i];
        valid[at] = 1;
    }
}

/// The fragment's first failure is told in words; the others are counted.
static void store_failure(const rollout_slice *s, void *block)
{
    snprintf(column(block, s->layout.failure), CORRAL_FRAGMENT_TEXT, "%s",
             corral_env_batch_failure(s->batch));
}

/// Rows of an episode that failed are not trained on, from its first one in this fragment.
static void strike_failed(rollout_slice *s, void *block, uint32_t t)
{
    uint8_t *valid = (void *)column(block, s->layout.valid);
    for (uint32_t i = 0; i < s->env_count; i++) {
        if (!s->failed[i]) continue;
        for (uint32_t k = s->episode_start[i]; k <= t; k++)
            valid[(size_t)i * s->layout.spec.steps + k] = 0;
        s->episode_start[i] = t + 1;
    }
}

static void store_ended(rollout_slice *s, void *block, uint32_t t, uint32_t first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const corral_fragment_ended record = {
            .episode_return = s->ended[k].episode_return,
            .number = s->ended[k].number,
            .length = s->ended[k].length,
            .environment = s->ended_row[k],
            .step = t,
            .terminated = s->ended[k].terminated,
            .truncated = s->ended[k].truncated,
        };
        char *at = column(block, s->layout.ended + (first + k) * s->layout.ended_stride);
        const size_t numbers = s->layout.spec.info_count;
        memcpy(at, &record, sizeof record);
        memcpy(at + s->layout.ended_info, s->ended_info + k * numbers, numbers * sizeof(double));
        s->episode_start[s->ended_row[k]] = t + 1;
    }
}

static void store_remembered(const rollout_slice *s, void *block, uint32_t t)
{
    const size_t bytes = s->layout.spec.memory_bytes, rows = s->layout.spec.memory_rows;
    if (bytes == 0 || t % s->config->sequence != 0) return;
    for (size_t i = 0; i < s->env_count; i++)
        memcpy(column(block, s->layout.memory + (i * rows + t / s->config->sequence) * bytes),
               (const char *)s->remembered + i * bytes, bytes);
}

/// A new episode begins with nothing remembered.
static void forget_ended(rollout_slice *s)
{
    const size_t bytes = s->layout.spec.memory_bytes;
    for (size_t i = 0; i < s->env_count; i++)
        if (s->terminated[i] || s->truncated[i] || s->failed[i])
            memset((char *)s->remembered + i * bytes, 0, bytes);
}

/// V of the last observation of each episode (of these records) that was cut off rather than ended: what its
/// return goes on with. A recurrent policy remembers what was before it.
static corral_status value_of_cut(rollout_slice *s, corral_policy *policy, void *block, uint32_t first,
                                  uint32_t ended_count)
{
    for (uint32_t k = first; k < ended_count; k++) {
        char *at = column(block, s->layout.ended + k * s->layout.ended_stride);
        corral_fragment_ended record;
        memcpy(&record, at, sizeof record);
        if (record.terminated) continue;
        const corral_policy_input in = {
            .rows = 1,
            .observation = at + sizeof record,
            .memory = s->remembered + record.environment * (s->layout.spec.memory_bytes / sizeof(float))};
        corral_status status =
            corral_policy_act_on(policy, &in, &(corral_policy_output){.value = &record.final_value});
        if (status != CORRAL_OK) return status;
        memcpy(at, &record, sizeof record);
    }
    return CORRAL_OK;
}

static void write_header(const rollout_slice *s, const corral_policy *policy, uint32_t worker, void *block,
                         uint32_t ended_count, uint32_t failed_count, size_t *out_length)
{
    const corral_fragment_header header = {
        .magic = CORRAL_FRAGMENT_MAGIC,
        .format = CORRAL_FRAGMENT_VERSION,
        .length = s->layout.ended + ended_count * s->layout.ended_stride,
        .policy_version = corral_policy_version(policy),
        .first_step = s->next_step,
        .spec = s->layout.spec,
        .env_begin = s->env_begin,
        .ended_count = ended_count,
        .failed_count = failed_count,
        .worker = worker,
    };
    memcpy(block, &header, sizeof header);
    *out_length = header.length;
}

static corral_status play_step(rollout_slice *s, corral_policy *policy, void *block, uint32_t t,
                               uint32_t *ended_count, uint32_t *failed_count)
{
    for (uint32_t i = 0; i < s->env_count; i++)
        corral_policy_draw(&s->config->policy, s->action_key[i], s->next_step + t, s->noise_is_fresh,
                           s->noise + i * s->noise_width);
    s->noise_is_fresh = false;
    corral_status status = store_masks(s, block, t);
    if (status != CORRAL_OK) return status;
    store_remembered(s, block, t);
    const corral_policy_input in = {.rows = s->env_count,
                                    .observation = s->observation,
                                    .noise = s->noise,
                                    .mask = s->mask,
                                    .memory = s->remembered};
    const corral_policy_output out = {.memory = s->remembered,
                                      .action = s->action,
                                      .env_action = s->env_action,
                                      .log_prob = s->log_prob,
                                      .logits = s->logits,
                                      .value = s->value};
    status = corral_policy_act_on(policy, &in, &out);
    if (status != CORRAL_OK) return status;
    store_observations(s, block, t);

    corral_env_rows final[SPACES_LEAVES_MAX];
    environment_observation_rows(&s->setup->spaces,
                                 column(block, s->layout.ended + *ended_count * s->layout.ended_stride) +
                                     sizeof(corral_fragment_ended),
                                 s->layout.ended_stride, final);
    corral_env_batch_step step = {
        .observation = s->observation_rows,
        .final_observation = final,
        .reward = s->reward,
        .terminated = s->terminated,
        .truncated = s->truncated,
        .ended = s->ended,
        .ended_row = s->ended_row,
        .ended_info = s->ended_info,
        .failed = s->failed,
    };
    status = corral_env_batch_step_all(s->batch, s->action_rows, &step);
    if (status != CORRAL_OK) return status;
    store_step(s, block, t);
    store_ended(s, block, t, *ended_count, step.ended_count);
    *ended_count += step.ended_count;
    if (s->layout.spec.memory_bytes > 0) {
        status = value_of_cut(s, policy, block, *ended_count - step.ended_count, *ended_count);
        if (status != CORRAL_OK) return status;
        forget_ended(s);
    }
    if (step.failed_count > 0) strike_failed(s, block, t);
    if (step.failed_count > 0 && *failed_count == 0) store_failure(s, block);
    *failed_count += step.failed_count;
    return CORRAL_OK;
}

corral_status rollout_slice_collect(rollout_slice *s, corral_policy *policy, uint32_t worker,
                                    corral_beacon *beacon, void *block, size_t capacity, size_t *out_length)
{
    CORRAL_ASSERT(s->started);
    const uint32_t steps = s->layout.spec.steps;
    if (capacity < s->layout.capacity)
        return corral_fail(CORRAL_ERROR_FULL, "a block of %zu bytes is too small for a fragment of %zu",
                           capacity, s->layout.capacity);
    corral_policy_set_exploration(policy, s->exploration);
    corral_policy_draw_noise(policy, corral_stream_key(s->config->run_seed, CORRAL_STREAM_WEIGHT_NOISE,
                                                       corral_policy_version(policy)));
    memset(s->episode_start, 0, s->env_count * sizeof *s->episode_start);
    uint32_t ended_count = 0, failed_count = 0;
    for (uint32_t t = 0; t < steps; t++) {
        if (beacon != NULL) atomic_store_explicit(&beacon->word[2], s->next_step + t, memory_order_relaxed);
        corral_status status = play_step(s, policy, block, t, &ended_count, &failed_count);
        if (status != CORRAL_OK) return status;
    }
    store_observations(s, block, steps);
    const corral_policy_input in = {
        .rows = s->env_count, .observation = s->observation, .memory = s->remembered};
    corral_status status = store_masks(s, block, steps);
    if (status == CORRAL_OK)
        status = corral_policy_act_on(policy, &in, &(corral_policy_output){.value = s->value});
    if (status == CORRAL_OK && s->layout.spec.memory_bytes == 0)
        status = value_of_cut(s, policy, block, 0, ended_count);
    if (status != CORRAL_OK) return status;
    float *value = (void *)column(block, s->layout.value);
    for (size_t i = 0; i < s->env_count; i++) {
        value[i * (steps + 1) + steps] = s->value[i];
        const size_t memory = s->layout.spec.memory_bytes;
        char *state = column(block, s->layout.state + i * s->layout.spec.state_bytes);
        corral_env_batch_save(s->batch, (uint32_t)i, state);
        memcpy(state + s->layout.spec.state_bytes - memory, (const char *)s->remembered + i * memory, memory);
    }
    write_header(s, policy, worker, block, ended_count, failed_count, out_length);
    s->next_step += steps;
    return CORRAL_OK;
}
