// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The spawner: what its children are born with, and that nothing outlives whom it belongs to.
///
/// This process is a subreaper. Whatever a case fails to end becomes its child, so that "nothing is left" can
/// be asked of the kernel: waitpid() says ECHILD.
#include "test.h"

#include "rig.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct spawn_options {
    const char *argument, *second;
    const char *const *environment;
    int fds[CORRAL_SPAWN_FDS_MAX];
    int stderr_fd;
} spawn_options;

static corral_status spawn(corral_spawner *spawner, const spawn_options *options, pid_t *out_pid)
{
    corral_spawn request = {
        .program = TEST_WORKER,
        .arguments = (const char *const[]){"child", options->argument, options->second, NULL},
        .environment = options->environment,
        .stderr_fd = options->stderr_fd,
    };
    memcpy(request.fds, options->fds, sizeof request.fds);
    return corral_spawner_spawn(spawner, &request, out_pid);
}

static bool nothing_is_left(int64_t timeout_ns)
{
    const int64_t deadline = corral_now_ns() + timeout_ns;
    while (corral_now_ns() < deadline) {
        const pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD) return true;
        if (pid == 0) corral_sleep_ns(2 * CORRAL_MILLISECOND);
    }
    return false;
}

static int await_code(corral_spawner *spawner, pid_t pid)
{
    corral_spawner_exit ended = {0};
    TEST_OK(rig_await_exit(spawner, 10 * CORRAL_SECOND, &ended));
    CU_ASSERT_EQUAL(ended.pid, pid);
    return ended.status;
}

// --- births -----------------------------------------------------------------------------------------------

static void read_all(int pipe, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < size && (got = read(pipe, text + used, size - used - 1)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

static void children_are_born_clean(void)
{
    const int inherited = open("/dev/null", O_RDONLY); // an agent's leak: not close-on-exec
    CU_ASSERT_TRUE_FATAL(inherited >= 0);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);

    corral_spawner *spawner;
    int pipes[2];
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_CLOEXEC), 0);
    const spawn_options options = {"report",
                                   "a word",
                                   (const char *const[]){"CORRAL_TEST_WORD=told", NULL},
                                   {pipes[1], -1, pipes[0], -1},
                                   -1};
    TEST_OK(spawn(spawner, &options, &pid));
    close(pipes[1]);
    char text[512];
    read_all(pipes[0], text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "fds 0 1 2 3 5\nblocked 0 default 1 group 1 words report a word\n"
                                 "environment told path 1\n");
    CU_ASSERT_EQUAL(await_code(spawner, pid), 0);
    close(pipes[0]);
    close(inherited);
    corral_spawner_stop(spawner);
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
}

static void standard_error_goes_where_it_is_told(void)
{
    corral_spawner *spawner;
    int pipes[2];
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_CLOEXEC), 0);
    const spawn_options options = {"say", "last words", NULL, {-1, -1, -1, -1}, pipes[1]};
    TEST_OK(spawn(spawner, &options, &pid));
    close(pipes[1]);
    char text[64];
    read_all(pipes[0], text, sizeof text); // ends only when nobody else holds the pipe
    CU_ASSERT_STRING_EQUAL(text, "last words\n");
    CU_ASSERT_EQUAL(await_code(spawner, pid), 0);
    close(pipes[0]);
    corral_spawner_stop(spawner);
}

static void what_cannot_start_says_why(void)
{
    corral_spawner *spawner;
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    corral_spawn request = {.program = "/no/such/program",
                            .arguments = (const char *const[]){"x", NULL},
                            .fds = {-1, -1, -1, -1},
                            .stderr_fd = -1};
    TEST_FAILS(corral_spawner_spawn(spawner, &request, &pid), CORRAL_ERROR_IO,
               "/no/such/program: exec: No such file");
    request.program = "/etc";
    TEST_FAILS(corral_spawner_spawn(spawner, &request, &pid), CORRAL_ERROR_IO,
               "/etc: exec: Permission denied");
    const char *words[CORRAL_SPAWN_WORDS_MAX + 2] = {NULL};
    for (int i = 0; i <= CORRAL_SPAWN_WORDS_MAX; i++)
        words[i] = "word";
    request.arguments = words;
    TEST_FAILS(corral_spawner_spawn(spawner, &request, &pid), CORRAL_ERROR_INVALID, "more than 32 words");
    corral_spawner_exit ended;
    CU_ASSERT_EQUAL(corral_spawner_next_exit(spawner, &ended), CORRAL_ERROR_EMPTY); // no child, no exit
    corral_spawner_stop(spawner);
}

static void exits_are_told_one_by_one(void)
{
    corral_spawner *spawner;
    pid_t pids[20], pid = 0;
    int seen = 0;
    TEST_OK(corral_spawner_start(&spawner));
    for (int i = 0; i < 20; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", i);
        TEST_OK(spawn(spawner, &(spawn_options){"exit", code, NULL, {-1, -1, -1, -1}, -1}, &pids[i]));
    }
    for (int i = 0; i < 20; i++) {
        corral_spawner_exit ended = {0};
        TEST_OK(rig_await_exit(spawner, 10 * CORRAL_SECOND, &ended));
        for (int j = 0; j < 20; j++)
            seen += pids[j] == ended.pid && WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == j;
    }
    CU_ASSERT_EQUAL(seen, 20);
    TEST_OK(spawn(spawner, &(spawn_options){"abort", NULL, NULL, {-1, -1, -1, -1}, -1}, &pid));
    CU_ASSERT_EQUAL(WTERMSIG(await_code(spawner, pid)), SIGABRT);
    corral_spawner_stop(spawner);
}

// --- ends -------------------------------------------------------------------------------------------------

// A child that has said that it is up. It and its descendants hold the pipe whose reading end this returns.
static int spawn_and_await(corral_spawner *spawner, const char *what, pid_t *out_pid)
{
    int pipes[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_CLOEXEC), 0);
    const spawn_options options = {what, NULL, NULL, {pipes[1], -1, -1, -1}, -1};
    TEST_OK(spawn(spawner, &options, out_pid));
    close(pipes[1]);
    char up[2];
    CU_ASSERT_EQUAL_FATAL(read(pipes[0], up, 2), 2);
    return pipes[0];
}

static void descendants_are_gone_when_an_exit_is_told(void)
{
    corral_spawner *spawner;
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    const int family = spawn_and_await(spawner, "family", &pid);
    TEST_OK(corral_spawner_signal(spawner, pid, SIGTERM)); // it dies of this, its descendants do not
    CU_ASSERT_EQUAL(WTERMSIG(await_code(spawner, pid)), SIGTERM);
    CU_ASSERT_TRUE(rig_sees_end_of_file(family, CORRAL_MILLISECOND));
    close(family);

    int pipes[2]; // the same for one that leaves by itself, at once
    CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_CLOEXEC), 0);
    TEST_OK(
        spawn(spawner, &(spawn_options){"family-then-exit", NULL, NULL, {pipes[1], -1, -1, -1}, -1}, &pid));
    close(pipes[1]);
    CU_ASSERT_EQUAL(await_code(spawner, pid), 0);
    CU_ASSERT_TRUE(rig_sees_end_of_file(pipes[0], CORRAL_MILLISECOND));
    close(pipes[0]);
    corral_spawner_stop(spawner);
    CU_ASSERT_TRUE(nothing_is_left(CORRAL_SECOND));
}

// Also what has lost its parent, as long as it stays in the group of a living child.
static void a_neighbour_is_left_alone(void)
{
    corral_spawner *spawner;
    pid_t one = 0, other = 0;
    TEST_OK(corral_spawner_start(&spawner));
    const int neighbour = spawn_and_await(spawner, "orphan", &one);
    const int victim = spawn_and_await(spawner, "family", &other);
    TEST_OK(corral_spawner_signal(spawner, other, SIGKILL));
    await_code(spawner, other);
    CU_ASSERT_TRUE(rig_sees_end_of_file(victim, CORRAL_MILLISECOND));
    CU_ASSERT_FALSE(rig_sees_end_of_file(neighbour, 50 * CORRAL_MILLISECOND));
    corral_spawner_stop(spawner);
    CU_ASSERT_TRUE(rig_sees_end_of_file(neighbour, CORRAL_MILLISECOND));
    close(neighbour);
    close(victim);
}

static void stop_is_gentle_then_firm(void)
{
    corral_spawner *spawner;
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    const int soft = spawn_and_await(spawner, "family", &pid);
    int64_t begin = corral_now_ns();
    corral_spawner_stop(spawner);
    CU_ASSERT_TRUE(corral_now_ns() - begin < 900 * CORRAL_MILLISECOND); // TERM was enough
    CU_ASSERT_TRUE(rig_sees_end_of_file(soft, CORRAL_MILLISECOND));
    close(soft);

    TEST_OK(corral_spawner_start(&spawner));
    const int hard = spawn_and_await(spawner, "stubborn", &pid);
    begin = corral_now_ns();
    corral_spawner_stop(spawner);
    const int64_t took = corral_now_ns() - begin;
    CU_ASSERT_TRUE(took >= 900 * CORRAL_MILLISECOND && took < 3 * CORRAL_SECOND);
    CU_ASSERT_TRUE(rig_sees_end_of_file(hard, CORRAL_MILLISECOND));
    close(hard);
    CU_ASSERT_TRUE(nothing_is_left(CORRAL_SECOND));
    corral_spawner_stop(NULL);
}

// A stand-in for an agent, with a family and a stubborn child; returns when both are up.
static pid_t start_agent(int *out_pipe)
{
    int pipes[2];
    CU_ASSERT_EQUAL_FATAL(pipe2(pipes, O_CLOEXEC), 0);
    const pid_t agent = fork();
    if (agent == 0) {
        corral_spawner *spawner;
        pid_t pid;
        const spawn_options family = {"family", NULL, NULL, {pipes[1], -1, -1, -1}, -1};
        const spawn_options stubborn = {"stubborn", NULL, NULL, {pipes[1], -1, -1, -1}, -1};
        if (corral_spawner_start(&spawner) != CORRAL_OK) _exit(1);
        if (spawn(spawner, &family, &pid) != CORRAL_OK || spawn(spawner, &stubborn, &pid) != CORRAL_OK)
            _exit(1);
        for (;;)
            pause();
    }
    close(pipes[1]);
    char up[2];
    CU_ASSERT_EQUAL(read(pipes[0], up, 2), 2);
    CU_ASSERT_EQUAL(read(pipes[0], up, 2), 2);
    *out_pipe = pipes[0];
    return agent;
}

static void nothing_outlives_a_killed_agent(void)
{
    int pipe = -1;
    const pid_t agent = start_agent(&pipe);
    const int64_t begin = corral_now_ns();
    kill(agent, SIGKILL);
    CU_ASSERT_TRUE(rig_sees_end_of_file(pipe, 5 * CORRAL_SECOND));
    CU_ASSERT_TRUE(nothing_is_left(5 * CORRAL_SECOND)); // the spawner itself too
    CU_ASSERT_TRUE(corral_now_ns() - begin < 5 * CORRAL_SECOND);
    close(pipe);
}

static void a_killed_spawner_takes_its_children_along(void)
{
    corral_spawner *spawner;
    pid_t pid = 0;
    TEST_OK(corral_spawner_start(&spawner));
    const int child = spawn_and_await(spawner, "stubborn", &pid);
    char path[64];
    int spawner_pid = 0; // the parent of the child
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL_FATAL(fscanf(file, "%*d %*s %*c %d", &spawner_pid), 1);
    fclose(file);
    kill(spawner_pid, SIGKILL);
    CU_ASSERT_TRUE(rig_sees_end_of_file(child, 5 * CORRAL_SECOND));
    corral_spawner_exit ended;
    TEST_FAILS(rig_await_exit(spawner, 5 * CORRAL_SECOND, &ended), CORRAL_ERROR_LOST, "spawner");
    TEST_FAILS(spawn(spawner, &(spawn_options){"exit", "0", NULL, {-1, -1, -1, -1}, -1}, &pid),
               CORRAL_ERROR_LOST, "spawner");
    close(child);
    corral_spawner_stop(spawner);
    CU_ASSERT_TRUE(nothing_is_left(CORRAL_SECOND));
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return test_run(
        "spawner",
        (test_case[]){
            {"children are born clean", children_are_born_clean},
            {"standard error goes where it is told", standard_error_goes_where_it_is_told},
            {"what cannot start says why", what_cannot_start_says_why},
            {"exits are told one by one", exits_are_told_one_by_one},
            {"descendants are gone when an exit is told", descendants_are_gone_when_an_exit_is_told},
            {"a neighbour is left alone", a_neighbour_is_left_alone},
            {"stop is gentle, then firm", stop_is_gentle_then_firm},
            {"nothing outlives a killed agent", nothing_outlives_a_killed_agent},
            {"a killed spawner takes its children along", a_killed_spawner_takes_its_children_along},
            {NULL, NULL}});
}
