// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Convolution and pools: gradients, every kind of edge against plain loops, and images alone against images
// in a batch, bit for bit.

#include "corral/core/layers.h"

#include "layer_check.h"

static corral_window window;
static corral_activation activation;

static corral_tensor *use_conv(corral_tensor *const *inputs)
{
    return corral_conv2d(inputs[0], 0, 1, &window, activation);
}

static corral_tensor *use_max_pool(corral_tensor *const *inputs)
{
    return corral_max_pool2d(inputs[0], &window);
}

static corral_tensor *use_avg_pool(corral_tensor *const *inputs)
{
    return corral_avg_pool2d(inputs[0], &window);
}

typedef struct conv_case {
    size_t rows, height, width, channels, out;
    corral_window window;
    corral_activation activation;
} conv_case;

static const conv_case cases[] = {
    {2, 5, 6, 2, 9, {3, 3, 1, 0}, CORRAL_LINEAR},  // more outputs than 8: the products
    {1, 7, 9, 3, 4, {4, 3, 2, 0}, CORRAL_TANH},    // fewer: the plain loops
    {2, 6, 7, 2, 10, {3, 4, 3, 0}, CORRAL_TANH},   // windows that leave pixels out
    {1, 4, 5, 2, 9, {3, 3, 1, 1}, CORRAL_LINEAR},  // padding
    {1, 5, 4, 1, 9, {3, 4, 2, 2}, CORRAL_TANH},    // padding that hides most of a window
    {1, 3, 3, 2, 11, {5, 5, 1, 3}, CORRAL_LINEAR}, // a window larger than the image
    {1, 4, 4, 2, 9, {2, 1, 3, 0}, CORRAL_LINEAR},  // a stride larger than the window
    {1, 3, 2, 3, 9, {3, 2, 1, 0}, CORRAL_LINEAR},  // one place
};
enum { CASES = sizeof cases / sizeof *cases };

static void gradients_follow_differences(void)
{
    for (size_t i = 0; i < CASES; i++) {
        const conv_case *c = &cases[i];
        const size_t in = c->window.height * c->window.width * c->channels;
        window = c->window;
        activation = c->activation;
        const layer_check check = {
            .name = "conv2d",
            .build = use_conv,
            .entries = {{2, {c->out, in}}, {1, {c->out}}},
            .entry_count = 2,
            .inputs = {{4, {c->rows, c->height, c->width, c->channels}}},
            .input_count = 1,
            .tolerance = 1e-7,
        };
        run_layer_check(&check);
    }
    window = (corral_window){2, 3, 2, 0};
    layer_check pool = {.name = "max_pool2d",
                        .build = use_max_pool,
                        .inputs = {{4, {2, 5, 7, 3}}},
                        .input_count = 1,
                        .tolerance = 1e-7};
    run_layer_check(&pool);
    pool.name = "avg_pool2d";
    pool.build = use_avg_pool;
    run_layer_check(&pool);
    window.stride = 1; // windows that overlap
    run_layer_check(&pool);
}

/// Pixel (y, x) of image n with its padding of zeros.
static double at(const float *image, const conv_case *c, size_t n, size_t y, size_t x, size_t channel)
{
    const size_t p = c->window.padding;
    if (y < p || x < p || y >= c->height + p || x >= c->width + p) return 0.0;
    return (double)image[((n * c->height + y - p) * c->width + x - p) * c->channels + channel];
}

static double plain(const conv_case *c, const float *x, const float *weight, size_t n, size_t y0, size_t x0,
                    size_t o)
{
    double sum = 0.0;
    for (size_t ky = 0; ky < c->window.height; ky++) {
        for (size_t kx = 0; kx < c->window.width; kx++) {
            for (size_t k = 0; k < c->channels; k++)
                sum += at(x, c, n, y0 * c->window.stride + ky, x0 * c->window.stride + kx, k) *
                       (double)weight[((o * c->window.height + ky) * c->window.width + kx) * c->channels + k];
        }
    }
    return sum;
}

static corral_params *conv_params(size_t out, size_t in)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "weight", 2, (const size_t[]){out, in}, &index));
    TEST_OK(corral_params_add(params, "bias", 1, (const size_t[]){out}, &index));
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < corral_params_count(params); i++)
        ((float *)corral_params_data(params))[i] = (float)layer_number(i);
    corral_params_refresh(params);
    return params;
}

static void every_place_is_its_window(void)
{
    for (size_t i = 0; i < CASES; i++) {
        const conv_case *c = &cases[i];
        const size_t in = c->window.height * c->window.width * c->channels;
        const size_t rows =
            corral_window_places(c->height, c->window.height, c->window.stride, c->window.padding);
        const size_t columns =
            corral_window_places(c->width, c->window.width, c->window.stride, c->window.padding);
        corral_params *params = conv_params(c->out, in);
        const float *weight = corral_params_data_const(params);
        const float *bias = weight + corral_params_entry(params, 1)->offset;
        const size_t x_count = c->rows * c->height * c->width * c->channels;
        float *x = calloc(x_count, sizeof *x), *y = calloc(c->rows * rows * columns * c->out, sizeof *y);
        for (size_t k = 0; k < x_count; k++)
            x[k] = (float)layer_number(5 * k + 1);
        corral_conv2d_forward(params, 0, 1, &c->window, CORRAL_LINEAR, c->rows, c->height, c->width, x, y);
        for (size_t k = 0; k < c->rows * rows * columns * c->out; k++) {
            const size_t o = k % c->out, x0 = k / c->out % columns, y0 = k / c->out / columns % rows;
            const double exact =
                (double)bias[o] + plain(c, x, weight, k / c->out / columns / rows, y0, x0, o);
            CU_ASSERT_DOUBLE_EQUAL((double)y[k], exact, 2e-6);
        }
        free(x);
        free(y);
        corral_params_destroy(params);
    }
}

/// Images one by one, on a tape and without one.
static void images_are_independent(void)
{
    enum { IMAGES = 3, SIZE = 20, CHANNELS = 4, OUT = 32, PLACES = 4 };
    const corral_window w = {8, 8, 4, 0};
    corral_params *params = conv_params(OUT, 8 * 8 * CHANNELS);
    float *x = calloc(IMAGES * SIZE * SIZE * CHANNELS, sizeof *x),
          *y = calloc(IMAGES * PLACES * PLACES * OUT, sizeof *y);
    for (size_t i = 0; i < IMAGES * SIZE * SIZE * CHANNELS; i++)
        x[i] = (float)layer_number(i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    corral_tensor *images =
        corral_input(tape, CORRAL_F32, 4, (const size_t[]){IMAGES, SIZE, SIZE, CHANNELS}, x);
    const corral_tensor *all = corral_conv2d(images, 0, 1, &w, CORRAL_RELU);
    TEST_OK(corral_tape_status(tape));
    for (size_t i = 0; i < IMAGES; i++) {
        corral_conv2d_forward(params, 0, 1, &w, CORRAL_RELU, 1, SIZE, SIZE, x + i * SIZE * SIZE * CHANNELS,
                              y);
        const float *expected = (const float *)all->data + i * PLACES * PLACES * OUT;
        CU_ASSERT_EQUAL(memcmp(y, expected, PLACES * PLACES * OUT * sizeof *y), 0);
    }
    corral_tape_destroy(tape);
    corral_params_destroy(params);
    free(x);
    free(y);
}

static void pools_choose_the_first_largest(void)
{
    static const double x[] = {1, 5, 5, 2, 0, NAN, 3, 3};
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const corral_window w = {2, 2, 2, 0};
    corral_tensor *image = corral_variable(tape, CORRAL_F64, 4, (const size_t[]){1, 2, 4, 1}, x);
    corral_tensor *y = corral_max_pool2d(image, &w);
    TEST_OK(corral_backward(corral_sum(y)));
    CU_ASSERT_TRUE(isnan(((double *)y->data)[0]));
    CU_ASSERT_EQUAL(((double *)y->data)[1], 5.0);
    CU_ASSERT_TRUE(((double *)image->grad)[5] == 1.0 && ((double *)image->grad)[1] == 0.0);
    CU_ASSERT_TRUE(((double *)image->grad)[2] == 1.0 && ((double *)image->grad)[6] == 0.0);
    corral_tape_destroy(tape);
}

static void misuse_is_a_sentence(void)
{
    static const float x[64] = {0};
    static const char *const texts[] = {"hold a window", "hold a window", "weight [out, 18]", "no padding",
                                        "hold a window"};
    corral_params *params = conv_params(9, 3 * 3 * 1);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    for (int which = 0; which < 5; which++) {
        corral_tape_reset(tape, params, NULL);
        corral_tensor *image =
            corral_input(tape, CORRAL_F32, 4, (const size_t[]){1, 4, 4, which == 2 ? 2 : 1}, x);
        corral_window w = {3, 3, 1, 0};
        if (which == 0) w.height = 5;
        if (which == 1) w.stride = 0;
        if (which == 3) w.padding = 1;
        if (which == 4) w.padding = 3;
        if (which == 3)
            corral_max_pool2d(image, &w);
        else
            corral_conv2d(image, 0, 1, &w, CORRAL_RELU);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, texts[which]);
    }
    corral_tape_reset(tape, params, NULL);
    corral_tensor *none = corral_input(tape, CORRAL_F32, 4, (const size_t[]){0, 4, 4, 1}, x);
    const corral_tensor *y = corral_conv2d(none, 0, 1, &(corral_window){3, 3, 1, 0}, CORRAL_RELU);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(corral_tensor_count(y), 0);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("conv", (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                          {"every place is its window", every_place_is_its_window},
                                          {"images are independent", images_are_independent},
                                          {"pools choose the first largest", pools_choose_the_first_largest},
                                          {"misuse is a sentence", misuse_is_a_sentence},
                                          {NULL, NULL}});
}
