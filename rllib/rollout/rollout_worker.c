// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The rollout worker: an actor that keeps a policy and one slice of environments per range that it was asked
/// for.
#include "rollout.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES_MAX = 16 };

typedef struct rollout_worker {
    corral_actor_context context;
    rollout_config config;
    environment_setup setup;
    corral_policy *policy;
    struct {
        uint32_t begin, count;
        rollout_slice *slice;
    } held[SLICES_MAX];
    uint32_t held_count;
} rollout_worker;

static void worker_destroy(void *actor)
{
    rollout_worker *worker = actor;
    if (worker == NULL) return;
    for (uint32_t i = 0; i < worker->held_count; i++)
        rollout_slice_destroy(worker->held[i].slice);
    corral_policy_destroy(worker->policy);
    free(worker);
}

static corral_status worker_create(const corral_actor_context *context, const void *config, size_t size,
                                   void **out_actor)
{
    rollout_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a rollout worker");
    worker->context = *context;
    corral_status status = CORRAL_OK;
    if (size == sizeof worker->config) memcpy(&worker->config, config, size);
    if (worker->config.magic != ROLLOUT_CONFIG_MAGIC || worker->config.size != sizeof worker->config)
        status = corral_fail(
            CORRAL_ERROR_VERSION,
            "the driver and this worker are of different builds; install the same one on all hosts");
    if (status == CORRAL_OK)
        status = environment_setup_init(&worker->setup, worker->config.env, &worker->config.env_params);
    if (status == CORRAL_OK)
        status = corral_policy_create(&worker->config.policy, worker->config.run_seed, &worker->policy);
    if (status != CORRAL_OK) {
        worker_destroy(worker);
        return status;
    }
    snprintf(context->beacon->text, sizeof context->beacon->text,
             "stepping environments %%0 to %%1 of %s, run seed %llu, step %%2", worker->setup.type->id,
             (unsigned long long)worker->config.run_seed);
    *out_actor = worker;
    return CORRAL_OK;
}

static corral_status worker_set_weights(void *actor, uint64_t version, const void *bytes, size_t size)
{
    rollout_worker *worker = actor;
    corral_status status = corral_policy_unpack(worker->policy, bytes, size);
    if (status == CORRAL_OK && corral_policy_version(worker->policy) != version)
        status = corral_fail(CORRAL_ERROR_CORRUPT, "weights announced as version %llu are of version %llu",
                             (unsigned long long)version,
                             (unsigned long long)corral_policy_version(worker->policy));
    return status;
}

/// The slice for this range, made on first use; the one that was not used for longest makes room.
static corral_status find_slice(rollout_worker *worker, uint32_t begin, uint32_t count,
                                rollout_slice **out_slice)
{
    for (uint32_t i = 0; i < worker->held_count; i++) {
        if (worker->held[i].begin == begin && worker->held[i].count == count) {
            *out_slice = worker->held[i].slice;
            return CORRAL_OK;
        }
    }
    if (worker->held_count == SLICES_MAX) {
        rollout_slice_destroy(worker->held[0].slice);
        memmove(&worker->held[0], &worker->held[1], (SLICES_MAX - 1) * sizeof worker->held[0]);
        worker->held_count--;
    }
    rollout_slice *slice;
    corral_status status = rollout_slice_create(&worker->config, &worker->setup, begin, count, &slice);
    if (status != CORRAL_OK) return status;
    worker->held[worker->held_count].begin = begin;
    worker->held[worker->held_count].count = count;
    worker->held[worker->held_count++].slice = slice;
    *out_slice = slice;
    return CORRAL_OK;
}

static corral_status worker_fill(void *actor, const void *bytes, size_t size, void *block, size_t capacity,
                                 size_t *out_length)
{
    rollout_worker *worker = actor;
    rollout_request request = {0};
    if (size >= sizeof request) memcpy(&request, bytes, sizeof request);
    if (request.magic != ROLLOUT_REQUEST_MAGIC || size != sizeof request + request.state_bytes ||
        request.env_count == 0 || request.env_count > 65536)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a lease of %zu bytes is not a rollout request", size);
    // Newer weights than asked for are fine: the fragment says which acted, and the learner decides.
    if (request.policy_version > corral_policy_version(worker->policy))
        return corral_fail(CORRAL_ERROR_STALE,
                           "asked for a rollout of policy version %llu, have version %llu",
                           (unsigned long long)request.policy_version,
                           (unsigned long long)corral_policy_version(worker->policy));
    rollout_slice *slice;
    corral_status status = find_slice(worker, request.env_begin, request.env_count, &slice);
    if (status == CORRAL_OK)
        status = rollout_slice_seek(slice, &request, (const char *)bytes + sizeof request);
    if (status != CORRAL_OK) return status;
    corral_beacon *beacon = worker->context.beacon;
    atomic_store_explicit(&beacon->word[0], request.env_begin, memory_order_relaxed);
    atomic_store_explicit(&beacon->word[1], request.env_begin + request.env_count - 1, memory_order_relaxed);
    return rollout_slice_collect(slice, worker->policy, worker->context.index, beacon, block, capacity,
                                 out_length);
}

const corral_actor_class rollout_worker_class = {
    .name = "rollout",
    .create = worker_create,
    .set_weights = worker_set_weights,
    .fill = worker_fill,
    .destroy = worker_destroy,
};
