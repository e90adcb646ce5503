// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loops of elements.h, one table per dtype, as kernels.h.
#ifndef CORRAL_CORE_OPS_ELEMENT_KERNELS_H
#define CORRAL_CORE_OPS_ELEMENT_KERNELS_H

#include "corral/core/elements.h"

#include "ops/kernels.h"

typedef enum corral_function {
    CORRAL_FUNCTION_POW, // to the power of numbers[0]
    CORRAL_FUNCTION_LOG1P,
    CORRAL_FUNCTION_EXPM1,
    CORRAL_FUNCTION_SIN,
    CORRAL_FUNCTION_COS,
    CORRAL_FUNCTION_ATANH,
    CORRAL_FUNCTION_ERF,
    CORRAL_FUNCTION_LEAKY_RELU, // with the slope numbers[0]
    CORRAL_FUNCTION_ELU,        // with alpha = numbers[0]
    CORRAL_FUNCTION_GELU,
    CORRAL_FUNCTION_GELU_TANH,
    CORRAL_FUNCTION_SILU,
    CORRAL_FUNCTION_SOFTPLUS,
    CORRAL_FUNCTION_LOG_SIGMOID,
    CORRAL_FUNCTION_SIGN, // from here on without slope
    CORRAL_FUNCTION_FLOOR,
    CORRAL_FUNCTION_COUNT,
} corral_function;

typedef enum corral_pairing {
    CORRAL_PAIRING_POWER,
    CORRAL_PAIRING_GREATER, // from here on without slope
    CORRAL_PAIRING_GREATER_EQUAL,
    CORRAL_PAIRING_LESS,
    CORRAL_PAIRING_LESS_EQUAL,
    CORRAL_PAIRING_EQUAL,
    CORRAL_PAIRING_NOT_EQUAL,
    CORRAL_PAIRING_COUNT,
} corral_pairing;

typedef struct corral_dropout_run {
    size_t count;
    double p;
    uint64_t key, counter;
    const void *from;
    void *to; // written, or added to by the gradient
} corral_dropout_run;

typedef struct corral_element_kernels {
    void (*function[CORRAL_FUNCTION_COUNT])(const corral_unary_run *run);
    void (*function_grad[CORRAL_FUNCTION_COUNT])(const corral_unary_run *run); // NULL where there is no slope
    void (*pairing[CORRAL_PAIRING_COUNT])(const corral_binary_run *run);
    void (*power_grad)(const corral_binary_run *run);
    void (*where)(size_t count, const void *condition, const void *yes, const void *no, void *y);
    /// Adds g where the condition is met (`wanted` true) or is not.
    void (*where_grad)(size_t count, const void *condition, bool wanted, const void *y_grad, void *grad);
    void (*dropout)(const corral_dropout_run *run);
    void (*dropout_grad)(const corral_dropout_run *run);
} corral_element_kernels;

extern const corral_element_kernels corral_elements_f32, corral_elements_f64;

static inline const corral_element_kernels *corral_elements_of(corral_dtype dtype)
{
    return dtype == CORRAL_F64 ? &corral_elements_f64 : &corral_elements_f32;
}

#endif
