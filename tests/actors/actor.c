// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A real actor in a process of its own: leases, weights and their order, calls, and how it ends.
#include "test.h"

#include "rig.h"
#include "test_worker.h"

#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 5000, BLOCK = 8192, BLOCKS = 3, WEIGHTS = 1000 };

static test_rig rig;
static rig_actor actor;

static void start_with(const char *class_name, const char *config)
{
    const rig_actor_config actor_config = {class_name, config, BLOCK, BLOCKS, 7};
    TEST_OK(rig_start(&rig));
    TEST_OK(rig_start_actor(&rig, &actor_config, &actor));
}

static corral_peer_event next(corral_peer_event_kind kind)
{
    corral_peer_event event = {0};
    TEST_OK(rig_next(actor.peer, 10 * CORRAL_SECOND, &event));
    if (event.kind != kind && event.kind == CORRAL_PEER_ERROR)
        fprintf(stderr, "%s\n", (const char *)event.data);
    CU_ASSERT_EQUAL_FATAL(event.kind, kind);
    return event;
}

static void start(void)
{
    start_with("fill", "config");
    next(CORRAL_PEER_READY);
}

static void expect_exit(int code)
{
    corral_spawner_exit ended;
    TEST_OK(rig_await_exit(rig.spawner, 5 * CORRAL_SECOND, &ended));
    CU_ASSERT_EQUAL(ended.pid, actor.pid);
    CU_ASSERT_TRUE(WIFEXITED(ended.status));
    CU_ASSERT_EQUAL(WEXITSTATUS(ended.status), code);
}

static void stop(void)
{
    corral_peer_close(actor.peer);
    expect_exit(0);
    rig_stop(&rig);
}

static void lease(uint64_t seed, uint64_t sleep_ms)
{
    const test_request request = {.seed = seed, .length = LENGTH, .sleep_ms = sleep_ms};
    TEST_OK(corral_peer_lease(actor.peer, seed, &request, sizeof request));
}

static void publish(uint64_t version)
{
    static uint64_t words[WEIGHTS];
    for (size_t i = 0; i < WEIGHTS; i++)
        words[i] = version * 3;
    TEST_OK(corral_board_publish(&rig.board, version, words, sizeof words));
}

static void announce(void)
{
    TEST_OK(corral_peer_weights(actor.peer, &rig.board));
}

// Takes the next block, checks all of it, gives it back.
static test_fragment take(uint64_t seed)
{
    const corral_peer_event event = next(CORRAL_PEER_SEALED);
    CU_ASSERT_EQUAL(event.tag, seed);
    CU_ASSERT_EQUAL_FATAL(event.length, sizeof(test_fragment) + LENGTH);
    CU_ASSERT_EQUAL((uintptr_t)event.data % 64, 0);
    test_fragment header;
    memcpy(&header, event.data, sizeof header);
    const unsigned char *pattern = (const unsigned char *)event.data + sizeof header;
    size_t wrong = 0;
    for (uint64_t i = 0; i < LENGTH; i++)
        wrong += pattern[i] != test_pattern(seed, i);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(header.seed, seed);
    CU_ASSERT_EQUAL(header.torn, 0);
    corral_peer_release(actor.peer, event.block);
    return header;
}

// --- filling ----------------------------------------------------------------------------------------------

static void blocks_are_filled_in_shared_memory(void)
{
    start();
    for (uint64_t i = 0; i < BLOCKS; i++)
        lease(i, 0);
    TEST_FAILS(corral_peer_lease(actor.peer, 9, NULL, 0), CORRAL_ERROR_FULL, "all 3 blocks");
    for (uint64_t i = 0; i < BLOCKS; i++) {
        const test_fragment fragment = take(i);
        CU_ASSERT_EQUAL(fragment.index, 2);
        CU_ASSERT_EQUAL(fragment.count, 5);
        CU_ASSERT_EQUAL(fragment.incarnation, 7);
        CU_ASSERT_EQUAL(fragment.version, 0);
    }
    stop();
}

// Resident pages of a process.
static long resident(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    long total = 0, pages = 0;
    const int read = file != NULL ? fscanf(file, "%ld %ld", &total, &pages) : 0;
    if (file != NULL) fclose(file);
    return read == 2 ? pages : -1;
}

static void cycle(uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        if (i % 10 == 0) {
            publish(i + 1);
            announce();
        }
        lease(i, 0);
        take(i);
    }
}

static void memory_does_not_grow(void)
{
    start();
    cycle(0, 1000);
    const long worker_before = resident(actor.pid), own_before = resident(getpid());
    cycle(1000, 11000);
    CU_ASSERT_TRUE(worker_before > 0 && own_before > 0);
    CU_ASSERT_TRUE(resident(actor.pid) - worker_before <
                   256); // a MiB in pages; a leak of 128 bytes each is more
    CU_ASSERT_TRUE(resident(getpid()) - own_before < 256);
    stop();
}

// --- weights ----------------------------------------------------------------------------------------------

static void a_lease_has_the_weights_announced_before_it(void)
{
    start();
    for (uint64_t version = 1; version <= 200; version++) {
        publish(version);
        announce();
        lease(version, 0);
        const test_fragment fragment = take(version);
        CU_ASSERT_EQUAL(fragment.version, version);
        CU_ASSERT_EQUAL(fragment.weight, 3 * version);
    }
    stop();
}

static void signal_and_await(int number, char state)
{
    char path[64], now = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)actor.pid);
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, number));
    for (int i = 0; i < 5000 && now != state; i++) {
        corral_sleep_ns(CORRAL_MILLISECOND);
        FILE *file = fopen(path, "re");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        if (fscanf(file, "%*d %*s %c", &now) != 1) now = 0;
        fclose(file);
    }
    CU_ASSERT_EQUAL_FATAL(now, state);
}

// While the actor sleeps, nine sets go by: twice around the board. The slots that the first announcements
// name have been overwritten. Each lease gets the newest all the same, also the one that was granted before
// most of them.
static void overtaken_weights_are_replaced_by_newer_ones(void)
{
    start();
    signal_and_await(SIGSTOP, 'T');
    for (uint64_t version = 1; version <= 9; version++) {
        publish(version);
        announce();
        if (version == 2 || version == 7) lease(version, 0);
    }
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, SIGCONT));
    const test_fragment first = take(2), second = take(7);
    CU_ASSERT_EQUAL(first.version, 9);
    CU_ASSERT_EQUAL(second.version, 9);
    CU_ASSERT_EQUAL(second.weight, 27);
    CU_ASSERT_EQUAL(second.weight_sets, 1); // what went by was not copied
    stop();
}

// Weights that come after a lease which is not yet begun are taken for it: no fragment is older than it must
// be.
static void a_waiting_lease_gets_weights_that_come_later(void)
{
    start();
    publish(1);
    announce();
    signal_and_await(SIGSTOP, 'T');
    lease(1, 0);
    publish(2);
    announce();
    TEST_OK(corral_spawner_signal(rig.spawner, actor.pid, SIGCONT));
    CU_ASSERT_EQUAL(take(1).version, 2);
    stop();
}

// A full socket and no lease open: no event would come to try again after, so the lease itself waits for
// room.
static void a_flood_of_weights_leaves_room_for_a_lease(void)
{
    start();
    for (uint64_t version = 1; version <= 20000; version++) {
        TEST_OK(corral_board_publish(&rig.board, version, &version, sizeof version));
        announce();
    }
    lease(1, 0);
    CU_ASSERT_EQUAL(take(1).version, 20000);
    stop();
}

// --- calls ------------------------------------------------------------------------------------------------

static void calls_are_answered_in_order(void)
{
    start();
    static char longest[CORRAL_MESSAGE_TAIL_MAX];
    memset(longest, 'l', sizeof longest);
    TEST_OK(corral_peer_call(actor.peer, 1, TEST_CALL_ECHO, longest, sizeof longest));
    corral_peer_event event = next(CORRAL_PEER_REPLY);
    CU_ASSERT_EQUAL(event.tag, 1);
    CU_ASSERT_EQUAL_FATAL(event.length, sizeof longest);
    CU_ASSERT_EQUAL(memcmp(event.data, longest, sizeof longest), 0);
    for (uint64_t tag = 2; tag < 50; tag++)
        TEST_OK(corral_peer_call(actor.peer, tag, TEST_CALL_ECHO, &tag, sizeof tag));
    for (uint64_t tag = 2; tag < 50; tag++) {
        event = next(CORRAL_PEER_REPLY);
        CU_ASSERT_EQUAL(event.tag, tag);
        CU_ASSERT_EQUAL(memcmp(event.data, &tag, sizeof tag), 0);
    }
    stop();
}

static void a_class_without_calls_says_so(void)
{
    start_with("crash", "");
    next(CORRAL_PEER_READY);
    TEST_OK(corral_peer_call(actor.peer, 1, TEST_CALL_ECHO, NULL, 0));
    const corral_peer_event event = next(CORRAL_PEER_REPLY);
    CU_ASSERT_EQUAL(event.status, CORRAL_ERROR_UNSUPPORTED);
    stop();
}

static void an_actor_has_six_descriptors(void)
{
    start();
    TEST_OK(corral_peer_call(actor.peer, 1, TEST_CALL_FDS, NULL, 0));
    const corral_peer_event event = next(CORRAL_PEER_REPLY);
    CU_ASSERT_EQUAL(event.length, 12);
    for (int fd = '0'; fd <= '5'; fd++)
        CU_ASSERT_PTR_NOT_NULL(memchr(event.data, fd, event.length));
    stop();
}

// --- ends -------------------------------------------------------------------------------------------------

static void expect_error(corral_status status, const char *text)
{
    const corral_peer_event event = next(CORRAL_PEER_ERROR);
    CU_ASSERT_EQUAL(event.status, status);
    if (strstr(event.data, text) == NULL)
        fprintf(stderr, "\"%s\" lacks \"%s\"\n", (const char *)event.data, text);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.data, text));
    next(CORRAL_PEER_LOST);
    expect_exit(1);
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

static void failures_come_with_their_sentence(void)
{
    start_with("fill", "refuse");
    expect_error(CORRAL_ERROR_INFEASIBLE, "says \"refuse\"");

    start_with("juggle", "");
    expect_error(CORRAL_ERROR_NOT_FOUND, "no actor class \"juggle\"");

    start();
    const test_request request = {.length = BLOCK};
    TEST_OK(corral_peer_lease(actor.peer, 1, &request, sizeof request));
    // One more stays unread, if it still gets through: the sentence must come all the same.
    const corral_status unread = corral_peer_lease(actor.peer, 2, &request, sizeof request);
    CU_ASSERT_TRUE(unread == CORRAL_OK || unread == CORRAL_ERROR_LOST);
    expect_error(CORRAL_ERROR_FULL, "8192 bytes do not fit");

    start();
    TEST_OK(corral_peer_call(actor.peer, 1, TEST_CALL_FAIL, NULL, 0));
    expect_error(CORRAL_ERROR_NOT_FOUND, "always fails");
}

// A consumer that dies says nothing: end-of-file, also in the middle of a lease.
static void end_of_file_ends_the_actor(void)
{
    start();
    lease(1, 50);
    lease(2, 50);
    shutdown(corral_peer_fd(actor.peer), SHUT_RDWR);
    expect_exit(0);
    corral_peer_close(actor.peer);
    rig_stop(&rig);
}

int main(void)
{
    return test_run(
        "actor",
        (test_case[]){
            {"blocks are filled in shared memory", blocks_are_filled_in_shared_memory},
            {"memory does not grow", memory_does_not_grow},
            {"a lease has the weights announced before it", a_lease_has_the_weights_announced_before_it},
            {"overtaken weights are replaced by newer ones", overtaken_weights_are_replaced_by_newer_ones},
            {"a waiting lease gets weights that come later", a_waiting_lease_gets_weights_that_come_later},
            {"a flood of weights leaves room for a lease", a_flood_of_weights_leaves_room_for_a_lease},
            {"calls are answered in order", calls_are_answered_in_order},
            {"a class without calls says so", a_class_without_calls_says_so},
            {"an actor has six descriptors", an_actor_has_six_descriptors},
            {"failures come with their sentence", failures_come_with_their_sentence},
            {"end-of-file ends the actor", end_of_file_ends_the_actor},
            {NULL, NULL}});
}
