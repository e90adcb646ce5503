// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Which choices are allowed now: one byte for each choice of each element, in the order of the leaves.

#include "batch_internal.h"

#include "corral/envs/registry.h"

/// How many choices element i of a leaf has; 0 for a number.
static size_t choices_of(const corral_space *leaf, size_t i)
{
    switch (leaf->kind) {
    case CORRAL_SPACE_DISCRETE:
        return (size_t)leaf->n;
    case CORRAL_SPACE_MULTI_DISCRETE:
        return (size_t)leaf->nvec[i];
    case CORRAL_SPACE_MULTI_BINARY:
        return 2;
    default:
        return 0;
    }
}

size_t corral_env_mask_bytes(const corral_env_spaces *spaces)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < spaces->action_count; k++) {
        const corral_space *leaf = &spaces->action[k];
        for (size_t i = 0; leaf->kind != CORRAL_SPACE_BOX && i < corral_space_count(leaf); i++)
            bytes += choices_of(leaf, i);
    }
    return bytes;
}

bool corral_env_mask_possible(const corral_env_spaces *spaces, const uint8_t *mask)
{
    for (uint32_t k = 0; k < spaces->action_count; k++) {
        const corral_space *leaf = &spaces->action[k];
        for (size_t i = 0; leaf->kind != CORRAL_SPACE_BOX && i < corral_space_count(leaf); i++) {
            uint8_t allowed = 0;
            for (size_t c = choices_of(leaf, i); c-- > 0;)
                allowed |= *mask++;
            if (!allowed) return false;
        }
    }
    return true;
}

corral_status corral_env_batch_masks(const corral_env_batch *batch, uint8_t *out_masks)
{
    const corral_env_type *type = batch->type;
    const corral_env_action_mask *extension = corral_env_extension(type, CORRAL_ENV_ACTION_MASK);
    CORRAL_ASSERT(extension != NULL);
    const size_t bytes = corral_env_mask_bytes(&type->spaces);
    for (uint32_t row = 0; row < batch->count; row++, out_masks += bytes) {
        uint32_t index;
        const void *handle = corral_env_batch_handle(batch, row, &index);
        extension->mask(handle, index, out_masks);
        for (size_t i = 0; i < bytes; i++)
            out_masks[i] = out_masks[i] != 0;
        if (corral_env_mask_possible(&type->spaces, out_masks)) continue;
        return corral_fail(CORRAL_ERROR_ENVIRONMENT,
                           "%s: environment %llu, seed %llu, step %u: its mask allows no action", type->id,
                           (unsigned long long)batch->first_index + row, (unsigned long long)batch->seed[row],
                           batch->length[row]);
    }
    return CORRAL_OK;
}
