// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Linear layers of 8-bit integers: w[o, i] = scale[o] q[o, i] with q in -127 .. 127 and scale[o] the largest
// weight of that output / 127; a row of x likewise, with a scale of its own. Then
//
//   y[o] = activation(scale_x scale[o] sum_i q_x[i] q[o, i] + bias[o])
//
// and the sum is exact: 127 * 127 * in stays below 2^31 for up to 133,000 inputs.

#include "corral/core/precision.h"

#include "corral/core/backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 127, INPUTS_MAX = 131072 };

struct corral_int8_linear {
    size_t in, out;
    corral_activation activation;
    int8_t *weight; // [out, in]
    float *scale;   // [out]
    float *bias;    // [out]
};

static float largest_of(size_t count, const float *x)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++) {
        const float size = fabsf(x[i]);
        if (isnan(size)) return size;
        largest = size > largest ? size : largest;
    }
    return largest;
}

/// The integers of a row whose scale this is; 0 for a row of zeros.
static void quantise(size_t count, const float *x, float scale, int8_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = scale > 0 ? (int8_t)fmaxf(-LARGEST, fminf(LARGEST, rintf(x[i] / scale))) : 0;
}

static corral_status allocate(size_t out, size_t in, const char *name, corral_int8_linear **out_layer)
{
    corral_int8_linear *layer = calloc(1, sizeof *layer);
    if (layer != NULL) {
        layer->in = in;
        layer->out = out;
        layer->weight = calloc(out * in + 1, sizeof *layer->weight);
        layer->scale = calloc(out + 1, sizeof *layer->scale);
        layer->bias = calloc(out + 1, sizeof *layer->bias);
    }
    if (layer == NULL || layer->weight == NULL || layer->scale == NULL || layer->bias == NULL) {
        corral_int8_linear_destroy(layer);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "int8: no memory for %s", name);
    }
    *out_layer = layer;
    return CORRAL_OK;
}

corral_status corral_int8_linear_create(const corral_params *params, uint32_t weight, uint32_t bias,
                                        corral_activation activation, corral_int8_linear **out_layer)
{
    if (corral_params_dtype(params) != CORRAL_F32)
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "int8: only f32 parameters can be rounded to 8 bits");
    const corral_param *w = corral_params_entry(params, weight), *b = corral_params_entry(params, bias);
    if (w->dimension_count != 2 || b->dimension_count != 1 || b->shape[0] != w->shape[0] ||
        w->shape[1] > INPUTS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "int8: %s and %s are not of shapes [out, in] and [out]",
                           w->name, b->name);
    corral_int8_linear *layer = NULL;
    const size_t out = w->shape[0], in = w->shape[1];
    const corral_status status = allocate(out, in, w->name, &layer);
    if (status != CORRAL_OK) return status;
    layer->activation = activation;
    const float *data = corral_params_data_const(params);
    memcpy(layer->bias, data + b->offset, out * sizeof(float));
    for (size_t o = 0; o < out; o++) {
        const float *row = data + w->offset + o * in;
        layer->scale[o] = largest_of(in, row) / LARGEST;
        if (!isfinite(layer->scale[o])) {
            corral_int8_linear_destroy(layer);
            return corral_fail(CORRAL_ERROR_NOT_FINITE, "int8: %s is not finite", w->name);
        }
        quantise(in, row, layer->scale[o], layer->weight + o * in);
    }
    *out_layer = layer;
    return CORRAL_OK;
}

void corral_int8_linear_destroy(corral_int8_linear *layer)
{
    if (layer == NULL) return;
    free(layer->weight);
    free(layer->scale);
    free(layer->bias);
    free(layer);
}

size_t corral_int8_linear_bytes(const corral_int8_linear *layer)
{
    return sizeof *layer + 2 * layer->out * sizeof(float) + layer->out * layer->in;
}

static int32_t dot(size_t count, const int8_t *a, const int8_t *b)
{
    int32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (int32_t)a[i] * (int32_t)b[i];
    return sum;
}

static void run_row(const corral_int8_linear *layer, float scale, const int8_t *x, float *out)
{
    for (size_t o = 0; o < layer->out; o++)
        out[o] = scale * layer->scale[o] * (float)dot(layer->in, x, layer->weight + o * layer->in) +
                 layer->bias[o];
    if (layer->activation == CORRAL_TANH) corral_backend_cpu()->tanh(layer->out, out, out);
    for (size_t o = 0; layer->activation == CORRAL_RELU && o < layer->out; o++)
        out[o] = out[o] > 0 ? out[o] : 0;
}

corral_status corral_int8_linear_run(const corral_int8_linear *layer, size_t rows, const float *x, float *out)
{
    int8_t *integers = malloc(layer->in + 1);
    if (integers == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "int8: no memory for a row");
    corral_status status = CORRAL_OK;
    for (size_t r = 0; r < rows && status == CORRAL_OK; r++) {
        const float *row = x + r * layer->in, scale = largest_of(layer->in, row) / LARGEST;
        if (!isfinite(scale)) {
            status = corral_fail(CORRAL_ERROR_NOT_FINITE, "int8: row %zu of the input is not finite", r);
            continue;
        }
        quantise(layer->in, row, scale, integers);
        run_row(layer, scale, integers, out + r * layer->out);
    }
    free(integers);
    return status;
}
