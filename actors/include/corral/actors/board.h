// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The board: where a writer pins its newest weights for all actors of a group on this host.
///
/// A segment cut into slots. Publishing writes the next slot, round robin; readers copy out and check the
/// slot's generation before and after (a sequence lock), so that a slow reader sees that it was overtaken and
/// takes the newest instead of a torn one.
#ifndef CORRAL_ACTORS_BOARD_H
#define CORRAL_ACTORS_BOARD_H

#include "corral/actors/segment.h"
#include "corral/base/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_BOARD_SLOTS = 4 };

typedef struct corral_board {
    corral_segment segment;
    size_t slot_capacity;                // bytes of payload per slot
    uint64_t published;                  // how often
    uint64_t version;                    // of the newest
    uint64_t offset, length, generation; // of the newest: what a WEIGHTS message says
} corral_board;

CORRAL_MUST_USE corral_status corral_board_create(size_t slot_capacity, corral_board *out_board);
void corral_board_finish(corral_board *board);

/// CORRAL_ERROR_FULL where `size` exceeds the slots' capacity.
CORRAL_MUST_USE corral_status corral_board_publish(corral_board *board, uint64_t version, const void *bytes,
                                                   size_t size);
/// In the writer's own process: the newest payload in place, valid until the next publish. NULL before the
/// first one.
const void *corral_board_newest(const corral_board *board);

/// In a reader: where the newest payload lies. CORRAL_ERROR_EMPTY before the first publish.
typedef struct corral_board_entry {
    uint64_t version, offset, length, generation;
} corral_board_entry;
CORRAL_MUST_USE corral_status corral_board_find_newest(const corral_segment *board,
                                                       corral_board_entry *out_entry);

/// In a reader: copies `length` bytes at `offset`. CORRAL_ERROR_STALE when the slot has been written again
/// since.
CORRAL_MUST_USE corral_status corral_board_copy(const corral_segment *board, uint64_t offset, uint64_t length,
                                                uint64_t generation, void *out_bytes);

#ifdef __cplusplus
}
#endif
#endif
