// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a lease costs beside the bare socket: both in one run, since only the ratio travels between machines.
///
///     corral_actors_bench [rounds]
#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/actors/peer.h"
#include "corral/actors/spawner.h"
#include "corral/base/clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCK = 64 * 1024, BLOCKS = 4 };

static void check(corral_status status)
{
    if (status == CORRAL_OK) return;
    fprintf(stderr, "%s\n", corral_last_error());
    exit(1);
}

// --- the actor --------------------------------------------------------------------------------------------

static corral_status bench_create(const corral_actor_context *context, const void *config, size_t size,
                                  void **out_actor)
{
    (void)config;
    (void)size;
    *out_actor = context->beacon;
    return CORRAL_OK;
}

static corral_status bench_fill(void *actor, const void *request, size_t request_size, void *block,
                                size_t capacity, size_t *out_length)
{
    (void)actor;
    memcpy(block, request, request_size);
    *out_length = capacity;
    return CORRAL_OK;
}

static const corral_actor_class bench_class = {"bench", bench_create, NULL, bench_fill, NULL, NULL};

// --- the measured loops -----------------------------------------------------------------------------------

static double raw_round_trip_us(int rounds)
{
    int sockets[2];
    char datagram[64] = {0};
    check(corral_message_pair(sockets));
    const pid_t echo = fork();
    if (echo == 0) {
        close(sockets[0]);
        while (recv(sockets[1], datagram, sizeof datagram, 0) > 0)
            send(sockets[1], datagram, sizeof datagram, 0);
        _exit(0);
    }
    close(sockets[1]);
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < rounds; i++) {
        send(sockets[0], datagram, sizeof datagram, 0);
        recv(sockets[0], datagram, sizeof datagram, 0);
    }
    const int64_t end = corral_now_ns();
    close(sockets[0]);
    waitpid(echo, NULL, 0);
    return 1e-3 * (double)(end - begin) / rounds;
}

static corral_peer *start_actor(corral_spawner *spawner, const corral_board *board)
{
    int sockets[2], board_fd = -1;
    corral_segment segment;
    corral_peer *peer;
    pid_t pid;
    corral_peer_config config = {.incarnation = 1,
                                 .block_bytes = BLOCK,
                                 .block_count = BLOCKS,
                                 .actor_count = 1,
                                 .class_name = "bench"};
    check(corral_message_pair(sockets));
    check(corral_segment_create("bench", corral_actor_segment_size(BLOCK, BLOCKS), &segment));
    check(corral_segment_share(&segment, &config.segment_fd));
    check(corral_segment_share(&board->segment, &board_fd));
    const corral_spawn spawn = {
        .program = "/proc/self/exe",
        .arguments = (const char *const[]){"corral_actors_bench", "actor", NULL},
        .fds = {sockets[1], segment.fd, board_fd, -1},
        .stderr_fd = -1,
    };
    check(corral_spawner_spawn(spawner, &spawn, &pid));
    close(sockets[1]);
    close(board_fd);
    corral_segment_finish(&segment);
    config.socket = sockets[0];
    check(corral_peer_open(&config, &peer));
    return peer;
}

static corral_peer_event next(corral_peer *peer)
{
    corral_peer_event event;
    corral_status status;
    while ((status = corral_peer_receive(peer, &event)) == CORRAL_ERROR_EMPTY) {
        struct pollfd wanted = {.fd = corral_peer_fd(peer), .events = POLLIN};
        poll(&wanted, 1, -1);
    }
    check(status);
    return event;
}

// `ahead` leases are granted before the first is taken.
static double lease_us(corral_peer *peer, int rounds, int ahead)
{
    const int64_t begin = corral_now_ns();
    for (int i = 0; i < rounds + ahead - 1; i++) {
        if (i < rounds) check(corral_peer_lease(peer, (uint64_t)i, "request", 7));
        if (i < ahead - 1) continue;
        corral_peer_release(peer, next(peer).block);
    }
    return 1e-3 * (double)(corral_now_ns() - begin) / rounds;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "actor") == 0)
        return corral_actor_main((const corral_actor_class *const[]){&bench_class, NULL});
    const int rounds = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 20000;
    corral_spawner *spawner;
    corral_board board;
    check(corral_spawner_start(&spawner));
    check(corral_board_create(BLOCK, &board));
    corral_peer *peer = start_actor(spawner, &board);
    next(peer); // READY
    const double raw = raw_round_trip_us(rounds), one = lease_us(peer, rounds, 1),
                 four = lease_us(peer, rounds, BLOCKS);
    printf("raw seqpacket round trip     %7.1f us\n", raw);
    printf("one lease at a time          %7.1f us, %.2f of raw\n", one, one / raw);
    printf("%d leases ahead, each         %7.1f us, %.2f of raw\n", BLOCKS, four, four / raw);
    corral_peer_close(peer);
    corral_spawner_stop(spawner);
    corral_board_finish(&board);
    return 0;
}
