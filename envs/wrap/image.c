// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers that change pictures: grey and resize. A picture is a Box of bytes, height x width or height x
// width x channels; other observations pass.

#include "wrap.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <string.h>

static bool is_picture(const corral_space *leaf)
{
    return leaf->kind == CORRAL_SPACE_BOX && leaf->dtype == CORRAL_SPACE_U8 &&
           (leaf->dimension_count == 2 || leaf->dimension_count == 3);
}

static void pass(const wrapper *w, uint32_t leaf, const void *inner, void *outer)
{
    memcpy(outer, inner, corral_space_bytes(&w->inner->spaces.observation[leaf]));
}

// --- grey: luma by ITU-R BT.709's weights in Gymnasium's rounding, in doubles and cut off

static corral_status plan_grey(wrapper *w)
{
    bool any = false;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        corral_space *leaf = &w->observation[k];
        w->changed[k] = is_picture(leaf) && leaf->dimension_count == 3 && leaf->shape[2] == 3;
        if (!w->changed[k]) continue;
        any = true;
        leaf->dimension_count = 2;
        leaf->low = 0;
        leaf->high = 255;
        leaf->low_each = leaf->high_each = NULL;
    }
    return any ? CORRAL_OK : WRAP_FAIL(w, "no observation is a picture of height x width x 3 bytes");
}

static void observe_grey(const wrapper *w, void *memory, bool first, const void *const *inner,
                         void *const *outer)
{
    (void)memory, (void)first;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        if (!w->changed[k]) {
            pass(w, k, inner[k], outer[k]);
            continue;
        }
        const uint8_t *rgb = inner[k];
        uint8_t *grey = outer[k];
        for (size_t i = 0, n = corral_space_count(&w->observation[k]); i < n; i++, rgb += 3)
            grey[i] = (uint8_t)(rgb[0] * 0.2125 + rgb[1] * 0.7154 + rgb[2] * 0.0721);
    }
}

const wrapper_kind corral_wrap_grey = {
    .name = "grey",
    .arguments = "",
    .help = "Pictures of three colours as one of brightness",
    .plan = plan_grey,
    .observe = observe_grey,
};

// --- resize: each new pixel is the mean of the area that it covers, halves rounded up

static corral_status plan_resize(wrapper *w)
{
    const double height = w->argument[0], width = w->argument_count > 1 ? w->argument[1] : height;
    if (!(height >= 1 && height <= 4096 && width >= 1 && width <= 4096) || height != floor(height) ||
        width != floor(width))
        return WRAP_FAIL(w, "height and width must be 1 to 4096");
    bool any = false;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        corral_space *leaf = &w->observation[k];
        w->changed[k] = is_picture(leaf);
        if (!w->changed[k]) continue;
        if (leaf->shape[0] > 65536 || leaf->shape[1] > 65536)
            return WRAP_FAIL(w, "pictures of more than 65536 pixels a side are not resized");
        any = true;
        leaf->shape[0] = (uint32_t)height;
        leaf->shape[1] = (uint32_t)width;
        leaf->low = 0;
        leaf->high = 255;
        leaf->low_each = leaf->high_each = NULL;
    }
    return any ? CORRAL_OK : WRAP_FAIL(w, "no observation is a picture of bytes");
}

/// How much of old pixel `old` new pixel `new` covers, in units of 1 / new_size of an old one.
static uint32_t overlap(uint32_t old, uint32_t old_size, uint32_t new, uint32_t new_size)
{
    const uint32_t old_from = old * new_size, old_to = old_from + new_size;
    const uint32_t new_from = new *old_size, new_to = new_from + old_size;
    const uint32_t from = old_from > new_from ? old_from : new_from, to = old_to < new_to ? old_to : new_to;
    return to > from ? to - from : 0;
}

static uint8_t mean_of_area(const corral_space *from, const uint8_t *pixels, const corral_space *to,
                            uint32_t y, uint32_t x, uint32_t channel)
{
    const uint32_t height = from->shape[0], width = from->shape[1];
    const uint32_t channels = from->dimension_count == 3 ? from->shape[2] : 1;
    uint64_t sum = 0;
    for (uint32_t old_y = y * height / to->shape[0]; old_y < height; old_y++) {
        const uint64_t rows = overlap(old_y, height, y, to->shape[0]);
        if (rows == 0) break;
        for (uint32_t old_x = x * width / to->shape[1]; old_x < width; old_x++) {
            const uint64_t columns = overlap(old_x, width, x, to->shape[1]);
            if (columns == 0) break;
            sum += rows * columns * pixels[((size_t)old_y * width + old_x) * channels + channel];
        }
    }
    const uint64_t area = (uint64_t)height * width;
    return (uint8_t)((sum + area / 2) / area);
}

static void observe_resize(const wrapper *w, void *memory, bool first, const void *const *inner,
                           void *const *outer)
{
    (void)memory, (void)first;
    for (uint32_t k = 0; k < w->type.spaces.observation_count; k++) {
        if (!w->changed[k]) {
            pass(w, k, inner[k], outer[k]);
            continue;
        }
        const corral_space *from = &w->inner->spaces.observation[k], *to = &w->observation[k];
        const uint32_t channels = to->dimension_count == 3 ? to->shape[2] : 1;
        uint8_t *out = outer[k];
        for (uint32_t y = 0; y < to->shape[0]; y++)
            for (uint32_t x = 0; x < to->shape[1]; x++)
                for (uint32_t c = 0; c < channels; c++)
                    *out++ = mean_of_area(from, inner[k], to, y, x, c);
    }
}

const wrapper_kind corral_wrap_resize = {
    .name = "resize",
    .arguments = "=HEIGHT[:WIDTH]",
    .help = "Pictures of another size; each new pixel is the mean of the area that it covers",
    .least = 1,
    .most = 2,
    .plan = plan_resize,
    .observe = observe_resize,
};
