// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Updates on a device against those on the CPU: the plug-in is the one that CORRAL_CUDA_LIBRARY names, the
/// shim every day and CUDA where tests/gpu/check runs. Skipped where there is neither.
#include "rig.h"

#include "dqn/dqn.h"

#include "corral/base/file.h"
#include "corral/rllib/callbacks.h"
#include "corral/rllib/train.h"

#include <unistd.h>

static corral_device *device;

/// The largest distance between the weights of two policies.
static double distance(corral_policy *a, corral_policy *b)
{
    const float *x = corral_params_data(corral_policy_params(a)),
                *y = corral_params_data(corral_policy_params(b));
    const size_t count = corral_params_count(corral_policy_params(a));
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)x[i] - (double)y[i]));
    return largest;
}

static bool same_weights(corral_policy *a, corral_policy *b)
{
    const size_t bytes = corral_params_count(corral_policy_params(a)) * sizeof(float);
    return memcmp(corral_params_data(corral_policy_params(a)), corral_params_data(corral_policy_params(b)),
                  bytes) == 0;
}

// --- PPO --------------------------------------------------------------------------------------------------

/// One update from one batch on the CPU, and the same on the device.
typedef struct twins {
    rig host, other;
    corral_team *team;
    batch host_batch, other_batch;
    ppo *host_ppo, *other_ppo;
} twins;

static void make_twins(twins *t, const corral_ppo_config *config, bool shared, corral_precision precision)
{
    memset(t, 0, sizeof *t);
    TEST_OK(corral_team_create(1, &t->team));
    rig *const rigs[] = {&t->host, &t->other};
    batch *const batches[] = {&t->host_batch, &t->other_batch};
    ppo **const ppos[] = {&t->host_ppo, &t->other_ppo};
    for (int i = 0; i < 2; i++) {
        rig_init(rigs[i], 25);
        corral_policy_destroy(rigs[i]->policy);
        rigs[i]->policy_config.shared = shared;
        TEST_OK(corral_policy_create(&rigs[i]->policy_config, 4, &rigs[i]->policy));
        TEST_OK(
            rollout_config_init(&rigs[i]->config, &rigs[i]->train, &rigs[i]->setup, &rigs[i]->policy_config));
        TEST_OK(batch_init(batches[i], ENVS, STEPS, &rigs[i]->policy_config));
        if (config->kl_coefficient > 0) TEST_OK(batch_keep_log_probs(batches[i]));
        play(rigs[i], 2, 2, batches[i]);
        TEST_OK(ppo_create(config, 7, rigs[i]->policy, t->team, ppos[i]));
    }
    const ppo_placement placement = {.device = device, .precision = precision, .envs = ENVS, .steps = STEPS};
    TEST_OK(ppo_place(t->other_ppo, &placement));
}

static void end_twins(twins *t)
{
    ppo_destroy(t->host_ppo);
    ppo_destroy(t->other_ppo);
    batch_finish(&t->host_batch);
    batch_finish(&t->other_batch);
    rig_finish(&t->host);
    rig_finish(&t->other);
    corral_team_destroy(t->team);
}

static void update_both(twins *t, uint64_t number, ppo_result *host, ppo_result *other)
{
    const double kl = t->host.train.ppo.kl_coefficient;
    const ppo_moment now = {.progress = 0.25, .update = number, .kl_coefficient = kl};
    TEST_OK(ppo_update(t->host_ppo, &t->host_batch, &now, host));
    TEST_OK(ppo_update(t->other_ppo, &t->other_batch, &now, other));
}

static corral_ppo_config small_config(void)
{
    corral_ppo_config config = corral_train_config_default().ppo;
    config.minibatch = 64; // of 240 rows: three whole ones and a shorter one
    config.epochs = 3;
    config.learning_rate = (corral_schedule){1e-3, 0};
    config.entropy_coefficient = (corral_schedule){0.01, 0.01};
    return config;
}

static void close_to(double expected, double found, double relative)
{
    if (!(fabs(expected - found) <= relative * fabs(expected) + 1e-6))
        fprintf(stderr, "%.9g expected, %.9g found\n", expected, found);
    CU_ASSERT_TRUE(fabs(expected - found) <= relative * fabs(expected) + 1e-6);
}

static void check_result(const ppo_result *host, const ppo_result *other)
{
    close_to(host->policy_loss, other->policy_loss, 1e-2);
    close_to(host->value_loss, other->value_loss, 1e-3);
    close_to(host->entropy, other->entropy, 1e-3);
    close_to(host->grad_norm, other->grad_norm, 1e-2);
    close_to(host->loss, other->loss, 1e-2);
    CU_ASSERT_EQUAL(host->minibatches, other->minibatches);
    CU_ASSERT_EQUAL(host->epochs, other->epochs);
    CU_ASSERT_EQUAL(other->skipped, 0);
    CU_ASSERT_DOUBLE_EQUAL(host->first_ratio_deviation, other->first_ratio_deviation, 1e-2);
}

/// Several updates: graphs are recorded in the first and replayed in the others.
static void check_ppo(const corral_ppo_config *config, bool shared)
{
    twins t;
    ppo_result host, other;
    make_twins(&t, config, shared, CORRAL_PRECISION_F32);
    CU_ASSERT_TRUE(same_weights(t.host.policy, t.other.policy));
    t.host.train.ppo.kl_coefficient = config->kl_coefficient;
    for (uint64_t i = 0; i < 3; i++) {
        update_both(&t, i, &host, &other);
        check_result(&host, &other);
    }
    CU_ASSERT_TRUE(distance(t.host.policy, t.other.policy) < 2e-4);
    CU_ASSERT_EQUAL(corral_optimizer_steps(ppo_optimizer(t.host_ppo)),
                    corral_optimizer_steps(ppo_optimizer(t.other_ppo)));
    for (size_t i = 0; i < t.host_batch.rows; i++) // the estimates came back
        CU_ASSERT_DOUBLE_EQUAL((double)t.host_batch.target[i], (double)t.other_batch.target[i], 1e-4);
    end_twins(&t);
}

static void ppo_follows_the_cpu(void)
{
    corral_ppo_config config = small_config();
    check_ppo(&config, false);
    check_ppo(&config, true);
    config.value_clip_range = 0.2;
    config.kl_coefficient = 0.2;
    config.max_grad_norm = 0;
    config.normalize_advantage = false;
    check_ppo(&config, true);
}

/// An update that stops its epochs early stops where the CPU's does.
static void ppo_stops_early(void)
{
    twins t;
    ppo_result host, other;
    corral_ppo_config config = small_config();
    config.learning_rate = (corral_schedule){3e-2, 3e-2};
    config.epochs = 10;
    config.target_kl = 0.02;
    make_twins(&t, &config, false, CORRAL_PRECISION_F32);
    update_both(&t, 0, &host, &other);
    CU_ASSERT_TRUE(host.epochs < 10);
    CU_ASSERT_EQUAL(host.epochs, other.epochs);
    CU_ASSERT_EQUAL(host.minibatches, other.minibatches);
    CU_ASSERT_TRUE(distance(t.host.policy, t.other.policy) < 1e-3);
    end_twins(&t);
}

/// Products in bf16 are coarser, and go the same way.
static void ppo_in_bf16(void)
{
    twins t;
    ppo_result host, other;
    const corral_ppo_config config = small_config();
    make_twins(&t, &config, false, CORRAL_PRECISION_BF16);
    for (uint64_t i = 0; i < 2; i++)
        update_both(&t, i, &host, &other);
    CU_ASSERT_EQUAL(other.skipped, 0);
    close_to(host.value_loss, other.value_loss, 0.05);
    close_to(host.entropy, other.entropy, 0.02);
    const double apart = distance(t.host.policy, t.other.policy);
    CU_ASSERT_TRUE(apart > 1e-6 && apart < 2e-2);
    end_twins(&t);
}

/// Rows whose loss is not finite spoil a minibatch each: skipped, counted, and the weights stay finite.
static void ppo_skips_what_is_not_finite(void)
{
    twins t;
    ppo_result host, other;
    corral_ppo_config config = small_config();
    config.normalize_advantage = false;
    make_twins(&t, &config, false, CORRAL_PRECISION_F32);
    t.host_batch.reward[17] = t.other_batch.reward[17] = INFINITY;
    t.host_batch.terminated[16] = t.other_batch.terminated[16] = 1;
    update_both(&t, 0, &host, &other);
    CU_ASSERT_TRUE(host.skipped > 0 && host.minibatches > 0);
    CU_ASSERT_EQUAL(host.skipped, other.skipped);
    CU_ASSERT_EQUAL(host.minibatches, other.minibatches);
    CU_ASSERT_TRUE(distance(t.host.policy, t.other.policy) < 2e-4);
    end_twins(&t);
}

// --- whole runs -------------------------------------------------------------------------------------------

static corral_train_config run_config(const char *algorithm)
{
    corral_train_config config = corral_train_config_default();
    char assignment[64];
    snprintf(assignment, sizeof assignment, "algorithm=%s", algorithm);
    TEST_OK(corral_config_set(corral_train_fields, &config, assignment));
    strcpy(config.env, "CartPole-v1");
    config.workers = 0;
    config.envs = 4;
    config.threads = 1;
    config.device = CORRAL_LEARN_ON_CUDA;
    config.evaluation.every = 0;
    config.evaluation.episodes = 2;
    config.network.hidden = (corral_sizes){2, {32, 32}};
    config.ppo.minibatch = 128;
    config.ppo.epochs = 2;
    config.dqn.learning_starts = 128;
    config.dqn.buffer_size = 2000;
        return config;
}

static void run_for(corral_train_config *config, const corral_train_options *options, int64_t steps,
                    corral_policy **out_policy)
{
    corral_trainer *trainer;
    corral_train_report report;
    corral_train_summary summary;
    config->stop.steps = steps;
    TEST_OK(corral_trainer_create(config, options, &trainer));
    while (!corral_trainer_done(trainer))
        TEST_OK(corral_trainer_step(trainer, &report));
    TEST_OK(corral_trainer_finish(trainer, &summary));
    TEST_OK(corral_policy_clone(corral_trainer_policy(trainer), out_policy));
    corral_trainer_destroy(trainer);
}

/// Stopped and gone on with, a run on a device ends with the bits of one that never stopped; and another run
/// of the same seed does.
static void check_resume(const char *algorithm)
{
    char folder[] = "/tmp/corral-device-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    char whole[64], part[64];
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(part, sizeof part, "%s/part", folder);
    corral_policy *at_once, *again, *half, *resumed;
    corral_train_config config = run_config(algorithm);
    config.schedule_steps = 1024;
    config.checkpoint.replay = true;
    if (strcmp(algorithm, "dqn") == 0) config.dqn.priority_alpha = 0.6;
    run_for(&config, &(corral_train_options){.out = whole}, 1024, &at_once);
    run_for(&config, &(corral_train_options){.no_files = true}, 1024, &again);
    run_for(&config, &(corral_train_options){.out = part}, 512, &half);
    run_for(&config, &(corral_train_options){.resume = part}, 1024, &resumed);
    CU_ASSERT_TRUE(same_weights(at_once, again));
    CU_ASSERT_TRUE(same_weights(at_once, resumed));
    CU_ASSERT_FALSE(same_weights(at_once, half));
    corral_policy *const all[] = {at_once, again, half, resumed};
    for (size_t i = 0; i < 4; i++)
        corral_policy_destroy(all[i]);
    TEST_OK(corral_folder_remove(folder));
}

static void runs_resume(void)
{
    check_resume("ppo");
    check_resume("dqn");
}

/// The first updates of a run are those of the CPU but for rounding.
static void check_run(const char *algorithm, double tolerance, double priority)
{
    corral_policy *here, *there;
    corral_train_config config = run_config(algorithm);
    config.dqn.priority_alpha = priority;
    config.network.normalize_observation = true;
    run_for(&config, &(corral_train_options){.no_files = true}, 512, &there);
    config.device = CORRAL_LEARN_ON_CPU;
    run_for(&config, &(corral_train_options){.no_files = true}, 512, &here);
    const double apart = distance(here, there);
    if (!(apart < tolerance)) fprintf(stderr, "%s: %g apart\n", algorithm, apart);
    CU_ASSERT_TRUE(apart < tolerance && apart > 0);
    corral_policy_destroy(here);
    corral_policy_destroy(there);
}

static void runs_follow_the_cpu(void)
{
    check_run("ppo", 1e-4, 0);
    check_run("dqn", 1e-3, 0);
    check_run("dqn", 1e-3, 0.6);
}

int main(void)
{
    if (corral_device_open(&device) != CORRAL_OK) {
        printf("skipped: %s\n", corral_last_error());
        return 77;
    }
    printf("on %s\n", corral_device_name(device));
    const int result =
        test_run("updates on a device", (test_case[]){{"PPO follows the CPU", ppo_follows_the_cpu},
                                                      {"PPO stops early", ppo_stops_early},
                                                      {"PPO in bf16", ppo_in_bf16},
                                                      {"what is not finite", ppo_skips_what_is_not_finite},
                                                      {"runs follow the CPU", runs_follow_the_cpu},
                                                      {"runs resume", runs_resume},
                                                      {NULL, NULL}});
    corral_device_close(device);
    return result;
}
