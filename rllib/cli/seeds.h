// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One configuration with several seeds, one after the other: each in a run folder of its own, OUT/seed-N.
#ifndef CORRAL_RLLIB_SEEDS_H
#define CORRAL_RLLIB_SEEDS_H

#include "corral/rllib/train.h"

enum { SEEDS_MAX = 1000 };

typedef struct seed_list {
    int64_t seed[SEEDS_MAX];
    size_t count;
} seed_list;

/// "1..5", "1,2,7", "1..3,10": whole numbers from 0, each once.
CORRAL_MUST_USE corral_status seeds_parse(const char *text, seed_list *out_list);

/// Trains them all, shows what came of each and of all together, and writes OUT/seeds.csv. The exit code is
/// the worst of theirs. Bad input or a signal ends it early.
int seeds_run(const char *text, const corral_train_config *config, const corral_train_options *options,
              bool quiet);

#endif
