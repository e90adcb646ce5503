// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The runtime's interface, each case in a hub with processes and in a local client: the results are the
/// same.
#include "runtime_rig.h"

#include "corral/base/clock.h"
#include "test.h"

#include <unistd.h>

static bool local;

static corral_client *open_with(double cpus)
{
    corral_client_config config = corral_client_config_default();
    config.local = local;
    config.cpus = cpus;
    return runtime_open(&config);
}

static corral_argument number(const double *value)
{
    return corral_argument_bytes(value, sizeof *value);
}

static void computes(void)
{
    corral_client *client = open_with(2);
    const double three = 3;
    const corral_argument argument = number(&three);
    corral_ref *nine = runtime_submit(client, "square", &argument, 1);
    CU_ASSERT_EQUAL(runtime_get_number(nine), 9);
    CU_ASSERT_EQUAL(runtime_get_number(nine), 9); // as often as one likes
    corral_ref *none = runtime_submit(client, "nothing", NULL, 0);
    corral_bytes bytes = {"", 1};
    TEST_OK(corral_get(none, -1, &bytes));
    CU_ASSERT_EQUAL(bytes.size, 0);
    corral_release(nine);
    corral_release(none);
    runtime_close(client);
}

static void values_are_arguments(void)
{
    corral_client *client = open_with(2);
    corral_ref *two = runtime_number(client, 2);
    const corral_argument first = corral_argument_value(two);
    corral_ref *four = runtime_submit(client, "square", &first, 1);
    const double one = 1;
    const corral_argument parts[] = {corral_argument_value(four), number(&one), corral_argument_value(two),
                                     corral_argument_value(four)};
    corral_ref *eleven = runtime_submit(client, "add", parts, 4);
    corral_release(two); // tasks hold what they need
    corral_release(four);
    CU_ASSERT_EQUAL(runtime_get_number(eleven), 11);
    corral_release(eleven);
    runtime_close(client);
}

static void references_are_arguments(void)
{
    corral_client *client = open_with(2);
    const double five = 5;
    const corral_argument argument = number(&five);
    corral_ref *value = runtime_submit(client, "square", &argument, 1);
    const corral_argument reference = corral_argument_reference(value);
    corral_ref *seen = runtime_submit(client, "look", &reference, 1);
    CU_ASSERT_EQUAL(runtime_get_number(seen), 25);
    corral_release(value);
    corral_release(seen);
    runtime_close(client);
}

static void tasks_nest(void)
{
    corral_client *client = open_with(2);
    const double n = 7;
    const corral_argument argument = number(&n);
    corral_ref *ref = runtime_submit(client, "fibonacci", &argument, 1);
    CU_ASSERT_EQUAL(runtime_get_number(ref), 13);
    corral_release(ref);
    runtime_close(client);
}

static void errors_are_values(void)
{
    corral_client *client = open_with(2);
    const corral_argument why = corral_argument_text("the sum is not finite: 17 of 64 rows");
    corral_ref *bad = runtime_submit(client, "fail", &why, 1);
    TEST_FAILS(corral_get(bad, -1, NULL), CORRAL_ERROR_NOT_FINITE,
               "task \"fail\": the sum is not finite: 17 of 64 rows");
    TEST_FAILS(corral_get(bad, -1, NULL), CORRAL_ERROR_NOT_FINITE, "(process ");
    const corral_argument argument = corral_argument_value(bad);
    corral_ref *worse = runtime_submit(client, "square", &argument, 1); // is not run
    TEST_FAILS(corral_get(worse, -1, NULL), CORRAL_ERROR_NOT_FINITE, "task \"fail\": the sum");
    corral_ref *unknown = runtime_submit(client, "sqare", NULL, 0);
    TEST_FAILS(corral_get(unknown, -1, NULL), CORRAL_ERROR_NOT_FOUND,
               "task \"sqare\": the library has no such function");
    corral_release(bad);
    corral_release(worse);
    corral_release(unknown);
    runtime_close(client);
}

static void impossible_demands_are_refused(void)
{
    corral_client *client = open_with(2);
    corral_ref *ref = NULL;
    corral_task_options options = corral_task_options_default();
    options.gpus = 99;
    TEST_FAILS(corral_task_submit(client, "square", NULL, 0, &options, &ref), CORRAL_ERROR_INFEASIBLE,
               "task \"square\": 99 gpus asked for, there are 0");
    const corral_resource licence = {"licence", 1};
    options = corral_task_options_default();
    options.resources = &licence;
    options.resource_count = 1;
    TEST_FAILS(corral_task_submit(client, "square", NULL, 0, &options, &ref), CORRAL_ERROR_INFEASIBLE,
               "licence");
    options = corral_task_options_default();
    options.cpus = 2.5;
    TEST_FAILS(corral_task_submit(client, "square", NULL, 0, &options, &ref), CORRAL_ERROR_INFEASIBLE,
               "2.5 cpus asked for, there are 2");
    options.cpus = -1;
    TEST_FAILS(corral_task_submit(client, "square", NULL, 0, &options, &ref), CORRAL_ERROR_INVALID,
               "-1 cpus");
    TEST_FAILS(corral_task_submit(client, "", NULL, 0, NULL, &ref), CORRAL_ERROR_INVALID, "name");
    runtime_close(client);
}

static void actors_count(void)
{
    corral_client *client = open_with(2);
    const double begin = 10, one = 1;
    const corral_argument start = number(&begin), step = number(&one);
    corral_ref *actor = NULL, *result[20];
    TEST_OK(corral_actor_spawn(client, "counter", &start, 1, NULL, &actor));
    for (int i = 0; i < 20; i++)
        TEST_OK(corral_actor_call(actor, "add", &step, 1, NULL, &result[i]));
    TEST_OK(corral_get(actor, -1, NULL));
    for (int i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(runtime_get_number(result[i]), 11 + i);
        corral_release(result[i]);
    }
    corral_release(actor);
    runtime_close(client);
}

static void actors_fail_with_a_sentence(void)
{
    corral_client *client = open_with(2);
    corral_ref *actor = NULL, *bad = NULL;
    const double numbers[] = {1, 2};
    const corral_argument two[] = {number(&numbers[0]), number(&numbers[1])};
    TEST_OK(corral_actor_spawn(client, "counter", two, 2, NULL, &actor));
    TEST_FAILS(corral_get(actor, -1, NULL), CORRAL_ERROR_INVALID,
               "actor \"counter\": a counter begins with one number");
    TEST_OK(corral_actor_call(actor, "add", two, 1, NULL, &bad)); // of an actor that never was
    TEST_FAILS(corral_get(bad, -1, NULL), CORRAL_ERROR_INVALID, "a counter begins with one number");
    corral_release(bad);
    corral_release(actor);
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, NULL, &actor));
    const corral_argument why = corral_argument_text("no");
    TEST_OK(corral_actor_call(actor, "fail", &why, 1, NULL, &bad));
    TEST_FAILS(corral_get(bad, -1, NULL), CORRAL_ERROR_NOT_FINITE, "call \"counter.fail\": no");
    corral_release(bad);
    TEST_OK(corral_actor_call(actor, "sub", NULL, 0, NULL, &bad));
    TEST_FAILS(corral_get(bad, -1, NULL), CORRAL_ERROR_NOT_FOUND,
               "call \"counter.sub\": the class has no such method");
    corral_release(bad);
    TEST_OK(corral_actor_call(actor, "add", two, 1, NULL, &bad)); // it is none the worse
    CU_ASSERT_EQUAL(runtime_get_number(bad), 1);
    corral_release(bad);
    corral_release(actor);
    runtime_close(client);
}

static void actors_have_names(void)
{
    corral_client *client = open_with(2);
    corral_actor_options options = corral_actor_options_default();
    options.name = "total";
    corral_ref *actor = NULL, *found = NULL, *again = NULL, *result = NULL;
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, &options, &actor));
    TEST_OK(corral_get(actor, -1, NULL));
    TEST_FAILS(corral_actor_spawn(client, "counter", NULL, 0, &options, &again), CORRAL_ERROR_EXISTS,
               "\"total\"");
    TEST_OK(corral_actor_find(client, "total", &found));
    const double one = 1;
    const corral_argument step = number(&one);
    TEST_OK(corral_actor_call(found, "add", &step, 1, NULL, &result));
    CU_ASSERT_EQUAL(runtime_get_number(result), 1);
    corral_release(result);
    TEST_OK(corral_actor_kill(actor, false));
    TEST_OK(corral_actor_call(found, "add", &step, 1, NULL, &result));
    TEST_FAILS(corral_get(result, -1, NULL), CORRAL_ERROR_LOST,
               "actor \"counter\": its process was killed on request");
    TEST_FAILS(corral_actor_find(client, "total", &again), CORRAL_ERROR_NOT_FOUND, "\"total\"");
    corral_release(result);
    corral_release(found);
    corral_release(actor);
    runtime_close(client);
}

static void actors_are_arguments(void)
{
    corral_client *client = open_with(2);
    corral_ref *actor = NULL, *told[5];
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, NULL, &actor));
    const corral_argument argument = corral_argument_reference(actor);
    double sum = 0;
    for (int i = 0; i < 5; i++)
        told[i] = runtime_submit(client, "tell", &argument, 1);
    corral_release(actor); // the tasks refer to it
    for (int i = 0; i < 5; i++) {
        sum += runtime_get_number(told[i]);
        corral_release(told[i]);
    }
    CU_ASSERT_EQUAL(sum, 1 + 2 + 3 + 4 + 5);
    runtime_close(client);
}

static void large_things_travel(void)
{
    corral_client *client = open_with(2);
    enum { SIZE = 1000 * 1000 };
    uint8_t *bytes = malloc(SIZE);
    double sum = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    for (size_t i = 0; i < SIZE; i++)
        sum += bytes[i] = (uint8_t)(i * 7);
    corral_ref *put = NULL;
    TEST_OK(corral_put(client, bytes, SIZE, &put));
    const corral_argument by_value = corral_argument_value(put);
    corral_ref *weight = runtime_submit(client, "weigh", &by_value, 1);
    CU_ASSERT_EQUAL(runtime_get_number(weight), sum);
    corral_release(weight);

    // Bytes that are too many for a message, alone or together.
    const corral_argument many[] = {corral_argument_bytes(bytes, SIZE), corral_argument_bytes(bytes, 90000),
                                    corral_argument_bytes(bytes, 90000), corral_argument_bytes(bytes, 3)};
    double all = sum + bytes[0] + bytes[1] + bytes[2];
    for (size_t i = 0; i < 90000; i++)
        all += 2 * bytes[i];
    weight = runtime_submit(client, "weigh", many, 4);
    CU_ASSERT_EQUAL(runtime_get_number(weight), all);
    corral_release(weight);

    const double size = SIZE;
    const corral_argument argument = number(&size);
    corral_ref *made = runtime_submit(client, "make", &argument, 1);
    corral_bytes got = {0};
    TEST_OK(corral_get(made, -1, &got));
    CU_ASSERT_EQUAL_FATAL(got.size, SIZE);
    CU_ASSERT_EQUAL((uintptr_t)got.data % 64, 0);
    bool right = true;
    for (size_t i = 0; i < SIZE; i++)
        right = right && ((const uint8_t *)got.data)[i] == (uint8_t)i;
    CU_ASSERT_TRUE(right);
    corral_release(made);
    corral_release(put);
    free(bytes);
    runtime_close(client);
}

static void borrowed_references_stay(void)
{
    corral_client *client = open_with(2);
    corral_ref *actor = NULL, *done = NULL, *object = NULL;
    static const uint8_t bytes[200000] = {1, 2, 3};
    TEST_OK(corral_put(client, bytes, sizeof bytes, &object));
    TEST_OK(corral_actor_spawn(client, "counter", NULL, 0, NULL, &actor));
    const corral_argument argument = corral_argument_reference(object);
    TEST_OK(corral_actor_call(actor, "keep", &argument, 1, NULL, &done));
    TEST_OK(corral_get(done, -1, NULL));
    corral_release(done);
    corral_release(object); // the actor holds it now
    TEST_OK(corral_actor_call(actor, "kept", NULL, 0, NULL, &done));
    CU_ASSERT_EQUAL(runtime_get_number(done), 6);
    corral_release(done);
    corral_release(actor);
    runtime_close(client);
}

static void waiting_counts(void)
{
    corral_client *client = open_with(4);
    const double times[] = {1, 2, 3};
    corral_ref *refs[3];
    for (int i = 0; i < 3; i++) {
        const corral_argument argument = number(&times[i]);
        refs[i] = runtime_submit(client, "nap", &argument, 1);
    }
    bool ready[3] = {false, false, false};
    size_t count = 0;
    TEST_OK(corral_wait(refs, 3, 2, 20 * CORRAL_SECOND, ready, &count));
    CU_ASSERT_TRUE(count >= 2);
    CU_ASSERT_EQUAL(count, (size_t)(ready[0] + ready[1] + ready[2]));
    corral_bytes bytes[3];
    TEST_OK(corral_get_many(refs, 3, 20 * CORRAL_SECOND, bytes));
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(*(const double *)bytes[i].data, times[i]);
        corral_release(refs[i]);
    }
    TEST_FAILS(corral_wait(NULL, 0, 1, 0, NULL, &count), CORRAL_ERROR_INVALID, "1 of 0");
    runtime_close(client);
}

static void many_tasks(void)
{
    corral_client *client = open_with(2);
    enum { COUNT = 1000 };
    static corral_ref *refs[COUNT];
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        const double x = i;
        const corral_argument argument = number(&x);
        refs[i] = runtime_submit(client, "square", &argument, 1);
    }
    for (int i = COUNT; i-- > 0;)
        sum += runtime_get_number(refs[i]);
    for (int i = 0; i < COUNT; i++)
        corral_release(refs[i]);
    CU_ASSERT_EQUAL(sum, (double)(COUNT - 1) * COUNT * (2 * COUNT - 1) / 6);
    runtime_close(client);
}

int main(int argc, char **argv)
{
    if (corral_is_worker()) return corral_worker_main(&runtime_library);
    local = argc > 1 && strcmp(argv[1], "local") == 0;
    return test_run("the runtime", (test_case[]){
                                       {"a task computes", computes},
                                       {"values are arguments", values_are_arguments},
                                       {"references are arguments", references_are_arguments},
                                       {"tasks nest", tasks_nest},
                                       {"errors are values", errors_are_values},
                                       {"impossible demands are refused", impossible_demands_are_refused},
                                       {"an actor counts", actors_count},
                                       {"actors fail with a sentence", actors_fail_with_a_sentence},
                                       {"actors have names", actors_have_names},
                                       {"actors are arguments", actors_are_arguments},
                                       {"large things travel", large_things_travel},
                                       {"borrowed references stay", borrowed_references_stay},
                                       {"waiting counts", waiting_counts},
                                       {"many tasks", many_tasks},
                                       {NULL, NULL},
                                   });
}
