// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A Python process that serves bridge.py, which says what messages mean.
#ifndef CORRAL_ENVS_GYM_PYTHON_H
#define CORRAL_ENVS_GYM_PYTHON_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gym_python gym_python;

typedef struct gym_answer {
    char mark; // '+', '!' or '-'
    uint32_t number;
} gym_answer;

enum { GYM_TEXT_SIZE = 8192 }; // what failed: a sentence and a traceback, each ended by a zero

/// The person's own Python: CORRAL_PYTHON, else that of VIRTUAL_ENV or CONDA_PREFIX, else python3. The
/// caller frees it; NULL without memory.
char *gym_python_choose(void);

/// Starts one. It ends with this process, however this one ends. [any thread]
CORRAL_MUST_USE corral_status gym_python_start(const char *program, gym_python **out_python);

/// Asks it to end, then sees to it. NULL is fine.
void gym_python_end(gym_python *python);

/// Sends a message, with a file descriptor unless that is -1, and waits for the answer. After a failure the
/// process is of no use any more: the sentence says how it ended, and what is left is to end it.
CORRAL_MUST_USE corral_status gym_python_ask(gym_python *python, const char *message, size_t size, int file,
                                             int64_t timeout_ns, gym_answer *out_answer);

#endif
