// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Rollouts and what is made of them: any cutting of the environments into fragments gives the same batch, a
/// slice can change hands.
#include "rig.h"

#define SAME(column, count) CU_ASSERT_EQUAL(memcmp(a.column, b.column, (count) * sizeof *a.column), 0)

static void any_cutting_gives_the_same_batch(void)
{
    rig r;
    rig_init(&r, 15); // short episodes, so that both kinds of end are there
    batch a, b;
    TEST_OK(batch_init(&a, ENVS, STEPS, &r.policy_config));
    play(&r, 1, 2, &a);
    CU_ASSERT_TRUE(a.episode_count > ENVS);
    for (uint32_t parts = 2; parts <= ENVS; parts++) {
        TEST_OK(batch_init(&b, ENVS, STEPS, &r.policy_config));
        play(&r, parts, 2, &b);
        SAME(raw, a.rows * a.observation_bytes);
        SAME(observation, a.rows * a.observation_size);
        SAME(action, a.rows);
        SAME(log_prob, a.rows);
        SAME(advantage, a.rows);
        SAME(target, a.rows);
        CU_ASSERT_EQUAL(a.usable_count, b.usable_count);
        CU_ASSERT_EQUAL_FATAL(a.episode_count, b.episode_count);
        for (size_t i = 0; i < a.episode_count; i++) {
            CU_ASSERT_EQUAL(a.episodes[i].environment, b.episodes[i].environment);
            CU_ASSERT_EQUAL(a.episodes[i].step, b.episodes[i].step);
            CU_ASSERT_EQUAL(a.episodes[i].episode_return, b.episodes[i].episode_return);
        }
        batch_finish(&b);
    }
    batch_finish(&a);
    rig_finish(&r);
}

static void every_step_is_a_row_and_no_reset_is(void)
{
    rig r;
    rig_init(&r, 5); // CartPole cannot fall within 5 steps
    batch b;
    TEST_OK(batch_init(&b, ENVS, STEPS, &r.policy_config));
    play(&r, 1, 1, &b);
    CU_ASSERT_EQUAL(b.usable_count, ENVS * STEPS);
    CU_ASSERT_EQUAL(b.episode_count, ENVS * STEPS / 5);
    for (size_t i = 0; i < b.episode_count; i++) {
        CU_ASSERT_EQUAL(b.episodes[i].length, 5);
        CU_ASSERT_EQUAL(b.episodes[i].episode_return, 5);
        CU_ASSERT_TRUE(b.episodes[i].truncated && !b.episodes[i].terminated);
    }
    for (size_t row = 0; row < b.rows; row++) {
        CU_ASSERT_EQUAL(b.truncated[row], row % 5 == 4);
        CU_ASSERT_EQUAL(b.terminated[row], 0);
        CU_ASSERT_EQUAL(b.reward[row], 1);
        if (row % 5 == 4) CU_ASSERT_NOT_EQUAL(b.final_value[row], 0);
    }
    batch_finish(&b);
    rig_finish(&r);
}

static void a_slice_can_change_hands(void)
{
    rig r;
    rig_init(&r, 15);
    rollout_slice *first, *second;
    TEST_OK(rollout_slice_create(&r.config, &r.setup, 2, 3, &first));
    TEST_OK(rollout_slice_create(&r.config, &r.setup, 2, 3, &second));
    const corral_fragment_layout *layout = rollout_slice_layout(first);
    const size_t capacity = (layout->capacity + 63) / 64 * 64;
    char *one = aligned_alloc(64, capacity), *two = aligned_alloc(64, capacity);
    CU_ASSERT_FATAL(one != NULL && two != NULL);
    memset(one, 0, capacity);
    memset(two, 0, capacity);
    size_t length;
    rollout_request request = {.env_begin = 2, .env_count = 3};
    TEST_OK(rollout_slice_seek(first, &request, NULL));
    TEST_OK(rollout_slice_collect(first, r.policy, 0, NULL, one, capacity, &length));
    corral_fragment fragment;
    TEST_OK(corral_fragment_open(layout, one, length, &fragment));

    // The other slice gets what the fragment carries: states, and the last observations.
    const size_t states = 3 * layout->spec.state_bytes, row = layout->spec.observation_bytes;
    char *state = malloc(states + 3 * row);
    CU_ASSERT_PTR_NOT_NULL_FATAL(state);
    memcpy(state, fragment.state, states);
    for (size_t e = 0; e < 3; e++)
        memcpy(state + states + e * row, fragment.observation + (e * (STEPS + 1) + STEPS) * row, row);
    request.first_step = STEPS;
    TEST_FAILS(rollout_slice_seek(second, &request, NULL), CORRAL_ERROR_STALE, "stand at step 0");
    request.state_bytes = (uint32_t)(states + 3 * row);
    TEST_OK(rollout_slice_seek(second, &request, state));
    request.state_bytes = 0;
    TEST_OK(rollout_slice_seek(first, &request, NULL));
    size_t other_length;
    TEST_OK(rollout_slice_collect(first, r.policy, 0, NULL, one, capacity, &length));
    TEST_OK(rollout_slice_collect(second, r.policy, 0, NULL, two, capacity, &other_length));
    CU_ASSERT_EQUAL(length, other_length);
    batch a, b;
    corral_fragment other;
    TEST_OK(corral_fragment_open(layout, one, length, &fragment));
    TEST_OK(corral_fragment_open(layout, two, other_length, &other));
    fragment.header.env_begin = other.header.env_begin = 0;
    TEST_OK(batch_init(&a, 3, STEPS, &r.policy_config));
    TEST_OK(batch_init(&b, 3, STEPS, &r.policy_config));
    TEST_OK(batch_gather(&a, &fragment, 1, r.policy));
    TEST_OK(batch_gather(&b, &other, 1, r.policy));
    SAME(raw, a.rows * a.observation_bytes);
    SAME(action, a.rows);
    CU_ASSERT_EQUAL(memcmp(fragment.state, other.state, states), 0);
    batch_finish(&a);
    batch_finish(&b);
    free(state);
    free(one);
    free(two);
    rollout_slice_destroy(first);
    rollout_slice_destroy(second);
    rig_finish(&r);
}

int main(void)
{
    return test_run("rollout",
                    (test_case[]){
                        {"any cutting gives the same batch", any_cutting_gives_the_same_batch},
                        {"every step is a row and no reset is", every_step_is_a_row_and_no_reset_is},
                        {"a slice can change hands", a_slice_can_change_hands},
                        {NULL, NULL},
                    });
}
