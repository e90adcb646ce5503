// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Rollouts and what is made of them: any cutting of the environments into fragments gives the same batch, a
/// slice can change hands, the first minibatch's ratio is exactly 1.
#include "test.h"

#include "learner/batch.h"
#include "ppo/ppo.h"
#include "rollout/rollout.h"

enum { ENVS = 6, STEPS = 40 };

typedef struct rig {
    environment_setup setup;
    rollout_config config;
    corral_policy_config policy_config;
    corral_policy *policy;
    corral_train_config train;
} rig;

static void rig_init(rig *r, int64_t max_episode_steps)
{
    memset(r, 0, sizeof *r);
    r->train = corral_train_config_default();
    strcpy(r->train.env, "CartPole-v1");
    r->train.ppo.steps = STEPS;
    r->train.seed = 4;
    r->train.max_episode_steps = max_episode_steps;
    TEST_OK(environment_setup_init(&r->setup, r->train.env, NULL));
    r->policy_config.observation_size = r->setup.observation_size;
    r->policy_config.action_count = r->setup.action_count;
    r->policy_config.hidden = (corral_sizes){2, {32, 32}};
    r->policy_config.activation = CORRAL_TANH;
    r->policy_config.normalize_observation = true;
    r->policy_config.observation_clip = 10;
    TEST_OK(corral_policy_create(&r->policy_config, 4, &r->policy));
    TEST_OK(rollout_config_init(&r->config, &r->train, &r->setup, &r->policy_config));
}

static void rig_finish(rig *r)
{
    corral_policy_destroy(r->policy);
}

/// Plays `rounds` rounds with the environments cut into `parts` slices, and puts the last one into `b`.
static void play(rig *r, uint32_t parts, int rounds, batch *b)
{
    rollout_slice *slices[ENVS];
    void *blocks[ENVS];
    corral_fragment fragments[ENVS];
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t begin = ENVS * i / parts, end = ENVS * (i + 1) / parts;
        TEST_OK(rollout_slice_create(&r->config, &r->setup, begin, end - begin, &slices[i]));
        blocks[i] = aligned_alloc(64, (rollout_slice_layout(slices[i])->capacity + 63) / 64 * 64);
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i]);
    }
    for (int k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < parts; i++) {
            const rollout_request request = {.env_count = 1, .first_step = (uint64_t)k * STEPS};
            const corral_fragment_layout *layout = rollout_slice_layout(slices[i]);
            size_t length;
            TEST_OK(rollout_slice_seek(slices[i], &request, NULL));
            TEST_OK(
                rollout_slice_collect(slices[i], r->policy, i, NULL, blocks[i], layout->capacity, &length));
            TEST_OK(corral_fragment_open(layout, blocks[i], length, &fragments[i]));
        }
    }
    TEST_OK(batch_gather(b, fragments, parts, r->policy));
    batch_estimate(b, 0.99, 0.95);
    for (uint32_t i = 0; i < parts; i++) {
        rollout_slice_destroy(slices[i]);
        free(blocks[i]);
    }
}

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
        SAME(raw, a.rows * a.observation_size);
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
    SAME(raw, a.rows * a.observation_size);
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

static void update_once(unsigned threads, int64_t minibatch, corral_policy **out_policy, ppo_result *result)
{
    rig r;
    rig_init(&r, 15);
    corral_team *team;
    ppo *p;
    batch b;
    TEST_OK(corral_team_create(threads, &team));
    TEST_OK(batch_init(&b, ENVS, STEPS, &r.policy_config));
    corral_ppo_config config = r.train.ppo;
    config.minibatch = minibatch;
    config.epochs = 3;
    TEST_OK(ppo_create(&config, 4, r.policy, team, &p));
    play(&r, 2, 1, &b);
    TEST_OK(ppo_update(p, &b, &(ppo_moment){0}, result));
    ppo_destroy(p);
    batch_finish(&b);
    corral_team_destroy(team);
    *out_policy = r.policy;
}

static void the_first_ratio_is_exactly_one(void)
{
    corral_policy *policy;
    ppo_result result;
    update_once(2, 64, &policy, &result);
    CU_ASSERT_EQUAL(result.first_ratio_deviation, 0);
    CU_ASSERT_TRUE(result.approx_kl > 0); // later minibatches moved
    CU_ASSERT_EQUAL(result.minibatches, 3 * 4);
    corral_policy_destroy(policy);
}

static void threads_do_not_change_a_bit(void)
{
    const int64_t minibatches[] = {64, 33, 100000, 239};
    for (size_t i = 0; i < sizeof minibatches / sizeof minibatches[0]; i++) {
        corral_policy *one, *many;
        ppo_result a, b;
        update_once(1, minibatches[i], &one, &a);
        const size_t size = corral_params_count(corral_policy_params(one)) * sizeof(float);
        for (unsigned threads = 2; threads <= 4; threads++) {
            update_once(threads, minibatches[i], &many, &b);
            CU_ASSERT_EQUAL(memcmp(corral_params_data(corral_policy_params(one)),
                                   corral_params_data(corral_policy_params(many)), size),
                            0);
            CU_ASSERT_EQUAL(a.approx_kl, b.approx_kl);
            CU_ASSERT_EQUAL(a.value_loss, b.value_loss);
            corral_policy_destroy(many);
        }
        corral_policy_destroy(one);
    }
}

static void a_minibatch_may_be_one_row_or_all(void)
{
    corral_policy *policy;
    ppo_result result;
    update_once(1, 239, &policy, &result); // the last minibatch has one row: 240 = 239 + 1
    CU_ASSERT_TRUE(isfinite(result.loss));
    CU_ASSERT_EQUAL(result.skipped, 0);
    CU_ASSERT_EQUAL(result.minibatches, 6);
    corral_policy_destroy(policy);
    update_once(1, 100000, &policy, &result);
    CU_ASSERT_EQUAL(result.minibatches, 3);
    corral_policy_destroy(policy);
}

int main(void)
{
    return test_run("rollout",
                    (test_case[]){
                        {"any cutting gives the same batch", any_cutting_gives_the_same_batch},
                        {"every step is a row and no reset is", every_step_is_a_row_and_no_reset_is},
                        {"a slice can change hands", a_slice_can_change_hands},
                        {"the first ratio is exactly one", the_first_ratio_is_exactly_one},
                        {"threads do not change a bit", threads_do_not_change_a_bit},
                        {"a minibatch may be one row or all", a_minibatch_may_be_one_row_or_all},
                        {NULL, NULL},
                    });
}
