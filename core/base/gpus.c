// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How many GPUs this process may use, as NVIDIA's driver tells it: it heeds CUDA_VISIBLE_DEVICES, containers
/// and devices that were switched off, which no file in /proc or /dev does in every case. The driver is
/// opened in a child process, so that nothing of it stays mapped here, and so that a driver that crashes or
/// hangs costs no more than the time limit.
#include "corral/base/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 20000 };

/// Writes the address of a function through a pointer to where it is kept: ISO C knows no such cast.
static int find(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

/// In the child.
static unsigned ask_driver(void)
{
    int (*init)(unsigned flags), (*get_count)(int *count), count = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL) return 0;
    if (!find(driver, "cuInit", &init, sizeof init) ||
        !find(driver, "cuDeviceGetCount", &get_count, sizeof get_count))
        return 0;
    if (init(0) != 0 || get_count(&count) != 0 || count < 0) return 0;
    return (unsigned)count;
}

static void tell(int to)
{
    const unsigned count = ask_driver();
    const ssize_t written = write(to, &count, sizeof count);
    _exit(written == (ssize_t)sizeof count ? 0 : 1);
}

static unsigned hear(int from)
{
    struct pollfd answer = {.fd = from, .events = POLLIN};
    unsigned count = 0;
    int ready;
    do
        ready = poll(&answer, 1, LIMIT_MS);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || read(from, &count, sizeof count) != (ssize_t)sizeof count) return 0;
    return count;
}

unsigned corral_available_gpus(void)
{
    int ends[2];
    if (pipe(ends) != 0) return 0;
    const pid_t child = fork();
    if (child == 0) tell(ends[1]);
    close(ends[1]);
    const unsigned count = child > 0 ? hear(ends[0]) : 0;
    close(ends[0]);
    if (child > 0) kill(child, SIGKILL); // it has told, or never will
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    return count;
}
