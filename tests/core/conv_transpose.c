// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The transposed convolution: gradients, and every window's numbers laid onto an image by plain loops.

#include "corral/core/layers.h"

#include "layer_check.h"

typedef struct transposed_case {
    size_t rows, height, width, in, out;
    corral_window window;
    size_t extra;
    corral_activation activation;
} transposed_case;

static const transposed_case cases[] = {
    {2, 3, 4, 9, 2, {3, 3, 1, 0}, 0, CORRAL_LINEAR}, // more channels than 8: the products
    {1, 3, 2, 3, 4, {4, 3, 2, 0}, 0, CORRAL_TANH},   // fewer: the plain loops
    {1, 3, 3, 10, 3, {4, 4, 2, 1}, 0, CORRAL_TANH},  // as decoders of images have it
    {2, 2, 3, 9, 2, {3, 2, 3, 1}, 2, CORRAL_LINEAR}, // an image that is longer than the windows reach
    {1, 1, 1, 9, 5, {3, 4, 1, 0}, 0, CORRAL_LINEAR}, // one pixel
    {1, 2, 2, 2, 1, {2, 1, 3, 0}, 1, CORRAL_LINEAR}, // a stride larger than the window
};
enum { CASES = sizeof cases / sizeof *cases, MOST = 4096 };

static const transposed_case *current;

static corral_tensor *use_transposed(corral_tensor *const *inputs)
{
    return corral_conv_transpose2d(inputs[0], 0, 1, &current->window, current->extra, current->activation);
}

static void gradients_follow_differences(void)
{
    for (size_t i = 0; i < CASES; i++) {
        const transposed_case *c = current = &cases[i];
        const layer_check check = {
            .name = "conv_transpose2d",
            .build = use_transposed,
            .entries = {{2, {c->in, c->window.height * c->window.width * c->out}}, {1, {c->out}}},
            .entry_count = 2,
            .inputs = {{4, {c->rows, c->height, c->width, c->in}}},
            .input_count = 1,
            .tolerance = 1e-7,
        };
        run_layer_check(&check);
    }
}

/// Adds the window of pixel `p` (n, y, x) to the image.
static void lay(const transposed_case *c, const double *x, const double *weight, size_t p, size_t height,
                size_t width, double *image)
{
    const corral_window *w = &c->window;
    const size_t px = p % c->width, py = p / c->width % c->height, n = p / c->width / c->height;
    for (size_t k = 0; k < c->in * w->height * w->width * c->out; k++) {
        const size_t o = k % c->out, kx = k / c->out % w->width, ky = k / c->out / w->width % w->height;
        const size_t i = k / c->out / w->width / w->height;
        const size_t iy = py * w->stride + ky - w->padding, ix = px * w->stride + kx - w->padding; // may wrap
        if (iy < height && ix < width)
            image[((n * height + iy) * width + ix) * c->out + o] += x[p * c->in + i] * weight[k];
    }
}

static void windows_are_laid_onto_an_image(void)
{
    static double x[MOST], image[MOST];
    for (size_t i = 0; i < CASES; i++) {
        transposed_case plain = cases[i];
        const transposed_case *c = current = &plain;
        plain.activation = CORRAL_LINEAR;
        corral_params *params = NULL;
        corral_tape *tape = NULL;
        uint32_t index;
        TEST_OK(corral_params_create(CORRAL_F64, &params));
        TEST_OK(corral_params_add(params, "weight", 2,
                                  (const size_t[]){c->in, c->window.height * c->window.width * c->out},
                                  &index));
        TEST_OK(corral_params_add(params, "bias", 1, (const size_t[]){c->out}, &index));
        TEST_OK(corral_params_seal(params));
        double *weight = corral_params_data(params);
        for (size_t k = 0; k < corral_params_count(params); k++)
            weight[k] = layer_number(k);
        for (size_t k = 0; k < MOST; k++)
            x[k] = layer_number(3 * k + 2);
        TEST_OK(corral_tape_create(&tape));
        corral_tape_reset(tape, params, NULL);
        corral_tensor *pixels =
            corral_input(tape, CORRAL_F64, 4, (const size_t[]){c->rows, c->height, c->width, c->in}, x);
        const corral_tensor *y = use_transposed(&pixels);
        TEST_OK(corral_tape_status(tape));
        const size_t *shape = y->shape;
        CU_ASSERT_EQUAL(shape[1], (c->height - 1) * c->window.stride + c->window.height -
                                      2 * c->window.padding + c->extra);
        CU_ASSERT_EQUAL_FATAL(shape[3], c->out);
        for (size_t k = 0; k < corral_tensor_count(y); k++)
            image[k] = weight[corral_params_entry(params, 1)->offset + k % c->out];
        for (size_t p = 0; p < c->rows * c->height * c->width; p++)
            lay(c, x, weight, p, shape[1], shape[2], image);
        for (size_t k = 0; k < corral_tensor_count(y); k++)
            CU_ASSERT_DOUBLE_EQUAL(((double *)y->data)[k], image[k], 1e-12);
        corral_tape_destroy(tape);
        corral_params_destroy(params);
    }
}

static void misuse_is_a_sentence(void)
{
    static const float x[64] = {0};
    corral_params *params = NULL;
    corral_tape *tape = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "weight", 2, (const size_t[]){2, 3 * 3 * 2}, &index));
    TEST_OK(corral_params_add(params, "bias", 1, (const size_t[]){2}, &index));
    TEST_OK(corral_params_seal(params));
    TEST_OK(corral_tape_create(&tape));
    const transposed_case wrong[] = {{.in = 2, .window = {3, 3, 1, 0}, .extra = 1},
                                     {.in = 2, .window = {3, 3, 0, 0}},
                                     {.in = 2, .window = {3, 3, 1, 3}},
                                     {.in = 2, .window = {3, 2, 1, 0}},
                                     {.in = 1, .window = {3, 3, 1, 0}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        corral_tape_reset(tape, params, NULL);
        corral_tensor *pixels = corral_input(tape, CORRAL_F32, 4, (const size_t[]){1, 2, 2, wrong[i].in}, x);
        corral_conv_transpose2d(pixels, 0, 1, &wrong[i].window, wrong[i].extra, CORRAL_LINEAR);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "conv_transpose2d: needs images");
    }
    corral_tape_reset(tape, params, NULL);
    corral_tensor *none = corral_input(tape, CORRAL_F32, 4, (const size_t[]){0, 2, 2, 2}, x);
    CU_ASSERT_EQUAL(corral_tensor_count(
                        corral_conv_transpose2d(none, 0, 1, &(corral_window){3, 3, 1, 0}, 0, CORRAL_LINEAR)),
                    0);
    TEST_OK(corral_tape_status(tape));
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("conv_transpose",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"windows are laid onto an image", windows_are_laid_onto_an_image},
                                  {"misuse is a sentence", misuse_is_a_sentence},
                                  {NULL, NULL}});
}
