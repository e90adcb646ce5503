// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "spaces.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>

_Static_assert((int)CORRAL_PART_F32 == (int)CORRAL_SPACE_F32 &&
                   (int)CORRAL_PART_F64 == (int)CORRAL_SPACE_F64 &&
                   (int)CORRAL_PART_U8 == (int)CORRAL_SPACE_U8 &&
                   (int)CORRAL_PART_I32 == (int)CORRAL_SPACE_I32,
               "one numbering of element types");

static corral_status unusable(const corral_env_type *type, const char *what, const corral_space *space,
                              const char *need)
{
    char *text = corral_space_describe(space);
    const corral_status status = corral_fail(
        CORRAL_ERROR_UNSUPPORTED, "%s: its %s space%s%s%s is not one that a policy can use; it needs %s",
        type->id, what, text != NULL ? " (" : "", text != NULL ? text : "", text != NULL ? ")" : "", need);
    free(text);
    return status;
}

// --- parts ------------------------------------------------------------------------------------------------

/// Frames [height, width], or three dimensions of which the smallest at an end is that of the channels.
static bool describe_image(const corral_space *leaf, corral_part *part)
{
    enum { SMALLEST = 8 }; // smaller ones are numbers
    const uint32_t *shape = leaf->shape;
    if (leaf->dtype != CORRAL_SPACE_U8 || leaf->dimension_count < 2 || leaf->dimension_count > 3)
        return false;
    part->channels = 1;
    part->height = shape[0];
    part->width = shape[1];
    if (leaf->dimension_count == 3) {
        part->channels_last = shape[2] < shape[0];
        part->channels = part->channels_last ? shape[2] : shape[0];
        part->height = part->channels_last ? shape[0] : shape[1];
        part->width = part->channels_last ? shape[1] : shape[2];
    }
    if (part->height >= SMALLEST && part->width >= SMALLEST) {
        part->kind = CORRAL_PART_IMAGE;
        return true;
    }
    part->channels = part->height = part->width = part->channels_last = 0;
    return false;
}

/// Appends a part; false where there is no room for it.
static bool add_part(corral_policy_space *space, const corral_part *part)
{
    if (space->part_count == CORRAL_PARTS_MAX) return false;
    space->part[space->part_count++] = *part;
    return true;
}

/// Elements with equally many choices, side by side, are one part.
static bool add_choices(corral_policy_space *space, const corral_space *leaf, uint32_t offset)
{
    const uint32_t count = (uint32_t)corral_space_count(leaf);
    for (uint32_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && leaf->nvec[i + run] == leaf->nvec[i];)
            run++;
        const corral_part part = {.kind = CORRAL_PART_CHOICES,
                                  .dtype = leaf->dtype,
                                  .offset = offset + i * (uint32_t)sizeof(int32_t),
                                  .count = run,
                                  .choices = (uint32_t)leaf->nvec[i]};
        if (!add_part(space, &part)) return false;
    }
    return true;
}

static bool add_leaf(corral_policy_space *space, const corral_space *leaf, uint32_t offset)
{
    corral_part part = {.dtype = leaf->dtype, .offset = offset, .count = (uint32_t)corral_space_count(leaf)};
    switch (leaf->kind) {
    case CORRAL_SPACE_DISCRETE:
        part.kind = CORRAL_PART_CHOICES;
        part.start = (int32_t)leaf->start;
        part.choices = (uint32_t)leaf->n;
        return add_part(space, &part);
    case CORRAL_SPACE_MULTI_DISCRETE:
        return add_choices(space, leaf, offset);
    case CORRAL_SPACE_MULTI_BINARY:
        part.kind = CORRAL_PART_BINARY;
        return add_part(space, &part);
    default:
        if (!describe_image(leaf, &part)) part.kind = CORRAL_PART_NUMBERS;
        return add_part(space, &part);
    }
}

/// Lays leaves out in a row, each aligned to its elements and the row to the largest of them, at least 4
/// bytes.
static bool lay_out(const corral_space *leaves, uint32_t count, uint32_t *out_offset, uint32_t *out_bytes)
{
    uint64_t end = 0, alignment = 4;
    for (uint32_t k = 0; k < count; k++) {
        const uint64_t element = corral_part_element_bytes(leaves[k].dtype);
        if (element > alignment) alignment = element;
        end = (end + element - 1) / element * element;
        out_offset[k] = (uint32_t)end;
        end += corral_space_bytes(&leaves[k]);
        if (end > (uint64_t)1 << 28) return false;
    }
    *out_bytes = (uint32_t)((end + alignment - 1) / alignment * alignment);
    return true;
}

// --- observations and actions -----------------------------------------------------------------------------

static bool is_plain(const corral_policy_space *space)
{
    return space->part_count == 1 && space->part[0].kind == CORRAL_PART_NUMBERS &&
           space->part[0].dtype == CORRAL_PART_F32;
}

static corral_status init_observation(environment_spaces *s, const corral_env_type *type)
{
    const corral_space *leaves = type->spaces.observation;
    corral_policy_space *space = &s->observation;
    s->observation_leaves = type->spaces.observation_count;
    if (s->observation_leaves > SPACES_LEAVES_MAX)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s: its observation has %u leaves; %d are possible",
                           type->id, s->observation_leaves, SPACES_LEAVES_MAX);
    if (!lay_out(leaves, s->observation_leaves, s->observation_offset, &s->observation_bytes))
        return unusable(type, "observation", leaves, "less than 256 MiB");
    for (uint32_t k = 0; k < s->observation_leaves; k++)
        if (!add_leaf(space, &leaves[k], s->observation_offset[k]))
            return unusable(type, "observation", &leaves[k],
                            "fewer different numbers of choices, 128 in all");
    space->row_bytes = s->observation_bytes;
    const corral_status status = corral_policy_space_check(space);
    if (status != CORRAL_OK) return corral_fail_within(status, "%s", type->id);
    s->observation_size = (uint32_t)corral_policy_space_size(space);
    if (is_plain(space)) *space = (corral_policy_space){0};
    return CORRAL_OK;
}

/// One plain choice.
static corral_status init_choice(environment_spaces *s, const corral_env_type *type)
{
    const corral_space *action = type->spaces.action;
    if (action->n > 1 << 20) return unusable(type, "action", action, "at most 2^20 actions");
    s->action_count = (uint32_t)action->n;
    s->action_start = action->start;
    s->action = (corral_policy_space){0};
    return CORRAL_OK;
}

/// To a policy each element of a MultiBinary is one of two choices.
static void take_binaries(corral_policy_space *space)
{
    for (uint32_t k = 0; k < space->part_count; k++) {
        if (space->part[k].kind != CORRAL_PART_BINARY) continue;
        space->part[k].kind = CORRAL_PART_CHOICES;
        space->part[k].choices = 2;
    }
}

static void set_bounds(corral_part *part, const corral_space *leaf, size_t i)
{
    part->low = leaf->low_each != NULL ? leaf->low_each[i] : leaf->low;
    part->high = leaf->high_each != NULL ? leaf->high_each[i] : leaf->high;
}

/// Elements with the same bounds, side by side, are one part.
static bool add_numbers(corral_policy_space *space, const corral_space *leaf, uint32_t offset)
{
    const uint32_t count = (uint32_t)corral_space_count(leaf);
    for (uint32_t i = 0, run; i < count; i += run) {
        corral_part part = {.kind = CORRAL_PART_NUMBERS, .dtype = leaf->dtype}, next = part;
        set_bounds(&part, leaf, i);
        for (run = 1; i + run < count; run++) {
            set_bounds(&next, leaf, i + run);
            if (next.low != part.low || next.high != part.high) break;
        }
        part.offset = offset + i * (uint32_t)corral_part_element_bytes(leaf->dtype);
        part.count = run;
        if (!add_part(space, &part)) return false;
    }
    return true;
}

static corral_status init_action(environment_spaces *s, const corral_env_type *type)
{
    const corral_space *leaves = type->spaces.action;
    corral_policy_space *space = &s->action;
    s->action_leaves = type->spaces.action_count;
    if (s->action_leaves > SPACES_LEAVES_MAX)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s: its action has %u leaves; %d are possible",
                           type->id, s->action_leaves, SPACES_LEAVES_MAX);
    if (!lay_out(leaves, s->action_leaves, s->action_offset, &s->action_bytes))
        return unusable(type, "action", leaves, "less than 256 MiB");
    if (corral_env_extension(type, CORRAL_ENV_ACTION_MASK) != NULL)
        s->mask_bytes = (uint32_t)corral_env_mask_bytes(&type->spaces);
    if (s->action_leaves == 1 && leaves->kind == CORRAL_SPACE_DISCRETE) return init_choice(s, type);
    for (uint32_t k = 0; k < s->action_leaves; k++) {
        const bool numbers = leaves[k].kind == CORRAL_SPACE_BOX;
        if (!(numbers ? add_numbers : add_leaf)(space, &leaves[k], s->action_offset[k]))
            return unusable(type, "action", &leaves[k],
                            "fewer different bounds or numbers of choices, 128 in all");
    }
    take_binaries(space);
    space->row_bytes = s->action_bytes;
    const corral_status status = corral_policy_space_check(space);
    if (status != CORRAL_OK) return corral_fail_within(status, "%s", type->id);
    s->action_count = (uint32_t)corral_policy_action_inputs(space);
    return CORRAL_OK;
}

corral_status environment_spaces_init(environment_spaces *spaces, const corral_env_type *type)
{
    *spaces = (environment_spaces){0};
    corral_status status = init_observation(spaces, type);
    if (status == CORRAL_OK) status = init_action(spaces, type);
    return status;
}

void environment_spaces_describe(const environment_spaces *spaces, bool masked, corral_policy_config *policy)
{
    policy->observation_size = spaces->observation_size;
    policy->observation = spaces->observation;
    policy->action_count = spaces->action_count;
    policy->action_start = spaces->action_start;
    policy->action = spaces->action;
    policy->masked = masked && spaces->mask_bytes > 0;
}

corral_status environment_spaces_fit(const environment_spaces *spaces, const char *id,
                                     const corral_policy_config *policy)
{
    if (spaces->observation_size == policy->observation_size &&
        corral_policy_space_equal(&spaces->observation, &policy->observation) &&
        spaces->action_count == policy->action_count &&
        corral_policy_space_equal(&spaces->action, &policy->action) &&
        (!policy->masked || spaces->mask_bytes > 0))
        return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID,
                       "%s does not fit the policy, which takes %u observation elements and has %u %s", id,
                       policy->observation_size, policy->action_count,
                       policy->action.part_count == 0 ? "actions" : "inputs to draw its actions from");
}

static void rows_of(const uint32_t *offset, uint32_t count, void *base, size_t stride,
                    corral_env_rows *out_rows)
{
    for (uint32_t k = 0; k < count; k++)
        out_rows[k] = (corral_env_rows){(char *)base + offset[k], stride};
}

void environment_observation_rows(const environment_spaces *spaces, void *base, size_t stride,
                                  corral_env_rows out_rows[SPACES_LEAVES_MAX])
{
    rows_of(spaces->observation_offset, spaces->observation_leaves, base, stride, out_rows);
}

void environment_action_rows(const environment_spaces *spaces, void *base, size_t stride,
                             corral_env_rows out_rows[SPACES_LEAVES_MAX])
{
    rows_of(spaces->action_offset, spaces->action_leaves, base, stride, out_rows);
}
