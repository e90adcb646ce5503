// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The consumer's end against an actor that lies: this test is the actor, on the raw socket.
#include "test.h"

#include "corral/actors/actor.h"
#include "corral/actors/message.h"
#include "corral/actors/peer.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 1000, BLOCKS = 3 };
static const uint64_t incarnation = 7;

static corral_segment segment;
static corral_peer *peer;
static int actor; // the actor's end of the socket
static corral_message hello;
static char tail[CORRAL_MESSAGE_TAIL_MAX + 1];

static corral_peer_config config_for(int socket)
{
    corral_peer_config config = {.socket = socket,
                                 .incarnation = incarnation,
                                 .block_bytes = BLOCK,
                                 .block_count = BLOCKS,
                                 .actor = 1,
                                 .actor_count = 4,
                                 .class_name = "maze",
                                 .class_config = "config",
                                 .class_config_size = 6};
    TEST_OK(corral_segment_share(&segment, &config.segment_fd));
    return config;
}

static corral_status say(corral_message message, const char *text)
{
    if (message.incarnation == 0) message.incarnation = incarnation;
    message.tail_size = text != NULL ? (uint32_t)strlen(text) : 0;
    return corral_message_send(actor, &message, text, NULL, 0, 0);
}

static void open_peer(void)
{
    int sockets[2];
    corral_peer_event event;
    TEST_OK(corral_segment_create("test", corral_actor_segment_size(BLOCK, BLOCKS), &segment));
    TEST_OK(corral_message_pair(sockets));
    actor = sockets[1];
    const corral_peer_config config = config_for(sockets[0]);
    TEST_OK(corral_peer_open(&config, &peer));
    TEST_OK(corral_message_receive(actor, &hello, tail, sizeof tail, NULL, 0));
    CU_ASSERT_FALSE(corral_peer_is_ready(peer));
    TEST_OK(say((corral_message){.kind = CORRAL_MESSAGE_READY}, NULL));
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_READY);
    CU_ASSERT_TRUE(corral_peer_is_ready(peer));
}

static void close_peer(void)
{
    corral_peer_close(peer);
    close(actor);
    corral_segment_finish(&segment);
}

static corral_message lease(uint64_t tag)
{
    corral_message message = {0};
    TEST_OK(corral_peer_lease(peer, tag, "request", 7));
    TEST_OK(corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0));
    return message;
}

static corral_message sealed_of(corral_message message)
{
    message.kind = CORRAL_MESSAGE_SEALED;
    message.tail_size = 0;
    return message;
}

// The last message is answered by an error with this text, then the peer is lost.
static void expect_broken(const char *text)
{
    corral_peer_event event = {0};
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_PEER_ERROR);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_CORRUPT);
    CU_ASSERT_EQUAL(event.length, strlen(event.data));
    if (strstr(event.data, text) == NULL)
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", (const char *)event.data, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.data, text));
    TEST_FAILS(corral_peer_lease(peer, 1, NULL, 0), CORRAL_ERROR_LOST, "gone");
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_LOST);
    TEST_FAILS(corral_peer_receive(peer, &event), CORRAL_ERROR_LOST, "gone");
    CU_ASSERT_FALSE(corral_peer_is_ready(peer));
    corral_message message;
    while (corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0) == CORRAL_OK) {
    }
    CU_ASSERT_EQUAL(corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0), CORRAL_ERROR_LOST);
}

static void an_honest_exchange(void)
{
    open_peer();
    CU_ASSERT_EQUAL(hello.kind, CORRAL_MESSAGE_HELLO);
    CU_ASSERT_EQUAL(hello.actor, 1);
    CU_ASSERT_EQUAL(hello.code, 4);
    CU_ASSERT_EQUAL(hello.incarnation, incarnation);
    corral_message message = lease(11);
    CU_ASSERT_EQUAL(message.kind, CORRAL_MESSAGE_LEASE);
    CU_ASSERT_EQUAL(memcmp(tail, "request", 7), 0);
    CU_ASSERT_EQUAL(message.length, BLOCK);
    CU_ASSERT_EQUAL(message.offset % 4096, 0);
    CU_ASSERT_EQUAL(corral_peer_free_blocks(peer), BLOCKS - 1);
    memcpy((char *)segment.data + message.offset, "filled", 6);

    corral_message sealed = sealed_of(message);
    sealed.length = 6;
    TEST_OK(say(sealed, NULL));
    corral_peer_event event;
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_PEER_SEALED);
    CU_ASSERT_EQUAL(event.tag, 11);
    CU_ASSERT_EQUAL(event.length, 6);
    CU_ASSERT_EQUAL(memcmp(event.data, "filled", 6), 0);
    CU_ASSERT_EQUAL(corral_peer_free_blocks(peer), BLOCKS - 1);
    corral_peer_release(peer, event.block);
    CU_ASSERT_EQUAL(corral_peer_free_blocks(peer), BLOCKS);
    close_peer();
}

static void blocks_run_out_and_come_back(void)
{
    open_peer();
    uint64_t generations = 0;
    corral_message leases[BLOCKS];
    for (uint64_t i = 0; i < BLOCKS; i++) {
        leases[i] = lease(i);
        CU_ASSERT_TRUE(leases[i].generation > generations);
        generations = leases[i].generation;
        CU_ASSERT_TRUE(i == 0 || leases[i].offset >= leases[i - 1].offset + BLOCK);
    }
    TEST_FAILS(corral_peer_lease(peer, 9, NULL, 0), CORRAL_ERROR_FULL, "all 3 blocks");
    corral_peer_event event;
    TEST_OK(say(sealed_of(leases[1]), NULL));
    TEST_OK(corral_peer_receive(peer, &event));
    TEST_FAILS(corral_peer_lease(peer, 9, NULL, 0), CORRAL_ERROR_FULL, "released"); // sealed is not yet free
    corral_peer_release(peer, event.block);
    const corral_message again = lease(9);
    CU_ASSERT_EQUAL(again.offset, leases[1].offset);
    CU_ASSERT_TRUE(again.generation > generations);
    close_peer();
}

static void lies_about_blocks_break_the_peer(void)
{
    static const struct {
        const char *text;
        size_t field; // changed by `change`
        uint64_t change;
    } lies[] = {
        {"1001 bytes in a block of 1000", offsetof(corral_message, length), 1},
        {"in a block of 1000", offsetof(corral_message, length), UINT64_MAX - BLOCK},
        {"no open lease", offsetof(corral_message, generation), 1},
        {"no open lease", offsetof(corral_message, tag), 1},
        {"no open lease", offsetof(corral_message, offset), 4096},
        {"where none lies", offsetof(corral_message, offset), 64},
        {"where none lies", offsetof(corral_message, offset), (uint64_t)-4096},
        {"where none lies", offsetof(corral_message, offset), 3 * 4096},
        {"where none lies", offsetof(corral_message, offset), (uint64_t)1 << 62},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        open_peer();
        corral_message lie = sealed_of(lease(5));
        uint64_t *field = (uint64_t *)(void *)((char *)&lie + lies[i].field);
        *field += lies[i].change;
        TEST_OK(say(lie, NULL));
        expect_broken(lies[i].text);
        close_peer();
    }
}

static void a_block_is_sealed_once(void)
{
    open_peer();
    const corral_message sealed = sealed_of(lease(5));
    corral_peer_event event;
    TEST_OK(say(sealed, NULL));
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_SEALED);
    TEST_OK(say(sealed, NULL)); // once more, from a stale generation's point of view
    expect_broken("no open lease");
    close_peer();
}

static void what_is_out_of_turn_breaks_the_peer(void)
{
    static const struct {
        corral_message message;
        const char *text;
    } cases[] = {
        {{.kind = CORRAL_MESSAGE_REPLY, .tag = 3}, "nobody made"},
        {{.kind = CORRAL_MESSAGE_READY}, "out of turn"},
        {{.kind = CORRAL_MESSAGE_LEASE}, "out of turn"},
        {{.kind = CORRAL_MESSAGE_EXITED}, "out of turn"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_peer();
        TEST_OK(say(cases[i].message, NULL));
        expect_broken(cases[i].text);
        close_peer();
    }
    open_peer();
    CU_ASSERT_EQUAL_FATAL(send(actor, "short", 5, 0), 5);
    expect_broken("shorter than its header");
    close_peer();
}

static void foreign_incarnations_are_dropped(void)
{
    open_peer();
    corral_peer_event event;
    corral_message sealed = sealed_of(lease(5));
    sealed.incarnation = incarnation - 1;
    for (int i = 0; i < 150; i++)
        TEST_OK(say(sealed, NULL));
    TEST_OK(say((corral_message){.kind = CORRAL_MESSAGE_PONG}, NULL));
    for (int i = 0; i < 4; i++) // bounded work per call, and never an event
        CU_ASSERT_EQUAL(corral_peer_receive(peer, &event), CORRAL_ERROR_EMPTY);
    sealed.incarnation = incarnation;
    TEST_OK(say(sealed, NULL));
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_SEALED);
    close_peer();
}

static void errors_and_the_end_are_told_in_order(void)
{
    open_peer();
    const corral_message first = lease(1);
    TEST_OK(corral_peer_lease(peer, 2, NULL, 0)); // never read by the actor
    TEST_OK(say(sealed_of(first), NULL));
    TEST_OK(
        say((corral_message){.kind = CORRAL_MESSAGE_ERROR, .code = CORRAL_ERROR_ENVIRONMENT}, "no way out"));
    shutdown(actor, SHUT_RDWR);
    corral_peer_event event;
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_SEALED);
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_PEER_ERROR);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_ENVIRONMENT);
    CU_ASSERT_STRING_EQUAL((const char *)event.data, "no way out");
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL(event.kind, CORRAL_PEER_LOST);
    close_peer();
}

static void calls_are_answered(void)
{
    open_peer();
    corral_message call;
    corral_peer_event event;
    TEST_OK(corral_peer_call(peer, 30, 4, "arguments", 9));
    TEST_OK(corral_message_receive(actor, &call, tail, sizeof tail, NULL, 0));
    CU_ASSERT_EQUAL(call.kind, CORRAL_MESSAGE_CALL);
    CU_ASSERT_EQUAL(call.code, 4);
    TEST_OK(say((corral_message){.kind = CORRAL_MESSAGE_REPLY, .tag = 30, .code = CORRAL_ERROR_UNSUPPORTED},
                "no"));
    TEST_OK(corral_peer_receive(peer, &event));
    CU_ASSERT_EQUAL_FATAL(event.kind, CORRAL_PEER_REPLY);
    CU_ASSERT_EQUAL(event.tag, 30);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_UNSUPPORTED);
    CU_ASSERT_EQUAL(event.length, 2);
    close_peer();
}

// An actor that is busy while a hundred thousand sets of weights are published: nothing blocks and nothing is
// lost but what has been replaced.
static void weights_are_merged_when_the_socket_is_full(void)
{
    open_peer();
    corral_board board;
    TEST_OK(corral_board_create(8, &board));
    TEST_FAILS(corral_peer_weights(peer, &board), CORRAL_ERROR_EMPTY, "published");
    lease(8);
    for (uint64_t version = 1; version <= 100000; version++) {
        TEST_OK(corral_board_publish(&board, version, &version, sizeof version));
        TEST_OK(corral_peer_weights(peer, &board));
    }
    TEST_FAILS(corral_peer_lease(peer, 1, NULL, 0), CORRAL_ERROR_FULL, "does not take");
    corral_message message = {0};
    uint64_t newest = 0;
    while (corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0) == CORRAL_OK)
        newest = message.version;
    CU_ASSERT_TRUE(newest > 0 && newest < 100000);
    TEST_OK(corral_peer_lease(peer, 1, NULL, 0));
    TEST_OK(corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0));
    CU_ASSERT_EQUAL(message.kind, CORRAL_MESSAGE_WEIGHTS);
    CU_ASSERT_EQUAL(message.version, 100000);
    TEST_OK(corral_message_receive(actor, &message, tail, sizeof tail, NULL, 0));
    CU_ASSERT_EQUAL(message.kind, CORRAL_MESSAGE_LEASE);
    corral_board_finish(&board);
    close_peer();
}

static void beacons_are_read_with_care(void)
{
    open_peer();
    corral_beacon *beacon = segment.data;
    char text[256];
    corral_peer_beacon(peer, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "");
    snprintf(beacon->text, sizeof beacon->text, "stepping environments %%0 to %%1, step %%2%%");
    atomic_store(&beacon->word[1], 3);
    atomic_store(&beacon->word[2], UINT64_MAX);
    corral_peer_beacon(peer, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "stepping environments 0 to 3, step 18446744073709551615%");
    corral_peer_beacon(peer, text, 38);
    CU_ASSERT_STRING_EQUAL(text, "stepping environments 0 to 3, step 18");
    snprintf(beacon->text, sizeof beacon->text, "a\nb\033[2J");
    corral_peer_beacon(peer, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "a?b?[2J");
    memset(beacon->text, 'x', sizeof beacon->text); // no end
    corral_peer_beacon(peer, text, sizeof text);
    CU_ASSERT_EQUAL(strlen(text), sizeof beacon->text);
    close_peer();
}

static void a_segment_of_another_size_is_refused(void)
{
    int sockets[2];
    TEST_OK(corral_segment_create("test", corral_actor_segment_size(BLOCK, BLOCKS), &segment));
    TEST_OK(corral_message_pair(sockets));
    corral_peer_config config = config_for(sockets[0]);
    config.block_count = BLOCKS + 1;
    TEST_FAILS(corral_peer_open(&config, &peer), CORRAL_ERROR_INVALID, "4 blocks of 1000 need");
    corral_message message; // both descriptors have been taken over and closed
    CU_ASSERT_EQUAL(corral_message_receive(sockets[1], &message, NULL, 0, NULL, 0), CORRAL_ERROR_LOST);
    close(sockets[1]);
    corral_segment_finish(&segment);
    CU_ASSERT_EQUAL(corral_actor_segment_size(SIZE_MAX, 1), 0);
    CU_ASSERT_EQUAL(corral_actor_segment_size(SIZE_MAX / 2, 3), 0);
}

int main(void)
{
    return test_run(
        "peer", (test_case[]){{"an honest exchange", an_honest_exchange},
                              {"blocks run out and come back", blocks_run_out_and_come_back},
                              {"lies about blocks break the peer", lies_about_blocks_break_the_peer},
                              {"a block is sealed once", a_block_is_sealed_once},
                              {"what is out of turn breaks the peer", what_is_out_of_turn_breaks_the_peer},
                              {"foreign incarnations are dropped", foreign_incarnations_are_dropped},
                              {"errors and the end are told in order", errors_and_the_end_are_told_in_order},
                              {"calls are answered", calls_are_answered},
                              {"weights are merged when the socket is full",
                               weights_are_merged_when_the_socket_is_full},
                              {"beacons are read with care", beacons_are_read_with_care},
                              {"a segment of another size is refused", a_segment_of_another_size_is_refused},
                              {NULL, NULL}});
}
