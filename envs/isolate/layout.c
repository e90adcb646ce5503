// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "isolate.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <stdbool.h>

static size_t place(size_t *size, size_t bytes)
{
    const size_t at = *size;
    *size += (bytes + 63) / 64 * 64;
    return at;
}

isolate_layout isolate_lay_out(const corral_env_type *type)
{
    const corral_env_spaces *spaces = &type->spaces;
    const corral_env_state *state = corral_env_extension(type, CORRAL_ENV_STATE);
    isolate_layout l = {0};
    place(&l.size, sizeof(isolate_head));
    l.values = place(&l.size, type->param_count * sizeof(double));
    for (uint32_t k = 0; k < spaces->action_count; k++)
        l.action[k] = place(&l.size, corral_space_bytes(&spaces->action[k]));
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        l.observation[k] = place(&l.size, corral_space_bytes(&spaces->observation[k]));
    l.state = place(&l.size, state != NULL ? state->state_size : 0);
    const bool masks = corral_env_extension(type, CORRAL_ENV_ACTION_MASK) != NULL;
    l.allowed = place(&l.size, masks ? corral_env_mask_bytes(spaces) : 0);
    const corral_env_info *info = corral_env_extension(type, CORRAL_ENV_INFO);
    l.info = place(&l.size, info != NULL ? info->count * sizeof(double) : 0);
    l.needed = l.size;
    const bool draws = corral_env_extension(type, CORRAL_ENV_RENDER) != NULL;
    l.items = place(&l.size, draws ? ISOLATE_ITEMS * sizeof(corral_draw) : 0);
    l.images = place(&l.size, draws ? ISOLATE_IMAGE_BYTES : 0);
    return l;
}
