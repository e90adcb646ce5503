// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "bench/bench_runtime.h"

#include "corral/actors/actor_call.h"
#include "corral/actors/message.h"
#include "corral/actors/segment.h"
#include "corral/base/clock.h"
#include "corral/net/client.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WARM_UP = 200,
    ROUNDS = 3000, // of what takes microseconds
    OPEN_CALLS = 256,
    FLOWING_CALLS = 50000,
    FLOWING_TASKS = 1000,
    STARTS = 500,
    SMALL = 1024,
    SMALL_OBJECTS = 500, // asked for by one task
    LARGE = 64 << 20,
    LARGE_ROUNDS = 15,
};

// --- what workers run --------------------------------------------------------------------------------------

static corral_status nothing(corral_call *call)
{
    (void)call;
    return CORRAL_OK;
}

static corral_status when(corral_call *call)
{
    const int64_t now = corral_now_ns();
    return corral_call_return(call, &now, sizeof now);
}

// How long it takes to get all arguments, one after the other.
static corral_status get_all(corral_call *call)
{
    const int64_t begin = corral_now_ns();
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < corral_call_count(call) && status == CORRAL_OK; i++)
        status = corral_get(corral_call_reference(call, i), -1, NULL);
    const int64_t took = corral_now_ns() - begin;
    return status == CORRAL_OK ? corral_call_return(call, &took, sizeof took) : status;
}

static corral_status create(corral_call *call, void **out_self)
{
    (void)call;
    *out_self = NULL;
    return CORRAL_OK;
}

static corral_status no_method(void *self, corral_call *call)
{
    (void)self;
    return nothing(call);
}

static corral_status get_method(void *self, corral_call *call)
{
    (void)self;
    return get_all(call);
}

static const corral_named_method methods[] = {{"nothing", no_method}, {"get_all", get_method}, {NULL, NULL}};
static const corral_class idle_class = {.name = "idle", .create = create, .methods = methods};
static const corral_named_function functions[] = {{"nothing", nothing}, {"when", when}, {NULL, NULL}};
static const corral_class *const classes[] = {&idle_class, NULL};

const corral_library bench_runtime_library = {CORRAL_LIBRARY_ABI, functions, classes};

// --- small helpers -----------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, by_value);
    return values[(size_t)((double)(count - 1) * q)];
}

static double seconds_since(int64_t begin_ns)
{
    return (double)(corral_now_ns() - begin_ns) / 1e9;
}

static double us_since(int64_t begin_ns)
{
    return (double)(corral_now_ns() - begin_ns) / 1e3;
}

// --- the limits --------------------------------------------------------------------------------------------

_Noreturn static void echo(int socket)
{
    corral_message message;
    while (corral_message_receive(socket, &message, NULL, 0, NULL, -1) == CORRAL_OK &&
           corral_message_send(socket, &message, NULL, NULL, 0, -1) == CORRAL_OK) {
    }
    _exit(0);
}

// Before the process has threads: it forks.
static corral_status measure_socket(double *out_us)
{
    int sockets[2];
    static double times[ROUNDS];
    corral_status status = corral_message_pair(sockets);
    if (status != CORRAL_OK) return status;
    const pid_t child = fork();
    if (child == 0) {
        close(sockets[0]);
        echo(sockets[1]);
    }
    close(sockets[1]);
    corral_message message = {.kind = CORRAL_MESSAGE_PING};
    for (int i = -WARM_UP; i < ROUNDS && status == CORRAL_OK; i++) {
        const int64_t begin = corral_now_ns();
        status = corral_message_send(sockets[0], &message, NULL, NULL, 0, -1);
        if (status == CORRAL_OK) status = corral_message_receive(sockets[0], &message, NULL, 0, NULL, -1);
        if (i >= 0) times[i] = us_since(begin);
    }
    close(sockets[0]);
    if (child > 0) waitpid(child, NULL, 0);
    *out_us = quantile(times, ROUNDS, 0.5);
    return status;
}

// --- calls and tasks ---------------------------------------------------------------------------------------

static corral_status one(corral_client *client, corral_ref *actor, double *out_us)
{
    corral_ref *result = NULL;
    const int64_t begin = corral_now_ns();
    corral_status status = actor != NULL ? corral_actor_call(actor, "nothing", NULL, 0, NULL, &result)
                                         : corral_task_submit(client, "nothing", NULL, 0, NULL, &result);
    if (status == CORRAL_OK) status = corral_get(result, -1, NULL);
    corral_release(result);
    *out_us = us_since(begin);
    return status;
}

static corral_status measure_one_by_one(corral_client *client, corral_ref *actor, double *out_us,
                                        double *out_rate)
{
    static double times[ROUNDS];
    double ignored;
    corral_status status = CORRAL_OK;
    for (int i = 0; i < WARM_UP && status == CORRAL_OK; i++)
        status = one(client, actor, &ignored);
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < ROUNDS && status == CORRAL_OK; i++)
        status = one(client, actor, &times[i]);
    *out_rate = ROUNDS / seconds_since(begin);
    *out_us = quantile(times, ROUNDS, 0.5);
    return status;
}

static corral_status measure_flowing_calls(corral_ref *actor, double *out_rate)
{
    static corral_ref *open[OPEN_CALLS];
    corral_status status = CORRAL_OK;
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < FLOWING_CALLS + OPEN_CALLS && status == CORRAL_OK; i++) {
        corral_ref **slot = &open[i % OPEN_CALLS];
        if (*slot != NULL) status = corral_get(*slot, -1, NULL);
        corral_release(*slot);
        *slot = NULL;
        if (i < FLOWING_CALLS && status == CORRAL_OK)
            status = corral_actor_call(actor, "nothing", NULL, 0, NULL, slot);
    }
    *out_rate = FLOWING_CALLS / seconds_since(begin);
    for (int i = 0; i < OPEN_CALLS; i++)
        corral_release(open[i]);
    return status;
}

static corral_status measure_flowing_tasks(corral_client *client, double *out_rate)
{
    static corral_ref *tasks[FLOWING_TASKS];
    double rates[5];
    corral_status status = CORRAL_OK;
    for (int round = 0; round < 5 && status == CORRAL_OK; round++) {
        const int64_t begin = corral_now_ns();
        for (int i = 0; i < FLOWING_TASKS && status == CORRAL_OK; i++)
            status = corral_task_submit(client, "nothing", NULL, 0, NULL, &tasks[i]);
        if (status == CORRAL_OK) status = corral_get_many(tasks, FLOWING_TASKS, -1, NULL);
        rates[round] = FLOWING_TASKS / seconds_since(begin);
        for (int i = 0; i < FLOWING_TASKS; i++)
            corral_release(tasks[i]);
        memset(tasks, 0, sizeof tasks);
    }
    *out_rate = quantile(rates, 5, 0.5);
    return status;
}

static corral_status measure_starts(corral_client *client, double *out_p50, double *out_p99)
{
    static double times[STARTS];
    corral_status status = CORRAL_OK;
    for (int i = 0; i < STARTS && status == CORRAL_OK; i++) {
        corral_ref *result = NULL;
        corral_bytes bytes = {0};
        corral_sleep_ns(CORRAL_MILLISECOND / 2); // all are asleep
        const int64_t begin = corral_now_ns();
        status = corral_task_submit(client, "when", NULL, 0, NULL, &result);
        if (status == CORRAL_OK) status = corral_get(result, -1, &bytes);
        if (status == CORRAL_OK) times[i] = (double)(*(const int64_t *)bytes.data - begin) / 1e3;
        corral_release(result);
    }
    *out_p50 = quantile(times, STARTS, 0.5);
    *out_p99 = quantile(times, STARTS, 0.99);
    return status;
}

// --- objects -----------------------------------------------------------------------------------------------

static corral_status ask_to_get(corral_ref *actor, corral_ref *const *refs, size_t count, double *out_us_each)
{
    corral_argument *arguments = malloc(count * sizeof *arguments);
    corral_ref *result = NULL;
    corral_bytes took = {0};
    if (arguments == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to measure with");
    for (size_t i = 0; i < count; i++)
        arguments[i] = corral_argument_reference(refs[i]);
    corral_status status = corral_actor_call(actor, "get_all", arguments, count, NULL, &result);
    if (status == CORRAL_OK) status = corral_get(result, -1, &took);
    if (status == CORRAL_OK) *out_us_each = (double)*(const int64_t *)took.data / 1e3 / (double)count;
    corral_release(result);
    free(arguments);
    return status;
}

static corral_status measure_small(corral_client *client, corral_ref *actor, bench_runtime_result *result)
{
    static corral_ref *refs[SMALL_OBJECTS];
    static const uint8_t bytes[SMALL];
    double puts[5], gets[5];
    corral_status status = CORRAL_OK;
    for (int round = 0; round < 5 && status == CORRAL_OK; round++) {
        const int64_t begin = corral_now_ns();
        for (int i = 0; i < SMALL_OBJECTS && status == CORRAL_OK; i++)
            status = corral_put(client, bytes, SMALL, &refs[i]);
        puts[round] = SMALL_OBJECTS / seconds_since(begin);
        double us = 0;
        if (status == CORRAL_OK) status = ask_to_get(actor, refs, SMALL_OBJECTS, &us);
        gets[round] = 1e6 / us;
        for (int i = 0; i < SMALL_OBJECTS; i++)
            corral_release(refs[i]);
        memset(refs, 0, sizeof refs);
    }
    result->small_puts_per_second = quantile(puts, 5, 0.5);
    result->small_gets_per_second = quantile(gets, 5, 0.5);
    return status;
}

// Both in turn, so that what else the machine does meets both.
static corral_status measure_large_puts(corral_client *client, const void *bytes,
                                        bench_runtime_result *result)
{
    corral_segment warm;
    double copies[LARGE_ROUNDS], puts[LARGE_ROUNDS];
    corral_status status = corral_segment_create("corral-bench", LARGE, &warm);
    if (status != CORRAL_OK) return status;
    for (int i = -2; i < LARGE_ROUNDS && status == CORRAL_OK; i++) {
        corral_ref *ref = NULL;
        int64_t begin = corral_now_ns();
        memcpy(warm.data, bytes, LARGE);
        if (i >= 0) copies[i] = LARGE / seconds_since(begin) / 1e9;
        begin = corral_now_ns();
        status = corral_put(client, bytes, LARGE, &ref);
        if (i >= 0) puts[i] = LARGE / seconds_since(begin) / 1e9;
        corral_release(ref);
    }
    corral_segment_finish(&warm);
    result->memcpy_gb = quantile(copies, LARGE_ROUNDS, 0.5);
    result->put_gb = quantile(puts, LARGE_ROUNDS, 0.5);
    return status;
}

static corral_status measure_large_gets(corral_client *client, corral_ref *actor, const void *bytes,
                                        bench_runtime_result *result)
{
    double times[LARGE_ROUNDS];
    corral_status status = CORRAL_OK;
    for (int i = -1; i < LARGE_ROUNDS && status == CORRAL_OK; i++) {
        corral_ref *ref = NULL;
        double us = 0;
        status = corral_put(client, bytes, LARGE, &ref);
        if (status == CORRAL_OK) status = ask_to_get(actor, &ref, 1, &us);
        if (i >= 0)
            times[i] = us;
        else
            result->first_get_us = us;
        corral_release(ref);
    }
    result->large_get_us = quantile(times, LARGE_ROUNDS, 0.5);
    return status;
}

static corral_status measure_objects(corral_client *client, corral_ref *actor, bench_runtime_result *result)
{
    void *bytes = malloc(LARGE);
    if (bytes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for an object of 64 MiB");
    memset(bytes, 1, LARGE);
    corral_status status = measure_small(client, actor, result);
    if (status == CORRAL_OK) status = measure_large_puts(client, bytes, result);
    if (status == CORRAL_OK) status = measure_large_gets(client, actor, bytes, result);
    free(bytes);
    return status;
}

static corral_status measure(corral_client *client, bench_runtime_result *result)
{
    corral_ref *actor = NULL;
    corral_status status = corral_actor_spawn(client, "idle", NULL, 0, NULL, &actor);
    if (status == CORRAL_OK) status = corral_get(actor, -1, NULL);
    if (status == CORRAL_OK)
        status = measure_one_by_one(client, actor, &result->call_us, &result->calls_per_second);
    if (status == CORRAL_OK) status = measure_flowing_calls(actor, &result->flowing_calls_per_second);
    if (status == CORRAL_OK)
        status = measure_one_by_one(client, NULL, &result->task_us, &result->tasks_per_second);
    if (status == CORRAL_OK) status = measure_flowing_tasks(client, &result->flowing_tasks_per_second);
    if (status == CORRAL_OK) status = measure_starts(client, &result->start_p50_us, &result->start_p99_us);
    if (status == CORRAL_OK) status = measure_objects(client, actor, result);
    corral_release(actor);
    return status;
}

corral_status bench_runtime(bench_runtime_result *out_result)
{
    *out_result = (bench_runtime_result){0};
    corral_client *client = NULL;
    corral_client_config config = corral_client_config_default();
    config.library = &bench_runtime_library;
    config.store_bytes = (size_t)1 << 30;
    corral_status status = measure_socket(&out_result->socket_us);
    if (status == CORRAL_OK) status = corral_client_connect(&config, &client);
    if (status != CORRAL_OK) return status;
    status = measure(client, out_result);
    corral_client_close(client);
    return status;
}
