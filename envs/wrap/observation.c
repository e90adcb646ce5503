// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers that change vectors: frame_stack, flatten, one_hot, time_aware, time_fraction.

#include "wrap.h"

#include "../batch_rows.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/// Bounds of a leaf's elements, one by one; what a wrapper builds its own from.
static corral_status bounds_of(wrapper *w, const corral_space *leaf, size_t copies, corral_space *out)
{
    const size_t count = corral_space_count(leaf);
    double *low = calloc(copies * count, sizeof *low), *high = calloc(copies * count, sizeof *high);
    if (low == NULL || high == NULL) {
        free(low);
        free(high);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for its bounds", w->id);
    }
    for (size_t i = 0; i < copies * count; i++)
        corral_rows_bounds(leaf, i % count, &low[i], &high[i]);
    out->low_each = low; // for the life of the program, as the type is
    out->high_each = high;
    return CORRAL_OK;
}

// --- frame_stack: the last k observations as one more dimension in front, oldest first

static corral_status plan_frame_stack(wrapper *w)
{
    const double k = w->argument[0];
    if (!(k >= 1 && k <= 64 && k == floor(k))) return WRAP_FAIL(w, "1 to 64 frames can be stacked");
    bool any = false;
    for (uint32_t i = 0; i < w->type.spaces.observation_count; i++) {
        corral_space *leaf = &w->observation[i];
        w->changed[i] = leaf->kind == CORRAL_SPACE_BOX && leaf->dimension_count < CORRAL_SPACE_DIMENSIONS;
        if (!w->changed[i]) continue;
        any = true;
        if (leaf->low_each != NULL || leaf->high_each != NULL) {
            const corral_status status = bounds_of(w, &w->inner->spaces.observation[i], (size_t)k, leaf);
            if (status != CORRAL_OK) return status;
        }
        memmove(leaf->shape + 1, leaf->shape, leaf->dimension_count * sizeof *leaf->shape);
        leaf->shape[0] = (uint32_t)k;
        leaf->dimension_count++;
        w->memory += corral_space_bytes(leaf);
    }
    return any ? CORRAL_OK : WRAP_FAIL(w, "no observation is a Box of at most three dimensions");
}

static void observe_frame_stack(const wrapper *w, void *memory, bool first, const void *const *inner,
                                void *const *outer)
{
    char *stack = memory;
    const size_t frames = (size_t)w->argument[0];
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        const size_t size = corral_space_bytes(&w->inner->spaces.observation[k]);
        if (!w->changed[k]) {
            memcpy(outer[k], inner[k], size);
            continue;
        }
        const size_t older = (frames - 1) * size;
        if (!first) memmove(stack, stack + size, older);
        for (size_t f = 0; first && f + 1 < frames; f++) {
            if (w->zero)
                memset(stack + f * size, 0, size);
            else
                memcpy(stack + f * size, inner[k], size);
        }
        memcpy(stack + older, inner[k], size);
        memcpy(outer[k], stack, older + size);
        stack += older + size;
    }
}

const wrapper_kind corral_wrap_frame_stack = {
    .name = "frame_stack",
    .arguments = "=N[:zero]",
    .help = "The last N observations, oldest first; at the start the first one N times, or zeros before it",
    .least = 1,
    .most = 1,
    .plan = plan_frame_stack,
    .observe = observe_frame_stack,
};

// --- flatten and one_hot

/// How many numbers a leaf becomes: a whole number among n becomes n of which one is 1.
static size_t flat_count(const corral_space *leaf)
{
    if (leaf->kind == CORRAL_SPACE_DISCRETE) return (size_t)leaf->n;
    if (leaf->kind != CORRAL_SPACE_MULTI_DISCRETE) return corral_space_count(leaf);
    size_t sum = 0;
    for (size_t i = 0, count = corral_space_count(leaf); i < count; i++)
        sum += (size_t)leaf->nvec[i];
    return sum;
}

static float number_at(const corral_space *leaf, const void *row, size_t index)
{
    switch (leaf->dtype) {
    case CORRAL_SPACE_F32:
        return ((const float *)row)[index];
    case CORRAL_SPACE_F64:
        return (float)((const double *)row)[index];
    case CORRAL_SPACE_U8:
        return ((const uint8_t *)row)[index];
    default:
        return (float)((const int32_t *)row)[index];
    }
}

/// Writes a leaf's numbers; returns where the next leaf's go.
static float *flatten_row(const corral_space *leaf, const void *row, float *out)
{
    const size_t count = corral_space_count(leaf), flat = flat_count(leaf);
    if (leaf->kind == CORRAL_SPACE_BOX || leaf->kind == CORRAL_SPACE_MULTI_BINARY) {
        for (size_t i = 0; i < count; i++)
            out[i] = number_at(leaf, row, i);
        return out + flat;
    }
    memset(out, 0, flat * sizeof *out);
    float *at = out;
    for (size_t i = 0; i < count; i++) {
        const int64_t n = leaf->kind == CORRAL_SPACE_DISCRETE ? leaf->n : leaf->nvec[i];
        const int64_t start = leaf->kind == CORRAL_SPACE_DISCRETE ? leaf->start : 0;
        const int64_t value = ((const int32_t *)row)[i] - start;
        if (value >= 0 && value < n) at[value] = 1;
        at += n;
    }
    return out + flat;
}

/// A Box of `count` floats in place of `leaf`, with its bounds if it was a Box and 0..1 else.
static corral_status become_flat(wrapper *w, const corral_space *inner, size_t count, corral_space *leaf)
{
    if (count > 1 << 24) return WRAP_FAIL(w, "more than %d numbers in one observation", 1 << 24);
    *leaf = (corral_space){.path = inner->path,
                           .kind = CORRAL_SPACE_BOX,
                           .dtype = CORRAL_SPACE_F32,
                           .dimension_count = 1,
                           .shape = {(uint32_t)count},
                           .low = 0,
                           .high = 1};
    return CORRAL_OK;
}

static corral_status plan_flatten(wrapper *w)
{
    const corral_env_spaces *inner = &w->inner->spaces;
    size_t count = 0;
    for (uint32_t k = 0; k < inner->observation_count; k++)
        count += flat_count(&inner->observation[k]);
    corral_space *leaf = &w->observation[0];
    corral_status status = become_flat(w, &inner->observation[0], count, leaf);
    double *low = status == CORRAL_OK ? calloc(count, sizeof *low) : NULL;
    double *high = status == CORRAL_OK ? calloc(count, sizeof *high) : NULL;
    if (status == CORRAL_OK && (low == NULL || high == NULL))
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for its bounds", w->id);
    if (status != CORRAL_OK) {
        free(low);
        free(high);
        return status;
    }
    size_t at = 0;
    for (uint32_t k = 0; k < inner->observation_count; k++) {
        const bool box = inner->observation[k].kind == CORRAL_SPACE_BOX;
        for (size_t i = 0, n = flat_count(&inner->observation[k]); i < n; i++, at++) {
            high[at] = 1;
            if (box) corral_rows_bounds(&inner->observation[k], i, &low[at], &high[at]);
        }
    }
    leaf->path = "";
    leaf->low_each = low;
    leaf->high_each = high;
    w->type.spaces.observation_count = 1;
    return CORRAL_OK;
}

static void observe_flatten(const wrapper *w, void *memory, bool first, const void *const *inner,
                            void *const *outer)
{
    (void)memory, (void)first;
    float *out = outer[0];
    for (uint32_t k = 0; k < w->inner->spaces.observation_count; k++)
        out = flatten_row(&w->inner->spaces.observation[k], inner[k], out);
}

const wrapper_kind corral_wrap_flatten = {
    .name = "flatten",
    .arguments = "",
    .help = "All observations in a row as one vector of floats; whole numbers one-hot",
    .plan = plan_flatten,
    .observe = observe_flatten,
};

static corral_status plan_one_hot(wrapper *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        const corral_space *inner = &w->inner->spaces.observation[k];
        w->changed[k] = inner->kind == CORRAL_SPACE_DISCRETE || inner->kind == CORRAL_SPACE_MULTI_DISCRETE;
        if (!w->changed[k]) continue;
        any = true;
        const corral_status status = become_flat(w, inner, flat_count(inner), &w->observation[k]);
        if (status != CORRAL_OK) return status;
    }
    return any ? CORRAL_OK : WRAP_FAIL(w, "no observation is a Discrete or MultiDiscrete");
}

static void observe_one_hot(const wrapper *w, void *memory, bool first, const void *const *inner,
                            void *const *outer)
{
    (void)memory, (void)first;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        const corral_space *leaf = &w->inner->spaces.observation[k];
        if (w->changed[k])
            flatten_row(leaf, inner[k], outer[k]);
        else
            memcpy(outer[k], inner[k], corral_space_bytes(leaf));
    }
}

const wrapper_kind corral_wrap_one_hot = {
    .name = "one_hot",
    .arguments = "",
    .help = "Each Discrete or MultiDiscrete observation as floats of which one is 1",
    .plan = plan_one_hot,
    .observe = observe_one_hot,
};

// --- time_aware and time_fraction: how far the episode is, as one more number

static corral_status plan_time(wrapper *w, double most)
{
    const corral_space *inner = w->inner->spaces.observation;
    if (w->inner->spaces.observation_count != 1 || inner->kind != CORRAL_SPACE_BOX ||
        inner->dtype != CORRAL_SPACE_F32)
        return WRAP_FAIL(w, "it needs one Box of f32; put flatten before it");
    const size_t count = corral_space_count(inner);
    double *low = calloc(count + 1, sizeof *low), *high = calloc(count + 1, sizeof *high);
    if (low == NULL || high == NULL) {
        free(low);
        free(high);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for its bounds", w->id);
    }
    for (size_t i = 0; i < count; i++)
        corral_rows_bounds(inner, i, &low[i], &high[i]);
    high[count] = most;
    w->observation[0].dimension_count = 1;
    w->observation[0].shape[0] = (uint32_t)count + 1;
    w->observation[0].low_each = low;
    w->observation[0].high_each = high;
    w->memory = sizeof(uint64_t);
    return CORRAL_OK;
}

static void observe_time(const wrapper *w, void *memory, bool first, const void *const *inner,
                         void *const *outer)
{
    uint64_t steps;
    memcpy(&steps, memory, sizeof steps);
    steps = first ? 0 : steps + 1;
    memcpy(memory, &steps, sizeof steps);
    const size_t count = corral_space_count(w->inner->spaces.observation);
    memcpy(outer[0], inner[0], count * sizeof(float));
    const bool fraction = w->kind == &corral_wrap_time_fraction;
    ((float *)outer[0])[count] = fraction ? (float)steps / (float)w->inner->max_episode_steps : (float)steps;
}

static corral_status plan_time_aware(wrapper *w)
{
    return plan_time(w, INFINITY);
}

static corral_status plan_time_fraction(wrapper *w)
{
    if (w->inner->max_episode_steps == 0)
        return WRAP_FAIL(w, "there is no time limit; put time_limit before it");
    return plan_time(w, INFINITY); // the host may play beyond the type's own limit
}

const wrapper_kind corral_wrap_time_aware = {
    .name = "time_aware",
    .arguments = "",
    .help = "The number of steps so far, behind the observation",
    .plan = plan_time_aware,
    .observe = observe_time,
};

const wrapper_kind corral_wrap_time_fraction = {
    .name = "time_fraction",
    .arguments = "",
    .help = "The part of the time limit that is over, 0 to 1, behind the observation",
    .plan = plan_time_fraction,
    .observe = observe_time,
};
