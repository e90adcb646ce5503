// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Numbers of fewer bits: bf16 and f16 to store and to multiply with, loss scaling for gradients that f16
/// would lose, and linear layers of 8-bit integers for acting. Arithmetic is f32 throughout, but for the
/// integer sums.
#ifndef CORRAL_CORE_PRECISION_H
#define CORRAL_CORE_PRECISION_H

#include "corral/core/ops.h"
#include "corral/core/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- 16 bits ----------------------------------------------------------------------------------------------

typedef enum corral_half {
    CORRAL_FULL, // f32 as it is
    CORRAL_BF16, // 8 bits of exponent, 7 of fraction
    CORRAL_F16,  // IEEE 754: 5 and 10; beyond 65504 is infinite
} corral_half;

/// To the nearest, ties to even; NaN stays NaN, and what is too small for f16 becomes subnormal or zero.
void corral_half_store(corral_half format, size_t count, const float *values, uint16_t *out);
void corral_half_load(corral_half format, size_t count, const uint16_t *values, float *out);
/// What storing and loading again makes of the values. `out` may be `values`.
void corral_half_round(corral_half format, size_t count, const float *values, float *out);

// --- autocast ---------------------------------------------------------------------------------------------

/// Rounds an f32 tensor's values to a format of 16 bits; the gradient goes through as it is.
corral_tensor *corral_round_to(corral_tensor *x, corral_half format);

/// From here to the next call, or the reset, which switches it off: corral_linear() and corral_matmul() of
/// f32 round their operands to `format` first, and sum in f32, as hardware for that format does. Weights stay
/// f32, and so do their gradients; everything else is as without. Returns what it was.
corral_half corral_tape_autocast(corral_tape *tape, corral_half format);

// --- loss scaling -----------------------------------------------------------------------------------------

/// Multiplies the loss so that small gradients survive 16 bits; the optimizer divides again. A gradient that
/// is not finite skips the step and halves the scale; after `interval` good steps in a row it doubles.
typedef struct corral_loss_scaler {
    double scale, floor, ceiling;
    uint64_t interval, good; // good: steps in a row since the last change
    uint64_t skipped;        // in all: no step is skipped in silence
} corral_loss_scaler;

/// 65536, doubling every 2000 steps, within 1 .. 2^24.
corral_loss_scaler corral_loss_scaler_default(void);
/// To be the last operation before backward.
corral_tensor *corral_loss_scaled(corral_tensor *loss, const corral_loss_scaler *scaler);
/// corral_optimizer_step() of gradients that were scaled. A skipped step is CORRAL_OK, counted, and logged
/// where the scale is at its floor already: then something else is wrong. `*out_norm` is that of the
/// gradients unscaled.
CORRAL_MUST_USE corral_status corral_loss_scaler_step(corral_loss_scaler *scaler, corral_optimizer *optimizer,
                                                      size_t lane_count, double learning_rate,
                                                      corral_team *team, double *out_norm, bool *out_skipped);

// --- 8-bit integers ---------------------------------------------------------------------------------------

/// A linear layer to act with: weights as int8 with a scale per output, a quarter of the memory.
typedef struct corral_int8_linear corral_int8_linear;

/// From two entries of f32 parameters, [out, in] and [out].
CORRAL_MUST_USE corral_status corral_int8_linear_create(const corral_params *params, uint32_t weight,
                                                        uint32_t bias, corral_activation activation,
                                                        corral_int8_linear **out_layer);
void corral_int8_linear_destroy(corral_int8_linear *layer);
size_t corral_int8_linear_bytes(const corral_int8_linear *layer);
/// x [rows, in] to out [rows, out]. Each row of x is rounded to 8 bits by its own largest element, so that a
/// row does not depend on the others; sums are exact. CORRAL_ERROR_NOT_FINITE names the row that has no
/// scale.
CORRAL_MUST_USE corral_status corral_int8_linear_run(const corral_int8_linear *layer, size_t rows,
                                                     const float *x, float *out);

#ifdef __cplusplus
}
#endif
#endif
