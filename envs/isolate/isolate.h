// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Isolation: each environment of a type in a process of its own (corral-env-host), behind shared memory. A
/// crash or a hang of its rules is then the failure of that environment alone: the host drops its open
/// episode, counts it, tells what happened, and the reset starts a new process.
///
/// What passes is one byte each way over a socket, and a block of memory that both map:
///
///     head | parameter values | action leaves | observation leaves | state | allowed actions | info |
///     picture
///
/// Both sides lay it out from the type alone, which both have from the same name.
#ifndef CORRAL_ENVS_ISOLATE_H
#define CORRAL_ENVS_ISOLATE_H

#include "corral/base/status.h"
#include "corral/env.h"

enum {
    ISOLATE_CHANNEL = 3,  // file descriptors of the process
    ISOLATE_LIFELINE = 4, // the process is killed when its other end closes
    ISOLATE_MEMORY = 5,
    ISOLATE_LEAVES = 64,
    ISOLATE_ITEMS = 4096,         // of a picture
    ISOLATE_IMAGE_BYTES = 8 << 20 // of all images in it
};

/// What is asked. The answer is one of the last two.
enum isolate_message {
    ISOLATE_RESET = 'r',
    ISOLATE_STEP = 's',
    ISOLATE_SAVE = 'S',
    ISOLATE_LOAD = 'L',
    ISOLATE_DRAW = 'd',
    ISOLATE_MASK = 'm',
    ISOLATE_INFO = 'i',
    ISOLATE_DONE = '+',   // also the first message, when the process is ready
    ISOLATE_FAILED = '-', // with a sentence in the head
};

typedef struct isolate_head {
    uint64_t size; // of the whole layout, as who started the process has it
    uint64_t seed;
    double reward;
    uint8_t terminated, truncated;
    uint32_t item_count;
    char sentence[256];
} isolate_head;

typedef struct isolate_layout {
    size_t values;
    size_t action[ISOLATE_LEAVES], observation[ISOLATE_LEAVES];
    size_t state, allowed, info;
    size_t needed;        // bytes up to here are there from the start
    size_t items, images; // address space that a picture fills
    size_t size;
} isolate_layout;

isolate_layout isolate_lay_out(const corral_env_type *type);

/// The type that plays `type` so. `name` is what corral_env_find() finds it by in another process; `seconds`
/// is how long one call may take. The result lives as long as the program. [any thread]
CORRAL_MUST_USE corral_status corral_isolate(const corral_env_type *type, const char *name, double seconds,
                                             const corral_env_type **out_type);

#endif
