// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/policy/space.h"

#include <math.h>

static const size_t size_limit = (size_t)1 << 24; // floats of an encoded row
static const uint32_t bytes_limit = (uint32_t)1 << 28;

size_t corral_part_element_bytes(uint32_t dtype)
{
    static const size_t bytes[] = {
        [CORRAL_PART_F32] = 4, [CORRAL_PART_F64] = 8, [CORRAL_PART_U8] = 1, [CORRAL_PART_I32] = 4};
    return dtype < sizeof bytes / sizeof *bytes ? bytes[dtype] : 0;
}

size_t corral_part_size(const corral_part *part)
{
    return part->kind == CORRAL_PART_CHOICES ? (size_t)part->count * part->choices : part->count;
}

size_t corral_policy_space_size(const corral_policy_space *space)
{
    size_t size = 0;
    for (uint32_t k = 0; k < space->part_count; k++)
        size += corral_part_size(&space->part[k]);
    return size;
}

static bool kind_is_sound(const corral_part *part)
{
    switch (part->kind) {
    case CORRAL_PART_NUMBERS:
        return part->low <= part->high;
    case CORRAL_PART_BINARY:
        return true;
    case CORRAL_PART_CHOICES:
        return part->choices > 0 && (part->dtype == CORRAL_PART_I32 || part->dtype == CORRAL_PART_U8);
    case CORRAL_PART_IMAGE:
        return part->dtype == CORRAL_PART_U8 && part->channels > 0 && part->height > 0 && part->width > 0 &&
               part->channels <= size_limit && part->height <= size_limit && part->width <= size_limit &&
               (uint64_t)part->channels * part->height <= size_limit &&
               (uint64_t)part->channels * part->height * part->width == part->count;
    default:
        return false;
    }
}

static bool part_is_sound(const corral_part *part, uint32_t row_bytes)
{
    const uint64_t bytes = corral_part_element_bytes(part->dtype);
    return bytes > 0 && part->count > 0 && part->offset % bytes == 0 &&
           part->offset + bytes * part->count <= row_bytes && kind_is_sound(part);
}

corral_status corral_policy_space_check(const corral_policy_space *space)
{
    if (space->part_count > CORRAL_PARTS_MAX || space->row_bytes > bytes_limit ||
        (space->part_count > 0 && space->row_bytes % 4 != 0))
        return corral_fail(CORRAL_ERROR_INVALID, "a policy's space has %u parts in %u bytes",
                           space->part_count, space->row_bytes);
    size_t size = 0;
    for (uint32_t k = 0; k < space->part_count; k++) {
        const corral_part *part = &space->part[k];
        if (!part_is_sound(part, space->row_bytes))
            return corral_fail(CORRAL_ERROR_INVALID, "part %u of a policy's space makes no sense", k);
        size += corral_part_size(part); // each below 2^60
        if (size > size_limit)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "a policy's space takes more than %zu numbers for a network", size_limit);
    }
    return CORRAL_OK;
}

static bool same_part(const corral_part *a, const corral_part *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->offset == b->offset && a->count == b->count &&
           a->start == b->start && a->choices == b->choices && a->channels == b->channels &&
           a->height == b->height && a->width == b->width && a->channels_last == b->channels_last &&
           a->low == b->low && a->high == b->high;
}

bool corral_policy_space_equal(const corral_policy_space *a, const corral_policy_space *b)
{
    if (a->part_count != b->part_count || (a->part_count > 0 && a->row_bytes != b->row_bytes)) return false;
    for (uint32_t k = 0; k < a->part_count; k++)
        if (!same_part(&a->part[k], &b->part[k])) return false;
    return true;
}
