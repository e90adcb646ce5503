// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Capture and replay. An update does the same operations each time; a capture records them once, with their
/// memory, and from then on runs their kernels alone: nothing is allocated, checked or recorded. A replay
/// gives what recording anew would, bit for bit.
#ifndef CORRAL_CORE_CAPTURE_H
#define CORRAL_CORE_CAPTURE_H

#include "corral/core/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct corral_capture corral_capture;

/// One input of a run; its values may lie elsewhere each time.
typedef struct corral_capture_input {
    corral_dtype dtype;
    uint32_t dimension_count;
    size_t shape[CORRAL_MAX_DIMENSIONS];
    const void *data;
} corral_capture_input;

/// `record` builds the graph from the inputs to a loss of one element. What else it reads (indices, the
/// arrays of a loss's terms) must stay where it is, but may change in value. It is not called by a replay.
CORRAL_MUST_USE corral_status corral_capture_create(corral_segment *record, void *context,
                                                    corral_capture **out_capture);
void corral_capture_destroy(corral_capture *capture);

/// Forward and backward; adds to `gradients` as corral_backward() does (NULL: forward alone). The first or
/// the second run captures; later ones of the same shapes and parameters replay. Others are recorded on their
/// own, which the log says once, and so are all where an operation cannot be replayed. `*out_loss` is valid
/// until the next run.
CORRAL_MUST_USE corral_status corral_capture_run(corral_capture *capture, const corral_params *params,
                                                 void *gradients, const corral_capture_input *inputs,
                                                 size_t input_count, const corral_tensor **out_loss);

/// Runs that were replays, and runs that were recorded though there was a capture.
size_t corral_capture_replays(const corral_capture *capture);
size_t corral_capture_misses(const corral_capture *capture);

#ifdef __cplusplus
}
#endif
#endif
