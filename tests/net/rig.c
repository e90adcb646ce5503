// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char folder[64], mark[64];

void rig_begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/corral-test-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(mark, sizeof mark, "CORRAL_TEST_MARK=%d-%lld", (int)getpid(), (long long)corral_now_ns());
    setenv("CORRAL_TEST_MARK", strchr(mark, '=') + 1, 1);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("CORRAL_NODE", TEST_NODE, 1);
    setenv("CORRAL_WORKER", TEST_WORKER, 1);
    unsetenv("CORRAL_TOKEN");
}

void rig_end(void)
{
    CU_ASSERT_TRUE(rig_processes_become(0, 5));
    CU_ASSERT_EQUAL(rmdir(folder), 0); // and so it was empty
}

// --- processes
// ------------------------------------------------------------------------------------------------------------

static bool has_mark(const char *pid)
{
    char path[64], bytes[16384];
    snprintf(path, sizeof path, "/proc/%.16s/environ", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t size = read(fd, bytes, sizeof bytes);
    close(fd);
    return size > 0 && memmem(bytes, (size_t)size, mark, strlen(mark) + 1) != NULL;
}

static bool runs(const char *pid, const char *program)
{
    char path[64], target[512];
    snprintf(path, sizeof path, "/proc/%.16s/exe", pid);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) return false;
    target[length] = '\0';
    const char *slash = strrchr(target, '/');
    return slash != NULL && strcmp(slash + 1, program) == 0;
}

unsigned rig_find(const char *program, pid_t *out_pids, unsigned limit)
{
    unsigned count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry = readdir(proc); entry != NULL && count < limit; entry = readdir(proc)) {
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || !has_mark(entry->d_name)) continue;
        if (program == NULL || runs(entry->d_name, program)) out_pids[count++] = pid;
    }
    closedir(proc);
    return count;
}

unsigned rig_processes(void)
{
    pid_t pids[64];
    return rig_find(NULL, pids, 64);
}

bool rig_processes_become(unsigned count, double seconds)
{
    const int64_t deadline = corral_now_ns() + (int64_t)(seconds * 1e9);
    while (rig_processes() != count) {
        if (corral_now_ns() > deadline) return false;
        corral_sleep_ns(5 * CORRAL_MILLISECOND);
    }
    return true;
}

unsigned rig_descriptors(void)
{
    unsigned count = 0;
    DIR *open_fds = opendir("/proc/self/fd");
    while (readdir(open_fds) != NULL)
        count++;
    closedir(open_fds);
    return count;
}

static bool read_line(int fd, char *line, size_t size)
{
    size_t used = 0;
    while (used + 1 < size) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        if (poll(&wanted, 1, 15000) <= 0 || read(fd, line + used, 1) != 1) return false;
        if (line[used] == '\n') break;
        used++;
    }
    line[used] = '\0';
    return true;
}

pid_t rig_start(const char *const *arguments, char *line, size_t size)
{
    int ends[2];
    pid_t pid = -1;
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error =
        posix_spawn(&pid, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    CU_ASSERT_EQUAL_FATAL(error, 0);
    CU_ASSERT_TRUE(read_line(ends[0], line, size));
    close(ends[0]);
    return pid;
}

pid_t rig_head(const char *slots, const char *faults, char *address)
{
    const char *const arguments[] = {TEST_NODE, "--head", "--slots", slots, "--faults", faults, NULL};
    char line[256];
    const pid_t pid = rig_start(arguments, line, sizeof line);
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "head at %63[^,],", address), 1);
    return pid;
}

pid_t rig_member(const char *head, const char *slots)
{
    const char *const arguments[] = {TEST_NODE, "--join", head, "--slots", slots, NULL};
    char line[256];
    const pid_t pid = rig_start(arguments, line, sizeof line);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, head));
    return pid;
}

int rig_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void rig_stop(pid_t pid)
{
    kill(pid, SIGTERM);
    const int status = rig_wait(pid);
    CU_ASSERT_TRUE(WIFEXITED(status));
    CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

// --- a driver
// ---------------------------------------------------------------------------------------------------------------

corral_group_config rig_group(const char *class_name, uint32_t count)
{
    return (corral_group_config){
        .class_name = class_name,
        .count = count,
        .cpus = 1,
        .block_bytes = 65536,
        .blocks_per_actor = 2,
        .weights_bytes = 65536,
        .max_restarts = 3,
    };
}

void rig_open(rig_run *run, const corral_cluster_config *cluster, const corral_group_config *group)
{
    *run = (rig_run){.request = {.seed = 1, .length = 1000}};
    TEST_OK(corral_cluster_connect(cluster, &run->cluster));
    TEST_OK(corral_group_create(run->cluster, group, &run->group));
}

void rig_close(rig_run *run)
{
    corral_group_destroy(run->group);
    corral_cluster_disconnect(run->cluster);
    *run = (rig_run){0};
}

void rig_publish(rig_run *run, uint64_t version)
{
    uint64_t words[1000];
    for (size_t i = 0; i < 1000; i++)
        words[i] = 10 * version;
    TEST_OK(corral_group_publish(run->group, version, words, sizeof words));
}

static void lease(rig_run *run, uint32_t actor, uint64_t tag)
{
    run->request.seed = tag;
    const corral_status status =
        corral_group_lease(run->group, actor, tag, &run->request, sizeof run->request);
    CU_ASSERT_TRUE(status == CORRAL_OK || status == CORRAL_ERROR_LOST);
}

static void check_fragment(rig_run *run, const corral_group_event *event)
{
    const test_fragment *fragment = event->data;
    CU_ASSERT_EQUAL(event->length, sizeof *fragment + run->request.length);
    CU_ASSERT_EQUAL((uintptr_t)event->data % 64, 0);
    CU_ASSERT_EQUAL(fragment->seed, event->tag);
    CU_ASSERT_EQUAL(fragment->index, event->actor);
    CU_ASSERT_EQUAL(fragment->torn, 0);
    CU_ASSERT_EQUAL(fragment->weight, 10 * fragment->version);
    unsigned wrong = 0;
    for (uint64_t i = 0; i < run->request.length; i++)
        wrong += pattern_of(fragment)[i] != test_pattern(event->tag, i);
    CU_ASSERT_EQUAL(wrong, 0);
    run->sum += event->tag * 31 + pattern_of(fragment)[run->request.length - 1];
}

static void take(rig_run *run, const corral_group_event *event)
{
    switch (event->kind) {
    case CORRAL_GROUP_ACTOR_READY:
        run->ready++;
        run->ready_actor[event->actor] = true;
        lease(run, event->actor, 2 * event->actor);
        lease(run, event->actor, 2 * event->actor + 1);
        return;
    case CORRAL_GROUP_FRAGMENT:
        check_fragment(run, event);
        run->fragments++;
        run->remote += event->remote;
        run->local += !event->remote;
        corral_group_release(run->group, event);
        lease(run, event->actor, event->tag);
        return;
    case CORRAL_GROUP_ACTOR_LOST:
        run->lost++;
        break;
    case CORRAL_GROUP_ACTOR_DOWN:
        run->down++;
        break;
    case CORRAL_GROUP_FAILED:
        run->failed++;
        break;
    }
    snprintf(run->reason, sizeof run->reason, "%s", event->reason);
}

bool rig_until(rig_run *run, const unsigned *counter, unsigned value, double seconds)
{
    const int64_t deadline = corral_now_ns() + (int64_t)(seconds * 1e9);
    while (*counter < value && corral_now_ns() < deadline) {
        corral_group_event event;
        const corral_status status = corral_group_next(run->group, 100 * CORRAL_MILLISECOND, &event);
        if (status == CORRAL_OK)
            take(run, &event);
        else if (status != CORRAL_ERROR_EMPTY)
            break;
    }
    if (*counter < value) fprintf(stderr, "got %u of %u; last reason: %s\n", *counter, value, run->reason);
    return *counter >= value;
}
