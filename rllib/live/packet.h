// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a run tells those who watch it: packets of at most LIVE_PACKET_MAX bytes, each complete in itself but
/// for frames, which hold only the items of a display list that have changed.
///
///     HELLO   first: the run, its environment, and how large the picture is
///     POINT   one more point of the curves; at the beginning those of before
///     FRAME   one moment of one environment, with its display list
///     END     the run has ended
#ifndef CORRAL_RLLIB_LIVE_PACKET_H
#define CORRAL_RLLIB_LIVE_PACKET_H

#include "corral/base/status.h"
#include "corral/env.h"

#include <stdbool.h>

enum {
    LIVE_VERSION = 1,
    LIVE_PACKET_MAX = 200000, // below what one message of a socket holds
    LIVE_CELLS_MAX = 4,
    LIVE_ITEMS_MAX = 1024,
    LIVE_PIXELS_MAX = 128 << 10, // of a frame's images: larger ones are reduced
};

typedef enum live_kind { LIVE_HELLO = 1, LIVE_POINT, LIVE_FRAME, LIVE_END } live_kind;

typedef struct live_head {
    uint16_t version, kind;
    uint32_t size; // of the whole packet
} live_head;

typedef struct live_hello {
    live_head head;
    char env[128], run[256], algorithm[16];
    uint32_t cells, workers, envs;
    uint32_t background; // of the picture, 0xRRGGBBAA
    float width, height; // 0: it draws nothing
    double fps;
    uint64_t step_budget;
} live_hello;

/// Values that are not known are NaN.
typedef struct live_point {
    live_head head;
    uint64_t env_steps, policy_version;
    double seconds, steps_per_second, return_mean, length_mean, eval_mean, loss, value_loss, entropy;
    uint32_t workers_alive, episodes;
} live_point;

typedef struct live_frame {
    live_head head;
    uint32_t cell, environment, worker, step;
    uint64_t episode, policy_version;
    double reward, episode_return;
    uint8_t ended, terminated, whole /* no item is taken from the frame before */, reserved;
    uint32_t item_count; // the items follow
} live_frame;

typedef struct live_end {
    live_head head;
    char reason[64];
} live_end;

/// A display list, as it was sent and as it was received. Zeroed to begin with.
typedef struct live_list {
    corral_draw *items; // [LIVE_ITEMS_MAX]; images point into `pixels`
    uint32_t count;
    uint8_t *pixels; // [LIVE_PIXELS_MAX * 3]
} live_list;

CORRAL_MUST_USE corral_status live_list_init(live_list *list);
void live_list_finish(live_list *list);

/// Appends to a frame's packet what differs from `before`, or everything where frame->whole, and makes
/// `before` the list. `packet` has LIVE_PACKET_MAX bytes; what does not fit is left out. Returns its size.
size_t live_frame_write(live_frame *frame, const corral_draw *items, uint32_t count, live_list *before,
                        uint8_t *packet);

/// Applies a packet's items to `list`. CORRAL_ERROR_CORRUPT leaves it in any state; CORRAL_ERROR_STALE: it
/// builds on a frame that `list` is not.
CORRAL_MUST_USE corral_status live_frame_read(const uint8_t *packet, size_t size, live_frame *out_frame,
                                              live_list *list);

/// The kind of a packet that is whole and of this version, 0 for another.
live_kind live_kind_of(const uint8_t *packet, size_t size);

#endif
