// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Under injected faults a run is slower, and otherwise the same.
#include "rig.h"

enum { ROUNDS = 100, ACTORS = 2 };

// Each actor's fragments in the order of its leases; the sum over (tag, version, bytes) is the run's result.
static uint64_t result_of(const char *faults)
{
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.slots = ACTORS;
    cluster.faults = faults;
    corral_group_config group = rig_group("fill", ACTORS);
    group.transport = CORRAL_TRANSPORT_GRPC;
    rig_run run;
    rig_open(&run, &cluster, &group);
    uint64_t sum = 0, next_tag[ACTORS] = {0};
    unsigned fragments = 0;
    const int64_t deadline = corral_now_ns() + 60 * CORRAL_SECOND;
    rig_publish(&run, 1);
    while (fragments < ROUNDS * ACTORS && corral_now_ns() < deadline) {
        corral_group_event event;
        if (corral_group_next(run.group, CORRAL_SECOND, &event) != CORRAL_OK) continue;
        CU_ASSERT_TRUE_FATAL(event.kind == CORRAL_GROUP_ACTOR_READY || event.kind == CORRAL_GROUP_FRAGMENT);
        if (event.kind == CORRAL_GROUP_FRAGMENT) {
            const test_fragment *fragment = event.data;
            CU_ASSERT_EQUAL(event.tag, next_tag[event.actor]); // once, and in order
            next_tag[event.actor]++;
            sum +=
                (event.tag + 1) * (event.actor + 1) * 1000003 + pattern_of(fragment)[999] + fragment->weight;
            fragments++;
            corral_group_release(run.group, &event);
        }
        const uint64_t tag = next_tag[event.actor];
        const test_request request = {.seed = tag + 1, .length = 1000};
        if (tag < ROUNDS) TEST_OK(corral_group_lease(run.group, event.actor, tag, &request, sizeof request));
    }
    CU_ASSERT_EQUAL(fragments, ROUNDS * ACTORS);
    rig_close(&run);
    return sum;
}

static void results_are_equal(void)
{
    rig_begin();
    const uint64_t clean = result_of("");
    CU_ASSERT_EQUAL(result_of("lose=0.1,seed=1"), clean);
    CU_ASSERT_EQUAL(result_of("duplicate=0.3,seed=2"), clean);
    CU_ASSERT_EQUAL(result_of("delay=5ms:0.2,seed=3"), clean);
    CU_ASSERT_EQUAL(result_of("lose=0.1,duplicate=0.1,delay=5ms:0.1,seed=4"), clean);
    CU_ASSERT_EQUAL(result_of("blackout=50ms:300ms,seed=5"), clean);
    rig_end();
}

static void nonsense_is_refused(void)
{
    rig_begin();
    corral_cluster_config config = corral_cluster_config_default();
    corral_cluster *cluster = NULL;
    config.faults = "lose=2";
    TEST_FAILS(corral_cluster_connect(&config, &cluster), CORRAL_ERROR_INVALID, "lose=2");
    rig_end();
}

int main(void)
{
    return test_run("net: faults", (test_case[]){{"results are equal", results_are_equal},
                                                 {"nonsense is refused", nonsense_is_refused},
                                                 {NULL, NULL}});
}
