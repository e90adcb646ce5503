// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Checkpoints of a run: checkpoints/<step>/{policy.safetensors, optimizer.safetensors, state.json,
/// manifest.json}, target.safetensors where the algorithm has a second network, and its other files.
#include "trainer.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/safetensors.h"
#include "corral/proto/checkpoint.h"

#include <stdlib.h>
#include <string.h>

// --- a moment ---------------------------------------------------------------------------------------------

static corral_policy *target_of(const corral_trainer *trainer)
{
    return trainer->algorithm->target != NULL ? trainer->algorithm->target(trainer) : NULL;
}

static corral_status reserve(snapshot *s, corral_trainer *trainer, size_t states, size_t observations)
{
    if (s->policy != NULL) return CORRAL_OK;
    const size_t moments = corral_params_count(corral_policy_params(trainer->policy)) * sizeof(float);
    const corral_policy *target = target_of(trainer);
    s->policy = malloc(corral_policy_bytes(trainer->policy));
    if (target != NULL) s->target = malloc(corral_policy_bytes(target));
    s->moments[0] = malloc(moments);
    s->moments[1] = malloc(moments);
    s->states = malloc(states + 1);
    s->observations = malloc(observations + 1);
    const size_t returns = trainer->returns != NULL ? (size_t)trainer->config.envs : 0;
    if (returns > 0) s->returns = calloc(returns, sizeof *s->returns);
    if (s->policy == NULL || (target != NULL && s->target == NULL) || s->moments[0] == NULL ||
        s->moments[1] == NULL || s->states == NULL || s->observations == NULL ||
        (returns > 0 && s->returns == NULL))
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to keep the best policy");
    return CORRAL_OK;
}

corral_status snapshot_take(snapshot *s, corral_trainer *trainer)
{
    size_t state_bytes, observation_bytes;
    const void *states = sampler_states(trainer->sampler, &state_bytes, &observation_bytes);
    const size_t envs = (size_t)trainer->config.envs;
    corral_status status = reserve(s, trainer, envs * state_bytes, envs * observation_bytes);
    if (status != CORRAL_OK) return status;
    s->state = trainer->state;
    corral_policy_pack(trainer->policy, s->policy);
    if (s->target != NULL) corral_policy_pack(target_of(trainer), s->target);
    corral_optimizer *optimizer = trainer->algorithm->optimizer(trainer);
    const size_t moments = corral_params_count(corral_policy_params(trainer->policy)) * sizeof(float);
    s->optimizer_steps = corral_optimizer_steps(optimizer);
    for (uint32_t i = 0; i < 2; i++)
        memcpy(s->moments[i], corral_optimizer_state(optimizer, i, NULL), moments);
    if (s->returns != NULL) memcpy(s->returns, trainer->returns, envs * sizeof *s->returns);
    s->have_states = states != NULL;
    if (s->have_states) {
        memcpy(s->states, states, envs * state_bytes);
        memcpy(s->observations, sampler_observations(trainer->sampler), envs * observation_bytes);
    }
    s->filled = true;
    return CORRAL_OK;
}

void snapshot_finish(snapshot *s)
{
    free(s->policy);
    free(s->target);
    free(s->moments[0]);
    free(s->moments[1]);
    free(s->states);
    free(s->observations);
    free(s->returns);
    *s = (snapshot){0};
}

// --- writing ----------------------------------------------------------------------------------------------

static corral_status write_optimizer(const char *path, corral_trainer *trainer, const snapshot *s)
{
    corral_params *params = corral_policy_params(trainer->policy);
    const uint32_t entries = corral_params_entry_count(params);
    corral_stored_tensor *tensors = calloc((size_t)2 * entries, sizeof *tensors);
    char **names = calloc((size_t)2 * entries, sizeof *names);
    char *steps = corral_format("%llu", (unsigned long long)s->optimizer_steps);
    corral_status status = CORRAL_OK;
    if (tensors == NULL || names == NULL || steps == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write the optimizer", path);
    for (uint32_t i = 0; status == CORRAL_OK && i < 2 * entries; i++) {
        const corral_param *entry = corral_params_entry(params, i % entries);
        const char *moment;
        corral_optimizer_state(trainer->algorithm->optimizer(trainer), i / entries, &moment);
        names[i] = corral_format("%s.%s", entry->name, moment);
        if (names[i] == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write the optimizer", path);
        tensors[i] = (corral_stored_tensor){.name = names[i], .type = CORRAL_STORED_F32};
        tensors[i].dimension_count = entry->dimension_count;
        for (uint32_t d = 0; d < entry->dimension_count; d++)
            tensors[i].shape[d] = entry->shape[d];
        tensors[i].data = s->moments[i / entries] + entry->offset;
        tensors[i].size = entry->count * sizeof(float);
    }
    if (status == CORRAL_OK) {
        const char *const metadata[] = {"format", "corral.optimizer.1", "steps", steps, NULL};
        status = corral_safetensors_write(path, tensors, (size_t)2 * entries, metadata);
    }
    for (uint32_t i = 0; names != NULL && i < 2 * entries; i++)
        free(names[i]);
    free(names);
    free(tensors);
    free(steps);
    return status;
}

static corral_status write_network(const char *path, corral_trainer *trainer, const void *packed)
{
    corral_policy *policy;
    corral_status status = corral_policy_clone(trainer->policy, &policy);
    if (status != CORRAL_OK) return status;
    status = corral_policy_unpack(policy, packed, corral_policy_bytes(trainer->policy));
    if (status == CORRAL_OK) status = corral_policy_write(policy, path);
    corral_policy_destroy(policy);
    return status;
}

static corral_status write_policy(const char *path, corral_trainer *trainer, const snapshot *s)
{
    return write_network(path, trainer, s->policy);
}

static corral_status write_target(const char *path, corral_trainer *trainer, const snapshot *s)
{
    return write_network(path, trainer, s->target);
}

static corral_status write_state(const char *path, corral_trainer *trainer, const snapshot *s)
{
    size_t state_bytes, observation_bytes;
    sampler_states(trainer->sampler, &state_bytes, &observation_bytes);
    const size_t envs = (size_t)trainer->config.envs;
    const train_state_environments environments = {
        .states = s->states,
        .observations = s->observations,
        .state_size = envs * state_bytes,
        .observation_size = envs * observation_bytes,
        .returns = s->returns,
        .return_count = s->returns != NULL ? envs : 0,
        .exact = sampler_exact(trainer->sampler),
    };
    return train_state_write(path, &s->state, &trainer->config, trainer->setup.type->id,
                             s->have_states ? &environments : NULL);
}

enum { FILES = 3 }; // that each checkpoint has

static const char *const file_names[FILES] = {"policy.safetensors", "optimizer.safetensors", "state.json"};
static const char target_name[] = "target.safetensors";

typedef corral_status file_writer(const char *path, corral_trainer *trainer, const snapshot *s);

static corral_status write_file(corral_trainer *trainer, const snapshot *s,
                                const corral_checkpoint_writer *writer, const char *name, file_writer *write)
{
    char *path = corral_checkpoint_file(writer, name);
    const corral_status status =
        path != NULL ? write(path, trainer, s) : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(path);
    return status;
}

/// `now`: the snapshot is of this moment, and what it does not hold can be written from the run itself.
static corral_status write_checkpoint(corral_trainer *trainer, const snapshot *s, bool now)
{
    static file_writer *const writers[FILES] = {write_policy, write_optimizer, write_state};
    char *path = corral_run_folder_checkpoint_path(trainer->folder, s->state.env_steps);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    corral_checkpoint_writer *writer = NULL;
    corral_status status = corral_checkpoint_begin(path, &writer);
    for (int i = 0; i < FILES && status == CORRAL_OK; i++)
        status = write_file(trainer, s, writer, file_names[i], writers[i]);
    if (status == CORRAL_OK && s->target != NULL)
        status = write_file(trainer, s, writer, target_name, write_target);
    if (status == CORRAL_OK && now && trainer->algorithm->write != NULL)
        status = trainer->algorithm->write(trainer, writer);
    if (status == CORRAL_OK)
        status = corral_checkpoint_commit(writer);
    else
        corral_checkpoint_abandon(writer);
    const corral_train_callbacks *callbacks = &trainer->callbacks;
    if (status == CORRAL_OK && callbacks->on_checkpoint != NULL)
        callbacks->on_checkpoint(callbacks->context, trainer, path);
    free(path);
    return status;
}

static corral_status prune(corral_trainer *trainer)
{
    return corral_checkpoint_prune(corral_run_folder_path(trainer->folder),
                                   (uint32_t)trainer->config.checkpoint.keep, NULL);
}

corral_status trainer_save(corral_trainer *trainer)
{
    if (trainer->folder == NULL || (trainer->saved && trainer->saved_step == trainer->state.env_steps))
        return CORRAL_OK;
    corral_status status = trainer_evaluation_wait(trainer);
    // Whoever goes on from here does not play that again, and so could not keep its policy.
    if (status == CORRAL_OK && trainer->state.pending_iteration > 0) status = trainer_save_best(trainer);
    snapshot now = {0};
    if (status == CORRAL_OK) status = snapshot_take(&now, trainer);
    if (status == CORRAL_OK) status = write_checkpoint(trainer, &now, true);
    snapshot_finish(&now);
    if (status != CORRAL_OK) return status;
    trainer->saved = true;
    trainer->saved_step = trainer->state.env_steps;
    return prune(trainer);
}

corral_status trainer_save_best(corral_trainer *trainer)
{
    if (trainer->folder == NULL || !trainer->best.filled) return CORRAL_OK;
    const uint64_t step = trainer->best.state.env_steps;
    corral_status status = CORRAL_OK;
    if (!trainer->saved || trainer->saved_step != step)
        status = write_checkpoint(trainer, &trainer->best, false);
    if (status == CORRAL_OK)
        status = corral_checkpoint_set_best(corral_run_folder_path(trainer->folder), step);
    trainer->best.filled = false;
    trainer->last_best_ns = corral_now_ns();
    return status == CORRAL_OK ? prune(trainer) : status;
}

// --- reading ----------------------------------------------------------------------------------------------

static corral_status read_optimizer(corral_trainer *trainer, const char *path)
{
    corral_safetensors *file;
    corral_status status = corral_safetensors_read(path, &file);
    if (status != CORRAL_OK) return status;
    corral_params *params = corral_policy_params(trainer->policy);
    corral_optimizer *optimizer = trainer->algorithm->optimizer(trainer);
    const uint32_t entries = corral_params_entry_count(params);
    for (uint32_t i = 0; i < 2 * entries && status == CORRAL_OK; i++) {
        const corral_param *entry = corral_params_entry(params, i % entries);
        const char *moment;
        float *block = corral_optimizer_state(optimizer, i / entries, &moment);
        char *name = corral_format("%s.%s", entry->name, moment);
        const corral_stored_tensor *tensor = name != NULL ? corral_safetensors_find(file, name) : NULL;
        if (tensor == NULL || tensor->type != CORRAL_STORED_F32 ||
            tensor->size != entry->count * sizeof(float))
            status = corral_fail(CORRAL_ERROR_CORRUPT, "%s: \"%s\" is missing or not of this network", path,
                                 name != NULL ? name : entry->name);
        else
            memcpy(block + entry->offset, tensor->data, tensor->size);
        free(name);
    }
    const char *steps = corral_safetensors_metadata(file, "steps");
    if (status == CORRAL_OK && steps == NULL)
        status = corral_fail(CORRAL_ERROR_CORRUPT, "%s: no count of steps", path);
    if (status == CORRAL_OK) corral_optimizer_set_steps(optimizer, strtoull(steps, NULL, 10));
    corral_safetensors_destroy(file);
    return status;
}

static corral_status read_network(corral_policy *policy, const char *path)
{
    corral_policy *saved;
    corral_status status = corral_policy_read(path, &saved);
    if (status != CORRAL_OK) return status;
    uint32_t taken, left;
    corral_policy_take(policy, saved, &taken, &left);
    if (left > 0 || corral_policy_bytes(saved) != corral_policy_bytes(policy))
        status = corral_fail(CORRAL_ERROR_INVALID,
                             "%s: its network is not the configured one; resume with the network it has, or "
                             "start anew with --init-from",
                             path);
    corral_policy_destroy(saved);
    return status;
}

static corral_status read_policy(corral_trainer *trainer, const char *path)
{
    return read_network(trainer->policy, path);
}

static corral_status read_target(corral_trainer *trainer, const char *path)
{
    return read_network(target_of(trainer), path);
}

static corral_status read_state(corral_trainer *trainer, const char *path)
{
    train_state_environments environments;
    corral_status status = train_state_read(path, &trainer->state, &environments);
    if (status != CORRAL_OK) return status;
    if (environments.states != NULL)
        status = sampler_restore(trainer->sampler, environments.states, environments.observations,
                                 environments.state_size, environments.observation_size);
    // A run that begins to normalise rewards only now starts from nothing.
    if (status == CORRAL_OK && trainer->returns != NULL &&
        environments.return_count == (size_t)trainer->config.envs)
        memcpy(trainer->returns, environments.returns, environments.return_count * sizeof *trainer->returns);
    train_state_environments_finish(&environments);
    corral_policy_set_version(trainer->policy, trainer->state.policy_version);
    return status;
}

typedef corral_status file_reader(corral_trainer *trainer, const char *path);

static corral_status read_file(corral_trainer *trainer, const char *checkpoint, const char *name,
                               file_reader *read)
{
    char *path = corral_format("%s/%s", checkpoint, name);
    const corral_status status =
        path != NULL ? read(trainer, path) : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(path);
    return status;
}

corral_status trainer_restore(corral_trainer *trainer, const char *checkpoint)
{
    static file_reader *const readers[FILES] = {read_policy, read_optimizer, read_state};
    corral_status status = corral_checkpoint_verify(checkpoint);
    for (int i = 0; i < FILES && status == CORRAL_OK; i++)
        status = read_file(trainer, checkpoint, file_names[i], readers[i]);
    if (status == CORRAL_OK && target_of(trainer) != NULL)
        status = read_file(trainer, checkpoint, target_name, read_target);
    if (status == CORRAL_OK && trainer->algorithm->read != NULL)
        status = trainer->algorithm->read(trainer, checkpoint);
    trainer->session_first_step = trainer->state.env_steps;
    return status;
}
