// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/actors/spawner.h"

#include "spawn_message.h"
#include "spawner_process.h"

#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_TIMEOUT (10 * CORRAL_SECOND) // for a program on a slow disk
#define STOP_TIMEOUT   (8 * CORRAL_SECOND)  // above the spawner's own limits

struct corral_spawner {
    pid_t pid;
    int requests, exits;
    uint64_t sequence; // of the newest SPAWN
    char tail[CORRAL_MESSAGE_TAIL_MAX];
};

static void close_pair(const int *pair)
{
    close(pair[0]);
    close(pair[1]);
}

// No signal reaches the spawner between its fork and its own mask: the agent's handlers are not for it.
static pid_t fork_spawner(const int *requests, const int *exits)
{
    const pid_t agent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0) corral_spawner_process(requests[1], exits[1], agent);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

corral_status corral_spawner_start(corral_spawner **out_spawner)
{
    corral_spawner *spawner = calloc(1, sizeof *spawner);
    if (spawner == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a spawner");
    int requests[2], exits[2];
    corral_status status = corral_message_pair(requests);
    if (status != CORRAL_OK) goto fail;
    status = corral_message_pair(exits);
    if (status != CORRAL_OK) {
        close_pair(requests);
        goto fail;
    }
    spawner->pid = fork_spawner(requests, exits);
    if (spawner->pid < 0) {
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot fork the spawner");
        close_pair(requests);
        close_pair(exits);
        goto fail;
    }
    close(requests[1]);
    close(exits[1]);
    spawner->requests = requests[0];
    spawner->exits = exits[0];
    *out_spawner = spawner;
    return CORRAL_OK;

fail:
    free(spawner);
    return status;
}

// Its end of the sockets closes when it exits.
static bool await_end(corral_spawner *spawner)
{
    const int64_t deadline = corral_now_ns() + STOP_TIMEOUT;
    corral_message message;
    for (int64_t left = STOP_TIMEOUT; left > 0; left = deadline - corral_now_ns()) {
        const corral_status status =
            corral_message_receive(spawner->exits, &message, spawner->tail, sizeof spawner->tail, NULL, left);
        if (status == CORRAL_ERROR_LOST) return true;
    }
    return false;
}

void corral_spawner_stop(corral_spawner *spawner)
{
    if (spawner == NULL) return;
    const corral_message stop = {.kind = CORRAL_MESSAGE_STOP};
    const corral_status sent = corral_message_send(spawner->requests, &stop, NULL, NULL, 0, CORRAL_SECOND);
    if (sent == CORRAL_ERROR_FULL || !await_end(spawner))
        kill(spawner->pid, SIGKILL); // its children die with it
    while (waitpid(spawner->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(spawner->requests);
    close(spawner->exits);
    free(spawner);
}

static corral_status await_answer(corral_spawner *spawner, const corral_spawn *spawn, pid_t *out_pid)
{
    const int64_t deadline = corral_now_ns() + ANSWER_TIMEOUT;
    corral_message answer = {0};
    do { // the answer to an earlier request, which we stopped waiting for, may come first
        const int64_t left = deadline - corral_now_ns();
        const corral_status status = corral_message_receive(spawner->requests, &answer, spawner->tail,
                                                            sizeof spawner->tail, NULL, left > 0 ? left : 0);
        if (status == CORRAL_ERROR_EMPTY)
            return corral_fail(CORRAL_ERROR_TIMEOUT, "%s has not been started within %d s", spawn->program,
                               (int)(ANSWER_TIMEOUT / CORRAL_SECOND));
        if (status != CORRAL_OK)
            return corral_fail_within(status, "cannot start %s: the spawner", spawn->program);
    } while (answer.kind != CORRAL_MESSAGE_SPAWNED || answer.tag != spawner->sequence);

    if (answer.code != CORRAL_OK)
        return corral_fail((corral_status)answer.code, "%.*s", (int)answer.tail_size, spawner->tail);
    *out_pid = (pid_t)answer.generation;
    return CORRAL_OK;
}

corral_status corral_spawner_spawn(corral_spawner *spawner, const corral_spawn *spawn, pid_t *out_pid)
{
    corral_message request;
    int fds[CORRAL_MESSAGE_FDS_MAX];
    size_t fd_count = 0;
    corral_status status = corral_spawn_pack(spawn, &request, spawner->tail, fds, &fd_count);
    if (status != CORRAL_OK) return status;
    request.tag = ++spawner->sequence;
    status = corral_message_send(spawner->requests, &request, spawner->tail, fds, fd_count, ANSWER_TIMEOUT);
    if (status != CORRAL_OK)
        return corral_fail_within(status, "cannot start %s: the spawner", spawn->program);
    return await_answer(spawner, spawn, out_pid);
}

corral_status corral_spawner_signal(corral_spawner *spawner, pid_t pid, int signal_number)
{
    if (pid <= 0 || signal_number <= 0 || signal_number >= NSIG)
        return corral_fail(CORRAL_ERROR_INVALID, "signal %d to process %d", signal_number, (int)pid);
    const corral_message request = {
        .kind = CORRAL_MESSAGE_SIGNAL, .tag = (uint64_t)pid, .code = (uint32_t)signal_number};
    return corral_fail_within(corral_message_send(spawner->requests, &request, NULL, NULL, 0, CORRAL_SECOND),
                              "the spawner");
}

int corral_spawner_fd(const corral_spawner *spawner)
{
    return spawner->exits;
}

corral_status corral_spawner_next_exit(corral_spawner *spawner, corral_spawner_exit *out_exit)
{
    corral_message message;
    const corral_status status =
        corral_message_receive(spawner->exits, &message, spawner->tail, sizeof spawner->tail, NULL, 0);
    if (status != CORRAL_OK)
        return status == CORRAL_ERROR_EMPTY ? status : corral_fail_within(status, "the spawner");
    *out_exit = (corral_spawner_exit){.pid = (pid_t)message.tag, .status = (int)message.code};
    return CORRAL_OK;
}
