// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Convolution and pools as recorded operations, and the convolution without a tape.

#include "ops/kernels.h"
#include "ops/layer_kernels.h"
#include "tensor/params.h"
#include "tensor/tape.h"

#include <string.h>

size_t corral_window_places(size_t length, size_t size, size_t stride, size_t padding)
{
    if (stride == 0 || size == 0 || length + 2 * padding < size) return 0;
    return (length + 2 * padding - size) / stride + 1;
}

/// What image and window tell. No places where they do not fit.
static corral_conv_run run_of(const corral_window *window, size_t rows, size_t height, size_t width,
                              size_t channels, size_t out)
{
    const corral_window *w = window;
    return (corral_conv_run){
        .rows = rows,
        .height = height,
        .width = width,
        .channels = channels,
        .out_height = corral_window_places(height, w->height, w->stride, w->padding),
        .out_width = corral_window_places(width, w->width, w->stride, w->padding),
        .out = out,
        .window = *window,
    };
}

/// Records why image and window do not fit, or says that they do. A padding of a whole window would make
/// places that see nothing.
static bool check_window(const char *name, const corral_tensor *x, const corral_window *w)
{
    if (!corral_tape_ready(x, NULL, name)) return false;
    const bool image = x->dimension_count == 4;
    if (image && corral_window_places(x->shape[1], w->height, w->stride, w->padding) > 0 &&
        corral_window_places(x->shape[2], w->width, w->stride, w->padding) > 0 && w->padding < w->height &&
        w->padding < w->width)
        return true;
    corral_tape_fail(
        x->tape, CORRAL_ERROR_INVALID,
        "%s: needs images [rows, height, width, channels] that hold a window of %zu x %zu, a stride "
        "of 1 or more, and less padding than the window",
        name, w->height, w->width);
    return false;
}

/// A node of the run's result that keeps the run; NULL after a failure.
static corral_node *append_run(corral_tensor *x, const corral_conv_run *run, void (*forward)(corral_node *),
                               void (*backward)(corral_node *))
{
    const size_t shape[] = {run->rows, run->out_height, run->out_width, run->out};
    corral_node *node = corral_tape_append(x->tape, x->dtype, 4, shape, x, NULL);
    corral_conv_run *kept = corral_tape_scratch(x->tape, sizeof *kept);
    if (kept == NULL || node == NULL) return NULL;
    *kept = *run;
    node->forward = forward;
    node->backward = backward;
    node->kept[0] = kept;
    return node;
}

/// The run of a node, with what its tensors hold now.
static corral_conv_run kept_run(const corral_node *node)
{
    corral_conv_run run = *(const corral_conv_run *)node->kept[0];
    run.x = node->a->data;
    run.y = node->tensor.data;
    run.y_grad = node->tensor.grad;
    return run;
}

// --- convolution ------------------------------------------------------------------------------------------

static void conv_forward(corral_node *node)
{
    const corral_conv_run run = kept_run(node);
    corral_layers_of(node->tensor.dtype)->conv(&run);
}

static void conv_backward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const corral_dtype dtype = node->tensor.dtype;
    corral_conv_run run = kept_run(node);
    corral_kernels_of(dtype)->activation_grad(corral_tensor_count(&node->tensor), run.activation,
                                              node->tensor.data, node->tensor.grad);
    run.weight_grad = corral_tape_parameter_gradient(tape, node->weight);
    run.bias_grad = corral_tape_parameter_gradient(tape, node->bias);
    run.x_grad = corral_tensor_gradient(node->a);
    if (run.x_grad != NULL)
        run.panels = corral_tape_scratch(node->tensor.tape, corral_layers_of(dtype)->conv_panels(&run) *
                                                                corral_dtype_size(dtype));
    if (tape->status == CORRAL_OK) corral_layers_of(dtype)->conv_grad(&run);
}

static bool check_conv(const corral_tensor *x, uint32_t weight, uint32_t bias, const corral_window *window)
{
    const corral_tape *tape = x->tape;
    if (!check_window("conv2d", x, window)) return false;
    const corral_params *p = tape->params;
    const bool known = p != NULL && p->sealed && weight < p->entry_count && bias < p->entry_count;
    const size_t covered = window->height * window->width * x->shape[3];
    if (known && x->dtype == p->dtype && p->entries[weight].dimension_count == 2 &&
        p->entries[weight].shape[1] == covered && p->entries[bias].dimension_count == 1 &&
        p->entries[bias].shape[0] == p->entries[weight].shape[0])
        return true;
    corral_tape_fail(
        x->tape, CORRAL_ERROR_INVALID,
        "conv2d: needs, of the tape's parameters and of their dtype, a weight [out, %zu] and a bias "
        "[out]",
        covered);
    return false;
}

corral_tensor *corral_conv2d(corral_tensor *x, uint32_t weight, uint32_t bias, const corral_window *window,
                             corral_activation activation)
{
    corral_tape *tape = x->tape;
    if (!check_conv(x, weight, bias, window)) return &tape->empty;
    const corral_params *params = tape->params;
    corral_conv_run run =
        run_of(window, x->shape[0], x->shape[1], x->shape[2], x->shape[3], params->entries[weight].shape[0]);
    run.weight = corral_tape_parameter_data(tape, weight);
    run.bias = corral_tape_parameter_data(tape, bias);
    run.packed = params->dtype == CORRAL_F32 ? corral_params_packed(params, weight) : NULL;
    run.activation = activation;
    corral_node *node = append_run(x, &run, conv_forward, conv_backward);
    if (node == NULL) return &tape->empty;
    node->weight = weight;
    node->bias = bias;
    corral_node_uses_parameters(node);
    conv_forward(node);
    return &node->tensor;
}

void corral_conv2d_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                           const corral_window *window, corral_activation activation, size_t rows,
                           size_t height, size_t width, const float *x, float *out)
{
    CORRAL_ASSERT(params->sealed && params->dtype == CORRAL_F32);
    const corral_param *w = corral_params_entry(params, weight), *b = corral_params_entry(params, bias);
    const size_t covered = window->height * window->width;
    CORRAL_ASSERT(w->dimension_count == 2 && b->count == w->shape[0] && covered > 0 &&
                  w->shape[1] % covered == 0);
    corral_conv_run run = run_of(window, rows, height, width, w->shape[1] / covered, w->shape[0]);
    run.weight = (const float *)params->data + w->offset;
    run.bias = (const float *)params->data + b->offset;
    run.packed = corral_params_packed(params, weight);
    run.activation = activation;
    run.x = x;
    run.y = out;
    corral_layers_f32.conv(&run);
}

// --- pools ------------------------------------------------------------------------------------------------

static void pool_forward(corral_node *node)
{
    const corral_conv_run run = kept_run(node);
    if (run.chosen != NULL)
        corral_layers_of(node->tensor.dtype)->max_pool(&run);
    else
        corral_layers_of(node->tensor.dtype)->avg_pool(&run);
}

static void pool_backward(corral_node *node)
{
    const corral_layer_kernels *layers = corral_layers_of(node->tensor.dtype);
    corral_conv_run run = kept_run(node);
    run.x_grad = corral_tensor_gradient(node->a);
    if (run.x_grad == NULL) return;
    if (run.chosen != NULL)
        layers->max_pool_grad(&run);
    else
        layers->avg_pool_grad(&run);
}

static bool check_pool(const char *name, const corral_tensor *x, const corral_window *window)
{
    if (!check_window(name, x, window)) return false;
    if (window->padding == 0) return true;
    corral_tape_fail(x->tape, CORRAL_ERROR_INVALID, "%s: a pool has no padding", name);
    return false;
}

static corral_tensor *record_pool(const char *name, corral_tensor *x, const corral_window *window,
                                  bool keeps_chosen)
{
    if (!check_pool(name, x, window)) return &x->tape->empty;
    corral_conv_run run = run_of(window, x->shape[0], x->shape[1], x->shape[2], x->shape[3], x->shape[3]);
    const size_t places = run.rows * run.out_height * run.out_width * run.out;
    if (keeps_chosen) run.chosen = corral_tape_scratch(x->tape, places * sizeof *run.chosen);
    corral_node *node = append_run(x, &run, pool_forward, pool_backward);
    if (x->tape->status != CORRAL_OK) return &x->tape->empty;
    pool_forward(node);
    return &node->tensor;
}

corral_tensor *corral_max_pool2d(corral_tensor *x, const corral_window *window)
{
    return record_pool("max_pool2d", x, window, true);
}

corral_tensor *corral_avg_pool2d(corral_tensor *x, const corral_window *window)
{
    return record_pool("avg_pool2d", x, window, false);
}
