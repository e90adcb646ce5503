// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "replay_internal.h"

#include "corral/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRAWN_TOGETHER = 64 };

// Where in a stream a row that has to be drawn again is drawn from, and its number of steps.
static const uint64_t stream_again = UINT64_C(1) << 32, stream_steps = UINT64_C(1) << 62;

static const float least_error = 1e-6f; // so that a row without any error is still drawn now and then

// --- life -------------------------------------------------------------------------------------------------

/// The rows of one ring: an environment's share, one for the observation after its newest step, and in any
/// case the longest horizon.
static size_t ring_rows_of(const replay_config *config)
{
    const size_t share = config->capacity / config->envs + (config->capacity % config->envs != 0) + 1;
    return share > (size_t)config->n_step_max + 2 ? share : (size_t)config->n_step_max + 2;
}

size_t replay_bytes(const replay_config *config)
{
    const size_t row = config->observation_bytes + sizeof(replay_note);
    size_t rows, bytes;
    if (__builtin_mul_overflow(ring_rows_of(config), (size_t)config->envs, &rows) || rows > UINT32_MAX ||
        __builtin_mul_overflow(rows, row, &bytes))
        return SIZE_MAX;
    const size_t rest = config->envs * sizeof(replay_ring) + (config->alpha > 0 ? sum_tree_bytes(rows) : 0);
    return bytes < SIZE_MAX - rest ? bytes + rest : SIZE_MAX;
}

size_t replay_rows_within(const replay_config *config, size_t bytes)
{
    size_t low = 0, high = config->capacity; // the largest count that fits lies in low .. high
    while (low < high) {
        replay_config tried = *config;
        tried.capacity = high - (high - low) / 2;
        if (replay_bytes(&tried) <= bytes)
            low = tried.capacity;
        else
            high = tried.capacity - 1;
    }
    return low;
}

/// The kernel promises more memory than there is; a run should not find out in the middle.
static corral_status check_bytes(const replay_config *config)
{
    const size_t bytes = replay_bytes(config);
    const double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if ((double)bytes <= machine) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NO_MEMORY,
                       "a replay of %zu rows takes %.3g GB, this machine has %.3g; lower dqn.buffer_size",
                       config->capacity, (double)bytes * 1e-9, machine * 1e-9);
}

static corral_status allocate(replay *r)
{
    const size_t rows = (size_t)r->ring_rows * r->config.envs;
    r->ring = calloc(r->config.envs, sizeof *r->ring);
    r->observation = calloc(rows, r->config.observation_bytes);
    r->note = calloc(rows, sizeof *r->note);
    if (r->ring == NULL || r->observation == NULL || r->note == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY,
                           "no memory for a replay of %zu rows; lower dqn.buffer_size", r->config.capacity);
    return r->config.alpha > 0 ? sum_tree_init(&r->priority, rows) : CORRAL_OK;
}

corral_status replay_create(const replay_config *config, replay **out_replay)
{
    CORRAL_ASSERT(config->capacity > 0 && config->n_step_min > 0 && config->n_step_min <= config->n_step_max);
    corral_status status = check_bytes(config);
    if (status != CORRAL_OK) return status;
    replay *r = calloc(1, sizeof *r);
    if (r == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a replay");
    r->config = *config;
    r->ring_rows = (uint32_t)ring_rows_of(config);
    replay_set_largest_error(r, 1);
    status = allocate(r);
    if (status != CORRAL_OK) {
        replay_destroy(r);
        return status;
    }
    *out_replay = r;
    return CORRAL_OK;
}

void replay_destroy(replay *r)
{
    if (r == NULL) return;
    sum_tree_finish(&r->priority);
    free(r->ring);
    free(r->observation);
    free(r->note);
    free(r);
}

size_t replay_size(const replay *r)
{
    return replay_bytes(&r->config);
}

size_t replay_capacity(const replay *r)
{
    return r->config.capacity;
}

size_t replay_count(const replay *r)
{
    return r->count;
}

rate_limiter *replay_limiter(replay *r)
{
    return &r->limiter;
}

static double priority_of(const replay *r, float error)
{
    return (double)powf(error, (float)r->config.alpha);
}

void replay_set_largest_error(replay *r, double error)
{
    r->largest_error = error;
    r->new_priority = priority_of(r, (float)error);
}

// --- filling ----------------------------------------------------------------------------------------------

static char *observation_of(const replay *r, size_t row)
{
    return r->observation + row * r->config.observation_bytes;
}

static void make_ready(replay *r, size_t row)
{
    r->note[row].flags |= ROW_READY;
    r->count++;
    if (r->config.alpha > 0) sum_tree_set(&r->priority, row, r->new_priority);
}

/// Empties a row for something new. It is the oldest of its ring, so no other row's horizon reaches it.
static void clear(replay *r, size_t row)
{
    if ((r->note[row].flags & ROW_READY) != 0) {
        r->count--;
        if (r->config.alpha > 0) sum_tree_set(&r->priority, row, 0);
    }
    r->note[row].flags = 0;
}

/// The next row becomes the newest one and holds an observation.
static void append_observation(replay *r, replay_ring *ring, size_t base, const void *observation)
{
    if (ring->used > 0) ring->newest = ring->newest + 1 == r->ring_rows ? 0 : ring->newest + 1;
    if (ring->used < r->ring_rows) ring->used++;
    if (ring->used > r->most_used) r->most_used = ring->used;
    clear(r, base + ring->newest);
    memcpy(observation_of(r, base + ring->newest), observation, r->config.observation_bytes);
}

/// Makes the steps that wait ready, the oldest first, until `left` of them wait.
static void release(replay *r, replay_ring *ring, size_t base, uint32_t left)
{
    for (; ring->waiting > left; ring->waiting--) {
        const uint32_t back = ring->waiting, at = ring->newest;
        make_ready(r, base + (at >= back ? at - back : at + r->ring_rows - back));
    }
}

void replay_push(replay *r, uint32_t environment, const replay_step *step)
{
    CORRAL_ASSERT(environment < r->config.envs);
    replay_ring *ring = &r->ring[environment];
    const size_t base = (size_t)environment * r->ring_rows;
    // What goes on from the newest row is its step. Another episode, or an environment that could not save
    // its state and began anew somewhere else, takes a row of its own.
    const bool goes_on =
        ring->used > 0 && !ring->closed &&
        memcmp(observation_of(r, base + ring->newest), step->observation, r->config.observation_bytes) == 0;
    if (!goes_on) {
        ring->waiting = 0;
        append_observation(r, ring, base, step->observation);
    }
    const uint32_t flags = (step->terminated ? ROW_TERMINATED : 0u) | (step->truncated ? ROW_TRUNCATED : 0u);
    r->note[base + ring->newest] = (replay_note){step->action, step->reward, flags};
    append_observation(r, ring, base, step->next);
    ring->waiting++;
    ring->closed = flags != 0;
    r->limiter.inserts++;
    release(r, ring, base, flags != 0 ? 0 : r->config.n_step_max - 1);
}

void replay_forget(replay *r, uint32_t environment)
{
    r->ring[environment].waiting = 0;
    r->ring[environment].closed = 1;
}

// --- drawing ----------------------------------------------------------------------------------------------

replay_transition replay_at(const replay *r, const replay_draw *draw)
{
    const size_t base = draw->row - draw->row % r->ring_rows;
    size_t at = draw->row;
    double reward = 0, discount = 1;
    uint32_t flags = 0;
    for (uint32_t k = 0; k < draw->steps && flags == 0; k++) {
        const replay_note *note = &r->note[at];
        reward += discount * (double)note->reward;
        discount *= r->config.gamma;
        flags = note->flags & (ROW_TERMINATED | ROW_TRUNCATED);
        at = at + 1 == base + r->ring_rows ? base : at + 1;
    }
    return (replay_transition){
        .observation = observation_of(r, draw->row),
        .next = observation_of(r, at),
        .action = r->note[draw->row].action,
        .reward = (float)reward,
        .discount = (flags & ROW_TERMINATED) != 0 ? 0.0f : (float)discount,
    };
}

/// The total is cut into as many equal parts as rows are drawn, and each part gives one: with less chance in
/// it than free draws have, and as many of each row on average.
static void draw_by_priority(const replay *r, uint64_t key, size_t first, size_t count, size_t all,
                             uint32_t *out_rows)
{
    double mass[DRAWN_TOGETHER];
    const double part = sum_tree_total(&r->priority) / (double)all;
    for (size_t i = 0; i < count; i++)
        mass[i] = ((double)(first + i) + corral_stream_double(key, first + i)) * part;
    sum_tree_find(&r->priority, count, mass, out_rows);
}

/// Rows that hold no step, or one whose horizon is not there yet, are drawn again.
static void draw_alike(const replay *r, uint64_t key, size_t first, size_t count, uint32_t *out_rows)
{
    const uint64_t places = (uint64_t)r->most_used * r->config.envs;
    for (size_t i = 0; i < count; i++) {
        size_t row;
        uint64_t counter = first + i;
        do {
            // The high 32 bits over less than 2^32 places: the bias is below 2^-32.
            const uint64_t place = (corral_stream_u64(key, counter) >> 32) * places >> 32;
            row = place / r->most_used * r->ring_rows + place % r->most_used;
            counter += stream_again;
        } while ((r->note[row].flags & ROW_READY) == 0);
        out_rows[i] = (uint32_t)row;
    }
}

static uint32_t draw_steps(const replay *r, uint64_t key, uint64_t counter)
{
    const uint32_t low = r->config.n_step_min, choices = r->config.n_step_max - low + 1;
    if (choices == 1) return low;
    return low + (uint32_t)((corral_stream_u64(key, stream_steps + counter) >> 32) * choices >> 32);
}

/// Not yet divided by the largest. Each is worked out while the rows' memory is on its way.
static void weigh(const replay *r, size_t count, double beta, replay_draw *draws, float *largest)
{
    const double scale = (double)r->count / sum_tree_total(&r->priority);
    for (size_t i = 0; i < count; i++) {
        const double chance = scale * sum_tree_get(&r->priority, draws[i].row);
        draws[i].weight = powf((float)chance, -(float)beta);
        *largest = fmaxf(*largest, draws[i].weight);
    }
}

void replay_sample(replay *r, uint64_t key, size_t count, double beta, replay_draw *out_draws)
{
    CORRAL_ASSERT(r->count > 0);
    const bool prioritised = r->config.alpha > 0;
    float largest = 0;
    if (prioritised) sum_tree_settle(&r->priority);
    for (size_t first = 0; first < count; first += DRAWN_TOGETHER) {
        const size_t block = count - first < DRAWN_TOGETHER ? count - first : DRAWN_TOGETHER;
        uint32_t rows[DRAWN_TOGETHER];
        if (prioritised)
            draw_by_priority(r, key, first, block, count, rows);
        else
            draw_alike(r, key, first, block, rows);
        for (size_t i = 0; i < block; i++) {
            __builtin_prefetch(&r->note[rows[i]]);
            __builtin_prefetch(observation_of(r, rows[i]));
            out_draws[first + i] = (replay_draw){rows[i], draw_steps(r, key, first + i), 1};
        }
        if (prioritised) weigh(r, block, beta, out_draws + first, &largest);
    }
    for (size_t i = 0; prioritised && i < count; i++)
        out_draws[i].weight /= largest;
    r->limiter.samples += (int64_t)count;
}

void replay_tell_errors(replay *r, const replay_draw *draws, const float *errors, size_t count)
{
    if (!(r->config.alpha > 0)) return;
    for (size_t i = 0; i < count; i++) {
        const float error = fabsf(errors[i]) + least_error;
        if (!isfinite(error)) continue;
        if ((double)error > r->largest_error) replay_set_largest_error(r, (double)error);
        sum_tree_set(&r->priority, draws[i].row, priority_of(r, error));
    }
}
