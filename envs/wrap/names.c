// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers by name. A stack is a part of an environment's name, innermost first:
//
//     CartPole-v1+frame_skip=2+frame_stack=4:zero
//
// so that whoever is told the name (a worker, a checkpoint, the viewer) has the stack. Types are made once
// for each name and kept.

#include "wrap.h"

#include "corral/base/config.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const wrapper_kind *const corral_wrapper_kinds[] = {
    &corral_wrap_clip_action,   &corral_wrap_clip_reward,  &corral_wrap_flatten,
    &corral_wrap_frame_skip,    &corral_wrap_frame_stack,  &corral_wrap_grey,
    &corral_wrap_max_and_skip,  &corral_wrap_one_hot,      &corral_wrap_rescale_action,
    &corral_wrap_resize,        &corral_wrap_scale_reward, &corral_wrap_time_aware,
    &corral_wrap_time_fraction, &corral_wrap_time_limit,   NULL,
};
enum { KIND_COUNT = sizeof corral_wrapper_kinds / sizeof corral_wrapper_kinds[0] - 1 };

static corral_status find_kind(const char *name, const wrapper_kind **out_kind)
{
    const char *names[KIND_COUNT];
    for (size_t i = 0; i < KIND_COUNT; i++) {
        names[i] = corral_wrapper_kinds[i]->name;
        if (strcmp(names[i], name) != 0) continue;
        *out_kind = corral_wrapper_kinds[i];
        return CORRAL_OK;
    }
    const char *nearest = corral_nearest(name, names, KIND_COUNT);
    if (nearest != NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "no wrapper %s; did you mean %s?", name, nearest);
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "no wrapper %s; `corral envs` lists them", name);
}

static corral_status take_argument(wrapper *w, const char *text)
{
    if (strcmp(text, "zero") == 0) {
        w->zero = true;
        return CORRAL_OK;
    }
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value))
        return corral_fail(CORRAL_ERROR_INVALID, "\"%s\" is not a number", text);
    if (w->argument_count == WRAP_ARGUMENTS)
        return corral_fail(CORRAL_ERROR_INVALID, "more than %d arguments", WRAP_ARGUMENTS);
    w->argument[w->argument_count++] = value;
    return CORRAL_OK;
}

/// "frame_stack=4:zero" into kind and arguments.
static corral_status read_spec(wrapper *w, const char *spec)
{
    char text[128];
    if (snprintf(text, sizeof text, "%s", spec) >= (int)sizeof text)
        return corral_fail(CORRAL_ERROR_INVALID, "the wrapper %.40s... is too long", spec);
    char *rest = strchr(text, '=');
    if (rest != NULL) *rest++ = '\0';
    corral_status status = find_kind(text, &w->kind);
    for (char *save, *word = rest != NULL ? strtok_r(rest, ":", &save) : NULL;
         word != NULL && status == CORRAL_OK; word = strtok_r(NULL, ":", &save))
        status = corral_fail_within(take_argument(w, word), "%s", text);
    if (status == CORRAL_OK && (w->argument_count < w->kind->least || w->argument_count > w->kind->most))
        status = corral_fail(CORRAL_ERROR_INVALID, "it is written %s%s", w->kind->name, w->kind->arguments);
    return status;
}

static corral_status make(const corral_env_type *inner, const char *spec, wrapper **out_wrapper)
{
    wrapper *w = calloc(1, sizeof *w);
    if (w == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to wrap it", inner->id);
    w->inner = inner;
    corral_status status = CORRAL_OK;
    if (snprintf(w->id, sizeof w->id, "%s+%s", inner->id, spec) >= (int)sizeof w->id)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s: too many wrappers for one name", inner->id);
    if (status == CORRAL_OK) status = corral_fail_within(read_spec(w, spec), "%s", w->id);
    if (status == CORRAL_OK) status = corral_wrap_finish(w);
    if (status == CORRAL_OK)
        *out_wrapper = w;
    else
        free(w);
    return status;
}

static pthread_mutex_t wrappers_lock = PTHREAD_MUTEX_INITIALIZER;
static wrapper *wrappers; // only grows

corral_status corral_env_wrap(const corral_env_type *inner, const char *spec,
                              const corral_env_type **out_type)
{
    corral_status status = CORRAL_OK;
    pthread_mutex_lock(&wrappers_lock);
    const size_t prefix = strlen(inner->id) + 1;
    wrapper *w = wrappers;
    while (w != NULL && !(w->inner == inner && strcmp(w->id + prefix, spec) == 0))
        w = w->next;
    if (w == NULL) {
        status = make(inner, spec, &w);
        if (status == CORRAL_OK) {
            w->next = wrappers;
            wrappers = w;
        }
    }
    pthread_mutex_unlock(&wrappers_lock);
    if (status == CORRAL_OK) *out_type = &w->type;
    return status;
}

void corral_env_wrappers(void (*each)(void *context, const char *usage, const char *help), void *context)
{
    each(context, "process[=SECONDS]",
         "What is inside plays in a process of its own; SECONDS (10) is a step's limit");
    for (size_t i = 0; i < KIND_COUNT; i++) {
        char usage[80];
        snprintf(usage, sizeof usage, "%s%s", corral_wrapper_kinds[i]->name,
                 corral_wrapper_kinds[i]->arguments);
        each(context, usage, corral_wrapper_kinds[i]->help);
    }
}
