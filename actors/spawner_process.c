// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The spawner's loop. It sleeps in poll() on three things: requests, SIGCHLD and SIGTERM (as a signalfd),
/// and, while there is an exit to tell, room in the socket for exits. That is a socket of its own, so that an
/// agent that waits for the answer to a SPAWN need not put exits aside.
///
///     serving   until STOP (TERM to all, KILL after one second), or end-of-file from the agent, or SIGTERM,
///               which the kernel sends when the agent dies (KILL to all at once)
///     ending    until no process is left, but at most END_LIMIT: one that the kernel cannot end must not
///     keep us
#include "spawner_process.h"

#include "spawn_message.h"
#include "spawner_child.h"
#include "spawner_table.h"

#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TERM_GRACE   CORRAL_SECOND       // from TERM to KILL
#define ORPHAN_LIMIT (2 * CORRAL_SECOND) // an exit is not held back longer for what was left behind
#define END_LIMIT    (5 * CORRAL_SECOND)

enum { ORPHAN_LOOK_MS = 100 };

typedef struct spawner_state {
    int requests, exits, signals;
    corral_spawner_table table;
    bool ending;
    int64_t kill_at, leave_at; // while ending
    int64_t tell_at;           // exits are told at the latest then; 0: none is waiting
    bool may_tell;             // what the exited children left behind is gone
    char tail[CORRAL_MESSAGE_TAIL_MAX];
} spawner_state;

// --- beginning ---------------------------------------------------------------------------------------------

static void close_all_between(unsigned first, unsigned last)
{
    if (first > last || close_range(first, last, 0) == 0) return;
    struct rlimit limit; // a kernel or a filter without close_range()
    const unsigned end =
        getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
    for (unsigned fd = first; fd <= last && fd < end; fd++)
        close((int)fd);
}

// Whatever the agent has open is its own: a spawner that kept a socket or a pipe would hide its end from
// others.
static void keep_only(int a, int b)
{
    const unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
    close_all_between(STDERR_FILENO + 1, low - 1);
    close_all_between(low + 1, high - 1);
    close_all_between(high + 1, ~0U);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, STDIN_FILENO);
        close(nothing);
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

static bool begin(spawner_state *state, pid_t agent)
{
    setpgid(0, 0); // Ctrl-C is for the agent, which then tells us what to do
    prctl(PR_SET_NAME, "corral-spawner");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    keep_only(state->requests, state->exits);
    signal(SIGCHLD, SIG_DFL); // an agent that ignores it would have us lose the exits

    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGCHLD);
    sigaddset(&handled, SIGTERM);
    state->signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    return state->signals >= 0 && getppid() == agent;
}

// --- requests ----------------------------------------------------------------------------------------------

static void end_by(spawner_state *state, int64_t kill_at)
{
    state->ending = true;
    state->kill_at = kill_at;
    state->leave_at = kill_at + END_LIMIT;
}

static corral_status start_program(spawner_state *state, const corral_message *request, const int *fds,
                                   pid_t *out_pid)
{
    corral_spawn spawn;
    corral_spawn_words words;
    corral_status status = corral_spawn_unpack(request, state->tail, fds, &words, &spawn);
    if (status == CORRAL_OK) status = corral_spawner_table_reserve(&state->table);
    if (status == CORRAL_OK) status = corral_spawner_start_child(&spawn, out_pid);
    if (status == CORRAL_OK) corral_spawner_table_add(&state->table, *out_pid);
    return status;
}

static void answer_spawn(spawner_state *state, const corral_message *request, const int *fds)
{
    pid_t pid = 0;
    const corral_status status = start_program(state, request, fds, &pid);
    const char *reason = status == CORRAL_OK ? "" : corral_last_error();
    const corral_message answer = {
        .kind = CORRAL_MESSAGE_SPAWNED,
        .tail_size = (uint32_t)strlen(reason),
        .tag = request->tag,
        .generation = (uint64_t)pid,
        .code = status,
    };
    const corral_status sent = corral_message_send(state->requests, &answer, reason, NULL, 0, -1);
    (void)sent; // an agent that is gone is seen as end-of-file
}

static void take_request(spawner_state *state)
{
    corral_message request;
    int fds[CORRAL_MESSAGE_FDS_MAX];
    const corral_status status =
        corral_message_receive(state->requests, &request, state->tail, sizeof state->tail, fds, 0);
    if (status == CORRAL_ERROR_EMPTY) return;
    if (status != CORRAL_OK) {
        end_by(state, corral_now_ns());
        return;
    }
    if (request.kind == CORRAL_MESSAGE_SPAWN) {
        answer_spawn(state, &request, fds);
    } else if (request.kind == CORRAL_MESSAGE_SIGNAL) {
        corral_spawner_table_signal(&state->table, (pid_t)request.tag, (int)request.code);
    } else if (request.kind == CORRAL_MESSAGE_STOP) {
        corral_spawner_table_signal_all(&state->table, SIGTERM);
        end_by(state, corral_now_ns() + TERM_GRACE);
    }
    for (int i = 0; i < CORRAL_MESSAGE_FDS_MAX; i++)
        if (fds[i] >= 0) close(fds[i]);
}

// --- exits -------------------------------------------------------------------------------------------------

static void take_signals(spawner_state *state)
{
    struct signalfd_siginfo news;
    while (read(state->signals, &news, sizeof news) == (ssize_t)sizeof news)
        if (news.ssi_signo == SIGTERM) end_by(state, corral_now_ns());
}

static bool has_exited_child(const spawner_state *state)
{
    for (size_t i = 0; i < state->table.count; i++)
        if (state->table.entries[i].exited) return true;
    return false;
}

static void look_at_children(spawner_state *state)
{
    corral_spawner_table_reap(&state->table);
    if (!has_exited_child(state)) return;
    if (state->tell_at == 0) state->tell_at = corral_now_ns() + ORPHAN_LIMIT;
    const size_t orphans = corral_spawner_table_end_orphans(&state->table);
    state->may_tell = orphans == 0 || corral_now_ns() >= state->tell_at;
}

static void tell_exits(spawner_state *state)
{
    for (size_t i = state->table.count; i-- > 0;) {
        const corral_spawner_entry entry = state->table.entries[i];
        if (!entry.exited) continue;
        const corral_message exit_message = {
            .kind = CORRAL_MESSAGE_EXITED, .tag = (uint64_t)entry.pid, .code = (uint32_t)entry.status};
        if (corral_message_send(state->exits, &exit_message, NULL, NULL, 0, 0) == CORRAL_ERROR_FULL) return;
        corral_spawner_table_remove(&state->table, i);
    }
    state->tell_at = 0;
    state->may_tell = false;
}

// --- the loop ----------------------------------------------------------------------------------------------

static int next_look_ms(const spawner_state *state)
{
    const bool waits_for_orphans = state->tell_at != 0 && !state->may_tell;
    return state->ending || waits_for_orphans ? ORPHAN_LOOK_MS : -1;
}

static void wait_and_work(spawner_state *state)
{
    struct pollfd wanted[] = {
        {.fd = state->signals, .events = POLLIN},
        {.fd = state->ending ? -1 : state->requests, .events = POLLIN},
        {.fd = state->may_tell ? state->exits : -1, .events = POLLOUT},
    };
    if (poll(wanted, sizeof wanted / sizeof *wanted, next_look_ms(state)) < 0 && errno != EINTR)
        end_by(state, 0);
    if (wanted[0].revents != 0) take_signals(state);
    if (wanted[1].revents != 0) take_request(state);
    look_at_children(state);
    if (state->may_tell) tell_exits(state);
}

// While ending, everything that is not in a living child's group is an orphan, whether or not somebody just
// exited.
static bool has_ended(spawner_state *state)
{
    if (corral_now_ns() >= state->kill_at) corral_spawner_table_signal_all(&state->table, SIGKILL);
    corral_spawner_table_end_orphans(&state->table);
    return corral_spawner_table_is_childless() || corral_now_ns() >= state->leave_at;
}

_Noreturn void corral_spawner_process(int requests, int exits, pid_t agent)
{
    spawner_state *state = calloc(1, sizeof *state);
    if (state == NULL) _exit(EXIT_FAILURE);
    state->requests = requests;
    state->exits = exits;
    if (!begin(state, agent)) _exit(EXIT_FAILURE);
    while (!state->ending || !has_ended(state))
        wait_and_work(state);
    _exit(EXIT_SUCCESS);
}
