// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Which Gymnasium environments this program has met. A plug-in's functions are told no type, since a type is
// a constant of a library; here types are made at run time. So there is a row of places for them, and each
// place has functions of its own that know its number.

#include "gym.h"

#include "batch.h"

#include "corral/envs/registry.h"

#include <string.h>

enum { PLACES = 16 };

static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static gym_type *types[PLACES];
static size_t type_count;

static const void *extension_of(gym_type *type, const char *name)
{
    static const corral_env_action_mask mask = {.size = sizeof mask, .mask = gym_batch_mask};
    if (strcmp(name, CORRAL_ENV_ACTION_MASK) == 0 && type->has_mask) return &mask;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0 && gym_type_can_draw(type)) return &type->render;
    return NULL;
}

#define PLACE(i)                                                                                             \
    static int32_t create_##i(const corral_env_host *host, uint32_t count, const double *values, void **out) \
    {                                                                                                        \
        return gym_batch_create(types[i], host, count, values, out);                                         \
    }                                                                                                        \
    static const void *extension_##i(const char *name)                                                       \
    {                                                                                                        \
        return extension_of(types[i], name);                                                                 \
    }                                                                                                        \
    static const corral_env_batch_functions batch_##i = {create_##i, gym_batch_destroy, gym_batch_reset,     \
                                                         gym_batch_step};
#define PLACES_LIST(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
PLACES_LIST(PLACE)

static const struct {
    const corral_env_batch_functions *batch;
    const void *(*extension)(const char *name);
} places[PLACES] = {
#define ENTRY(i) {&batch_##i, extension_##i},
    PLACES_LIST(ENTRY)
#undef ENTRY
};
#undef PLACES_LIST
#undef PLACE

bool corral_gym_names(const char *name)
{
    return strncmp(name, "gym:", 4) == 0;
}

/// The place is taken once the type has passed the checks of any plug-in's.
static corral_status add(const char *name, const corral_env_type **out_type)
{
    if (type_count == PLACES)
        return corral_fail(CORRAL_ERROR_FULL, "gym:%s: one program can have %d Gymnasium environments", name,
                           PLACES);
    gym_type *type;
    corral_status status = gym_type_describe(name, &type);
    if (status != CORRAL_OK) return status;
    type->type.batch = places[type_count].batch;
    const corral_env_plugin_descriptor descriptor = {CORRAL_ENV_ABI_MAJOR, CORRAL_ENV_ABI_MINOR,
                                                     sizeof descriptor, 1, &type->type};
    status = corral_env_check_descriptor("gym", &descriptor);
    if (status != CORRAL_OK) return status;
    type->type.extension = places[type_count].extension;
    type->render =
        (corral_env_render){.size = sizeof type->render, .background = 0xf7f8faff, .draw = gym_batch_draw};
    *out_type = &type->type;
    types[type_count++] = type;
    return CORRAL_OK;
}

corral_status corral_gym_find(const char *name, const corral_env_type **out_type)
{
    name += strlen("gym:");
    if (name[0] == '\0')
        return corral_fail(CORRAL_ERROR_INVALID,
                           "gym: which environment? Name one of Gymnasium's, for instance gym:CartPole-v1");
    corral_status status = CORRAL_OK;
    *out_type = NULL;
    pthread_mutex_lock(&types_lock);
    for (size_t i = 0; i < type_count; i++)
        if (strcmp(types[i]->name, name) == 0) *out_type = &types[i]->type;
    if (*out_type == NULL) status = add(name, out_type);
    pthread_mutex_unlock(&types_lock);
    return status;
}
