// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/core/dlpack.h"

#include "corral/core/precision.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <stdlib.h>
#include <string.h>

// --- out --------------------------------------------------------------------------------------------------

/// A managed tensor with its shape behind it.
typedef struct exported {
    corral_dl_managed managed;
    int64_t shape[CORRAL_MAX_DIMENSIONS], strides[CORRAL_MAX_DIMENSIONS];
    void *copy; // NULL: a view
} exported;

static void free_exported(corral_dl_managed *self)
{
    exported *e = self->context;
    free(e->copy);
    free(e);
}

static exported *describe(corral_dtype dtype, uint32_t dimension_count, const size_t *shape)
{
    exported *e = calloc(1, sizeof *e);
    if (e == NULL) return NULL;
    int64_t step = 1;
    for (uint32_t i = dimension_count; i-- > 0;) {
        e->shape[i] = (int64_t)shape[i];
        e->strides[i] = step;
        step *= (int64_t)shape[i];
    }
    e->managed.context = e;
    e->managed.deleter = free_exported;
    corral_dl_tensor *tensor = &e->managed.tensor;
    tensor->device.type = CORRAL_DL_CPU;
    tensor->dimension_count = (int32_t)dimension_count;
    tensor->dtype.code = CORRAL_DL_FLOAT;
    tensor->dtype.bits = (uint8_t)(8 * corral_dtype_size(dtype));
    tensor->dtype.lanes = 1;
    tensor->shape = e->shape;
    tensor->strides = e->strides;
    return e;
}

static corral_status no_memory(void)
{
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "dlpack: no memory to hand a tensor over");
}

corral_status corral_dl_export_param(corral_params *params, uint32_t index, corral_dl_managed **out_managed)
{
    const corral_param *entry = corral_params_entry(params, index);
    if (!params->sealed) return corral_fail(CORRAL_ERROR_INVALID, "dlpack: seal the parameters first");
    exported *e = describe(params->dtype, entry->dimension_count, entry->shape);
    if (e == NULL) return no_memory();
    e->managed.tensor.data = (char *)params->data + entry->offset * corral_dtype_size(params->dtype);
    *out_managed = &e->managed;
    return CORRAL_OK;
}

corral_status corral_dl_export(const corral_tensor *tensor, corral_dl_managed **out_managed)
{
    const size_t bytes = corral_tensor_count(tensor) * corral_dtype_size(tensor->dtype);
    exported *e = describe(tensor->dtype, tensor->dimension_count, tensor->shape);
    if (e != NULL) e->copy = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (e == NULL || e->copy == NULL) {
        free(e);
        return no_memory();
    }
    memcpy(e->copy, tensor->data, bytes);
    e->managed.tensor.data = e->copy;
    *out_managed = &e->managed;
    return CORRAL_OK;
}

// --- in ---------------------------------------------------------------------------------------------------

/// What an element of a foreign tensor is.
typedef struct element {
    uint8_t code, bits;
} element;

static bool is(element e, uint8_t code, uint8_t bits)
{
    return e.code == code && e.bits == bits;
}

static bool is_readable(element e)
{
    return is(e, CORRAL_DL_FLOAT, 64) || is(e, CORRAL_DL_FLOAT, 32) || is(e, CORRAL_DL_FLOAT, 16) ||
           is(e, CORRAL_DL_BFLOAT, 16) || is(e, CORRAL_DL_INT, 64) || is(e, CORRAL_DL_INT, 32) ||
           is(e, CORRAL_DL_UINT, 8);
}

/// One element as f32; those of f32 and f64 are copied by the caller.
static float read_element(element e, const void *at)
{
    uint16_t half;
    int64_t wide;
    int32_t word;
    float value;
    if (e.bits == 16) {
        memcpy(&half, at, sizeof half);
        corral_half_load(e.code == CORRAL_DL_BFLOAT ? CORRAL_BF16 : CORRAL_F16, 1, &half, &value);
        return value;
    }
    if (e.bits == 8) return *(const uint8_t *)at;
    if (e.bits == 64) {
        memcpy(&wide, at, sizeof wide);
        return (float)wide;
    }
    memcpy(&word, at, sizeof word);
    return (float)word;
}

/// Where element `i` of the row-major order lies, in elements.
static int64_t place_of(const corral_dl_tensor *t, size_t i)
{
    int64_t place = 0, step = 1;
    for (int32_t d = t->dimension_count; d-- > 0;) {
        const size_t size = (size_t)t->shape[d];
        place += (int64_t)(i % size) * (t->strides != NULL ? t->strides[d] : step);
        step *= t->shape[d];
        i /= size;
    }
    return place;
}

static bool is_row_major(const corral_dl_tensor *t)
{
    int64_t step = 1;
    for (int32_t d = t->dimension_count; t->strides != NULL && d-- > 0;) {
        if (t->shape[d] != 1 && t->strides[d] != step) return false;
        step *= t->shape[d];
    }
    return true;
}

static const char *why_not(const corral_dl_tensor *t)
{
    if (t->device.type != CORRAL_DL_CPU) return "it is not in this machine's memory";
    if (t->dimension_count < 0 || t->dimension_count > CORRAL_MAX_DIMENSIONS)
        return "it has too many dimensions";
    for (int32_t d = 0; d < t->dimension_count; d++) {
        if (t->shape[d] < 0) return "a dimension is negative";
    }
    const element e = {t->dtype.code, t->dtype.bits};
    return t->dtype.lanes == 1 && is_readable(e) ? NULL : "its elements are of a type that is not read";
}

/// Element by element into a tensor of our own; f64 stays f64, all others become f32.
static void copy_elements(const corral_dl_tensor *t, const char *from, corral_tensor *to)
{
    const element e = {t->dtype.code, t->dtype.bits};
    const size_t size = e.bits / 8, count = corral_tensor_count(to), own = corral_dtype_size(to->dtype);
    const bool same = e.code == CORRAL_DL_FLOAT && e.bits >= 32;
    for (size_t i = 0; i < count; i++) {
        const char *at = from + place_of(t, i) * (int64_t)size;
        if (same)
            memcpy((char *)to->data + i * own, at, own);
        else
            ((float *)to->data)[i] = read_element(e, at);
    }
}

corral_tensor *corral_dl_import(corral_tape *tape, const corral_dl_managed *managed)
{
    const corral_dl_tensor *t = &managed->tensor;
    const char *reason = why_not(t);
    if (reason != NULL)
        return corral_tape_fail(tape, CORRAL_ERROR_UNSUPPORTED, "dlpack: the tensor cannot be taken: %s",
                                reason);
    size_t shape[CORRAL_MAX_DIMENSIONS] = {0};
    for (int32_t d = 0; d < t->dimension_count; d++)
        shape[d] = (size_t)t->shape[d];
    const uint32_t dimensions = (uint32_t)t->dimension_count;
    const char *from = (const char *)t->data + t->byte_offset;
    const element e = {t->dtype.code, t->dtype.bits};
    const corral_dtype dtype = is(e, CORRAL_DL_FLOAT, 64) ? CORRAL_F64 : CORRAL_F32;
    const bool usable = is(e, CORRAL_DL_FLOAT, 64) || is(e, CORRAL_DL_FLOAT, 32);
    if (usable && (uintptr_t)from % corral_dtype_size(dtype) == 0 && is_row_major(t))
        return corral_input(tape, dtype, dimensions, shape, from);
    tape->operation = "input";
    corral_node *node = corral_tape_append(tape, dtype, dimensions, shape, NULL, NULL);
    if (node == NULL) return &tape->empty;
    copy_elements(t, from, &node->tensor);
    return &node->tensor;
}
