// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The noisy linear layer, made of two linear ones: y = x W^T + b + ((x in) S^T + s) out.

#include "corral/core/distributions.h"
#include "corral/core/layers.h"

#include "ops/pointwise.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <math.h>

corral_tensor *corral_noisy_linear(corral_tensor *x, const corral_noisy *entries, corral_tensor *noise_in,
                                   corral_tensor *noise_out, corral_activation activation)
{
    if (noise_in == NULL || noise_out == NULL)
        return corral_linear(x, entries->weight, entries->bias, activation);
    corral_tensor *mean = corral_linear(x, entries->weight, entries->bias, CORRAL_LINEAR);
    corral_tensor *spread =
        corral_linear(corral_mul(x, noise_in), entries->weight_sigma, entries->bias_sigma, CORRAL_LINEAR);
    return corral_activate(corral_add(mean, corral_mul(spread, noise_out)), activation);
}

void corral_noisy_linear_forward(const corral_params *params, const corral_noisy *entries, size_t rows,
                                 const float *x, const float *noise_in, const float *noise_out, float *out,
                                 float *scratch)
{
    const corral_param *weight = corral_params_entry(params, entries->weight);
    const size_t out_count = weight->shape[0], in_count = weight->shape[1];
    corral_linear_forward(params, entries->weight, entries->bias, CORRAL_LINEAR, rows, x, out);
    if (noise_in == NULL || noise_out == NULL) return;
    float *noisy = scratch, *spread = scratch + rows * in_count;
    for (size_t i = 0; i < rows * in_count; i++)
        noisy[i] = x[i] * noise_in[i % in_count];
    corral_linear_forward(params, entries->weight_sigma, entries->bias_sigma, CORRAL_LINEAR, rows, noisy,
                          spread);
    for (size_t i = 0; i < rows * out_count; i++) {
        const float shift = spread[i] * noise_out[i % out_count]; // rounded, as on a tape
        out[i] = out[i] + shift;
    }
}

void corral_noise_factors(uint64_t stream_key, uint64_t counter, size_t count, float *out)
{
    corral_standard_normals(stream_key, counter, count, out);
    for (size_t i = 0; i < count; i++)
        out[i] = out[i] < 0.0f ? -sqrtf(-out[i]) : sqrtf(out[i]);
}
