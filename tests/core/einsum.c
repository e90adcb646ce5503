// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Einstein's notation against plain loops over all letters, random equations among them, and its gradients.

#include "corral/core/shapes.h"

#include "corral/base/rng.h"
#include "gradient_check.h"

enum { LETTERS = 5, MOST = 4 };
static const size_t sizes[LETTERS] = {2, 3, 1, 4, 2}; // of a to e

static corral_tensor *use_product(corral_tensor *const *v)
{
    return corral_einsum("abd,dbe->eb", v[0], v[1]);
}
static corral_tensor *use_attention(corral_tensor *const *v)
{
    return corral_einsum("abd,aed->abe", v[0], v[1]);
}
static corral_tensor *use_sum(corral_tensor *const *v)
{
    return corral_einsum("abd->da", v[0], NULL);
}

static void gradients_follow_differences(void)
{
    gradient_check checks[] = {
        {"product", use_product, {{3, {2, 3, 4}, {0}}, {3, {4, 3, 2}, {0}}}, 2},
        {"attention", use_attention, {{3, {2, 3, 4}, {0}}, {3, {2, 2, 4}, {0}}}, 2},
        {"sum", use_sum, {{3, {2, 3, 4}, {0}}}, 1},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        for (int v = 0; v < checks[i].variable_count; v++) {
            for (size_t k = 0; k < check_count(&checks[i], v); k++)
                checks[i].variables[v].values[k] = sin(1.0 + 1.7 * (double)k + (double)v);
        }
        run_gradient_check(&checks[i], 1e-7);
    }
}

/// Which letters, from 'a', in an order that chance has chosen.
static size_t draw_letters(uint64_t key, uint64_t *counter, uint32_t among, size_t most, char *out)
{
    size_t count = 0;
    while (count < most && among != 0) {
        const uint32_t l = (uint32_t)(corral_stream_double(key, (*counter)++) * LETTERS);
        if (!(among & 1u << l)) continue;
        among &= ~(1u << l);
        if (corral_stream_double(key, (*counter)++) < 0.7) out[count++] = (char)('a' + l);
    }
    out[count] = 0;
    return count;
}

static uint32_t set_of(const char *letters)
{
    uint32_t set = 0;
    for (; *letters != 0; letters++)
        set |= 1u << (*letters - 'a');
    return set;
}

static size_t shape_of(const char *letters, size_t *shape)
{
    size_t count = 1;
    for (size_t i = 0; letters[i] != 0; i++)
        count *= shape[i] = sizes[letters[i] - 'a'];
    return count;
}

/// Where the element with these values of the letters is.
static size_t offset_of(const char *letters, const size_t *value)
{
    size_t at = 0;
    for (; *letters != 0; letters++)
        at = at * sizes[*letters - 'a'] + value[*letters - 'a'];
    return at;
}

/// Every value of every letter that occurs; the others stay at 0.
static void plain(const char *a, const char *b, const char *y, const double *left, const double *right,
                  double *result)
{
    const uint32_t used = set_of(a) | set_of(b);
    size_t value[LETTERS] = {0}, i = 0;
    while (i < LETTERS) {
        result[offset_of(y, value)] += left[offset_of(a, value)] * right[offset_of(b, value)];
        for (i = 0; i < LETTERS; i++) {
            if (used & 1u << i && ++value[i] < sizes[i]) break;
            value[i] = 0;
        }
    }
}

static void random_equations(void)
{
    static double left[256], right[256], result[256];
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    uint64_t counter = 0;
    for (size_t i = 0; i < 256; i++)
        left[i] = sin(1.0 + (double)i), right[i] = cos(0.3 * (double)i);
    for (int round = 0; round < 400; round++) {
        char a[MOST + 1], b[MOST + 1], y[MOST + 1], equation[24];
        size_t a_shape[MOST], b_shape[MOST], y_shape[MOST];
        const size_t a_count = draw_letters(5, &counter, 31, MOST, a),
                     b_count = draw_letters(5, &counter, 31, MOST, b);
        const size_t y_count = draw_letters(5, &counter, set_of(a) | set_of(b), MOST, y);
        snprintf(equation, sizeof equation, "%s,%s->%s", a, b, y);
        shape_of(a, a_shape), shape_of(b, b_shape);
        memset(result, 0, sizeof result);
        plain(a, b, y, left, right, result);
        corral_tape_reset(tape, NULL, NULL);
        const corral_tensor *made =
            corral_einsum(equation, corral_input(tape, CORRAL_F64, (uint32_t)a_count, a_shape, left),
                          corral_input(tape, CORRAL_F64, (uint32_t)b_count, b_shape, right));
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_EQUAL_FATAL(made->dimension_count, y_count);
        const size_t count = shape_of(y, y_shape);
        CU_ASSERT_EQUAL_FATAL(corral_tensor_count(made), count);
        CU_ASSERT_EQUAL(memcmp(made->shape, y_shape, y_count * sizeof *y_shape), 0);
        for (size_t k = 0; k < count; k++)
            CU_ASSERT_DOUBLE_EQUAL(((double *)made->data)[k], result[k], 1e-12);
    }
    corral_tape_destroy(tape);
}

static void misuse_is_a_sentence(void)
{
    static const double x[12] = {0};
    static const char *const wrong[] = {"ab,bc",     "ab,bc->ad", "aa,bc->a",  "ab,bc->aa",
                                        "abc,bc->a", "ab->ab",    "ab,ca->bc", "ab,bc->ac,",
                                        "",          "ab,b1->a",  "ab,bc-ac"};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        corral_tape_reset(tape, NULL, NULL);
        corral_einsum(wrong[i], corral_input(tape, CORRAL_F64, 2, (const size_t[]){2, 3}, x),
                      corral_input(tape, CORRAL_F64, 2, (const size_t[]){3, 4}, x));
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "does not fit");
    }
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("einsum", (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                            {"random equations", random_equations},
                                            {"misuse is a sentence", misuse_is_a_sentence},
                                            {NULL, NULL}});
}
