// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Bricks: a paddle keeps a ball in play that breaks a wall, a point for each brick. Where the ball meets the
// paddle decides how it goes on, so aiming pays: the last bricks of a wall are far apart. A cleared wall is
// built again. The episode ends when the ball is missed.
//
// One frame does not show where the ball is going; two do (frame_stack). All chance is in the serve.

#include "bricks.h"

#include "../builtin.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LEFT, STAY, RIGHT, ACTIONS };
enum { PADDLE_WIDTH, PADDLE_SPEED, SETTINGS };
enum {
    HALF = 2, // half pixels in a pixel
    RIGHT_END = (FRAME_SIDE - BALL_SIDE) * HALF,
    PADDLE_TOP = (PADDLE_ROW - BALL_SIDE) * HALF, // where the ball lies on the paddle
    LOST = FRAME_SIDE * HALF,
    FALL_SPEED = 3,
    SLANT_MAX = 4,
    ALL_COLUMNS = (1 << BRICK_COLUMNS) - 1,
    BALL_VALUE = 255,
    PADDLE_VALUE = 200,
};

// --- rules

static void build_wall(bricks_game *g)
{
    memset(g->wall, ALL_COLUMNS, sizeof g->wall);
}

static void move_paddle(const bricks_settings *s, bricks_game *g, int32_t action)
{
    const int last = FRAME_SIDE - (int)s->paddle_width;
    int place = g->paddle + (action - STAY) * (int)s->paddle_speed;
    place = place < 0 ? 0 : place > last ? last : place;
    g->paddle = (int16_t)place;
}

static void bounce_off_sides(bricks_game *g)
{
    if (g->ball_x < 0) {
        g->ball_x = (int16_t)-g->ball_x;
        g->speed_x = (int16_t)-g->speed_x;
    } else if (g->ball_x > RIGHT_END) {
        g->ball_x = (int16_t)(2 * RIGHT_END - g->ball_x);
        g->speed_x = (int16_t)-g->speed_x;
    }
    if (g->ball_y < 0) {
        g->ball_y = (int16_t)-g->ball_y;
        g->speed_y = (int16_t)-g->speed_y;
    }
}

/// Breaks at most one brick, of those that the ball's foremost pixels touch.
static bool hit_wall(bricks_game *g)
{
    const int y = g->ball_y / HALF + (g->speed_y > 0 ? BALL_SIDE - 1 : 0),
              row = (y - BRICK_TOP) / BRICK_HEIGHT;
    if (y < BRICK_TOP || row >= BRICK_ROWS) return false;
    for (int edge = 0; edge < BALL_SIDE; edge++) {
        const int column = (g->ball_x / HALF + edge) / BRICK_WIDTH;
        if (!(g->wall[row] >> column & 1)) continue;
        g->wall[row] &= (uint8_t) ~(1 << column);
        g->speed_y = (int16_t)-g->speed_y;
        return true;
    }
    return false;
}

/// The farther from the paddle's middle the ball is met, the flatter it flies.
static void meet_paddle(const bricks_settings *s, bricks_game *g)
{
    if (g->speed_y < 0 || g->ball_y < PADDLE_TOP || g->ball_y >= PADDLE_TOP + 2 * FALL_SPEED) return;
    const int width = (int)s->paddle_width, ball = g->ball_x / HALF;
    if (ball + BALL_SIDE <= g->paddle || ball >= g->paddle + width) return;
    const int off = 2 * ball + BALL_SIDE - (2 * g->paddle + width); // half pixels from middle to middle
    int slant = off * SLANT_MAX / width;
    if (slant == 0) slant = g->speed_x < 0 ? -1 : 1;
    g->speed_x = (int16_t)(slant < -SLANT_MAX ? -SLANT_MAX : slant > SLANT_MAX ? SLANT_MAX : slant);
    g->speed_y = -FALL_SPEED;
    g->ball_y = PADDLE_TOP;
}

static bool wall_is_gone(const bricks_game *g)
{
    uint8_t any = 0;
    for (int row = 0; row < BRICK_ROWS; row++)
        any |= g->wall[row];
    return any == 0;
}

static double play(const bricks_settings *s, bricks_game *g, int32_t action)
{
    move_paddle(s, g, action);
    g->ball_x = (int16_t)(g->ball_x + g->speed_x);
    g->ball_y = (int16_t)(g->ball_y + g->speed_y);
    bounce_off_sides(g);
    const bool hit = hit_wall(g);
    meet_paddle(s, g);
    const bool back_at_paddle =
        g->speed_y < 0 && g->ball_y == PADDLE_TOP; // not while the ball would be walled in
    if (back_at_paddle && wall_is_gone(g)) build_wall(g);
    return hit;
}

static void draw_frame(const bricks_settings *s, const bricks_game *g, uint8_t *frame)
{
    memset(frame, 0, FRAME_BYTES);
    for (int row = 0; row < BRICK_ROWS; row++)
        for (int column = 0; column < BRICK_COLUMNS; column++)
            if (g->wall[row] >> column & 1)
                frame_rectangle(frame, column * BRICK_WIDTH, BRICK_TOP + row * BRICK_HEIGHT, BRICK_WIDTH - 1,
                                BRICK_HEIGHT, (uint8_t)(150 - 12 * row));
    frame_rectangle(frame, g->paddle, PADDLE_ROW, (int)s->paddle_width, 1, PADDLE_VALUE);
    const int y = g->ball_y / HALF, height = y + BALL_SIDE > FRAME_SIDE ? FRAME_SIDE - y : BALL_SIDE;
    frame_rectangle(frame, g->ball_x / HALF, y, BALL_SIDE, height, BALL_VALUE);
}

static int32_t bricks_step(void *handle, const corral_env_step *io)
{
    bricks_batch *batch = handle;
    for (size_t i = 0; i < batch->count; i++) {
        bricks_game *g = &batch->game[i];
        io->reward[i] = play(&batch->settings, g, frame_action(io, i));
        const bool lost = g->ball_y >= LOST;
        if (lost) g->ball_y = LOST;
        io->terminated[i] = lost;
        draw_frame(&batch->settings, g, frame_at(io, i));
    }
    return 0;
}

static void serve(const bricks_batch *batch, bricks_game *g, uint64_t seed)
{
    corral_env_rng rng;
    batch->host->rng_seed(&rng, seed);
    build_wall(g);
    g->paddle = (int16_t)((FRAME_SIDE - (int)batch->settings.paddle_width) / 2);
    g->ball_x = (int16_t)batch->host->rng_integer(&rng, RIGHT_END + 1);
    g->ball_y = (BRICK_TOP + BRICK_ROWS * BRICK_HEIGHT + 2) * HALF;
    g->speed_y = FALL_SPEED;
    const int slant = (int)batch->host->rng_integer(&rng, 4); // -2 -1 1 2
    g->speed_x = (int16_t)(slant < 2 ? slant - 2 : slant - 1);
}

static int32_t bricks_reset(void *handle, const uint8_t *mask, const uint64_t *seed,
                            const corral_env_step *out)
{
    bricks_batch *batch = handle;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        serve(batch, &batch->game[i], seed[i]);
        draw_frame(&batch->settings, &batch->game[i], frame_at(out, i));
    }
    return 0;
}

// --- life and state

static int32_t bricks_create(const corral_env_host *host, uint32_t count, const double *values,
                             void **out_batch)
{
    bricks_batch *batch = calloc(1, sizeof *batch + count * sizeof batch->game[0]);
    if (batch == NULL) return 1;
    memcpy(&batch->settings, values, sizeof batch->settings);
    batch->settings.paddle_width = floor(batch->settings.paddle_width);
    batch->settings.paddle_speed = floor(batch->settings.paddle_speed);
    batch->host = host;
    batch->count = count;
    *out_batch = batch;
    return 0;
}

static void bricks_save(const void *handle, uint32_t index, void *out_state)
{
    memcpy(out_state, &((const bricks_batch *)handle)->game[index], sizeof(bricks_game));
}

static int32_t bricks_load(void *handle, uint32_t index, const void *state)
{
    bricks_batch *batch = handle;
    bricks_game g;
    memcpy(&g, state, sizeof g);
    bool fine = g.ball_x >= 0 && g.ball_x <= RIGHT_END && g.ball_y >= 0 && g.ball_y <= LOST &&
                abs(g.speed_x) <= SLANT_MAX && abs(g.speed_y) == FALL_SPEED && g.paddle >= 0 &&
                g.paddle + (int)batch->settings.paddle_width <= FRAME_SIDE;
    for (int row = 0; row < BRICK_ROWS; row++)
        fine = fine && g.wall[row] <= ALL_COLUMNS;
    if (!fine) {
        batch->host->error("no state of this game");
        return 1;
    }
    batch->game[index] = g;
    return 0;
}

static void bricks_info(const void *handle, uint32_t index, double *out_values)
{
    const bricks_game *g = &((const bricks_batch *)handle)->game[index];
    int left = 0;
    for (int row = 0; row < BRICK_ROWS; row++)
        left += __builtin_popcount(g->wall[row]);
    out_values[0] = left;
}

static const void *bricks_extension(const char *name)
{
    static const char *const names[] = {"bricks_left"};
    static const corral_env_info info = {sizeof info, 1, names, bricks_info};
    static const corral_env_state state = {sizeof state, sizeof(bricks_game), bricks_save, bricks_load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_bricks_render;
    if (strcmp(name, CORRAL_ENV_INFO) == 0) return &info;
    return NULL;
}

// --- description

static const corral_space observation = FRAME_SPACE;
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = ACTIONS};
static const corral_env_param params[SETTINGS] = {
    [PADDLE_WIDTH] = {"paddle_width", 8, 2, 42, "of the paddle, in pixels"},
    [PADDLE_SPEED] = {"paddle_speed", 3, 1, 20, "of the paddle, in pixels per step"},
};
static const corral_env_batch_functions functions = {bricks_create, free, bricks_reset, bricks_step};

const corral_env_type corral_env_bricks = {
    .size = sizeof(corral_env_type),
    .id = "Bricks-v0",
    .summary = "keep a ball in play that breaks a wall: left, stay, right; 42x42 grey pixels",
    .spaces = {&observation, 1, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .max_episode_steps = 2000,
    .reward_threshold = 60,
    .render_fps = 30,
    .batch = &functions,
    .extension = bricks_extension,
};
