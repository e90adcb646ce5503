// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Times of whole networks on one thread beside the machine's peak, measured in the same run: the best of many
// rounds. The Nature DQN network (84 x 84 x 4) with Huber loss, and an LSTM of 128 units over 16 sequences of
// 16 steps: forward, loss, backward. Only the products are counted.

#include "corral/core/init.h"
#include "corral/core/layers.h"

#include "peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 40,
    IMAGES = 64,
    SIDE = 84,
    FRAMES = 4,
    ACTIONS = 6,
    SEQUENCES = 16,
    STEPS = 16,
    UNITS = 128
};
enum { LSTM_ROWS = SEQUENCES * STEPS };

/// One network: its weights, its tape, and one minibatch.
typedef struct bench {
    corral_params *params;
    corral_tape *tape;
    float *x, *gradients;
    int32_t action[LSTM_ROWS];
    float target[LSTM_ROWS];
} bench;

static void must(corral_status status)
{
    if (status == CORRAL_OK) return;
    fprintf(stderr, "corral_layers_bench: %s\n", corral_last_error());
    exit(1);
}

static void add_matrix(corral_params *params, const char *name, size_t out, size_t in)
{
    char full[32];
    uint32_t index;
    snprintf(full, sizeof full, "%s.weight", name);
    must(corral_params_add(params, full, 2, (const size_t[]){out, in}, &index));
    snprintf(full, sizeof full, "%s.bias", name);
    must(corral_params_add(params, full, 1, (const size_t[]){out}, &index));
}

/// Seals the weights and fills everything with numbers that are neither large nor equal.
static void finish(bench *b, size_t inputs)
{
    must(corral_params_seal(b->params));
    for (uint32_t i = 0; i < corral_params_entry_count(b->params); i++)
        must(corral_init_uniform_fan_in(b->params, i, 128, 3 + i));
    must(corral_tape_create(&b->tape));
    b->x = aligned_alloc(64, (inputs * sizeof(float) + 63) / 64 * 64);
    b->gradients = aligned_alloc(64, corral_params_count(b->params) * sizeof(float));
    if (b->x == NULL || b->gradients == NULL) exit(1);
    for (size_t i = 0; i < inputs; i++)
        b->x[i] = (float)(i * 7 % 255) / 255.0f;
    for (size_t r = 0; r < LSTM_ROWS; r++) {
        b->action[r] = (int32_t)(r % ACTIONS);
        b->target[r] = (float)(r % 5) - 2.0f;
    }
}

static void learn(bench *b, corral_tensor *q, size_t rows)
{
    const corral_dqn_terms terms = {
        .action = b->action, .target = b->target, .huber_delta = 1.0f, .total_rows = rows};
    must(corral_backward(corral_dqn_loss(q, &terms, NULL, NULL)));
}

static void start(bench *b)
{
    memset(b->gradients, 0, corral_params_count(b->params) * sizeof(float));
    corral_tape_reset(b->tape, b->params, b->gradients);
}

// --- the convolutional network ----------------------------------------------------------------------------

static const corral_window windows[3] = {{8, 8, 4, 0}, {4, 4, 2, 0}, {3, 3, 1, 0}};

static void make_cnn(bench *b)
{
    must(corral_params_create(CORRAL_F32, &b->params));
    add_matrix(b->params, "conv.0", 32, 8 * 8 * FRAMES);
    add_matrix(b->params, "conv.1", 64, 4 * 4 * 32);
    add_matrix(b->params, "conv.2", 64, 3 * 3 * 64);
    add_matrix(b->params, "hidden", 512, 7 * 7 * 64);
    add_matrix(b->params, "q", ACTIONS, 512);
    finish(b, (size_t)IMAGES * SIDE * SIDE * FRAMES);
}

static void train_cnn(bench *b)
{
    start(b);
    corral_tensor *h =
        corral_input(b->tape, CORRAL_F32, 4, (const size_t[]){IMAGES, SIDE, SIDE, FRAMES}, b->x);
    for (uint32_t i = 0; i < 3; i++)
        h = corral_conv2d(h, 2 * i, 2 * i + 1, &windows[i], CORRAL_RELU);
    h = corral_linear(corral_reshape(h, 2, (const size_t[]){IMAGES, 7 * 7 * 64}), 6, 7, CORRAL_RELU);
    learn(b, corral_linear(h, 8, 9, CORRAL_LINEAR), IMAGES);
}

static double cnn_operations(void)
{
    const double first = 20.0 * 20.0 * 32.0 * 256.0;
    const double all =
        first + 9.0 * 9.0 * 64.0 * 512.0 + 7.0 * 7.0 * 64.0 * 576.0 + 3136.0 * 512.0 + 512.0 * ACTIONS;
    return 2.0 * IMAGES * (3.0 * all - first); // the first layer's input has no gradient
}

static void act_cnn(bench *b)
{
    static float a[20 * 20 * 32], c[9 * 9 * 64], d[7 * 7 * 64], hidden[512], q[ACTIONS];
    corral_conv2d_forward(b->params, 0, 1, &windows[0], CORRAL_RELU, 1, SIDE, SIDE, b->x, a);
    corral_conv2d_forward(b->params, 2, 3, &windows[1], CORRAL_RELU, 1, 20, 20, a, c);
    corral_conv2d_forward(b->params, 4, 5, &windows[2], CORRAL_RELU, 1, 9, 9, c, d);
    corral_linear_forward(b->params, 6, 7, CORRAL_RELU, 1, d, hidden);
    corral_linear_forward(b->params, 8, 9, CORRAL_LINEAR, 1, hidden, q);
}

// --- the recurrent network --------------------------------------------------------------------------------

static const corral_recurrent lstm = {0, 2, 1, 3};

static void make_lstm(bench *b)
{
    must(corral_params_create(CORRAL_F32, &b->params));
    add_matrix(b->params, "input", 4 * UNITS, UNITS);
    add_matrix(b->params, "hidden", 4 * UNITS, UNITS);
    add_matrix(b->params, "q", ACTIONS, UNITS);
    finish(b, (size_t)LSTM_ROWS * UNITS);
}

static void train_lstm(bench *b)
{
    start(b);
    corral_tensor *x = corral_input(b->tape, CORRAL_F32, 2, (const size_t[]){LSTM_ROWS, UNITS}, b->x);
    corral_tensor *h = corral_lstm(x, &lstm, &(corral_sequences){.steps = STEPS}, NULL);
    learn(b, corral_linear(h, 4, 5, CORRAL_LINEAR), LSTM_ROWS);
}

static double lstm_operations(void)
{
    const double input = 4.0 * UNITS * UNITS;
    return 2.0 * LSTM_ROWS * (3.0 * (2.0 * input + UNITS * ACTIONS) - input);
}

static void act_lstm(bench *b)
{
    static float hidden[UNITS], cell[UNITS], scratch[16 * UNITS], q[ACTIONS];
    corral_lstm_step(b->params, &lstm, 1, b->x, NULL, hidden, cell, scratch);
    corral_linear_forward(b->params, 4, 5, CORRAL_LINEAR, 1, hidden, q);
}

// --- measuring --------------------------------------------------------------------------------------------

/// Best time of one call in us.
static double best_us(void (*work)(bench *), bench *b, int calls)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t begin = corral_now_ns();
        for (int i = 0; i < calls; i++)
            work(b);
        const double us = (double)(corral_now_ns() - begin) / calls / 1e3;
        if (us < best) best = us;
    }
    return best;
}

static void report(const char *name, double us, double operations, double peak)
{
    printf("%-24s %10.1f us", name, us);
    if (operations > 0.0) printf("   %5.1f %% of peak", 100.0 * operations / us / 1e3 / peak);
    printf("\n");
}

int main(void)
{
    static bench cnn, recurrent;
    make_cnn(&cnn);
    make_lstm(&recurrent);
    const double peak = measure_peak();
    printf("peak of one thread       %10.1f GFLOP/s\n", peak);
    report("Nature CNN, train 64", best_us(train_cnn, &cnn, 1), cnn_operations(), peak);
    report("Nature CNN, act 1", best_us(act_cnn, &cnn, 20), 0.0, peak);
    report("LSTM 128, train 256", best_us(train_lstm, &recurrent, 10), lstm_operations(), peak);
    report("LSTM 128, act 1", best_us(act_lstm, &recurrent, 200), 0.0, peak);
    return 0;
}
