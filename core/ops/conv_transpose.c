// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The transposed convolution: a convolution read backwards. Its image is the result, its places are the
// pixels of x, and its outputs are the channels of x. So forward is the convolution's gradient by its image,
// the gradient of x is the convolution itself, and the gradient of the weight has the two change places.

#include "ops/layer_kernels.h"
#include "ops/pointwise.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <string.h>

/// The convolution that is read backwards, and memory for it.
typedef struct transposed {
    corral_conv_run run;
    void *panels; // of the weights
    void *zeros;  // [in]: the convolution's bias
    void *x_grad; // the convolution's result before it is added
} transposed;

static size_t length_of(size_t places, size_t size, size_t stride, size_t padding, size_t extra)
{
    const size_t whole = (places - 1) * stride + size + extra;
    return places == 0 || whole <= 2 * padding ? 0 : whole - 2 * padding;
}

static bool check_transposed(const corral_tensor *x, uint32_t weight, uint32_t bias, const corral_window *w,
                             size_t extra)
{
    if (!corral_tape_ready(x, NULL, "conv_transpose2d")) return false;
    const corral_params *p = x->tape->params;
    const size_t area = w->height * w->width;
    const bool window = x->dimension_count == 4 && area > 0 && w->stride > 0 && extra < w->stride &&
                        w->padding < w->height && w->padding < w->width && x->shape[1] > 0 &&
                        x->shape[2] > 0 &&
                        length_of(x->shape[1], w->height, w->stride, w->padding, extra) > 0 &&
                        length_of(x->shape[2], w->width, w->stride, w->padding, extra) > 0;
    const bool known = p != NULL && p->sealed && p->dtype == x->dtype && weight < p->entry_count &&
                       bias < p->entry_count && p->entries[weight].dimension_count == 2 &&
                       p->entries[bias].dimension_count == 1;
    if (window && known && p->entries[weight].shape[0] == x->shape[3] &&
        p->entries[weight].shape[1] == area * p->entries[bias].shape[0])
        return true;
    corral_tape_fail(
        x->tape, CORRAL_ERROR_INVALID,
        "conv_transpose2d: needs images [rows, height, width, in] of a pixel or more, a stride of 1 "
        "or more that is larger than what is extra, less padding than the window and than the "
        "result, and, of the tape's parameters and of their dtype, a weight [in, %zu * out] and "
        "a bias [out]",
        area);
    return false;
}

static corral_conv_run run_of(const corral_tensor *x, size_t out, const corral_window *w, size_t extra)
{
    return (corral_conv_run){
        .rows = x->shape[0],
        .height = length_of(x->shape[1], w->height, w->stride, w->padding, extra),
        .width = length_of(x->shape[2], w->width, w->stride, w->padding, extra),
        .channels = out,
        .out_height = x->shape[1],
        .out_width = x->shape[2],
        .out = x->shape[3],
        .window = *w,
        .activation = CORRAL_LINEAR,
    };
}

/// The run of a node, with what its tensors hold now: x as the gradient of places, y as that of the image.
static corral_conv_run kept_run(const corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const transposed *kept = node->kept[0];
    corral_conv_run run = kept->run;
    run.weight = corral_tape_parameter_data(tape, node->weight);
    run.packed = tape->params->dtype == CORRAL_F32 ? corral_params_packed(tape->params, node->weight) : NULL;
    run.y_grad = node->a->data;
    run.panels = kept->panels;
    return run;
}

static void transposed_forward(corral_node *node)
{
    corral_conv_run run = kept_run(node);
    const size_t pixel = run.channels * corral_dtype_size(node->tensor.dtype);
    const void *bias = corral_tape_parameter_data(node->tensor.tape, node->bias);
    const size_t pixels = run.rows * run.height * run.width;
    for (size_t i = 0; i < pixels; i++)
        memcpy((char *)node->tensor.data + i * pixel, bias, pixel);
    run.x_grad = node->tensor.data;
    corral_layers_of(node->tensor.dtype)->conv_grad(&run);
}

/// The gradient of x: the convolution of the result's gradient.
static void add_input_gradient(const corral_node *node, const transposed *kept)
{
    void *to = corral_tensor_gradient(node->a);
    if (to == NULL) return;
    corral_conv_run run = kept_run(node);
    run.x = node->tensor.grad;
    run.y = kept->x_grad;
    run.bias = kept->zeros;
    corral_layers_of(node->tensor.dtype)->conv(&run);
    corral_kernels_of(node->tensor.dtype)->add(corral_tensor_count(node->a), kept->x_grad, to);
}

static void transposed_backward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const corral_dtype dtype = node->tensor.dtype;
    add_input_gradient(node, node->kept[0]);
    corral_conv_run run = kept_run(node);
    run.x = node->tensor.grad;
    run.weight_grad = corral_tape_parameter_gradient(tape, node->weight);
    if (run.weight_grad != NULL) corral_layers_of(dtype)->conv_grad(&run);
    void *bias_grad = corral_tape_parameter_gradient(tape, node->bias);
    const size_t pixel = run.channels * corral_dtype_size(dtype), pixels = run.rows * run.height * run.width;
    for (size_t i = 0; i < pixels && bias_grad != NULL; i++)
        corral_kernels_of(dtype)->add(run.channels, (const char *)node->tensor.grad + i * pixel, bias_grad);
}

/// Memory for the run and for both ways; NULL after a failure.
static transposed *keep_run(corral_tape *tape, corral_dtype dtype, const corral_conv_run *run)
{
    const size_t size = corral_dtype_size(dtype);
    transposed *kept = corral_tape_scratch(tape, sizeof *kept);
    void *panels = corral_tape_scratch(tape, corral_layers_of(dtype)->conv_panels(run) * size);
    void *zeros = corral_tape_scratch(tape, run->out * size);
    void *x_grad = corral_tape_scratch(tape, run->rows * run->out_height * run->out_width * run->out * size);
    if (tape->status != CORRAL_OK) return NULL;
    memset(zeros, 0, run->out * size);
    *kept = (transposed){.run = *run, .panels = panels, .zeros = zeros, .x_grad = x_grad};
    return kept;
}

corral_tensor *corral_conv_transpose2d(corral_tensor *x, uint32_t weight, uint32_t bias,
                                       const corral_window *window, size_t extra,
                                       corral_activation activation)
{
    corral_tape *tape = x->tape;
    if (!check_transposed(x, weight, bias, window, extra)) return &tape->empty;
    const corral_conv_run run = run_of(x, tape->params->entries[bias].shape[0], window, extra);
    const size_t shape[] = {run.rows, run.height, run.width, run.channels};
    corral_node *node = corral_tape_append(tape, x->dtype, 4, shape, x, NULL);
    transposed *kept = keep_run(tape, x->dtype, &run);
    if (node == NULL || kept == NULL) return &tape->empty;
    corral_node_uses_parameters(node);
    node->forward = transposed_forward;
    node->backward = transposed_backward;
    node->weight = weight;
    node->bias = bias;
    node->kept[0] = kept;
    transposed_forward(node);
    return corral_activate(&node->tensor, activation);
}
