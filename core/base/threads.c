// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The indices are cut into one contiguous share per thread. A thread takes from its own share first, so that
/// loop after loop it finds its data in its own cache, and then from the shares of others. What it has done
/// it adds to one counter, `done`:
///
///     run       task, context, count, done = 0; each share's left; round + 1; wake sleepers; work; wait
///     work      while a share's left can be decremented: call the task; then done += what this thread has
///     called wait      until done == count
///
/// A thread that holds no index is not waited for. So a member that sleeps, or that the system has put
/// aside because the cores are busy with something else, costs the caller nothing: the others do its share.
/// A successful decrement is a claim on the *current* loop even when the thread has looked at `left` ages
/// ago, because a loop cannot end, nor its fields change, before each claimed index is in `done`.
///
/// Between loops a member spins on `round` for a few tens of microseconds and then sleeps on it as a futex.
/// With more members than cores, spinning would take the core from those who have work: then nobody spins.
#include "corral/base/threads.h"

#include "corral/base/clock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPIN_NS = 30000, PAUSES_PER_LOOK = 8, THREADS_MAX = 1024 };

typedef void team_task(void *context, size_t index, unsigned thread);

typedef struct team_member {
    corral_team *team;
    unsigned thread;
    pthread_t handle;
} team_member;

/// What is left of one thread's share. All may take from it.
typedef struct team_share {
    alignas(64) atomic_size_t left;
} team_share;

struct corral_team {
    // Written by the caller between loops.
    alignas(64) team_task *task;
    void *context;
    size_t count;
    // What all threads fight for, each on a cache line of its own.
    alignas(64) atomic_size_t done;
    alignas(64) _Atomic uint32_t round; // futex of the members
    alignas(64) _Atomic uint32_t sleepers;
    _Atomic uint32_t caller_sleeps; // futex of the caller
    atomic_bool stop;

    alignas(64) unsigned thread_count;
    unsigned started; // threads to join
    int64_t spin_ns;
    bool running;
    team_member *members;
    team_share *shares; // [thread_count]
};

static void futex_wait(_Atomic uint32_t *word, uint32_t expected)
{
    // Comes back at once when the word has changed, and may come back for no reason: callers look again.
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

/// Looks at `is_over` until it holds or the time is up; tells which.
static bool spin(const corral_team *team, bool (*is_over)(const corral_team *team, uint32_t seen),
                 uint32_t seen)
{
    if (is_over(team, seen)) return true;
    if (team->spin_ns == 0) return false;
    const int64_t end = corral_now_ns() + team->spin_ns;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            pause_briefly();
            if (is_over(team, seen)) return true;
        }
    } while (corral_now_ns() < end);
    return false;
}

static bool round_changed(const corral_team *team, uint32_t seen)
{
    return atomic_load_explicit(&team->round, memory_order_acquire) != seen;
}

static bool loop_done(const corral_team *team, uint32_t unused)
{
    (void)unused;
    return atomic_load_explicit(&team->done, memory_order_acquire) == team->count;
}

/// The first index of a share; shares may be empty.
static size_t share_begin(size_t count, unsigned share, unsigned threads)
{
    return count * share / threads;
}

// Takes one index of a share of the current loop. False when none is left.
static bool claim_from(corral_team *team, unsigned share, size_t *out_index)
{
    atomic_size_t *counter = &team->shares[share].left;
    size_t left = atomic_load_explicit(counter, memory_order_relaxed);
    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(counter, &left, left - 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            *out_index = share_begin(team->count, share + 1, team->thread_count) - left;
            return true;
        }
    }
    return false;
}

static bool claim(corral_team *team, unsigned thread, size_t *out_index)
{
    for (unsigned i = 0; i < team->thread_count; i++)
        if (claim_from(team, (thread + i) % team->thread_count, out_index)) return true;
    return false;
}

static void work(corral_team *team, unsigned thread)
{
    size_t index = 0, called = 0, count = 0;
    while (claim(team, thread, &index)) {
        count = team->count;
        team->task(team->context, index, thread);
        called++;
    }
    if (called == 0) return;
    // From here on the loop may end, and another one begin, at any moment.
    const size_t before = atomic_fetch_add(&team->done, called);
    if (before + called == count && atomic_exchange(&team->caller_sleeps, 0) != 0)
        futex_wake(&team->caller_sleeps, 1);
}

// The member says that it sleeps before it looks at the round for the last time (the kernel looks), and the
// caller changes the round before it asks for sleepers: one of the two sees the other.
static void sleep_until_round_changes(corral_team *team, uint32_t seen)
{
    atomic_fetch_add(&team->sleepers, 1);
    while (atomic_load(&team->round) == seen)
        futex_wait(&team->round, seen);
    atomic_fetch_sub(&team->sleepers, 1);
}

static void *member_main(void *argument)
{
    const team_member *member = argument;
    corral_team *team = member->team;
    uint32_t seen = 0;
    for (;;) {
        if (!spin(team, round_changed, seen)) sleep_until_round_changes(team, seen);
        seen = atomic_load_explicit(&team->round, memory_order_acquire);
        if (atomic_load(&team->stop)) return NULL;
        work(team, member->thread);
    }
}

static void begin_round(corral_team *team, size_t useful)
{
    atomic_fetch_add(&team->round, 1);
    if (atomic_load(&team->sleepers) > 0)
        futex_wake(&team->round, useful < THREADS_MAX ? (int)useful : THREADS_MAX);
}

static void wait_for_members(corral_team *team)
{
    if (spin(team, loop_done, 0)) return;
    for (;;) {
        atomic_store(&team->caller_sleeps, 1);
        if (atomic_load(&team->done) == team->count) break;
        futex_wait(&team->caller_sleeps, 1);
    }
    atomic_store(&team->caller_sleeps, 0);
}

void corral_team_run(corral_team *team, size_t count,
                     void (*task)(void *context, size_t index, unsigned thread), void *context)
{
    if (team->thread_count == 1 || count <= 1) {
        for (size_t i = 0; i < count; i++)
            task(context, i, 0);
        return;
    }
    CORRAL_ASSERT(!team->running);
    team->running = true;
    team->task = task;
    team->context = context;
    team->count = count;
    atomic_store_explicit(&team->done, 0, memory_order_relaxed);
    for (unsigned i = 0; i < team->thread_count; i++) {
        const size_t begin = share_begin(count, i, team->thread_count);
        atomic_store_explicit(&team->shares[i].left, share_begin(count, i + 1, team->thread_count) - begin,
                              memory_order_release);
    }
    begin_round(team, count - 1);
    work(team, 0);
    wait_for_members(team);
    team->running = false;
}

// A thread inherits the mask of the one that starts it.
corral_status corral_thread_start(pthread_t *out_thread, void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    int error = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (error != 0)
        return corral_fail_errno(CORRAL_ERROR_INVALID, error, "cannot block signals for a thread");
    error = pthread_create(out_thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0 ? CORRAL_OK : corral_fail_errno(CORRAL_ERROR_NO_MEMORY, error, "cannot start a thread");
}

static corral_status start_members(corral_team *team)
{
    team->members = calloc(team->thread_count, sizeof *team->members);
    if (team->members == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a team of threads");
    corral_status status = CORRAL_OK;
    for (unsigned i = 0; i + 1 < team->thread_count && status == CORRAL_OK; i++) {
        team_member *member = &team->members[i];
        *member = (team_member){.team = team, .thread = i + 1};
        status = corral_thread_start(&member->handle, member_main, member);
        if (status == CORRAL_OK) team->started++;
    }
    return corral_fail_within(status, "thread %u of a team of %u", team->started + 2, team->thread_count);
}

corral_status corral_team_create(unsigned thread_count, corral_team **out_team)
{
    if (thread_count < 1 || thread_count > THREADS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a team of %u threads: ask for 1 to %d", thread_count,
                           THREADS_MAX);
    corral_team *team = aligned_alloc(alignof(corral_team), sizeof *team);
    if (team == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a team of threads");
    *team = (corral_team){.thread_count = thread_count};
    if (thread_count <= corral_available_cores()) team->spin_ns = SPIN_NS;

    team->shares = aligned_alloc(alignof(team_share), thread_count * sizeof *team->shares);
    corral_status status = CORRAL_OK;
    if (team->shares == NULL) status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a team of threads");
    for (unsigned i = 0; i < thread_count && status == CORRAL_OK; i++)
        atomic_init(&team->shares[i].left, 0);
    if (status == CORRAL_OK) status = start_members(team);
    if (status != CORRAL_OK) {
        corral_team_destroy(team);
        return status;
    }
    *out_team = team;
    return CORRAL_OK;
}

unsigned corral_team_size(const corral_team *team)
{
    return team->thread_count;
}

void corral_team_destroy(corral_team *team)
{
    if (team == NULL) return;
    atomic_store(&team->stop, true);
    begin_round(team, THREADS_MAX);
    for (unsigned i = 0; i < team->started; i++)
        pthread_join(team->members[i].handle, NULL);
    free(team->members);
    free(team->shares);
    free(team);
}
