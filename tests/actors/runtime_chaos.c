// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Workloads while somebody kills their workers, in an order that a seed fixes: what was promised is there,
/// nothing was run twice that must not be, and nothing is left behind. With an argument, that many rounds.
#include "runtime_rig.h"

#include "corral/base/clock.h"
#include "corral/base/rng.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define PATIENCE (60 * CORRAL_SECOND)

enum { KILLS_MAX = 20 }; // of one workload: each may cost the actor that it hits a longer pause

static unsigned rounds = 1;

// --- the killer --------------------------------------------------------------------------------------------

typedef struct killer {
    pthread_t thread;
    atomic_bool stopping;
    uint64_t seed;
    unsigned every_ms, killed;
} killer;

// A random one of those that run something.
static pid_t choose_victim(corral_rng *rng)
{
    char *text = runtime_report();
    cJSON *root = cJSON_Parse(text);
    const cJSON *workers = cJSON_GetObjectItemCaseSensitive(root, "workers");
    const int count = cJSON_GetArraySize(workers);
    pid_t pid = 0;
    if (count > 0) {
        const cJSON *worker = cJSON_GetArrayItem(workers, (int)corral_rng_integer(rng, (uint64_t)count));
        pid = (pid_t)cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(worker, "pid"));
    }
    cJSON_Delete(root);
    free(text);
    return pid;
}

static void *kill_now_and_then(void *context)
{
    killer *k = context;
    corral_rng rng;
    corral_rng_seed(&rng, k->seed);
    while (!atomic_load(&k->stopping) && k->killed < KILLS_MAX) {
        corral_sleep_ns((int64_t)(1 + corral_rng_integer(&rng, 2 * k->every_ms)) * CORRAL_MILLISECOND);
        const pid_t pid = choose_victim(&rng);
        if (pid > 0 && kill(pid, SIGKILL) == 0) k->killed++;
    }
    return NULL;
}

static void start_killing(killer *k, uint64_t seed, unsigned every_ms)
{
    *k = (killer){.seed = seed, .every_ms = every_ms};
    CU_ASSERT_EQUAL_FATAL(pthread_create(&k->thread, NULL, kill_now_and_then, k), 0);
}

static void stop_killing(killer *k)
{
    atomic_store(&k->stopping, true);
    pthread_join(k->thread, NULL);
}

// --- what is left ------------------------------------------------------------------------------------------

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

// References that are released one after the other are told of together, with the next one at the latest.
static void expect_nothing_left(corral_client *client)
{
    const int64_t until = corral_now_ns() + PATIENCE;
    while ((report_number("object_count") > 0 || report_number("actors") > 0) && corral_now_ns() < until) {
        corral_sleep_ns(5 * CORRAL_MILLISECOND);
        corral_release(runtime_number(client, 0));
    }
    CU_ASSERT_EQUAL(report_number("object_count"), 0);
    CU_ASSERT_EQUAL(report_number("actors"), 0);
    char *text = runtime_report();
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "{\"name\":\"cpus\",\"total\":2,\"used\":0}"));
    free(text);
}

static corral_client *open_two(void)
{
    corral_client_config config = corral_client_config_default();
    config.cpus = 2;
    return runtime_open(&config);
}

// --- tasks with dependencies -------------------------------------------------------------------------------

// Numbers 1 to LEAVES, summed in pairs; each task may be run again as often as it takes.
static void a_tree_of_tasks(uint64_t seed)
{
    enum { LEAVES = 64 };
    corral_client *client = open_two();
    corral_task_options options = corral_task_options_default();
    options.max_retries = 1000;
    corral_ref *parts[LEAVES];
    killer k;
    start_killing(&k, seed, 5);
    for (int i = 0; i < LEAVES; i++) {
        const double x = i + 1;
        const corral_argument argument = corral_argument_bytes(&x, sizeof x);
        TEST_OK(corral_task_submit(client, "square", &argument, 1, &options, &parts[i]));
    }
    for (int width = LEAVES / 2; width >= 1; width /= 2)
        for (int i = 0; i < width; i++) {
            corral_ref *both = NULL;
            const double pause = 1;
            const corral_argument nap = corral_argument_bytes(&pause, sizeof pause);
            corral_ref *slept = NULL; // something to be killed in
            TEST_OK(corral_task_submit(client, "nap", &nap, 1, &options, &slept));
            const corral_argument pair[] = {corral_argument_value(parts[i]),
                                            corral_argument_value(parts[width + i]),
                                            corral_argument_value(slept)};
            TEST_OK(corral_task_submit(client, "add", pair, 3, &options, &both));
            corral_release(slept);
            corral_release(parts[i]);
            corral_release(parts[width + i]);
            parts[i] = both;
        }
    corral_bytes bytes = {0};
    TEST_OK(corral_get(parts[0], PATIENCE, &bytes));
    // The squares, and one for each of the naps.
    CU_ASSERT_EQUAL(*(const double *)bytes.data, LEAVES * (LEAVES + 1) * (2 * LEAVES + 1) / 6 + LEAVES - 1);
    stop_killing(&k);
    corral_release(parts[0]);
    expect_nothing_left(client);
    runtime_close(client);
}

// --- actors in order ---------------------------------------------------------------------------------------

// Each call writes its number. A call that came back well is there once; a lost one at most once; all are in
// order.
static void calls_in_order(uint64_t seed)
{
    enum { CALLS = 400 };
    corral_client *client = open_two();
    char path[] = "/tmp/corral-chaos-XXXXXX", line[16];
    const int fd = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    corral_actor_options options = corral_actor_options_default();
    options.max_restarts = UINT32_MAX;
    corral_ref *actor = NULL;
    static corral_ref *notes[CALLS];
    static unsigned times[CALLS];
    memset(times, 0, sizeof times);
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    killer k;
    start_killing(&k, seed, 20);
    for (int i = 0; i < CALLS; i++) {
        const int size = snprintf(line, sizeof line, "%d\n", i);
        const corral_argument arguments[] = {corral_argument_text(path),
                                             corral_argument_bytes(line, (size_t)size)};
        TEST_OK(corral_actor_call(actor, "note", arguments, 2, NULL, &notes[i]));
        if (i % 10 == 0) corral_sleep_ns(CORRAL_MILLISECOND);
    }
    static bool well[CALLS];
    for (int i = 0; i < CALLS; i++) {
        const corral_status status = corral_get(notes[i], PATIENCE, NULL);
        CU_ASSERT_TRUE(status == CORRAL_OK || status == CORRAL_ERROR_LOST);
        well[i] = status == CORRAL_OK;
        corral_release(notes[i]);
    }
    stop_killing(&k);
    FILE *file = fdopen(fd, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int before = -1, seen = 0;
    bool right = true;
    for (; fscanf(file, "%d", &seen) == 1; before = seen) {
        right = right && seen > before && seen < CALLS;
        if (right) times[seen]++;
    }
    for (int i = 0; i < CALLS; i++)
        right = right && (times[i] == 1 || (times[i] == 0 && !well[i]));
    CU_ASSERT_TRUE(right);
    fclose(file);
    unlink(path);
    corral_release(actor);
    expect_nothing_left(client);
    runtime_close(client);
}

// --- borrowing ---------------------------------------------------------------------------------------------

// References are kept by actors that die with them; the objects are freed all the same, and the others' are
// right.
static void borrowers_die(uint64_t seed)
{
    enum { ACTORS = 3, OBJECTS = 30, SIZE = 150000 };
    corral_client *client = open_two();
    corral_actor_options options = corral_actor_options_default();
    options.max_restarts = UINT32_MAX;
    const corral_call_options again = {.max_retries = 1000};
    corral_ref *actors[ACTORS];
    static uint8_t bytes[SIZE];
    memset(bytes, 1, SIZE);
    for (int a = 0; a < ACTORS; a++)
        TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actors[a]));
    killer k;
    start_killing(&k, seed, 20);
    for (int i = 0; i < OBJECTS; i++) {
        corral_ref *object = NULL, *kept = NULL, *weight = NULL;
        TEST_OK(corral_put(client, bytes, SIZE, &object));
        const corral_argument reference = corral_argument_reference(object),
                              value = corral_argument_value(object);
        TEST_OK(corral_actor_call(actors[i % ACTORS], "keep", &reference, 1, &again, &kept));
        corral_task_options retried = corral_task_options_default();
        retried.max_retries = 1000;
        TEST_OK(corral_task_submit(client, "weigh", &value, 1, &retried, &weight));
        corral_release(object);
        TEST_OK(corral_get(kept, PATIENCE, NULL));
        corral_bytes sum = {0};
        TEST_OK(corral_get(weight, PATIENCE, &sum));
        CU_ASSERT_EQUAL(*(const double *)sum.data, SIZE);
        corral_release(kept);
        corral_release(weight);
    }
    stop_killing(&k);
    for (int a = 0; a < ACTORS; a++)
        corral_release(actors[a]);
    expect_nothing_left(client);
    runtime_close(client);
}

// --- drivers that vanish -----------------------------------------------------------------------------------

// A driver goes away in the middle of everything; another one at the same hub notices nothing.
static void a_driver_vanishes(uint64_t seed)
{
    (void)seed;
    corral_client_config config = corral_client_config_default();
    config.cpus = 2;
    corral_client *stays = runtime_open(&config), *goes = runtime_open_second(&config);
    const double time = 60000, three = 3;
    const corral_argument nap = corral_argument_bytes(&time, sizeof time),
                          number = corral_argument_bytes(&three, sizeof three);
    corral_ref *actor = NULL, *call = NULL, *ref = NULL;
    for (int i = 0; i < 20; i++)
        ref = runtime_submit(goes, "nap", &nap, 1); // two run, the others wait
    const corral_argument waits = corral_argument_value(ref);
    ref = runtime_submit(goes, "square", &waits, 1);
    TEST_OK(corral_actor_spawn(goes, "counter", NULL, 0, NULL, &actor));
    TEST_OK(corral_actor_call(actor, "nap", &nap, 1, NULL, &call));
    corral_ref *nine = runtime_submit(stays, "square", &number, 1);
    corral_client_close(goes);
    CU_ASSERT_EQUAL(runtime_get_number(nine), 9);
    corral_release(nine);
    expect_nothing_left(stays);
    runtime_close(stays);
}

static void repeat(void (*workload)(uint64_t seed))
{
    for (unsigned round = 0; round < rounds; round++)
        workload(round + 1);
}

static void tree(void)
{
    repeat(a_tree_of_tasks);
}

static void order(void)
{
    repeat(calls_in_order);
}

static void borrowing(void)
{
    repeat(borrowers_die);
}

static void vanishing(void)
{
    repeat(a_driver_vanishes);
}

int main(int argc, char **argv)
{
    if (corral_is_worker()) return corral_worker_main(&runtime_library);
    if (argc > 1) rounds = (unsigned)strtoul(argv[1], NULL, 10);
    return test_run("the runtime in chaos", (test_case[]){
                                                {"a tree of tasks", tree},
                                                {"calls in order", order},
                                                {"borrowers die", borrowing},
                                                {"a driver vanishes", vanishing},
                                                {NULL, NULL},
                                            });
}
