// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the files of the trainer share. create.c starts and ends a run, iterate.c is its loop with learn.c as
/// the learner's part, evaluation.c plays what counts, report.c says how it goes, save.c keeps it. What one
/// algorithm does differently from another is in a table of functions, filled in with_ppo.c and with_dqn.c.
#ifndef CORRAL_RLLIB_TRAINER_H
#define CORRAL_RLLIB_TRAINER_H

#include "../dqn/dqn.h"
#include "../environment.h"
#include "../learner/batch.h"
#include "../live/live.h"
#include "../ppo/ppo.h"
#include "../record/recorder.h"
#include "../rollout/sampler.h"
#include "../state.h"

#include "corral/proto/checkpoint.h"
#include "corral/rllib/callbacks.h"
#include "corral/rllib/run_folder.h"
#include "corral/rllib/train.h"

#include <stdatomic.h>

/// What differs between algorithms. Functions that are NULL have nothing to do.
typedef struct trainer_algorithm {
    corral_policy_kind policy;
    corral_status (*create)(corral_trainer *trainer); // with config, policy, team and batch there
    void (*destroy)(corral_trainer *trainer);
    /// The share of exploring actions in the next round.
    double (*exploration)(const corral_trainer *trainer);
    /// Takes from a round's fragments what the batch does not hold.
    void (*take)(corral_trainer *trainer, const corral_fragment *fragments, uint32_t count);
    /// Updates the policy, and fills `minibatches` and `skipped`.
    corral_status (*learn)(corral_trainer *trainer);
    corral_optimizer *(*optimizer)(const corral_trainer *trainer);
    /// A second network that a run needs to go on.
    corral_policy *(*target)(const corral_trainer *trainer);
    void (*report)(const corral_trainer *trainer, corral_train_report *out_report);
    /// What a checkpoint of now holds besides: files of their own.
    corral_status (*write)(corral_trainer *trainer, const corral_checkpoint_writer *writer);
    corral_status (*read)(corral_trainer *trainer, const char *checkpoint);
} trainer_algorithm;

extern const trainer_algorithm trainer_with_ppo, trainer_with_dqn;

/// A run at one moment, complete enough to be written later.
typedef struct snapshot {
    bool filled;
    train_state state;
    void *policy; // packed
    void *target; // the same; NULL where the algorithm has none
    uint64_t optimizer_steps;
    float *moments[2]; // copies of the optimizer's state blocks
    unsigned char *states, *observations;
    double *returns; // [envs]; NULL where rewards are not normalised
    bool have_states;
} snapshot;

struct corral_trainer {
    corral_train_config config;
    environment_setup setup;
    rollout_config rollout;
    corral_team *team;
    corral_device *device; // NULL: the CPU
    corral_policy *policy;
    const trainer_algorithm *algorithm;
    ppo *ppo; // of these two the algorithm's is there
    dqn *dqn;
    sampler *sampler;
    batch batch;
    double *returns;           // [envs] running discounted returns; NULL where rewards are not normalised
    corral_run_folder *folder; // NULL: no files
    live *live;                // NULL: cannot be watched
    recorder *recorder;        // NULL: nothing is filmed
    train_state state;
    snapshot best;         // of the best evaluation so far, not written yet
    struct beside *beside; // evaluation.c: what plays beside training; NULL: nothing ever has
    uint64_t saved_step;   // of the newest checkpoint written
    bool saved;
    bool stepped;    // this session has trained
    double progress; // where the iteration began on the way of the schedules, 0 to 1
    corral_stop_reason stop_reason;
    char failure[512];
    atomic_bool interrupted;
    ppo_result update;
    dqn_result q_update;
    uint64_t minibatches, skipped; // of the last update: those that changed the weights, and those not finite
    bool explained_known;
    double explained_variance;
    bool evaluated; // in the last iteration
    // time, in ns; not part of the state
    int64_t started_ns, last_best_ns;
    double earlier_seconds; // of sessions before a resume
    uint64_t session_first_step;
    int64_t sample_ns, learn_ns, evaluate_ns;
    char message[1024]; // the newest line worth showing, until the next report; "": none
    char shown[1024];   // what the last report shows
    char *final_checkpoint;
    corral_train_callbacks callbacks;
};

// --- save.c -----------------------------------------------------------------------------------------------

/// Copies everything that changes. [between iterations]
CORRAL_MUST_USE corral_status snapshot_take(snapshot *s, corral_trainer *trainer);
void snapshot_finish(snapshot *s);
/// Writes a checkpoint of now, once per step: a second call for the same step does nothing.
CORRAL_MUST_USE corral_status trainer_save(corral_trainer *trainer);
/// Writes the best one, if it has not been, and names it.
CORRAL_MUST_USE corral_status trainer_save_best(corral_trainer *trainer);
/// Brings policy, optimizer, counters and environments back from a checkpoint folder.
CORRAL_MUST_USE corral_status trainer_restore(corral_trainer *trainer, const char *checkpoint);

// --- learn.c ----------------------------------------------------------------------------------------------

/// Updates the policy from the batch that was collected, and publishes it.
CORRAL_MUST_USE corral_status trainer_learn(corral_trainer *trainer);

// --- evaluation.c -----------------------------------------------------------------------------------------

/// Counts a result that is to count now, and begins what is due.
CORRAL_MUST_USE corral_status trainer_evaluate_when_due(corral_trainer *trainer);
/// Evaluates the policy as it is now, which counts at once.
CORRAL_MUST_USE corral_status trainer_evaluate(corral_trainer *trainer);
/// Waits until the result of what plays beside training, if anything does, is in the state.
CORRAL_MUST_USE corral_status trainer_evaluation_wait(corral_trainer *trainer);
/// The same, and lets it count.
CORRAL_MUST_USE corral_status trainer_evaluation_settle(corral_trainer *trainer);
void trainer_evaluation_finish(corral_trainer *trainer);

// --- report.c ---------------------------------------------------------------------------------------------

/// Logs a line, and shows it with the next report; of several the last is shown.
void trainer_tell(corral_trainer *trainer, const char *line);
void trainer_report(corral_trainer *trainer, corral_train_report *out_report);

#endif
