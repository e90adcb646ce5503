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

typedef enum corral_algorithm {
    CORRAL_ALGORITHM_PPO,
    CORRAL_ALGORITHM_DQN,
} corral_algorithm;
const char *corral_algorithm_name(int32_t algorithm); // "ppo"

typedef enum corral_device_choice {
    CORRAL_LEARN_ON_CPU,
    CORRAL_LEARN_ON_ANY, // a GPU where there is one
    CORRAL_LEARN_ON_CUDA,
} corral_device_choice;

typedef enum corral_isolation {
    CORRAL_ISOLATION_NONE,
    CORRAL_ISOLATION_PROCESS, // each environment in a process of its own
} corral_isolation;

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
    int64_t workers; // that play while training goes on; 0: the learner's, between iterations
    int64_t lag;     // iterations after which the result of such an evaluation counts
} corral_evaluation_config;

typedef struct corral_network_config {
    corral_sizes hidden;
    int32_t activation; // corral_activation less CORRAL_LINEAR: 0 tanh, 1 relu
    bool shared;
    int32_t initialisation; // corral_initialisation
    bool normalize_observation;
    double observation_clip;
    int32_t memory;       // corral_memory
    int64_t memory_units; // of it
    int32_t cnn;          // 0: by the size of images; else corral_cnn + 1
    bool action_mask;     // choices that the environment does not allow are never made
    int32_t deviation;    // corral_deviation_kind: of an action's numbers
    bool squash;          // numbers go through tanh and fill their bounds
    bool rescale_action;  // -1 .. 1 fills the bounds
    double log_std_init;
    int64_t noise_every; // steps for which gSDE keeps its noise; 0: a rollout
} corral_network_config;

/// See rllib/ppo.md for the equations in these letters.
typedef struct corral_ppo_config {
    int64_t steps;     // per environment and iteration: T
    int64_t minibatch; // rows; larger than the rollout: the whole rollout
    int64_t epochs;
    int64_t sequence; // steps that a recurrent policy learns through; 0: the whole rollout
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

/// See rllib/dqn/dqn.md.
typedef struct corral_dqn_config {
    int64_t train_freq;        // environment steps, of all environments together, between updates
    int64_t gradient_steps;    // minibatches per update; 0: as many as environment steps
    int64_t minibatch;         // rows
    int64_t buffer_size;       // rows of the replay
    int64_t learning_starts;   // no update before so many rows have come in
    int64_t buffer_bytes;      // of memory, where that is less; 0: no bound
    corral_sizes n_step;       // one number, or the least and the most, drawn for each row
    double samples_per_insert; // rows drawn for each that comes in, instead of gradient_steps; 0: off
    double samples_tolerance;  // rows by which that may be missed; 0: the least that can be kept
    int64_t target_update; // environment steps between updates of the target network; 0: with each minibatch
    double tau;            // the step of the target network towards the online one; 1: a copy
    double gamma;
    corral_schedule learning_rate;
    double epsilon_start, epsilon_end, exploration_fraction; // of the steps that schedules run over
    bool double_q, dueling;
    int32_t distribution;        // corral_worth: what is learned of an action's worth
    int64_t atoms;               // numbers of a distribution
    double value_min, value_max; // between which a categorical one's values lie
    bool noisy;                  // noise on weights explores, instead of epsilon
    double noisy_sigma;
    double huber_delta;            // beyond this error the loss is linear; 0: squared everywhere
    double priority_alpha;         // 0: all rows alike
    corral_schedule priority_beta; // of the weights that undo the priorities
    double max_grad_norm;          // 0: off
    double adam_epsilon;
} corral_dqn_config;

typedef struct corral_checkpoint_config {
    int64_t every; // environment steps; 0: only the last and the best
    int64_t keep;  // how many of the numbered ones
    bool replay;   // with what an algorithm replays
} corral_checkpoint_config;

typedef struct corral_record_config {
    char every[CORRAL_TEXT_SIZE]; // "off", "cubic", or a number: which episodes of environment 0 are filmed
} corral_record_config;

typedef struct corral_train_config {
    int32_t algorithm; // corral_algorithm
    char env[CORRAL_TEXT_SIZE];
    corral_pairs env_params;
    corral_words wrappers;
    int32_t isolation;         // corral_isolation
    int64_t max_episode_steps; // -1: the environment's own
    int64_t seed;
    int64_t envs;         // E: environments in the whole run
    int64_t workers;      // processes; 0: inside the learner
    int64_t threads;      // of the learner; 0: the cores
    int32_t device;       // corral_device_choice
    int32_t precision;    // corral_precision
    int32_t transport;    // corral_transport
    double worker_cpus;   // slots per worker
    double worker_gpus;   // GPUs per worker
    double step_timeout;  // seconds that a fragment may take before its worker is replaced; 0: no limit
    int64_t max_restarts; // of a worker in a row without a fragment
    char faults[CORRAL_TEXT_SIZE];
    corral_stop_config stop;
    corral_evaluation_config evaluation;
    corral_network_config network;
    corral_ppo_config ppo;
    corral_dqn_config dqn;
    int64_t schedule_steps; // schedules run over this many environment steps; 0: stop.steps
    corral_checkpoint_config checkpoint;
    corral_record_config record;
    int64_t
        max_bad_updates; // updates in a row that may be skipped (not finite, or no rows) before the run fails
} corral_train_config;

extern const corral_field corral_train_fields[]; // ends with a NULL name

corral_train_config corral_train_config_default(void);

enum { CORRAL_ENV_NAME_SIZE = 512 };
/// The environment with its wrappers as one name: "CartPole-v1+frame_stack=4".
CORRAL_MUST_USE corral_status corral_train_config_env(const corral_train_config *config,
                                                      char out_name[CORRAL_ENV_NAME_SIZE]);

/// Steps per environment and iteration.
static inline int64_t corral_train_config_rollout_steps(const corral_train_config *config)
{
    return config->algorithm == CORRAL_ALGORITHM_DQN ? config->dqn.train_freq / config->envs
                                                     : config->ppo.steps;
}

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
