// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What goes wrong in the runtime, and what is left when it has: killed workers, full stores, cancelled
/// tasks, drivers that end.
#include "runtime_rig.h"

#include "corral/base/clock.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define PATIENCE (20 * CORRAL_SECOND)

static corral_client *open_with(double cpus, size_t store_bytes)
{
    corral_client_config config = corral_client_config_default();
    config.cpus = cpus;
    config.store_bytes = store_bytes;
    config.store_timeout_ns = 200 * CORRAL_MILLISECOND;
    return runtime_open(&config);
}

static corral_argument number(const double *value)
{
    return corral_argument_bytes(value, sizeof *value);
}

static corral_ref *call(corral_ref *actor, const char *method, double value, uint32_t retries)
{
    const corral_argument argument = number(&value);
    const corral_call_options options = {.max_retries = retries};
    corral_ref *ref = NULL;
    TEST_OK(corral_actor_call(actor, method, &argument, 1, &options, &ref));
    return ref;
}

static void expect(corral_ref *ref, double value)
{
    CU_ASSERT_EQUAL(runtime_get_number(ref), value);
    corral_release(ref);
}

static void expect_error(corral_ref *ref, corral_status status, const char *text)
{
    TEST_FAILS(corral_get(ref, PATIENCE, NULL), status, text);
    corral_release(ref);
}

static double report_number(const char *key)
{
    char *text = runtime_report();
    cJSON *root = cJSON_Parse(text);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);
    const double value = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : cJSON_GetNumberValue(item);
    cJSON_Delete(root);
    free(text);
    return value;
}

// The hub hears of what we let go a little later.
static void expect_soon(const char *key, double value)
{
    const int64_t until = corral_now_ns() + PATIENCE;
    while (report_number(key) != value && corral_now_ns() < until)
        corral_sleep_ns(2 * CORRAL_MILLISECOND);
    CU_ASSERT_EQUAL(report_number(key), value);
}

// --- tasks -------------------------------------------------------------------------------------------------

static void a_task_dies_once_and_for_all(void)
{
    corral_client *client = open_with(2, 0);
    const double times = 1;
    const corral_argument argument = number(&times);
    expect_error(runtime_submit(client, "die", &argument, 1), CORRAL_ERROR_LOST, "was killed by signal 9");
    expect(runtime_submit(client, "square", &argument, 1), 1); // on another worker
    runtime_close(client);
}

static void a_task_is_tried_again(void)
{
    corral_client *client = open_with(2, 0);
    const double times = 2;
    const corral_argument argument = number(&times);
    corral_task_options options = corral_task_options_default();
    corral_ref *ref = NULL;
    options.max_retries = 2;
    TEST_OK(corral_task_submit(client, "die", &argument, 1, &options, &ref));
    expect(ref, 2);
    options.max_retries = 1;
    TEST_OK(corral_task_submit(client, "die", &argument, 1, &options, &ref));
    expect_error(ref, CORRAL_ERROR_LOST, "task \"die\": its process");
    runtime_close(client);
}

static void tasks_are_cancelled(void)
{
    corral_client *client = open_with(1, 0);
    const double long_time = 20000, short_time = 1;
    const corral_argument argument = number(&long_time), shorter = number(&short_time);
    corral_ref *runs = runtime_submit(client, "nap", &argument, 1);
    corral_ref *waits = runtime_submit(client, "nap", &argument, 1);
    TEST_OK(corral_cancel(waits, false));
    expect_error(waits, CORRAL_ERROR_CANCELLED, "before it began");
    TEST_OK(corral_cancel(runs, false));
    expect_error(runs, CORRAL_ERROR_CANCELLED, "nap");
    runs = runtime_submit(client, "nap", &argument, 1);
    corral_sleep_ns(20 * CORRAL_MILLISECOND);
    TEST_OK(corral_cancel(runs, true));
    expect_error(runs, CORRAL_ERROR_CANCELLED, "nap"); // told by itself or by the agent, whoever is first
    runs = runtime_submit(client, "nap", &shorter, 1);
    TEST_OK(corral_get(runs, PATIENCE, NULL));
    TEST_OK(corral_cancel(runs, true)); // it has ended
    expect(runs, 1);
    runtime_close(client);
}

static void time_runs_out(void)
{
    corral_client *client = open_with(1, 0);
    const double time = 300;
    const corral_argument argument = number(&time);
    corral_ref *ref = runtime_submit(client, "nap", &argument, 1);
    TEST_FAILS(corral_get(ref, 5 * CORRAL_MILLISECOND, NULL), CORRAL_ERROR_TIMEOUT, "0.005 s");
    TEST_FAILS(corral_get(ref, 0, NULL), CORRAL_ERROR_TIMEOUT, "0 s");
    expect(ref, 300);
    runtime_close(client);
}

// --- actors ------------------------------------------------------------------------------------------------

static void an_actor_dies(void)
{
    corral_client *client = open_with(1, 0);
    corral_ref *actor = NULL, *open_calls[10];
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, NULL, &actor));
    expect(call(actor, "add", 1, 0), 1);
    corral_ref *fatal = call(actor, "die", 1, 0);
    for (int i = 0; i < 10; i++)
        open_calls[i] = call(actor, "add", 1, 0);
    expect_error(fatal, CORRAL_ERROR_LOST, "was killed by signal 9 (Killed), and it has no restarts left");
    for (int i = 0; i < 10; i++)
        expect_error(open_calls[i], CORRAL_ERROR_LOST, "actor \"counter\": its process");
    expect_error(call(actor, "add", 1, 0), CORRAL_ERROR_LOST, "no restarts left");
    corral_release(actor);
    expect_soon("object_count", 0);
    expect_soon("actors", 0);
    runtime_close(client);
}

// Each call writes a line. What may have begun is lost, what has not is run, nothing is run twice, all in
// order.
static void order_is_kept_over_restarts(void)
{
    enum { CALLS = 1000, KILLS_EVERY = 250 };
    corral_client *client = open_with(1, 0);
    char path[] = "/tmp/corral-runtime-XXXXXX", line[16];
    const int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    corral_actor_options options = corral_actor_options_default();
    options.max_restarts = CALLS / KILLS_EVERY;
    corral_ref *actor = NULL;
    static corral_ref *notes[CALLS];
    corral_ref *deaths[CALLS / KILLS_EVERY];
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    for (int i = 0; i < CALLS; i++) {
        if (i % KILLS_EVERY == 100) deaths[i / KILLS_EVERY] = call(actor, "die", 1e9, 0);
        const int size = snprintf(line, sizeof line, "%d\n", i);
        const corral_argument arguments[] = {corral_argument_text(path),
                                             corral_argument_bytes(line, (size_t)size)};
        TEST_OK(corral_actor_call(actor, "note", arguments, 2, NULL, &notes[i]));
    }
    for (int i = 0; i < CALLS; i++) {
        TEST_OK(corral_get(notes[i], PATIENCE, NULL));
        corral_release(notes[i]);
    }
    for (int i = 0; i < CALLS / KILLS_EVERY; i++)
        expect_error(deaths[i], CORRAL_ERROR_LOST, "signal 9");
    FILE *file = fdopen(fd, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int seen = -1, next = 0;
    bool right = true;
    for (; fscanf(file, "%d", &seen) == 1; next++)
        right = right && seen == next;
    CU_ASSERT_TRUE(right);
    CU_ASSERT_EQUAL(next, CALLS);
    fclose(file);
    unlink(path);
    corral_release(actor);
    runtime_close(client);
}

static void a_call_is_tried_again_in_its_place(void)
{
    corral_client *client = open_with(1, 0);
    corral_actor_options options = corral_actor_options_default();
    options.max_restarts = 2;
    corral_ref *actor = NULL;
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    corral_ref *before = call(actor, "add", 1, 0), *dies = call(actor, "die", 2, 5),
               *after = call(actor, "add", 1, 0);
    expect(before, 1);
    expect(dies, 2);  // at the third attempt
    expect(after, 1); // of a new counter
    corral_release(actor);
    runtime_close(client);
}

static void an_actor_is_killed(void)
{
    corral_client *client = open_with(1, 0);
    corral_actor_options options = corral_actor_options_default();
    options.max_restarts = 1;
    corral_ref *actor = NULL;
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    expect(call(actor, "add", 5, 0), 5);
    corral_ref *nap = call(actor, "nap", 20000, 0);
    corral_sleep_ns(20 * CORRAL_MILLISECOND);
    TEST_OK(corral_actor_kill(actor, true)); // as if it had crashed
    expect_error(nap, CORRAL_ERROR_LOST, "signal 9");
    expect(call(actor, "add", 5, 0), 5);
    nap = call(actor, "nap", 20000, 0);
    TEST_OK(corral_actor_kill(actor, false));
    expect_error(nap, CORRAL_ERROR_LOST, "killed on request");
    corral_release(actor);
    runtime_close(client);
}

static void calls_are_bounded(void)
{
    corral_client *client = open_with(1, 0);
    corral_actor_options options = corral_actor_options_default();
    options.max_pending = 3;
    corral_ref *actor = NULL, *refs[3], *more = NULL;
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    for (int i = 0; i < 3; i++)
        refs[i] = call(actor, "nap", i == 0 ? 500 : 1, 0);
    TEST_FAILS(corral_actor_call(actor, "nap", NULL, 0, NULL, &more), CORRAL_ERROR_FULL,
               "3 calls of this actor are open");
    expect(refs[0], 500);
    refs[0] = call(actor, "nap", 1, 0);
    expect(refs[1], 1);
    expect(refs[2], 1);
    expect(refs[0], 1);
    corral_release(actor);
    runtime_close(client);
}

static void threads_run_calls(void)
{
    corral_client *client = open_with(1, 0);
    corral_actor_options options = corral_actor_options_default();
    options.concurrency = 8;
    corral_ref *actor = NULL, *refs[8];
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    TEST_OK(corral_get(actor, PATIENCE, NULL));
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < 8; i++)
        refs[i] = call(actor, "nap", 500, 0);
    for (int i = 0; i < 8; i++)
        expect(refs[i], 500);
    CU_ASSERT_TRUE(corral_now_ns() - begin < 3 * CORRAL_SECOND); // one after the other would be four
    corral_release(actor);
    runtime_close(client);
}

// --- resources ---------------------------------------------------------------------------------------------

static void gpus_are_shared_out(void)
{
    corral_client_config config = corral_client_config_default();
    config.cpus = 4;
    config.gpus = 2;
    corral_client *client = runtime_open(&config);
    corral_task_options options = corral_task_options_default();
    options.gpus = 2;
    corral_ref *ref = NULL;
    corral_bytes text = {0};
    TEST_OK(corral_task_submit(client, "gpus", NULL, 0, &options, &ref));
    TEST_OK(corral_get(ref, PATIENCE, &text));
    CU_ASSERT_TRUE(text.size == 3 && memcmp(text.data, "0,1", 3) == 0);
    corral_release(ref);
    options.gpus = 0.5;
    TEST_OK(corral_task_submit(client, "gpus", NULL, 0, &options, &ref));
    TEST_OK(corral_get(ref, PATIENCE, &text));
    CU_ASSERT_TRUE(text.size == 1 && memcmp(text.data, "0", 1) == 0);
    corral_release(ref);
    ref = runtime_submit(client, "gpus", NULL, 0);
    TEST_OK(corral_get(ref, PATIENCE, &text));
    CU_ASSERT_EQUAL(text.size, 0); // sees none
    corral_release(ref);
    runtime_close(client);
}

static void demands_that_wait_are_shown(void)
{
    corral_client *client = open_with(1, 0);
    const double time = 20000;
    const corral_argument argument = number(&time);
    corral_ref *runs = runtime_submit(client, "nap", &argument, 1),
               *waits = runtime_submit(client, "square", &argument, 1);
    expect_soon("demands", 1);
    char *text = runtime_report();
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\"demand\":\"1 cpus\",\"count\":1,\"first\":\"task \\\"square\\\"\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"held_by\":[\"task \\\"nap\\\" (process "));
    free(text);
    TEST_OK(corral_cancel(runs, true));
    expect(waits, 4e8);
    corral_release(runs);
    runtime_close(client);
}

// --- the store ---------------------------------------------------------------------------------------------

static void a_full_store_says_who_holds_it(void)
{
    enum { SIZE = 4 << 20 };
    corral_client *client = open_with(1, 16 << 20);
    uint8_t *bytes = calloc(SIZE, 1);
    corral_ref *refs[4], *more = NULL;
    char who[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (int i = 0; i < 4; i++)
        TEST_OK(corral_put(client, bytes, SIZE, &refs[i]));
    const int64_t begin = corral_now_ns();
    snprintf(who, sizeof who, "process %d holds 16.0 MiB", (int)getpid());
    TEST_FAILS(corral_put(client, bytes, SIZE, &more), CORRAL_ERROR_FULL, who);
    CU_ASSERT_TRUE(corral_now_ns() - begin >= 200 * CORRAL_MILLISECOND);
    // A task's result finds no room either, and says so.
    const double size = SIZE;
    const corral_argument argument = number(&size);
    corral_ref *made = runtime_submit(client, "make", &argument, 1);
    corral_release(refs[3]);
    TEST_OK(corral_get(made, PATIENCE, NULL)); // it waited for what we have let go
    corral_release(made);
    for (int i = 0; i < 3; i++)
        corral_release(refs[i]);
    uint8_t *large = calloc(17, 1 << 20);
    TEST_FAILS(corral_put(client, large, 17 << 20, &more), CORRAL_ERROR_FULL, "no room for 17.0 MiB");
    free(large);
    for (int i = 0; i < 50; i++) { // what is let go is used again
        TEST_OK(corral_put(client, bytes, SIZE, &more));
        corral_release(more);
    }
    expect_soon("object_count", 0);
    free(bytes);
    runtime_close(client);
}

static void a_value_outlives_its_writer(void)
{
    corral_client *client = open_with(2, 0);
    const double size = 300000, times = 1;
    const corral_argument argument = number(&size), death = number(&times);
    corral_ref *made = runtime_submit(client, "make", &argument, 1);
    TEST_OK(corral_get(made, PATIENCE, NULL));
    expect_error(runtime_submit(client, "die", &death, 1), CORRAL_ERROR_LOST, "signal 9"); // the same worker
    const corral_argument value = corral_argument_value(made);
    corral_ref *weight = runtime_submit(client, "weigh", &value, 1);
    double sum = 0;
    for (size_t i = 0; i < 300000; i++)
        sum += (uint8_t)i;
    expect(weight, sum);
    corral_release(made);
    expect_soon("object_count", 0);
    runtime_close(client);
}

// --- who is left -------------------------------------------------------------------------------------------

static void a_detached_actor_stays(void)
{
    corral_client_config config = corral_client_config_default();
    config.cpus = 2;
    corral_client *first = runtime_open(&config);
    corral_client *second = runtime_open_second(&config);
    corral_actor_options options = corral_actor_options_default();
    options.name = "stays";
    options.detached = true;
    corral_ref *stays = NULL, *goes = NULL, *found = NULL;
    TEST_OK(corral_actor_spawn(second, "counter", NULL, 0, &options, &stays));
    options.name = "goes";
    options.detached = false;
    TEST_OK(corral_actor_spawn(second, "counter", NULL, 0, &options, &goes));
    expect(call(stays, "add", 2, 0), 2);
    expect(call(goes, "add", 2, 0), 2);
    corral_client_close(second);
    expect_soon("actors", 1);
    TEST_OK(corral_actor_find(first, "stays", &found));
    expect(call(found, "add", 1, 0), 3);
    TEST_FAILS(corral_actor_find(first, "goes", &goes), CORRAL_ERROR_NOT_FOUND, "\"goes\"");
    TEST_OK(corral_actor_kill(found, false));
    corral_release(found);
    expect_soon("actors", 0);
    expect_soon("object_count", 0);
    runtime_close(first);
}

static void an_actor_ends_with_its_last_reference(void)
{
    corral_client *client = open_with(1, 0);
    corral_ref *actor = NULL;
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, NULL, &actor));
    corral_ref *last = call(actor, "add", 1, 0);
    corral_release(actor);
    expect(last, 1); // calls are done before it ends
    expect_soon("actors", 0);
    expect_soon("workers", 0);
    runtime_close(client);
}

// Ten that sleep at once; then a worker each would be one too many.
static void idle_workers_are_few(void)
{
    corral_client *client = open_with(2, 0);
    corral_task_options options = corral_task_options_default();
    options.cpus = 0.1;
    const double time = 100;
    const corral_argument argument = number(&time);
    corral_ref *refs[10];
    for (int i = 0; i < 10; i++)
        TEST_OK(corral_task_submit(client, "nap", &argument, 1, &options, &refs[i]));
    for (int i = 0; i < 10; i++)
        expect(refs[i], 100);
    expect_soon("workers", 2);
    runtime_close(client);
}

int main(void)
{
    if (corral_is_worker()) return corral_worker_main(&runtime_library);
    return test_run("the runtime's faults",
                    (test_case[]){
                        {"a task dies once and for all", a_task_dies_once_and_for_all},
                        {"a task is tried again", a_task_is_tried_again},
                        {"tasks are cancelled", tasks_are_cancelled},
                        {"time runs out", time_runs_out},
                        {"an actor dies", an_actor_dies},
                        {"order is kept over restarts", order_is_kept_over_restarts},
                        {"a call is tried again in its place", a_call_is_tried_again_in_its_place},
                        {"an actor is killed", an_actor_is_killed},
                        {"calls are bounded", calls_are_bounded},
                        {"threads run calls", threads_run_calls},
                        {"gpus are shared out", gpus_are_shared_out},
                        {"demands that wait are shown", demands_that_wait_are_shown},
                        {"a full store says who holds it", a_full_store_says_who_holds_it},
                        {"a value outlives its writer", a_value_outlives_its_writer},
                        {"a detached actor stays", a_detached_actor_stays},
                        {"an actor ends with its last reference", an_actor_ends_with_its_last_reference},
                        {"idle workers are few", idle_workers_are_few},
                        {NULL, NULL},
                    });
}
