// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The encoder: rows of observations as environments write them, to the floats that a network sees. Numbers
/// go through the filter; what is one-hot, binary or an image is on a good scale as it is.
#include "policy_internal.h"

#include <math.h>
#include <string.h>

/// Element i of a part, before scaling.
static double element(const corral_part *part, const unsigned char *row, size_t i)
{
    const unsigned char *at = row + part->offset;
    switch (part->dtype) {
    case CORRAL_PART_F32:
        return ((const float *)(const void *)at)[i];
    case CORRAL_PART_F64:
        return ((const double *)(const void *)at)[i];
    case CORRAL_PART_U8:
        return at[i];
    default:
        return ((const int32_t *)(const void *)at)[i];
    }
}

double policy_number_at(const corral_part *part, const unsigned char *row, size_t i)
{
    const double x = element(part, row, i);
    return part->dtype == CORRAL_PART_U8 ? x / 255.0 : x;
}

static void encode_numbers(const corral_policy *policy, const corral_part *part, uint32_t statistics,
                           const unsigned char *row, float *out)
{
    const policy_filter *filter = &policy->filter;
    const double clip = policy->config.observation_clip;
    for (uint32_t i = 0; i < part->count; i++) {
        double x = policy_number_at(part, row, i);
        if (policy->config.normalize_observation) {
            x = (x - filter->mean[statistics + i]) * filter->inverse[statistics + i];
            x = fmin(fmax(x, -clip), clip);
        }
        out[i] = (float)x;
    }
}

static void encode_choices(const corral_part *part, const unsigned char *row, float *out)
{
    memset(out, 0, corral_part_size(part) * sizeof *out);
    for (uint32_t i = 0; i < part->count; i++, out += part->choices) {
        const double which = element(part, row, i) - part->start;
        if (which >= 0 && which < part->choices) out[(size_t)which] = 1;
    }
}

/// As [height, width, channels], over 255.
static void encode_image(const corral_part *part, const unsigned char *row, float *out)
{
    const unsigned char *pixel = row + part->offset;
    if (part->channels_last) {
        for (uint32_t i = 0; i < part->count; i++)
            out[i] = (float)pixel[i] / 255.0f;
        return;
    }
    const size_t area = (size_t)part->height * part->width;
    for (size_t c = 0; c < part->channels; c++)
        for (size_t i = 0; i < area; i++)
            out[i * part->channels + c] = (float)*pixel++ / 255.0f;
}

static void encode_row(const corral_policy *policy, const unsigned char *row, float *out)
{
    const corral_policy_space *space = &policy->config.observation;
    uint32_t statistics = 0; // numbers before this part
    for (uint32_t k = 0; k < space->part_count; k++) {
        const corral_part *part = &space->part[k];
        if (part->kind == CORRAL_PART_NUMBERS) {
            encode_numbers(policy, part, statistics, row, out);
            statistics += part->count;
        } else if (part->kind == CORRAL_PART_CHOICES) {
            encode_choices(part, row, out);
        } else if (part->kind == CORRAL_PART_IMAGE) {
            encode_image(part, row, out);
        } else {
            for (uint32_t i = 0; i < part->count; i++)
                out[i] = (float)element(part, row, i);
        }
        out += corral_part_size(part);
    }
}

void corral_policy_filter(const corral_policy *policy, size_t rows, const void *observation, float *out)
{
    const corral_policy_config *config = &policy->config;
    if (config->observation.part_count > 0) {
        for (size_t r = 0; r < rows; r++)
            encode_row(policy, (const unsigned char *)observation + r * config->observation.row_bytes,
                       out + r * config->observation_size);
    } else if (config->normalize_observation) {
        policy_filter_apply(&policy->filter, config->observation_clip, rows, observation, out);
    } else if (out != observation) {
        memcpy(out, observation, rows * config->observation_size * sizeof *out);
    }
}

void corral_policy_filter_update(corral_policy *policy, size_t rows, const void *observation)
{
    if (policy->config.normalize_observation)
        policy_filter_merge(&policy->filter, &policy->layout, rows, observation);
}
