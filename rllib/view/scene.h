// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The display list of one environment at one moment, kept apart from the environment, and painted at any
/// size.
#ifndef CORRAL_VIEW_SCENE_H
#define CORRAL_VIEW_SCENE_H

#include "text.h"

#include "corral/env.h"

typedef struct scene {
    const corral_env_render *render; // NULL: the environment draws nothing
    corral_draw *items;              // [count]; their images point into `pixels`
    uint32_t count, limit;
    uint8_t *pixels;
    size_t pixel_bytes;
} scene;

void scene_finish(scene *scene);
/// Asks an environment for its display list, and copies it with its images. `handle` and `index` as
/// corral_env_batch_handle() gives them.
CORRAL_MUST_USE corral_status scene_capture(scene *scene, const corral_env_type *type, const void *handle,
                                            uint32_t index);
/// The usual size in pixels of what `type` draws; false where it draws nothing that could be painted.
bool scene_size(const corral_env_type *type, float *out_width, float *out_height);

/// The largest area within `area` of the frame's proportions, in its middle.
box scene_fit(const scene *scene, box area);
/// A part of the frame: how many times larger than fitting, and what of it is in the middle, 0..1 each way.
typedef struct zoom {
    float times, x, y;
} zoom;

/// The area that the whole frame takes when a part of it shall fill `area`.
box scene_zoom(box area, zoom zoom);

/// Paints the frame over `area`. Nothing is painted outside, nor outside of the canvas' clip.
void scene_paint(const scene *scene, canvas *canvas, fonts *fonts, box area);

#endif
