// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The kernels of the device against the CPU's tables and plain loops in f64, over ragged sizes: no rows,
/// one, a warp less one, a block more one. Tolerances are those of a few units in the last place, and for
/// products 4e-7 times the root of the depth.
#include "rig.h"

#include "corral/base/rng.h"
#include "corral/core/ops.h"
#include "ops/kernels.h"

static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 128, 257, 1000};
static const size_t widths[] = {1, 2, 3, 17, 64, 300};
enum { SIZES = sizeof sizes / sizeof *sizes, WIDTHS = sizeof widths / sizeof *widths };

// --- products ---------------------------------------------------------------------------------------------

static double product_element(const corral_product *p, const float *a, const float *b, size_t i, size_t j)
{
    double sum = 0;
    for (size_t k = 0; k < p->k; k++)
        sum += (double)a[p->transpose_a ? k * p->m + i : i * p->k + k] *
               (double)b[p->transpose_b ? j * p->k + k : k * p->n + j];
    return sum;
}

static void check_product(size_t m, size_t n, size_t k, int form)
{
    corral_product p = {.m = m, .n = n, .k = k};
    p.transpose_a = form & 1;
    p.transpose_b = form >> 1 & 1;
    p.add = form >> 2 & 1;
    float *a = host_noise(m * k, 1), *b = host_noise(k * n, 2), *c = host_noise(m * n, 3);
    p.a = upload(a, FLOATS(m * k));
    p.b = upload(b, FLOATS(k * n));
    p.c = upload(c, FLOATS(m * n));
    table->product(stream, &p);
    const float *found = download(p.c, FLOATS(m * n));
    size_t wrong = 0;
    for (size_t i = 0; i < m * n; i++) {
        const double exact = product_element(&p, a, b, i / n, i % n) + (p.add ? (double)c[i] : 0);
        wrong += fabs(exact - (double)found[i]) > 4e-7 * sqrt((double)k) * (1 + 0.25 * (double)k);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free_arrays();
}

static void products(void)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {64, 64, 4}, {33, 2, 65}, {7, 129, 64}, {64, 3, 300}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int form = 0; form < 8; form++)
            check_product(shapes[s][0], shapes[s][1], shapes[s][2], form);
}

/// Operands that are whole numbers of bf16 have exact products: only the order of sums may differ.
static void products_of_halves(void)
{
    const size_t m = 40, n = 24, k = 100;
    float *a = host_noise(m * k, 4), *b = host_noise(n * k, 5);
    corral_bf16 *a_half = device_bytes(2 * m * k), *b_half = device_bytes(2 * n * k);
    table->to_bf16(stream, m * k, upload(a, FLOATS(m * k)), a_half);
    table->to_bf16(stream, n * k, upload(b, FLOATS(n * k)), b_half);
    const corral_bf16 *a_found = download(a_half, 2 * m * k), *b_found = download(b_half, 2 * n * k);
    for (size_t i = 0; i < m * k; i++) {
        CU_ASSERT_TRUE(fabsf(from_bf16(a_found[i]) - a[i]) <= fabsf(a[i]) / 256);
        a[i] = from_bf16(a_found[i]);
    }
    for (size_t i = 0; i < n * k; i++)
        b[i] = from_bf16(b_found[i]);
    corral_product p = {.m = m, .n = n, .k = k, .transpose_b = 1, .half = 1};
    p.a = a_half;
    p.b = b_half;
    p.c = device_bytes(FLOATS(m * n));
    table->product(stream, &p);
    const float *found = download(p.c, FLOATS(m * n));
    for (size_t i = 0; i < m * n; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)found[i], product_element(&p, a, b, i / n, i % n), 1e-4);
    free_arrays();
}

static void halves_round_to_even(void)
{
    static const float x[] = {1.0f, 1.00390625f, 1.01171875f, -0.0f, INFINITY, 3.4e38f, 1e-40f, NAN};
    static const float expected[] = {1.0f, 1.0f, 1.015625f, -0.0f, INFINITY, INFINITY, 1.01e-40f};
    enum { COUNT = sizeof x / sizeof *x };
    corral_bf16 *half = device_bytes(2 * COUNT);
    table->to_bf16(stream, COUNT, upload(x, sizeof x), half);
    const corral_bf16 *found = download(half, 2 * COUNT);
    for (size_t i = 0; i + 1 < COUNT; i++) {
        CU_ASSERT_TRUE(from_bf16(found[i]) == expected[i] || i == 6);
        CU_ASSERT_EQUAL(signbit(from_bf16(found[i])) != 0, signbit(x[i]) != 0);
    }
    CU_ASSERT_DOUBLE_EQUAL((double)from_bf16(found[6]), 1e-40, 5e-41);
    CU_ASSERT_TRUE(isnan(from_bf16(found[COUNT - 1])));
    free_arrays();
}

// --- what follows a product -------------------------------------------------------------------------------

static void check_activation(size_t rows, size_t width, corral_activation activation)
{
    const size_t count = rows * width;
    float *y = host_noise(count, 1), *bias = host_noise(width, 2);
    if (count > 2) {
        y[0] = NAN;
        y[1] = -INFINITY;
        y[2] = 40;
    }
    float *on_device = upload(y, FLOATS(count));
    corral_bf16 *half = device_bytes(2 * count);
    table->bias_activation(stream, rows, width, (int)activation, upload(bias, FLOATS(width)), on_device,
                           half);
    for (size_t i = 0; i < count; i++) {
        y[i] += bias[i % width];
        if (activation == CORRAL_TANH) y[i] = tanhf(y[i]);
        if (activation == CORRAL_RELU) y[i] = y[i] > 0 || isnan(y[i]) ? y[i] : 0;
    }
    const float *found = download(on_device, FLOATS(count));
    const corral_bf16 *found_half = download(half, 2 * count);
    CU_ASSERT_EQUAL(differences(count, y, found, 1e-6, 1e-7), 0);
    for (size_t i = 0; i < count; i++) {
        const float wide = from_bf16(found_half[i]);
        CU_ASSERT_TRUE(isnan(found[i]) ? isnan(wide)
                                       : wide == found[i] || fabsf(wide - found[i]) <= fabsf(found[i]) / 256);
    }
    free_arrays();
}

static void check_activation_gradient(size_t rows, size_t width, corral_activation activation)
{
    const size_t count = rows * width;
    const size_t chunks = (rows + CORRAL_DEVICE_BIAS_ROWS - 1) / CORRAL_DEVICE_BIAS_ROWS;
    float *y = host_noise(count, 1), *gradient = host_noise(count, 2), *sum = host_bytes(FLOATS(width));
    float *on_device = upload(gradient, FLOATS(count)), *bias = device_bytes(FLOATS(width));
    corral_bf16 *half = device_bytes(2 * count);
    table->activation_gradient(stream, rows, width, (int)activation, upload(y, FLOATS(count)), on_device,
                               half, device_bytes(FLOATS(chunks * width)), bias);
    corral_kernels_f32.activation_grad(count, activation, y, gradient);
    for (size_t c = 0; c < width; c++) {
        double total = 0;
        for (size_t r = 0; r < rows; r++)
            total += (double)gradient[r * width + c];
        sum[c] = (float)total;
    }
    const float *found = download(on_device, FLOATS(count));
    const corral_bf16 *found_half = download(half, 2 * count);
    CU_ASSERT_EQUAL(differences(count, gradient, found, 1e-6, 1e-7), 0);
    CU_ASSERT_EQUAL(differences(width, sum, download(bias, FLOATS(width)), 1e-5, 1e-4), 0);
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_TRUE(fabsf(from_bf16(found_half[i]) - found[i]) <= fabsf(found[i]) / 256);
    free_arrays();
}

static void activations(void)
{
    for (int activation = 0; activation < CORRAL_ACTIVATION_COUNT; activation++)
        for (size_t s = 0; s < SIZES; s++)
            for (size_t w = 0; w < WIDTHS; w++) {
                if (sizes[s] * widths[w] > 40000) continue;
                check_activation(sizes[s], widths[w], (corral_activation)activation);
                check_activation_gradient(sizes[s], widths[w], (corral_activation)activation);
            }
}

/// A gradient of 0 is no gradient, whatever stands beside it.
static void nothing_times_infinity(void)
{
    const float y[2] = {INFINITY, 0.5f}, gradient[2] = {0, 1};
    float *on_device = upload(gradient, sizeof gradient), *bias = device_bytes(FLOATS(1));
    table->activation_gradient(stream, 2, 1, CORRAL_TANH, upload(y, sizeof y), on_device, NULL,
                               device_bytes(FLOATS(1)), bias);
    const float *found = download(on_device, sizeof gradient);
    CU_ASSERT_EQUAL(found[0], 0);
    CU_ASSERT_EQUAL(found[1], 0.75f);
    CU_ASSERT_EQUAL(*(float *)download(bias, FLOATS(1)), 0.75f);
    free_arrays();
}

static void blends(void)
{
    const size_t count = 700;
    float *from = host_noise(count, 1), *to = host_noise(count, 2);
    float *on_device = upload(to, FLOATS(count)), *source = upload(from, FLOATS(count));
    table->blend(stream, count, 0.25f, source, on_device);
    for (size_t i = 0; i < count; i++)
        to[i] += 0.25f * (from[i] - to[i]);
    CU_ASSERT_EQUAL(differences(count, to, download(on_device, FLOATS(count)), 1e-6, 1e-7), 0);
    table->blend(stream, count, 1, source, on_device);
    CU_ASSERT_EQUAL(memcmp(from, download(on_device, FLOATS(count)), FLOATS(count)), 0);
    free_arrays();
}

// --- rows -------------------------------------------------------------------------------------------------

static void sums(void)
{
    static const size_t counts[] = {0, 1, 1023, 1024, 1025, 70000};
    for (size_t s = 0; s < sizeof counts / sizeof *counts; s++) {
        float *x = host_noise(counts[s], 3);
        double exact = 0, *out = device_bytes(sizeof *out);
        for (size_t i = 0; i < counts[s]; i++)
            exact += (double)x[i];
        table->sum(stream, counts[s], upload(x, FLOATS(counts[s])), device_bytes(8 * (counts[s] / 1024 + 1)),
                   out);
        CU_ASSERT_DOUBLE_EQUAL(*(double *)download(out, sizeof *out), exact, 1e-9);
        free_arrays();
    }
}

/// Logits among which some are -inf, and whole rows are.
static float *masked_logits(size_t rows, size_t n)
{
    float *x = host_noise(rows * n, 7);
    for (size_t i = 0; i < rows * n; i++) {
        x[i] *= 8;
        if (i % 7 == 3 || i / n % 5 == 4) x[i] = -INFINITY;
    }
    return x;
}

static void check_log_softmax(size_t rows, size_t n)
{
    const size_t count = rows * n;
    float *x = masked_logits(rows, n), *expected = host_bytes(FLOATS(count));
    float *y = device_bytes(FLOATS(count)), *gradient = host_noise(count, 8), *dx = host_noise(count, 9);
    table->log_softmax(stream, rows, n, upload(x, FLOATS(count)), y);
    corral_categorical_log_probs(rows, n, x, expected);
    CU_ASSERT_EQUAL(differences(count, expected, download(y, FLOATS(count)), 1e-6, 2e-6), 0);
    float *dx_device = upload(dx, FLOATS(count));
    table->log_softmax_gradient(stream, rows, n, upload(expected, FLOATS(count)),
                                upload(gradient, FLOATS(count)), dx_device);
    corral_kernels_f32.log_softmax_grad(rows, n, expected, gradient, dx);
    CU_ASSERT_EQUAL(differences(count, dx, download(dx_device, FLOATS(count)), 1e-5, 1e-5), 0);
    free_arrays();
}

static void log_softmaxes(void)
{
    for (size_t s = 0; s < SIZES; s++)
        for (size_t w = 0; w < WIDTHS; w++)
            if (sizes[s] * widths[w] <= 20000) check_log_softmax(sizes[s], widths[w]);
}

/// The very draws of the CPU's streams: the same actions.
static void samples(void)
{
    const size_t rows = 500, n = 5;
    const uint64_t key = 1234567, first = 1000;
    corral_device_control control = {.counter = first};
    float *logits = masked_logits(rows, n), *log_prob = device_bytes(FLOATS(rows));
    float *uniform = host_bytes(FLOATS(rows)), *expected_log_prob = host_bytes(FLOATS(rows));
    int32_t *action = device_bytes(4 * rows), *expected = host_bytes(4 * rows);
    for (size_t r = 0; r < rows; r++)
        uniform[r] = corral_stream_float(key, first + r);
    table->sample(stream, rows, n, upload(logits, FLOATS(rows * n)), key, upload(&control, sizeof control),
                  action, log_prob);
    corral_categorical_sample(rows, n, logits, uniform, expected, expected_log_prob);
    const int32_t *found = download(action, 4 * rows);
    size_t other = 0;
    for (size_t r = 0; r < rows; r++) {
        other += found[r] != expected[r];
        CU_ASSERT_TRUE(logits[r * n + (size_t)found[r]] != -INFINITY || r % 5 == 4);
    }
    CU_ASSERT_TRUE(other <= 1); // a draw may lie within rounding of a boundary
    CU_ASSERT_EQUAL(
        differences(rows, expected_log_prob, download(log_prob, FLOATS(rows)), 1e-5, 1e-5) > other, 0);
    free_arrays();
}

// --- the rows of a minibatch ------------------------------------------------------------------------------

static void gathers(void)
{
    enum { BATCH = 21, WIDTH = 5, ACTIONS = 3, ROWS = 9, AT = 4 };
    uint32_t order[AT + ROWS];
    for (uint32_t i = 0; i < AT + ROWS; i++)
        order[i] = i * 8 % BATCH;
    const corral_device_control control = {.at = AT, .advantage_mean = 0.25, .advantage_scale = 2};
    int32_t actions[BATCH];
    for (int i = 0; i < BATCH; i++)
        actions[i] = i;
    float *observation = host_noise(BATCH * WIDTH, 1), *value = host_noise(BATCH, 2);
    float *advantage = host_noise(BATCH, 3), *log_probs = host_noise(BATCH * ACTIONS, 4);
    corral_device_gather g = {.rows = ROWS, .width = WIDTH, .actions = ACTIONS};
    g.order = upload(order, sizeof order);
    g.observation = upload(observation, FLOATS(BATCH * WIDTH));
    g.value = upload(value, FLOATS(BATCH));
    g.advantage = upload(advantage, FLOATS(BATCH));
    g.log_probs = upload(log_probs, FLOATS(BATCH * ACTIONS));
    g.action = upload(actions, sizeof actions);
    g.out_observation = device_bytes(FLOATS(ROWS * WIDTH));
    g.out_observation_half = device_bytes(2 * ROWS * WIDTH);
    g.out_value = device_bytes(FLOATS(ROWS));
    g.out_advantage = device_bytes(FLOATS(ROWS));
    g.out_log_probs = device_bytes(FLOATS(ROWS * ACTIONS));
    g.out_action = device_bytes(4 * ROWS);
    table->gather(stream, &g, upload(&control, sizeof control));
    const float *out = download(g.out_observation, FLOATS(ROWS * WIDTH)),
                *v = download(g.out_value, FLOATS(ROWS));
    const float *a = download(g.out_advantage, FLOATS(ROWS));
    const float *all = download(g.out_log_probs, FLOATS(ROWS * ACTIONS));
    const int32_t *chosen = download(g.out_action, 4 * ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const size_t row = order[AT + i];
        CU_ASSERT_EQUAL(memcmp(out + i * WIDTH, observation + row * WIDTH, FLOATS(WIDTH)), 0);
        CU_ASSERT_EQUAL(memcmp(all + i * ACTIONS, log_probs + row * ACTIONS, FLOATS(ACTIONS)), 0);
        CU_ASSERT_EQUAL(v[i], value[row]);
        CU_ASSERT_EQUAL(a[i], (advantage[row] - 0.25f) * 2);
        CU_ASSERT_EQUAL((size_t)chosen[i], row);
    }
    free_arrays();
}

static void filters(void)
{
    const size_t rows = 300, width = 6;
    float *x = host_noise(rows * width, 1), *expected = host_bytes(FLOATS(rows * width));
    double mean[6], inverse[6];
    for (size_t i = 0; i < width; i++) {
        mean[i] = 0.1 * (double)i;
        inverse[i] = 1.0 / (0.07 * (double)(i + 1));
    }
    float *on_device = upload(x, FLOATS(rows * width));
    table->filter(stream, rows, width, on_device, upload(mean, sizeof mean), upload(inverse, sizeof inverse),
                  5, on_device);
    for (size_t i = 0; i < rows * width; i++)
        expected[i] = (float)fmin(fmax(((double)x[i] - mean[i % width]) * inverse[i % width], -5), 5);
    CU_ASSERT_EQUAL(memcmp(expected, download(on_device, FLOATS(rows * width)), FLOATS(rows * width)), 0);
    free_arrays();
}

static void check_moments(size_t rows, bool wanted)
{
    const size_t batch = 3000;
    uint32_t *order = host_bytes(4 * (rows + 5));
    float *advantage = host_noise(batch, 6);
    for (size_t i = 0; i < rows + 5; i++)
        order[i] = (uint32_t)(i * 7 % batch);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < rows; i++)
        sum += (double)advantage[order[5 + i]];
    const double mean = sum / (double)rows;
    for (size_t i = 0; i < rows; i++)
        squares += pow((double)advantage[order[5 + i]] - mean, 2);
    corral_device_control control = {.at = 5, .normalize_advantage = wanted};
    corral_device_control *on_device = upload(&control, sizeof control);
    table->advantage_moments(stream, rows, upload(order, 4 * (rows + 5)), upload(advantage, FLOATS(batch)),
                             device_bytes(3 * 8 * (rows / 1024 + 1)), on_device);
    const corral_device_control *found = download(on_device, sizeof control);
    const bool normalised = wanted && rows > 1;
    CU_ASSERT_DOUBLE_EQUAL(found->advantage_mean, normalised ? mean : 0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(found->advantage_scale,
                           normalised ? 1 / (sqrt(squares / (double)(rows - 1)) + 1e-8) : 1, 1e-9);
    free_arrays();
}

static void moments(void)
{
    for (size_t rows = 1; rows <= 2500; rows = rows * 3 + 1)
        check_moments(rows, true);
    check_moments(100, false);
}

int main(void)
{
    const int opened = rig_open();
    if (opened != 0) return opened;
    return rig_close(
        test_run("kernels of the device", (test_case[]){{"products", products},
                                                        {"products of halves", products_of_halves},
                                                        {"halves round to even", halves_round_to_even},
                                                        {"activations", activations},
                                                        {"nothing times infinity", nothing_times_infinity},
                                                        {"blends", blends},
                                                        {"sums", sums},
                                                        {"log softmaxes", log_softmaxes},
                                                        {"samples", samples},
                                                        {"gathers", gathers},
                                                        {"filters", filters},
                                                        {"moments", moments},
                                                        {NULL, NULL}}));
}
