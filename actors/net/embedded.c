// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run of its own starts its agent: one end of a pair of sockets is the agent's first session, so the
/// driver can speak before the agent is up, and either sees the other's end as end-of-file, however it came.
#include "cluster_private.h"
#include "runtime.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CHILD_FD = 3, NODE_FLAGS_MAX = 16 };

static corral_status find_program(char **out_path)
{
    const char *given = getenv("CORRAL_NODE");
    if (given == NULL || given[0] == '\0') return corral_program_find("corral-node", out_path);
    *out_path = strdup(given);
    return *out_path != NULL ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
}

// A process group of its own: Ctrl-C is for the driver, which ends its agent when it has written its
// checkpoint. No PDEATHSIG: it fires when the thread that spawned ends, which may be long before the driver
// does.
static void set_up(posix_spawnattr_t *attributes, posix_spawn_file_actions_t *actions, int socket)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(actions);
    posix_spawn_file_actions_adddup2(actions, socket, CHILD_FD);
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(actions, CHILD_FD + 1);
}

// posix_spawn() is a vfork: it runs no fork handlers (gRPC's would hang) and copies no page tables.
static corral_status spawn_node(const char *path, unsigned slots, const char *const *flags, int socket,
                                pid_t *out_pid)
{
    char slots_text[16];
    snprintf(slots_text, sizeof slots_text, "%u", slots);
    const char *arguments[NODE_FLAGS_MAX + 7] = {path, "--head", "--slots", slots_text, "--embedded-fd", "3"};
    for (size_t i = 0; flags != NULL && flags[i] != NULL && i < NODE_FLAGS_MAX; i++)
        arguments[6 + i] = flags[i];
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    set_up(&attributes, &actions, socket);
    const int error =
        posix_spawn(out_pid, path, &actions, &attributes, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error == 0) return CORRAL_OK;
    *out_pid = 0;
    return corral_fail_errno(CORRAL_ERROR_NOT_FOUND, error,
                             "cannot start the agent %s; name the program with CORRAL_NODE", path);
}

corral_status cluster_embed(corral_cluster *cluster, unsigned slots, const char *const *node_flags)
{
    int sockets[2];
    char *path = NULL;
    corral_status status = find_program(&path);
    if (status == CORRAL_OK) status = corral_message_pair(sockets);
    if (status != CORRAL_OK) {
        free(path);
        return status;
    }
    status = spawn_node(path, slots, node_flags, sockets[1], &cluster->node_pid);
    free(path);
    close(sockets[1]);
    if (status != CORRAL_OK) {
        close(sockets[0]);
        return status;
    }
    status = cluster_site_socket(cluster, sockets[0], &cluster->head_site);
    return status == CORRAL_OK ? cluster_say_hello(cluster->head_site, CORRAL__V1__PURPOSE__JOB) : status;
}

void cluster_await_node(corral_cluster *cluster, int64_t timeout_ns)
{
    const pid_t pid = cluster->node_pid;
    if (pid == 0) return;
    const int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd exit_seen = {.fd = handle, .events = POLLIN};
    const int64_t deadline = corral_now_ns() + timeout_ns;
    int ready = 0;
    while (handle >= 0 && ready == 0 && corral_now_ns() < deadline)
        ready = poll(&exit_seen, 1, (int)((deadline - corral_now_ns()) / CORRAL_MILLISECOND) + 1) > 0;
    if (ready == 0) kill(pid, SIGKILL); // its spawner sees that and ends the rest
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    if (handle >= 0) close(handle);
    corral_runtime_sweep(); // it may have been killed
    cluster->node_pid = 0;
}
