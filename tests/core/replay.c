// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Layers, distributions, losses, functions and moves in a captured update: it is replayed, and gives the bits
// of a recording, also where indices, actions and a dropout's counter have changed in between.

#include "corral/core/capture.h"
#include "corral/core/distributions.h"
#include "corral/core/elements.h"
#include "corral/core/layers.h"
#include "corral/core/losses.h"
#include "corral/core/shapes.h"

#include "test.h"

enum { ROWS = 6, SIZE = 6, PIXELS = SIZE * SIZE, HIDDEN = 10, ATOMS = 5, ACTIONS = 2 };

/// What the recording reads beside its input.
typedef struct rig {
    int32_t choice[ROWS], action[ROWS];
    uint64_t counter;
    uint8_t reset[ROWS], allowed[ROWS * HIDDEN];
    float target[ROWS * ATOMS], old[ROWS], number[ROWS];
} rig;

static void refill(rig *r, size_t update)
{
    r->counter = 100 * update;
    for (size_t i = 0; i < ROWS; i++) {
        r->choice[i] = (int32_t)((i * 3 + update) % HIDDEN);
        r->action[i] = (int32_t)((i + update) % ACTIONS);
        r->reset[i] = (i + update) % 4 == 0;
        r->old[i] = -2.0f - 0.1f * (float)((i + update) % 3);
        r->number[i] = (float)((i + update) % 5) - 2.0f;
    }
    for (size_t i = 0; i < ROWS * HIDDEN; i++)
        r->allowed[i] = (i + update) % 7 != 0;
    for (size_t i = 0; i < ROWS * ATOMS; i++)
        r->target[i] = (i + update) % ATOMS == i / ATOMS % 3 ? 1.0f : 0.0f;
}

static corral_tensor *network(corral_tensor *x, const rig *r)
{
    static double mean[2], variance[2];
    const corral_batch_statistics statistics = {1e-5, 0.1, mean, variance};
    const corral_window window = {3, 3, 1, 0}, pool = {2, 2, 2, 0};
    corral_tensor *seen = corral_conv2d(x, 0, 1, &window, CORRAL_RELU);
    corral_tensor *back = corral_conv_transpose2d(seen, 10, 11, &window, 0, CORRAL_TANH);
    corral_tensor *level = corral_mean(corral_square(corral_batch_norm(back, 12, 13, &statistics, true)));
    corral_tensor *h = corral_max_pool2d(seen, &pool);
    h = corral_reshape(h, 2, (const size_t[]){ROWS, 4 * HIDDEN});
    h = corral_dropout(corral_silu(h), 0.2, 5, &r->counter);
    const corral_recurrent lstm = {2, 3, 4, 5}, gru = {6, 7, 8, 9};
    const corral_sequences sequences = {.steps = 3, .reset = r->reset};
    corral_tensor *cell;
    h = corral_lstm(h, &lstm, &sequences, &cell);
    h = corral_add(h, corral_gelu(cell));
    return corral_mul(corral_gru(h, &gru, &sequences), level);
}

static corral_tensor *losses(corral_tensor *h, const rig *r)
{
    static const size_t parts[] = {4, 6};
    static const uint32_t order[] = {1, 0};
    corral_tensor *logits = corral_mask_logits(h, r->allowed);
    const corral_c51_terms c51 = {.support = {ACTIONS, ATOMS, -1.0f, 1.0f},
                                  .action = r->action,
                                  .target = r->target,
                                  .total_rows = ROWS};
    const corral_ppo_terms ppo = {.old_log_prob = r->old,
                                  .old_value = r->number,
                                  .advantage = r->number,
                                  .value_target = r->number,
                                  .clip_range = 0.2f,
                                  .value_coefficient = 0.5f,
                                  .entropy_coefficient = 0.1f,
                                  .total_rows = ROWS};
    const corral_quantile_terms quantile = {.actions = ACTIONS,
                                            .quantiles = ATOMS,
                                            .targets = 1,
                                            .action = r->action,
                                            .target = r->number,
                                            .huber_delta = 1.0f,
                                            .total_rows = ROWS};
    corral_tensor *mean = corral_slice(h, 1, 0, 3), *log_std = corral_slice(h, 1, 3, 3);
    corral_tensor *log_prob = corral_squashed_normal_log_prob(mean, log_std, corral_slice(h, 1, 6, 3));
    corral_tensor *entropy =
        corral_add(corral_categorical_entropy(logits, 2, parts), corral_bernoulli_entropy(h));
    corral_tensor *alpha = corral_softplus(mean), *beta = corral_softplus(log_std);
    log_prob =
        corral_add(log_prob, corral_beta_log_prob(alpha, beta, corral_sigmoid(corral_slice(h, 1, 6, 3))));
    corral_tensor *loss = corral_ppo_rows_loss(
        log_prob, entropy, corral_max_over(h, CORRAL_DIMENSION(1), false), NULL, &ppo, NULL);
    loss = corral_add(loss, corral_c51_loss(h, &c51, NULL, NULL));
    loss = corral_add(loss, corral_quantile_loss(h, &quantile, NULL, NULL));
    corral_tensor *chosen = corral_index_select(corral_permute(h, order), 0, r->choice, ROWS);
    corral_tensor *moved =
        corral_cat(2, (corral_tensor *const[]){chosen, corral_pad(chosen, 1, 1, 2, 0.5)}, 1);
    moved = corral_where(corral_greater(moved, corral_constant(h->tape, CORRAL_F32, 0.1)), moved,
                         corral_pow(moved, 2.0));
    return corral_add(
        loss, corral_mean(corral_add(corral_norm(moved, CORRAL_DIMENSION(1), false),
                                     corral_sum_over(corral_top_k(h, 2, NULL), CORRAL_DIMENSION(1), false))));
}

static corral_tensor *record(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    (void)tape, (void)count;
    return losses(network(inputs[0], context), context);
}

static corral_params *make_params(void)
{
    static const struct {
        uint32_t dimension_count;
        size_t shape[2];
    } entries[] = {
        {2, {HIDDEN, 9}},  {1, {HIDDEN}},     {2, {4 * HIDDEN, 4 * HIDDEN}}, {2, {4 * HIDDEN, HIDDEN}},
        {1, {4 * HIDDEN}}, {1, {4 * HIDDEN}}, {2, {3 * HIDDEN, HIDDEN}},     {2, {3 * HIDDEN, HIDDEN}},
        {1, {3 * HIDDEN}}, {1, {3 * HIDDEN}}, {2, {HIDDEN, 9 * 2}},          {1, {2}},
        {1, {2}},          {1, {2}}};
    corral_params *params = NULL;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) {
        char name[16];
        uint32_t index;
        snprintf(name, sizeof name, "entry.%zu", e);
        TEST_OK(corral_params_add(params, name, entries[e].dimension_count, entries[e].shape, &index));
    }
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < corral_params_count(params); i++)
        ((float *)corral_params_data(params))[i] = 0.4f * sinf(1.7f * (float)i);
    corral_params_refresh(params);
    return params;
}

static void a_replay_gives_the_bits_of_a_recording(void)
{
    rig r;
    float x[ROWS * PIXELS];
    corral_params *params = make_params();
    const size_t bytes = corral_params_count(params) * sizeof(float);
    float *captured = malloc(bytes), *recorded = malloc(bytes);
    corral_capture *capture = NULL;
    corral_tape *tape = NULL;
    TEST_OK(corral_capture_create(record, &r, &capture));
    TEST_OK(corral_tape_create(&tape));
    for (size_t update = 0; update < 5; update++) {
        refill(&r, update);
        for (size_t i = 0; i < ROWS * PIXELS; i++)
            x[i] = cosf(0.3f * (float)(i + 13 * update));
        memset(captured, 0, bytes);
        memset(recorded, 0, bytes);
        const corral_capture_input input = {
            .dtype = CORRAL_F32, .dimension_count = 4, .shape = {ROWS, SIZE, SIZE, 1}, .data = x};
        const corral_tensor *loss;
        TEST_OK(corral_capture_run(capture, params, captured, &input, 1, &loss));
        corral_tape_reset(tape, params, recorded);
        corral_tensor *again = losses(network(corral_input(tape, CORRAL_F32, 4, input.shape, x), &r), &r);
        TEST_OK(corral_backward(again));
        CU_ASSERT_EQUAL(*(const float *)loss->data, *(const float *)again->data);
        CU_ASSERT_TRUE(isfinite(*(const float *)loss->data));
        CU_ASSERT_EQUAL(memcmp(captured, recorded, bytes), 0);
    }
    CU_ASSERT_TRUE(corral_capture_replays(capture) >= 3);
    CU_ASSERT_EQUAL(corral_capture_misses(capture), 0);
    corral_tape_destroy(tape);
    corral_capture_destroy(capture);
    corral_params_destroy(params);
    free(captured);
    free(recorded);
}

int main(void)
{
    return test_run("replay", (test_case[]){{"a replay gives the bits of a recording",
                                             a_replay_gives_the_bits_of_a_recording},
                                            {NULL, NULL}});
}
