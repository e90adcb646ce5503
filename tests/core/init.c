// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/core/init.h"
#include "corral/core/ops.h"
#include "test.h"

static corral_params *one_matrix(corral_dtype dtype, size_t rows, size_t columns)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(dtype, &params));
    TEST_OK(corral_params_add(params, "w", 2, (const size_t[]){rows, columns}, &index));
    TEST_OK(corral_params_add(params, "b", 1, (const size_t[]){rows}, &index));
    TEST_OK(corral_params_seal(params));
    return params;
}

/// Rows, or columns where there are fewer of them, are orthogonal and of length `gain`.
static void is_orthogonal(void)
{
    static const size_t shapes[][2] = {{64, 4}, {4, 64}, {64, 64}, {1, 64}, {3, 3}, {1, 1}, {17, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const size_t rows = shapes[s][0], columns = shapes[s][1];
        corral_params *params = one_matrix(CORRAL_F64, rows, columns);
        TEST_OK(corral_init_orthogonal(params, 0, 1.5, 42));
        const double *w = corral_params_data(params);
        const size_t few = rows < columns ? rows : columns, many = rows < columns ? columns : rows;
        const size_t along = rows < columns ? 1 : columns, across = rows < columns ? columns : 1;
        for (size_t i = 0; i < few; i++) {
            for (size_t j = 0; j < few; j++) {
                double dot = 0.0;
                for (size_t k = 0; k < many; k++)
                    dot += w[i * across + k * along] * w[j * across + k * along];
                CU_ASSERT_DOUBLE_EQUAL(dot, i == j ? 2.25 : 0.0, 1e-13);
            }
        }
        corral_params_destroy(params);
    }
}

/// The same key gives the same weights in both dtypes; another key gives others; both signs occur.
static void the_key_decides(void)
{
    corral_params *a = one_matrix(CORRAL_F64, 8, 8), *b = one_matrix(CORRAL_F32, 8, 8),
                  *c = one_matrix(CORRAL_F64, 8, 8);
    TEST_OK(corral_init_orthogonal(a, 0, 1.0, 42));
    TEST_OK(corral_init_orthogonal(b, 0, 1.0, 42));
    TEST_OK(corral_init_orthogonal(c, 0, 1.0, 43));
    const double *x = corral_params_data(a), *z = corral_params_data(c);
    const float *y = corral_params_data(b);
    size_t same = 0, negative = 0;
    for (size_t i = 0; i < 64; i++) {
        CU_ASSERT_EQUAL((float)x[i], y[i]);
        same += x[i] == z[i];
        negative += x[i] < 0.0;
    }
    CU_ASSERT_TRUE(same == 0 && negative > 16 && negative < 48);
    corral_params_destroy(a);
    corral_params_destroy(b);
    corral_params_destroy(c);
}

/// The diagonal of Q has either sign over many keys: without the sign of R's diagonal it would not.
static void signs_are_balanced(void)
{
    size_t positive = 0;
    corral_params *params = one_matrix(CORRAL_F64, 4, 4);
    for (uint64_t key = 0; key < 200; key++) {
        TEST_OK(corral_init_orthogonal(params, 0, 1.0, key * 977));
        positive += *(double *)corral_params_data(params) > 0.0;
    }
    CU_ASSERT_TRUE(positive > 60 && positive < 140);
    corral_params_destroy(params);
}

static void uniform_stays_in_bounds(void)
{
    corral_params *params = one_matrix(CORRAL_F32, 64, 25);
    TEST_OK(corral_init_uniform_fan_in(params, 0, 25, 7));
    const float *w = corral_params_data(params);
    double sum = 0.0, largest = 0.0;
    for (size_t i = 0; i < 64 * 25; i++) {
        sum += (double)w[i];
        largest = fmax(largest, fabs((double)w[i]));
    }
    CU_ASSERT_TRUE(largest <= 0.2 && largest > 0.198);
    CU_ASSERT_TRUE(fabs(sum / 1600.0) < 5.0 * 0.2 / sqrt(3.0 * 1600.0));
    corral_params_destroy(params);
}

/// The packed form follows without another call.
static void weights_are_ready_for_use(void)
{
    corral_params *params = one_matrix(CORRAL_F32, 3, 2);
    TEST_OK(corral_init_uniform_fan_in(params, 0, 2, 7));
    const float *w = corral_params_data(params), x[2] = {1.0f, 0.0f};
    float y[3];
    corral_linear_forward(params, 0, 1, CORRAL_LINEAR, 1, x, y);
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(y[i], w[2 * i]);
    corral_params_destroy(params);
}

static void misuse_is_named(void)
{
    corral_params *params = one_matrix(CORRAL_F32, 3, 2);
    TEST_FAILS(corral_init_orthogonal(params, 1, 1.0, 0), CORRAL_ERROR_INVALID, "b has 1 dimensions");
    TEST_FAILS(corral_init_uniform_fan_in(params, 0, 0, 0), CORRAL_ERROR_INVALID, "fan-in of w is 0");
    corral_params_destroy(params);
}

/// Mean and deviation of what an initialisation wrote into entry 0.
static void spread_of(const corral_params *params, double *out_mean, double *out_deviation,
                      double *out_largest)
{
    const corral_param *entry = corral_params_entry(params, 0);
    double sum = 0.0, square = 0.0, largest = 0.0;
    for (size_t i = 0; i < entry->count; i++) {
        const double x = (double)((const float *)corral_params_data_const(params))[entry->offset + i];
        sum += x;
        square += x * x;
        largest = fmax(largest, fabs(x));
    }
    *out_mean = sum / (double)entry->count;
    *out_deviation = sqrt(square / (double)entry->count - *out_mean * *out_mean);
    *out_largest = largest;
}

static void spreads_follow_the_fans(void)
{
    enum { OUT = 60, IN = 240 };
    corral_params *params = NULL;
    uint32_t w;
    double mean, deviation, largest;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "w", 3, (const size_t[]){OUT, IN / 4, 4}, &w));
    TEST_OK(corral_params_seal(params));
    for (int which = 0; which < 8; which++) {
        static const double expected[] = {
            0.25, 0.3, 0.2 * 0.8796, 1.5 * 0.0816497, 1.5 * 0.0816497, 1.4 * 0.0645497, 1.4 * 0.0645497, 0.0};
        if (which == 0) TEST_OK(corral_init_uniform(params, w, -0.4330127, 0.4330127, 5));
        if (which == 1) TEST_OK(corral_init_normal(params, w, 0.0, 0.3, 5));
        if (which == 2) TEST_OK(corral_init_truncated_normal(params, w, 0.2, 5));
        if (which == 3) TEST_OK(corral_init_xavier_uniform(params, w, 1.5, 5));
        if (which == 4) TEST_OK(corral_init_xavier_normal(params, w, 1.5, 5));
        if (which == 5) TEST_OK(corral_init_kaiming_uniform(params, w, 1.4, 5));
        if (which == 6) TEST_OK(corral_init_kaiming_normal(params, w, 1.4, 5));
        if (which == 7) TEST_OK(corral_init_constant(params, w, 0.5));
        spread_of(params, &mean, &deviation, &largest);
        CU_ASSERT_DOUBLE_EQUAL(mean, which == 7 ? 0.5 : 0.0, 5.0 * expected[which] / sqrt(OUT * IN) + 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(deviation, expected[which], 0.03 * expected[which] + 1e-9);
        if (which == 2) CU_ASSERT_TRUE(largest <= 0.4f);
        if (which == 3 || which == 5) CU_ASSERT_TRUE(largest <= 1.7320509 * expected[which]);
    }
    TEST_FAILS(corral_init_normal(params, w, 0.0, NAN, 5), CORRAL_ERROR_INVALID, "not finite");
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("init", (test_case[]){{"is orthogonal", is_orthogonal},
                                          {"the key decides", the_key_decides},
                                          {"signs are balanced", signs_are_balanced},
                                          {"uniform stays in bounds", uniform_stays_in_bounds},
                                          {"weights are ready for use", weights_are_ready_for_use},
                                          {"misuse is named", misuse_is_named},
                                          {"spreads follow the fans", spreads_follow_the_fans},
                                          {NULL, NULL}});
}
