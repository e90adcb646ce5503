// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run of its own, over shared memory.
#include "rig.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static corral_cluster_config own_cluster(void)
{
    corral_cluster_config config = corral_cluster_config_default();
    config.slots = 2;
    return config;
}

static void open_own(rig_run *run, const corral_group_config *group)
{
    const corral_cluster_config cluster = own_cluster();
    rig_open(run, &cluster, group);
}

static void two_actors_fill(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 2);
    open_own(&run, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 20));
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 500, 20));
    rig_publish(&run, 2);
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 1000, 20));
    CU_ASSERT_EQUAL(run.ready, 2);
    CU_ASSERT_EQUAL(run.remote, 0);
    const corral_group_stats stats = corral_group_get_stats(run.group);
    CU_ASSERT_EQUAL(stats.actors_started, 2);
    CU_ASSERT_EQUAL(stats.actors_alive, 2);
    CU_ASSERT_EQUAL(stats.actors_lost, 0);
    rig_close(&run);
    rig_end();
}

// The driver has nothing to wait for in connect, and little in create.
static void start_is_quick(void)
{
    rig_begin();
    const int64_t begin = corral_now_ns();
    rig_run run;
    const corral_group_config group = rig_group("fill", 2);
    open_own(&run, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    const double ms = (double)(corral_now_ns() - begin) / 1e6;
    printf("two actors ready after %.1f ms ", ms);
    CU_ASSERT_TRUE(ms < 2000); // a bound that holds on a loaded machine with sanitizers, too
    rig_close(&run);
    rig_end();
}

// Leases that were granted after a publish are filled with those weights, at the earliest.
static void weights_come_before_leases(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 1);
    open_own(&run, &group);
    corral_group_event event = {0};
    while (event.kind != CORRAL_GROUP_ACTOR_READY || event.reason == NULL)
        TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    const test_request request = {.seed = 5, .length = 10};
    for (uint64_t version = 1; version <= 200; version++) {
        rig_publish(&run, version);
        TEST_OK(corral_group_lease(run.group, 0, version, &request, sizeof request));
        TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
        CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_GROUP_FRAGMENT);
        CU_ASSERT_EQUAL(((const test_fragment *)event.data)->version, version);
        corral_group_release(run.group, &event);
    }
    rig_close(&run);
    rig_end();
}

static void leases_are_bounded(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 1);
    open_own(&run, &group);
    const test_request request = {.seed = 5, .length = 10};
    TEST_FAILS(corral_group_lease(run.group, 0, 1, &request, sizeof request), CORRAL_ERROR_LOST, "not up");
    corral_group_event events[2];
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &events[0]));
    CU_ASSERT_EQUAL_FATAL(events[0].kind, CORRAL_GROUP_ACTOR_READY);
    for (uint64_t i = 0; i < 2; i++)
        TEST_OK(corral_group_lease(run.group, 0, i, &request, sizeof request));
    for (int i = 0; i < 2; i++)
        TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &events[i]));
    TEST_FAILS(corral_group_lease(run.group, 0, 3, &request, sizeof request), CORRAL_ERROR_FULL, "2 blocks");
    corral_group_release(run.group, &events[0]);
    TEST_OK(corral_group_lease(run.group, 0, 3, &request, sizeof request));
    CU_ASSERT_EQUAL(((const test_fragment *)events[1].data)->seed, 5); // the other one is still ours
    rig_close(&run);
    rig_end();
}

static void a_killed_actor_comes_back(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 2);
    open_own(&run, &group);
    rig_publish(&run, 3);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 100, 10));
    pid_t workers[4];
    CU_ASSERT_EQUAL_FATAL(rig_find("actors_test_worker", workers, 4), 2);
    kill(workers[0], SIGKILL);
    const int64_t killed = corral_now_ns();
    CU_ASSERT_TRUE(rig_until(&run, &run.lost, 1, 5));
    CU_ASSERT_TRUE(corral_now_ns() - killed < CORRAL_SECOND);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "was killed by signal 9"));
    const unsigned before = run.fragments;
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 3, 10));
    CU_ASSERT_TRUE(run.fragments > before); // the other one went on
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, run.fragments + 100, 10));
    CU_ASSERT_EQUAL(corral_group_get_stats(run.group).actors_lost, 1);
    CU_ASSERT_EQUAL(corral_group_get_stats(run.group).actors_started, 3);
    rig_close(&run);
    rig_end();
}

// What an actor had filled before it died is the caller's until it gives it back.
static void fragments_outlive_their_actor(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 1);
    open_own(&run, &group);
    corral_group_event event, held[2];
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    const test_request request = {.seed = 9, .length = 30000};
    for (uint64_t i = 0; i < 2; i++)
        TEST_OK(corral_group_lease(run.group, 0, i, &request, sizeof request));
    for (int i = 0; i < 2; i++)
        TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &held[i]));
    pid_t worker;
    CU_ASSERT_EQUAL_FATAL(rig_find("actors_test_worker", &worker, 1), 1);
    kill(worker, SIGKILL);
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_GROUP_ACTOR_LOST);
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_GROUP_ACTOR_READY);
    for (int i = 0; i < 2; i++) { // the new one has all its blocks, the old ones are intact
        TEST_OK(corral_group_lease(run.group, 0, 10, &request, sizeof request));
        const test_fragment *fragment = held[i].data;
        CU_ASSERT_EQUAL(pattern_of(fragment)[29999], test_pattern(9, 29999));
    }
    corral_group_release(run.group, &held[0]);
    corral_group_release(run.group, &held[1]);
    rig_close(&run);
    rig_end();
}

// Class "crash" does what its request says; this one asks for it once per incarnation.
static void crash_until(rig_run *run, const char *what, const unsigned *counter, unsigned value)
{
    const int64_t deadline = corral_now_ns() + 20 * CORRAL_SECOND;
    while (*counter < value && corral_now_ns() < deadline) {
        corral_group_event event;
        if (corral_group_next(run->group, 100 * CORRAL_MILLISECOND, &event) != CORRAL_OK) continue;
        if (event.kind == CORRAL_GROUP_ACTOR_READY) {
            run->ready++;
            TEST_OK(corral_group_lease(run->group, event.actor, 1, what, strlen(what)));
        }
        run->lost += event.kind == CORRAL_GROUP_ACTOR_LOST;
        run->down += event.kind == CORRAL_GROUP_ACTOR_DOWN;
        if (event.kind != CORRAL_GROUP_ACTOR_READY)
            snprintf(run->reason, sizeof run->reason, "%s", event.reason);
    }
    CU_ASSERT_EQUAL(*counter, value);
}

static void the_reason_says_where_and_what(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("crash", 1);
    open_own(&run, &group);
    crash_until(&run, "segv", &run.lost, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "actor 0 of group \"crash\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "stepping environments 0 to 3, step 17"));
    crash_until(&run, "error", &run.lost, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "maze: no way out at step 17"));
    rig_close(&run);
    rig_end();
}

static void it_stays_down_after_too_many(void)
{
    rig_begin();
    rig_run run;
    corral_group_config group = rig_group("crash", 1);
    group.max_restarts = 2;
    open_own(&run, &group);
    crash_until(&run, "error", &run.down, 1);
    CU_ASSERT_EQUAL(run.ready, 3);
    CU_ASSERT_EQUAL(run.lost, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "stays down after 3 ends in a row"));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "maze: no way out"));
    rig_close(&run);
    rig_end();
}

static void what_cannot_start_says_why(void)
{
    rig_begin();
    rig_run run;
    corral_group_config group = rig_group("fill", 1);
    group.config = "refuse";
    group.config_size = 6;
    group.max_restarts = 0;
    open_own(&run, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.down, 1, 10));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "the test's configuration says \"refuse\""));
    rig_close(&run);

    setenv("CORRAL_WORKER", "/nonexistent/corral-worker", 1);
    open_own(&run, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.down, 1, 10));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "/nonexistent/corral-worker"));
    rig_close(&run);

    setenv("CORRAL_NODE", "/nonexistent/corral-node", 1);
    const corral_cluster_config cluster = own_cluster();
    corral_cluster *none = NULL;
    TEST_FAILS(corral_cluster_connect(&cluster, &none), CORRAL_ERROR_NOT_FOUND, "/nonexistent/corral-node");
    rig_end();
}

static void a_hanging_actor_is_killed(void)
{
    rig_begin();
    rig_run run;
    corral_group_config group = rig_group("crash", 1);
    group.lease_timeout_ns = 300 * CORRAL_MILLISECOND;
    open_own(&run, &group);
    const int64_t begin = corral_now_ns();
    crash_until(&run, "hang", &run.lost, 1);
    CU_ASSERT_TRUE(corral_now_ns() - begin >= group.lease_timeout_ns);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "gave nothing for 0.3 s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "while stepping environments 0 to 3, step 17"));
    rig_close(&run);
    rig_end();
}

static void the_impossible_is_refused_by_name(void)
{
    rig_begin();
    const corral_cluster_config config = own_cluster();
    corral_cluster *cluster = NULL;
    corral_group *group = NULL, *first = NULL;
    TEST_OK(corral_cluster_connect(&config, &cluster));
    corral_group_config wanted = rig_group("fill", 1);
    wanted.gpus = 99;
    TEST_FAILS(corral_group_create(cluster, &wanted, &group), CORRAL_ERROR_INFEASIBLE,
               "99 GPUs asked for, the cluster has 0");
    wanted.gpus = 0;
    wanted.count = 3;
    TEST_FAILS(corral_group_create(cluster, &wanted, &group), CORRAL_ERROR_INFEASIBLE,
               "3 CPUs asked for, the cluster has 2");
    wanted.count = 2;
    TEST_OK(corral_group_create(cluster, &wanted, &first));
    TEST_FAILS(corral_group_create(cluster, &wanted, &group), CORRAL_ERROR_REFUSED, "holds 2");
    corral_group_destroy(first);
    TEST_OK(corral_group_create(cluster, &wanted, &group)); // the slots are free again
    corral_group_destroy(group);
    corral_cluster_disconnect(cluster);
    rig_end();
}

static void *interrupt_soon(void *group)
{
    corral_sleep_ns(50 * CORRAL_MILLISECOND);
    corral_group_interrupt(group);
    return NULL;
}

static void next_can_be_interrupted(void)
{
    rig_begin();
    rig_run run;
    const corral_group_config group = rig_group("fill", 1);
    open_own(&run, &group);
    corral_group_event event;
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(corral_group_next(run.group, 0, &event), CORRAL_ERROR_EMPTY);
    const int64_t begin = corral_now_ns();
    CU_ASSERT_EQUAL(corral_group_next(run.group, 30 * CORRAL_MILLISECOND, &event), CORRAL_ERROR_EMPTY);
    CU_ASSERT_TRUE(corral_now_ns() - begin >= 30 * CORRAL_MILLISECOND);
    pthread_t thread;
    pthread_create(&thread, NULL, interrupt_soon, run.group);
    CU_ASSERT_EQUAL(corral_group_next(run.group, -1, &event), CORRAL_ERROR_CANCELLED);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(corral_group_next(run.group, 0, &event), CORRAL_ERROR_EMPTY); // once
    rig_close(&run);
    rig_end();
}

static void nothing_grows_over_ten_runs(void)
{
    rig_begin();
    unsigned after_first = 0;
    for (int i = 0; i < 10; i++) {
        rig_run run;
        corral_group_config group = rig_group("fill", 2);
        group.transport = i % 2 == 0 ? CORRAL_TRANSPORT_SHARED_MEMORY : CORRAL_TRANSPORT_GRPC;
        open_own(&run, &group);
        rig_publish(&run, 1);
        CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 10, 20));
        rig_close(&run);
        CU_ASSERT_EQUAL(rig_processes(), 0); // disconnect returns when that is done
        if (i == 1) after_first = rig_descriptors();
    }
    // gRPC closes some of its own a moment after it has shut down.
    const int64_t deadline = corral_now_ns() + 2 * CORRAL_SECOND;
    while (rig_descriptors() > after_first && corral_now_ns() < deadline)
        corral_sleep_ns(CORRAL_MILLISECOND);
    CU_ASSERT_TRUE(rig_descriptors() <= after_first);
    rig_end();
}

int main(void)
{
    return test_run("net: a run of its own",
                    (test_case[]){
                        {"two actors fill", two_actors_fill},
                        {"start is quick", start_is_quick},
                        {"weights come before leases", weights_come_before_leases},
                        {"leases are bounded", leases_are_bounded},
                        {"a killed actor comes back", a_killed_actor_comes_back},
                        {"fragments outlive their actor", fragments_outlive_their_actor},
                        {"the reason says where and what", the_reason_says_where_and_what},
                        {"it stays down after too many", it_stays_down_after_too_many},
                        {"what cannot start says why", what_cannot_start_says_why},
                        {"a hanging actor is killed", a_hanging_actor_is_killed},
                        {"the impossible is refused by name", the_impossible_is_refused_by_name},
                        {"next can be interrupted", next_can_be_interrupted},
                        {"nothing grows over ten runs", nothing_grows_over_ten_runs},
                        {NULL, NULL},
                    });
}
