// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Gradients against central differences, in f64: every element of every variable, h = 1e-6 max(1, |x|).
#ifndef CORRAL_TEST_GRADIENT_CHECK_H
#define CORRAL_TEST_GRADIENT_CHECK_H

#include "corral/core/ops.h"
#include "test.h"

enum { CHECK_VARIABLES = 3, CHECK_ELEMENTS = 64 };

/// What is checked: variables with their values, and a function from them to a tensor of any shape.
typedef struct gradient_check {
    const char *name;
    corral_tensor *(*build)(corral_tensor *const *variables);
    struct {
        uint32_t dimension_count;
        size_t shape[CORRAL_MAX_DIMENSIONS];
        double values[CHECK_ELEMENTS];
    } variables[CHECK_VARIABLES];
    int variable_count;
} gradient_check;

static size_t check_count(const gradient_check *check, int variable)
{
    size_t count = 1;
    for (uint32_t i = 0; i < check->variables[variable].dimension_count; i++) {
        count *= check->variables[variable].shape[i];
    }
    return count;
}

/// Every element of the result has a weight of its own, so that no gradient hides behind another.
static corral_tensor *check_loss(corral_tape *tape, const gradient_check *check,
                                 corral_tensor **out_variables)
{
    static double weights[4096];
    for (size_t i = 0; i < 4096; i++)
        weights[i] = 0.3 + 0.1 * (double)(i * 7 % 11);
    for (int v = 0; v < check->variable_count; v++) {
        out_variables[v] = corral_variable(tape, CORRAL_F64, check->variables[v].dimension_count,
                                           check->variables[v].shape, check->variables[v].values);
    }
    corral_tensor *result = check->build(out_variables);
    corral_tensor *weight = corral_input(tape, CORRAL_F64, result->dimension_count, result->shape, weights);
    return corral_sum(corral_mul(result, weight));
}

static double check_value(corral_tape *tape, const gradient_check *check)
{
    corral_tensor *variables[CHECK_VARIABLES];
    corral_tape_reset(tape, NULL, NULL);
    const corral_tensor *loss = check_loss(tape, check, variables);
    TEST_OK(corral_tape_status(tape));
    return *(const double *)loss->data;
}

static void run_gradient_check(gradient_check *check, double tolerance)
{
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tensor *variables[CHECK_VARIABLES];
    corral_tape_reset(tape, NULL, NULL);
    TEST_OK(corral_backward(check_loss(tape, check, variables)));
    double gradients[CHECK_VARIABLES][CHECK_ELEMENTS];
    for (int v = 0; v < check->variable_count; v++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(variables[v]->grad);
        memcpy(gradients[v], variables[v]->grad, check_count(check, v) * sizeof(double));
    }
    for (int v = 0; v < check->variable_count; v++) {
        for (size_t i = 0; i < check_count(check, v); i++) {
            double *x = &check->variables[v].values[i];
            const double kept = *x, h = 1e-6 * fmax(1.0, fabs(kept));
            *x = kept + h;
            const double above = check_value(tape, check);
            *x = kept - h;
            const double below = check_value(tape, check);
            *x = kept;
            const double numeric = (above - below) / (2.0 * h), exact = gradients[v][i];
            const int close = fabs(numeric - exact) <= tolerance * fmax(1.0, fabs(numeric));
            if (!close) {
                fprintf(stderr, "%s: variable %d element %zu: gradient %.9g, differences say %.9g\n",
                        check->name, v, i, exact, numeric);
            }
            CU_ASSERT_TRUE(close);
        }
    }
    corral_tape_destroy(tape);
}

#endif
