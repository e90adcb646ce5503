// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the runtime: what a node has, in ten-thousandths, and who has what of it.
///
/// Two kinds are always there, cpus and gpus; others are named at the node's start. GPUs are counted one by
/// one: a share below one has to fit into a single GPU, more than that takes whole ones. resource_take() is
/// the only way to use something up, and it gives all of a demand or nothing: so no kind and no GPU is ever
/// given twice.
#ifndef CORRAL_RUNTIME_RESOURCES_H
#define CORRAL_RUNTIME_RESOURCES_H

#include "corral/actors/task.h"

enum {
    RESOURCE_UNIT = 10000,
    RESOURCE_KINDS_MAX = CORRAL_RESOURCES_MAX + 2,
    RESOURCE_GPUS_MAX = 64,
    RESOURCE_CPUS = 0, // the kinds that are always there
    RESOURCE_GPUS = 1,
};

typedef struct resource_pool {
    size_t kinds;
    char name[RESOURCE_KINDS_MAX][CORRAL_NAME_MAX + 1];
    int64_t total[RESOURCE_KINDS_MAX], used[RESOURCE_KINDS_MAX];
    int64_t gpu_used[RESOURCE_GPUS_MAX]; // of each GPU
} resource_pool;

/// By kind of the pool that it was made for.
typedef struct resource_demand {
    int64_t amount[RESOURCE_KINDS_MAX];
} resource_demand;

/// What was taken. Zeroed: nothing.
typedef struct resource_grant {
    resource_demand demand;
    uint64_t gpus; // bit i: GPU i, or a share of it
} resource_grant;

CORRAL_MUST_USE corral_status resource_pool_init(resource_pool *pool, double cpus, double gpus,
                                                 const corral_resource *resources, size_t count);

/// Whole ten-thousandths of a finite amount of at most a million. `what` is for the sentence.
CORRAL_MUST_USE corral_status resource_units(const char *what, const char *name, double amount,
                                             int64_t *out_units);
/// CORRAL_ERROR_INFEASIBLE when the pool could not give it even if nothing were used: "task "f": 99 gpus
/// asked for, there are 0".
CORRAL_MUST_USE corral_status resource_demand_init(const resource_pool *pool, const char *what, double cpus,
                                                   double gpus, const corral_resource *resources,
                                                   size_t count, resource_demand *out_demand);
bool resource_demand_equal(const resource_demand *a, const resource_demand *b);
/// Both want some of one kind.
bool resource_demands_meet(const resource_demand *a, const resource_demand *b);
/// "1 cpus, 0.5 gpus"; "nothing".
void resource_demand_describe(const resource_pool *pool, const resource_demand *demand, char *text,
                              size_t size);

bool resource_fits(const resource_pool *pool, const resource_demand *demand);
/// False, and nothing changes, when it does not fit.
bool resource_take(resource_pool *pool, const resource_demand *demand, resource_grant *out_grant);
void resource_give(resource_pool *pool, resource_grant *grant);
/// CPUs alone, while their holder waits for others: lent away, and taken back when they are free again.
void resource_lend_cpus(resource_pool *pool, const resource_grant *grant);
bool resource_take_back_cpus(resource_pool *pool, const resource_grant *grant);

#endif
