// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Steps of a batch through the host, by the clock and by processor time, with that of the processes below us:
//
//     corral_gym_bench NAME COUNT SECONDS     prints {"steps_per_second": ..., "steps_per_cpu_second": ...}
//
// Actions are drawn beforehand, so that what is measured is the environments and the way to them.

#include "corral/base/clock.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TABLE = 64 };

static double own_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double seconds_of(int process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    const size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    unsigned long user = 0, system = 0;
    const char *behind = strrchr(text, ')');
    if (behind != NULL)
        sscanf(behind + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double all_seconds(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    double sum = own_seconds();
    FILE *file = fopen(path, "r");
    int process;
    while (file != NULL && fscanf(file, "%d", &process) == 1)
        sum += seconds_of(process);
    if (file != NULL) fclose(file);
    return sum;
}

static void stop(void)
{
    fprintf(stderr, "corral_gym_bench: %s\n", corral_last_error());
    exit(1);
}

static void *memory(size_t size)
{
    void *block = calloc(1, size);
    if (block == NULL) exit(1);
    return block;
}

static const corral_env_rows *make_rows(const corral_space *leaves, uint32_t count, uint32_t environments)
{
    corral_env_rows *rows = memory(count * sizeof *rows);
    for (uint32_t k = 0; k < count; k++)
        rows[k] = (corral_env_rows){memory(environments * corral_space_bytes(&leaves[k])),
                                    corral_space_bytes(&leaves[k])};
    return rows;
}

int main(int argc, char **argv)
{
    const corral_env_type *type;
    if (argc != 4) return 2;
    if (corral_env_find(argv[1], &type) != CORRAL_OK) stop();
    const uint32_t count = (uint32_t)atoi(argv[2]);
    const corral_env_batch_config config = {
        .type = type, .count = count, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    corral_env_batch *batch;
    const corral_env_rows *observation =
        make_rows(type->spaces.observation, type->spaces.observation_count, count);
    const corral_env_rows *final = make_rows(type->spaces.observation, type->spaces.observation_count, count);
    corral_env_batch_step step = {.observation = observation,
                                  .final_observation = final,
                                  .reward = memory(count * sizeof(double)),
                                  .terminated = memory(count),
                                  .truncated = memory(count),
                                  .ended = memory(count * sizeof(corral_episode)),
                                  .ended_row = memory(count * sizeof(uint32_t)),
                                  .failed = memory(count)};
    int32_t *actions = memory((size_t)TABLE * count * sizeof *actions);
    for (uint32_t i = 0; i < TABLE * count; i++)
        actions[i] = (int32_t)(corral_stream_u64(1, i) % (uint64_t)type->spaces.action->n);
    if (corral_env_batch_create(&config, &batch) != CORRAL_OK) stop();
    if (corral_env_batch_reset(batch, observation) != CORRAL_OK) stop();

    uint64_t rounds = 0;
    const int64_t begun = corral_now_ns(), limit = (int64_t)(atof(argv[3]) * 1e9);
    const double used = all_seconds();
    while (corral_now_ns() - begun < limit) {
        const corral_env_rows action = {actions + rounds % TABLE * count, sizeof *actions};
        if (corral_env_batch_step_all(batch, &action, &step) != CORRAL_OK) stop();
        rounds++;
    }
    const double steps = (double)rounds * count, seconds = (double)(corral_now_ns() - begun) * 1e-9;
    printf("{\"steps_per_second\": %.0f, \"steps_per_cpu_second\": %.0f}\n", steps / seconds,
           steps / (all_seconds() - used));
    return 0;
}
