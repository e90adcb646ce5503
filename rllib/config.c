// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/rllib/config.h"

#include "dqn/dqn.h"
#include "environment.h"
#include "record/recorder.h"

#include "corral/core/ops.h"
#include "corral/envs/registry.h"
#include "corral/policy/policy.h"

#include <math.h>
#include <stdlib.h>

static const char *const algorithms[] = {"ppo", "dqn", NULL};
static const char *const isolations[] = {"none", "process", NULL};
static const char *const transports[] = {"shared_memory", "grpc", NULL};
static const char *const devices[] = {"cpu", "auto", "cuda", NULL};
static const char *const precisions[] = {"f32", "bf16", NULL};
static const char *const activations[] = {"tanh", "relu", NULL};
static const char *const memories[] = {"none", "lstm", "gru", NULL};
static const char *const cnns[] = {"auto", "none", "small", "nature", NULL};
static const char *const deviations[] = {"free", "state", "gsde", NULL};
static const char *const distributions[] = {"mean", "categorical", "quantile", NULL};
static const char *const initialisations[] = {"orthogonal", "fan_in", NULL};

#define AT(member) offsetof(corral_train_config, member)
#define BOOL(key, member, help_text)                                                                         \
    {                                                                                                        \
        key, CORRAL_FIELD_BOOL, AT(member), 0, 0, NULL, help_text                                            \
    }
#define INT(key, member, low, high, help_text)                                                               \
    {                                                                                                        \
        key, CORRAL_FIELD_INT, AT(member), low, high, NULL, help_text                                        \
    }
#define FLOAT(key, member, low, high, help_text)                                                             \
    {                                                                                                        \
        key, CORRAL_FIELD_FLOAT, AT(member), low, high, NULL, help_text                                      \
    }
#define TEXT(key, member, help_text)                                                                         \
    {                                                                                                        \
        key, CORRAL_FIELD_TEXT, AT(member), 0, 0, NULL, help_text                                            \
    }
#define CHOICE(key, member, names, help_text)                                                                \
    {                                                                                                        \
        key, CORRAL_FIELD_CHOICE, AT(member), 0, 0, names, help_text                                         \
    }
#define SIZES(key, member, low, high, help_text)                                                             \
    {                                                                                                        \
        key, CORRAL_FIELD_SIZES, AT(member), low, high, NULL, help_text                                      \
    }
#define SCHEDULE(key, member, low, high, help_text)                                                          \
    {                                                                                                        \
        key, CORRAL_FIELD_SCHEDULE, AT(member), low, high, NULL, help_text                                   \
    }
#define WORDS(key, member, help_text)                                                                        \
    {                                                                                                        \
        key, CORRAL_FIELD_WORDS, AT(member), 0, 0, NULL, help_text                                           \
    }
#define PAIRS(key, member, help_text)                                                                        \
    {                                                                                                        \
        key, CORRAL_FIELD_PAIRS, AT(member), 0, 0, NULL, help_text                                           \
    }

const corral_field corral_train_fields[] = {
    CHOICE("algorithm", algorithm, algorithms, "What learns"),
    TEXT("env", env, "The environment: an id (`corral envs` lists them), or FILE.so:ID of a plug-in"),
    PAIRS("env_params", env_params, "The environment's own parameters; `corral envs ID` lists them"),
    WORDS("wrappers", wrappers,
          "What is put around the environment, innermost first; `corral envs` lists wrappers"),
    CHOICE("isolation", isolation, isolations,
           "process: each environment in a process of its own, so that a crash costs one episode"),
    INT("max_episode_steps", max_episode_steps, -1, 1e9,
        "Time limit of an episode; -1: the environment's own, 0: none"),
    INT("seed", seed, 0, 9007199254740992.0, "Everything random follows from it"),
    INT("envs", envs, 1, 65536, "Environments in the whole run"),
    INT("workers", workers, 0, 1024, "Rollout worker processes; 0 steps the environments inside the learner"),
    INT("threads", threads, 0, 256, "Threads of the learner; 0: one per core"),
    CHOICE("device", device, devices,
           "Where the learner updates: cpu, cuda (a GPU), auto (a GPU where there is one)"),
    CHOICE("precision", precision, precisions,
           "Of products on a GPU: f32, or bf16 with weights and sums in f32"),
    CHOICE("transport", transport, transports,
           "How fragments travel inside a host; between hosts it is always grpc"),
    FLOAT("worker_cpus", worker_cpus, 0, 1024, "CPU slots that each worker takes in the cluster"),
    FLOAT("worker_gpus", worker_gpus, 0, 1024, "GPUs that each worker takes in the cluster"),
    FLOAT("step_timeout", step_timeout, 0, 86400,
          "Seconds a fragment may take before its worker is replaced; 0: no limit"),
    INT("max_restarts", max_restarts, 0, 1000000,
        "Restarts of a worker in a row without a fragment before it stays down"),
    TEXT("faults", faults,
         "Fault injection on messages between nodes, for tests: lose=0.1,duplicate=0.1,seed=7"),
    FLOAT("stop.return", stop.target_return, -INFINITY, INFINITY,
          "Stop when evaluations reach this mean return; .inf: never"),
    INT("stop.evaluations", stop.evaluations, 1, 1000, "How many evaluations in a row must reach it"),
    INT("stop.steps", stop.steps, 1, 1e15, "Stop after this many environment steps"),
    FLOAT("stop.seconds", stop.seconds, 0, 1e9, "Stop after this many seconds; 0: no limit"),
    INT("schedule_steps", schedule_steps, 0, 1e15,
        "Schedules run over this many environment steps; 0: stop.steps"),
    INT("evaluation.every", evaluation.every, 0, 1e15,
        "Environment steps between evaluations; 0: only at the end"),
    INT("evaluation.start", evaluation.start, 0, 1e15, "No evaluation before this many environment steps"),
    INT("evaluation.episodes", evaluation.episodes, 1, 100000, "Episodes of one evaluation"),
    BOOL("evaluation.stochastic", evaluation.stochastic,
         "Draw actions instead of taking the most probable one"),
    INT("evaluation.workers", evaluation.workers, 0, 256,
        "Threads of their own that evaluate while training goes on; 0: between iterations"),
    INT("evaluation.lag", evaluation.lag, 1, 1000000,
        "Iterations after which a result of evaluation.workers counts, whenever it is there"),
    SIZES("network.hidden", network.hidden, 1, 65536, "Widths of the hidden layers"),
    CHOICE("network.activation", network.activation, activations, "Between the layers"),
    BOOL("network.shared", network.shared, "One trunk for policy and value instead of two networks"),
    CHOICE("network.initialisation", network.initialisation, initialisations, "Initial weights"),
    BOOL("network.normalize_observation", network.normalize_observation,
         "Running mean and variance, frozen per policy version"),
    FLOAT("network.observation_clip", network.observation_clip, 1e-6, 1e9,
          "Bound of normalised observations"),
    CHOICE("network.memory", network.memory, memories,
           "Behind the hidden layers, shared by policy and value: none, lstm, gru"),
    INT("network.memory_units", network.memory_units, 1, 65536, "Units of the memory"),
    CHOICE("network.cnn", network.cnn, cnns,
           "Convolutions over images: none, small, nature, or auto: small below 64 pixels a side"),
    BOOL("network.action_mask", network.action_mask,
         "Choices that the environment does not allow now are never made, where it says which"),
    CHOICE("network.deviation", network.deviation, deviations,
           "Deviation of an action's numbers: free (a weight each), state (the network says), gsde"),
    BOOL("network.squash", network.squash, "An action's numbers go through tanh and fill their bounds"),
    BOOL("network.rescale_action", network.rescale_action,
         "-1 to 1 fills the bounds of an action's numbers; else they are as drawn; clipped either way"),
    FLOAT("network.log_std_init", network.log_std_init, -20, 2,
          "Logarithm of the deviation of an action's numbers, at the start"),
    INT("network.noise_every", network.noise_every, 0, 1000000,
        "Steps for which gsde keeps its noise; 0: as long as a rollout"),
    INT("ppo.steps", ppo.steps, 1, 1000000, "Steps per environment and iteration"),
    INT("ppo.minibatch", ppo.minibatch, 1, 1e9,
        "Rows of a minibatch; larger than the rollout: the whole rollout"),
    INT("ppo.epochs", ppo.epochs, 1, 1000, "Passes over a rollout"),
    INT("ppo.sequence", ppo.sequence, 0, 1000000,
        "Steps that a recurrent policy learns through at once; 0: the whole rollout"),
    FLOAT("ppo.gamma", ppo.gamma, 0, 1, "Discount"),
    FLOAT("ppo.lambda", ppo.lambda, 0, 1, "Trace of the advantage estimate"),
    SCHEDULE("ppo.learning_rate", ppo.learning_rate, 0, 10,
             "Adam's step size: a number, or linear(FROM) or linear(FROM, TO)"),
    SCHEDULE("ppo.clip_range", ppo.clip_range, 0, 10, "Epsilon of the clipped ratio"),
    SCHEDULE("ppo.entropy_coefficient", ppo.entropy_coefficient, 0, 100, "Weight of the entropy bonus"),
    FLOAT("ppo.value_coefficient", ppo.value_coefficient, 0, 1000, "Weight of the value loss"),
    FLOAT("ppo.value_clip_range", ppo.value_clip_range, 0, 1e9,
          "Clip of the value around its old estimate; 0: off"),
    FLOAT("ppo.value_error_clip", ppo.value_error_clip, 0, 1e30,
          "Bound of the squared value error, beyond which there is no gradient; 0: off"),
    FLOAT("ppo.max_grad_norm", ppo.max_grad_norm, 0, 1e9, "Clip of the gradient's global norm; 0: off"),
    FLOAT("ppo.target_kl", ppo.target_kl, 0, 1000,
          "Stop an iteration's epochs at 1.5 times this divergence; 0: off"),
    FLOAT("ppo.kl_coefficient", ppo.kl_coefficient, 0, 1e6,
          "Weight of a penalty on the divergence from the acting policy; 0: off"),
    FLOAT("ppo.kl_target", ppo.kl_target, 0, 1000,
          "Divergence that kl_coefficient adapts to, by 1.5 and 0.5; 0: it stays"),
    BOOL("ppo.normalize_advantage", ppo.normalize_advantage, "Per minibatch: mean 0, deviation 1"),
    BOOL("ppo.normalize_reward", ppo.normalize_reward,
         "Divide rewards by the deviation of discounted returns, frozen per policy version"),
    FLOAT("ppo.reward_clip", ppo.reward_clip, 0, 1e30,
          "Bound of rewards as the update sees them; metrics show them raw; 0: off"),
    FLOAT("ppo.adam_epsilon", ppo.adam_epsilon, 1e-16, 1, "Adam's epsilon"),
    INT("dqn.train_freq", dqn.train_freq, 1, 1e9,
        "Environment steps between updates, of all environments together"),
    INT("dqn.gradient_steps", dqn.gradient_steps, 0, 1e6,
        "Minibatches of an update; 0: as many as dqn.train_freq"),
    INT("dqn.minibatch", dqn.minibatch, 1, 1e6, "Rows of a minibatch"),
    INT("dqn.buffer_size", dqn.buffer_size, 1, 4294967295.0, "Rows of the replay"),
    INT("dqn.learning_starts", dqn.learning_starts, 0, 1e9,
        "No update before this many rows have come into the replay"),
    INT("dqn.buffer_bytes", dqn.buffer_bytes, 0, 1e15,
        "Bytes of memory that the replay may take, with fewer rows if need be; 0: no bound"),
    SIZES("dqn.n_step", dqn.n_step, 1, 1000,
          "Rewards that a target sums up: a number, or [LEAST, MOST], drawn anew for each row"),
    FLOAT("dqn.samples_per_insert", dqn.samples_per_insert, 0, 1e6,
          "Rows drawn for each that comes in, instead of dqn.gradient_steps; 0: off"),
    FLOAT("dqn.samples_tolerance", dqn.samples_tolerance, 0, 1e12,
          "Rows by which dqn.samples_per_insert may be missed; 0: the least that can be kept"),
    INT("dqn.target_update", dqn.target_update, 0, 1e15,
        "Environment steps between updates of the target network; 0: with each minibatch"),
    FLOAT("dqn.tau", dqn.tau, 1e-9, 1, "Step of the target network towards the online one; 1: a copy"),
    FLOAT("dqn.gamma", dqn.gamma, 0, 1, "Discount"),
    SCHEDULE("dqn.learning_rate", dqn.learning_rate, 0, 10,
             "Adam's step size: a number, or linear(FROM) or linear(FROM, TO)"),
    FLOAT("dqn.epsilon_start", dqn.epsilon_start, 0, 1, "Share of exploring actions at the start"),
    FLOAT("dqn.epsilon_end", dqn.epsilon_end, 0, 1, "Share of exploring actions once it has fallen"),
    FLOAT("dqn.exploration_fraction", dqn.exploration_fraction, 0, 1,
          "Part of the schedules' steps over which it falls"),
    BOOL("dqn.double_q", dqn.double_q, "The online network chooses the action whose target is taken"),
    BOOL("dqn.dueling", dqn.dueling, "A value and advantages instead of the worths of actions alone"),
    CHOICE("dqn.distribution", dqn.distribution, distributions,
           "What is learned of an action's worth: its mean, or its distribution over fixed values or as "
           "quantiles"),
    INT("dqn.atoms", dqn.atoms, 2, 1024, "Values or quantiles of a distribution"),
    FLOAT("dqn.value_min", dqn.value_min, -1e9, 1e9, "The smallest value of a categorical distribution"),
    FLOAT("dqn.value_max", dqn.value_max, -1e9, 1e9, "The largest one"),
    BOOL("dqn.noisy", dqn.noisy, "Learned noise on the weights, drawn anew with each policy version"),
    FLOAT("dqn.noisy_sigma", dqn.noisy_sigma, 0, 100,
          "Its size at the start, times the root of a layer's inputs"),
    FLOAT("dqn.huber_delta", dqn.huber_delta, 0, 1e9,
          "Error beyond which the loss is linear; 0: squared everywhere"),
    FLOAT("dqn.priority_alpha", dqn.priority_alpha, 0, 10,
          "How much errors decide which rows are drawn; 0: all alike"),
    SCHEDULE("dqn.priority_beta", dqn.priority_beta, 0, 1,
             "How much weights undo that: a number, or linear(FROM, TO)"),
    FLOAT("dqn.max_grad_norm", dqn.max_grad_norm, 0, 1e9, "Clip of the gradient's global norm; 0: off"),
    FLOAT("dqn.adam_epsilon", dqn.adam_epsilon, 1e-16, 1, "Adam's epsilon"),
    TEXT("record.every", record.every,
         "Films of training, in RUN/videos: off, cubic (episodes 0, 1, 8, 27, ... 1000, then each "
         "thousandth), or "
         "each so many episodes of environment 0"),
    INT("checkpoint.every", checkpoint.every, 0, 1e15,
        "Environment steps between checkpoints; 0: only the best and the last"),
    INT("checkpoint.keep", checkpoint.keep, 1, 100000, "Checkpoints that are kept besides the best"),
    BOOL("checkpoint.replay", checkpoint.replay,
         "Save the replay too, so that a resumed run goes on as if it had not stopped"),
    INT("max_bad_updates", max_bad_updates, 1, 1000000,
        "Updates in a row that are skipped, as not finite or for lack of rows, before the run fails"),
    {NULL, CORRAL_FIELD_BOOL, 0, 0, 0, NULL, NULL},
};

#undef AT
#undef BOOL
#undef INT
#undef FLOAT
#undef TEXT
#undef CHOICE
#undef SIZES
#undef SCHEDULE
#undef WORDS
#undef PAIRS

corral_train_config corral_train_config_default(void)
{
    return (corral_train_config){
        .max_episode_steps = -1,
        .envs = 8,
        .workers = 2,
        .worker_cpus = 1,
        .step_timeout = 60,
        .max_restarts = 10,
        .seed = 1,
        .stop = {.target_return = INFINITY, .evaluations = 2, .steps = 1000000},
        .evaluation = {.every = 10000, .episodes = 20, .lag = 1},
        .network = {.hidden = {2, {64, 64}}, .observation_clip = 10, .action_mask = true, .memory_units = 64},
        .ppo = {.steps = 128,
                .minibatch = 256,
                .epochs = 10,
                .gamma = 0.99,
                .lambda = 0.95,
                .learning_rate = {3e-4, 3e-4},
                .clip_range = {0.2, 0.2},
                .value_coefficient = 0.5,
                .max_grad_norm = 0.5,
                .normalize_advantage = true,
                .adam_epsilon = 1e-5},
        .dqn = {.train_freq = 32,
                .gradient_steps = 8,
                .minibatch = 64,
                .buffer_size = 50000,
                .learning_starts = 1000,
                .n_step = {1, {1}},
                .target_update = 500,
                .tau = 1,
                .gamma = 0.99,
                .learning_rate = {5e-4, 5e-4},
                .epsilon_start = 1,
                .epsilon_end = 0.05,
                .exploration_fraction = 0.1,
                .double_q = true,
                .dueling = true,
                .atoms = 51,
                .value_min = -10,
                .value_max = 10,
                .noisy_sigma = 0.5,
                .huber_delta = 1,
                .priority_beta = {0.4, 1},
                .max_grad_norm = 10,
                .adam_epsilon = 1e-8},
        .checkpoint = {.keep = 3},
        .record = {.every = "off"},
        .max_bad_updates = 10,
    };
}

const char *corral_algorithm_name(int32_t algorithm)
{
    return algorithms[algorithm];
}

/// Sequences fill rollouts and minibatches.
static corral_status check_memory(const corral_train_config *config)
{
    if (config->network.memory == 0) return CORRAL_OK;
    if (config->algorithm != CORRAL_ALGORITHM_PPO)
        return corral_fail(CORRAL_ERROR_INVALID, "network.memory: only ppo trains recurrent policies");
    const int64_t steps = config->ppo.steps,
                  sequence = config->ppo.sequence > 0 ? config->ppo.sequence : steps;
    if (steps % sequence != 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "ppo.sequence: %lld steps do not divide a rollout of %lld; change it or ppo.steps",
                           (long long)sequence, (long long)steps);
    if (config->ppo.minibatch % sequence != 0 && config->ppo.minibatch < config->envs * steps)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "ppo.minibatch: %lld rows are not a multiple of the sequence of %lld steps",
                           (long long)config->ppo.minibatch, (long long)sequence);
    return CORRAL_OK;
}

static corral_status check_actions(const corral_train_config *config, const environment_setup *setup)
{
    const corral_policy_space *action = &setup->spaces.action;
    if (config->algorithm == CORRAL_ALGORITHM_DQN && action->part_count > 0)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "algorithm: dqn needs one Discrete action, which %s does not have; ppo plays it",
                           setup->type->id);
    for (uint32_t k = 0; config->network.squash && k < action->part_count; k++)
        if (action->part[k].kind == CORRAL_PART_NUMBERS && isinf(action->part[k].high - action->part[k].low))
            return corral_fail(
                CORRAL_ERROR_INVALID,
                "network.squash: numbers of the action of %s have no bounds to be squashed into",
                setup->type->id);
    return CORRAL_OK;
}

corral_status corral_train_config_check(const corral_train_config *config)
{
    if (config->env[0] == '\0')
        return corral_fail(CORRAL_ERROR_INVALID, "env: no environment is named; `corral envs` lists them");
    if (config->workers > config->envs)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "workers: %lld workers for %lld environments; raise envs or lower workers",
                           (long long)config->workers, (long long)config->envs);
    const corral_status schedule = recorder_check_schedule(config->record.every);
    if (schedule != CORRAL_OK) return schedule;
    if (config->ppo.kl_target > 0 && config->ppo.kl_coefficient == 0)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "ppo.kl_target: it adapts ppo.kl_coefficient, which is 0; set both or neither");
    corral_status status =
        config->algorithm == CORRAL_ALGORITHM_DQN ? dqn_check_config(&config->dqn, config->envs) : CORRAL_OK;
    if (status != CORRAL_OK) return status;
    environment_setup setup;
    char name[CORRAL_ENV_NAME_SIZE];
    status = corral_train_config_env(config, name);
    if (status == CORRAL_OK) status = environment_setup_init(&setup, name, &config->env_params);
    if (status == CORRAL_OK) status = check_memory(config);
    return status == CORRAL_OK ? check_actions(config, &setup) : status;
}
