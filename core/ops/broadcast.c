// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "ops/broadcast.h"

enum { DIMENSIONS = CORRAL_MAX_DIMENSIONS };

/// The size of dimension `i` of DIMENSIONS, counted as if leading ones were written out.
static size_t dimension(const corral_tensor *tensor, size_t i)
{
    const size_t missing = DIMENSIONS - tensor->dimension_count;
    return i < missing ? 1 : tensor->shape[i - missing];
}

static void fill_steps(const corral_tensor *tensor, size_t *steps)
{
    size_t step = 1;
    for (size_t i = DIMENSIONS; i-- > 0;) {
        steps[i] = dimension(tensor, i) == 1 ? 0 : step;
        step *= dimension(tensor, i);
    }
}

/// Tensors of one shape are one long run; so is a tensor with a single number.
static void flatten(corral_broadcast *plan, const corral_tensor *a, const corral_tensor *b, size_t count)
{
    const size_t a_count = corral_tensor_count(a), b_count = corral_tensor_count(b);
    if ((a_count != count && a_count != 1) || (b_count != count && b_count != 1)) return;
    *plan = (corral_broadcast){.shape = {1, 1, 1, count}};
    plan->a_step[DIMENSIONS - 1] = a_count == count ? 1 : 0;
    plan->b_step[DIMENSIONS - 1] = b_count == count ? 1 : 0;
}

bool corral_broadcast_plan(const corral_tensor *a, const corral_tensor *b, corral_broadcast *out_plan)
{
    size_t count = 1;
    for (size_t i = 0; i < DIMENSIONS; i++) {
        const size_t a_size = dimension(a, i), b_size = dimension(b, i);
        if (a_size != b_size && a_size != 1 && b_size != 1) return false;
        out_plan->shape[i] = a_size == 1 ? b_size : a_size;
        count *= out_plan->shape[i];
    }
    fill_steps(a, out_plan->a_step);
    fill_steps(b, out_plan->b_step);
    flatten(out_plan, a, b, count);
    return true;
}

uint32_t corral_broadcast_shape(const corral_tensor *a, const corral_tensor *b,
                                size_t out_shape[CORRAL_MAX_DIMENSIONS])
{
    const uint32_t count = a->dimension_count > b->dimension_count ? a->dimension_count : b->dimension_count;
    for (uint32_t i = 0; i < count; i++) {
        const size_t from = DIMENSIONS - count + i;
        out_shape[i] = dimension(a, from) == 1 ? dimension(b, from) : dimension(a, from);
    }
    return count;
}

static const void *at_const(const void *base, size_t element, size_t size)
{
    return base == NULL ? NULL : (const char *)base + element * size;
}

static void *at(void *base, size_t element, size_t size)
{
    return base == NULL ? NULL : (char *)base + element * size;
}

void corral_broadcast_walk(const corral_broadcast *plan, const corral_binary_run *whole, size_t size,
                           void (*kernel)(const corral_binary_run *))
{
    const size_t *n = plan->shape, *sa = plan->a_step, *sb = plan->b_step;
    size_t done = 0;
    for (size_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const size_t i0 = i / (n[1] * n[2]), i1 = i / n[2] % n[1], i2 = i % n[2];
        const size_t a = i0 * sa[0] + i1 * sa[1] + i2 * sa[2], b = i0 * sb[0] + i1 * sb[1] + i2 * sb[2];
        const corral_binary_run run = {
            .count = n[3],
            .a_step = sa[3],
            .b_step = sb[3],
            .a = at_const(whole->a, a, size),
            .b = at_const(whole->b, b, size),
            .y = at(whole->y, done, size),
            .y_grad = at_const(whole->y_grad, done, size),
            .a_grad = at(whole->a_grad, a, size),
            .b_grad = at(whole->b_grad, b, size),
        };
        kernel(&run);
        done += n[3];
    }
}
