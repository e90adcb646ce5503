// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Coroutines: a function on a stack of its own that can hand the CPU back and be gone on with. On x86-64 a
/// switch saves six registers; elsewhere ucontext does it. AddressSanitizer is told of each.
#ifndef CORRAL_CUDA_COROUTINE_H
#define CORRAL_CUDA_COROUTINE_H

#include <stddef.h>

typedef struct coroutine coroutine;

/// NULL without memory. The stack is kept for the next start.
coroutine *coroutine_create(void);
void coroutine_destroy(coroutine *c);
/// Lets the next resume begin `run(argument)`; not while an earlier one is under way.
void coroutine_start(coroutine *c, void (*run)(void *argument), void *argument);
/// Runs it until it yields or returns. [outside of coroutines]
void coroutine_resume(coroutine *c);
/// Back to whoever resumed it. [inside of it]
void coroutine_yield(coroutine *c);

#endif
