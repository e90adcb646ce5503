// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What an agent and a driver do, in one process: a spawner, a board, and actors started from the test
/// worker.
#ifndef CORRAL_TEST_RIG_H
#define CORRAL_TEST_RIG_H

#include "corral/actors/board.h"
#include "corral/actors/peer.h"
#include "corral/actors/spawner.h"

#include <stdbool.h>

typedef struct test_rig {
    corral_spawner *spawner;
    corral_board board;
} test_rig;

typedef struct rig_actor_config {
    const char *class_name, *config;
    size_t block_bytes;
    uint32_t block_count;
    uint64_t incarnation;
} rig_actor_config;

typedef struct rig_actor {
    pid_t pid;
    corral_peer *peer;
} rig_actor;

corral_status rig_start(test_rig *rig);
void rig_stop(test_rig *rig);

corral_status rig_start_actor(test_rig *rig, const rig_actor_config *config, rig_actor *out_actor);
/// The next event, CORRAL_ERROR_TIMEOUT after `timeout_ns`.
corral_status rig_next(corral_peer *peer, int64_t timeout_ns, corral_peer_event *out_event);
corral_status rig_await_exit(corral_spawner *spawner, int64_t timeout_ns, corral_spawner_exit *out_exit);
/// True when the pipe's other ends are all closed within the time; what comes before that is skipped.
bool rig_sees_end_of_file(int pipe, int64_t timeout_ns);

#endif
