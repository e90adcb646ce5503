// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What the examiner looks at after each call, where a rule asks for it.

#include "stage.h"

#include "../batch_rows.h"

#include <math.h>
#include <string.h>

// --- values

static bool in_space(stage *s, uint32_t environment)
{
    for (uint32_t k = 0; k < s->type->spaces.observation_count; k++) {
        const corral_space *leaf = &s->type->spaces.observation[k];
        size_t index;
        double value, low, high;
        const void *row = guarded_row(&s->observation[k], environment);
        if (!corral_rows_find_outside(leaf, row, &index, &value)) continue;
        corral_rows_bounds(leaf, index, &low, &high);
        const char *mark = leaf->path[0] != '\0' ? "\"" : "", *gap = leaf->path[0] != '\0' ? " " : "";
        if (!isfinite(value))
            return STAGE_FAIL(s, environment, "observation%s%s%s%s, element %zu is %g (or was not written)",
                              gap, mark, leaf->path, mark, index, value);
        return STAGE_FAIL(s, environment, "observation%s%s%s%s, element %zu: %.9g is outside [%.9g, %.9g]",
                          gap, mark, leaf->path, mark, index, value, low, high);
    }
    return true;
}

static bool is_flag(uint8_t value)
{
    return value <= 1;
}

static bool result_is_sound(stage *s, uint32_t environment)
{
    const double reward = stage_reward(s)[environment];
    if (!isfinite(reward)) return STAGE_FAIL(s, environment, "the reward is %g (or was not written)", reward);
    if (!is_flag(stage_terminated(s)[environment]))
        return STAGE_FAIL(s, environment, "terminated is %u (or was not written); it must be 0 or 1",
                          stage_terminated(s)[environment]);
    if (!is_flag(stage_truncated(s)[environment]))
        return STAGE_FAIL(s, environment, "truncated is %u; it must be 0 or 1",
                          stage_truncated(s)[environment]);
    if (!is_flag(stage_failed(s)[environment]))
        return STAGE_FAIL(s, environment, "failed is %u; it must be 0 or 1", stage_failed(s)[environment]);
    return true;
}

bool corral_stage_inspect_values(stage *s, bool reset)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (reset && !s->mask[i]) continue;
        if (!reset && !result_is_sound(s, i)) return false;
        if (!in_space(s, i)) return false;
    }
    return true;
}

// --- memory

static void copy_rows(const guarded *from, const guarded *to)
{
    memcpy(to->data, from->data, from->stride * from->count);
}

void corral_stage_remember(stage *s)
{
    for (uint32_t k = 0; k < s->type->spaces.observation_count; k++)
        copy_rows(&s->observation[k], &s->observation_before[k]);
    for (uint32_t k = 0; k < s->type->spaces.action_count; k++)
        copy_rows(&s->action[k], &s->action_before[k]);
}

static bool guards_are_intact(stage *s, const guarded *rows, const char *what)
{
    uint32_t row;
    if (corral_guarded_intact(rows, &row)) return true;
    if (row == UINT32_MAX) return STAGE_FAIL(s, 0, "bytes before its first %s were written", what);
    return STAGE_FAIL(s, rows->count > 1 ? row : 0, "bytes behind its %s were written", what);
}

/// A row that a call may not change.
static bool row_is_same(stage *s, const guarded *rows, const guarded *before, uint32_t i, const char *what)
{
    if (memcmp(guarded_row(rows, i), guarded_row(before, i), rows->width) == 0) return true;
    return STAGE_FAIL(s, i, "%s", what);
}

/// The host gives each instance whole cache lines; what is behind its size stays zero.
static bool instances_kept_to_themselves(stage *s)
{
    enum { LINE = 64 };
    if (s->rules.single == NULL) return true;
    const size_t size = s->type->single->instance_size, end = (size + LINE - 1) / LINE * LINE;
    for (uint32_t i = 0; i < s->count; i++) {
        const uint8_t *instance = corral_single_instance(s->rules.single, i);
        for (size_t b = size; b < end; b++)
            if (instance[b] != 0)
                return STAGE_FAIL(s, i, "byte %zu of its instance was written; instance_size is %zu", b,
                                  size);
    }
    return true;
}

bool corral_stage_inspect_memory(stage *s, bool reset)
{
    const corral_env_spaces *spaces = &s->type->spaces;
    bool ok = true;
    for (uint32_t k = 0; k < spaces->observation_count && ok; k++) {
        ok = guards_are_intact(s, &s->observation[k], "observation row");
        for (uint32_t i = 0; reset && i < s->count && ok; i++)
            ok = s->mask[i] || row_is_same(s, &s->observation[k], &s->observation_before[k], i,
                                           "a reset of others changed its observation row");
    }
    for (uint32_t k = 0; k < spaces->action_count && ok; k++) {
        ok = guards_are_intact(s, &s->action[k], "action row");
        for (uint32_t i = 0; !reset && i < s->count && ok; i++)
            ok = row_is_same(s, &s->action[k], &s->action_before[k], i, "the step changed its action row");
    }
    ok = ok && guards_are_intact(s, &s->reward, "rewards") &&
         guards_are_intact(s, &s->terminated, "terminated flags") &&
         guards_are_intact(s, &s->truncated, "truncated flags") &&
         guards_are_intact(s, &s->failed, "failed flags");
    return ok && instances_kept_to_themselves(s);
}
