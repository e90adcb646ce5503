// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Actions of any space. An action is a row of 4-byte words: first its choices (int32, counted from 0), in
/// canonical order, then its numbers (float, as they were drawn: before tanh, scaling and clipping). The
/// distribution's inputs are a row of floats: the logits of all choices, the means of all numbers, the
/// logarithms of their deviations. So a stored row says all that a later policy has to be compared with.
///
/// Chance is a row of floats too: a uniform number per choice, then a standard normal one per number, or (for
/// state-dependent exploration) one per feature and number.
#include "policy_internal.h"

#include "corral/base/rng.h"
#include "corral/core/distributions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- what there is ----------------------------------------------------------------------------------------

static size_t count_elements(const corral_policy_space *space, uint32_t kind)
{
    size_t count = 0;
    for (uint32_t k = 0; k < space->part_count; k++)
        if (space->part[k].kind == kind) count += space->part[k].count;
    return count;
}

static size_t choices_of(const corral_policy_config *config)
{
    return config->action.part_count == 0 ? 1 : count_elements(&config->action, CORRAL_PART_CHOICES);
}

static size_t numbers_of(const corral_policy_config *config)
{
    return count_elements(&config->action, CORRAL_PART_NUMBERS);
}

size_t corral_policy_action_inputs(const corral_policy_space *action)
{
    size_t inputs = 0;
    for (uint32_t k = 0; k < action->part_count; k++)
        inputs += corral_part_size(&action->part[k]) * (action->part[k].kind == CORRAL_PART_NUMBERS ? 2 : 1);
    return inputs;
}

size_t corral_policy_action_words(const corral_policy_config *config)
{
    return choices_of(config) + numbers_of(config);
}

size_t corral_policy_action_bytes(const corral_policy_config *config)
{
    return config->action.part_count > 0 ? config->action.row_bytes : sizeof(int32_t);
}

size_t corral_policy_mask_bytes(const corral_policy_config *config)
{
    return config->masked ? config->action_count - 2 * numbers_of(config) : 0;
}

static size_t features_of(const corral_policy_config *config)
{
    if (config->memory != CORRAL_MEMORY_NONE) return config->memory_units;
    return config->hidden.value[config->hidden.count - 1];
}

size_t corral_policy_noise_width(const corral_policy_config *config)
{
    const size_t numbers = numbers_of(config);
    return choices_of(config) +
           (config->deviation == CORRAL_DEVIATION_GSDE ? features_of(config) * numbers : numbers);
}

corral_status policy_actions_check(const corral_policy_config *config)
{
    const corral_policy_space *action = &config->action;
    corral_status status = corral_policy_space_check(action);
    if (status != CORRAL_OK || action->part_count == 0) return status;
    for (uint32_t k = 0; k < action->part_count; k++)
        if (action->part[k].kind != CORRAL_PART_CHOICES && action->part[k].kind != CORRAL_PART_NUMBERS)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "part %u of a policy's action is neither choices nor numbers", k);
    if (corral_policy_action_inputs(action) != config->action_count)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "a policy's actions have %zu inputs, not the %u that it says",
                           corral_policy_action_inputs(action), config->action_count);
    for (uint32_t k = 0; config->squash && k < action->part_count; k++)
        if (action->part[k].kind == CORRAL_PART_NUMBERS && isinf(action->part[k].high - action->part[k].low))
            return corral_fail(CORRAL_ERROR_INVALID,
                               "network.squash: numbers of the action have no bounds to be squashed into");
    return CORRAL_OK;
}

corral_status policy_actions_init(policy_actions *actions, const corral_policy_config *config)
{
    *actions = (policy_actions){.choices = choices_of(config), .numbers = numbers_of(config)};
    actions->sizes = calloc(actions->choices + 1, sizeof *actions->sizes);
    if (actions->sizes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a policy");
    if (config->action.part_count == 0) actions->sizes[0] = config->action_count;
    size_t next = 0;
    for (uint32_t k = 0; k < config->action.part_count; k++) {
        const corral_part *part = &config->action.part[k];
        for (uint32_t i = 0; part->kind == CORRAL_PART_CHOICES && i < part->count; i++)
            actions->sizes[next++] = part->choices;
    }
    for (size_t i = 0; i < actions->choices; i++)
        actions->logits += actions->sizes[i];
    return CORRAL_OK;
}

// --- chance -----------------------------------------------------------------------------------------------

// Normal numbers of a stream begin here, so that they never meet its uniform ones.
static const uint64_t normals_begin = UINT64_C(1) << 63;

void corral_policy_draw(const corral_policy_config *config, uint64_t key, uint64_t step, bool fresh,
                        float *out_noise)
{
    const size_t choices = choices_of(config), numbers = numbers_of(config);
    for (size_t i = 0; i < choices; i++)
        out_noise[i] = corral_stream_float(key, step * choices + i);
    if (numbers == 0) return;
    if (config->deviation != CORRAL_DEVIATION_GSDE) {
        corral_standard_normals(key, normals_begin + step * numbers, numbers, out_noise + choices);
        return;
    }
    const uint64_t every = config->noise_every > 0 ? config->noise_every : 1;
    const size_t count = features_of(config) * numbers;
    if (fresh || step % every == 0)
        corral_standard_normals(key, normals_begin + step / every * count, count, out_noise + choices);
}

// --- to the environment -----------------------------------------------------------------------------------

static double into_bounds(const corral_policy_config *config, const corral_part *part, double x)
{
    const bool bounded = isfinite(part->low) && isfinite(part->high);
    if (bounded && (config->squash || config->rescale))
        x = part->low + (x + 1) * 0.5 * (part->high - part->low);
    // As its type holds them: a bound of 0.1 is a little more in f32.
    double low = part->low, high = part->high;
    if (part->dtype == CORRAL_PART_F32) {
        low = (double)(float)low;
        high = (double)(float)high;
        x = (double)(float)x;
    } else if (part->dtype != CORRAL_PART_F64) {
        const double limit = part->dtype == CORRAL_PART_U8 ? UINT8_MAX : INT32_MAX;
        low = fmax(ceil(low), part->dtype == CORRAL_PART_U8 ? 0 : INT32_MIN);
        high = fmin(floor(high), limit);
        x = rint(x);
    }
    return fmin(fmax(x, low), high);
}

static void write_number(const corral_part *part, unsigned char *at, size_t i, double x)
{
    switch (part->dtype) {
    case CORRAL_PART_F32:
        ((float *)(void *)at)[i] = (float)x;
        break;
    case CORRAL_PART_F64:
        ((double *)(void *)at)[i] = x;
        break;
    case CORRAL_PART_U8:
        at[i] = (uint8_t)x;
        break;
    default:
        ((int32_t *)(void *)at)[i] = (int32_t)x;
        break;
    }
}

void corral_policy_env_action(const corral_policy_config *config, const int32_t *action, void *out_row)
{
    if (config->action.part_count == 0) {
        *(int32_t *)out_row = (int32_t)(action[0] + config->action_start);
        return;
    }
    const int32_t *choice = action, *number = action + choices_of(config);
    for (uint32_t k = 0; k < config->action.part_count; k++) {
        const corral_part *part = &config->action.part[k];
        unsigned char *at = (unsigned char *)out_row + part->offset;
        for (uint32_t i = 0; i < part->count; i++) {
            if (part->kind == CORRAL_PART_CHOICES) {
                write_number(part, at, i, (double)*choice++ + part->start);
                continue;
            }
            float x;
            memcpy(&x, number++, sizeof x);
            if (config->squash) corral_squash(1, &x, &x);
            write_number(part, at, i, into_bounds(config, part, (double)x));
        }
    }
}
