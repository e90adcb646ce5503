// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the runtime: numbers to things, for tables whose keys are ids. Open addressing, linear probing;
/// the place of a removed key is filled by moving up what was displaced by it. Zeroed is empty; 0 is no key.
#ifndef CORRAL_RUNTIME_ID_MAP_H
#define CORRAL_RUNTIME_ID_MAP_H

#include "corral/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct id_map_slot {
    uint64_t key;
    void *thing;
} id_map_slot;

typedef struct id_map {
    id_map_slot *slots; // [capacity], for whoever walks: key 0 is a free one
    size_t capacity, count;
} id_map;

/// NULL when it is not there.
void *id_map_find(const id_map *map, uint64_t key);
/// Adds or replaces.
CORRAL_MUST_USE corral_status id_map_put(id_map *map, uint64_t key, void *thing);
void id_map_remove(id_map *map, uint64_t key);
void id_map_finish(id_map *map);

#endif
