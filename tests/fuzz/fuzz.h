// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A fuzz target is one function: it reads the bytes as its format, and aborts where a promise is broken.
/// libFuzzer calls it, and so does driver.c.
#ifndef CORRAL_TEST_FUZZ_H
#define CORRAL_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
