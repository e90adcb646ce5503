// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Starting, asking and ending a Python process.
//
// It gets two descriptors: the channel, a socket that keeps messages apart, and the lifeline, a pipe that we
// never write to. The kernel kills it when our end of the lifeline closes, which it does when we end, killed
// or not; so an environment that hangs, with or without Python's lock, outlives nobody. Neither a handler nor
// a thread is needed for that, on either side.

#include "python.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANNEL_FD = 3, LIFELINE_FD = 4, ABOVE_FD = 10 };
static const int64_t end_limit_ns = 2 * CORRAL_SECOND, last_words_ns = CORRAL_SECOND / 5;

// bridge.py, put here by the assembler; ends with a zero.
__asm__(".pushsection .rodata\n"
        "bridge_text:\n"
        ".incbin \"" BRIDGE_FILE "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char bridge_text[] __attribute__((visibility("hidden")));

struct gym_python {
    pid_t process;
    int channel, lifeline;
};

// --- which Python

static char *below(const char *variable)
{
    const char *folder = getenv(variable);
    return folder != NULL && folder[0] != '\0' ? corral_format("%s/bin/python", folder) : NULL;
}

char *gym_python_choose(void)
{
    const char *named = getenv("CORRAL_PYTHON");
    if (named != NULL && named[0] != '\0') return strdup(named);
    char *path = below("VIRTUAL_ENV");
    if (path == NULL) path = below("CONDA_PREFIX");
    return path != NULL ? path : strdup("python3");
}

// --- starting

/// What it shall find in its environment unless the person has said otherwise.
static const char *const surroundings[] = {"OMP_NUM_THREADS=1",        "OPENBLAS_NUM_THREADS=1",
                                           "MKL_NUM_THREADS=1",        "SDL_VIDEODRIVER=dummy",
                                           "SDL_AUDIODRIVER=dummy",    "PYGAME_HIDE_SUPPORT_PROMPT=1",
                                           "PYTHONDONTWRITEBYTECODE=1"};
enum { SURROUNDINGS = sizeof surroundings / sizeof *surroundings };

static bool is_set(const char *assignment)
{
    const size_t length = (size_t)(strchr(assignment, '=') - assignment);
    for (char **e = environ; *e != NULL; e++)
        if (strncmp(*e, assignment, length + 1) == 0) return true;
    return false;
}

/// The environment with our additions behind it; the caller frees the list alone.
static char **surround(void)
{
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **all = calloc(count + SURROUNDINGS + 1, sizeof *all);
    if (all == NULL) return NULL;
    memcpy(all, environ, count * sizeof *all);
    for (size_t i = 0; i < SURROUNDINGS; i++)
        if (!is_set(surroundings[i])) memcpy(&all[count++], &surroundings[i], sizeof *all);
    return all;
}

static int spawn(const char *program, int channel, int lifeline, pid_t *out_process)
{
    char **variables = surround();
    if (variables == NULL) return ENOMEM;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, channel, CHANNEL_FD);
    posix_spawn_file_actions_adddup2(&actions, lifeline, LIFELINE_FD);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO,
                                     STDOUT_FILENO); // ours is not theirs to print to

    char *name = strdup(program), *unbuffered = strdup("-u"), *command = strdup("-c"),
         *text = strdup(bridge_text);
    char *const arguments[] = {name, unbuffered, command, text, NULL};
    const int error = name == NULL || unbuffered == NULL || command == NULL || text == NULL
                          ? ENOMEM
                          : posix_spawnp(out_process, program, &actions, &attributes, arguments, variables);
    for (size_t i = 0; i < 4; i++)
        free(arguments[i]);
    free(variables);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/// Above the numbers that the child wants, so that none is overwritten on its way there.
static int moved_up(int file)
{
    const int moved = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, ABOVE_FD) : -1;
    if (file >= 0) close(file);
    return moved;
}

static corral_status cannot_start(const char *program, int error)
{
    if (error == ENOENT || error == EACCES || error == ENOTDIR)
        return corral_fail(CORRAL_ERROR_NOT_FOUND,
                           "there is no Python %s; install one with Gymnasium, or name it: "
                           "CORRAL_PYTHON=/path/to/python",
                           program);
    return corral_fail_errno(CORRAL_ERROR_REFUSED, error, "cannot start %s", program);
}

corral_status gym_python_start(const char *program, gym_python **out_python)
{
    int channel[2] = {-1, -1}, lifeline[2] = {-1, -1};
    gym_python *python = calloc(1, sizeof *python);
    if (python == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to start %s", program);
    int error = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0 ||
        pipe2(lifeline, O_CLOEXEC) != 0)
        error = errno;
    channel[1] = moved_up(channel[1]);
    lifeline[0] = moved_up(lifeline[0]);
    if (error == 0 && (channel[1] < 0 || lifeline[0] < 0)) error = EMFILE;
    if (error == 0) error = spawn(program, channel[1], lifeline[0], &python->process);
    if (channel[1] >= 0) close(channel[1]);
    if (lifeline[0] >= 0) close(lifeline[0]);
    if (error != 0) {
        if (channel[0] >= 0) close(channel[0]);
        if (lifeline[1] >= 0) close(lifeline[1]);
        free(python);
        return cannot_start(program, error);
    }
    python->channel = channel[0];
    python->lifeline = lifeline[1];
    *out_python = python;
    return CORRAL_OK;
}

// --- ending

/// Waits a while for its end. Returns whether it has ended, and how.
static bool await_end(gym_python *python, int64_t limit_ns, int *out_how)
{
    const int64_t until = corral_now_ns() + limit_ns;
    for (;;) {
        const pid_t ended = waitpid(python->process, out_how, WNOHANG);
        if (ended == python->process || (ended < 0 && errno == ECHILD)) break;
        if (corral_now_ns() >= until) return false;
        corral_sleep_ns(CORRAL_MILLISECOND);
    }
    python->process = 0;
    return true;
}

void gym_python_end(gym_python *python)
{
    if (python == NULL) return;
    int how;
    close(python->channel); // it sees the end of its messages
    if (python->process != 0 && !await_end(python, end_limit_ns, &how)) {
        kill(python->process, SIGKILL);
        waitpid(python->process, &how, 0);
    }
    close(python->lifeline);
    free(python);
}

static corral_status ended_by_itself(gym_python *python)
{
    int how = 0;
    if (!await_end(python, last_words_ns, &how)) {
        kill(python->process, SIGKILL); // it has closed its channel: nothing more is to be had
        await_end(python, end_limit_ns, &how);
    }
    if (WIFSIGNALED(how))
        return corral_fail(CORRAL_ERROR_LOST, "its Python process was ended by signal %d (%s)", WTERMSIG(how),
                           strsignal(WTERMSIG(how)));
    return corral_fail(CORRAL_ERROR_LOST, "its Python process ended with code %d", WEXITSTATUS(how));
}

/// SIGABRT makes Python's fault handler write down where it is.
static corral_status took_too_long(gym_python *python, int64_t timeout_ns)
{
    int how;
    kill(python->process, SIGABRT);
    if (!await_end(python, last_words_ns, &how)) {
        kill(python->process, SIGKILL);
        await_end(python, end_limit_ns, &how);
    }
    return corral_fail(CORRAL_ERROR_TIMEOUT, "no answer from its Python process within %g s, so it was ended",
                       (double)timeout_ns / CORRAL_SECOND);
}

// --- asking

static bool send_message(const gym_python *python, const char *message, size_t size, int file)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = size};
    union {
        char bytes[CMSG_SPACE(sizeof file)];
        struct cmsghdr align;
    } control = {0};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        head.msg_control = &control;
        head.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&head);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(c), &file, sizeof file);
    }
    ssize_t sent;
    do
        sent = sendmsg(python->channel, &head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

/// Whether an answer, or the end of the channel, is there in time.
static bool await_answer(const gym_python *python, int64_t timeout_ns)
{
    const int64_t until = corral_now_ns() + timeout_ns;
    struct pollfd wanted = {.fd = python->channel, .events = POLLIN};
    for (;;) {
        const int64_t left = until - corral_now_ns();
        const int64_t left_ms = left > 0 ? left / CORRAL_MILLISECOND + 1 : 0;
        const int ready = poll(&wanted, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
        if (ready > 0) return true;
        if (left <= 0) return false;
    }
}

corral_status gym_python_ask(gym_python *python, const char *message, size_t size, int file,
                             int64_t timeout_ns, gym_answer *out_answer)
{
    struct {
        char mark, nothing[3];
        uint32_t number;
    } answer;
    if (!send_message(python, message, size, file)) return ended_by_itself(python);
    if (!await_answer(python, timeout_ns)) return took_too_long(python, timeout_ns);
    const ssize_t got = recv(python->channel, &answer, sizeof answer, 0);
    if (got != (ssize_t)sizeof answer) return ended_by_itself(python);
    *out_answer = (gym_answer){answer.mark, answer.number};
    return CORRAL_OK;
}
