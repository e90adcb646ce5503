// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Products: the linear layer, and the plain matrix product, which is made of the layer's two gradients.

#include "ops/kernels.h"

#include "corral/core/backend.h"

#include "tensor/params.h"
#include "tensor/tape.h"

/// Adds dy[rows, out] w[out, in] to the gradient of x[rows, in], or makes it that.
static void add_product(corral_tensor *x, size_t rows, size_t in, size_t out, const void *dy, const void *w)
{
    bool is_first;
    void *grad = corral_tensor_gradient_unset(x, &is_first);
    if (grad != NULL) corral_kernels_of(x->dtype)->linear_grad_input(rows, in, out, dy, w, grad, !is_first);
}

// --- linear
// -------------------------------------------------------------------------------------------------

static void linear_forward(corral_node *node)
{
    const corral_tape *tape = node->tensor.tape;
    const corral_tensor *x = node->a;
    const float *packed = x->dtype == CORRAL_F32 ? corral_params_packed(tape->params, node->weight) : NULL;
    corral_kernels_of(x->dtype)->linear(x->shape[0], x->shape[1], node->tensor.shape[1], x->data,
                                        corral_tape_parameter_data(tape, node->weight), packed,
                                        corral_tape_parameter_data(tape, node->bias),
                                        (corral_activation)node->kind, node->tensor.data);
}

/// The gradient of y first becomes that of the sums before the activation, in place.
static void linear_backward(corral_node *node)
{
    const corral_kernels *kernels = corral_kernels_of(node->tensor.dtype);
    const corral_tape *tape = node->tensor.tape;
    const size_t rows = node->a->shape[0], in = node->a->shape[1], out = node->tensor.shape[1];
    void *grad = node->tensor.grad;
    kernels->activation_grad(rows * out, (corral_activation)node->kind, node->tensor.data, grad);

    void *weight_grad = corral_tape_parameter_gradient(tape, node->weight);
    if (weight_grad != NULL) {
        kernels->linear_grad_weight(rows, in, out, grad, node->a->data, weight_grad,
                                    corral_tape_parameter_gradient(tape, node->bias));
    }
    add_product(node->a, rows, in, out, grad, corral_tape_parameter_data(tape, node->weight));
}

/// Records why these cannot make a layer, or says that they can.
static bool check_linear(const corral_tensor *x, uint32_t weight, uint32_t bias)
{
    corral_tape *tape = x->tape;
    if (!corral_tape_ready(x, NULL, "linear")) return false;
    const corral_params *params = tape->params;
    if (params == NULL || !params->sealed || weight >= params->entry_count || bias >= params->entry_count) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "linear: the tape's parameters have no entries %u and %u; hand them to the reset",
                         weight, bias);
        return false;
    }
    const corral_param *w = &params->entries[weight], *b = &params->entries[bias];
    if (w->dimension_count != 2 || b->dimension_count != 1 || b->shape[0] != w->shape[0]) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "linear: %s and %s are not of shapes [out, in] and [out]", w->name, b->name);
        return false;
    }
    if (x->dtype != params->dtype || x->dimension_count != 2 || x->shape[1] != w->shape[1]) {
        corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                         "linear: the input of %s must be [rows, %zu] of the parameters' dtype", w->name,
                         w->shape[1]);
        return false;
    }
    return true;
}

/// Under autocast the layer is made of its parts, since packed weights are of f32.
static corral_tensor *linear_of_halves(corral_tensor *x, uint32_t weight, uint32_t bias,
                                       corral_activation activation)
{
    corral_tensor *product = corral_matmul(x, corral_transpose(corral_parameter(x->tape, weight)));
    corral_tensor *y = corral_add(product, corral_parameter(x->tape, bias));
    if (activation == CORRAL_TANH) return corral_tanh(y);
    return activation == CORRAL_RELU ? corral_relu(y) : y;
}

corral_tensor *corral_linear(corral_tensor *x, uint32_t weight, uint32_t bias, corral_activation activation)
{
    corral_tape *tape = x->tape;
    if (!check_linear(x, weight, bias)) return &tape->empty;
    if (tape->autocast != CORRAL_FULL && x->dtype == CORRAL_F32)
        return linear_of_halves(x, weight, bias, activation);
    const size_t out = tape->params->entries[weight].shape[0];
    corral_node *node = corral_tape_append(tape, x->dtype, 2, (const size_t[]){x->shape[0], out}, x, NULL);
    if (node == NULL) return &tape->empty;
    node->forward = linear_forward;
    node->backward = linear_backward;
    node->kind = activation;
    node->weight = weight;
    node->bias = bias;
    corral_node_uses_parameters(node);
    linear_forward(node);
    return &node->tensor;
}

void corral_linear_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                           corral_activation activation, size_t rows, const float *x, float *out)
{
    CORRAL_ASSERT(params->sealed && params->dtype == CORRAL_F32);
    const corral_param *w = corral_params_entry(params, weight), *b = corral_params_entry(params, bias);
    CORRAL_ASSERT(w->dimension_count == 2 && b->count == w->shape[0]);
    corral_backend_cpu()->linear(rows, w->shape[1], w->shape[0], x, corral_params_packed(params, weight),
                                 (const float *)params->data + b->offset, activation, out);
}

// --- the plain product
// --------------------------------------------------------------------------------------

static void matmul_forward(corral_node *node)
{
    const corral_tensor *a = node->a, *b = node->b;
    corral_kernels_of(a->dtype)->linear_grad_input(a->shape[0], b->shape[1], a->shape[1], a->data, b->data,
                                                   node->tensor.data, false);
}

/// dA += dC B^T and dB += A^T dC. The kernels' input gradient is c = a b, their weight gradient c += a^T b.
static void matmul_backward(corral_node *node)
{
    const corral_dtype dtype = node->tensor.dtype;
    const corral_kernels *kernels = corral_kernels_of(dtype);
    const size_t m = node->a->shape[0], k = node->a->shape[1], n = node->b->shape[1];
    void *b_grad = corral_tensor_gradient(node->b);
    if (b_grad != NULL) kernels->linear_grad_weight(m, n, k, node->a->data, node->tensor.grad, b_grad, NULL);
    if (!node->a->requires_grad) return;
    void *b_transposed = corral_tape_scratch(node->tensor.tape, k * n * corral_dtype_size(dtype));
    if (b_transposed == NULL) return;
    kernels->transpose(k, n, node->b->data, b_transposed);
    add_product(node->a, m, k, n, node->tensor.grad, b_transposed);
}

corral_tensor *corral_matmul(corral_tensor *a, corral_tensor *b)
{
    corral_tape *tape = a->tape;
    if (!corral_tape_ready(a, b, "matmul")) return &tape->empty;
    if (a->dimension_count != 2 || b->dimension_count != 2 || a->shape[1] != b->shape[0]) {
        return corral_tape_fail(tape, CORRAL_ERROR_INVALID,
                                "matmul: needs [m, k] and [k, n] with the same k in both");
    }
    if (tape->autocast != CORRAL_FULL && a->dtype == CORRAL_F32) {
        a = corral_round_to(a, tape->autocast);
        b = corral_round_to(b, tape->autocast);
        if (!corral_tape_ready(a, b, "matmul")) return &tape->empty;
    }
    corral_node *node =
        corral_tape_append(tape, a->dtype, 2, (const size_t[]){a->shape[0], b->shape[1]}, a, b);
    if (node == NULL) return &tape->empty;
    node->forward = matmul_forward;
    node->backward = matmul_backward;
    matmul_forward(node);
    return &node->tensor;
}
