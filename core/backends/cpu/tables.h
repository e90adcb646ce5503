// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The tables of the CPU. Which of the fast ones exist depends on the processor that the library is built
/// for.
#ifndef CORRAL_CORE_CPU_TABLES_H
#define CORRAL_CORE_CPU_TABLES_H

#include "corral/core/backend.h"

extern const corral_backend corral_backend_portable;

#if defined(__x86_64__)
extern const corral_backend corral_backend_x86_64_v2;
extern const corral_backend corral_backend_x86_64_v3;
extern const corral_backend corral_backend_x86_64_v4;
#endif

#endif
