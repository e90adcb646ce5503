// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The examiner: plays an environment in ways that training may, and tells which rules of corral/env.h it
/// breaks. Each rule is examined in a process of its own, so that an environment that crashes, hangs or exits
/// is a failed rule and not the end of the caller.
#ifndef CORRAL_ENVS_EXAMINE_H
#define CORRAL_ENVS_EXAMINE_H

#include "corral/base/status.h"
#include "corral/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_examine_config {
    const corral_env_type *type;
    const double *param_values; // [type->param_count], or NULL for the defaults
    uint64_t seed;              // of all episodes and actions
    uint64_t leak_steps;        // how many steps the search for leaks takes at most
    double step_seconds;        // an environment that returns nothing for so long hangs
} corral_examine_config;

/// Seed 1, 100,000 steps, 5 seconds.
corral_examine_config corral_examine_config_default(const corral_env_type *type);

typedef enum corral_verdict {
    CORRAL_VERDICT_PASSED,
    CORRAL_VERDICT_FAILED,
    CORRAL_VERDICT_SKIPPED, // it has not what the rule is about
} corral_verdict;

typedef struct corral_examine_result {
    const char *rule;  // a word or two: "same seed"
    const char *means; // what is asked: "the same seed and actions give the same episode"
    corral_verdict verdict;
    char sentence[500]; // where it failed: environment, episode seed, step, and what is wrong; or why skipped
} corral_examine_result;

enum { CORRAL_EXAMINE_RULES_MAX = 24 };

typedef struct corral_examine_report {
    uint32_t count, failed;
    // [count], in the order of examination; fewer rules where the first failed or one hung
    corral_examine_result result[CORRAL_EXAMINE_RULES_MAX];
    double steps_per_second; // of the rules of the environment, on one core
} corral_examine_report;

/// CORRAL_OK means that the examination took place; the report says how it went. Processes are forked, so
/// call it while the program has one thread.
CORRAL_MUST_USE corral_status corral_env_examine(const corral_examine_config *config,
                                                 corral_examine_report *out_report);

#ifdef __cplusplus
}
#endif
#endif
