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

// --- convolution and pooling ------------------------------------------------------------------------------
//
// Images are [rows, height, width, channels]: a pixel's channels lie side by side (NHWC), as environments
// make them. A convolution's weight is the matrix [out, kernel_height * kernel_width * in], which is
// PyTorch's [out, in, kernel_height, kernel_width] with the channels moved to the end:
// corral_init_orthogonal() and the like see the same matrix but for the order of its columns.

/// A window that moves over the image. Where it reaches over the edge by `padding`, there are zeros.
typedef struct corral_window {
    size_t height, width; // of the kernel
    size_t stride, padding;
} corral_window;

/// How many places a window of `size` has along an image of `length`: 0 where it does not fit.
size_t corral_window_places(size_t length, size_t size, size_t stride, size_t padding);

/// activation(convolution + bias): [rows, places, places, out].
corral_tensor *corral_conv2d(corral_tensor *x, uint32_t weight, uint32_t bias, const corral_window *window,
                             corral_activation activation);
/// The same without a tape, f32; x [rows, height, width, channels]. [any thread]
void corral_conv2d_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                           const corral_window *window, corral_activation activation, size_t rows,
                           size_t height, size_t width, const float *x, float *out);

/// The other way: every pixel of x lays its window of numbers onto an image of zeros, `stride` apart, and
/// what lies on the padding falls off: the gradient of a convolution by its image, with a bias. `weight` is
/// [in, kernel_height * kernel_width * out], PyTorch's [in, out, kernel_height, kernel_width] with the
/// channels at the end. The image is (length - 1) stride + size - 2 padding + `extra` long, 0 <= extra <
/// stride.
corral_tensor *corral_conv_transpose2d(corral_tensor *x, uint32_t weight, uint32_t bias,
                                       const corral_window *window, size_t extra,
                                       corral_activation activation);

/// The largest number of each window, by channel; the gradient goes to the first of equals. No padding.
corral_tensor *corral_max_pool2d(corral_tensor *x, const corral_window *window);
/// The mean of each window, by channel. No padding.
corral_tensor *corral_avg_pool2d(corral_tensor *x, const corral_window *window);

// --- normalisation ----------------------------------------------------------------------------------------
//
// Over the last dimension, row by row: no row sees another. Weight and bias are entries [n].

/// (x - mean) / sqrt(variance + epsilon) weight + bias, the variance being the population's.
corral_tensor *corral_layer_norm(corral_tensor *x, uint32_t weight, uint32_t bias, double epsilon);
/// x / sqrt(mean square + epsilon) weight.
corral_tensor *corral_rms_norm(corral_tensor *x, uint32_t weight, double epsilon);

/// What a batch norm has seen, beside its weights: the caller's, who saves them, and starts them at 0 and 1.
typedef struct corral_batch_statistics {
    double epsilon, momentum; // PyTorch's are 1e-5 and 0.1: the share of what is new
    double *mean, *variance;  // [n] of the last dimension; must live until the reset
} corral_batch_statistics;

/// Batch norm (Ioffe and Szegedy 2015) over all dimensions but the last. With `learns`, by the mean and the
/// population's variance of these rows, of which there must be two, and each forward, a replay's too, moves
/// the statistics (with the sample's variance); else by the statistics, row by row.
///
/// It is the one layer in which rows see each other: where it learns, a minibatch is recorded whole, not in
/// lanes, and results depend on how it was cut. Not inside a checkpoint, which runs a forward twice.
corral_tensor *corral_batch_norm(corral_tensor *x, uint32_t weight, uint32_t bias,
                                 const corral_batch_statistics *statistics, bool learns);
/// By the statistics, without a tape, f32: x and out [rows, n]. [any thread]
void corral_batch_norm_forward(const corral_params *params, uint32_t weight, uint32_t bias,
                               const corral_batch_statistics *statistics, size_t rows, const float *x,
                               float *out);

// --- layers side by side ----------------------------------------------------------------------------------

/// Linear layers of one shape side by side, as an ensemble of critics is made of: entries weight [members,
/// out, in] and bias [members, out]; x [members, rows, in], or [rows, in], which all of them see. Gives
/// [members, rows, out].
corral_tensor *corral_ensemble_linear(corral_tensor *x, uint32_t weight, uint32_t bias,
                                      corral_activation activation);

// --- attention --------------------------------------------------------------------------------------------

/// Products of matrices side by side: [batch, m, k] x [batch, k, n], or x the transposes of [batch, n, k].
corral_tensor *corral_bmm(corral_tensor *a, corral_tensor *b, bool transpose_b);
/// softmax(q k^T / sqrt(d)) v: q [batch, m, d], k [batch, n, d], v [batch, n, width], a head being one of the
/// batch. Where allowed[batch, m, n] is 0, the position is not seen; a row that sees nothing is 0. NULL: all
/// are seen. `allowed` must live until the reset.
corral_tensor *corral_attention(corral_tensor *q, corral_tensor *k, corral_tensor *v, const uint8_t *allowed);

// --- noisy linear -----------------------------------------------------------------------------------------
//
// Fortunato et al. 2018, with factorised noise: the weights are weight + weight_sigma * (out_i in_j), the
// biases bias + bias_sigma * out_i, with in and out made by corral_noise_factors(). The noisy weights are
// never made: (x in) weight_sigma^T out is the same sum.

typedef struct corral_noisy {
    uint32_t weight, bias, weight_sigma, bias_sigma; // entries, as a linear layer's
} corral_noisy;

/// `noise_in` [in] and `noise_out` [out]; both NULL: without noise, as in evaluation.
corral_tensor *corral_noisy_linear(corral_tensor *x, const corral_noisy *entries, corral_tensor *noise_in,
                                   corral_tensor *noise_out, corral_activation activation);
/// The same without a tape, f32, and without the activation. `scratch`: rows * (in + out) floats; not needed
/// without noise. [any thread]
void corral_noisy_linear_forward(const corral_params *params, const corral_noisy *entries, size_t rows,
                                 const float *x, const float *noise_in, const float *noise_out, float *out,
                                 float *scratch);
/// sign(e) sqrt(|e|) of standard normal numbers counter .. counter + count - 1 of a stream.
void corral_noise_factors(uint64_t stream_key, uint64_t counter, size_t count, float *out);

#ifdef __cplusplus
}
#endif
#endif
