// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The child tells its parent of a failure before exec through a pipe that exec closes: what comes is the
/// reason, end-of-file is success.
#include "spawner_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FIRST_FD = 3,
    SAFE_FD = 16, // above all that a child is given
};

typedef enum start_step { STEP_DESCRIPTORS, STEP_ENVIRONMENT, STEP_EXEC } start_step;

typedef struct start_failure {
    start_step step;
    int error;
} start_failure;

static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL); // refused for KILL and STOP, no matter
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int safe_copy(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, SAFE_FD);
}

// First out of each other's way, then to where they belong; dup2() clears close-on-exec.
static bool place_descriptors(const corral_spawn *spawn, int *failure_pipe)
{
    int copies[CORRAL_SPAWN_FDS_MAX];
    for (int i = 0; i < CORRAL_SPAWN_FDS_MAX; i++) {
        copies[i] = spawn->fds[i] >= 0 ? safe_copy(spawn->fds[i]) : -1;
        if (spawn->fds[i] >= 0 && copies[i] < 0) return false;
    }
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int errors = safe_copy(spawn->stderr_fd >= 0 ? spawn->stderr_fd : STDERR_FILENO);
    const int moved_pipe = safe_copy(*failure_pipe);
    if (nothing < 0 || errors < 0 || moved_pipe < 0) return false;
    *failure_pipe = moved_pipe;

    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(errors, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
        return false;
    for (int i = 0; i < CORRAL_SPAWN_FDS_MAX; i++) {
        if (copies[i] < 0)
            close(FIRST_FD + i);
        else if (dup2(copies[i], FIRST_FD + i) < 0)
            return false;
    }
    return true;
}

// putenv() keeps the string itself, which is as good as exec needs it.
static bool add_environment(const char *const *words)
{
    for (; words != NULL && *words != NULL; words++) {
        char *word = strdup(*words);
        if (word == NULL || putenv(word) != 0) return false;
    }
    return true;
}

// Does not come back from exec; comes back with the step that failed.
static start_step become_program(const corral_spawn *spawn, pid_t spawner, int *failure_pipe)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != spawner) _exit(EXIT_FAILURE); // it died before the line above
    reset_signals();
    if (!place_descriptors(spawn, failure_pipe)) return STEP_DESCRIPTORS;
    if (!add_environment(spawn->environment)) return STEP_ENVIRONMENT;
    execv(spawn->program, (char *const *)(uintptr_t)spawn->arguments);
    return STEP_EXEC;
}

_Noreturn static void run_child(const corral_spawn *spawn, pid_t spawner, int failure_pipe)
{
    start_failure failure = {.step = become_program(spawn, spawner, &failure_pipe)};
    failure.error = errno;
    const ssize_t written = write(failure_pipe, &failure, sizeof failure);
    (void)written;
    _exit(127);
}

static corral_status await_exec(const corral_spawn *spawn, pid_t pid, int failure_pipe)
{
    start_failure failure;
    ssize_t size;
    do {
        size = read(failure_pipe, &failure, sizeof failure);
    } while (size < 0 && errno == EINTR);
    if (size != (ssize_t)sizeof failure) return CORRAL_OK;

    waitpid(pid, NULL, 0);
    static const char *const steps[] = {
        [STEP_DESCRIPTORS] = "its descriptors", [STEP_ENVIRONMENT] = "its environment", [STEP_EXEC] = "exec"};
    return corral_fail_errno(CORRAL_ERROR_IO, failure.error, "cannot start %s: %s", spawn->program,
                             steps[failure.step]);
}

corral_status corral_spawner_start_child(const corral_spawn *spawn, pid_t *out_pid)
{
    int failure_pipe[2];
    if (pipe2(failure_pipe, O_CLOEXEC) != 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot start %s: pipe", spawn->program);
    const pid_t spawner = getpid();
    const pid_t pid = fork();
    if (pid == 0) run_child(spawn, spawner, failure_pipe[1]);
    const int fork_error = errno;
    close(failure_pipe[1]);
    corral_status status = CORRAL_OK;
    if (pid < 0) {
        status = corral_fail_errno(CORRAL_ERROR_IO, fork_error, "cannot start %s: fork", spawn->program);
    } else {
        setpgid(pid, pid); // the child does it too: whoever comes first, it holds before we go on
        status = await_exec(spawn, pid, failure_pipe[0]);
    }
    close(failure_pipe[0]);
    *out_pid = pid;
    return status;
}
