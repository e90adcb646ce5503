// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Layers beside the linear one of ops.h. Weights are entries of the tape's parameters, in PyTorch's shapes
/// unless said otherwise. What acts without a tape gives, bit for bit, what the tape computes for the same
/// row, whatever rows stand beside it.
#ifndef CORRAL_CORE_LAYERS_H
#define CORRAL_CORE_LAYERS_H

#include "corral/core/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- recurrent layers -------------------------------------------------------------------------------------
//
// A batch is rows in (sequence, step) order: row s * steps + t is step t of sequence s, and x is [rows, in].
// Where reset[row] is not 0, an episode begins: the row sees a state of zeros, and no gradient flows back
// beyond it. So a sequence may hold the end of one episode and the beginning of the next.

/// Entries of the parameters: LSTM weights are [4 hidden, in] and [4 hidden, hidden] for the gates i, f, g,
/// o, GRU weights [3 hidden, .] for r, z, n; biases [4 hidden] or [3 hidden].
typedef struct corral_recurrent {
    uint32_t weight_input, weight_hidden, bias_input, bias_hidden;
} corral_recurrent;

typedef struct corral_sequences {
    size_t steps;          // of each sequence
    const uint8_t *reset;  // [rows], must live until the reset of the tape; NULL: nowhere
    corral_tensor *hidden; // the state before step 0: [sequences, hidden]; NULL: zeros
    corral_tensor *cell;   // of an LSTM, likewise
} corral_sequences;

/// The states of every step: [rows, hidden]. `out_cell`, which may be NULL, gets the cells, alike.
///
///     i, f, o = sigmoid(.), g = tanh(.) of W_i x + b_i + W_h h + b_h;  c = f c + i g;  h = o tanh(c)
corral_tensor *corral_lstm(corral_tensor *x, const corral_recurrent *entries,
                           const corral_sequences *sequences, corral_tensor **out_cell);
///     r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_i x + b_i + r (W_h h + b_h));
///     h = (1 - z) n + z h
corral_tensor *corral_gru(corral_tensor *x, const corral_recurrent *entries,
                          const corral_sequences *sequences);

/// One step of `rows` sequences without a tape, f32: reads and replaces hidden and cell [rows, hidden].
/// `reset` [rows] may be NULL. `scratch` has room for corral_recurrent_scratch() floats. [any thread]
void corral_lstm_step(const corral_params *params, const corral_recurrent *entries, size_t rows,
                      const float *x, const uint8_t *reset, float *hidden, float *cell, float *scratch);
void corral_gru_step(const corral_params *params, const corral_recurrent *entries, size_t rows,
                     const float *x, const uint8_t *reset, float *hidden, float *scratch);
size_t corral_recurrent_scratch(size_t rows, size_t hidden);

#ifdef __cplusplus
}
#endif
#endif
