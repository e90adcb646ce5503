// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Everything a training run may be told: one struct, one table (corral_train_fields) for files, flags, help
/// and saved runs.
#ifndef CORRAL_RLLIB_CONFIG_H
#define CORRAL_RLLIB_CONFIG_H

#include "corral/base/config.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_algorithm { CORRAL_ALGORITHM_PPO } corral_algorithm;

typedef struct corral_stop_config {
    double target_return; // stop.return: mean evaluation return that counts as reached; infinite: none
    int64_t evaluations;  // how many evaluations in a row must reach it
    int64_t steps;        // budget of environment steps
    double seconds;       // 0: no limit
} corral_stop_config;

typedef struct corral_evaluation_config {
    int64_t every; // environment steps between evaluations; 0: only at the end
    int64_t start; // no evaluation before this many steps
    int64_t episodes;
    bool stochastic;
} corral_evaluation_config;

typedef struct corral_network_config {
    corral_sizes hidden;
    int32_t activation; // corral_activation less CORRAL_LINEAR: 0 tanh, 1 relu
    bool shared;
    int32_t initialisation; // corral_initialisation
    bool normalize_observation;
    double observation_clip;
} corral_network_config;

/// See rllib/ppo.md for the equations in these letters.
typedef struct corral_ppo_config {
    int64_t steps;     // per environment and iteration: T
    int64_t minibatch; // rows; larger than the rollout: the whole rollout
    int64_t epochs;
    double gamma, lambda;
    corral_schedule learning_rate, clip_range, entropy_coefficient;
    double value_coefficient;
    double value_clip_range; // 0: off
    double value_error_clip; // bound of the squared value error; 0: off
    double max_grad_norm;    // 0: off
    double target_kl;        // 0: off; stops an iteration's epochs at 1.5 x this
    double kl_coefficient;   // of the penalty on the divergence, at the start; 0: off
    double kl_target;        // divergence that moves the coefficient; 0: it stays
    bool normalize_advantage;
    bool normalize_reward; // by the deviation of discounted returns
    double reward_clip;    // bound of rewards as the update sees them; 0: off
    double adam_epsilon;
} corral_ppo_config;

typedef struct corral_checkpoint_config {
    int64_t every; // environment steps; 0: only the last and the best
    int64_t keep;  // how many of the numbered ones
} corral_checkpoint_config;

typedef struct corral_train_config {
    int32_t algorithm; // corral_algorithm
    char env[CORRAL_TEXT_SIZE];
    corral_pairs env_params;
    int64_t max_episode_steps; // -1: the environment's own
    int64_t seed;
    int64_t envs;         // E: environments in the whole run
    int64_t workers;      // processes; 0: inside the learner
    int64_t threads;      // of the learner; 0: the cores
    int32_t transport;    // corral_transport
    double worker_cpus;   // slots per worker
    double step_timeout;  // seconds that a fragment may take before its worker is replaced; 0: no limit
    int64_t max_restarts; // of a worker in a row without a fragment
    char faults[CORRAL_TEXT_SIZE];
    corral_stop_config stop;
    corral_evaluation_config evaluation;
    corral_network_config network;
    corral_ppo_config ppo;
    int64_t schedule_steps; // schedules run over this many environment steps; 0: stop.steps
    corral_checkpoint_config checkpoint;
    int64_t max_bad_updates; // updates in a row that may be skipped as not finite before the run fails
} corral_train_config;

extern const corral_field corral_train_fields[]; // ends with a NULL name

corral_train_config corral_train_config_default(void);

/// The defaults of another library, by its name: sb3, cleanrl, rllib (ppo.md has the table). Keys that it
/// does not speak of are left alone.
CORRAL_MUST_USE corral_status corral_train_config_preset(corral_train_config *config, const char *name);

/// Checks what a table cannot: the environment exists, its spaces are ones that the algorithm can use,
/// workers do not outnumber environments. The sentence names the key.
CORRAL_MUST_USE corral_status corral_train_config_check(const corral_train_config *config);

#ifdef __cplusplus
}
#endif
#endif
