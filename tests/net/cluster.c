// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// gRPC, and more than one node.
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static corral_cluster_config cluster_at(const char *address)
{
    corral_cluster_config config = corral_cluster_config_default();
    config.address = address;
    config.connect_timeout_ns = 5 * CORRAL_SECOND;
    return config;
}

static void grpc_on_one_host(void)
{
    rig_begin();
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 2;
    corral_group_config group = rig_group("fill", 2);
    group.transport = CORRAL_TRANSPORT_GRPC;
    group.block_bytes = 3 << 20;
    rig_open(&run, &cluster, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 50, 30));
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    rig_close(&run);

    rig_open(&run, &cluster, &group);
    run.request.length = (2 << 20) + 17; // in pieces
    rig_publish(&run, 2);
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 8, 30));
    CU_ASSERT_EQUAL(run.remote, run.fragments);
    CU_ASSERT_TRUE(corral_group_get_stats(run.group).fragments_remote >= 8);
    CU_ASSERT_TRUE(corral_group_get_stats(run.group).bytes_remote >= UINT64_C(8) * (2 << 20));
    rig_close(&run);
    rig_end();
}

static void large_weights_travel(void)
{
    rig_begin();
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 1;
    corral_group_config group = rig_group("fill", 1);
    group.transport = CORRAL_TRANSPORT_GRPC;
    group.weights_bytes = (3 << 20) + 8;
    rig_open(&run, &cluster, &group);
    uint64_t *words = malloc(group.weights_bytes);
    corral_group_event event = {0};
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    for (uint64_t version = 1; version <= 5; version++) {
        for (size_t i = 0; i < group.weights_bytes / 8; i++)
            words[i] = version;
        TEST_OK(corral_group_publish(run.group, version, words, group.weights_bytes));
        const test_request request = {.seed = 1, .length = 8};
        TEST_OK(corral_group_lease(run.group, 0, version, &request, sizeof request));
        TEST_OK(corral_group_next(run.group, 20 * CORRAL_SECOND, &event));
        const test_fragment *fragment = event.data;
        CU_ASSERT_EQUAL(fragment->version, version);
        CU_ASSERT_EQUAL(fragment->weight, version);
        CU_ASSERT_EQUAL(fragment->torn, 0);
        corral_group_release(run.group, &event);
    }
    free(words);
    rig_close(&run);
    rig_end();
}

static void a_killed_actor_comes_back(void)
{
    rig_begin();
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 2;
    corral_group_config group = rig_group("fill", 2);
    group.transport = CORRAL_TRANSPORT_GRPC;
    rig_open(&run, &cluster, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 20));
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 20, 20));
    pid_t worker;
    CU_ASSERT_EQUAL_FATAL(rig_find("actors_test_worker", &worker, 1), 1);
    kill(worker, SIGKILL);
    CU_ASSERT_TRUE(rig_until(&run, &run.lost, 1, 5));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "was killed by signal 9"));
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 3, 10));
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, run.fragments + 50, 20));
    rig_close(&run);
    rig_end();
}

static void a_hanging_actor_far_away_is_killed(void)
{
    rig_begin();
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 1;
    corral_group_config group = rig_group("crash", 1);
    group.transport = CORRAL_TRANSPORT_GRPC;
    group.lease_timeout_ns = 300 * CORRAL_MILLISECOND;
    rig_open(&run, &cluster, &group);
    corral_group_event event;
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    TEST_OK(corral_group_lease(run.group, 0, 1, "hang", 4));
    TEST_OK(corral_group_next(run.group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_GROUP_ACTOR_LOST);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.reason, "gave nothing for 0.3 s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(event.reason, "while stepping environments 0 to 3, step 17"));
    rig_close(&run);
    rig_end();
}

static void two_nodes_share_the_work(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address), member = rig_member(address, "1");
    rig_run run;
    const corral_cluster_config cluster = cluster_at(address);
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    CU_ASSERT_TRUE(rig_until(&run, &run.remote, 20, 20));
    CU_ASSERT_TRUE(rig_until(&run, &run.local, 20, 20)); // the head's node is on this host: shared memory
    const char *note = NULL;
    CU_ASSERT_TRUE(corral_cluster_levels_agree(run.cluster, &note));
    char *json = NULL;
    TEST_OK(corral_cluster_status(NULL, NULL, &json)); // the one running head
    CU_ASSERT_PTR_NOT_NULL(strstr(json, address));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"id\":2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"state\":\"running\""));
    free(json);
    rig_close(&run);
    rig_stop(member);
    rig_stop(head);
    rig_end();
}

// Of two workers the younger goes, is started again, and its driver hears why.
static void a_node_short_of_memory_ends_its_youngest_worker(void)
{
    rig_begin();
    const char *const arguments[] = {TEST_NODE, "--head", "--slots", "2", "--memory", "100", NULL};
    char line[256], address[64];
    const pid_t head = rig_start(arguments, line, sizeof line);
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "head at %63[^,],", address), 1);
    const corral_cluster_config at = cluster_at(address);
    const corral_group_config with = rig_group("crash", 2);
    corral_cluster *cluster = NULL;
    corral_group *group = NULL;
    corral_group_event event;
    TEST_OK(corral_cluster_connect(&at, &cluster));
    TEST_OK(corral_group_create(cluster, &with, &group));
    for (unsigned ready = 0; ready < 2; ready += event.kind == CORRAL_GROUP_ACTOR_READY)
        TEST_OK(corral_group_next(group, 10 * CORRAL_SECOND, &event));
    TEST_OK(corral_group_lease(group, 0, 1, "hog", 3)); // one is within the limit
    TEST_FAILS(corral_group_next(group, CORRAL_SECOND, &event), CORRAL_ERROR_EMPTY, "");
    TEST_OK(corral_group_lease(group, 1, 2, "hog", 3));
    TEST_OK(corral_group_next(group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_GROUP_ACTOR_LOST);
    CU_ASSERT_EQUAL(event.actor, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.reason, "was ended by its node's memory monitor, holding "));
    CU_ASSERT_PTR_NOT_NULL(strstr(event.reason, ", and --memory allows 100"));
    TEST_OK(corral_group_next(group, 10 * CORRAL_SECOND, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_GROUP_ACTOR_READY);
    CU_ASSERT_EQUAL(event.actor, 1);
    corral_group_destroy(group);
    corral_cluster_disconnect(cluster);
    rig_stop(head);
    rig_end();
}

static void levels_that_differ_are_named(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address);
    setenv("CORRAL_CPU_LEVEL", "abacus", 1);
    const pid_t member = rig_member(address, "1");
    unsetenv("CORRAL_CPU_LEVEL");
    corral_cluster_config config = cluster_at(address);
    corral_cluster *cluster = NULL;
    const char *note = NULL;
    TEST_OK(corral_cluster_connect(&config, &cluster));
    CU_ASSERT_FALSE(corral_cluster_levels_agree(cluster, &note));
    CU_ASSERT_PTR_NOT_NULL(strstr(note, "node 2 at level abacus"));
    corral_cluster_disconnect(cluster);
    rig_stop(member);
    rig_stop(head);
    rig_end();
}

// Its actors are placed again, where there is room.
static void a_node_dies(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("2", "", address), member = rig_member(address, "2");
    rig_run run;
    const corral_cluster_config cluster = cluster_at(address);
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 20));
    CU_ASSERT_TRUE(rig_until(&run, &run.remote, 20, 20));
    kill(member, SIGKILL);
    rig_wait(member);
    CU_ASSERT_TRUE(rig_until(&run, &run.lost, 1, 5));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "node"));
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 3, 10)); // now on the head's node
    const unsigned before = run.remote;
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, run.fragments + 100, 20));
    CU_ASSERT_EQUAL(run.remote, before);
    rig_close(&run);
    rig_stop(head);
    rig_end();
}

static void a_node_dies_and_there_is_no_room(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address), member = rig_member(address, "1");
    rig_run run;
    const corral_cluster_config cluster = cluster_at(address);
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    rig_stop(member); // drains: its drivers are told
    CU_ASSERT_TRUE(rig_until(&run, &run.down, 1, 10));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "1 CPUs"));
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, run.fragments + 100, 20)); // the other goes on
    rig_close(&run);
    rig_stop(head);
    rig_end();
}

static void the_head_dies(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address), member = rig_member(address, "1");
    rig_run run;
    const corral_cluster_config cluster = cluster_at(address);
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    kill(head, SIGKILL);
    rig_wait(head);
    CU_ASSERT_TRUE(rig_until(&run, &run.failed, 1, 5));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "the head at"));
    CU_ASSERT_EQUAL(WEXITSTATUS(rig_wait(member)), 3);
    rig_close(&run);
    // The killed head could not clean up: the next one does.
    char again[64];
    rig_stop(rig_head("1", "", again));
    rig_end();
}

// --- refusals
// -------------------------------------------------------------------------------------------------------------

static void a_wrong_token_is_refused(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address);
    corral_cluster_config config = cluster_at(address);
    config.token = "wrong";
    corral_cluster *cluster = NULL;
    TEST_FAILS(corral_cluster_connect(&config, &cluster), CORRAL_ERROR_REFUSED, "token");
    char *json = NULL;
    TEST_FAILS(corral_cluster_status(address, "wrong", &json), CORRAL_ERROR_REFUSED, "token");
    setenv("CORRAL_TOKEN", "0123456789", 1);
    TEST_FAILS(
        corral_cluster_connect(
            &(corral_cluster_config){.address = address, .connect_timeout_ns = CORRAL_SECOND}, &cluster),
        CORRAL_ERROR_REFUSED, "CORRAL_TOKEN");
    unsetenv("CORRAL_TOKEN");
    rig_stop(head);
    rig_end();
}

static void nobody_is_there(void)
{
    rig_begin();
    corral_cluster_config config = cluster_at("127.0.0.1:1");
    config.connect_timeout_ns = 300 * CORRAL_MILLISECOND;
    corral_cluster *cluster = NULL;
    TEST_FAILS(corral_cluster_connect(&config, &cluster), CORRAL_ERROR_TIMEOUT,
               "no head answers at 127.0.0.1:1");
    config.token = "known"; // so that it really dials
    TEST_FAILS(corral_cluster_connect(&config, &cluster), CORRAL_ERROR_TIMEOUT,
               "corral node --head --listen");
    char *json = NULL;
    TEST_FAILS(corral_cluster_status("127.0.0.1:1", "known", &json), CORRAL_ERROR_LOST, "no node answers");
    TEST_FAILS(corral_cluster_status(NULL, NULL, &json), CORRAL_ERROR_NOT_FOUND, "no head of yours");
    config.address = "127.0.0.1";
    TEST_FAILS(corral_cluster_connect(&config, &cluster), CORRAL_ERROR_INVALID, "HOST:PORT");
    rig_end();
}

static int exit_code(const char *const *arguments)
{
    const pid_t pid = fork();
    if (pid == 0) {
        execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    return WEXITSTATUS(rig_wait(pid));
}

static void bad_input_is_code_2(void)
{
    rig_begin();
    const int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CU_ASSERT_EQUAL_FATAL(bind(taken, (struct sockaddr *)&address, size), 0);
    CU_ASSERT_EQUAL_FATAL(listen(taken, 1), 0);
    getsockname(taken, (struct sockaddr *)&address, &size);
    char listen_at[64];
    snprintf(listen_at, sizeof listen_at, "127.0.0.1:%u", ntohs(address.sin_port));
    CU_ASSERT_EQUAL(exit_code((const char *const[]){TEST_NODE, "--head", "--listen", listen_at, NULL}), 2);
    close(taken);
    CU_ASSERT_EQUAL(exit_code((const char *const[]){TEST_NODE, "--head", "--listen", "0.0.0.0:0", NULL}), 2);
    CU_ASSERT_EQUAL(exit_code((const char *const[]){TEST_NODE, "--head", "--faults", "loose=1", NULL}), 2);
    CU_ASSERT_EQUAL(exit_code((const char *const[]){TEST_NODE, "--head", "--join", "127.0.0.1:1", NULL}), 2);
    CU_ASSERT_EQUAL(exit_code((const char *const[]){TEST_NODE, "--head", "--slots", "2x", NULL}), 2);
    rig_end();
}

int main(void)
{
    return test_run("net: a cluster",
                    (test_case[]){
                        {"gRPC on one host", grpc_on_one_host},
                        {"large weights travel", large_weights_travel},
                        {"a killed actor comes back", a_killed_actor_comes_back},
                        {"a hanging actor far away is killed", a_hanging_actor_far_away_is_killed},
                        {"two nodes share the work", two_nodes_share_the_work},
                        {"a node short of memory ends its youngest worker",
                         a_node_short_of_memory_ends_its_youngest_worker},
                        {"levels that differ are named", levels_that_differ_are_named},
                        {"a node dies", a_node_dies},
                        {"a node dies and there is no room", a_node_dies_and_there_is_no_room},
                        {"the head dies", the_head_dies},
                        {"a wrong token is refused", a_wrong_token_is_refused},
                        {"nobody is there", nobody_is_there},
                        {"bad input is code 2", bad_input_is_code_2},
                        {NULL, NULL},
                    });
}
