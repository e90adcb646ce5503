// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// REINFORCE (Williams 1992) on CartPole-v1, against the public headers; docs/own-algorithm.md explains it.
///     cc -std=c17 reinforce.c $(pkg-config --cflags --libs corral) -lm -o reinforce && ./reinforce
#include <corral/core/ops.h>
#include <corral/core/optim.h>
#include <corral/envs/batch.h>
#include <corral/envs/registry.h>
#include <corral/policy/policy.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ENVS = 16, LONGEST = 500, WIDTH = 4, ACTIONS = 2, ROWS = ENVS * LONGEST };
static const double discount = 0.99, learning_rate = 1e-2, goal = 400;
static float seen[LONGEST][ENVS][WIDTH];
static int32_t done[LONGEST][ENVS];
// What is learned from: an episode of each environment, one behind the other. Worths are discounted returns.
static float observation[ROWS][WIDTH], worth[ROWS];
static int32_t action[ROWS];

/// Steps all environments together until each has finished an episode, whose length is written.
static corral_status play(corral_env_batch *envs, corral_policy *policy, uint64_t key, uint32_t length[ENVS])
{
    float now[ENVS][WIDTH], uniform[ENVS], logits[ENVS][ACTIONS];
    int32_t env_action[ENVS];
    double reward[ENVS];
    uint8_t terminated[ENVS], truncated[ENVS], failed[ENVS];
    corral_episode ended[ENVS];
    uint32_t row[ENVS], running = ENVS;
    const corral_env_rows rows = {now, sizeof now[0]}, actions = {env_action, sizeof env_action[0]};
    corral_env_batch_step step = {&rows, NULL, reward, terminated, truncated, ended, row, 0, failed, 0};
    memset(length, 0, ENVS * sizeof *length);
    corral_status status = corral_env_batch_reset(envs, &rows);
    for (uint32_t t = 0; status == CORRAL_OK && t < LONGEST && running > 0; t++) {
        memcpy(seen[t], now, sizeof now);
        for (uint32_t e = 0; e < ENVS; e++)
            uniform[e] = corral_stream_float(key, (uint64_t)t * ENVS + e);
        const corral_policy_output out = {.action = done[t], .env_action = env_action, .logits = logits[0]};
        status = corral_policy_act(policy, ENVS, now, uniform, &out);
        if (status == CORRAL_OK) status = corral_env_batch_step_all(envs, &actions, &step);
        for (uint32_t k = 0; status == CORRAL_OK && k < step.ended_count; k++) {
            if (length[row[k]] > 0) continue; // its next episode, which nobody listens to
            length[row[k]] = t + 1;
            running--;
        }
    }
    return status;
}

/// Fills the rows. Every reward of CartPole is 1; the baseline makes worths of mean 0 and deviation 1.
static size_t prepare(const uint32_t length[ENVS])
{
    double sum = 0, squares = 0;
    size_t rows = 0;
    for (uint32_t e = 0; e < ENVS; rows += length[e++]) {
        double from_here = 0;
        for (uint32_t t = length[e]; t-- > 0;) {
            from_here = 1 + discount * from_here;
            sum += from_here;
            squares += from_here * from_here;
            worth[rows + t] = (float)from_here;
            action[rows + t] = done[t][e];
            memcpy(observation[rows + t], seen[t][e], sizeof seen[t][e]);
        }
    }
    const double mean = sum / (double)rows, deviation = sqrt(squares / (double)rows - mean * mean);
    for (size_t i = 0; i < rows; i++)
        worth[i] = (float)(((double)worth[i] - mean) / (deviation + 1e-8));
    return rows;
}

/// One step up the gradient of mean log pi(a | s) worth.
static corral_status learn(corral_tape *tape, corral_policy *policy, corral_optimizer *optimizer, size_t rows)
{
    corral_tensor *logits;
    corral_tape_reset(tape, corral_policy_params(policy), corral_optimizer_lane(optimizer, 0));
    corral_policy_graph(policy, tape, rows, observation[0], &logits, NULL);
    corral_tensor *log_prob = corral_gather(corral_log_softmax(logits), action);
    corral_tensor *weight = corral_input(tape, CORRAL_F32, 1, &rows, worth);
    corral_status status = corral_backward(corral_neg(corral_mean(corral_mul(log_prob, weight))));
    return status == CORRAL_OK ? corral_optimizer_step(optimizer, 1, learning_rate, NULL, NULL) : status;
}

int main(void)
{
    corral_policy_config net = {.observation_size = WIDTH, .action_count = ACTIONS, .hidden = {1, {64}}};
    net.activation = CORRAL_TANH;
    const corral_optimizer_config adam = corral_optimizer_config_default();
    corral_env_batch_config config = {.count = ENVS, .run_seed = 1, .role = CORRAL_STREAM_ENVIRONMENT};
    config.max_episode_steps = LONGEST;
    corral_env_batch *envs = NULL;
    corral_policy *policy = NULL;
    corral_optimizer *optimizer = NULL;
    corral_tape *tape = NULL;
    uint32_t length[ENVS];
    double mean_return = 0;
    corral_status status = corral_env_find("CartPole-v1", &config.type);
    if (status == CORRAL_OK) status = corral_env_batch_create(&config, &envs);
    if (status == CORRAL_OK) status = corral_policy_create(&net, 1, &policy);
    if (status == CORRAL_OK)
        status = corral_optimizer_create(&adam, corral_policy_params(policy), &optimizer);
    if (status == CORRAL_OK) status = corral_tape_create(&tape);
    for (uint64_t i = 0; status == CORRAL_OK && i < 100 && mean_return < goal; i++) {
        status = play(envs, policy, corral_stream_key(1, CORRAL_STREAM_ACTION, i), length);
        const size_t rows = prepare(length);
        if (status == CORRAL_OK) status = learn(tape, policy, optimizer, rows);
        mean_return = (double)rows / ENVS;
        if (i % 10 == 0 || mean_return >= goal) printf("%3d: mean return %.1f\n", (int)i, mean_return);
    }
    if (status != CORRAL_OK) fprintf(stderr, "reinforce: %s\n", corral_last_error());
    corral_tape_destroy(tape);
    corral_optimizer_destroy(optimizer);
    corral_policy_destroy(policy);
    corral_env_batch_destroy(envs);
    return status != CORRAL_OK ? 3 : mean_return >= goal ? 0 : 1;
}
