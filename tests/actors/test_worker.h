// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the tests and their worker program agree on.
#ifndef CORRAL_TEST_WORKER_H
#define CORRAL_TEST_WORKER_H

#include <stdint.h>

/// A lease's request to class "fill": the block becomes a test_fragment and `length` bytes of a pattern.
typedef struct test_request {
    uint64_t seed;
    uint64_t length;
    uint64_t sleep_ms; // before it fills
} test_request;

typedef struct test_fragment {
    uint64_t seed;
    uint64_t version;     // of the weights that it was filled with; 0: none
    uint64_t weight;      // what all words of these weights are
    uint64_t torn;        // how often a set of weights was not all one word
    uint64_t weight_sets; // how many came
    uint64_t index, count, incarnation;
} test_fragment; // then the pattern

static inline unsigned char test_pattern(uint64_t seed, uint64_t i)
{
    return (unsigned char)(seed * 31 + i * 7 + (i >> 8));
}

/// Methods of class "fill".
enum { TEST_CALL_ECHO = 1, TEST_CALL_FDS, TEST_CALL_FAIL };

/// With an argument, the worker is one of these instead of an actor. Descriptor 3 is a pipe to the test.
int test_child_main(int argc, char **argv);

/// Forks a process that ignores TERM, has a session of its own, forks another one like it, and never ends.
void test_fork_stubborn_family(void);

#endif
