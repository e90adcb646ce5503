// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to actors/net: which node takes which actor. No network here, only arithmetic.
#ifndef CORRAL_NET_PLACEMENT_H
#define CORRAL_NET_PLACEMENT_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct corral_place_node {
    uint32_t id;
    double cpus, gpus;           // offered
    double used_cpus, used_gpus; // by actors that live there
    uint32_t actors;
} corral_place_node;

typedef struct corral_place_request {
    const char *class_name; // of the actors, for messages
    uint32_t count;
    double cpus, gpus; // of each
} corral_place_request;

/// Spreads the actors: each goes where most slots are free, then where fewest actors live, then to the lowest
/// id. `out_nodes` gets the id for each actor. CORRAL_ERROR_INFEASIBLE where the cluster could not take them
/// even if it were empty; CORRAL_ERROR_REFUSED where others hold the slots: `holders` says who, for the
/// sentence. `nodes` counts what was placed, also on failure: it is the caller's copy.
CORRAL_MUST_USE corral_status corral_place(const corral_place_request *request, corral_place_node *nodes,
                                           size_t node_count, const char *holders, uint32_t *out_nodes);

#endif
