// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Captured updates: a replay equals recording anew bit for bit, other shapes are recorded and said once,
// nothing is allocated, and what cannot be replayed is said.

#include "corral/core/capture.h"
#include "corral/base/log.h"
#include "small_network.h"

enum { ROWS = 24 };

static char last_line[256];
static int lines;

static void keep_line(void *context, corral_log_level level, const char *line)
{
    (void)context;
    (void)level;
    lines++;
    snprintf(last_line, sizeof last_line, "%s", line);
}

/// What the recording reads beside its inputs: arrays whose contents change from update to update.
typedef struct rig {
    small_network net;
    int32_t action[ROWS];
    float row[4][ROWS], x[ROWS * NET_IN];
    corral_ppo_stats stats;
} rig;

static void refill(rig *r, int update)
{
    for (size_t i = 0; i < ROWS * NET_IN; i++)
        r->x[i] = sinf((float)(i + 31 * (size_t)update) * 0.3f);
    for (size_t i = 0; i < ROWS; i++) {
        r->action[i] = (int32_t)((i + (size_t)update) % NET_ACTIONS);
        for (int k = 0; k < 4; k++)
            r->row[k][i] = cosf((float)(i * (size_t)(k + 2) + (size_t)update)) - (k == 0 ? 1.2f : 0.0f);
    }
    r->stats = (corral_ppo_stats){0};
}

static corral_tensor *ppo_update(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    (void)tape;
    rig *r = context;
    CU_ASSERT_EQUAL(count, 1);
    const corral_ppo_terms terms = {.action = r->action,
                                    .old_log_prob = r->row[0],
                                    .old_value = r->row[1],
                                    .advantage = r->row[2],
                                    .value_target = r->row[3],
                                    .clip_range = 0.2f,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.01f,
                                    .total_rows = ROWS};
    return corral_ppo_loss(small_network_apply(inputs[0], 0), small_network_apply(inputs[0], 4), &terms,
                           &r->stats);
}

/// All the operations that are not in the update above.
static corral_tensor *mixture(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    (void)count;
    const rig *r = context;
    corral_tensor *x = inputs[0], *hidden = small_network_apply(x, 0);
    corral_tensor *value = corral_sum_last(corral_mul(hidden, corral_detach(corral_sigmoid(hidden))));
    corral_tensor *q = corral_dueling(value, hidden);
    const corral_dqn_terms terms = {.action = r->action, .target = r->row[3], .total_rows = ROWS};
    corral_tensor *product =
        corral_matmul(corral_transpose(hidden), corral_reshape(hidden, 2, hidden->shape));
    corral_tensor *chosen = corral_gather(corral_log_softmax(q), r->action);
    corral_tensor *weight = corral_sum(corral_square(corral_parameter(tape, 0)));
    corral_tensor *loss = corral_add(corral_dqn_loss(q, &terms, NULL, NULL), corral_mean(chosen));
    return corral_add(corral_add(loss, corral_scale(weight, 0.01)), corral_mean(corral_abs(product)));
}

static corral_capture_input input_of(const rig *r, size_t rows)
{
    return (corral_capture_input){CORRAL_F32, 2, {rows, NET_IN}, r->x};
}

static void updates_replay(corral_segment *record)
{
    static rig r;
    static float replayed[4096], recorded[4096], moved[ROWS * NET_IN];
    small_network_start(&r.net);
    CU_ASSERT_TRUE_FATAL(corral_params_count(r.net.params) <= 4096);
    corral_capture *capture = NULL;
    corral_tape *tape = NULL;
    TEST_OK(corral_capture_create(record, &r, &capture));
    TEST_OK(corral_tape_create(&tape));
    for (int update = 0; update < 5; update++) {
        const corral_tensor *loss = NULL;
        memset(replayed, 0, sizeof replayed);
        memset(recorded, 0, sizeof recorded);

        refill(&r, update);
        corral_tape_reset(tape, r.net.params, recorded);
        corral_tensor *x = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, NET_IN}, r.x);
        corral_tensor *eager = record(&r, tape, &x, 1);
        TEST_OK(corral_backward(eager));
        const corral_ppo_stats stats = r.stats;

        refill(&r, update);
        corral_capture_input input = input_of(&r, ROWS);
        if (update % 2 == 1) input.data = memcpy(moved, r.x, sizeof moved);
        TEST_OK(corral_capture_run(capture, r.net.params, replayed, &input, 1, &loss));
        CU_ASSERT_EQUAL(memcmp(replayed, recorded, sizeof recorded), 0);
        CU_ASSERT_EQUAL(*(const float *)loss->data, *(const float *)eager->data);
        CU_ASSERT_EQUAL(memcmp(&stats, &r.stats, sizeof stats), 0);

        // The weights move on, as in training.
        memcpy(corral_optimizer_lane(r.net.optimizer, 0), recorded,
               corral_params_count(r.net.params) * sizeof(float));
        TEST_OK(corral_optimizer_step(r.net.optimizer, 1, 1e-2, NULL, NULL));
    }
    CU_ASSERT_TRUE(corral_capture_replays(capture) >= 3);
    CU_ASSERT_EQUAL(corral_capture_misses(capture), 0);
    corral_capture_destroy(capture);
    corral_tape_destroy(tape);
    small_network_finish(&r.net);
}

static void ppo_replays(void)
{
    updates_replay(ppo_update);
}

static void other_operations_replay(void)
{
    updates_replay(mixture);
}

static void other_shapes_are_recorded(void)
{
    static rig r;
    static float gradients[4096];
    const corral_tensor *loss = NULL;
    corral_capture *capture = NULL;
    small_network_start(&r.net);
    refill(&r, 1);
    TEST_OK(corral_capture_create(mixture, &r, &capture));
    const corral_capture_input whole = input_of(&r, ROWS), part = input_of(&r, ROWS - 8);
    lines = 0;
    for (int i = 0; i < 2; i++)
        TEST_OK(corral_capture_run(capture, r.net.params, gradients, &whole, 1, &loss));
    const size_t replays = corral_capture_replays(capture);
    const float first = *(const float *)loss->data;
    CU_ASSERT_EQUAL(lines, 0);
    TEST_OK(corral_capture_run(capture, r.net.params, gradients, &part, 1, &loss));
    CU_ASSERT_NOT_EQUAL(*(const float *)loss->data, first);
    TEST_OK(corral_capture_run(capture, r.net.params, gradients, &part, 1, &loss));
    CU_ASSERT_EQUAL(lines, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(last_line, "capture: other shapes"));
    TEST_OK(corral_capture_run(capture, r.net.params, gradients, &whole, 1, &loss));
    CU_ASSERT_EQUAL(*(const float *)loss->data, first);
    CU_ASSERT_EQUAL(corral_capture_replays(capture), replays + 1);
    CU_ASSERT_EQUAL(corral_capture_misses(capture), 2);
    corral_capture_destroy(capture);
    small_network_finish(&r.net);
}

static void replays_check_indices_again(void)
{
    static rig r;
    static float gradients[4096];
    const corral_tensor *loss = NULL;
    corral_capture *capture = NULL;
    small_network_start(&r.net);
    refill(&r, 0);
    TEST_OK(corral_capture_create(ppo_update, &r, &capture));
    const corral_capture_input input = input_of(&r, ROWS);
    for (int i = 0; i < 3; i++)
        TEST_OK(corral_capture_run(capture, r.net.params, gradients, &input, 1, &loss));
    CU_ASSERT_TRUE(corral_capture_replays(capture) > 0);
    r.action[3] = 77;
    TEST_FAILS(corral_capture_run(capture, r.net.params, gradients, &input, 1, &loss), CORRAL_ERROR_INVALID,
               "ppo_loss: action 77 of row 3");
    r.action[3] = 0;
    TEST_OK(corral_capture_run(capture, r.net.params, gradients, &input, 1, &loss));
    corral_capture_destroy(capture);
    small_network_finish(&r.net);
}

static corral_tensor *segment(void *context, corral_tape *tape, corral_tensor *const *inputs, size_t count)
{
    (void)context;
    (void)tape;
    (void)count;
    return small_network_apply(inputs[0], 0);
}

static corral_tensor *checkpointed(void *context, corral_tape *tape, corral_tensor *const *inputs,
                                   size_t count)
{
    return corral_sum(corral_square(corral_checkpoint(tape, segment, context, inputs, count)));
}

static void segments_replay(void)
{
    updates_replay(checkpointed);
}

int main(void)
{
    corral_log_set_sink(keep_line, NULL);
    return test_run("capture", (test_case[]){{"PPO replays", ppo_replays},
                                             {"other operations replay", other_operations_replay},
                                             {"segments replay", segments_replay},
                                             {"other shapes are recorded", other_shapes_are_recorded},
                                             {"replays check indices again", replays_check_indices_again},
                                             {NULL, NULL}});
}
