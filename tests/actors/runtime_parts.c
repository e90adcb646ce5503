// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The runtime's parts, each alone: resources under chance, the table of ids, packed specs.
#include "../../actors/runtime/id_map.h"
#include "../../actors/runtime/resources.h"
#include "../../actors/runtime/spec.h"

#include "corral/actors/message.h"
#include "corral/base/rng.h"
#include "test.h"

// --- resources ---------------------------------------------------------------------------------------------

enum { GPUS = 4, HOLDERS = 64, ROUNDS = 20000 };

// The sums over those who hold something are what the pool says, and within what there is.
static bool holds_what_it_says(const resource_pool *pool, const resource_grant *grants, const bool *lent)
{
    int64_t used[RESOURCE_KINDS_MAX] = {0}, gpu[GPUS] = {0};
    for (size_t h = 0; h < HOLDERS; h++) {
        for (size_t k = 0; k < pool->kinds; k++)
            if (!(lent[h] && k == RESOURCE_CPUS)) used[k] += grants[h].demand.amount[k];
        const int64_t wanted = grants[h].demand.amount[RESOURCE_GPUS];
        for (size_t g = 0; g < GPUS; g++)
            if ((grants[h].gpus >> g & 1) != 0) gpu[g] += wanted < RESOURCE_UNIT ? wanted : RESOURCE_UNIT;
    }
    for (size_t k = 0; k < pool->kinds; k++)
        if (used[k] != pool->used[k] || used[k] > pool->total[k]) return false;
    for (size_t g = 0; g < GPUS; g++)
        if (gpu[g] != pool->gpu_used[g] || gpu[g] > RESOURCE_UNIT) return false;
    return true;
}

static void random_demand(corral_rng *rng, const resource_pool *pool, resource_demand *out_demand)
{
    static const double gpus[] = {0, 0, 0.25, 0.5, 1, 2, 4};
    static const double cpus[] = {0, 0.1, 0.5, 1, 2.5, 8};
    const corral_resource licence = {"licence", (double)corral_rng_integer(rng, 3)};
    TEST_OK(resource_demand_init(pool, "x", cpus[corral_rng_integer(rng, 6)],
                                 gpus[corral_rng_integer(rng, 7)], &licence, 1, out_demand));
}

static void nothing_is_given_twice(void)
{
    const corral_resource licences = {"licence", 3};
    resource_pool pool;
    TEST_OK(resource_pool_init(&pool, 8, GPUS, &licences, 1));
    static resource_grant grants[HOLDERS];
    static bool held[HOLDERS], lent[HOLDERS];
    corral_rng rng;
    corral_rng_seed(&rng, 17);
    bool right = true;
    unsigned taken = 0, refused = 0;
    for (int round = 0; round < ROUNDS && right; round++) {
        const size_t h = (size_t)corral_rng_integer(&rng, HOLDERS);
        if (!held[h]) {
            resource_demand demand;
            random_demand(&rng, &pool, &demand);
            const bool fits = resource_fits(&pool, &demand);
            held[h] = resource_take(&pool, &demand, &grants[h]);
            right = right && fits == held[h];
            taken += held[h];
            refused += !held[h];
        } else if (lent[h]) {
            lent[h] = !resource_take_back_cpus(&pool, &grants[h]);
        } else if (corral_rng_integer(&rng, 3) == 0) {
            resource_lend_cpus(&pool, &grants[h]);
            lent[h] = true;
        } else {
            resource_give(&pool, &grants[h]);
            held[h] = false;
        }
        right = right && holds_what_it_says(&pool, grants, lent);
    }
    CU_ASSERT_TRUE(right);
    CU_ASSERT_TRUE(taken > 1000 && refused > 1000);
}

static void demands_are_checked(void)
{
    resource_pool pool;
    resource_demand demand;
    TEST_OK(resource_pool_init(&pool, 2, 1, NULL, 0));
    const corral_resource twice[] = {{"cpus", 1}, {"cpus", 1}};
    TEST_FAILS(resource_demand_init(&pool, "task \"t\"", 1, 0, twice, 2, &demand), CORRAL_ERROR_INFEASIBLE,
               "3 cpus");
    TEST_FAILS(resource_demand_init(&pool, "task \"t\"", 0, 2, NULL, 0, &demand), CORRAL_ERROR_INFEASIBLE,
               "task \"t\": 2 gpus asked for, there are 1");
    TEST_FAILS(resource_demand_init(&pool, "t", NAN, 0, NULL, 0, &demand), CORRAL_ERROR_INVALID, "nan cpus");
    TEST_OK(resource_demand_init(&pool, "t", 1e-9, 0.5, NULL, 0, &demand));
    char text[64];
    resource_demand_describe(&pool, &demand, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, "0.0001 cpus, 0.5 gpus");
    TEST_OK(resource_pool_init(&pool, 2, 4, NULL, 0));
    TEST_FAILS(resource_demand_init(&pool, "t", 0, 1.5, NULL, 0, &demand), CORRAL_ERROR_INVALID,
               "whole ones");
    TEST_FAILS(resource_pool_init(&pool, 2, 0.5, NULL, 0), CORRAL_ERROR_INVALID, "whole number");
    TEST_FAILS(resource_pool_init(&pool, 2, 0, twice, 2), CORRAL_ERROR_EXISTS, "cpus");
}

// --- the table ---------------------------------------------------------------------------------------------

static void the_table_keeps_what_it_has(void)
{
    enum { KEYS = 500, STEPS = 100000 };
    static int things[KEYS];
    static bool there[KEYS];
    id_map map = {0};
    corral_rng rng;
    corral_rng_seed(&rng, 5);
    bool right = true;
    size_t count = 0;
    for (int step = 0; step < STEPS; step++) {
        const size_t k = (size_t)corral_rng_integer(&rng, KEYS);
        const uint64_t key = (uint64_t)(k % 7) << 40 | (k + 1); // as ids are
        right = right && id_map_find(&map, key) == (there[k] ? &things[k] : NULL);
        if (there[k])
            id_map_remove(&map, key);
        else
            TEST_OK(id_map_put(&map, key, &things[k]));
        count += there[k] ? SIZE_MAX : 1;
        there[k] = !there[k];
        right = right && map.count == count;
    }
    CU_ASSERT_TRUE(right);
    id_map_finish(&map);
}

// --- specs -------------------------------------------------------------------------------------------------

static size_t pack_example(uint8_t *bytes)
{
    static const uint8_t data[100] = {1, 2, 3};
    const corral_argument arguments[] = {corral_argument_bytes(data, 100), corral_argument_text("seven"),
                                         corral_argument_bytes(NULL, 0)};
    spec s = {.name = "fold", .label = "name"};
    s.head = (spec_head){.kind = SPEC_TASK, .cpus = 1, .name_size = 4, .label_size = 4, .resource_count = 1};
    s.head.argument_count = 3;
    s.resources[0] = (corral_resource){"licence", 0.5};
    const size_t size = spec_size(&s, arguments);
    spec_pack(&s, arguments, bytes);
    return size;
}

static void specs_travel(void)
{
    _Alignas(64) static uint8_t bytes[1024];
    const size_t size = pack_example(bytes);
    spec s;
    TEST_OK(spec_read(bytes, size, &s));
    CU_ASSERT_STRING_EQUAL(s.name, "fold");
    CU_ASSERT_STRING_EQUAL(s.label, "name");
    CU_ASSERT_STRING_EQUAL(s.resources[0].name, "licence");
    CU_ASSERT_EQUAL(s.resources[0].amount, 0.5);
    size_t offset = s.payload;
    const uint8_t *first = spec_next_bytes(&s, 0, &offset), *second = spec_next_bytes(&s, 1, &offset);
    CU_ASSERT_TRUE((uintptr_t)first % 64 == 0 && first[2] == 3);
    CU_ASSERT_EQUAL(memcmp(second, "seven", 5), 0);
}

// Whatever is changed or cut off: an error, or a spec that lies within its bytes.
static void damaged_specs_are_refused(void)
{
    _Alignas(64) static uint8_t bytes[1024];
    const size_t size = pack_example(bytes);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *exact = malloc(cut + 1); // for the sanitizer
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        memcpy(exact, bytes, cut);
        spec s;
        CU_ASSERT_EQUAL(spec_read(exact, cut, &s), CORRAL_ERROR_CORRUPT);
        free(exact);
    }
    corral_rng rng;
    corral_rng_seed(&rng, 3);
    unsigned refused = 0;
    for (int round = 0; round < 20000; round++) {
        uint8_t *exact = malloc(size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        memcpy(exact, bytes, size);
        for (int k = 0; k < 3; k++)
            exact[corral_rng_integer(&rng, 200)] = (uint8_t)corral_rng_u32(&rng);
        spec s;
        const corral_status status = spec_read(exact, size, &s);
        refused += status != CORRAL_OK;
        size_t offset = s.payload;
        unsigned sum = 0;
        for (size_t i = 0; status == CORRAL_OK && i < s.head.argument_count; i++) {
            const uint8_t *data = spec_next_bytes(&s, i, &offset);
            for (size_t at = 0; data != NULL && at < spec_argument_at(&s, i).size; at++)
                sum += data[at];
        }
        CU_ASSERT_TRUE(sum < 255 * 1024);
        free(exact);
    }
    CU_ASSERT_TRUE(refused > 1000);
}

int main(void)
{
    return test_run("the runtime's parts", (test_case[]){
                                               {"nothing is given twice", nothing_is_given_twice},
                                               {"demands are checked", demands_are_checked},
                                               {"the table keeps what it has", the_table_keeps_what_it_has},
                                               {"specs travel", specs_travel},
                                               {"damaged specs are refused", damaged_specs_are_refused},
                                               {NULL, NULL},
                                           });
}
