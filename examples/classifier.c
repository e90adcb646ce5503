// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A classifier with the engine alone: which of three spiral arms is a point on?
//     cc examples/classifier.c $(pkg-config --cflags --libs corral) -lm -o classifier && ./classifier
#include <corral/base/rng.h>
#include <corral/core/init.h>
#include <corral/core/ops.h>
#include <corral/core/optim.h>

#include <math.h>
#include <stdio.h>

enum { ARMS = 3, ROWS = 96, HIDDEN = 48, STEPS = 1500 };

static void draw_points(corral_rng *rng, float (*point)[2], int32_t *arm)
{
    for (int i = 0; i < ROWS; i++) {
        arm[i] = i % ARMS;
        const double radius = corral_rng_uniform(rng, 0.1, 1);
        const double angle = 4 * radius + 2.0944 * arm[i] + corral_rng_uniform(rng, -0.15, 0.15);
        point[i][0] = (float)(radius * cos(angle));
        point[i][1] = (float)(radius * sin(angle));
    }
}

static corral_tensor *network(corral_tensor *x)
{
    corral_tensor *hidden = corral_linear(corral_linear(x, 0, 1, CORRAL_RELU), 2, 3, CORRAL_RELU);
    return corral_linear(hidden, 4, 5, CORRAL_LINEAR);
}

/// Three layers, [out, in] and [out] each, and their first weights.
static corral_status build(corral_params *params)
{
    static const char *const name[] = {"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"};
    static const size_t width[] = {2, HIDDEN, HIDDEN, ARMS};
    corral_status status = CORRAL_OK;
    uint32_t index;
    for (uint32_t i = 0; i < 6 && status == CORRAL_OK; i++)
        status = corral_params_add(params, name[i], i % 2 == 0 ? 2 : 1,
                                   (size_t[]){width[i / 2 + 1], width[i / 2]}, &index);
    if (status == CORRAL_OK) status = corral_params_seal(params);
    for (uint32_t i = 0; i < 6 && status == CORRAL_OK; i += 2)
        status = corral_init_orthogonal(params, i, 1.4, i);
    return status;
}

int main(void)
{
    corral_params *params = NULL;
    corral_optimizer *optimizer = NULL;
    corral_tape *tape = NULL;
    corral_rng rng;
    float point[ROWS][2];
    int32_t arm[ROWS], guess[ROWS], right = 0;
    corral_rng_seed(&rng, 1);
    const corral_optimizer_config config = corral_optimizer_config_default(); // Adam
    corral_status status = corral_params_create(CORRAL_F32, &params);
    if (status == CORRAL_OK) status = build(params);
    if (status == CORRAL_OK) status = corral_optimizer_create(&config, params, &optimizer);
    if (status == CORRAL_OK) status = corral_tape_create(&tape);
    for (int step = 0; step <= STEPS && status == CORRAL_OK; step++) {
        draw_points(&rng, point, arm);
        corral_tape_reset(tape, params, corral_optimizer_lane(optimizer, 0));
        corral_tensor *logits = network(corral_input(tape, CORRAL_F32, 2, (size_t[]){ROWS, 2}, point));
        status = corral_backward(corral_neg(corral_mean(corral_gather(corral_log_softmax(logits), arm))));
        if (status == CORRAL_OK && step == STEPS) corral_categorical_mode(ROWS, ARMS, logits->data, guess);
        if (status == CORRAL_OK) status = corral_optimizer_step(optimizer, 1, 3e-3, NULL, NULL);
    }
    for (int i = 0; i < ROWS && status == CORRAL_OK; i++)
        right += guess[i] == arm[i];
    if (status != CORRAL_OK) fprintf(stderr, "classifier: %s\n", corral_last_error());
    printf("%d of %d new points on the right arm\n", right, ROWS);
    corral_tape_destroy(tape);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
    return right >= ROWS * 9 / 10 ? 0 : 1;
}
