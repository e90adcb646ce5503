// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "resources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

corral_status resource_units(const char *what, const char *name, double amount, int64_t *out_units)
{
    if (!(amount >= 0 && amount <= 1e6)) // also not NaN
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %g %s; an amount is between 0 and a million", what,
                           amount, name);
    *out_units = llround(amount * RESOURCE_UNIT);
    if (amount > 0 && *out_units == 0) *out_units = 1; // a little is not nothing
    return CORRAL_OK;
}

static corral_status add_kind(resource_pool *pool, const char *name, double amount)
{
    const size_t length = name != NULL ? strlen(name) : 0;
    if (length == 0 || length > CORRAL_NAME_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a resource's name has 1 to %d letters", CORRAL_NAME_MAX);
    for (size_t i = 0; i < pool->kinds; i++)
        if (strcmp(pool->name[i], name) == 0)
            return corral_fail(CORRAL_ERROR_EXISTS, "the resource \"%s\" is named twice", name);
    if (pool->kinds == RESOURCE_KINDS_MAX)
        return corral_fail(CORRAL_ERROR_FULL, "more than %d kinds of resources", CORRAL_RESOURCES_MAX);
    memcpy(pool->name[pool->kinds], name, length + 1);
    return resource_units("a node", name, amount, &pool->total[pool->kinds++]);
}

corral_status resource_pool_init(resource_pool *pool, double cpus, double gpus,
                                 const corral_resource *resources, size_t count)
{
    memset(pool, 0, sizeof *pool);
    corral_status status = add_kind(pool, "cpus", cpus);
    if (status == CORRAL_OK) status = add_kind(pool, "gpus", gpus);
    if (status == CORRAL_OK && (gpus > RESOURCE_GPUS_MAX || gpus != floor(gpus)))
        status = corral_fail(CORRAL_ERROR_INVALID, "a node with %g gpus; it has a whole number, at most %d",
                             gpus, RESOURCE_GPUS_MAX);
    for (size_t i = 0; i < count && status == CORRAL_OK; i++)
        status = add_kind(pool, resources[i].name, resources[i].amount);
    return status;
}

// --- demands -----------------------------------------------------------------------------------------------

static corral_status add_demand(const resource_pool *pool, const char *what, const char *name, double amount,
                                resource_demand *demand)
{
    int64_t units = 0;
    corral_status status = resource_units(what, name, amount, &units);
    if (status != CORRAL_OK) return status;
    for (size_t i = 0; i < pool->kinds; i++) {
        if (strcmp(pool->name[i], name) != 0) continue;
        demand->amount[i] += units;
        if (demand->amount[i] <= pool->total[i]) return CORRAL_OK;
        return corral_fail(CORRAL_ERROR_INFEASIBLE, "%s: %g %s asked for, there are %g", what,
                           (double)demand->amount[i] / RESOURCE_UNIT, name,
                           (double)pool->total[i] / RESOURCE_UNIT);
    }
    if (units == 0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INFEASIBLE, "%s: %g %s asked for, no node has any", what, amount, name);
}

corral_status resource_demand_init(const resource_pool *pool, const char *what, double cpus, double gpus,
                                   const corral_resource *resources, size_t count,
                                   resource_demand *out_demand)
{
    memset(out_demand, 0, sizeof *out_demand);
    if (count > CORRAL_RESOURCES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %zu kinds of resources, at most %d", what, count,
                           CORRAL_RESOURCES_MAX);
    corral_status status = add_demand(pool, what, "cpus", cpus, out_demand);
    if (status == CORRAL_OK) status = add_demand(pool, what, "gpus", gpus, out_demand);
    for (size_t i = 0; i < count && status == CORRAL_OK; i++)
        status = add_demand(pool, what, resources[i].name, resources[i].amount, out_demand);
    const int64_t wanted = out_demand->amount[RESOURCE_GPUS];
    if (status == CORRAL_OK && wanted > RESOURCE_UNIT && wanted % RESOURCE_UNIT != 0)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s: %g gpus; more than one have to be whole ones", what,
                             (double)wanted / RESOURCE_UNIT);
    return status;
}

bool resource_demand_equal(const resource_demand *a, const resource_demand *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

bool resource_demands_meet(const resource_demand *a, const resource_demand *b)
{
    for (size_t i = 0; i < RESOURCE_KINDS_MAX; i++)
        if (a->amount[i] > 0 && b->amount[i] > 0) return true;
    return false;
}

void resource_demand_describe(const resource_pool *pool, const resource_demand *demand, char *text,
                              size_t size)
{
    size_t used = (size_t)snprintf(text, size, "nothing");
    bool first = true;
    for (size_t i = 0; i < pool->kinds && used < size; i++) {
        if (demand->amount[i] == 0) continue;
        if (first) used = 0;
        used += (size_t)snprintf(text + used, size - used, "%s%g %s", first ? "" : ", ",
                                 (double)demand->amount[i] / RESOURCE_UNIT, pool->name[i]);
        first = false;
    }
}

// --- taking and giving -------------------------------------------------------------------------------------

// Which GPUs: of several that have room for a share the fullest, so that whole ones stay whole. False: none.
static bool choose_gpus(const resource_pool *pool, int64_t wanted, uint64_t *out_gpus)
{
    const size_t gpus = (size_t)(pool->total[RESOURCE_GPUS] / RESOURCE_UNIT);
    *out_gpus = 0;
    if (wanted == 0) return true;
    if (wanted < RESOURCE_UNIT) {
        size_t best = gpus;
        for (size_t i = 0; i < gpus; i++)
            if (pool->gpu_used[i] + wanted <= RESOURCE_UNIT &&
                (best == gpus || pool->gpu_used[i] > pool->gpu_used[best]))
                best = i;
        if (best < gpus) *out_gpus = UINT64_C(1) << best;
        return best < gpus;
    }
    for (size_t i = 0; i < gpus && wanted > 0; i++) {
        if (pool->gpu_used[i] != 0) continue;
        *out_gpus |= UINT64_C(1) << i;
        wanted -= RESOURCE_UNIT;
    }
    return wanted == 0;
}

static void count_gpus(resource_pool *pool, const resource_grant *grant, int64_t sign)
{
    const int64_t wanted = grant->demand.amount[RESOURCE_GPUS];
    const int64_t each = wanted < RESOURCE_UNIT ? wanted : RESOURCE_UNIT;
    for (size_t i = 0; i < RESOURCE_GPUS_MAX; i++)
        if ((grant->gpus >> i & 1) != 0) pool->gpu_used[i] += sign * each;
}

static bool amounts_fit(const resource_pool *pool, const resource_demand *demand)
{
    for (size_t i = 0; i < pool->kinds; i++)
        if (demand->amount[i] > pool->total[i] - pool->used[i]) return false;
    return true;
}

bool resource_fits(const resource_pool *pool, const resource_demand *demand)
{
    uint64_t gpus;
    return amounts_fit(pool, demand) && choose_gpus(pool, demand->amount[RESOURCE_GPUS], &gpus);
}

bool resource_take(resource_pool *pool, const resource_demand *demand, resource_grant *out_grant)
{
    resource_grant grant = {.demand = *demand};
    if (!amounts_fit(pool, demand) || !choose_gpus(pool, demand->amount[RESOURCE_GPUS], &grant.gpus))
        return false;
    for (size_t i = 0; i < pool->kinds; i++)
        pool->used[i] += demand->amount[i];
    count_gpus(pool, &grant, 1);
    *out_grant = grant;
    return true;
}

void resource_give(resource_pool *pool, resource_grant *grant)
{
    for (size_t i = 0; i < pool->kinds; i++)
        pool->used[i] -= grant->demand.amount[i];
    count_gpus(pool, grant, -1);
    memset(grant, 0, sizeof *grant);
}

void resource_lend_cpus(resource_pool *pool, const resource_grant *grant)
{
    pool->used[RESOURCE_CPUS] -= grant->demand.amount[RESOURCE_CPUS];
}

bool resource_take_back_cpus(resource_pool *pool, const resource_grant *grant)
{
    const int64_t wanted = grant->demand.amount[RESOURCE_CPUS];
    if (wanted > pool->total[RESOURCE_CPUS] - pool->used[RESOURCE_CPUS]) return false;
    pool->used[RESOURCE_CPUS] += wanted;
    return true;
}
