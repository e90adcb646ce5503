// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The host against Gymnasium's recorded vector environment: three CartPoles with a limit of 20 steps, 60
// steps.
//
// Under SameStep its rows are ours. Under NextStep it puts a row between episodes that no step made: without
// those rows its steps are ours too, and what it shows in a last step is our final observation.
//
// Gymnasium seeds the first episode only and then goes on with the same generator. Our host seeds every
// episode, so a type in between takes the first seed (42, 43, 44 by environment) and then goes on likewise.

#include "golden.h"
#include "rig.h"

static corral_env_type relayed;
static const corral_env_type *cartpole;

typedef struct relay {
    void *batch;
    uint32_t count, first;
    corral_env_rng rng[3];
    bool seeded[3];
} relay;

static uint32_t next_first; // number of environment 0 of the batch that is created next

static int32_t relay_create(const corral_env_host *host, uint32_t count, const double *values,
                            void **out_batch)
{
    relay *y = calloc(1, sizeof *y);
    if (y == NULL) return 1;
    y->count = count;
    y->first = next_first;
    *out_batch = y;
    return cartpole->batch->create(host, count, values, &y->batch);
}

static void relay_destroy(void *batch)
{
    relay *y = batch;
    cartpole->batch->destroy(y->batch);
    free(y);
}

static int32_t relay_reset(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    relay *y = batch;
    const corral_env_host *host = corral_env_host_default();
    const corral_env_state *state = cartpole->extension(CORRAL_ENV_STATE);
    if (cartpole->batch->reset(y->batch, mask, seed, out) != 0) return 1;
    for (uint32_t i = 0; i < y->count; i++) {
        if (!mask[i]) continue;
        if (!y->seeded[i]) host->rng_seed(&y->rng[i], 42 + y->first + i);
        y->seeded[i] = true;
        double fresh[5] = {0};
        float *row = (float *)out->observation->data + i * RIG_WIDTH;
        for (int k = 0; k < 4; k++)
            row[k] = (float)(fresh[k] = host->rng_uniform(&y->rng[i], -0.05, 0.05));
        state->load(y->batch, i, fresh);
    }
    return 0;
}

static int32_t relay_step(void *batch, const corral_env_step *io)
{
    return cartpole->batch->step(((relay *)batch)->batch, io);
}

static void open_relayed(rig *r, uint32_t first, uint32_t count)
{
    static const corral_env_batch_functions functions = {relay_create, relay_destroy, relay_reset,
                                                         relay_step};
    corral_env_batch_config config = rig_config("CartPole-v1", count);
    cartpole = config.type;
    relayed = *cartpole;
    relayed.batch = &functions;
    config.type = &relayed;
    config.max_episode_steps = 20;
    next_first = first;
    rig_open(r, &config);
}

static bool row_equals(const float *row, const cJSON *golden)
{
    double want[4] = {0};
    golden_numbers(golden, want, 4);
    bool same = true;
    for (int k = 0; k < 4; k++)
        same = same && same_double(row[k], want[k]);
    return same;
}

static bool flag(const cJSON *step, const char *name, int row)
{
    return cJSON_IsTrue(cJSON_GetArrayItem(golden_at(step, name), row));
}

static const cJSON *mode(const cJSON *golden, const char *name)
{
    return golden_at(golden_at(golden, "modes"), name);
}

static bool ended(const cJSON *step, int row)
{
    return flag(step, "terminated", row) || flag(step, "truncated", row);
}

static void same_step_rows_are_ours(void)
{
    rig r;
    open_relayed(&r, 0, 3);
    cJSON *golden = golden_read("vector_autoreset.json");
    const cJSON *recorded = mode(golden, "SameStep"), *step;
    for (int i = 0; i < 3; i++)
        CU_ASSERT_TRUE(row_equals(r.observation[i], cJSON_GetArrayItem(golden_at(recorded, "reset_obs"), i)));
    uint32_t ends = 0;
    cJSON_ArrayForEach(step, golden_at(recorded, "steps"))
    {
        for (int i = 0; i < 3; i++)
            r.action[i] = cJSON_GetArrayItem(golden_at(step, "action"), i)->valueint;
        rig_step(&r);
        uint32_t k = 0;
        for (int i = 0; i < 3; i++) {
            CU_ASSERT_TRUE(row_equals(r.observation[i], cJSON_GetArrayItem(golden_at(step, "obs"), i)));
            CU_ASSERT_EQUAL(r.reward[i], golden_number(cJSON_GetArrayItem(golden_at(step, "reward"), i)));
            CU_ASSERT_EQUAL(r.terminated[i], flag(step, "terminated", i));
            CU_ASSERT_EQUAL(r.truncated[i], flag(step, "truncated", i));
            if (!ended(step, i)) continue;
            const cJSON *last = golden_at(golden_at(step, "info"), "final_obs");
            CU_ASSERT_EQUAL(r.ended_row[k], (uint32_t)i);
            CU_ASSERT_TRUE(row_equals(r.final[k], cJSON_GetArrayItem(last, i)));
            k++;
        }
        CU_ASSERT_EQUAL(r.step.ended_count, k);
        ends += k;
    }
    CU_ASSERT_TRUE(ends > 6);
    cJSON_Delete(golden);
    rig_close(&r);
}

static void next_step_rows_without_resets_are_ours(void)
{
    cJSON *golden = golden_read("vector_autoreset.json");
    for (int i = 0; i < 3; i++) {
        rig r;
        open_relayed(&r, (uint32_t)i, 1);
        bool between = false; // the recorded step after an end only resets
        int steps = 0, resets = 0;
        const cJSON *step;
        cJSON_ArrayForEach(step, golden_at(mode(golden, "NextStep"), "steps"))
        {
            const cJSON *observation = cJSON_GetArrayItem(golden_at(step, "obs"), i);
            if (between) {
                CU_ASSERT_TRUE(row_equals(r.observation[0], observation));
                between = false;
                resets++;
                continue;
            }
            r.action[0] = cJSON_GetArrayItem(golden_at(step, "action"), i)->valueint;
            rig_step(&r);
            steps++;
            between = ended(step, i);
            CU_ASSERT_TRUE(row_equals(between ? r.final[0] : r.observation[0], observation));
            CU_ASSERT_EQUAL(r.step.ended_count, between);
            CU_ASSERT_EQUAL(r.terminated[0], flag(step, "terminated", i));
            CU_ASSERT_EQUAL(r.truncated[0], flag(step, "truncated", i));
        }
        CU_ASSERT_EQUAL(steps + resets, 60);
        CU_ASSERT_TRUE(resets >= 2);
        rig_close(&r);
    }
    cJSON_Delete(golden);
}

int main(void)
{
    return test_run("autoreset", (test_case[]){{"SameStep rows are ours", same_step_rows_are_ours},
                                               {"NextStep rows without resets are ours",
                                                next_step_rows_without_resets_are_ours},
                                               {NULL, NULL}});
}
