// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What lies before the hidden layers of a network that sees images: convolutions over each image, and a
/// layer that makes features of them. Other parts of the observation pass by and are put behind these.
///
///     nature  32 of 8x8 by 4, 64 of 4x4 by 2, 64 of 3x3 by 1, then 512 units (Mnih et al. 2015)
///     small   16 of 8x8 by 4, 32 of 4x4 by 2, then 256 units (Mnih et al. 2013)
///
/// all with relu. Where windows do not end with the image, zeros around it let them reach its last pixel:
/// what a game shows in its last rows is often what one steers. The features are shared by all that comes
/// behind, by policy and value, too.
#include "policy_internal.h"

#include "corral/core/layers.h"
#include "corral/core/shapes.h"

#include <stdio.h>
#include <string.h>

typedef struct convolution_plan {
    size_t channels, kernel, stride;
} convolution_plan;

static const struct {
    convolution_plan convolution[POLICY_CONVOLUTIONS_MAX];
    uint32_t count;
    size_t units;
} plans[] = {
    [CORRAL_CNN_SMALL] = {{{16, 8, 4}, {32, 4, 2}}, 2, 256},
    [CORRAL_CNN_NATURE] = {{{32, 8, 4}, {64, 4, 2}, {64, 3, 1}}, 3, 512},
};

// --- building ---------------------------------------------------------------------------------------------

/// Whether the last window along `length` reaches the last pixel.
static bool reaches_end(size_t length, const convolution_plan *plan, size_t padding)
{
    return (length + 2 * padding - plan->kernel) % plan->stride <= padding;
}

/// The least padding with which windows see all of an image.
static size_t padding_of(size_t height, size_t width, const convolution_plan *plan)
{
    size_t padding = 0;
    if (height < plan->kernel || width < plan->kernel) return 0;
    while (!reaches_end(height, plan, padding) || !reaches_end(width, plan, padding))
        padding++; // stride - 1 always does
    return padding;
}

/// Fills the sizes of an image's convolutions; false where the image is too small for them.
static bool measure(const corral_part *part, corral_cnn cnn, policy_image *image)
{
    size_t height = part->height, width = part->width, channels = part->channels;
    image->convolution_count = plans[cnn].count;
    for (uint32_t i = 0; i < plans[cnn].count; i++) {
        const convolution_plan *plan = &plans[cnn].convolution[i];
        policy_convolution *c = &image->convolution[i];
        const size_t padding = padding_of(height, width, plan);
        *c = (policy_convolution){.window = {plan->kernel, plan->kernel, plan->stride, padding},
                                  .height = height,
                                  .width = width,
                                  .in_channels = channels,
                                  .channels = plan->channels};
        height = corral_window_places(height, plan->kernel, plan->stride, padding);
        width = corral_window_places(width, plan->kernel, plan->stride, padding);
        channels = plan->channels;
        if (height == 0 || width == 0) return false;
        c->out_size = height * width * channels;
    }
    return true;
}

corral_status policy_body_check(const corral_policy_config *config)
{
    policy_image image;
    uint32_t images = 0;
    if (config->cnn == CORRAL_CNN_NONE) return CORRAL_OK;
    for (uint32_t k = 0; k < config->observation.part_count; k++) {
        const corral_part *part = &config->observation.part[k];
        if (part->kind != CORRAL_PART_IMAGE) continue;
        images++;
        if (!measure(part, config->cnn, &image))
            return corral_fail(CORRAL_ERROR_INVALID,
                               "network.cnn: its convolutions do not fit into an image of %u x %u",
                               part->height, part->width);
    }
    if (images == 0 || images > POLICY_IMAGES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "network.cnn: the observation has %u images; 1 to %d are possible", images,
                           POLICY_IMAGES_MAX);
    return CORRAL_OK;
}

static corral_status build_image(corral_policy *policy, policy_image *image, uint32_t number)
{
    char name[48];
    corral_status status = CORRAL_OK;
    const size_t kept = policy->widest;
    for (uint32_t i = 0; i < image->convolution_count && status == CORRAL_OK; i++) {
        policy_convolution *c = &image->convolution[i];
        snprintf(name, sizeof name, "image.%u.convolution.%u", number, i);
        status =
            policy_add_layer(policy, &c->layer, name, c->window.height * c->window.width * c->in_channels,
                             c->channels, CORRAL_RELU);
        if (c->out_size > policy->body.widest) policy->body.widest = c->out_size;
    }
    policy->widest = kept; // the layers in between have memory of their own
    snprintf(name, sizeof name, "image.%u.features", number);
    const size_t in = image->convolution[image->convolution_count - 1].out_size;
    if (status == CORRAL_OK)
        status = policy_add_layer(policy, &image->features, name, in, plans[policy->config.cnn].units,
                                  CORRAL_RELU);
    return status;
}

corral_status policy_body_build(corral_policy *policy, size_t *width)
{
    policy_body *body = &policy->body;
    corral_status status = CORRAL_OK;
    size_t offset = 0, images = 0, rest = 0;
    for (uint32_t k = 0; k < policy->config.observation.part_count && status == CORRAL_OK; k++) {
        const corral_part *part = &policy->config.observation.part[k];
        const size_t size = corral_part_size(part);
        if (part->kind == CORRAL_PART_IMAGE) {
            policy_image *image = &body->image[body->image_count];
            image->offset = offset;
            image->size = size;
            measure(part, policy->config.cnn, image);
            status = build_image(policy, image, body->image_count++);
            images += image->features.out;
        } else {
            rest += size;
        }
        offset += size;
    }
    body->out = *width = images + rest;
    if (*width > policy->widest) policy->widest = *width;
    return status;
}

corral_status policy_body_init(corral_policy *policy, double gain, uint64_t seed)
{
    corral_status status = CORRAL_OK;
    for (uint32_t k = 0; k < policy->body.image_count; k++) {
        const policy_image *image = &policy->body.image[k];
        for (uint32_t i = 0; i < image->convolution_count && status == CORRAL_OK; i++)
            status = policy_init_layer(policy, &image->convolution[i].layer, gain, seed);
        if (status == CORRAL_OK) status = policy_init_layer(policy, &image->features, gain, seed);
    }
    return status;
}

// --- without a tape ---------------------------------------------------------------------------------------

/// What is no image, from one row to another. Returns how much that is.
static size_t copy_rest(const corral_policy *policy, const float *from, float *to)
{
    size_t count = 0;
    for (uint32_t k = 0; k < policy->config.observation.part_count; k++) {
        const corral_part *part = &policy->config.observation.part[k];
        const size_t size = corral_part_size(part);
        if (part->kind != CORRAL_PART_IMAGE) {
            memcpy(to + count, from, size * sizeof *to);
            count += size;
        }
        from += size;
    }
    return count;
}

/// `rows` images side by side to as many rows of features.
static void run_image(const corral_policy *policy, const policy_image *image, size_t rows, const float *x,
                      float *out)
{
    for (uint32_t i = 0; i < image->convolution_count; i++) {
        const policy_convolution *c = &image->convolution[i];
        float *y = policy->body.scratch[i % 2];
        corral_conv2d_forward(corral_policy_weights(policy), c->layer.weight, c->layer.bias, &c->window,
                              CORRAL_RELU, rows, c->height, c->width, x, y);
        x = y;
    }
    corral_linear_forward(corral_policy_weights(policy), image->features.weight, image->features.bias,
                          CORRAL_RELU, rows, x, out);
}

void policy_body_run(const corral_policy *policy, size_t rows, const float *x, float *out)
{
    const policy_body *body = &policy->body;
    if (body->image_count == 1 && body->image[0].size == policy->config.observation_size) {
        run_image(policy, &body->image[0], rows, x, out);
        return;
    }
    for (size_t r = 0; r < rows; r++, x += policy->config.observation_size) {
        for (uint32_t k = 0; k < body->image_count; k++) {
            run_image(policy, &body->image[k], 1, x + body->image[k].offset, out);
            out += body->image[k].features.out;
        }
        out += copy_rest(policy, x, out);
    }
}

// --- on a tape --------------------------------------------------------------------------------------------

static corral_tensor *graph_image(const policy_image *image, corral_tensor *x)
{
    const size_t rows = x->shape[0];
    const policy_convolution *first = &image->convolution[0];
    x = corral_reshape(x, 4, (size_t[]){rows, first->height, first->width, first->in_channels});
    for (uint32_t i = 0; i < image->convolution_count; i++) {
        const policy_convolution *c = &image->convolution[i];
        x = corral_conv2d(x, c->layer.weight, c->layer.bias, &c->window, CORRAL_RELU);
    }
    x = corral_reshape(x, 2, (size_t[]){rows, image->features.in});
    return corral_linear(x, image->features.weight, image->features.bias, CORRAL_RELU);
}

corral_tensor *policy_body_graph(const corral_policy *policy, corral_tensor *x)
{
    const policy_body *body = &policy->body;
    corral_tensor *part[CORRAL_PARTS_MAX + POLICY_IMAGES_MAX];
    size_t count = 0, offset = 0;
    if (body->image_count == 1 && body->image[0].size == policy->config.observation_size)
        return graph_image(&body->image[0], x);
    for (uint32_t k = 0; k < body->image_count; k++)
        part[count++] =
            graph_image(&body->image[k], corral_slice(x, 1, body->image[k].offset, body->image[k].size));
    for (uint32_t k = 0; k < policy->config.observation.part_count; k++) {
        const size_t size = corral_part_size(&policy->config.observation.part[k]);
        if (policy->config.observation.part[k].kind != CORRAL_PART_IMAGE)
            part[count++] = corral_slice(x, 1, offset, size);
        offset += size;
    }
    return corral_cat(count, part, 1);
}
