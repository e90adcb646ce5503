// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral benchmark learning: trains the examples with several seeds side by side and writes a page of what
/// came of it. Each run is a process of its own, `corral train` and then `corral eval`, in OUT/NAME/seed-S;
/// what is there already is not done again, and a run that was cut off goes on.
#include "benchmark.h"

#include "cli.h"
#include "seeds.h"

#include "corral/base/file.h"
#include "corral/base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const benchmark_task benchmark_tasks[] = {
    {"cartpole-ppo", "CartPole-v1", "PPO", 100000, 475, 100},
    {"cartpole-dqn", "CartPole-v1", "DQN", 100000, 475, 100},
    {"cartpole-rainbow", "CartPole-v1", "Rainbow", 100000, 475, 100},
    {"acrobot-ppo", "Acrobot-v1", "PPO", 150000, -100, 100},
    {"acrobot-dqn", "Acrobot-v1", "DQN", 100000, -95, 100},
    {"mountaincar-ppo", "MountainCar-v0", "PPO", 1000000, -115, 100},
    {"mountaincar-dqn", "MountainCar-v0", "DQN", 150000, -115, 100},
    {"mountaincarcontinuous-ppo", "MountainCarContinuous-v0", "PPO", 50000, 85, 100},
    {"pendulum-ppo-gsde", "Pendulum-v1, gSDE", "PPO", 100000, -200, 100},
    {"pendulum-ppo", "Pendulum-v1", "PPO", 300000, -200, 100},
    {"frozenlake-ppo", "FrozenLake-v1, slippery", "PPO", 200000, 0.68, 10000},
    {"frozenlake-dqn", "FrozenLake-v1, slippery", "DQN", 100000, 0.68, 10000},
    {"recall-ppo", "Recall-v0", "PPO, LSTM", 300000, 0.95, 100},
    {"recall-ppo-mlp", "Recall-v0", "PPO, no memory", 300000, 0.5, 100, .stays_below = true},
    {"switchboard-ppo", "Switchboard-v0", "PPO", 200000, 44, 100},
    // twice what a scripted player gets: envs/games/README.md
    {"bricks-ppo", "Bricks-v0", "PPO", 500000, 134, 100, .seeds = 3},
    {"bricks-dqn", "Bricks-v0", "DQN", 500000, 134, 100, .seeds = 3},
    {0},
};

enum { TASKS_MAX = 32, JOBS_MAX = 64 };

typedef struct benchmark {
    const char *examples, *out, *page, *only;
    seed_list seeds;
    long long jobs;
    benchmark_line line[TASKS_MAX];
    size_t line_count;
    size_t failed; // runs
} benchmark;

static volatile sig_atomic_t interrupted;

static void on_signal(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

// --- one run, in a process of its own
// -----------------------------------------------------------------------

/// Starts this very program with other words, its output in `file`.
static pid_t start(const char *const *words, const char *file)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)words, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

typedef struct job {
    pid_t pid; // 0: none
    size_t line, seed;
    bool evaluates;
} job;

static char *run_of(const benchmark *b, const job *j)
{
    return corral_format("%s/%s/seed-%" PRId64, b->out, b->line[j->line].task->name, b->seeds.seed[j->seed]);
}

/// A run that was cut off goes on where it has a checkpoint, and else begins anew.
static bool goes_on(const char *run)
{
    char *checkpoints = corral_format("%s/checkpoints", run);
    const bool there = checkpoints != NULL && access(checkpoints, F_OK) == 0;
    free(checkpoints);
    if (!there && access(run, F_OK) == 0 && corral_folder_remove(run) != CORRAL_OK) return false;
    return there;
}

static bool start_training(const benchmark *b, job *j)
{
    const benchmark_task *task = b->line[j->line].task;
    char *run = run_of(b, j), *folder = corral_format("%s/%s", b->out, task->name);
    char *example = corral_format("%s/%s.yaml", b->examples, task->name);
    char *seed = corral_format("%" PRId64, b->seeds.seed[j->seed]);
    char *steps = corral_format("stop.steps=%" PRId64, task->steps);
    char *every = corral_format("evaluation.every=%" PRId64, task->steps / 25);
    if (run != NULL && folder != NULL && example != NULL && seed != NULL && steps != NULL && every != NULL &&
        corral_folder_create(folder) == CORRAL_OK) {
        const char *const fresh[] = {"corral",
                                     "train",
                                     example,
                                     "--seed",
                                     seed,
                                     "--out",
                                     run,
                                     "--quiet",
                                     steps,
                                     every,
                                     "threads=1",
                                     "workers=0",
                                     "stop.return=.inf",
                                     "evaluation.start=0",
                                     "evaluation.episodes=20",
                                     NULL};
        const char *const again[] = {"corral", "train", "--resume", run, "--quiet", NULL};
        j->pid = start(goes_on(run) ? again : fresh, "/dev/null");
    }
    char *const memory[] = {run, folder, example, seed, steps, every};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        free(memory[i]);
    return j->pid > 0;
}

/// With other seeds than training's, whatever those are.
static bool start_evaluation(const benchmark *b, job *j)
{
    char *run = run_of(b, j);
    char *file = corral_format("%s/benchmark.json", run != NULL ? run : "");
    char *episodes = corral_format("%" PRId64, b->line[j->line].task->episodes);
    char *seed = corral_format("%" PRId64, 1000000 + b->seeds.seed[j->seed]);
    if (run != NULL && file != NULL && episodes != NULL && seed != NULL) {
        const char *const words[] = {"corral", "eval", run,      "--episodes", episodes,
                                     "--seed", seed,   "--json", NULL};
        j->pid = start(words, file);
        j->evaluates = true;
    }
    free(run);
    free(file);
    free(episodes);
    free(seed);
    return j->pid > 0;
}

// --- all of them
// --------------------------------------------------------------------------------------------

static void note_failure(benchmark *b, const job *j, const char *what)
{
    b->failed++;
    fprintf(stderr, "corral: %s with seed %" PRId64 ": %s\n", b->line[j->line].task->name,
            b->seeds.seed[j->seed], what);
}

/// A process has ended: its run goes on to its evaluation, or is done.
static void end_job(benchmark *b, job *j, int wait_status)
{
    const bool trained = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) <= CLI_NOT_REACHED;
    j->pid = 0;
    if (interrupted) return;
    if (!trained) {
        note_failure(b, j, j->evaluates ? "the evaluation failed" : "the training failed");
    } else if (!j->evaluates) {
        if (!start_evaluation(b, j)) note_failure(b, j, "the evaluation could not be started");
    } else {
        char *run = run_of(b, j);
        benchmark_outcome *outcome = &b->line[j->line].outcome[j->seed];
        if (run != NULL) benchmark_read(run, b->line[j->line].task->goal, outcome);
        printf("%-28s seed %-4" PRId64 " %10.4g  best %10.4g  %8.1f s\n", b->line[j->line].task->name,
               outcome->seed, outcome->last, outcome->best, outcome->seconds);
        fflush(stdout);
        free(run);
    }
}

static void wait_for_one(benchmark *b, job *jobs)
{
    int wait_status;
    const pid_t pid = wait(&wait_status);
    for (long long i = 0; pid > 0 && i < b->jobs; i++)
        if (jobs[i].pid == pid) end_job(b, &jobs[i], wait_status);
    if (pid < 0 && errno == EINTR)
        for (long long i = 0; i < b->jobs; i++)
            if (jobs[i].pid > 0) kill(jobs[i].pid, SIGTERM);
}

static bool any_runs(const benchmark *b, const job *jobs)
{
    for (long long i = 0; i < b->jobs; i++)
        if (jobs[i].pid > 0) return true;
    return false;
}

static void run_all(benchmark *b)
{
    job jobs[JOBS_MAX] = {0};
    size_t line = 0, seed = 0;
    while (!interrupted && line < b->line_count) {
        for (long long i = 0; i < b->jobs && line < b->line_count; i++) {
            if (jobs[i].pid > 0) continue;
            jobs[i] = (job){.line = line, .seed = seed};
            if (++seed == b->line[line].count) line++, seed = 0;
            if (b->line[jobs[i].line].outcome[jobs[i].seed].known) continue;
            if (!start_training(b, &jobs[i])) note_failure(b, &jobs[i], "it could not be started");
        }
        if (any_runs(b, jobs)) wait_for_one(b, jobs);
    }
    while (any_runs(b, jobs))
        wait_for_one(b, jobs);
}

/// The lines that have an example here, and what is known of them already.
static corral_status plan(benchmark *b)
{
    for (const benchmark_task *task = benchmark_tasks; task->name != NULL; task++) {
        if (b->only != NULL && strcmp(b->only, task->name) != 0) continue;
        char *example = corral_format("%s/%s.yaml", b->examples, task->name);
        const bool there = example != NULL && access(example, R_OK) == 0;
        free(example);
        if (!there) continue;
        benchmark_line *line = &b->line[b->line_count];
        const bool fewer = task->seeds > 0 && task->seeds < b->seeds.count;
        *line = (benchmark_line){.task = task, .count = fewer ? task->seeds : b->seeds.count};
        for (size_t i = 0; i < line->count; i++) {
            const job at = {.line = b->line_count, .seed = i};
            char *run = run_of(b, &at);
            line->outcome[i].seed = b->seeds.seed[i];
            if (run != NULL) benchmark_read(run, task->goal, &line->outcome[i]);
            free(run);
        }
        b->line_count++;
    }
    if (b->line_count > 0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NOT_FOUND,
                       "%s: none of the table's examples is there%s%s; run this in the "
                       "source folder, or name the folder with --examples",
                       b->examples, b->only != NULL ? ": " : "", b->only != NULL ? b->only : "");
}

static int work(benchmark *b)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    run_all(b);
    if (b->page != NULL && benchmark_write_page(b->page, b->line, b->line_count) != CORRAL_OK)
        return cli_fail(CLI_FAILED);
    if (interrupted) return CLI_INTERRUPTED;
    if (b->failed > 0) return CLI_FAILED;
    for (size_t i = 0; i < b->line_count; i++)
        if (!benchmark_passes(&b->line[i])) return CLI_NOT_REACHED;
    return CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *seeds = "1..5", *jobs = NULL, *page = "docs/RESULTS.md";
    benchmark *b = calloc(1, sizeof *b);
    if (b == NULL) return cli_fail(CLI_FAILED);
    b->examples = "examples";
    b->out = "runs/benchmark";
    b->jobs = corral_available_cores() < JOBS_MAX ? corral_available_cores() : JOBS_MAX;
    bool help;
    const cli_flag flags[] = {
        {"--seeds", "LIST", "Which seeds (1..5)", &seeds, NULL},
        {"--only", "NAME", "One line of the table, by its example's name", &b->only, NULL},
        {"--jobs", "N", "Runs side by side (one per core)", &jobs, NULL},
        {"--out", "DIR",
         "Where the runs go; those that are there already are not done again (runs/benchmark)", &b->out,
         NULL},
        {"--examples", "DIR", "Where the examples are (examples)", &b->examples, NULL},
        {"--page", "FILE", "Where the page goes (docs/RESULTS.md)", &page, NULL},
        {0},
    };
    cli_words words;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) {
        free(b);
        return CLI_OK;
    }
    b->page = page;
    if (status == CORRAL_OK && (words.count != 1 || strcmp(words.word[0], "learning") != 0))
        status = corral_fail(CORRAL_ERROR_INVALID, "say what to measure: corral benchmark learning");
    if (status == CORRAL_OK && jobs != NULL) status = cli_number("--jobs", jobs, 1, JOBS_MAX, &b->jobs);
    if (status == CORRAL_OK) status = seeds_parse(seeds, &b->seeds);
    if (status == CORRAL_OK && b->seeds.count > BENCHMARK_SEEDS_MAX)
        status = corral_fail(CORRAL_ERROR_INVALID, "--seeds: more than %d seeds", BENCHMARK_SEEDS_MAX);
    if (status == CORRAL_OK) status = plan(b);
    const int code = status == CORRAL_OK ? work(b) : cli_fail(CLI_BAD_INPUT);
    free(b);
    return code;
}

const cli_command cli_benchmark = {
    "benchmark", "learning [--seeds LIST] [--only NAME] [--jobs N] [--out DIR]",
    "Train the examples with several seeds, and write a page of what came of it", run};
