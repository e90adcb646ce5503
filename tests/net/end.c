// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Whoever is killed, nothing is left. This program is also the driver that gets killed: with the word
/// "drive".
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];

// "drive TRANSPORT ADDRESS|-": works until it is killed.
static int drive(char **words)
{
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 2;
    cluster.address = strcmp(words[1], "-") != 0 ? words[1] : NULL;
    corral_group_config group = rig_group("fill", 2);
    group.transport = (corral_transport)atoi(words[0]);
    corral_cluster *connected = NULL;
    corral_group *created = NULL;
    if (corral_cluster_connect(&cluster, &connected) != CORRAL_OK ||
        corral_group_create(connected, &group, &created) != CORRAL_OK) {
        printf("%s\n", corral_last_error());
        return 1;
    }
    const test_request request = {.seed = 1, .length = 60000};
    for (unsigned fragments = 0;;) {
        corral_group_event event;
        if (corral_group_next(created, -1, &event) != CORRAL_OK) continue;
        if (event.kind == CORRAL_GROUP_FRAGMENT) {
            corral_group_release(created, &event);
            if (++fragments == 100) {
                printf("working\n");
                fflush(stdout);
            }
        }
        if (event.kind == CORRAL_GROUP_FRAGMENT || event.kind == CORRAL_GROUP_ACTOR_READY)
            if (corral_group_lease(created, event.actor, 1, &request, sizeof request) != CORRAL_OK) return 1;
    }
}

static pid_t start_driver(const char *transport, const char *address)
{
    const char *const arguments[] = {self, "drive", transport, address, NULL};
    char line[512];
    const pid_t pid = rig_start(arguments, line, sizeof line);
    CU_ASSERT_STRING_EQUAL(line, "working");
    return pid;
}

static void kill_and_reap(pid_t pid)
{
    kill(pid, SIGKILL);
    CU_ASSERT_TRUE(WIFSIGNALED(rig_wait(pid)));
}

static void a_driver_with_its_own_agent(void)
{
    for (int transport = 0; transport < 2; transport++) {
        rig_begin();
        const pid_t driver = start_driver(transport == 0 ? "0" : "1", "-");
        CU_ASSERT_TRUE(rig_processes() >= 4); // driver, agent, spawner, two workers
        kill_and_reap(driver);
        rig_end(); // nothing left within 5 s
    }
}

// The nodes were started by hand: they stay, and their slots are free again.
static void a_driver_of_a_cluster(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address), member = rig_member(address, "1");
    const unsigned before = rig_processes();
    for (int i = 0; i < 2; i++) {
        const pid_t driver = start_driver("0", address);
        CU_ASSERT_TRUE(rig_processes_become(before + 3, 5)); // the driver, a worker on each node
        kill_and_reap(driver);
        CU_ASSERT_TRUE(rig_processes_become(before, 5));
    }
    rig_stop(member);
    rig_stop(head);
    rig_end();
}

static void the_only_agent(void)
{
    rig_begin();
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = 2;
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.fragments, 100, 10));
    pid_t agents[4];
    unsigned count =
        0; // it and its spawner, a fork of it; a worker is one, too, until it has become its program
    for (int i = 0; i < 250 && (count = rig_find("corral-node", agents, 4)) != 2; i++)
        corral_sleep_ns(20 * CORRAL_MILLISECOND);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    const pid_t agent = agents[0] < agents[1] ? agents[0] : agents[1];
    kill(agent, SIGKILL);
    CU_ASSERT_TRUE(rig_until(&run, &run.failed, 1, 5));
    CU_ASSERT_PTR_NOT_NULL(strstr(run.reason, "our own agent is gone"));
    CU_ASSERT_TRUE(rig_processes_become(0, 5)); // its spawner has ended the workers
    rig_close(&run);
    // It could not clean the runtime folder: the next one does.
    rig_open(&run, &cluster, &group);
    char *json = NULL;
    for (int i = 0; i < 100 && json == NULL; i++) {
        if (corral_cluster_status(NULL, NULL, &json) != CORRAL_OK) corral_sleep_ns(20 * CORRAL_MILLISECOND);
    }
    CU_ASSERT_PTR_NOT_NULL(json);
    free(json);
    rig_close(&run);
    rig_end();
}

// A stopped process keeps its connections open: only silence tells.
static void a_stopped_node_is_noticed(void)
{
    rig_begin();
    char address[64];
    const pid_t head = rig_head("1", "", address), member = rig_member(address, "1");
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.address = address;
    const corral_group_config group = rig_group("fill", 2);
    rig_open(&run, &cluster, &group);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    kill(member, SIGSTOP);
    CU_ASSERT_TRUE(rig_until(&run, &run.lost, 1, 15));
    kill(member, SIGCONT);
    kill(member, SIGKILL);
    rig_wait(member);
    rig_close(&run);
    rig_stop(head);
    rig_end();
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "drive") == 0) return drive(argv + 2);
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return 2;
    return test_run("net: the end", (test_case[]){
                                        {"a driver with its own agent", a_driver_with_its_own_agent},
                                        {"a driver of a cluster", a_driver_of_a_cluster},
                                        {"the only agent", the_only_agent},
                                        {"a stopped node is noticed", a_stopped_node_is_noticed},
                                        {NULL, NULL},
                                    });
}
