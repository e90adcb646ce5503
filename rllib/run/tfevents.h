// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// TensorBoard's event files, as far as scalars go.
#ifndef CORRAL_RLLIB_TFEVENTS_H
#define CORRAL_RLLIB_TFEVENTS_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/// What names of event files begin with.
#define TFEVENTS_PREFIX "events.out.tfevents."

/// Writes the record that every file begins with.
void tfevents_write_header(FILE *file, double wall_seconds);
/// One value of one tag (at most 100 bytes).
void tfevents_write_scalar(FILE *file, double wall_seconds, uint64_t step, const char *tag, double value);

/// Reads the next record and gives its event's step, 0 where it names none. False at the end of the file, and
/// for a damaged or unfinished record.
bool tfevents_read_step(FILE *file, uint64_t *out_step);

/// CRC-32C, reflected polynomial 0x82f63b78.
uint32_t tfevents_crc32c(const void *bytes, size_t size);

#endif
