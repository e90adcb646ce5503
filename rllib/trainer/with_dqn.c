// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run of DQN: its rounds go through the replay, which a checkpoint holds where the configuration says so.
#include "trainer.h"

#include "corral/base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char replay_file[] = "replay.safetensors";

static corral_status create(corral_trainer *trainer)
{
    const corral_train_config *config = &trainer->config;
    corral_status status = dqn_create(&config->dqn, (uint64_t)config->seed, (uint32_t)config->envs,
                                      trainer->rollout.steps, trainer->policy, trainer->team, &trainer->dqn);
    if (status == CORRAL_OK && trainer->device != NULL)
        status = dqn_place(trainer->dqn, trainer->device, (corral_precision)config->precision);
    if (status != CORRAL_OK || trainer->folder == NULL) return status;
    char line[128];
    snprintf(line, sizeof line, "the replay of %zu rows takes %.1f MB",
             replay_capacity(dqn_replay(trainer->dqn)), (double)replay_size(dqn_replay(trainer->dqn)) * 1e-6);
    corral_run_folder_log(trainer->folder, line);
    return CORRAL_OK;
}

static void destroy(corral_trainer *trainer)
{
    dqn_destroy(trainer->dqn);
}

static corral_optimizer *optimizer(const corral_trainer *trainer)
{
    return dqn_optimizer(trainer->dqn);
}

static corral_policy *target(const corral_trainer *trainer)
{
    return dqn_target(trainer->dqn);
}

// --- an iteration -----------------------------------------------------------------------------------------

static double exploration(const corral_trainer *trainer)
{
    return dqn_epsilon(&trainer->config.dqn, trainer->progress);
}

static void take(corral_trainer *trainer, const corral_fragment *fragments, uint32_t count)
{
    dqn_insert(trainer->dqn, fragments, count);
}

static corral_status learn(corral_trainer *trainer)
{
    const train_state *state = &trainer->state;
    const dqn_moment now = {.progress = trainer->progress,
                            .first_draw = state->updates + state->bad_updates,
                            .env_steps_before = state->env_steps - trainer->batch.rows,
                            .env_steps = state->env_steps};
    const corral_status status = dqn_update(trainer->dqn, &now, &trainer->q_update);
    trainer->minibatches = trainer->q_update.minibatches;
    trainer->skipped = trainer->q_update.skipped;
    return status;
}

static void report(const corral_trainer *trainer, corral_train_report *out)
{
    const dqn_result *update = &trainer->q_update;
    out->loss = update->loss;
    out->q_mean = update->q;
    out->td_error = update->error;
    out->grad_norm = update->grad_norm;
    out->learning_rate = update->learning_rate;
    out->epsilon = exploration(trainer);
    out->replay_rows = replay_count(dqn_replay(trainer->dqn));
}

// --- checkpoints ------------------------------------------------------------------------------------------

static corral_status write_replay(corral_trainer *trainer, const corral_checkpoint_writer *writer)
{
    if (!trainer->config.checkpoint.replay) return CORRAL_OK;
    char *path = corral_checkpoint_file(writer, replay_file);
    const corral_status status = path != NULL ? replay_write(dqn_replay(trainer->dqn), path)
                                              : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(path);
    return status;
}

/// A checkpoint without its replay can be gone on from, too: the replay is filled anew, and no update is made
/// before dqn.learning_starts.
static corral_status read_replay(corral_trainer *trainer, const char *checkpoint)
{
    char *path = corral_format("%s/%s", checkpoint, replay_file);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    corral_status status = CORRAL_OK;
    if (access(path, F_OK) != 0)
        trainer_tell(trainer,
                     "the replay was not saved with the checkpoint and is filled anew before learning "
                     "goes on (checkpoint.replay saves it)");
    else
        status = replay_read(dqn_replay(trainer->dqn), path);
    free(path);
    return status;
}

const trainer_algorithm trainer_with_dqn = {
    .policy = CORRAL_POLICY_Q,
    .create = create,
    .destroy = destroy,
    .exploration = exploration,
    .take = take,
    .learn = learn,
    .optimizer = optimizer,
    .target = target,
    .report = report,
    .write = write_replay,
    .read = read_replay,
};
