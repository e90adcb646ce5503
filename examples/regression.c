// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A regression with the engine alone: a small network learns y = sin(3 x) from noisy samples.
//
//     cc examples/regression.c $(pkg-config --cflags --libs corral) -lm -o regression && ./regression
#include <corral/base/rng.h>
#include <corral/core/init.h>
#include <corral/core/ops.h>
#include <corral/core/optim.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 64, HIDDEN = 32, STEPS = 2000 };

static corral_status add_layer(corral_params *params, const char *name, size_t out, size_t in)
{
    char full[32];
    uint32_t weight, bias;
    snprintf(full, sizeof full, "%s.weight", name);
    corral_status status = corral_params_add(params, full, 2, (size_t[]){out, in}, &weight);
    snprintf(full, sizeof full, "%s.bias", name);
    return status == CORRAL_OK ? corral_params_add(params, full, 1, (size_t[]){out}, &bias) : status;
}

/// Entries come in the order in which they were added: a layer's weight, then its bias.
static corral_tensor *network(corral_tensor *x)
{
    return corral_linear(corral_linear(x, 0, 1, CORRAL_TANH), 2, 3, CORRAL_LINEAR);
}

static corral_status train(corral_params *params, corral_optimizer *optimizer, corral_tape *tape,
                           float *out_loss)
{
    float x[ROWS], y[ROWS];
    corral_rng rng;
    corral_rng_seed(&rng, 1);
    corral_status status = CORRAL_OK;
    for (int step = 0; step < STEPS && status == CORRAL_OK; step++) {
        for (int i = 0; i < ROWS; i++) {
            x[i] = (float)corral_rng_uniform(&rng, -1, 1);
            y[i] = sinf(3 * x[i]) + (float)corral_rng_uniform(&rng, -0.05, 0.05);
        }
        corral_tape_reset(tape, params, corral_optimizer_lane(optimizer, 0));
        const size_t shape[] = {ROWS, 1};
        corral_tensor *input = corral_input(tape, CORRAL_F32, 2, shape, x);
        corral_tensor *loss = corral_mse_loss(network(input), corral_input(tape, CORRAL_F32, 2, shape, y));
        status = corral_backward(loss); // tells of any mistake since the reset
        if (status != CORRAL_OK) break;
        *out_loss = *(const float *)loss->data;
        status = corral_optimizer_step(optimizer, 1, 3e-3, NULL, NULL);
    }
    return status;
}

int main(void)
{
    corral_params *params = NULL;
    corral_optimizer *optimizer = NULL;
    corral_tape *tape = NULL;
    float loss = INFINITY;
    const corral_optimizer_config config = corral_optimizer_config_default(); // Adam
    corral_status status = corral_params_create(CORRAL_F32, &params);
    if (status == CORRAL_OK) status = add_layer(params, "hidden", HIDDEN, 1);
    if (status == CORRAL_OK) status = add_layer(params, "output", 1, HIDDEN);
    if (status == CORRAL_OK) status = corral_params_seal(params);
    for (uint32_t i = 0; i < 4 && status == CORRAL_OK; i++)
        status = corral_init_uniform_fan_in(params, i, i < 2 ? 1 : HIDDEN, i);
    if (status == CORRAL_OK) status = corral_optimizer_create(&config, params, &optimizer);
    if (status == CORRAL_OK) status = corral_tape_create(&tape);
    if (status == CORRAL_OK) status = train(params, optimizer, tape, &loss);
    if (status != CORRAL_OK) fprintf(stderr, "regression: %s\n", corral_last_error());
    printf("mean squared error after %d steps: %.4f\n", STEPS, (double)loss);
    corral_tape_destroy(tape);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
    return status == CORRAL_OK && loss < 0.01f ? 0 : 1;
}
