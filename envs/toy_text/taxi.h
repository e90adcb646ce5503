// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The town of the taxi, shared by its rules and its picture.
#ifndef CORRAL_ENVS_TOY_TEXT_TAXI_H
#define CORRAL_ENVS_TOY_TEXT_TAXI_H

#include "table.h"

#include <stdbool.h>

enum { TAXI_SIDE = 5, TAXI_STOPS = 4, TAXI_ABOARD = 4, TAXI_STATES = 500 };
enum { TAXI_SOUTH, TAXI_NORTH, TAXI_EAST, TAXI_WEST, TAXI_PICK_UP, TAXI_DROP_OFF, TAXI_ACTIONS };

/// A state taken apart; ((row * 5 + column) * 5 + passenger) * 4 + destination.
typedef struct taxi {
    int32_t row, column;
    int32_t passenger; // at stop 0 .. 3, or TAXI_ABOARD
    int32_t destination;
} taxi;

static const int8_t taxi_stop[TAXI_STOPS][2] = {{0, 0}, {0, 4}, {4, 0}, {4, 3}}; // row, column

static inline taxi taxi_of(int32_t state)
{
    return (taxi){state / 100, state / 20 % 5, state / 4 % 5, state % 4};
}

static inline int32_t taxi_state(taxi t)
{
    return ((t.row * 5 + t.column) * 5 + t.passenger) * 4 + t.destination;
}

/// A wall on the east side of a square, other than the one around the town.
static inline bool taxi_wall_east(int32_t row, int32_t column)
{
    return (row <= 1 && column == 1) || (row >= 3 && (column == 0 || column == 2));
}

static inline bool taxi_is_at(taxi t, int32_t stop)
{
    return stop < TAXI_STOPS && t.row == taxi_stop[stop][0] && t.column == taxi_stop[stop][1];
}

extern const corral_env_render corral_taxi_render;

#endif
