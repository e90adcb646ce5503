// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Every key of a training run has an effect that can be seen, or says why it cannot be seen here. A key
/// without an entry fails the test.
///
/// An entry has two values of its key. Two short runs that differ in nothing else are made, and what the
/// entry watches must differ between them.
#include "test.h"

#include "corral/base/file.h"
#include "corral/rllib/callbacks.h"

#include <dirent.h>
#include <unistd.h>

// --- what is seen of a run --------------------------------------------------------------------------------

typedef enum watch {
    CREATED,          // whether it could be started
    POLICY,           // a hash of its weights
    STEPS,            // environment steps
    STOP,             // the stop reason
    EVALUATIONS,      // how many
    EPISODES,         // of one evaluation
    EVALUATION,       // its mean return
    THREADS,          // most of this process
    WORKERS,          // alive
    STARTED,          // workers, restarts included
    REMOTE,           // whether fragments came by gRPC
    LONG,             // whether it took two seconds
    SKIPPED,          // updates
    CHECKPOINTS,      // written
    CHECKPOINTS_KEPT, // in the folder at the end
    WATCHES,
} watch;

typedef struct seen {
    double value[WATCHES];
} seen;

static uint64_t hash_weights(const corral_policy *policy)
{
    corral_policy *copy;
    TEST_OK(corral_policy_clone(policy, &copy));
    const unsigned char *bytes = corral_params_data(corral_policy_params(copy));
    const size_t size = corral_params_count(corral_policy_params(copy)) * sizeof(float);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    corral_policy_destroy(copy);
    return hash;
}

static double count_entries(const char *path, const char *first_characters)
{
    double count = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strchr(first_characters, entry->d_name[0]) != NULL;
    closedir(folder);
    return count;
}

static void on_iteration(void *context, corral_trainer *trainer, const corral_train_report *report)
{
    seen *s = context;
    (void)trainer;
    s->value[THREADS] = fmax(s->value[THREADS], count_entries("/proc/self/task", "0123456789"));
    s->value[WORKERS] = fmax(s->value[WORKERS], report->workers_alive);
}

static void on_evaluate_end(void *context, corral_trainer *trainer, const corral_evaluation_result *result)
{
    (void)trainer;
    ((seen *)context)->value[EPISODES] = result->episodes;
}

static void on_checkpoint(void *context, corral_trainer *trainer, const char *path)
{
    (void)trainer;
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    ((seen *)context)->value[CHECKPOINTS]++;
}

static void note_end(seen *s, const corral_trainer *trainer, const corral_train_summary *summary)
{
    s->value[POLICY] = (double)(hash_weights(corral_trainer_policy(trainer)) >> 11);
    s->value[STEPS] = (double)summary->last.env_steps;
    s->value[STOP] = summary->stop_reason;
    s->value[EVALUATIONS] = summary->last.evaluations;
    s->value[EVALUATION] = summary->last.eval_mean;
    s->value[STARTED] = (double)summary->last.workers_started;
    s->value[REMOTE] = summary->last.fragments_remote > 0;
    s->value[LONG] = summary->last.seconds >= 2;
    s->value[SKIPPED] = (double)summary->last.bad_updates;
    char *path = corral_format("%s/checkpoints", summary->run_folder);
    s->value[CHECKPOINTS_KEPT] = path != NULL ? count_entries(path, "0123456789") : 0;
    free(path);
}

/// Trains to the end, whatever that is.
static void run(const corral_train_config *config, bool files, seen *out)
{
    *out = (seen){0};
    char folder[] = "/tmp/corral-keys-XXXXXX";
    if (files) CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    const corral_train_callbacks callbacks = {.context = out,
                                              .on_iteration = on_iteration,
                                              .on_evaluate_end = on_evaluate_end,
                                              .on_checkpoint = on_checkpoint};
    const corral_train_options options = {.out = folder, .no_files = !files, .callbacks = &callbacks};
    corral_trainer *trainer;
    if (corral_trainer_create(config, &options, &trainer) != CORRAL_OK) {
        if (files) TEST_OK(corral_folder_remove(folder));
        return;
    }
    out->value[CREATED] = 1;
    corral_train_report report;
    corral_train_summary summary;
    while (!corral_trainer_done(trainer))
        if (corral_trainer_step(trainer, &report) != CORRAL_OK) break;
    TEST_OK(corral_trainer_finish(trainer, &summary));
    note_end(out, trainer, &summary);
    corral_trainer_destroy(trainer);
    if (files) TEST_OK(corral_folder_remove(folder));
}

// --- the keys ---------------------------------------------------------------------------------------------

#define MOODY "env=" CORRAL_BIN_DIR "/../tests/plugins/moody.so:Moody-v0"

#define DQN      "algorithm=dqn"
#define PENDULUM "env=Pendulum-v1"

enum { WITH_MAX = 6 };

typedef struct key_case {
    const char *key;
    const char *a, *b;
    watch watch;
    const char *with[WITH_MAX]; // settings of both runs
    bool same_policy;           // nothing of what is learned may differ
    bool files;
    const char *reason; // why nothing can be seen: instead of values
    const char *sub;    // for a key of free keys, the one that is set
} key_case;

static const key_case cases[] = {
    {"algorithm", "ppo", "dqn", POLICY},
    {"env", "CartPole-v1", "Acrobot-v1", POLICY},
    {"env_params", "0", "1", POLICY, .sub = "env_params.sutton_barto_reward"},
    {"wrappers", "[]", "[frame_skip: 2]", POLICY},
    {.key = "isolation", .reason = "what is learned is the same: tests/runs/isolation.sh"},
    {"max_episode_steps", "5", "7", POLICY},
    {"seed", "1", "2", POLICY},
    {"envs", "4", "6", STEPS, {"stop.steps=250"}},
    {"workers", "0", "2", WORKERS, .same_policy = true},
    {"threads", "1", "3", THREADS, .same_policy = true},
    {.key = "device", .reason = "there is no GPU to choose: tests/rllib/device.c has one that is none"},
    {.key = "precision", .reason = "of a GPU: tests/rllib/device.c"},
    {"transport", "shared_memory", "grpc", REMOTE, {"workers=1"}, .same_policy = true},
    {.key = "worker_cpus", .reason = "what the scheduler of a shared cluster counts: tests/net/parts.c"},
    {.key = "worker_gpus", .reason = "no node has any here: tests/faults/resources.sh"},
    {"step_timeout",
     "0.2",
     "60",
     STOP,
     {MOODY, "workers=1", "max_restarts=0", "env_params.nap_at=40", "env_params.nap_seconds=0.7", "envs=1"}},
    {"max_restarts", "0", "1", STARTED, {MOODY, "workers=1", "env_params.abort_at=40"}},
    {"faults", "\"\"", "blackout=0s:2s", LONG, {"workers=1", "transport=grpc"}, .same_policy = true},
    {"stop.return", "1", ".inf", STOP, {"evaluation.every=128", "stop.evaluations=1"}},
    {"stop.evaluations", "1", "3", STEPS, {"stop.return=1", "evaluation.every=128", "stop.steps=1024"}},
    {"stop.steps", "256", "512", STEPS},
    {"stop.seconds", "0", "1e-9", STOP},
    {"schedule_steps", "0", "100000", POLICY, {"ppo.learning_rate=linear(1e-2)"}},
    {"evaluation.every", "0", "128", EVALUATIONS, {"stop.steps=512"}, .same_policy = true},
    {"evaluation.start",
     "0",
     "300",
     EVALUATIONS,
     {"stop.steps=512", "evaluation.every=128"},
     .same_policy = true},
    {"evaluation.episodes", "2", "3", EPISODES, .same_policy = true},
    {"evaluation.stochastic", "false", "true", EVALUATION, {"max_episode_steps=500"}, .same_policy = true},
    {"evaluation.workers",
     "0",
     "2",
     STEPS,
     {"stop.return=1", "stop.evaluations=1", "evaluation.every=512", "stop.steps=4096"}},
    {"evaluation.lag",
     "1",
     "2",
     STEPS,
     {"stop.return=1", "stop.evaluations=1", "evaluation.every=512", "stop.steps=4096",
      "evaluation.workers=2"}},
    {"network.hidden", "[16]", "[8, 8]", POLICY},
    {"network.activation", "tanh", "relu", POLICY},
    {"network.shared", "false", "true", POLICY},
    {"network.initialisation", "orthogonal", "fan_in", POLICY},
    {"network.normalize_observation", "false", "true", POLICY},
    {"network.observation_clip", "10", "0.1", POLICY, {"network.normalize_observation=true"}},
    {"network.memory", "lstm", "gru", POLICY},
    {"network.memory_units", "8", "9", POLICY, {"network.memory=lstm"}},
    {"network.cnn",
     "none",
     "small",
     POLICY,
     {"env=Bricks-v0", "ppo.steps=8", "stop.steps=64", "ppo.epochs=1", "evaluation.episodes=1"}},
    {"network.action_mask", "true", "false", POLICY, {"env=Taxi-v4"}},
    {"network.deviation", "free", "gsde", POLICY, {PENDULUM}},
    {"network.squash", "false", "true", POLICY, {PENDULUM}},
    {"network.rescale_action", "false", "true", POLICY, {PENDULUM}},
    {"network.log_std_init", "0", "-1", POLICY, {PENDULUM}},
    {"network.noise_every", "0", "4", POLICY, {PENDULUM, "network.deviation=gsde"}},
    {"ppo.steps", "32", "40", STEPS, {"stop.steps=150"}},
    {"ppo.minibatch", "32", "50", POLICY},
    {"ppo.epochs", "2", "3", POLICY},
    {"ppo.sequence", "8", "16", POLICY, {"network.memory=gru"}},
    {"ppo.gamma", "0.99", "0.9", POLICY},
    {"ppo.lambda", "0.95", "0.5", POLICY},
    {"ppo.learning_rate", "1e-2", "1e-3", POLICY},
    {"ppo.clip_range", "0.2", "0.001", POLICY},
    {"ppo.entropy_coefficient", "0", "0.01", POLICY},
    {"ppo.value_coefficient", "0.5", "1", POLICY, {"network.shared=true"}},
    {"ppo.value_clip_range", "0", "0.001", POLICY},
    {"ppo.value_error_clip", "0", "0.1", POLICY},
    {"ppo.max_grad_norm", "0.5", "0.01", POLICY},
    {"ppo.target_kl", "0", "1e-9", POLICY},
    {"ppo.kl_coefficient", "0", "1", POLICY},
    {"ppo.kl_target", "0", "1e-6", POLICY, {"ppo.kl_coefficient=1"}},
    {"ppo.normalize_advantage", "true", "false", POLICY},
    {"ppo.normalize_reward", "false", "true", POLICY},
    {"ppo.reward_clip", "0", "0.5", POLICY},
    {"ppo.adam_epsilon", "1e-5", "1e-3", POLICY},
    {"dqn.train_freq", "32", "64", POLICY, {DQN}},
    {"dqn.gradient_steps", "2", "3", POLICY, {DQN}},
    {"dqn.minibatch", "16", "24", POLICY, {DQN}},
    {"dqn.buffer_size", "64", "256", POLICY, {DQN, "dqn.learning_starts=8"}},
    {"dqn.learning_starts", "8", "100", POLICY, {DQN}},
    {"dqn.buffer_bytes", "0", "2000", POLICY, {DQN}},
    {"dqn.n_step", "3", "[1, 3]", POLICY, {DQN}},
    {"dqn.samples_per_insert", "0", "1", POLICY, {DQN}},
    {"dqn.samples_tolerance", "0", "200", POLICY, {DQN, "dqn.samples_per_insert=1"}},
    {"dqn.target_update", "32", "1000", POLICY, {DQN}},
    {"dqn.tau", "1", "0.5", POLICY, {DQN}},
    {"dqn.gamma", "0.99", "0.9", POLICY, {DQN}},
    {"dqn.learning_rate", "1e-2", "1e-3", POLICY, {DQN}},
    {"dqn.epsilon_start", "1", "0", POLICY, {DQN}},
    {"dqn.epsilon_end", "0", "0.9", POLICY, {DQN}},
    {"dqn.exploration_fraction", "0.1", "1", POLICY, {DQN}},
    {"dqn.double_q", "true", "false", POLICY, {DQN}},
    {"dqn.dueling", "true", "false", POLICY, {DQN}},
    {"dqn.distribution", "categorical", "quantile", POLICY, {DQN}},
    {"dqn.atoms", "11", "21", POLICY, {DQN, "dqn.distribution=categorical"}},
    {"dqn.value_min", "-10", "-5", POLICY, {DQN, "dqn.distribution=categorical"}},
    {"dqn.value_max", "10", "5", POLICY, {DQN, "dqn.distribution=categorical"}},
    {"dqn.noisy", "false", "true", POLICY, {DQN}},
    {"dqn.noisy_sigma", "0.5", "0.1", POLICY, {DQN, "dqn.noisy=true"}},
    {"dqn.huber_delta", "0", "0.01", POLICY, {DQN}},
    {"dqn.priority_alpha", "0", "0.6", POLICY, {DQN}},
    {"dqn.priority_beta", "0", "1", POLICY, {DQN, "dqn.priority_alpha=0.6"}},
    {"dqn.max_grad_norm", "10", "0.01", POLICY, {DQN}},
    {"dqn.adam_epsilon", "1e-8", "1e-3", POLICY, {DQN}},
    {"checkpoint.every", "0", "128", CHECKPOINTS, {"stop.steps=512"}, .same_policy = true, .files = true},
    {"checkpoint.keep",
     "1",
     "3",
     CHECKPOINTS_KEPT,
     {"stop.steps=1024", "checkpoint.every=128"},
     .same_policy = true,
     .files = true},
    {.key = "checkpoint.replay", .reason = "seen when a run goes on: tests/runs/dqn_state.sh"},
    {.key = "record.every", .reason = "films are corral-view's to make: tests/view/record.sh"},
    {"max_bad_updates",
     "1",
     "3",
     SKIPPED,
     {MOODY, "env_params.reward=3e38", "ppo.minibatch=1000000", "ppo.epochs=1", "stop.steps=100000"}},
};

enum { CASES = sizeof cases / sizeof cases[0] };

/// Two iterations of four environments, in a few milliseconds.
static const char *const base[] = {
    "env=CartPole-v1",
    "envs=4",
    "workers=0",
    "threads=1",
    "max_episode_steps=20",
    "stop.steps=256",
    "evaluation.every=0",
    "evaluation.episodes=2",
    "network.hidden=[16]",
    "ppo.steps=32",
    "ppo.minibatch=32",
    "ppo.epochs=2",
    "ppo.learning_rate=1e-2",
    "dqn.train_freq=32",
    "dqn.minibatch=16",
    "dqn.gradient_steps=4",
    "dqn.learning_starts=8",
    "dqn.learning_rate=1e-2",
    "dqn.target_update=64",
    NULL,
};

static void set(corral_train_config *config, const char *setting)
{
    TEST_OK(corral_config_set(corral_train_fields, config, setting));
}

static void run_case(const key_case *c, const char *value, seen *out)
{
    corral_train_config config = corral_train_config_default();
    for (const char *const *setting = base; *setting != NULL; setting++)
        set(&config, *setting);
    for (int i = 0; i < WITH_MAX && c->with[i] != NULL; i++)
        set(&config, c->with[i]);
    char *setting = corral_format("%s=%s", c->sub != NULL ? c->sub : c->key, value);
    CU_ASSERT_PTR_NOT_NULL_FATAL(setting);
    set(&config, setting);
    free(setting);
    run(&config, c->files, out);
}

static const key_case *find_case(const char *key)
{
    for (size_t i = 0; i < CASES; i++)
        if (strcmp(cases[i].key, key) == 0) return &cases[i];
    return NULL;
}

static void every_key_has_an_entry(void)
{
    size_t keys = 0;
    for (const corral_field *field = corral_train_fields; field->name != NULL; field++, keys++) {
        if (find_case(field->name) == NULL) fprintf(stderr, "%s: no entry\n", field->name);
        CU_ASSERT_PTR_NOT_NULL(find_case(field->name));
    }
    CU_ASSERT_EQUAL(keys, CASES); // and no entry is of a key that has gone
}

static void every_key_has_an_effect(void)
{
    for (size_t i = 0; i < CASES; i++) {
        const key_case *c = &cases[i];
        if (c->reason != NULL) {
            CU_ASSERT_TRUE(strlen(c->reason) > 10);
            continue;
        }
        seen a, b;
        run_case(c, c->a, &a);
        run_case(c, c->b, &b);
        CU_ASSERT_TRUE(a.value[CREATED] == 1 && b.value[CREATED] == 1);
        const bool differs = a.value[c->watch] != b.value[c->watch];
        const bool same = !c->same_policy || a.value[POLICY] == b.value[POLICY];
        if (!differs) fprintf(stderr, "%s: %s and %s do the same\n", c->key, c->a, c->b);
        if (!same) fprintf(stderr, "%s: %s and %s teach different policies\n", c->key, c->a, c->b);
        CU_ASSERT_TRUE(differs);
        CU_ASSERT_TRUE(same);
    }
}

static void the_same_settings_do_the_same(void)
{
    seen a, b;
    run_case(find_case("seed"), "1", &a);
    run_case(find_case("seed"), "1", &b);
    CU_ASSERT_EQUAL(a.value[POLICY], b.value[POLICY]);
    CU_ASSERT_EQUAL(a.value[EVALUATION], b.value[EVALUATION]);
}

int main(void)
{
    return test_run("keys", (test_case[]){
                                {"every key has an entry", every_key_has_an_entry},
                                {"the same settings do the same", the_same_settings_do_the_same},
                                {"every key has an effect", every_key_has_an_effect},
                                {NULL, NULL},
                            });
}
