// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a GPU does with the kernels: the bandwidth and the products that this very run measures, each
/// kernel's share of that bandwidth, and a whole minibatch of PPO. Lines of
/// `name<TAB>value<TAB>unit<TAB>share`. The argument `small` takes sizes that the shim bears: it tests the
/// program and measures nothing.
#include "device/learner.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const corral_device_table *table;
static corral_stream *stream;
static double bandwidth; // bytes per second, measured
static int repeats = 50;

static void must(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void *room(size_t bytes)
{
    void *memory = table->allocate(bytes);
    must(memory != NULL, "the device has too little memory");
    table->zero(stream, memory, bytes);
    return memory;
}

static double seconds_since(int64_t start)
{
    const char *failure = table->wait(stream);
    must(failure == NULL, failure);
    return (double)(corral_now_ns() - start) * 1e-9;
}

/// Seconds of one of many calls, the best of five rounds.
static double time_of(void (*work)(void *context), void *context)
{
    double best = 1e9;
    work(context);
    for (int round = 0; round < 5; round++) {
        (void)seconds_since(0);
        const int64_t start = corral_now_ns();
        for (int i = 0; i < repeats; i++)
            work(context);
        const double seconds = seconds_since(start) / repeats;
        if (seconds < best) best = seconds;
    }
    return best;
}

static void print(const char *name, double value, const char *unit, double share)
{
    if (share > 0)
        printf("%s\t%.4g\t%s\t%.0f %%\n", name, value, unit, 100 * share);
    else
        printf("%s\t%.4g\t%s\t\n", name, value, unit);
}

// --- limits -----------------------------------------------------------------------------------------------

typedef struct blocks {
    size_t count; // floats
    float *x, *y, *z;
    size_t rows, width;
    float *bias;
    double *partial, *sum;
    corral_bf16 *half;
} blocks;

static void copy_block(void *context)
{
    const blocks *b = context;
    table->copy(stream, b->y, b->x, b->count * sizeof(float));
}

static void measure_product(const blocks *b, size_t n, int half)
{
    corral_product p = {.m = n, .n = n, .k = n, .a = b->x, .b = b->y, .c = b->z, .transpose_b = 1};
    p.half = (uint8_t)half;
    table->product(stream, &p);
    const int64_t start = seconds_since(0) >= 0 ? corral_now_ns() : 0;
    for (int i = 0; i < repeats; i++)
        table->product(stream, &p);
    const double seconds = seconds_since(start) / repeats;
    print(half ? "product, bf16" : "product, f32", 2.0 * (double)(n * n * n) / seconds * 1e-12, "TFLOP/s", 0);
}

// --- kernels ----------------------------------------------------------------------------------------------

static void bias_activation(void *context)
{
    const blocks *b = context;
    table->bias_activation(stream, b->rows, b->width, CORRAL_TANH, b->bias, b->x, b->half);
}

static void activation_gradient(void *context)
{
    const blocks *b = context;
    table->activation_gradient(stream, b->rows, b->width, CORRAL_TANH, b->x, b->y, b->half, b->z, b->bias);
}

static void sum_up(void *context)
{
    const blocks *b = context;
    table->sum(stream, b->count, b->x, b->partial, b->sum);
}

static void log_softmax(void *context)
{
    const blocks *b = context;
    table->log_softmax(stream, b->rows, b->width, b->x, b->y);
}

static void adam(void *context)
{
    static corral_device_control *control;
    const blocks *b = context;
    if (control == NULL) {
        const corral_device_control at_first = {.learning_rate = 1e-4, .scale = 1};
        control = room(sizeof *control);
        table->copy(stream, control, &at_first, sizeof at_first);
    }
    const size_t count = b->count / 4;
    const corral_device_step step = {.count = count,
                                     .weight = b->x,
                                     .first = b->x + count,
                                     .second = b->x + 2 * count,
                                     .gradient = b->y,
                                     .squares = b->partial,
                                     .partial = b->partial,
                                     .rows = 1,
                                     .beta1 = 0.9,
                                     .beta2 = 0.999,
                                     .epsilon = 1e-8};
    table->step(stream, &step, control);
}

static void measure(const char *name, void (*work)(void *context), blocks *b, double bytes)
{
    const double seconds = time_of(work, b);
    print(name, bytes / seconds * 1e-9, "GB/s", bytes / seconds / bandwidth);
}

static void measure_kernels(blocks *b)
{
    const double f = (double)(b->count * sizeof(float));
    measure("bias and tanh, with a copy in bf16", bias_activation, b, 2.5 * f);
    measure("its gradient, with that of the bias", activation_gradient, b, 3.5 * f);
    measure("sum", sum_up, b, f);
    measure("log softmax", log_softmax, b, 2 * f);
    measure("norm, clip and Adam", adam, b, 2 * f); // a quarter of the floats, eight times
}

// --- PPO --------------------------------------------------------------------------------------------------

enum { OBSERVATION = 64, ACTIONS = 8, WIDTH = 256, HIDDEN = 3 };

static corral_dense_network make_network(corral_params *params)
{
    corral_dense_network network = {0};
    for (uint32_t i = 0; i < HIDDEN + 2; i++) {
        const size_t out = i < HIDDEN ? WIDTH : i == HIDDEN ? ACTIONS : 1, in = i == 0 ? OBSERVATION : WIDTH;
        char name[32];
        corral_dense_layer *layer = &network.layers[network.count++];
        snprintf(name, sizeof name, "%u.weight", i);
        must(corral_params_add(params, name, 2, (size_t[]){out, in}, &layer->weight) == CORRAL_OK, "weight");
        snprintf(name, sizeof name, "%u.bias", i);
        must(corral_params_add(params, name, 1, (size_t[]){out}, &layer->bias) == CORRAL_OK, "bias");
        layer->input = i < HIDDEN ? i : HIDDEN;
        layer->activation = i < HIDDEN ? CORRAL_TANH : CORRAL_LINEAR;
    }
    network.actor = HIDDEN;
    network.critic = HIDDEN + 1;
    must(corral_params_seal(params) == CORRAL_OK, "parameters");
    float *weights = corral_params_data(params);
    for (size_t i = 0; i < corral_params_count(params); i++)
        weights[i] = (float)(i * 2654435761u % 1000) * 1e-4f - 0.05f;
    return network;
}

static void *host_room(size_t bytes)
{
    void *memory = calloc(1, bytes);
    must(memory != NULL, "no memory");
    return memory;
}

/// One update of `minibatches` minibatches; seconds of one of them.
static double time_update(corral_device_learner *l, const corral_device_batch *batch, const uint32_t *order,
                          size_t rows, size_t minibatches)
{
    const corral_device_ppo_moment now = {
        .learning_rate = 3e-4, .clip_range = 0.2f, .entropy_coefficient = 0.01f};
    corral_device_result result;
    bool stop;
    must(corral_device_ppo_begin(l, batch, &now) == CORRAL_OK, corral_last_error());
    must(corral_device_wait(l->device, l->work) == CORRAL_OK, corral_last_error());
    const int64_t start = corral_now_ns();
    must(corral_device_ppo_epoch(l, order, rows, &stop) == CORRAL_OK, corral_last_error());
    must(corral_device_wait(l->device, l->work) == CORRAL_OK, corral_last_error());
    const double seconds = (double)(corral_now_ns() - start) * 1e-9 / (double)minibatches;
    must(corral_device_ppo_finish(l, &result) == CORRAL_OK, corral_last_error());
    must(result.minibatches == minibatches, "minibatches were skipped");
    return seconds;
}

static void measure_ppo(corral_device *device, const char *name, corral_precision precision, bool eager,
                        size_t minibatch, size_t minibatches)
{
    const size_t rows = minibatch * minibatches;
    corral_params *params;
    corral_device_learner *l;
    must(corral_params_create(CORRAL_F32, &params) == CORRAL_OK, "parameters");
    corral_device_ppo_config config = {
        .envs = rows / 16, .steps = 16, .epochs = 1, .gamma = 0.99, .lambda = 0.95};
    config.value_coefficient = 0.5f;
    config.normalize_advantage = true;
    config.learner = (corral_device_learner_config){.params = params,
                                                    .network = make_network(params),
                                                    .optimizer = corral_optimizer_config_default(),
                                                    .precision = precision,
                                                    .observation_size = OBSERVATION,
                                                    .actions = ACTIONS,
                                                    .minibatch = minibatch,
                                                    .eager = eager};
    config.learner.optimizer.max_grad_norm = 0.5;
    must(corral_device_ppo_create(device, &config, &l) == CORRAL_OK, corral_last_error());
    must(corral_device_learner_load(l, &(corral_device_state){.weights = corral_params_data(params)}) ==
             CORRAL_OK,
         corral_last_error());
    float *observation = host_room(rows * OBSERVATION * sizeof *observation), *zeros = host_room(rows * 4);
    float *log_prob = host_room(rows * 4), *advantage = host_room(rows * 4), *target = host_room(rows * 4);
    float *reward = host_room(rows * 4);
    uint32_t *order = host_room(rows * sizeof *order);
    for (size_t i = 0; i < rows * OBSERVATION; i++)
        observation[i] = (float)(i * 40503u % 997) * 2e-3f - 1;
    for (size_t i = 0; i < rows; i++) {
        log_prob[i] = -2.0794f; // of one action in eight
        reward[i] = (float)(i % 7);
        order[i] = (uint32_t)(i * 7919 % rows);
    }
    const corral_device_batch batch = {.observation = observation,
                                       .action = (const int32_t *)(const void *)zeros,
                                       .log_prob = log_prob,
                                       .reward = reward,
                                       .value = zeros,
                                       .last_value = zeros,
                                       .final_value = zeros,
                                       .terminated = (const uint8_t *)zeros,
                                       .truncated = (const uint8_t *)zeros,
                                       .advantage = advantage,
                                       .target = target};
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        const double seconds = time_update(l, &batch, order, rows, minibatches);
        if (seconds < best) best = seconds;
    }
    print(name, best * 1e6, "us", 0);
    void *const all[] = {observation, zeros, log_prob, advantage, target, reward, order};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    corral_device_learner_destroy(l);
    corral_params_destroy(params);
}

int main(int argc, char **argv)
{
    const bool small = argc > 1 && strcmp(argv[1], "small") == 0;
    corral_device *device;
    if (corral_device_open(&device) != CORRAL_OK) {
        fprintf(stderr, "bench: %s\n", corral_last_error());
        return 77;
    }
    table = device->table;
    stream = table->stream_create();
    if (small) repeats = 1;
    const size_t count = small ? 1 << 14 : 1 << 28, n = small ? 64 : 8192;
    blocks b = {.count = count, .rows = count / 256, .width = 256};
    b.x = room(count * sizeof(float));
    b.y = room(count * sizeof(float));
    b.z = room(count * sizeof(float));
    b.bias = room(256 * sizeof(float));
    b.partial = room((count / CORRAL_DEVICE_CHUNK + CORRAL_DEVICE_SUMS) * sizeof(double));
    b.sum = room(sizeof(double));
    b.half = room(count * sizeof(corral_bf16));
    bandwidth = 2.0 * (double)(count * sizeof(float)) / time_of(copy_block, &b);
    print("copy inside the device", bandwidth * 1e-9, "GB/s", 1);
    measure_product(&b, n, 0);
    measure_product(&b, n, 1);
    measure_kernels(&b);
    void *const all[] = {b.x, b.y, b.z, b.bias, b.partial, b.sum, b.half};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        table->release(all[i]);
    const size_t rows = small ? 64 : 32768, minibatches = small ? 3 : 16;
    measure_ppo(device, "PPO, 256 x 3, f32, graph", CORRAL_PRECISION_F32, false, rows, minibatches);
    measure_ppo(device, "PPO, 256 x 3, bf16, graph", CORRAL_PRECISION_BF16, false, rows, minibatches);
    measure_ppo(device, "PPO, 256 x 3, bf16, step by step", CORRAL_PRECISION_BF16, true, rows, minibatches);
    table->stream_destroy(stream);
    corral_device_close(device);
    return 0;
}
