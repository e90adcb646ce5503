// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/threads.h"

#include "corral/base/clock.h"

#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

enum { COUNT_MAX = 300 };

typedef struct tally {
    unsigned calls[COUNT_MAX]; // plain on purpose: the team must order them
    unsigned thread_count;
    atomic_uint wrong_threads;
} tally;

static void tally_one(void *context, size_t index, unsigned thread)
{
    tally *t = context;
    t->calls[index]++;
    if (thread >= t->thread_count) atomic_fetch_add(&t->wrong_threads, 1);
}

static void check_team(unsigned thread_count, unsigned rounds)
{
    static const size_t counts[] = {0, 1, 2, 3, 7, 64, COUNT_MAX};
    enum { COUNTS = sizeof counts / sizeof counts[0] };
    corral_team *team = NULL;
    TEST_OK(corral_team_create(thread_count, &team));
    CU_ASSERT_EQUAL(corral_team_size(team), thread_count);
    tally t = {.thread_count = thread_count};
    unsigned expected[COUNT_MAX] = {0};
    for (unsigned round = 0; round < rounds; round++) {
        const size_t count = counts[round % COUNTS];
        corral_team_run(team, count, tally_one, &t);
        for (size_t i = 0; i < count; i++)
            expected[i]++;
    }
    corral_team_destroy(team);
    CU_ASSERT_EQUAL(memcmp(t.calls, expected, sizeof expected), 0);
    CU_ASSERT_EQUAL(atomic_load(&t.wrong_threads), 0);
}

static void each_index_is_called_once(void)
{
    check_team(1, 700);
    check_team(2, 7000);
    check_team(3, 3500); // more threads than many machines have cores
    check_team(9, 1400);
}

// After a pause the team sleeps on its futex and has to be woken.
static void a_sleeping_team_wakes(void)
{
    corral_team *team = NULL;
    TEST_OK(corral_team_create(3, &team));
    tally t = {.thread_count = 3};
    for (int round = 0; round < 20; round++) {
        corral_sleep_ns(CORRAL_MILLISECOND);
        corral_team_run(team, 8, tally_one, &t);
    }
    corral_team_destroy(team);
    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(t.calls[i], 20);
}

static void sleep_a_little(void *context, size_t index, unsigned thread)
{
    (void)index;
    corral_sleep_ns(10 * CORRAL_MILLISECOND);
    ((unsigned *)context)[thread]++;
}

// Tasks that sleep need no core, so that two threads halve the time on any machine.
static void the_work_is_shared(void)
{
    corral_team *team = NULL;
    TEST_OK(corral_team_create(2, &team));
    unsigned calls[2] = {0};
    corral_team_run(team, 20, sleep_a_little, calls);
    corral_team_destroy(team);
    CU_ASSERT_EQUAL(calls[0] + calls[1], 20);
    CU_ASSERT_TRUE(calls[0] >= 3 && calls[1] >= 3);
}

static void note_mask(void *context, size_t index, unsigned thread)
{
    (void)index;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (thread > 0 && !sigismember(&mask, SIGTERM)) atomic_fetch_add((atomic_uint *)context, 1);
    corral_sleep_ns(CORRAL_MILLISECOND);
}

static void members_block_signals_and_the_caller_does_not(void)
{
    corral_team *team = NULL;
    TEST_OK(corral_team_create(3, &team));
    atomic_uint open_to_signals = 0;
    corral_team_run(team, 12, note_mask, &open_to_signals);
    corral_team_destroy(team);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CU_ASSERT_FALSE(sigismember(&mask, SIGTERM));
    CU_ASSERT_EQUAL(atomic_load(&open_to_signals), 0);
}

static void teams_come_and_go(void)
{
    for (int i = 0; i < 100; i++) {
        corral_team *team = NULL;
        TEST_OK(corral_team_create(4, &team));
        corral_team_destroy(team);
    }
    corral_team_destroy(NULL);
    corral_team *team = NULL;
    TEST_FAILS(corral_team_create(0, &team), CORRAL_ERROR_INVALID, "a team of 0 threads");
    CU_ASSERT_TRUE(corral_available_cores() >= 1);
}

int main(void)
{
    return test_run("threads",
                    (test_case[]){{"each index is called once", each_index_is_called_once},
                                  {"a sleeping team wakes", a_sleeping_team_wakes},
                                  {"the work is shared", the_work_is_shared},
                                  {"members block signals", members_block_signals_and_the_caller_does_not},
                                  {"teams come and go", teams_come_and_go},
                                  {NULL, NULL}});
}
