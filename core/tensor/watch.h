// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a tape does for those who watch it: anomaly mode, and the report of memory. A tape that nobody
/// watches pays for one comparison per operation.
#ifndef CORRAL_CORE_TENSOR_WATCH_H
#define CORRAL_CORE_TENSOR_WATCH_H

#include "tensor/tape.h"

enum { CORRAL_WATCH_ROWS = 128 };

typedef struct corral_watch_table {
    corral_tape_use rows[CORRAL_WATCH_ROWS]; // the last takes what does not fit
    size_t count, bytes;
} corral_watch_table;

struct corral_tape_watch {
    bool anomaly, report;
    bool backwards; // the operation's turn is its backward
    const char *site;
    corral_node *checked; // anomaly: results up to this node are free of NaN
    corral_arena before;  // anomaly: the recording before this one
    corral_watch_table now, largest;
};

/// Of the tape's reset, before its memory is used again.
void corral_watch_reset(corral_tape *tape);
/// `size` bytes were handed out.
void corral_watch_memory(corral_tape *tape, size_t size);
/// Searches the results that were not searched yet.
void corral_watch_results(corral_tape *tape);
/// Searches what the backward of `node` has added to.
void corral_watch_gradients(const corral_node *node);
void corral_watch_destroy(struct corral_tape_watch *watch);

#endif
