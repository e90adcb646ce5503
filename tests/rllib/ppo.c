// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The update: the first minibatch sees the very policy that acted, threads change nothing, and the penalty
/// on the divergence.
#include "rig.h"

typedef struct update {
    unsigned threads;
    int64_t minibatch, epochs;
    double kl_coefficient;
    bool mask; // after acting, action 1 becomes impossible
} update;

static void forbid_action_1(corral_policy *policy)
{
    corral_params *params = corral_policy_params(policy);
    for (uint32_t i = 0; i < corral_params_entry_count(params); i++) {
        const corral_param *entry = corral_params_entry(params, i);
        if (strcmp(entry->name, "policy.bias") == 0)
            ((float *)corral_params_data(params))[entry->offset + 1] = -INFINITY;
    }
    corral_params_refresh(params);
}

static void run(const update *u, corral_policy **out_policy, ppo_result *result)
{
    rig r;
    rig_init(&r, 15);
    corral_team *team;
    ppo *p;
    batch b;
    TEST_OK(corral_team_create(u->threads, &team));
    TEST_OK(batch_init(&b, ENVS, STEPS, &r.policy_config));
    if (u->kl_coefficient > 0) TEST_OK(batch_keep_log_probs(&b));
    corral_ppo_config config = r.train.ppo;
    config.minibatch = u->minibatch;
    config.epochs = u->epochs;
    config.kl_coefficient = u->kl_coefficient;
    config.learning_rate = (corral_schedule){3e-3, 3e-3}; // far enough for the divergence to show
    TEST_OK(ppo_create(&config, 4, r.policy, team, &p));
    play(&r, 2, 1, &b);
    CU_ASSERT_EQUAL(b.policy_lag, 0);
    if (u->mask) forbid_action_1(r.policy);
    TEST_OK(ppo_update(p, &b, &(ppo_moment){.kl_coefficient = u->kl_coefficient}, result));
    ppo_destroy(p);
    batch_finish(&b);
    corral_team_destroy(team);
    if (out_policy != NULL)
        *out_policy = r.policy;
    else
        rig_finish(&r);
}

static void the_first_ratio_is_exactly_one(void)
{
    ppo_result result;
    run(&(update){.threads = 2, .minibatch = 64, .epochs = 3}, NULL, &result);
    CU_ASSERT_EQUAL(result.first_ratio_deviation, 0);
    CU_ASSERT_TRUE(result.approx_kl > 0); // later minibatches moved
    CU_ASSERT_EQUAL(result.minibatches, 3 * 4);
    CU_ASSERT_EQUAL(result.kl, 0); // not worked out
}

static void threads_do_not_change_a_bit(void)
{
    const int64_t minibatches[] = {64, 33, 100000, 239};
    for (size_t i = 0; i < 8; i++) {
        corral_policy *one, *many;
        ppo_result a, b;
        update u = {
            .threads = 1, .minibatch = minibatches[i % 4], .epochs = 3, .kl_coefficient = i < 4 ? 0 : 0.2};
        run(&u, &one, &a);
        const size_t size = corral_params_count(corral_policy_params(one)) * sizeof(float);
        for (u.threads = 2; u.threads <= 4; u.threads++) {
            run(&u, &many, &b);
            CU_ASSERT_EQUAL(memcmp(corral_params_data(corral_policy_params(one)),
                                   corral_params_data(corral_policy_params(many)), size),
                            0);
            CU_ASSERT_EQUAL(a.approx_kl, b.approx_kl);
            CU_ASSERT_EQUAL(a.value_loss, b.value_loss);
            CU_ASSERT_EQUAL(a.last_kl, b.last_kl);
            corral_policy_destroy(many);
        }
        corral_policy_destroy(one);
    }
}

static void a_minibatch_may_be_one_row_or_all(void)
{
    ppo_result result;
    run(&(update){.threads = 1, .minibatch = 239, .epochs = 3}, NULL, &result); // 240 = 239 + 1
    CU_ASSERT_TRUE(isfinite(result.loss));
    CU_ASSERT_EQUAL(result.skipped, 0);
    CU_ASSERT_EQUAL(result.minibatches, 6);
    run(&(update){.threads = 1, .minibatch = 100000, .epochs = 3}, NULL, &result);
    CU_ASSERT_EQUAL(result.minibatches, 3);
}

static void the_first_divergence_is_exactly_zero(void)
{
    ppo_result result;
    run(&(update){.threads = 2, .minibatch = 100000, .epochs = 1, .kl_coefficient = 0.2}, NULL, &result);
    CU_ASSERT_EQUAL(result.minibatches, 1);
    CU_ASSERT_EQUAL(result.kl, 0);
    CU_ASSERT_EQUAL(result.last_kl, 0);
    run(&(update){.threads = 2, .minibatch = 64, .epochs = 3, .kl_coefficient = 0.2}, NULL, &result);
    CU_ASSERT_TRUE(result.kl > 0 && result.last_kl > 0 && result.last_kl != result.kl); // of one epoch
    CU_ASSERT_TRUE(result.kl < 10 * result.approx_kl && result.approx_kl < 10 * result.kl);
}

static void a_penalty_holds_the_policy_back(void)
{
    ppo_result free_to_go, held;
    run(&(update){.threads = 1, .minibatch = 32, .epochs = 10, .kl_coefficient = 1e-6}, NULL, &free_to_go);
    run(&(update){.threads = 1, .minibatch = 32, .epochs = 10, .kl_coefficient = 100}, NULL, &held);
    CU_ASSERT_TRUE(held.last_kl < 0.2 * free_to_go.last_kl);
    CU_ASSERT_DOUBLE_EQUAL(held.loss, held.policy_loss + 0.5 * held.value_loss + 100 * held.kl, 1e-9);
}

static void infinite_divergences_are_counted_and_do_no_harm(void)
{
    corral_policy *policy;
    ppo_result result;
    run(&(update){.threads = 2, .minibatch = 64, .epochs = 3, .kl_coefficient = 0.2, .mask = true}, &policy,
        &result);
    CU_ASSERT_EQUAL(result.infinite_kl, 3 * ENVS * STEPS);
    CU_ASSERT_EQUAL(result.skipped, 0);
    CU_ASSERT_EQUAL(result.last_kl, 0);
    CU_ASSERT_TRUE(isfinite(result.loss) && isfinite(result.entropy));
    corral_params *params = corral_policy_params(policy);
    const float *weights = corral_params_data(params);
    size_t infinite = 0;
    for (size_t i = 0; i < corral_params_count(params); i++)
        infinite += !isfinite(weights[i]);
    CU_ASSERT_EQUAL(infinite, 1); // the one that was put there
    corral_policy_destroy(policy);
}

static void the_coefficient_follows_the_divergence(void)
{
    const corral_ppo_config config = {.kl_coefficient = 0.2, .kl_target = 0.01};
    CU_ASSERT_EQUAL(ppo_adapt_kl_coefficient(&config, 0.4, 0.0201), 0.4 * 1.5);
    CU_ASSERT_EQUAL(ppo_adapt_kl_coefficient(&config, 0.4, 0.02), 0.4);
    CU_ASSERT_EQUAL(ppo_adapt_kl_coefficient(&config, 0.4, 0.005), 0.4);
    CU_ASSERT_EQUAL(ppo_adapt_kl_coefficient(&config, 0.4, 0.0049), 0.2);
    double high = 0.2, low = 0.2;
    for (int i = 0; i < 10000; i++) {
        high = ppo_adapt_kl_coefficient(&config, high, 1e300);
        low = ppo_adapt_kl_coefficient(&config, low, 0);
    }
    CU_ASSERT_DOUBLE_EQUAL(high, 200, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(low, 0.0002, 1e-12);
    const corral_ppo_config fixed = {.kl_coefficient = 0.2};
    CU_ASSERT_EQUAL(ppo_adapt_kl_coefficient(&fixed, 0.2, 5), 0.2);
}

int main(void)
{
    return test_run("ppo",
                    (test_case[]){
                        {"the first ratio is exactly one", the_first_ratio_is_exactly_one},
                        {"threads do not change a bit", threads_do_not_change_a_bit},
                        {"a minibatch may be one row or all", a_minibatch_may_be_one_row_or_all},
                        {"the first divergence is exactly zero", the_first_divergence_is_exactly_zero},
                        {"a penalty holds the policy back", a_penalty_holds_the_policy_back},
                        {"infinite divergences are counted and do no harm",
                         infinite_divergences_are_counted_and_do_no_harm},
                        {"the coefficient follows the divergence", the_coefficient_follows_the_divergence},
                        {NULL, NULL},
                    });
}
