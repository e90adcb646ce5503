// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The pixel games: what their frames show, and that they are games. Scripted players see frames alone, as an
// agent does, and score far above chance and far below what is possible.

#include "corral/base/rng.h"
#include "corral/envs/batch.h"
#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <stdbool.h>

enum { SIDE = 42, COUNT = 16 };

typedef uint8_t frame[SIDE][SIDE];

/// What a player remembers of an environment.
typedef struct memory {
    int ball_x, ball_y;
    bool fresh;
} memory;

typedef int32_t player(const frame *f, memory *m, uint64_t chance);

typedef struct rig {
    corral_env_batch *batch;
    frame observation[COUNT], final[COUNT];
    int32_t action[COUNT];
    double reward[COUNT];
    uint8_t terminated[COUNT], truncated[COUNT], failed[COUNT];
    corral_episode ended[COUNT];
    uint32_t ended_row[COUNT];
} rig;

/// The mean return of `episodes` episodes.
static double mean_return(const char *id, player *decide, uint32_t episodes, uint64_t seed)
{
    static rig r;
    memory m[COUNT] = {{0}};
    corral_env_batch_config config = {
        .count = COUNT, .run_seed = seed, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    TEST_OK(corral_env_find(id, &config.type));
    TEST_OK(corral_env_batch_create(&config, &r.batch));
    const corral_env_rows action = {r.action, sizeof r.action[0]},
                          observation = {r.observation, sizeof(frame)};
    corral_env_batch_step step = {.observation = &observation,
                                  .reward = r.reward,
                                  .terminated = r.terminated,
                                  .truncated = r.truncated,
                                  .ended = r.ended,
                                  .ended_row = r.ended_row,
                                  .failed = r.failed};
    TEST_OK(corral_env_batch_reset(r.batch, &observation));
    for (int i = 0; i < COUNT; i++)
        m[i].fresh = true;
    double sum = 0;
    uint32_t played = 0;
    for (uint64_t t = 0; played < episodes; t++) {
        for (int i = 0; i < COUNT; i++)
            r.action[i] = decide(&r.observation[i], &m[i], corral_stream_u64((uint64_t)i, t));
        TEST_OK(corral_env_batch_step_all(r.batch, &action, &step));
        for (uint32_t k = 0; k < step.ended_count; k++) {
            sum += r.ended[k].episode_return;
            m[r.ended_row[k]].fresh = true;
            played++;
        }
    }
    corral_env_batch_destroy(r.batch);
    return sum / played;
}

static int32_t any_of_three(const frame *f, memory *m, uint64_t chance)
{
    (void)f, (void)m;
    return (int32_t)(chance % 3);
}

static int32_t any_of_five(const frame *f, memory *m, uint64_t chance)
{
    (void)f, (void)m;
    return (int32_t)(chance % 5);
}

// --- Bricks

static void find_ball(const frame *f, int *out_x, int *out_y)
{
    *out_x = *out_y = -1;
    for (int y = SIDE - 1; y >= 0; y--)
        for (int x = SIDE - 1; x >= 0; x--)
            if ((*f)[y][x] == 255) *out_x = x, *out_y = y;
}

/// Goes where the ball comes down, straight lines and mirrors.
static int32_t play_bricks(const frame *f, memory *m, uint64_t chance)
{
    int x, y, paddle = 0;
    find_ball(f, &x, &y);
    while (paddle < SIDE - 1 && (*f)[40][paddle] != 200)
        paddle++;
    const int last_x = m->ball_x, last_y = m->ball_y;
    *m = (memory){x, y, false};
    int target = x;
    if (!m->fresh && y > last_y && y - last_y < 6) {
        target = x + (x - last_x) * (38 - y) / (y - last_y);
        while (target < 0 || target > SIDE - 2)
            target = target < 0 ? -target : 2 * (SIDE - 2) - target;
    }
    const int middle = paddle + 3 + (int)(chance % 3) - 1;
    return target < middle - 1 ? 0 : target > middle + 1 ? 2 : 1;
}

static void bricks_is_a_game(void)
{
    const double chance = mean_return("Bricks-v0", any_of_three, 200, 1);
    const double scripted = mean_return("Bricks-v0", play_bricks, 100, 1);
    printf("(by chance %.2f, scripted %.2f) ", chance, scripted);
    CU_ASSERT_TRUE(chance < 3);
    CU_ASSERT_TRUE(scripted > 20);
}

// --- Chase

enum { CELLS = 14, CELL = 3 };

static uint8_t cell_value(const frame *f, int row, int column)
{
    if (row < 0 || row >= CELLS || column < 0 || column >= CELLS) return 60; // as a pillar
    return (*f)[row * CELL + 1][column * CELL + 1];
}

static const int rows[5] = {0, -1, 0, 1, 0}, columns[5] = {0, 0, 1, 0, -1};

static bool is_near_hunter(const frame *f, int row, int column)
{
    bool near = false;
    for (int move = 0; move < 5; move++)
        near |= cell_value(f, row + rows[move], column + columns[move]) == 120;
    return near;
}

/// The first move of the shortest way to the gold that keeps away from hunters; else away from the danger.
static int32_t play_chase(const frame *f, memory *m, uint64_t chance)
{
    (void)m;
    int queue[CELLS * CELLS], first[CELLS * CELLS], head = 0, tail = 0;
    bool seen[CELLS * CELLS] = {false};
    for (int cell = 0; cell < CELLS * CELLS; cell++)
        if (cell_value(f, cell / CELLS, cell % CELLS) == 255)
            queue[tail++] = cell, first[cell] = 0, seen[cell] = true;
    while (head < tail) {
        const int cell = queue[head++];
        if (cell_value(f, cell / CELLS, cell % CELLS) == 180) return first[cell];
        for (int move = 1; move < 5; move++) {
            const int row = cell / CELLS + rows[move], column = cell % CELLS + columns[move];
            const int next = row * CELLS + column;
            if (cell_value(f, row, column) == 60 || seen[next] || is_near_hunter(f, row, column)) continue;
            seen[next] = true;
            first[next] = head == 1 ? move : first[cell];
            queue[tail++] = next;
        }
    }
    return tail > 1 ? first[queue[1 + chance % (uint64_t)(tail - 1)]] : (int32_t)(1 + chance % 4);
}

static void chase_is_a_game(void)
{
    const double chance = mean_return("Chase-v0", any_of_five, 200, 1);
    const double scripted = mean_return("Chase-v0", play_chase, 100, 1);
    printf("(by chance %.2f, scripted %.2f) ", chance, scripted);
    CU_ASSERT_TRUE(chance < 1);
    CU_ASSERT_TRUE(scripted > 8);
}

// --- both

static void frames_stack_and_shrink(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find("Bricks-v0+resize=21+frame_stack=4", &type));
    const corral_space *space = type->spaces.observation;
    CU_ASSERT_EQUAL(space->dimension_count, 3);
    CU_ASSERT_TRUE(space->shape[0] == 4 && space->shape[1] == 21 && space->shape[2] == 21);
    CU_ASSERT_EQUAL(space->dtype, CORRAL_SPACE_U8);
}

static void the_examiner_is_content(void)
{
    static const char *const names[] = {"Bricks-v0", "Chase-v0",
                                        "Chase-v0+max_and_skip=2+resize=14+frame_stack=2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(names[i], &type));
        corral_examine_config config = corral_examine_config_default(type);
        config.leak_steps = 2000;
        corral_examine_report report;
        TEST_OK(corral_env_examine(&config, &report));
        for (uint32_t k = 0; k < report.count; k++)
            if (report.result[k].verdict == CORRAL_VERDICT_FAILED)
                fprintf(stderr, "%s: %s: %s\n", names[i], report.result[k].rule, report.result[k].sentence);
        CU_ASSERT_EQUAL(report.failed, 0);
    }
}

/// States are checked: one that would draw outside of the frame is refused.
static void damaged_states_are_refused(void)
{
    static const char *const names[] = {"Bricks-v0", "Chase-v0"};
    for (int i = 0; i < 2; i++) {
        static rig r;
        corral_env_batch_config config = {.count = 1, .run_seed = 1, .max_episode_steps = -1};
        TEST_OK(corral_env_find(names[i], &config.type));
        TEST_OK(corral_env_batch_create(&config, &r.batch));
        const corral_env_rows observation = {r.observation, sizeof(frame)};
        TEST_OK(corral_env_batch_reset(r.batch, &observation));
        const size_t size = corral_env_batch_state_size(r.batch);
        uint8_t *state = calloc(1, size);
        corral_env_batch_save(r.batch, 0, state);
        const corral_env_state *extension = corral_env_extension(config.type, CORRAL_ENV_STATE);
        memset(state + size - extension->state_size, 0xee, extension->state_size);
        TEST_FAILS(corral_env_batch_load(r.batch, state, size, &observation), CORRAL_ERROR_CORRUPT,
                   "no state of this game");
        free(state);
        corral_env_batch_destroy(r.batch);
    }
}

int main(void)
{
    return test_run("games", (test_case[]){{"Bricks is a game", bricks_is_a_game},
                                           {"Chase is a game", chase_is_a_game},
                                           {"frames stack and shrink", frames_stack_and_shrink},
                                           {"damaged states are refused", damaged_states_are_refused},
                                           {"the examiner is content", the_examiner_is_content},
                                           {NULL, NULL}});
}
