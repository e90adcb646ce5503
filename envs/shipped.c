// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "shipped.h"

#include "corral/base/file.h"
#include "corral/envs/registry.h"

#include <stdbool.h>
#include <string.h>

#define BOX2D "corral_box2d.so", "libbox2d-dev"

const corral_shipped corral_shipped_environments[] = {
    {"BipedalWalker-v3", BOX2D},
    {"BipedalWalkerHardcore-v3", BOX2D},
    {"LunarLander-v3", BOX2D},
    {"LunarLanderContinuous-v3", BOX2D},
    {"mujoco:", "corral_mujoco.so", "libmujoco-dev"},
    {NULL, NULL, NULL},
};

const corral_shipped *corral_shipped_find(const char *name)
{
    for (const corral_shipped *s = corral_shipped_environments; s->id != NULL; s++) {
        const size_t length = strlen(s->id);
        const bool scheme = s->id[length - 1] == ':';
        if (scheme ? strncmp(s->id, name, length) == 0 : strcmp(s->id, name) == 0) return s;
    }
    return NULL;
}

void corral_env_shipped(void (*each)(void *context, const char *id, const char *needs), void *context)
{
    for (const corral_shipped *s = corral_shipped_environments; s->id != NULL; s++)
        if (s->id[strlen(s->id) - 1] != ':') each(context, s->id, s->needs);
}

corral_status corral_shipped_library(const corral_shipped *shipped, char **out_path)
{
    *out_path = corral_library_find(shipped->library);
    if (*out_path != NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NOT_FOUND,
                       "%s is in %s, which was not built here: install %s and build again", shipped->id,
                       shipped->library, shipped->needs);
}
