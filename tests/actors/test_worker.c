// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The tests' worker program: class "fill" behaves, class "crash" does not.
#include "test_worker.h"

#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct fill_actor {
    corral_actor_context context;
    uint64_t version, weight, torn, weight_sets;
} fill_actor;

// The configuration "refuse" makes it fail.
static corral_status fill_create(const corral_actor_context *context, const void *config, size_t size,
                                 void **out_actor)
{
    if (size == 6 && memcmp(config, "refuse", 6) == 0)
        return corral_fail(CORRAL_ERROR_INFEASIBLE, "the test's configuration says \"refuse\"");
    fill_actor *actor = calloc(1, sizeof *actor);
    if (actor == NULL) return CORRAL_ERROR_NO_MEMORY;
    actor->context = *context;
    *out_actor = actor;
    return CORRAL_OK;
}

static corral_status fill_set_weights(void *self, uint64_t version, const void *bytes, size_t size)
{
    fill_actor *actor = self;
    const uint64_t *words = bytes;
    actor->version = version;
    actor->weight = size >= sizeof *words ? words[0] : 0;
    actor->weight_sets++;
    for (size_t i = 0; i < size / sizeof *words; i++)
        if (words[i] != actor->weight) {
            actor->torn++;
            break;
        }
    return CORRAL_OK;
}

static corral_status fill_fill(void *self, const void *request_bytes, size_t request_size, void *block,
                               size_t capacity, size_t *out_length)
{
    fill_actor *actor = self;
    test_request request;
    if (request_size != sizeof request)
        return corral_fail(CORRAL_ERROR_INVALID, "a request of %zu bytes", request_size);
    memcpy(&request, request_bytes, sizeof request);
    if (sizeof(test_fragment) + request.length > capacity)
        return corral_fail(CORRAL_ERROR_FULL, "%llu bytes do not fit", (unsigned long long)request.length);
    corral_sleep_ns((int64_t)request.sleep_ms * CORRAL_MILLISECOND);

    test_fragment *fragment = block;
    *fragment = (test_fragment){
        .seed = request.seed,
        .version = actor->version,
        .weight = actor->weight,
        .torn = actor->torn,
        .weight_sets = actor->weight_sets,
        .index = actor->context.index,
        .count = actor->context.count,
        .incarnation = actor->context.incarnation,
    };
    unsigned char *pattern = (unsigned char *)(fragment + 1);
    for (uint64_t i = 0; i < request.length; i++)
        pattern[i] = test_pattern(request.seed, i);
    *out_length = sizeof *fragment + request.length;
    return CORRAL_OK;
}

static size_t list_descriptors(char *reply, size_t capacity)
{
    size_t used = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            used += (size_t)snprintf(reply + used, capacity - used, "%s ", entry->d_name);
    closedir(folder);
    return used;
}

static corral_status fill_call(void *self, uint32_t method, const void *arguments, size_t size, void *reply,
                               size_t reply_capacity, size_t *out_reply_size)
{
    (void)self;
    if (method == TEST_CALL_FAIL) return corral_fail(CORRAL_ERROR_NOT_FOUND, "this call always fails");
    if (method == TEST_CALL_FDS) {
        *out_reply_size = list_descriptors(reply, reply_capacity);
        return CORRAL_OK;
    }
    memcpy(reply, arguments, size);
    *out_reply_size = size;
    return CORRAL_OK;
}

static const corral_actor_class fill_class = {
    "fill", fill_create, fill_set_weights, fill_fill, fill_call, free,
};

// --- the class that misbehaves ----------------------------------------------------------------------------

static corral_status crash_create(const corral_actor_context *context, const void *config, size_t size,
                                  void **out_actor)
{
    (void)config;
    (void)size;
    corral_beacon *beacon = context->beacon;
    snprintf(beacon->text, sizeof beacon->text, "stepping environments %%0 to %%1, step %%2");
    *out_actor = beacon;
    return CORRAL_OK;
}

static void write_where_nothing_is(void)
{
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(volatile char *)page = 1;
}

static void claim(uint64_t tag, uint64_t length)
{
    const corral_message lie = {.kind = CORRAL_MESSAGE_SEALED,
                                .incarnation = 7,
                                .tag = tag,
                                .offset = 4096,
                                .length = length,
                                .generation = 1};
    if (write(CORRAL_ACTOR_SOCKET_FD, &lie, sizeof lie) < 0) _exit(9);
}

// 64 MiB that are really there, for as long as it lives.
static void hog(void)
{
    enum { SIZE = 64 << 20 };
    if (mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0) ==
        MAP_FAILED)
        _exit(9);
    for (;;)
        pause();
}

static corral_status crash_fill(void *self, const void *request, size_t request_size, void *block,
                                size_t capacity, size_t *out_length)
{
    corral_beacon *beacon = self;
    char what[32] = {0};
    memcpy(what, request, request_size < sizeof what - 1 ? request_size : sizeof what - 1);
    memset(block, 0xff, capacity);
    *out_length = capacity;
    for (uint64_t i = 0; i < 3; i++)
        atomic_store_explicit(&beacon->word[i], i == 2 ? 17 : 3 * i, memory_order_relaxed);

    if (strcmp(what, "segv") == 0) write_where_nothing_is();
    if (strcmp(what, "abort") == 0) abort();
    if (strcmp(what, "exit") == 0) _exit(0);
    if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(what, "hog") == 0) hog();
    if (strcmp(what, "error") == 0)
        return corral_fail(CORRAL_ERROR_ENVIRONMENT, "maze: no way out at step 17");
    if (strcmp(what, "family") == 0) test_fork_stubborn_family();
    if (strcmp(what, "too much") == 0) *out_length = capacity + 1;
    if (strcmp(what, "pipe") == 0) raise(SIGPIPE);
    if (strcmp(what, "lie") == 0) claim(1, capacity + 1);
    return CORRAL_OK;
}

static const corral_actor_class crash_class = {"crash", crash_create, NULL, crash_fill, NULL, NULL};

int main(int argc, char **argv)
{
    if (argc > 1) return test_child_main(argc, argv);
    static const corral_actor_class *const classes[] = {&fill_class, &crash_class, NULL};
    return corral_actor_main(classes);
}
