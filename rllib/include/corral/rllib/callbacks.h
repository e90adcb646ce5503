// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a program is told while it trains:
///
///     static void on_iteration(void *context, corral_trainer *trainer, const corral_train_report *report)
///     ... const corral_train_callbacks callbacks = {.context = &plot, .on_iteration = on_iteration};
///     corral_trainer_create(&config, &(corral_train_options){.callbacks = &callbacks}, &trainer);
///
/// Each is called on the thread that called corral_trainer_create(), _step() or _finish(), in the middle of
/// that call: never two at once, and the run waits for it. Inside one, corral_trainer_interrupt(), _config(),
/// _folder() and _policy() may be called, and nothing else of the trainer. Pointers are good until it
/// returns. None changes a result, so a run with callbacks equals one without. A NULL is not called.
#ifndef CORRAL_RLLIB_CALLBACKS_H
#define CORRAL_RLLIB_CALLBACKS_H

#include "corral/rllib/evaluate.h"
#include "corral/rllib/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A finished training episode.
typedef struct corral_train_episode {
    uint64_t env_steps;   // of the run, at the end of the iteration it ended in
    uint32_t environment; // in the whole run
    uint64_t number;      // of that environment's episodes, from 0
    double episode_return;
    uint32_t length;
    bool terminated, truncated;
    const double *info; // what its environment said of itself at the end (CORRAL_ENV_INFO); NAN: nothing
} corral_train_episode;

typedef struct corral_train_callbacks {
    void *context; // handed to each

    /// Everything stands: the last thing that corral_trainer_create() does. `checkpoint` is where the run
    /// goes on from, or NULL.
    void (*on_start)(void *context, corral_trainer *trainer, const char *checkpoint);
    /// Of an iteration, once all were collected and before anything is learned from them: by step, then by
    /// environment, whichever worker played it.
    void (*on_episode_end)(void *context, corral_trainer *trainer, const corral_train_episode *episode);
    void (*on_evaluate_start)(void *context, corral_trainer *trainer);
    void (*on_evaluate_end)(void *context, corral_trainer *trainer, const corral_evaluation_result *result);
    /// A checkpoint is complete in this folder.
    void (*on_checkpoint)(void *context, corral_trainer *trainer, const char *path);
    /// While rollouts are collected. `for_good`: it has been restarted too often and stays down.
    void (*on_worker_lost)(void *context, corral_trainer *trainer, uint32_t worker, const char *reason,
                           bool for_good);
    /// A worker that was lost is ready again.
    void (*on_worker_restarted)(void *context, corral_trainer *trainer, uint32_t worker);
    /// The last thing that corral_trainer_step() does, also when the iteration failed.
    void (*on_iteration)(void *context, corral_trainer *trainer, const corral_train_report *report);
    /// The last thing that corral_trainer_finish() does.
    void (*on_stop)(void *context, corral_trainer *trainer, const corral_train_summary *summary);
} corral_train_callbacks;

#ifdef __cplusplus
}
#endif
#endif
