// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How a row of an observation (or of an action) lies in memory, and what of it a network sees.
///
/// A row is bytes: the leaves of the environment's space, one behind the other in canonical order, each
/// aligned to its elements. It is described by parts: a part is a run of elements that mean the same. So
/// Dict(a: Box(3), b: Discrete(2)) is two parts, and MultiDiscrete([2, 3, 3]) is two: one element of 2
/// choices, two of 3.
///
/// Encoded, in the same order, a part is
///
///     numbers     themselves; u8 divided by 255                count floats
///     binary      0 or 1                                       count floats
///     choices     one-hot, each; outside of them: all zero     count x choices floats
///     image       divided by 255, [height, width, channels]    count floats
#ifndef CORRAL_POLICY_SPACE_H
#define CORRAL_POLICY_SPACE_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_part_kind {
    CORRAL_PART_NUMBERS = 1,
    CORRAL_PART_BINARY,
    CORRAL_PART_CHOICES,
    CORRAL_PART_IMAGE, // bytes
} corral_part_kind;

typedef enum corral_part_dtype {
    CORRAL_PART_F32 = 1,
    CORRAL_PART_F64,
    CORRAL_PART_U8,
    CORRAL_PART_I32,
} corral_part_dtype;

typedef struct corral_part {
    uint32_t kind, dtype;
    uint32_t offset;                  // bytes from the beginning of the row
    uint32_t count;                   // elements
    int32_t start;                    // of CHOICES: the first one
    uint32_t choices;                 // how many each element has
    uint32_t channels, height, width; // of an IMAGE
    uint32_t channels_last;           // 1: a pixel's channels lie side by side
    double low, high;                 // bounds of NUMBERS that are acted with; infinite: none
} corral_part;

enum { CORRAL_PARTS_MAX = 128 };

/// Plain data, so that it can travel. `part_count` 0 is the plain case: floats as the network sees them, or
/// one number that says which action.
typedef struct corral_policy_space {
    uint32_t row_bytes;
    uint32_t part_count;
    corral_part part[CORRAL_PARTS_MAX];
} corral_policy_space;

/// CORRAL_ERROR_INVALID names the part that does not lie in the row, or makes no sense.
CORRAL_MUST_USE corral_status corral_policy_space_check(const corral_policy_space *space);
bool corral_policy_space_equal(const corral_policy_space *a, const corral_policy_space *b);
size_t corral_part_element_bytes(uint32_t dtype);
/// Floats of one encoded row, or of one part of it.
size_t corral_part_size(const corral_part *part);
size_t corral_policy_space_size(const corral_policy_space *space);

#ifdef __cplusplus
}
#endif
#endif
