// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Runs a grid: block after block, and in a block thread after thread. Threads that meet are coroutines. Each
// runs until it waits or ends; when none can run, the barriers that all have come to are opened. Where none
// has been, the kernel would hang, and the program ends with a sentence.
//
// CORRAL_SHIM_ORDER=reverse runs blocks and threads from the last to the first. A kernel that lacks a
// barrier, or whose sums depend on who comes first, gives other results then.

#include "shim_private.h"

#include "coroutine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024, WARP = 32 };

struct shim_place threadIdx, blockIdx, blockDim, gridDim;

typedef enum thread_state { RUNS, AT_BLOCK, AT_WARP, ENDED } thread_state;

typedef struct thread {
    coroutine *routine;
    struct shim_place place;
    thread_state state;
    unsigned turn; // which of the two slots its next exchange uses
} thread;

static thread threads[MOST_THREADS];
static uint64_t slots[2][MOST_THREADS];
static unsigned current; // the thread that runs
static bool together;    // may it wait?
static const char *kernel_name;

/// A grid as it is recorded: this, and the closure behind it.
typedef struct grid_job {
    const char *kernel;
    struct shim_place blocks, threads;
    bool together;
    void (*call)(const void *closure);
    _Alignas(16) unsigned char closure[512];
} grid_job;

static void stop(const char *what)
{
    fprintf(stderr, "shim: %s: %s\n", kernel_name, what);
    abort();
}

// --- what a kernel calls ----------------------------------------------------------------------------------

static void await(thread_state where)
{
    if (!together) stop("a thread waits for others, but was launched alone; use LAUNCH_TOGETHER");
    thread *self = &threads[current];
    self->state = where;
    coroutine_yield(self->routine);
}

void __syncthreads(void)
{
    await(AT_BLOCK);
}

unsigned shim_lane(void)
{
    return current % WARP;
}

/// Two slots in turn: who comes to the exchange after next has passed the next one, which all came to only
/// when they had read this one.
uint64_t shim_exchange(uint64_t bits, unsigned source)
{
    thread *self = &threads[current];
    const unsigned turn = self->turn;
    self->turn = 1 - turn;
    slots[turn][current] = bits;
    await(AT_WARP);
    return slots[turn][current / WARP * WARP + source];
}

// --- a block ----------------------------------------------------------------------------------------------

static bool reversed(void)
{
    const char *order = getenv("CORRAL_SHIM_ORDER");
    return order != NULL && strcmp(order, "reverse") == 0;
}

static unsigned in_order(unsigned i, unsigned count, bool backwards)
{
    return backwards ? count - 1 - i : i;
}

static struct shim_place place_at(unsigned index, struct shim_place size)
{
    return (struct shim_place){index % size.x, index / size.x % size.y, index / size.x / size.y};
}

static void run_thread(void *argument)
{
    const grid_job *job = argument;
    job->call(job->closure);
    threads[current].state = ENDED;
}

/// Opens the barriers of `count` neighbouring threads if all that still live have come there.
static bool open_barrier(unsigned first, unsigned count, thread_state where)
{
    bool any = false;
    for (unsigned i = first; i < first + count; i++) {
        if (threads[i].state == RUNS) return false;
        if (threads[i].state != ENDED && threads[i].state != where) return false;
        any = any || threads[i].state == where;
    }
    for (unsigned i = first; any && i < first + count; i++)
        if (threads[i].state == where) threads[i].state = RUNS;
    return any;
}

static bool open_barriers(unsigned count)
{
    bool opened = open_barrier(0, count, AT_BLOCK);
    for (unsigned first = 0; first < count; first += WARP)
        opened |= open_barrier(first, count - first < WARP ? count - first : WARP, AT_WARP);
    return opened;
}

static bool all_ended(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (threads[i].state != ENDED) return false;
    return true;
}

static void start_threads(const grid_job *job, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        thread *t = &threads[i];
        if (t->routine == NULL) t->routine = coroutine_create();
        if (t->routine == NULL) stop("no memory for its threads");
        t->place = place_at(i, job->threads);
        t->state = RUNS;
        t->turn = 0;
        coroutine_start(t->routine, run_thread, (void *)(uintptr_t)job);
    }
}

static void run_block_together(const grid_job *job, unsigned count, bool backwards)
{
    start_threads(job, count);
    do {
        for (unsigned i = 0; i < count; i++) {
            current = in_order(i, count, backwards);
            if (threads[current].state != RUNS) continue;
            threadIdx = threads[current].place;
            coroutine_resume(threads[current].routine);
        }
        if (all_ended(count)) return;
    } while (open_barriers(count));
    stop("its threads wait at different places, for ever");
}

static void run_block_alone(const grid_job *job, unsigned count, bool backwards)
{
    for (unsigned i = 0; i < count; i++) {
        current = in_order(i, count, backwards);
        threadIdx = place_at(current, job->threads);
        job->call(job->closure);
    }
}

// --- a grid -----------------------------------------------------------------------------------------------

static void run_grid(const void *argument)
{
    const grid_job *job = argument;
    const unsigned blocks = job->blocks.x * job->blocks.y * job->blocks.z;
    const unsigned count = job->threads.x * job->threads.y * job->threads.z;
    const bool backwards = reversed();
    kernel_name = job->kernel;
    together = job->together;
    blockDim = job->threads;
    gridDim = job->blocks;
    if (blocks == 0 || count == 0 || count > MOST_THREADS || job->blocks.y > 65535 || job->blocks.z > 65535)
        stop("a GPU would refuse this grid");
    for (unsigned b = 0; b < blocks; b++) {
        blockIdx = place_at(in_order(b, blocks, backwards), job->blocks);
        if (together)
            run_block_together(job, count, backwards);
        else
            run_block_alone(job, count, backwards);
    }
}

void shim_submit_grid(corral_stream *stream, const char *kernel, struct shim_place blocks,
                      struct shim_place threads_of_block, bool may_wait, void (*call)(const void *closure),
                      const void *closure, size_t size)
{
    grid_job job = {
        .kernel = kernel, .blocks = blocks, .threads = threads_of_block, .together = may_wait, .call = call};
    kernel_name = kernel;
    if (size > sizeof job.closure) stop("its arguments are too many");
    memcpy(job.closure, closure, size);
    shim_submit(stream, run_grid, &job, sizeof job);
}

void shim_grid_finish(void)
{
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        coroutine_destroy(threads[i].routine);
        threads[i].routine = NULL;
    }
}
