// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// A process is spawned, not forked, since whoever plays environments may have threads. It leads a process
// group of its own: an interrupt from the terminal is for the run, which ends its environments itself.

#include "process.h"

#include "isolate.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ABOVE = 10 }; // descriptors on their way to the process have higher numbers than it wants

// --- starting

static int spawn(const char *program, const char *environment, const int *files, pid_t *out_id)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&actions, files[i], ISOLATE_CHANNEL + i);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                     STDOUT_FILENO); // ours is not theirs to print to

    char *arguments[] = {strdup(program), strdup(environment), NULL};
    const int error = arguments[0] == NULL || arguments[1] == NULL
                          ? ENOMEM
                          : posix_spawn(out_id, program, &actions, &attributes, arguments, environ);
    free(arguments[0]);
    free(arguments[1]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/// A copy with a high number; the original is closed if it is ours to close.
static int raised(int file, bool close_it)
{
    const int copy = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, ABOVE) : -1;
    if (close_it && file >= 0) close(file);
    return copy;
}

static void close_if_open(int file)
{
    if (file >= 0) close(file);
}

corral_status isolate_process_start(const char *environment, int memory, isolate_process *out_process)
{
    char *program;
    const corral_status status = corral_program_find("corral-env-host", &program);
    if (status != CORRAL_OK) return status;
    int channel[2] = {-1, -1}, lifeline[2] = {-1, -1}, error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0 || pipe2(lifeline, O_CLOEXEC) != 0)
        error = errno;
    const int files[3] = {raised(channel[1], true), raised(lifeline[0], true), raised(memory, false)};
    if (error == 0 && (files[0] < 0 || files[1] < 0 || files[2] < 0)) error = EMFILE;
    if (error == 0) error = spawn(program, environment, files, &out_process->id);
    for (int i = 0; i < 3; i++)
        close_if_open(files[i]);
    if (error != 0) {
        close_if_open(channel[0]);
        close_if_open(lifeline[1]);
        const corral_status failed =
            corral_fail_errno(CORRAL_ERROR_REFUSED, error, "cannot start %s", program);
        free(program);
        return failed;
    }
    free(program);
    out_process->channel = channel[0];
    out_process->lifeline = lifeline[1];
    return CORRAL_OK;
}

// --- ending

/// Kills it, with whatever it has started, and returns how it ended.
static int bury(isolate_process *process, bool kill_it)
{
    int how = 0;
    if (kill_it) kill(-process->id, SIGKILL);
    while (waitpid(process->id, &how, 0) < 0 && errno == EINTR)
        continue;
    kill(-process->id, SIGKILL); // what it may have left behind
    close(process->channel);
    close(process->lifeline);
    *process = (isolate_process){0};
    return how;
}

void isolate_process_end(isolate_process *process)
{
    if (process->id != 0) bury(process, true);
}

static corral_status lost(isolate_process *process)
{
    const int how = bury(process, false); // it has closed its end: it is about to end if it has not yet
    if (WIFSIGNALED(how))
        return corral_fail(CORRAL_ERROR_LOST, "its process was ended by signal %d (%s)", WTERMSIG(how),
                           strsignal(WTERMSIG(how)));
    return corral_fail(CORRAL_ERROR_LOST, "its process ended with exit code %d", WEXITSTATUS(how));
}

// --- talking

corral_status isolate_process_send(isolate_process *process, char message)
{
    ssize_t sent;
    do
        sent = send(process->channel, &message, 1, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == 1 ? CORRAL_OK : lost(process);
}

corral_status isolate_process_receive(isolate_process *process, double seconds, char *out_message)
{
    const int64_t until = corral_now_ns() + (int64_t)(seconds * (double)CORRAL_SECOND);
    struct pollfd wanted = {.fd = process->channel, .events = POLLIN};
    for (;;) {
        const int64_t left = until - corral_now_ns();
        const int ready = poll(&wanted, 1, left > 0 ? (int)(left / CORRAL_MILLISECOND + 1) : 0);
        if (ready > 0) break;
        if (left > 0) continue; // a signal came
        bury(process, true);
        return corral_fail(CORRAL_ERROR_TIMEOUT, "no answer within %g s, so its process was ended", seconds);
    }
    return recv(process->channel, out_message, 1, 0) == 1 ? CORRAL_OK : lost(process);
}
