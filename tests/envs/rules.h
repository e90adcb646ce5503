// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A batch of rules below the host, stepped by hand: for tests that set states and compare what comes of
/// them.
#ifndef CORRAL_TEST_RULES_H
#define CORRAL_TEST_RULES_H

#include "bits.h"

#include "corral/base/rng.h"
#include "corral/envs/registry.h"

#include "test.h"

enum { RULES_MAX = 67, RULES_WIDTH = 6, RULES_LEAVES = 3, RULES_PARAMS = 16 };

typedef struct rules {
    const corral_env_type *type;
    void *batch;
    uint32_t count;
    double values[RULES_PARAMS];
    union {
        int32_t discrete[RULES_MAX];
        float box[RULES_MAX];
    } action;
    float box[RULES_MAX][RULES_WIDTH];         // observations of a Box
    int32_t discrete[RULES_LEAVES][RULES_MAX]; // of DISCRETE leaves
    double reward[RULES_MAX];
    uint8_t terminated[RULES_MAX], truncated[RULES_MAX], failed[RULES_MAX];
    corral_env_rows action_rows, observation_rows[RULES_LEAVES];
    corral_env_step io;
} rules;

static inline void rules_find(rules *r, const char *id)
{
    memset(r, 0, sizeof *r);
    TEST_OK(corral_env_find(id, &r->type));
    for (uint32_t i = 0; i < r->type->param_count; i++)
        r->values[i] = r->type->params[i].default_value;
}

static inline void rules_set(rules *r, const char *name, double value)
{
    for (uint32_t i = 0; i < r->type->param_count; i++) {
        if (strcmp(r->type->params[i].name, name) != 0) continue;
        r->values[i] = value;
        return;
    }
    fprintf(stderr, "%s: no parameter %s\n", r->type->id, name);
    CU_FAIL_FATAL("no such parameter");
}

/// Made and reset with seeds 1000, 1001, ...
static inline void rules_open(rules *r, uint32_t count)
{
    r->count = count;
    CU_ASSERT_EQUAL_FATAL(r->type->batch->create(corral_env_host_default(), count, r->values, &r->batch), 0);
    r->action_rows = (corral_env_rows){&r->action, sizeof(int32_t)};
    const bool is_box = r->type->spaces.observation->kind == CORRAL_SPACE_BOX;
    for (int k = 0; k < RULES_LEAVES; k++)
        r->observation_rows[k] = is_box ? (corral_env_rows){r->box, sizeof r->box[0]}
                                        : (corral_env_rows){r->discrete[k], sizeof r->discrete[k][0]};
    r->io = (corral_env_step){sizeof r->io, &r->action_rows, r->observation_rows, r->reward, r->terminated,
                              r->truncated, r->failed};
    uint64_t seed[RULES_MAX];
    for (uint32_t i = 0; i < count; i++)
        seed[i] = 1000 + i;
    CU_ASSERT_EQUAL_FATAL(r->type->batch->reset(r->batch, NULL, seed, &r->io), 0);
}

static inline void rules_close(rules *r)
{
    r->type->batch->destroy(r->batch);
    r->batch = NULL;
}

static inline void rules_reset_one(rules *r, uint32_t row, uint64_t seed)
{
    uint64_t seeds[RULES_MAX];
    uint8_t mask[RULES_MAX] = {0};
    for (uint32_t i = 0; i < r->count; i++)
        seeds[i] = 7;
    seeds[row] = seed;
    mask[row] = 1;
    CU_ASSERT_EQUAL_FATAL(r->type->batch->reset(r->batch, mask, seeds, &r->io), 0);
}

static inline const corral_env_state *rules_state(const rules *r)
{
    const corral_env_state *extension = r->type->extension(CORRAL_ENV_STATE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(extension);
    return extension;
}

/// `row` takes `action`, the others something else that they may.
static inline void rules_step(rules *r, uint32_t row, double action, uint64_t step)
{
    const corral_space *space = r->type->spaces.action;
    const bool is_box = space->kind == CORRAL_SPACE_BOX;
    for (uint32_t i = 0; i < r->count; i++) {
        const double u = corral_stream_double(i, step);
        if (is_box)
            r->action.box[i] = (float)(i == row ? action : space->low + u * (space->high - space->low));
        else
            r->action.discrete[i] = (int32_t)(i == row ? action : u * (double)space->n);
    }
    CU_ASSERT_EQUAL_FATAL(r->type->batch->step(r->batch, &r->io), 0);
}

/// Draws row `row` into `items` and checks that every item is one.
static inline uint32_t rules_draw(const rules *r, uint32_t row, corral_draw *items, uint32_t limit)
{
    const corral_env_render *render = r->type->extension(CORRAL_ENV_RENDER);
    CU_ASSERT_PTR_NOT_NULL_FATAL(render);
    const uint32_t count = render->draw(r->batch, row, items, limit);
    CU_ASSERT_TRUE_FATAL(count > 0 && count <= limit);
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_TRUE(items[i].kind >= CORRAL_DRAW_LINE && items[i].kind <= CORRAL_DRAW_TEXT);
        CU_ASSERT_TRUE(items[i].point_count >= 1 && items[i].point_count <= CORRAL_DRAW_POINTS);
        for (uint32_t p = 0; p < items[i].point_count; p++) {
            CU_ASSERT_TRUE(items[i].point[p][0] > -60 && items[i].point[p][0] < render->width + 60);
            CU_ASSERT_TRUE(items[i].point[p][1] > -60 && items[i].point[p][1] < render->height + 60);
        }
    }
    if (count > 1) { // beyond the limit nothing is written
        items[1].kind = 99;
        CU_ASSERT_EQUAL(render->draw(r->batch, row, items, 1), count);
        CU_ASSERT_EQUAL(items[1].kind, 99);
    }
    return count;
}

#endif
