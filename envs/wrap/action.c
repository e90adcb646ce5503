// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers that change actions and rewards: clip_action, rescale_action, clip_reward, scale_reward.

#include "wrap.h"

#include "../batch_rows.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <string.h>

static double number_at(const corral_space *leaf, const void *row, size_t i)
{
    return leaf->dtype == CORRAL_SPACE_F32 ? (double)((const float *)row)[i] : ((const double *)row)[i];
}

static void put(const corral_space *leaf, void *row, size_t i, double value)
{
    if (leaf->dtype == CORRAL_SPACE_F32)
        ((float *)row)[i] = (float)value;
    else
        ((double *)row)[i] = value;
}

/// Gives every Box of floats among the actions the bounds low..high.
static corral_status plan_bounds(wrapper *w, double low, double high, bool finite)
{
    bool any = false;
    for (uint32_t k = 0; k < w->type.spaces.action_count; k++) {
        corral_space *leaf = &w->action[k];
        w->changed[k] = leaf->kind == CORRAL_SPACE_BOX &&
                        (leaf->dtype == CORRAL_SPACE_F32 || leaf->dtype == CORRAL_SPACE_F64);
        if (!w->changed[k]) continue;
        any = true;
        for (size_t i = 0, count = corral_space_count(leaf); i < count && finite; i++) {
            double from, to;
            corral_rows_bounds(&w->inner->spaces.action[k], i, &from, &to);
            if (isinf(from) || isinf(to)) return WRAP_FAIL(w, "element %zu of the action has no bounds", i);
        }
        leaf->low = low;
        leaf->high = high;
        leaf->low_each = leaf->high_each = NULL;
    }
    return any ? CORRAL_OK : WRAP_FAIL(w, "no action is a Box of floats");
}

// --- clip_action

static corral_status plan_clip_action(wrapper *w)
{
    return plan_bounds(w, -INFINITY, INFINITY, false);
}

static void clip_action(const wrapper *w, uint32_t k, const void *outer, void *inner)
{
    const corral_space *leaf = &w->inner->spaces.action[k];
    for (size_t i = 0, count = corral_space_count(leaf); i < count; i++) {
        double low, high;
        corral_rows_bounds(leaf, i, &low, &high);
        put(leaf, inner, i, fmin(fmax(number_at(leaf, outer, i), low), high));
    }
}

const wrapper_kind corral_wrap_clip_action = {
    .name = "clip_action",
    .arguments = "",
    .help = "Any number is allowed as an action, and brought into its bounds",
    .plan = plan_clip_action,
    .act = clip_action,
};

// --- rescale_action

static double argument(const wrapper *w, uint32_t index, double usual)
{
    return w->argument_count > index ? w->argument[index] : usual;
}

static corral_status plan_rescale_action(wrapper *w)
{
    const double low = argument(w, 0, -1), high = argument(w, 1, 1);
    if (!(low < high)) return WRAP_FAIL(w, "the range %g:%g is empty", low, high);
    return plan_bounds(w, low, high, true);
}

static void rescale_action(const wrapper *w, uint32_t k, const void *outer, void *inner)
{
    const corral_space *leaf = &w->inner->spaces.action[k], *ours = &w->action[k];
    for (size_t i = 0, count = corral_space_count(leaf); i < count; i++) {
        double low, high;
        corral_rows_bounds(leaf, i, &low, &high);
        const double share = (number_at(ours, outer, i) - ours->low) / (ours->high - ours->low);
        put(leaf, inner, i, fmin(fmax(low + (high - low) * share, low), high));
    }
}

const wrapper_kind corral_wrap_rescale_action = {
    .name = "rescale_action",
    .arguments = "[=LOW:HIGH]",
    .help = "Actions within LOW:HIGH (-1:1) stand for those from the least to the greatest",
    .least = 0,
    .most = 2,
    .plan = plan_rescale_action,
    .act = rescale_action,
};

// --- rewards

static corral_status plan_clip_reward(wrapper *w)
{
    if (w->argument_count == 1) return WRAP_FAIL(w, "two bounds are needed, clip_reward=-1:1");
    if (!(argument(w, 0, -1) <= argument(w, 1, 1))) return WRAP_FAIL(w, "the bounds are in the wrong order");
    return CORRAL_OK;
}

static double clip_reward(const wrapper *w, double reward)
{
    if (!isfinite(reward)) return reward; // a failure, which the host has to see
    return fmin(fmax(reward, argument(w, 0, -1)), argument(w, 1, 1));
}

const wrapper_kind corral_wrap_clip_reward = {
    .name = "clip_reward",
    .arguments = "[=LOW:HIGH]",
    .help = "Rewards are brought into LOW:HIGH (-1:1); returns of episodes are told as they were",
    .least = 0,
    .most = 2,
    .plan = plan_clip_reward,
    .reward = clip_reward,
};

static corral_status plan_scale_reward(wrapper *w)
{
    if (w->argument[0] == 0) return WRAP_FAIL(w, "a factor of 0 leaves no reward");
    return CORRAL_OK;
}

static double scale_reward(const wrapper *w, double reward)
{
    return reward * w->argument[0];
}

const wrapper_kind corral_wrap_scale_reward = {
    .name = "scale_reward",
    .arguments = "=FACTOR",
    .help = "Rewards times FACTOR; returns of episodes are told as they were",
    .least = 1,
    .most = 1,
    .plan = plan_scale_reward,
    .reward = scale_reward,
};
