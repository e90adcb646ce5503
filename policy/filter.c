// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The observation filter: normalisation by running statistics, per element of what are numbers.
///
///   out = clip((x - mean) / sqrt(M2 / count + 1e-8), -c, c)
///
/// Batches are merged as in Chan, Golub and LeVeque (1979), in f64 and in row order:
///   d = mean_b - mean;  mean += d n_b / (n + n_b);  M2 += M2_b + d^2 n n_b / (n + n_b)
/// Before the first merge the mean is 0 and the variance 1.
#include "policy_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double variance_floor = 1e-8;

corral_status policy_filter_init(policy_filter *filter, uint32_t size)
{
    *filter = (policy_filter){.size = size};
    filter->mean = calloc((size_t)size + 1, sizeof *filter->mean);
    filter->m2 = calloc((size_t)size + 1, sizeof *filter->m2);
    filter->inverse = calloc((size_t)size + 1, sizeof *filter->inverse);
    if (filter->mean == NULL || filter->m2 == NULL || filter->inverse == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the statistics of %u observation elements",
                           size);
    policy_filter_refresh(filter);
    return CORRAL_OK;
}

void policy_filter_finish(policy_filter *filter)
{
    free(filter->mean);
    free(filter->m2);
    free(filter->inverse);
    *filter = (policy_filter){0};
}

void policy_filter_refresh(policy_filter *filter)
{
    for (uint32_t i = 0; i < filter->size; i++) {
        const double variance = filter->count > 0 ? filter->m2[i] / filter->count : 1.0;
        filter->inverse[i] = 1.0 / sqrt(variance + variance_floor);
    }
}

/// One element of the statistics: element i of `part` in all rows.
typedef struct column {
    const corral_part *part;
    const unsigned char *first; // row
    size_t stride;
    uint32_t i;
} column;

static inline double column_at(const column *c, size_t row)
{
    const unsigned char *at = c->first + row * c->stride;
    if (c->part->dtype == CORRAL_PART_F32) return ((const float *)(const void *)(at + c->part->offset))[c->i];
    return policy_number_at(c->part, at, c->i);
}

static void merge_column(policy_filter *filter, uint32_t index, const column *c, size_t rows)
{
    const double added = (double)rows, total = filter->count + added;
    double sum = 0, m2 = 0;
    for (size_t r = 0; r < rows; r++)
        sum += column_at(c, r);
    const double mean = sum / added;
    for (size_t r = 0; r < rows; r++) {
        const double deviation = column_at(c, r) - mean;
        m2 += deviation * deviation;
    }
    const double shift = mean - filter->mean[index];
    filter->mean[index] += shift * added / total;
    filter->m2[index] += m2 + shift * shift * filter->count * added / total;
}

void policy_filter_merge(policy_filter *filter, const corral_policy_space *space, size_t rows,
                         const void *observation)
{
    if (rows == 0) return;
    uint32_t index = 0;
    for (uint32_t k = 0; k < space->part_count; k++) {
        const corral_part *part = &space->part[k];
        if (part->kind != CORRAL_PART_NUMBERS) continue;
        for (uint32_t i = 0; i < part->count; i++, index++)
            merge_column(filter, index, &(column){part, observation, space->row_bytes, i}, rows);
    }
    filter->count += (double)rows;
    policy_filter_refresh(filter);
}

void policy_filter_apply(const policy_filter *filter, double clip, size_t rows, const float *observation,
                         float *out)
{
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t i = 0; i < filter->size; i++) {
            const size_t at = r * filter->size + i;
            const double x = ((double)observation[at] - filter->mean[i]) * filter->inverse[i];
            out[at] = (float)fmin(fmax(x, -clip), clip);
        }
    }
}
