// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The folder of a run: config.yaml, run.json, progress.csv, metrics.jsonl, TensorBoard events, episodes.csv,
/// log.txt, checkpoints/. A resumed run appends: curves go on where they stopped.
#ifndef CORRAL_RLLIB_RUN_FOLDER_H
#define CORRAL_RLLIB_RUN_FOLDER_H

#include "corral/rllib/callbacks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_run_folder corral_run_folder;

/// Creates runs/<env>-<algorithm>-<n>, n the first free number, slashes in names escaped. The caller frees
/// `*out_path`.
CORRAL_MUST_USE corral_status corral_run_folder_number(const corral_train_config *config, char **out_path);

/// Creates `path` (NULL: one by corral_run_folder_number()) and writes config.yaml. With `resume` the folder
/// is there already: rows of steps after `resume_step` are dropped from its curves. An existing run without
/// `resume` is CORRAL_ERROR_EXISTS, one that another process writes is CORRAL_ERROR_REFUSED, one with
/// checkpoints later than `resume_step` CORRAL_ERROR_INVALID; an unwritable place names the folder.
/// `info` (may be NULL) names what the environments say of themselves: columns of progress.csv and
/// episodes.csv.
CORRAL_MUST_USE corral_status corral_run_folder_open(const char *path, const corral_train_config *config,
                                                     const corral_env_info *info, bool resume,
                                                     uint64_t resume_step, corral_run_folder **out_folder);
const char *corral_run_folder_path(const corral_run_folder *folder);
/// <path>/checkpoints/<step>; the caller frees it.
char *corral_run_folder_checkpoint_path(const corral_run_folder *folder, uint64_t step);

/// One row per iteration: progress.csv (its columns are fixed from the start), metrics.jsonl (absent values
/// are left out, never NaN), TensorBoard scalars. Names as Stable-Baselines3 prints them:
/// rollout/ep_rew_mean, time/fps, train/approx_kl, eval/mean_reward. Buffered; flushed at least once per
/// second and when evaluated.
CORRAL_MUST_USE corral_status corral_run_folder_report(corral_run_folder *folder,
                                                       const corral_train_report *report);

/// Everything into the files. What a full disk kept back is an error here.
CORRAL_MUST_USE corral_status corral_run_folder_flush(corral_run_folder *folder);

/// One row of episodes.csv.
CORRAL_MUST_USE corral_status corral_run_folder_episode(corral_run_folder *folder,
                                                        const corral_train_episode *episode);

/// One line in log.txt, with the time.
void corral_run_folder_log(corral_run_folder *folder, const char *line);

/// run.json, atomically: host facts and the keys that `summary` holds (env_steps, seconds, stop_reason,
/// workers_started, workers_lost, fragments_trained, fragments_dropped{...}, fragments_remote, ...). Also
/// while running (stop_reason "running"): corral_run_folder_report() writes it now and then.
CORRAL_MUST_USE corral_status corral_run_folder_summary(corral_run_folder *folder,
                                                        const corral_train_summary *summary);

/// Flushes and closes. NULL is fine.
void corral_run_folder_close(corral_run_folder *folder);
/// Closes and removes a folder that this call of open created (a start that failed leaves nothing).
void corral_run_folder_discard(corral_run_folder *folder);

#ifdef __cplusplus
}
#endif
#endif
