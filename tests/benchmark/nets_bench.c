// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// nets_bench NET ROWS THREADS SECONDS: the time of one call of a network that PyTorch is compared on
// (tests/benchmark/compare torch; peers/torch_nets.py has the same networks), as one line of JSON.
//
//   ppo       4-64-64-{2,1}, tanh, shared trunk: loss of PPO, backward, clipping, Adam
//   humanoid  376-256-256-17, ReLU: mean squared error, backward, Adam
//   ppo-act, humanoid-act: forward alone
//
// Only products are counted as arithmetic: 2 for each weight and row forward, as much for each of the two
// gradients.

#include "corral/core/init.h"
#include "corral/core/ops.h"
#include "corral/core/optim.h"
#include "peak.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 4096, MOST_IN = 376, MOST_OUT = 17, PIECE_ROWS = 128 };

typedef struct net {
    const char *name;
    bool ppo;
    size_t in, hidden, out;
    corral_activation activation;
} net;

static const net nets[] = {{"ppo", true, 4, 64, 2, CORRAL_TANH},
                           {"humanoid", false, 376, 256, 17, CORRAL_RELU}};

static const net *model;
static size_t rows;
static corral_params *params;
static corral_optimizer *optimizer;
static corral_tape *tapes[CORRAL_LANES];
static float x[MOST_ROWS * MOST_IN], target[MOST_ROWS * MOST_OUT], column[4][MOST_ROWS],
    hidden[2][MOST_ROWS * 256];
static int32_t action[MOST_ROWS];

static void fail(const char *what)
{
    fprintf(stderr, "nets_bench: %s\n", what);
    exit(2);
}

static void must(corral_status status)
{
    if (status != CORRAL_OK) fail(corral_last_error());
}

static void add_layer(int index, size_t out, size_t in)
{
    char name[32];
    uint32_t weight, bias;
    snprintf(name, sizeof name, "%d.weight", index);
    must(corral_params_add(params, name, 2, (size_t[]){out, in}, &weight));
    snprintf(name, sizeof name, "%d.bias", index);
    must(corral_params_add(params, name, 1, (size_t[]){out}, &bias));
}

static void build(void)
{
    must(corral_params_create(CORRAL_F32, &params));
    add_layer(0, model->hidden, model->in);
    add_layer(1, model->hidden, model->hidden);
    add_layer(2, model->out, model->hidden);
    if (model->ppo) add_layer(3, 1, model->hidden);
    must(corral_params_seal(params));
    for (uint32_t i = 0; i < corral_params_entry_count(params); i += 2)
        must(corral_init_orthogonal(params, i, 1.0, i));
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = model->ppo ? 0.5 : 0;
    must(corral_optimizer_create(&config, params, &optimizer));
    for (size_t i = 0; i < CORRAL_LANES; i++)
        must(corral_tape_create(&tapes[i]));
    for (size_t i = 0; i < rows * model->in; i++)
        x[i] = sinf((float)i * 0.7f);
    for (size_t i = 0; i < rows * model->out; i++)
        target[i] = cosf((float)i * 0.3f);
    for (size_t i = 0; i < rows; i++) {
        action[i] = (int32_t)(i % 2);
        column[0][i] = -0.7f;
        column[2][i] = cosf((float)i);
        column[3][i] = sinf((float)i);
    }
}

static corral_tensor *loss_of(corral_tape *tape, size_t first, size_t count)
{
    corral_tensor *input =
        corral_input(tape, CORRAL_F32, 2, (size_t[]){count, model->in}, x + first * model->in);
    corral_tensor *h = corral_linear(corral_linear(input, 0, 1, model->activation), 2, 3, model->activation);
    corral_tensor *y = corral_linear(h, 4, 5, CORRAL_LINEAR);
    if (!model->ppo) {
        const size_t shape[] = {count, model->out};
        const double share = (double)count / (double)rows;
        return corral_scale(
            corral_mse_loss(y, corral_input(tape, CORRAL_F32, 2, shape, target + first * model->out)), share);
    }
    const corral_ppo_terms terms = {.action = action + first,
                                    .old_log_prob = column[0] + first,
                                    .old_value = column[1] + first,
                                    .advantage = column[2] + first,
                                    .value_target = column[3] + first,
                                    .clip_range = 0.2f,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.01f,
                                    .total_rows = rows};
    return corral_ppo_loss(y, corral_linear(h, 6, 7, CORRAL_LINEAR), &terms, NULL);
}

/// A lane in pieces that stay in the cache.
static void learn_lane(void *context, size_t index, unsigned thread)
{
    (void)context;
    (void)thread;
    const corral_lane lane = corral_lane_at(rows, index);
    void *gradients = corral_optimizer_lane(optimizer, index);
    for (size_t done = 0; done < lane.count; done += PIECE_ROWS) {
        const size_t count = lane.count - done < PIECE_ROWS ? lane.count - done : PIECE_ROWS;
        corral_tape_reset(tapes[index], params, gradients);
        must(corral_backward(loss_of(tapes[index], lane.first + done, count)));
    }
}

static void learn(corral_team *team)
{
    const size_t lanes = corral_lane_count(rows);
    corral_team_run(team, lanes, learn_lane, NULL);
    must(corral_optimizer_step(optimizer, lanes, 1e-4, team, NULL));
}

static void act(corral_team *team)
{
    (void)team;
    corral_linear_forward(params, 0, 1, model->activation, rows, x, hidden[0]);
    corral_linear_forward(params, 2, 3, model->activation, rows, hidden[0], hidden[1]);
    corral_linear_forward(params, 4, 5, CORRAL_LINEAR, rows, hidden[1], hidden[0]);
    if (model->ppo) corral_linear_forward(params, 6, 7, CORRAL_LINEAR, rows, hidden[1], hidden[0] + rows * 2);
}

/// The best of many short slices: what the machine can do when nobody else is at it.
static double time_of(void (*call)(corral_team *), corral_team *team, double seconds)
{
    enum { SLICES = 100 };
    double best = INFINITY;
    for (int i = 0; i < 20; i++)
        call(team);
    for (int slice = 0; slice < SLICES; slice++) {
        const int64_t start = corral_now_ns(), end = start + (int64_t)(seconds / SLICES * 1e9);
        int64_t now = start, calls = 0;
        while (now < end) {
            call(team);
            calls++;
            now = corral_now_ns();
        }
        best = fmin(best, (double)(now - start) / (double)calls);
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 5) fail("usage: nets_bench ppo|humanoid|ppo-act|humanoid-act ROWS THREADS SECONDS");
    const bool acting = strstr(argv[1], "-act") != NULL;
    for (size_t i = 0; i < 2; i++) {
        if (strncmp(argv[1], nets[i].name, strlen(nets[i].name)) == 0) model = &nets[i];
    }
    rows = strtoul(argv[2], NULL, 10);
    const unsigned threads = (unsigned)strtoul(argv[3], NULL, 10);
    if (model == NULL || rows < 1 || rows > MOST_ROWS || threads < 1 || threads > 64)
        fail("no such network or size");
    build();
    corral_team *team = NULL;
    must(corral_team_create(threads, &team));
    const double peak = measure_peak() * threads,
                 ns = time_of(acting ? act : learn, team, strtod(argv[4], NULL));
    const double weights = (double)(model->hidden * (model->in + model->hidden + model->out + model->ppo));
    // The input needs no gradient.
    const double work =
        2.0 * (double)rows * (acting ? weights : 3 * weights - (double)(model->hidden * model->in));
    printf("{\"us\": %.3f, \"share_of_peak\": %.1f, \"peak_gflops\": %.1f}\n", ns / 1000,
           100 * work / ns / peak, peak);
    return 0;
}
