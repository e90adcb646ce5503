// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "placement.h"

#include <math.h>

// Sums of tenths must not lose a slot to rounding.
static const double SLACK = 1e-6;

static double share(double offered, double wanted)
{
    return wanted > 0 ? floor(offered / wanted + SLACK) : INFINITY;
}

static corral_status check_kind(const corral_place_request *request, const corral_place_node *nodes,
                                size_t node_count, const char *unit, double wanted, size_t offset)
{
    if (wanted == 0) return CORRAL_OK;
    double total = 0, largest = 0, places = 0;
    for (size_t i = 0; i < node_count; i++) {
        const double offered = *(const double *)(const void *)((const char *)&nodes[i] + offset);
        total += offered;
        largest = fmax(largest, offered);
        places += share(offered, wanted);
    }
    const double all = wanted * request->count;
    if (all > total + SLACK)
        return corral_fail(CORRAL_ERROR_INFEASIBLE, "group \"%s\": %g %ss asked for, the cluster has %g",
                           request->class_name, all, unit, total);
    if (wanted > largest + SLACK)
        return corral_fail(CORRAL_ERROR_INFEASIBLE,
                           "group \"%s\": %g %ss asked for on one node, the largest has %g",
                           request->class_name, wanted, unit, largest);
    if (places < request->count)
        return corral_fail(CORRAL_ERROR_INFEASIBLE,
                           "group \"%s\": %u actors of %g %ss asked for, the nodes have room for %g",
                           request->class_name, request->count, wanted, unit, places);
    return CORRAL_OK;
}

static corral_status check_both(const corral_place_request *request, const corral_place_node *nodes,
                                size_t node_count)
{
    double places = 0;
    for (size_t i = 0; i < node_count; i++)
        places += fmin(share(nodes[i].cpus, request->cpus), share(nodes[i].gpus, request->gpus));
    if (places >= request->count) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INFEASIBLE,
                       "group \"%s\": %u actors of %g CPUs and %g GPUs asked for, the nodes have room for %g",
                       request->class_name, request->count, request->cpus, request->gpus, places);
}

// Whether `a` is the better place of two that both have room.
static int is_better(const corral_place_node *a, const corral_place_node *b)
{
    const double a_left = a->cpus - a->used_cpus, b_left = b->cpus - b->used_cpus;
    if (fabs(a_left - b_left) > SLACK) return a_left > b_left;
    if (a->actors != b->actors) return a->actors < b->actors;
    return a->id < b->id;
}

static corral_place_node *best_node(const corral_place_request *request, corral_place_node *nodes,
                                    size_t node_count)
{
    corral_place_node *best = NULL;
    for (size_t i = 0; i < node_count; i++) {
        corral_place_node *n = &nodes[i];
        const int has_room = n->cpus - n->used_cpus + SLACK >= request->cpus &&
                             n->gpus - n->used_gpus + SLACK >= request->gpus;
        if (has_room && (best == NULL || is_better(n, best))) best = n;
    }
    return best;
}

corral_status corral_place(const corral_place_request *request, corral_place_node *nodes, size_t node_count,
                           const char *holders, uint32_t *out_nodes)
{
    if (request->count == 0 || !(request->cpus >= 0) || !(request->gpus >= 0))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "group \"%s\": %u actors of %g CPUs and %g GPUs is no request",
                           request->class_name, request->count, request->cpus, request->gpus);
    corral_status status =
        check_kind(request, nodes, node_count, "GPU", request->gpus, offsetof(corral_place_node, gpus));
    if (status == CORRAL_OK)
        status =
            check_kind(request, nodes, node_count, "CPU", request->cpus, offsetof(corral_place_node, cpus));
    if (status == CORRAL_OK) status = check_both(request, nodes, node_count);
    for (uint32_t i = 0; i < request->count && status == CORRAL_OK; i++) {
        corral_place_node *node = best_node(request, nodes, node_count);
        if (node == NULL)
            return corral_fail(
                CORRAL_ERROR_REFUSED,
                "group \"%s\": %u actors of %g CPUs asked for, room for %u is free: %s; stop one of "
                "those or ask for less",
                request->class_name, request->count, request->cpus, i, holders);
        node->used_cpus += request->cpus;
        node->used_gpus += request->gpus;
        node->actors++;
        out_nodes[i] = node->id;
    }
    return status;
}
