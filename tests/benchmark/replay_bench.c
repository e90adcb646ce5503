// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral_replay_bench [ROWS [SECONDS]]: rows per second into and out of a replay of CartPole's observations,
/// on one core.
#include "replay/replay.h"

#include "corral/base/clock.h"
#include "corral/base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVS = 8, WIDTH = 4, EPISODE = 200, ROUND = 64 };

static uint64_t pushed;

/// A round of steps of each environment, as an iteration puts them in.
static void push_round(replay *r)
{
    for (uint32_t e = 0; e < ENVS; e++) {
        for (uint64_t t = pushed; t < pushed + ROUND; t++) {
            const float observation[WIDTH] = {(float)t, (float)e, 1, 2},
                        next[WIDTH] = {(float)(t + 1), (float)e, 1, 2};
            const replay_step step = {.observation = observation,
                                      .action = (int32_t)(t & 1),
                                      .reward = 1,
                                      .terminated = t % EPISODE == EPISODE - 1,
                                      .next = next};
            replay_push(r, e, &step);
        }
    }
    pushed += ROUND;
}

static double per_second(uint64_t count, int64_t start)
{
    return (double)count / ((double)(corral_now_ns() - start) * 1e-9);
}

static double measure_inserts(replay *r, double seconds)
{
    const int64_t start = corral_now_ns();
    uint64_t count = 0;
    while ((double)(corral_now_ns() - start) * 1e-9 < seconds) {
        for (int i = 0; i < 100; i++)
            push_round(r);
        count += 100 * ROUND * ENVS;
    }
    return per_second(count, start);
}

/// Draws minibatches and reads what is learned from them; where `told`, tells errors back as an update does.
static double measure_samples(replay *r, size_t minibatch, bool told, double seconds)
{
    static float observation[1024][WIDTH], next[1024][WIDTH], error[1024];
    static replay_draw draws[1024];
    const int64_t start = corral_now_ns();
    uint64_t count = 0, key = 0;
    volatile float sink = 0;
    while ((double)(corral_now_ns() - start) * 1e-9 < seconds) {
        for (int k = 0; k < 64; k++) {
            replay_sample(r, corral_stream_key(1, CORRAL_STREAM_REPLAY, key++), minibatch, 0.4, draws);
            for (size_t i = 0; i < minibatch; i++) {
                const replay_transition t = replay_at(r, &draws[i]);
                memcpy(observation[i], t.observation, sizeof observation[i]);
                memcpy(next[i], t.next, sizeof next[i]);
                error[i] = corral_stream_float(key, i) + t.reward * t.discount;
            }
            if (told) replay_tell_errors(r, draws, error, minibatch);
            sink = observation[0][0] + next[minibatch - 1][0];
        }
        count += 64 * minibatch;
    }
    (void)sink;
    return per_second(count, start);
}

int main(int argc, char **argv)
{
    const size_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    for (int prioritised = 1; prioritised >= 0; prioritised--) {
        const replay_config config = {.capacity = rows,
                                      .observation_bytes = WIDTH * sizeof(float),
                                      .envs = ENVS,
                                      .n_step_min = 3,
                                      .n_step_max = 3,
                                      .gamma = 0.99,
                                      .alpha = prioritised ? 0.6 : 0};
        replay *r;
        if (rows == 0 || replay_create(&config, &r) != CORRAL_OK) {
            fprintf(stderr, "replay_bench: %s\n", rows == 0 ? "ROWS is not a number" : corral_last_error());
            return 2;
        }
        while (pushed < 2 * rows / ENVS)
            push_round(r);
        printf("%s, %zu rows, 3 steps\n", prioritised ? "prioritised" : "all alike", rows);
        printf("  inserts/s                        %10.0f\n", measure_inserts(r, seconds));
        printf("  samples/s, minibatches of 64     %10.0f\n", measure_samples(r, 64, false, seconds));
        printf("  samples/s, minibatches of 512    %10.0f\n", measure_samples(r, 512, false, seconds));
        if (prioritised)
            printf("  samples/s, their errors told too %10.0f\n", measure_samples(r, 512, true, seconds));
        replay_destroy(r);
        pushed = 0;
    }
    return 0;
}
