// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Frames of the pixel games: 42 x 42 bytes of brightness, row by row from the top left. And a batch of
/// games: instances of one size behind a head, which is all that such a game keeps.
#ifndef CORRAL_ENVS_GAMES_FRAME_H
#define CORRAL_ENVS_GAMES_FRAME_H

#include "corral/env.h"

#include <string.h>

enum { FRAME_SIDE = 42, FRAME_BYTES = FRAME_SIDE * FRAME_SIDE };

static inline void frame_rectangle(uint8_t *frame, int left, int top, int width, int height, uint8_t value)
{
    for (int y = top; y < top + height; y++)
        memset(frame + y * FRAME_SIDE + left, value, (size_t)width);
}

static inline uint8_t *frame_at(const corral_env_step *io, size_t index)
{
    return (uint8_t *)io->observation->data + index * io->observation->stride;
}

static inline int32_t frame_action(const corral_env_step *io, size_t index)
{
    int32_t action;
    memcpy(&action, (const char *)io->action->data + index * io->action->stride, sizeof action);
    return action;
}

/// A picture is drawn with this many units for a pixel of the frame.
#define FRAME_SCALE 10.0f

/// What both games say of their observations.
#define FRAME_SPACE                                                                                          \
    {                                                                                                        \
        .path = "", .kind = CORRAL_SPACE_BOX, .dtype = CORRAL_SPACE_U8, .dimension_count = 2,                \
        .shape = {FRAME_SIDE, FRAME_SIDE}, .low = 0, .high = 255                                             \
    }

#endif
