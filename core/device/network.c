// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Both passes through a network of linear layers. Each layer is one product and one kernel on the way there
// (bias, activation, and a copy in bf16 where products want one), and two products and one kernel on the way
// back. Where two layers read one, the second product adds to the gradient that the first one left.

#include "device/learner.h"

const learner_layer *learner_actor(const corral_device_learner *l)
{
    return &l->layers[l->config.network.actor];
}

const learner_layer *learner_critic(const corral_device_learner *l)
{
    const uint32_t critic = l->config.network.critic;
    return critic < l->config.network.count ? &l->layers[critic] : NULL;
}

/// What a layer reads.
static const void *input_of(const corral_device_learner *l, const learner_layer *layer, learner_rows x)
{
    if (layer->input == 0) return l->half ? (const void *)x.half : x.f32;
    const learner_layer *before = &l->layers[layer->input - 1];
    return l->half ? (const void *)before->y_half : before->y;
}

static const void *weight_of(const corral_device_learner *l, learner_weights weights, size_t offset)
{
    return l->half ? (const void *)(weights.half + offset) : weights.f32 + offset;
}

void learner_forward(corral_device_learner *l, learner_weights weights, size_t rows, learner_rows x)
{
    for (uint32_t i = 0; i < l->config.network.count; i++) {
        const learner_layer *layer = &l->layers[i];
        const corral_product product = {.m = rows,
                                        .n = layer->out,
                                        .k = layer->in,
                                        .a = input_of(l, layer, x),
                                        .b = weight_of(l, weights, layer->weight),
                                        .c = layer->y,
                                        .transpose_b = 1,
                                        .half = l->half};
        l->table->product(l->work, &product);
        l->table->bias_activation(l->work, rows, layer->out, (int)layer->activation,
                                  weights.f32 + layer->bias, layer->y, layer->y_half);
    }
}

/// dW = g^T x
static void weight_gradient(corral_device_learner *l, const learner_layer *layer, size_t rows, learner_rows x)
{
    const corral_product product = {
        .m = layer->out,
        .n = layer->in,
        .k = rows,
        .a = l->half ? (const void *)layer->gradient_half : layer->gradient,
        .b = input_of(l, layer, x),
        .c = l->gradient + layer->weight,
        .transpose_a = 1,
        .half = l->half,
    };
    l->table->product(l->work, &product);
}

/// dx = g W, added where another layer has left its part.
static void input_gradient(corral_device_learner *l, const learner_layer *layer, size_t rows, bool add)
{
    const corral_product product = {
        .m = rows,
        .n = layer->in,
        .k = layer->out,
        .a = l->half ? (const void *)layer->gradient_half : layer->gradient,
        .b = weight_of(l, l->weights, layer->weight),
        .c = l->layers[layer->input - 1].gradient,
        .half = l->half,
        .add = add,
    };
    l->table->product(l->work, &product);
}

void learner_backward(corral_device_learner *l, size_t rows, learner_rows x)
{
    bool begun[CORRAL_DENSE_LAYERS] = {false}; // whose gradient has a first part
    for (uint32_t i = l->config.network.count; i-- > 0;) {
        const learner_layer *layer = &l->layers[i];
        l->table->activation_gradient(l->work, rows, layer->out, (int)layer->activation, layer->y,
                                      layer->gradient, layer->gradient_half, l->bias_partial,
                                      l->gradient + layer->bias);
        weight_gradient(l, layer, rows, x);
        if (layer->input == 0) continue;
        input_gradient(l, layer, rows, begun[layer->input - 1]);
        begun[layer->input - 1] = true;
    }
}
