// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a program is told while it trains: each thing at its place, on one thread, and nothing of it changes
/// the run.
#include "test.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/rllib/callbacks.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

typedef struct told {
    pthread_t thread; // all must come on this one
    char order[4096]; // one letter each
    size_t count;
    uint64_t episodes, last_step, worker_losses, worker_restarts;
    uint32_t last_environment;
    double return_sum;
    char checkpoint[256], start[256];
    corral_stop_reason stop_reason;
} told;

static void note(told *t, char letter)
{
    CU_ASSERT_TRUE(pthread_equal(t->thread, pthread_self()));
    if (t->count + 1 < sizeof t->order) t->order[t->count++] = letter;
}

static void on_start(void *context, corral_trainer *trainer, const char *checkpoint)
{
    told *t = context;
    note(t, 'S');
    CU_ASSERT_EQUAL(corral_trainer_config(trainer)->envs, 4);
    snprintf(t->start, sizeof t->start, "%s", checkpoint != NULL ? checkpoint : "");
}

static void on_episode_end(void *context, corral_trainer *trainer, const corral_train_episode *episode)
{
    told *t = context;
    (void)trainer;
    note(t, 'e');
    CU_ASSERT_TRUE(episode->environment < 4 && episode->length > 0);
    CU_ASSERT_TRUE(episode->terminated || episode->truncated);
    t->episodes++;
    t->return_sum += episode->episode_return;
}

static void on_evaluate_start(void *context, corral_trainer *trainer)
{
    (void)trainer;
    note(context, '(');
}

static void on_evaluate_end(void *context, corral_trainer *trainer, const corral_evaluation_result *result)
{
    (void)trainer;
    note(context, ')');
    CU_ASSERT_EQUAL(result->episodes, 3);
}

static void on_checkpoint(void *context, corral_trainer *trainer, const char *path)
{
    told *t = context;
    (void)trainer;
    note(t, 'c');
    char *manifest = corral_format("%s/manifest.json", path);
    CU_ASSERT_EQUAL(access(manifest, F_OK), 0);
    free(manifest);
    snprintf(t->checkpoint, sizeof t->checkpoint, "%s", path);
}

static void on_iteration(void *context, corral_trainer *trainer, const corral_train_report *report)
{
    told *t = context;
    note(t, 'i');
    CU_ASSERT_EQUAL(report->episodes_total, t->episodes);
    CU_ASSERT_EQUAL(report->policy_lag, 0);
    CU_ASSERT_EQUAL(corral_policy_version(corral_trainer_policy(trainer)), report->policy_version);
}

static void on_stop(void *context, corral_trainer *trainer, const corral_train_summary *summary)
{
    told *t = context;
    (void)trainer;
    note(t, 'T');
    t->stop_reason = summary->stop_reason;
}

static void on_worker_lost(void *context, corral_trainer *trainer, uint32_t worker, const char *reason,
                           bool for_good)
{
    told *t = context;
    (void)trainer;
    note(t, 'l');
    CU_ASSERT_TRUE(worker < 2 && strlen(reason) > 0 && !for_good);
    t->worker_losses++;
}

static void on_worker_restarted(void *context, corral_trainer *trainer, uint32_t worker)
{
    told *t = context;
    (void)trainer;
    note(t, 'r');
    CU_ASSERT_TRUE(worker < 2 && t->worker_losses > t->worker_restarts);
    t->worker_restarts++;
}

static corral_train_callbacks callbacks_of(told *t)
{
    *t = (told){.thread = pthread_self()};
    return (corral_train_callbacks){.context = t,
                                    .on_start = on_start,
                                    .on_episode_end = on_episode_end,
                                    .on_evaluate_start = on_evaluate_start,
                                    .on_evaluate_end = on_evaluate_end,
                                    .on_checkpoint = on_checkpoint,
                                    .on_worker_lost = on_worker_lost,
                                    .on_worker_restarted = on_worker_restarted,
                                    .on_iteration = on_iteration,
                                    .on_stop = on_stop};
}

static corral_train_config small_config(void)
{
    corral_train_config config = corral_train_config_default();
    strcpy(config.env, "CartPole-v1");
    config.envs = 4;
    config.workers = 0;
    config.threads = 2;
    config.stop.steps = 512;
    config.evaluation.every = 256;
    config.evaluation.episodes = 3;
    config.network.hidden = (corral_sizes){1, {16}};
    config.ppo.steps = 32;
    config.ppo.epochs = 2;
    config.checkpoint.every = 128;
    return config;
}

/// Leaves what it was told in `t`, and the weights in `*out_weights` (may be NULL).
static void train(const corral_train_config *config, const corral_train_options *options,
                  corral_train_summary *summary, corral_policy **out_policy)
{
    corral_trainer *trainer;
    corral_train_report report;
    TEST_OK(corral_trainer_create(config, options, &trainer));
    while (!corral_trainer_done(trainer))
        TEST_OK(corral_trainer_step(trainer, &report));
    TEST_OK(corral_trainer_finish(trainer, summary));
    if (out_policy != NULL) TEST_OK(corral_policy_clone(corral_trainer_policy(trainer), out_policy));
    corral_trainer_destroy(trainer);
}

/// The letters of what was told, without episodes.
static char *order_of(const told *t)
{
    char *order = calloc(1, t->count + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(order);
    for (size_t i = 0, used = 0; i < t->count; i++)
        if (t->order[i] != 'e') order[used++] = t->order[i];
    return order;
}

static void each_thing_is_told_at_its_place(void)
{
    char folder[] = "/tmp/corral-callbacks-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    told t;
    const corral_train_callbacks callbacks = callbacks_of(&t);
    const corral_train_config config = small_config();
    corral_train_summary summary;
    train(&config, &(corral_train_options){.out = folder, .callbacks = &callbacks}, &summary, NULL);
    char *order = order_of(&t);
    // Four iterations of 128 steps, each saved, every second one evaluated first.
    CU_ASSERT_STRING_EQUAL(order, "Sci()cici()ciT");
    free(order);
    CU_ASSERT_TRUE(t.episodes > 0);
    CU_ASSERT_STRING_EQUAL(t.start, "");
    CU_ASSERT_EQUAL(t.stop_reason, CORRAL_STOP_STEPS);

    // The same run, resumed: told from where.
    corral_train_config longer = config;
    longer.stop.steps = 640;
    char last[256];
    snprintf(last, sizeof last, "%s", t.checkpoint);
    const corral_train_callbacks again = callbacks_of(&t);
    t.episodes = summary.last.episodes_total; // the trainer is gone, but a count is a count
    train(&longer, &(corral_train_options){.resume = folder, .callbacks = &again}, &summary, NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(t.start, "/checkpoints/512"));
    TEST_OK(corral_folder_remove(folder));
}

static void being_told_changes_nothing(void)
{
    told t;
    const corral_train_callbacks callbacks = callbacks_of(&t);
    const corral_train_config config = small_config();
    corral_train_summary with, without;
    corral_policy *a, *b;
    train(&config, &(corral_train_options){.no_files = true, .callbacks = &callbacks}, &with, &a);
    train(&config, &(corral_train_options){.no_files = true}, &without, &b);
    corral_params *x = corral_policy_params(a), *y = corral_policy_params(b);
    CU_ASSERT_EQUAL(
        memcmp(corral_params_data(x), corral_params_data(y), corral_params_count(x) * sizeof(float)), 0);
    CU_ASSERT_EQUAL(with.last.return_mean, without.last.return_mean);
    CU_ASSERT_DOUBLE_EQUAL(t.return_sum / (double)t.episodes, with.last.return_mean, 1e-9);
    corral_policy_destroy(a);
    corral_policy_destroy(b);
}

static void stop_now(void *context, corral_trainer *trainer, const corral_train_report *report)
{
    on_iteration(context, trainer, report);
    if (report->iteration == 2) corral_trainer_interrupt(trainer);
}

static void a_callback_may_end_the_run(void)
{
    told t;
    corral_train_callbacks callbacks = callbacks_of(&t);
    callbacks.on_iteration = stop_now;
    corral_train_config config = small_config();
    config.stop.steps = 100000;
    corral_train_summary summary;
    train(&config, &(corral_train_options){.no_files = true, .callbacks = &callbacks}, &summary, NULL);
    CU_ASSERT_EQUAL(t.stop_reason, CORRAL_STOP_INTERRUPTED);
    CU_ASSERT_EQUAL(summary.last.iteration, 3); // it was asked for between two iterations
}

// --- workers ----------------------------------------------------------------------------------------------

static const char mark[] = "CORRAL_TEST_MARK=callbacks";

/// Whether a process is a worker that this test started.
static bool is_our_worker(const char *pid)
{
    char path[300], link[300] = "", *environment = NULL;
    snprintf(path, sizeof path, "/proc/%s/exe", pid);
    if (readlink(path, link, sizeof link - 1) <= 0 || strstr(link, "/corral-worker") == NULL) return false;
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    FILE *file = fopen(path, "r");
    size_t capacity = 0;
    bool ours = false;
    while (file != NULL && !ours && getdelim(&environment, &capacity, '\0', file) > 0)
        ours =
            strncmp(environment, mark, sizeof mark - 1) == 0 && atoi(environment + sizeof mark) == getpid();
    if (file != NULL) fclose(file);
    free(environment);
    return ours;
}

static int kill_one_worker(void)
{
    int killed = 0;
    DIR *folder = opendir("/proc");
    for (const struct dirent *entry; folder != NULL && killed == 0 && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_our_worker(entry->d_name))
            killed = kill(atoi(entry->d_name), SIGKILL) == 0;
    if (folder != NULL) closedir(folder);
    return killed;
}

static void lost_and_restarted_workers_are_told(void)
{
    char value[64];
    snprintf(value, sizeof value, "callbacks:%d", (int)getpid());
    setenv("CORRAL_TEST_MARK", value, 1);
    told t;
    const corral_train_callbacks callbacks = callbacks_of(&t);
    corral_train_config config = small_config();
    config.workers = 2;
    config.stop.steps = INT64_C(1000000000);
    config.evaluation.every = 0;
    corral_trainer *trainer;
    corral_train_report report;
    corral_train_summary summary;
    TEST_OK(corral_trainer_create(&config, &(corral_train_options){.no_files = true, .callbacks = &callbacks},
                                  &trainer));
    TEST_OK(corral_trainer_step(trainer, &report));
    CU_ASSERT_EQUAL(kill_one_worker(), 1);
    const int64_t end = corral_now_ns() + 30 * CORRAL_SECOND;
    while (t.worker_restarts == 0 && corral_now_ns() < end)
        TEST_OK(corral_trainer_step(trainer, &report));
    CU_ASSERT_EQUAL(t.worker_losses, 1);
    CU_ASSERT_EQUAL(t.worker_restarts, 1);
    corral_trainer_interrupt(trainer);
    TEST_OK(corral_trainer_finish(trainer, &summary));
    CU_ASSERT_EQUAL(summary.last.workers_lost, 1);
    corral_trainer_destroy(trainer);
}

int main(void)
{
    return test_run("callbacks",
                    (test_case[]){
                        {"each thing is told at its place", each_thing_is_told_at_its_place},
                        {"being told changes nothing", being_told_changes_nothing},
                        {"a callback may end the run", a_callback_may_end_the_run},
                        {"lost and restarted workers are told", lost_and_restarted_workers_are_told},
                        {NULL, NULL},
                    });
}
