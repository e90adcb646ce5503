// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "nets.h"

#include "corral/core/layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACTIONS = 6,
    STEPS = 16,
    UNITS = 128,
    SIDE = 84,
    FRAMES = 4,
    FEATURES = 7 * 7 * 64,
    HUMANOID_OUT = 17
};

// What losses read, for any network.
static struct {
    int32_t action[NET_MOST_ROWS];
    float old_log_prob[NET_MOST_ROWS], old_value[NET_MOST_ROWS], advantage[NET_MOST_ROWS],
        target[NET_MOST_ROWS];
    float numbers[NET_MOST_ROWS * HUMANOID_OUT];
} rows_of;
static float scratch[2][NET_MOST_ROWS * 256], images[3][20 * 20 * 32];

void net_must(corral_status status)
{
    if (status == CORRAL_OK) return;
    fprintf(stderr, "nets_bench: %s\n", corral_last_error());
    exit(2);
}

/// A weight [out, in] and a bias [out].
static void add_matrix(corral_params *params, const char *name, size_t out, size_t in)
{
    char full[32];
    uint32_t index;
    snprintf(full, sizeof full, "%s.weight", name);
    net_must(corral_params_add(params, full, 2, (size_t[]){out, in}, &index));
    snprintf(full, sizeof full, "%s.bias", name);
    net_must(corral_params_add(params, full, 1, (size_t[]){out}, &index));
}

static void fill_rows(void)
{
    for (size_t i = 0; i < NET_MOST_ROWS; i++) {
        rows_of.action[i] = (int32_t)(i % 2);
        rows_of.old_log_prob[i] = -0.7f;
        rows_of.advantage[i] = cosf((float)i);
        rows_of.target[i] = sinf((float)i);
    }
    for (size_t i = 0; i < NET_MOST_ROWS * HUMANOID_OUT; i++)
        rows_of.numbers[i] = cosf((float)i * 0.3f);
}

// --- two hidden layers ------------------------------------------------------------------------------------

static void add_ppo(corral_params *params)
{
    add_matrix(params, "0", 64, 4);
    add_matrix(params, "1", 64, 64);
    add_matrix(params, "2", 2, 64);
    add_matrix(params, "3", 1, 64);
}

static corral_tensor *hidden_layers(corral_tape *tape, const float *x, size_t in, size_t first, size_t count,
                                    corral_activation activation)
{
    corral_tensor *input = corral_input(tape, CORRAL_F32, 2, (size_t[]){count, in}, x + first * in);
    return corral_linear(corral_linear(input, 0, 1, activation), 2, 3, activation);
}

static corral_tensor *ppo_loss(corral_tape *tape, const float *x, size_t first, size_t count, size_t rows)
{
    corral_tensor *h = hidden_layers(tape, x, 4, first, count, CORRAL_TANH);
    const corral_ppo_terms terms = {.action = rows_of.action + first,
                                    .old_log_prob = rows_of.old_log_prob + first,
                                    .old_value = rows_of.old_value + first,
                                    .advantage = rows_of.advantage + first,
                                    .value_target = rows_of.target + first,
                                    .clip_range = 0.2f,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.01f,
                                    .total_rows = rows};
    return corral_ppo_loss(corral_linear(h, 4, 5, CORRAL_LINEAR), corral_linear(h, 6, 7, CORRAL_LINEAR),
                           &terms, NULL);
}

static void ppo_act(const corral_params *params, const float *x, size_t rows)
{
    corral_linear_forward(params, 0, 1, CORRAL_TANH, rows, x, scratch[0]);
    corral_linear_forward(params, 2, 3, CORRAL_TANH, rows, scratch[0], scratch[1]);
    corral_linear_forward(params, 4, 5, CORRAL_LINEAR, rows, scratch[1], scratch[0]);
    corral_linear_forward(params, 6, 7, CORRAL_LINEAR, rows, scratch[1], scratch[0] + rows * 2);
}

static void add_humanoid(corral_params *params)
{
    add_matrix(params, "0", 256, 376);
    add_matrix(params, "1", 256, 256);
    add_matrix(params, "2", HUMANOID_OUT, 256);
}

static corral_tensor *humanoid_loss(corral_tape *tape, const float *x, size_t first, size_t count,
                                    size_t rows)
{
    corral_tensor *h = hidden_layers(tape, x, 376, first, count, CORRAL_RELU);
    corral_tensor *target = corral_input(tape, CORRAL_F32, 2, (size_t[]){count, HUMANOID_OUT},
                                         rows_of.numbers + first * HUMANOID_OUT);
    return corral_scale(corral_mse_loss(corral_linear(h, 4, 5, CORRAL_LINEAR), target),
                        (double)count / (double)rows);
}

static void humanoid_act(const corral_params *params, const float *x, size_t rows)
{
    corral_linear_forward(params, 0, 1, CORRAL_RELU, rows, x, scratch[0]);
    corral_linear_forward(params, 2, 3, CORRAL_RELU, rows, scratch[0], scratch[1]);
    corral_linear_forward(params, 4, 5, CORRAL_LINEAR, rows, scratch[1], scratch[0]);
}

static corral_tensor *q_loss(corral_tensor *q, size_t first, size_t rows)
{
    const corral_dqn_terms terms = {.action = rows_of.action + first,
                                    .target = rows_of.target + first,
                                    .huber_delta = 1.0f,
                                    .total_rows = rows};
    return corral_dqn_loss(q, &terms, NULL, NULL);
}

// --- convolutions -----------------------------------------------------------------------------------------

static const corral_window windows[3] = {{8, 8, 4, 0}, {4, 4, 2, 0}, {3, 3, 1, 0}};

static void add_cnn(corral_params *params)
{
    add_matrix(params, "0", 32, 8 * 8 * FRAMES);
    add_matrix(params, "1", 64, 4 * 4 * 32);
    add_matrix(params, "2", 64, 3 * 3 * 64);
    add_matrix(params, "3", 512, FEATURES);
    add_matrix(params, "4", ACTIONS, 512);
}

static corral_tensor *cnn_loss(corral_tape *tape, const float *x, size_t first, size_t count, size_t rows)
{
    const size_t shape[] = {count, SIDE, SIDE, FRAMES};
    corral_tensor *h = corral_input(tape, CORRAL_F32, 4, shape, x + first * SIDE * SIDE * FRAMES);
    for (uint32_t i = 0; i < 3; i++)
        h = corral_conv2d(h, 2 * i, 2 * i + 1, &windows[i], CORRAL_RELU);
    h = corral_linear(corral_reshape(h, 2, (const size_t[]){count, FEATURES}), 6, 7, CORRAL_RELU);
    return q_loss(corral_linear(h, 8, 9, CORRAL_LINEAR), first, rows);
}

static void cnn_act(const corral_params *params, const float *x, size_t rows)
{
    for (size_t r = 0; r < rows; r++, x += SIDE * SIDE * FRAMES) {
        corral_conv2d_forward(params, 0, 1, &windows[0], CORRAL_RELU, 1, SIDE, SIDE, x, images[0]);
        corral_conv2d_forward(params, 2, 3, &windows[1], CORRAL_RELU, 1, 20, 20, images[0], images[1]);
        corral_conv2d_forward(params, 4, 5, &windows[2], CORRAL_RELU, 1, 9, 9, images[1], images[2]);
        corral_linear_forward(params, 6, 7, CORRAL_RELU, 1, images[2], scratch[0]);
        corral_linear_forward(params, 8, 9, CORRAL_LINEAR, 1, scratch[0], scratch[1]);
    }
}

// --- memory -----------------------------------------------------------------------------------------------

static const corral_recurrent lstm = {0, 2, 1, 3};

static void add_lstm(corral_params *params)
{
    add_matrix(params, "input", 4 * UNITS, UNITS);
    add_matrix(params, "hidden", 4 * UNITS, UNITS);
    add_matrix(params, "q", ACTIONS, UNITS);
}

static corral_tensor *lstm_loss(corral_tape *tape, const float *x, size_t first, size_t count, size_t rows)
{
    corral_tensor *input = corral_input(tape, CORRAL_F32, 2, (size_t[]){count, UNITS}, x + first * UNITS);
    corral_tensor *h = corral_lstm(input, &lstm, &(corral_sequences){.steps = STEPS}, NULL);
    return q_loss(corral_linear(h, 4, 5, CORRAL_LINEAR), first, rows);
}

static void lstm_act(const corral_params *params, const float *x, size_t rows)
{
    static float state[2][UNITS], gates[16 * UNITS];
    for (size_t r = 0; r < rows; r++) {
        corral_lstm_step(params, &lstm, 1, x + r * UNITS, NULL, state[0], state[1], gates);
        corral_linear_forward(params, 4, 5, CORRAL_LINEAR, 1, state[0], scratch[0]);
    }
}

// --- all of them ------------------------------------------------------------------------------------------

static const net nets[] = {
    {"ppo", 4, NET_MOST_ROWS, 128, false, 0.5, 64 * (4 + 64 + 3), 64 * 4, add_ppo, ppo_loss, ppo_act},
    {"humanoid", 376, NET_MOST_ROWS, 128, false, 0, 256 * (376 + 256 + 17), 256 * 376, add_humanoid,
     humanoid_loss, humanoid_act},
    {"cnn", SIDE *SIDE *FRAMES, 256, 32, true, 0,
     20 * 20 * 32 * 256 + 9 * 9 * 64 * 512 + 7 * 7 * 64 * 576 + FEATURES * 512 + 512 * ACTIONS,
     20 * 20 * 32 * 256, add_cnn, cnn_loss, cnn_act},
    {"lstm", UNITS, NET_MOST_ROWS, 128, false, 0, 8 * UNITS *UNITS + UNITS *ACTIONS, 4 * UNITS *UNITS,
     add_lstm, lstm_loss, lstm_act},
};

const net *net_of(const char *name)
{
    fill_rows();
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
        if (strncmp(name, nets[i].name, strlen(nets[i].name)) == 0) return &nets[i];
    }
    return NULL;
}
