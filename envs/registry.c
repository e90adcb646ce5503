// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Names of environments. A name with a slash or ".so" in it refers to a library: "FILE" or "FILE:ID", where
// the last colon behind the last slash parts the two. One that begins with "gym:" is Python's. Anything else
// is built in. Wrappers follow, each behind a plus sign: "CartPole-v1+frame_stack=4".

#include "corral/envs/registry.h"

#include "builtin.h"
#include "gym/gym.h"
#include "isolate/isolate.h"
#include "plugin.h"
#include "shipped.h"
#include "wrap/wrap.h"

#include "corral/base/config.h"
#include "corral/base/file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const corral_env_type *const builtins[] = {
    &corral_env_acrobot,       &corral_env_blackjack,
    &corral_env_bricks,        &corral_env_cartpole_v0,
    &corral_env_cartpole_v1,   &corral_env_chase,
    &corral_env_cliff_walking, &corral_env_cliff_walking_slippery,
    &corral_env_frozen_lake,   &corral_env_frozen_lake8x8,
    &corral_env_mountain_car,  &corral_env_mountain_car_continuous,
    &corral_env_pendulum,      &corral_env_recall,
    &corral_env_switchboard,   &corral_env_taxi,
};
enum { BUILTIN_COUNT = sizeof builtins / sizeof builtins[0] };

size_t corral_env_builtin_count(void)
{
    return BUILTIN_COUNT;
}

const corral_env_type *corral_env_builtin_at(size_t index)
{
    CORRAL_ASSERT(index < BUILTIN_COUNT);
    return builtins[index];
}

static bool names_library(const char *name)
{
    if (corral_gym_names(name) || corral_shipped_find(name) != NULL) return false;
    return strchr(name, '/') != NULL || strstr(name, ".so") != NULL;
}

/// Where ":ID" begins, or the end of the name.
static size_t path_length(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *colon = strrchr(slash != NULL ? slash : name, ':');
    return colon != NULL ? (size_t)(colon - name) : strlen(name);
}

/// Where "+wrapper" begins, or the end of the name. Files may have plus signs in their names too.
static size_t base_length(const char *name)
{
    const char *library = strstr(name, ".so"), *slash = strrchr(name, '/');
    const char *plus = strchr(library != NULL ? library : slash != NULL ? slash : name, '+');
    return plus != NULL ? (size_t)(plus - name) : strlen(name);
}

/// `hint` ends the list of what there is.
static corral_status no_such(const char *id, const char *const *names, size_t count, const char *hint)
{
    const char *nearest = corral_nearest(id, names, count);
    if (nearest != NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "no environment %s; did you mean %s?", id, nearest);

    char known[512] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, i == 0 ? "%s" : ", %s", names[i]);
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "no environment %s; there are %s%s", id, known, hint);
}

static corral_status find_builtin(const char *name, const corral_env_type **out_type)
{
    const char *names[BUILTIN_COUNT + 64];
    size_t count = BUILTIN_COUNT;
    for (const corral_shipped *s = corral_shipped_environments; s->id != NULL && count < BUILTIN_COUNT + 64;
         s++)
        names[count++] = s->id;
    for (size_t i = 0; i < BUILTIN_COUNT; i++) {
        names[i] = builtins[i]->id;
        if (strcmp(names[i], name) != 0) continue;
        *out_type = builtins[i];
        return CORRAL_OK;
    }
    return no_such(name, names, count,
                   " (one of a library is named like ./walk.so:Walk-v0, one of Gymnasium like gym:Taxi-v4)");
}

static corral_status find_in_library(const char *path, const char *id,
                                     const corral_env_plugin_descriptor *descriptor,
                                     const corral_env_type **out_type)
{
    const char **names = calloc(descriptor->type_count + 1, sizeof *names);
    if (names == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to list its environments", path);

    *out_type = NULL;
    for (uint32_t i = 0; i < descriptor->type_count; i++) {
        const corral_env_type *type = corral_plugin_type(descriptor, i);
        names[i] = type->id;
        if (id != NULL ? strcmp(type->id, id) == 0 : descriptor->type_count == 1) *out_type = type;
    }
    corral_status status = CORRAL_OK;
    const bool opens = descriptor->size >= sizeof *descriptor && descriptor->open != NULL;
    if (*out_type == NULL && id != NULL && opens)
        status = corral_plugin_make(descriptor, id, out_type);
    else if (*out_type == NULL && descriptor->type_count == 0)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s: it makes environments of names; say which: %s:NAME",
                             path, path);
    else if (*out_type == NULL && id == NULL)
        status =
            corral_fail(CORRAL_ERROR_INVALID, "%s: it has %u environments; say which, for instance %s:%s",
                        path, descriptor->type_count, path, names[0]);
    else if (*out_type == NULL)
        status = corral_fail_within(no_such(id, names, descriptor->type_count, ""), "%s", path);
    free(names);
    return status;
}

static corral_status find_shipped(const corral_shipped *shipped, const char *name,
                                  const corral_env_type **out_type)
{
    char *path;
    const corral_env_plugin_descriptor *descriptor;
    corral_status status = corral_shipped_library(shipped, &path);
    if (status != CORRAL_OK) return status;
    status = corral_plugin_open(path, &descriptor);
    const size_t scheme = strlen(shipped->id);
    if (status == CORRAL_OK && shipped->id[scheme - 1] == ':') {
        char *file = realpath(name + scheme, NULL); // one file, one type
        status = file != NULL
                     ? corral_plugin_make(descriptor, file, out_type)
                     : corral_fail(CORRAL_ERROR_NOT_FOUND, "%s: there is no such file", name + scheme);
        free(file);
    } else if (status == CORRAL_OK) {
        status = find_in_library(path, name, descriptor, out_type);
    }
    free(path);
    return status;
}

static corral_status find_base(const char *name, const corral_env_type **out_type)
{
    const corral_shipped *shipped = corral_shipped_find(name);
    if (shipped != NULL) return find_shipped(shipped, name, out_type);
    if (corral_gym_names(name)) return corral_gym_find(name, out_type);
    if (!names_library(name)) return find_builtin(name, out_type);

    const size_t length = path_length(name);
    const char *id = name[length] == ':' ? name + length + 1 : NULL;
    char *path = strndup(name, length);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to load it", name);

    const corral_env_plugin_descriptor *descriptor;
    corral_status status = corral_plugin_open(path, &descriptor);
    if (status == CORRAL_OK) status = find_in_library(path, id, descriptor, out_type);
    free(path);
    return status;
}

/// "+process" or "+process=SECONDS": what the name says up to there, in processes. `name` ends before it.
static corral_status isolate(const char *name, const char *spec, const corral_env_type *type,
                             const corral_env_type **out_type)
{
    double seconds = 10;
    char *end = NULL;
    if (spec[strlen("process")] == '=') seconds = strtod(spec + strlen("process="), &end);
    if (end != NULL && (*end != '\0' || !(seconds >= 0.01 && seconds <= 1e6)))
        return corral_fail(CORRAL_ERROR_INVALID, "%s+%s: it is written process[=SECONDS]", type->id, spec);
    char *found_by = corral_env_portable_name(name, type);
    const corral_status status =
        found_by != NULL ? corral_isolate(type, found_by, seconds, out_type)
                         : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to isolate %s", type->id);
    free(found_by);
    return status;
}

static bool is_isolation(const char *spec)
{
    const size_t length = strcspn(spec, "=");
    return length == strlen("process") && strncmp(spec, "process", length) == 0;
}

static corral_status wrap(const char *name, const char *spec, const corral_env_type *type,
                          const corral_env_type **out_type)
{
    return is_isolation(spec) ? isolate(name, spec, type, out_type) : corral_env_wrap(type, spec, out_type);
}

/// Puts the wrappers of "+grey+frame_stack=4" around `type`.
static corral_status wrap_all(const char *name, size_t begin, const corral_env_type *type,
                              const corral_env_type **out_type)
{
    corral_status status = CORRAL_OK;
    while (name[begin] == '+' && status == CORRAL_OK) {
        const size_t length = strcspn(name + begin + 1, "+");
        char *before = strndup(name, begin), *spec = strndup(name + begin + 1, length);
        status = before != NULL && spec != NULL
                     ? wrap(before, spec, type, &type)
                     : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to wrap %s", type->id);
        free(before);
        free(spec);
        begin += 1 + length;
    }
    *out_type = type;
    return status;
}

corral_status corral_env_find(const char *name, const corral_env_type **out_type)
{
    const size_t length = base_length(name);
    char *base = strndup(name, length);
    if (base == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to find it", name);
    const corral_env_type *type = NULL;
    corral_status status = find_base(base, &type);
    if (status == CORRAL_OK) status = wrap_all(name, length, type, out_type);
    free(base);
    return status;
}

corral_status corral_env_find_all(const char *name, void (*each)(void *context, const corral_env_type *type),
                                  void *context)
{
    const corral_env_type *type;
    if (!names_library(name) || name[path_length(name)] == ':' || name[base_length(name)] == '+') {
        const corral_status status = corral_env_find(name, &type);
        if (status == CORRAL_OK) each(context, type);
        return status;
    }
    const corral_env_plugin_descriptor *descriptor;
    const corral_status status = corral_plugin_open(name, &descriptor);
    if (status != CORRAL_OK) return status;
    for (uint32_t i = 0; i < descriptor->type_count; i++)
        each(context, corral_plugin_type(descriptor, i));
    return CORRAL_OK;
}

char *corral_env_library_path(const char *name)
{
    if (!names_library(name)) return NULL;

    char *path = strndup(name, base_length(name));
    if (path == NULL) return NULL;
    path[path_length(path)] = '\0';
    char *absolute = realpath(path, NULL);
    if (absolute == NULL && path[0] == '/') return path; // not there: as good as it gets
    if (absolute == NULL) {
        char *folder = getcwd(NULL, 0);
        if (folder != NULL) absolute = corral_format("%s/%s", folder, path);
        free(folder);
    }
    free(path);
    return absolute;
}

char *corral_env_portable_name(const char *name, const corral_env_type *type)
{
    char *library = corral_env_library_path(name);
    char *portable = library != NULL                     ? corral_format("%s:%s", library, type->id)
                     : corral_shipped_find(name) != NULL ? strdup(type->id)
                                                         : strdup(name);
    free(library);
    return portable;
}
