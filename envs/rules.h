// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The rules of `count` instances of a type, whichever way the type describes them: one instance, a batch, or
/// a batch of a type that was made at run time.
#ifndef CORRAL_ENVS_RULES_H
#define CORRAL_ENVS_RULES_H

#include "single.h"

typedef struct corral_rules {
    const corral_env_type *type;
    uint32_t count;
    void *batch;                 // the plug-in's, where the type has `batch`
    corral_single_batch *single; // ours, where it has `single`
} corral_rules;

/// 0, or what the type returned; then there is nothing to destroy. CORRAL_RULES_NOTHING: it returned 0 but
/// made no batch.
enum { CORRAL_RULES_NOTHING = INT32_MIN };
int32_t corral_rules_create(corral_rules *rules, const corral_env_type *type, const corral_env_host *host,
                            uint32_t count, const double *values);
/// Also of zeroed rules.
void corral_rules_destroy(corral_rules *rules);

/// As corral_env_batch_functions has them; of single instances the result is always 0.
int32_t corral_rules_reset(const corral_rules *rules, const uint8_t *mask, const uint64_t *seed,
                           const corral_env_step *out);
int32_t corral_rules_step(const corral_rules *rules, const corral_env_step *io);

/// What extensions are called with for one row.
void *corral_rules_handle(const corral_rules *rules, uint32_t row, uint32_t *out_index);

#endif
