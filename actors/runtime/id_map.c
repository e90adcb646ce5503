// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "id_map.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

// Ids count up; the multiplication spreads them (Fibonacci hashing).
static size_t home_of(const id_map *map, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (map->capacity - 1);
}

static id_map_slot *slot_of(const id_map *map, uint64_t key)
{
    size_t i = home_of(map, key);
    while (map->slots[i].key != 0 && map->slots[i].key != key)
        i = (i + 1) & (map->capacity - 1);
    return &map->slots[i];
}

void *id_map_find(const id_map *map, uint64_t key)
{
    return map->capacity == 0 || key == 0 ? NULL : slot_of(map, key)->thing;
}

static corral_status grow(id_map *map)
{
    id_map larger = {.capacity = map->capacity == 0 ? FIRST_CAPACITY : map->capacity * 2};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (larger.slots == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a larger table");
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].key != 0) *slot_of(&larger, map->slots[i].key) = map->slots[i];
    larger.count = map->count;
    free(map->slots);
    *map = larger;
    return CORRAL_OK;
}

corral_status id_map_put(id_map *map, uint64_t key, void *thing)
{
    if (map->count * 2 >= map->capacity) {
        const corral_status status = grow(map);
        if (status != CORRAL_OK) return status;
    }
    id_map_slot *slot = slot_of(map, key);
    if (slot->key == 0) map->count++;
    *slot = (id_map_slot){key, thing};
    return CORRAL_OK;
}

void id_map_remove(id_map *map, uint64_t key)
{
    if (map->capacity == 0 || key == 0) return;
    id_map_slot *slot = slot_of(map, key);
    if (slot->key == 0) return;
    map->count--;
    const size_t mask = map->capacity - 1;
    size_t hole = (size_t)(slot - map->slots);
    for (size_t i = (hole + 1) & mask; map->slots[i].key != 0; i = (i + 1) & mask) {
        // It may move up to the hole unless its home lies between the two.
        const size_t home = home_of(map, map->slots[i].key);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole] = (id_map_slot){0};
}

void id_map_finish(id_map *map)
{
    free(map->slots);
    *map = (id_map){0};
}
