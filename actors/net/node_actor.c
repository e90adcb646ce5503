// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One actor's process: started, watched, started again.
///
/// After a crash it is started again 0.1 s later, after the next one 0.2 s, up to 30 s, until it has given a
/// fragment. `max_restarts` crashes in a row are forgiven; after one more it stays down. That is decided a
/// moment after the exit, since the news of its last fragment may still be on their way from the driver.
#include "node_private.h"

#include "corral/actors/actor.h"
#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_DELAY (100 * CORRAL_MILLISECOND)
#define LAST_DELAY  (30 * CORRAL_SECOND)

static void tell_state(const node_actor *actor, corral_actor_state state)
{
    Corral__V1__ActorState message = CORRAL__V1__ACTOR_STATE__INIT;
    message.job = actor->group->session->job;
    message.group = actor->group->id;
    message.actor = actor->index;
    message.pid = actor->pid;
    message.state = state;
    message.restarts = actor->restarts;
    node_tell_head(actor->group->session->node, CORRAL__V1__ENVELOPE__BODY_ACTOR_STATE, &message);
}

static void tell_gone(const node_actor *actor, bool down, const char *how, const char *where)
{
    Corral__V1__Gone message = CORRAL__V1__GONE__INIT;
    message.group = actor->group->id;
    message.actor = actor->index;
    message.incarnation = actor->incarnation;
    message.down = down;
    message.how = corral_wire_text(how);
    message.where = corral_wire_text(where);
    message.error = corral_wire_text(actor->error);
    message.tail = corral_wire_text(actor->tail);
    corral_channel_tell(&actor->group->session->channel, CORRAL__V1__ENVELOPE__BODY_GONE, &message);
}

static int64_t delay_after(uint32_t crashes_in_row)
{
    int64_t delay = FIRST_DELAY;
    for (uint32_t i = 1; i < crashes_in_row && delay < LAST_DELAY; i++)
        delay *= 2;
    return delay < LAST_DELAY ? delay : LAST_DELAY;
}

static void crashed(node_actor *actor, const char *how, const char *where)
{
    tell_gone(actor, false, how, where);
    actor->crashes_in_row++;
    const bool last = actor->crashes_in_row > actor->group->max_restarts;
    actor->wake_at_ns = corral_now_ns() + (last ? FIRST_DELAY : delay_after(actor->crashes_in_row));
    tell_state(actor, CORRAL_ACTOR_RESTARTING);
}

void node_actor_wake(node_actor *actor)
{
    actor->wake_at_ns = 0;
    if (actor->group->halting) return;
    if (actor->crashes_in_row > actor->group->max_restarts) {
        actor->down = true;
        tell_gone(actor, true, "", "");
        tell_state(actor, CORRAL_ACTOR_DOWN);
        return;
    }
    actor->restarts++;
    node_actor_start(actor);
}

void node_actor_progress(node_actor *actor)
{
    actor->crashes_in_row = 0;
}

// --- starting
// -------------------------------------------------------------------------------------------------------

// The descriptors of one start, by their owner once it has begun.
typedef struct actor_ends {
    int sockets[2]; // ours, the actor's
    int errors[2];  // ours, the actor's
    int segment_fd; // read-only: the consumer's
    corral_segment segment;
} actor_ends;

static void close_fd(int *fd)
{
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

static corral_status open_ends(const node_actor *actor, actor_ends *ends)
{
    const node_group *group = actor->group;
    char name[96];
    snprintf(name, sizeof name, "corral-%s-%u", group->class_name, actor->index);
    *ends = (actor_ends){.sockets = {-1, -1}, .errors = {-1, -1}, .segment_fd = -1, .segment = {.fd = -1}};
    corral_status status = corral_message_pair(ends->sockets);
    if (status == CORRAL_OK && pipe2(ends->errors, O_CLOEXEC | O_NONBLOCK) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make a pipe");
    if (status == CORRAL_OK)
        status = corral_segment_create(
            name, corral_actor_segment_size(group->block_bytes, group->blocks_per_actor), &ends->segment);
    if (status == CORRAL_OK) status = corral_segment_share(&ends->segment, &ends->segment_fd);
    return status;
}

static void close_ends(actor_ends *ends)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&ends->sockets[i]);
        close_fd(&ends->errors[i]);
    }
    close_fd(&ends->segment_fd);
    corral_segment_finish(&ends->segment);
}

static corral_status spawn(node_actor *actor, const actor_ends *ends)
{
    node *n = actor->group->session->node;
    const char *const arguments[] = {n->worker, NULL};
    // Several workers share the cores: none of them may start threads of its own for arithmetic.
    static const char *const environment[] = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
                                              "MKL_NUM_THREADS=1", NULL};
    const corral_spawn request = {
        .program = n->worker,
        .arguments = arguments,
        .environment = environment,
        .fds = {ends->sockets[1], ends->segment.fd, actor->group->board_fd, -1},
        .stderr_fd = ends->errors[1],
    };
    return corral_spawner_spawn(n->spawner, &request, &actor->pid);
}

// Hands the consumer's ends to whoever consumes: the driver, or, for a driver that is reached by gRPC,
// ourselves.
static corral_status hand_over(node_actor *actor, actor_ends *ends)
{
    if (actor->group->relayed) {
        const int socket = ends->sockets[0], segment_fd = ends->segment_fd;
        ends->sockets[0] = ends->segment_fd = -1;
        return node_relay_open(actor, socket, segment_fd);
    }
    const corral_message up = {
        .kind = CORRAL_MESSAGE_ACTOR_UP,
        .incarnation = actor->incarnation,
        .tag = actor->group->id,
        .actor = actor->index,
    };
    const int fds[] = {ends->sockets[0], ends->segment_fd};
    return corral_message_send(actor->group->session->channel.socket, &up, NULL, fds, 2, CORRAL_SECOND);
}

void node_actor_start(node_actor *actor)
{
    node *n = actor->group->session->node;
    actor->incarnation = (uint64_t)n->id << 40 | ++n->last_incarnation;
    actor->error[0] = actor->tail[0] = actor->how[0] = '\0';
    actor->started_ns = corral_now_ns();
    actor->tail_size = 0;
    actor_ends ends;
    corral_status status = open_ends(actor, &ends);
    if (status == CORRAL_OK) status = spawn(actor, &ends);
    if (status == CORRAL_OK)
        status = node_watch_start(n, &actor->stderr_watch, WATCH_STDERR, ends.errors[0], actor);
    if (status == CORRAL_OK) ends.errors[0] = -1;
    if (status == CORRAL_OK) status = hand_over(actor, &ends);
    if (status != CORRAL_OK) {
        snprintf(actor->error, sizeof actor->error, "%s", corral_last_error());
        corral_wire_clean(actor->error);
        if (actor->pid != 0)
            node_actor_kill(actor); // its exit is the crash
        else
            crashed(actor, "could not be started", "");
    } else {
        tell_state(actor, CORRAL_ACTOR_RUNNING);
    }
    close_ends(&ends);
}

void node_actor_kill(node_actor *actor)
{
    if (actor->pid == 0) return;
    const corral_status status =
        corral_spawner_signal(actor->group->session->node->spawner, actor->pid, SIGKILL);
    (void)status; // a spawner that is gone has taken its children along
}

// --- ending
// ---------------------------------------------------------------------------------------------------------

void node_actor_read_stderr(node_actor *actor)
{
    for (;;) {
        char bytes[1024];
        const ssize_t count = read(actor->stderr_watch.fd, bytes, sizeof bytes);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (count <= 0) { // everybody who could write is gone
            const int fd = actor->stderr_watch.fd;
            node_watch_stop(actor->group->session->node, &actor->stderr_watch);
            close(fd);
            return;
        }
        const size_t room = sizeof actor->tail - 1;
        const size_t keep = actor->tail_size + (size_t)count > room ? room - (size_t)count : actor->tail_size;
        memmove(actor->tail, actor->tail + actor->tail_size - keep, keep);
        memcpy(actor->tail + keep, bytes, (size_t)count);
        actor->tail_size = keep + (size_t)count;
        actor->tail[actor->tail_size] = '\0';
    }
}

static void finish_stderr(node_actor *actor)
{
    if (actor->stderr_watch.fd >= 0) node_actor_read_stderr(actor);
    if (actor->stderr_watch.fd >= 0) {
        const int fd = actor->stderr_watch.fd;
        node_watch_stop(actor->group->session->node, &actor->stderr_watch);
        close(fd);
    }
    for (size_t i = 0; i < actor->tail_size; i++)
        if (actor->tail[i] == '\0') actor->tail[i] = '?';
    while (actor->tail_size > 0 && actor->tail[actor->tail_size - 1] == '\n')
        actor->tail[--actor->tail_size] = '\0';
    corral_wire_clean(actor->tail);
}

static void describe_exit(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "exited with %d", WEXITSTATUS(status));
}

static node_actor *find_pid(node *n, pid_t pid)
{
    for (node_session *s = n->sessions; s != NULL; s = s->next)
        for (node_group *g = s->groups; g != NULL; g = g->next)
            for (uint32_t i = 0; i < g->count; i++)
                if (g->actors[i].pid == pid) return &g->actors[i];
    return NULL;
}

void node_actor_exited(node *n, const corral_spawner_exit *exit_info)
{
    node_actor *actor = find_pid(n, exit_info->pid);
    if (actor == NULL) return;
    char how[NODE_HOW_SIZE], where[NODE_TEXT_SIZE] = "";
    if (actor->how[0] != '\0')
        snprintf(how, sizeof how, "%s", actor->how);
    else
        describe_exit(exit_info->status, how, sizeof how);
    if (actor->life != NULL) {
        node_relay_receive(actor); // the blocks that it filled before
        corral_peer_beacon(actor->life->peer, where, sizeof where);
        corral_wire_clean(where);
        node_relay_retire(actor);
    }
    finish_stderr(actor);
    actor->pid = 0;
    if (!actor->group->halting) {
        corral_log(CORRAL_LOG_INFO, "actor %u of group \"%s\" %s", actor->index, actor->group->class_name,
                   how);
        crashed(actor, how, where);
    }
}
