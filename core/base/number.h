// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to core/base: numbers as YAML 1.2's core schema writes them, whatever the program's locale.
#ifndef CORRAL_BASE_NUMBER_H
#define CORRAL_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum corral_number_result {
    CORRAL_NUMBER_OK,
    CORRAL_NUMBER_NONE,      // not a number at all: "abc", "1_000", ""
    CORRAL_NUMBER_NOT_WHOLE, // a number, but not a whole one
    CORRAL_NUMBER_TOO_LARGE, // whole, but not held exactly by 64 bits (or by a double, when written as 1e20)
} corral_number_result;

/// "12", "0x1F", "0o17", "1.5", ".5", "1e-4", "-.inf", ".nan". A finite text that is too large for
/// a double gives infinity.
bool corral_number_parse(const char *text, double *out_value);

/// A whole number; "1e5" and "3.0" are whole as well.
corral_number_result corral_number_parse_whole(const char *text, int64_t *out_value);

enum { CORRAL_NUMBER_SIZE = 32 };

/// The fewest of 15 to 17 digits that read back to the same value; infinity as YAML writes it.
void corral_number_format(double value, char out_text[CORRAL_NUMBER_SIZE]);

#endif
