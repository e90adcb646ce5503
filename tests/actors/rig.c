// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rig.h"

#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { BOARD_CAPACITY = 64 * 1024 };

corral_status rig_start(test_rig *rig)
{
    *rig = (test_rig){0};
    const corral_status status = corral_spawner_start(&rig->spawner);
    return status == CORRAL_OK ? corral_board_create(BOARD_CAPACITY, &rig->board) : status;
}

void rig_stop(test_rig *rig)
{
    corral_spawner_stop(rig->spawner);
    corral_board_finish(&rig->board);
}

static corral_status spawn_worker(test_rig *rig, int socket, int segment, pid_t *out_pid)
{
    int board = -1;
    corral_status status = corral_segment_share(&rig->board.segment, &board);
    if (status != CORRAL_OK) return status;
    const corral_spawn spawn = {
        .program = TEST_WORKER,
        .arguments = (const char *const[]){"worker", NULL},
        .fds = {socket, segment, board, -1},
        .stderr_fd = -1,
    };
    status = corral_spawner_spawn(rig->spawner, &spawn, out_pid);
    close(board);
    return status;
}

corral_status rig_start_actor(test_rig *rig, const rig_actor_config *config, rig_actor *out_actor)
{
    int sockets[2], reader = -1;
    corral_segment segment;
    corral_status status = corral_message_pair(sockets);
    if (status != CORRAL_OK) return status;
    status = corral_segment_create(
        "test-actor", corral_actor_segment_size(config->block_bytes, config->block_count), &segment);
    if (status == CORRAL_OK) status = corral_segment_share(&segment, &reader);
    if (status == CORRAL_OK) status = spawn_worker(rig, sockets[1], segment.fd, &out_actor->pid);
    close(sockets[1]);
    corral_segment_finish(&segment);
    if (status != CORRAL_OK) {
        close(sockets[0]);
        close(reader);
        return status;
    }
    const corral_peer_config peer = {
        .socket = sockets[0],
        .segment_fd = reader,
        .incarnation = config->incarnation,
        .block_bytes = config->block_bytes,
        .block_count = config->block_count,
        .actor = 2,
        .actor_count = 5,
        .class_name = config->class_name,
        .class_config = config->config,
        .class_config_size = config->config != NULL ? strlen(config->config) : 0,
    };
    return corral_peer_open(&peer, &out_actor->peer);
}

static bool wait_readable(int fd, int64_t deadline)
{
    const int64_t left = deadline - corral_now_ns();
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    return left > 0 && poll(&wanted, 1, (int)(left / CORRAL_MILLISECOND) + 1) >= 0;
}

corral_status rig_next(corral_peer *peer, int64_t timeout_ns, corral_peer_event *out_event)
{
    const int64_t deadline = corral_now_ns() + timeout_ns;
    do {
        const corral_status status = corral_peer_receive(peer, out_event);
        if (status != CORRAL_ERROR_EMPTY) return status;
    } while (wait_readable(corral_peer_fd(peer), deadline));
    return corral_fail(CORRAL_ERROR_TIMEOUT, "no event came");
}

corral_status rig_await_exit(corral_spawner *spawner, int64_t timeout_ns, corral_spawner_exit *out_exit)
{
    const int64_t deadline = corral_now_ns() + timeout_ns;
    do {
        const corral_status status = corral_spawner_next_exit(spawner, out_exit);
        if (status != CORRAL_ERROR_EMPTY) return status;
    } while (wait_readable(corral_spawner_fd(spawner), deadline));
    return corral_fail(CORRAL_ERROR_TIMEOUT, "no exit came");
}

bool rig_sees_end_of_file(int pipe, int64_t timeout_ns)
{
    const int64_t deadline = corral_now_ns() + timeout_ns;
    char skipped[64];
    while (wait_readable(pipe, deadline)) {
        struct pollfd wanted = {.fd = pipe, .events = POLLIN};
        if (poll(&wanted, 1, 0) > 0 && read(pipe, skipped, sizeof skipped) == 0) return true;
    }
    return false;
}
