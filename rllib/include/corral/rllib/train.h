// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A training run as a C program sees it:
///
///     corral_train_config config = corral_train_config_default();
///     corral_trainer *trainer;
///     status = corral_trainer_create(&config, &options, &trainer);
///     while (status == CORRAL_OK && !corral_trainer_done(trainer)) status = corral_trainer_step(trainer,
///     &report); status = corral_trainer_finish(trainer, &summary); corral_trainer_destroy(trainer);
#ifndef CORRAL_RLLIB_TRAIN_H
#define CORRAL_RLLIB_TRAIN_H

#include "corral/env.h"
#include "corral/policy/policy.h"
#include "corral/rllib/config.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_trainer corral_trainer;

typedef struct corral_train_options {
    const char *out;    // run folder; NULL: runs/<env>-<algorithm>-<n>
    const char *resume; // a run folder or checkpoint to go on from (in the same folder, unless `out` differs)
    const char *init_from;                          // a checkpoint whose weights are the start
    const char *cluster;                            // "HOST:PORT" of a head, or NULL
    bool no_files;                                  // write nothing (benchmarks)
    const struct corral_train_callbacks *callbacks; // callbacks.h; copied; NULL: none
} corral_train_options;

/// Why fragments were not trained on.
typedef enum corral_drop_reason {
    CORRAL_DROP_STALE,       // of an older policy version
    CORRAL_DROP_LATE,        // its slots had been collected by another worker already
    CORRAL_DROP_WORKER_LOST, // leased to a worker that was lost
    CORRAL_DROP_NOT_FINITE,
    CORRAL_DROP_CORRUPT,
    CORRAL_DROP_REASONS,
} corral_drop_reason;
const char *corral_drop_reason_name(corral_drop_reason reason); // "worker_lost"

typedef enum corral_stop_reason {
    CORRAL_STOP_RUNNING,
    CORRAL_STOP_RETURN,
    CORRAL_STOP_STEPS,
    CORRAL_STOP_SECONDS,
    CORRAL_STOP_INTERRUPTED,
    CORRAL_STOP_FAILED,
} corral_stop_reason;
const char *corral_stop_reason_name(corral_stop_reason reason); // "return", "steps", ...

/// The state of a run after an iteration. Means over nothing are absent: their count is 0.
typedef struct corral_train_report {
    int32_t algorithm; // corral_algorithm: what it does not have is 0
    uint64_t iteration, env_steps, step_budget, policy_version,
        updates;    // updates: minibatches, skipped ones excluded
    double seconds; // since the run's start, earlier sessions included
    double session_seconds;
    uint64_t session_steps;
    double sample_seconds, learn_seconds, evaluate_seconds, other_seconds; // of this session, where time went
    // the last 100 finished training episodes
    uint32_t episodes;
    double return_mean, return_min, return_max, length_mean;
    uint64_t episodes_total, failures_total; // environments' failures
    // what the environments said of themselves (CORRAL_ENV_INFO), mean over this iteration's episodes; NAN:
    // none ended, or none said a number
    uint32_t info_count;
    const char *const *info_name;
    double info[CORRAL_ENV_INFO_MOST];
    // evaluation
    bool evaluated; // this iteration ended with one
    uint32_t evaluations;
    double eval_mean, eval_std, eval_length, best_mean;
    uint64_t eval_step, best_step;
    // the update
    double policy_loss, value_loss, entropy, approx_kl, clip_fraction, explained_variance, grad_norm, loss;
    bool explained_variance_known;
    double learning_rate, clip_range, entropy_coefficient;
    bool kl_penalised; // the next three are known
    double kl, kl_coefficient;
    uint64_t infinite_kl; // rows that were left out of the penalty, in all
    uint64_t epochs_done;
    double q_mean, td_error; // of the actions in the replay: their worths, and how far off those were
    double epsilon;          // share of exploring actions
    uint64_t replay_rows;
    uint64_t bad_updates; // skipped as not finite, in all
    // the runtime
    uint32_t workers_alive, workers;
    uint64_t workers_started, workers_lost, fragments_trained, fragments_remote;
    uint64_t fragments_dropped[CORRAL_DROP_REASONS];
    uint64_t policy_lag; // versions between the oldest policy whose rows were trained on and the newest
    const char *message; // a line worth showing ("worker 1 lost: ..."), or NULL; until the next step
} corral_train_report;

typedef struct corral_train_summary {
    corral_stop_reason stop_reason;
    corral_train_report last;
    const char *run_folder;       // valid until destroy; "" without files
    const char *final_checkpoint; // valid until destroy; "" without files
    bool deterministic;           // the determinism contract held
    const char *note;             // why not, or ""
} corral_train_summary;

/// Checks, starts the cluster and the workers, creates the run folder. On failure nothing is left running and
/// no run folder is left behind. `options` may be NULL.
CORRAL_MUST_USE corral_status corral_trainer_create(const corral_train_config *config,
                                                    const corral_train_options *options,
                                                    corral_trainer **out_trainer);
/// One iteration: collect, learn, publish, evaluate and save when due. A failure (agent lost, disk full, not
/// finite) ends the run; call finish all the same.
CORRAL_MUST_USE corral_status corral_trainer_step(corral_trainer *trainer, corral_train_report *out_report);
bool corral_trainer_done(const corral_trainer *trainer);
/// Ends at the next iteration's end. [any thread; safe in a signal handler]
void corral_trainer_interrupt(corral_trainer *trainer);
/// Writes the last checkpoint and run.json, stops the workers. Once.
CORRAL_MUST_USE corral_status corral_trainer_finish(corral_trainer *trainer,
                                                    corral_train_summary *out_summary);
void corral_trainer_destroy(corral_trainer *trainer);

/// The effective configuration, the policy as it is now (until the next step), the run folder.
const corral_train_config *corral_trainer_config(const corral_trainer *trainer);
const corral_policy *corral_trainer_policy(const corral_trainer *trainer);
const char *corral_trainer_folder(const corral_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
