// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The town, 560 x 620: roads with their walls, four coloured stops, the passenger as a dot in the colour of
// where they want to go, and the taxi.

#include "taxi.h"

#include "grid.h"

#define MARGIN 30.0f
#define SQUARE 100.0f
#define WIDTH  (2 * MARGIN + TAXI_SIDE * SQUARE)
#define HEIGHT (WIDTH + 60)

static const uint32_t stop_color[TAXI_STOPS] = {PICTURE_RED, PICTURE_GREEN, PICTURE_YELLOW, PICTURE_BLUE};

static float along(int32_t index)
{
    return MARGIN + (float)index * SQUARE;
}

static void draw_town(picture *p)
{
    for (int32_t row = 0; row < TAXI_SIDE; row++)
        for (int32_t column = 0; column < TAXI_SIDE; column++)
            picture_rectangle(p, along(column) + 2, along(row) + 2, along(column + 1) - 2, along(row + 1) - 2,
                              0xdcdfe4ff);
    for (int32_t stop = 0; stop < TAXI_STOPS; stop++) {
        const float left = along(taxi_stop[stop][1]), top = along(taxi_stop[stop][0]);
        picture_rectangle(p, left + 10, top + 10, left + SQUARE - 10, top + SQUARE - 10,
                          (stop_color[stop] & 0xffffff00) | 0x70);
    }
    for (int32_t row = 0; row < TAXI_SIDE; row++)
        for (int32_t column = 0; column < TAXI_SIDE - 1; column++)
            if (taxi_wall_east(row, column))
                picture_line(p, along(column + 1), along(row), along(column + 1), along(row + 1), 8,
                             PICTURE_BLACK);
}

static void draw_taxi(picture *p, taxi t, int32_t action)
{
    static const float body[8][2] = {{-34, 18}, {-34, 2}, {-22, -2}, {-14, -18},
                                     {12, -18}, {22, -2}, {34, 2},   {34, 18}};
    const float x = along(t.column) + SQUARE / 2, y = along(t.row) + SQUARE / 2 + 8;
    picture_turned(p, body, 8, x, y, 0, PICTURE_YELLOW);
    picture_rectangle(p, x - 10, y - 15, x + 10, y - 3, 0xf7f8faff);
    picture_rectangle(p, x - 8, y - 25, x + 8, y - 18, PICTURE_BLACK);
    picture_circle(p, x - 18, y + 18, 9, PICTURE_BLACK);
    picture_circle(p, x + 18, y + 18, 9, PICTURE_BLACK);
    if (action > TAXI_WEST) return;
    static const float step[4][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}};
    picture_circle(p, x + 42 * step[action][0], y - 6 + 36 * step[action][1], 4, PICTURE_INK);
}

static void draw_passenger(picture *p, taxi t)
{
    const bool aboard = t.passenger == TAXI_ABOARD;
    const float x = along(aboard ? t.column : taxi_stop[t.passenger][1]) + (aboard ? SQUARE / 2 : 26);
    const float y = along(aboard ? t.row : taxi_stop[t.passenger][0]) + (aboard ? SQUARE / 2 - 1 : 26);
    picture_circle(p, x, y, aboard ? 6 : 11, PICTURE_INK);
    picture_circle(p, x, y, aboard ? 5 : 9, stop_color[t.destination]);
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    static const char *const names[TAXI_STOPS] = {"red", "green", "yellow", "blue"};
    const corral_table *table = handle;
    const taxi t = taxi_of(table->instance[index].state);
    picture p = {out_items, limit, 0};
    draw_town(&p);
    draw_taxi(&p, t, table->instance[index].action);
    draw_passenger(&p, t);
    picture_text(&p, MARGIN, HEIGHT - 30, 20, PICTURE_INK, "passenger %s%s, to %s",
                 t.passenger == TAXI_ABOARD ? "aboard" : "at ",
                 t.passenger == TAXI_ABOARD ? "" : names[t.passenger], names[t.destination]);
    return p.count;
}

const corral_env_render corral_taxi_render = {sizeof(corral_env_render), WIDTH, HEIGHT, PICTURE_PAPER, draw};
