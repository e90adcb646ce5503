// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: faults that are injected into messages on the gRPC road, the same ones for the same
/// seed.
///
///     lose=0.1,duplicate=0.1,delay=5ms:0.1,blackout=2s:500ms,seed=7
///
/// lose and duplicate are chances per message; delay is a time and a chance; blackout loses everything for
/// 500 ms, 2 s after the link began. Requests, answers and acknowledgements suffer alike.
#ifndef CORRAL_NET_FAULTS_H
#define CORRAL_NET_FAULTS_H

#include "corral/base/rng.h"
#include "corral/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct corral_faults {
    bool active;
    double lose, duplicate, delay_chance;
    int64_t delay_ns, blackout_begin_ns, blackout_length_ns;
    uint64_t seed;
} corral_faults;

/// NULL and "" mean none. The sentence names the setting that is wrong.
CORRAL_MUST_USE corral_status corral_faults_parse(const char *text, corral_faults *out_faults);

/// What one message shall suffer.
typedef struct corral_fate {
    bool lost, twice;
    int64_t delay_ns; // 0: none
} corral_fate;

/// `age_ns` is the link's. Draws the same numbers whatever is switched on.
corral_fate corral_faults_draw(const corral_faults *faults, corral_rng *rng, int64_t age_ns);

#endif
