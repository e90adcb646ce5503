// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a device plug-in offers: one table, which the library that was opened hands out. libcorral_cuda.so
/// fills it with CUDA; the shim fills it with plain C and the very same kernels, compiled for the CPU.
///
/// Memory is the device's unless a comment says host. Work goes to a stream, in order, and has not happened
/// until the stream was waited for; pointers handed over must stay good until then. Between capture_begin and
/// capture_end nothing runs: the work is recorded with its arguments as they are, and graph_launch does it
/// all, as often as wanted. So whatever changes between two launches (learning rate, step, loss scale, random
/// counter, which rows) lives in device memory: device/control.h.
///
/// Failures are sticky, as CUDA's are: a call that cannot work remembers why, and wait() tells.
///
/// C and C++ include this header: the kernels' launchers are C++ to their compilers.
#ifndef CORRAL_CORE_DEVICE_TABLE_H
#define CORRAL_CORE_DEVICE_TABLE_H

#include "device/control.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_DEVICE_ABI = 1 };

typedef struct corral_stream corral_stream;
typedef struct corral_graph corral_graph;
typedef struct corral_reduce_group corral_reduce_group;

typedef uint16_t corral_bf16; // the upper half of a float

typedef struct corral_device_info {
    char name[256];
    int32_t major, minor; // compute capability
    uint64_t memory;      // bytes
} corral_device_info;

/// C[m, n] = A B (+ C, where `add` is set), all row-major and without gaps. A is [m, k], or [k, m] where it
/// is transposed; B is [k, n], or [n, k]. A and B are floats, or bf16 where `half` is set; C and the sums are
/// floats.
typedef struct corral_product {
    uint64_t m, n, k;
    const void *a, *b;
    float *c;
    uint8_t transpose_a, transpose_b, half, add;
} corral_product;

/// The rows of the next minibatch, from the batch's columns to the minibatch's: row i is
/// order[control->at + i]. Advantages are normalised on the way. Columns that are NULL are not wanted.
typedef struct corral_device_gather {
    uint64_t rows, width, actions;
    const uint32_t *order;
    const float *observation, *log_prob, *value, *advantage, *target, *log_probs;
    const int32_t *action;
    float *out_observation, *out_log_prob, *out_value, *out_advantage, *out_target, *out_log_probs;
    int32_t *out_action;
    corral_bf16 *out_observation_half;
} corral_device_gather;

/// See corral_ppo_loss(): what it reads, and where gradients and sums go. Coefficients that are scheduled
/// come from `control`, and gradients are multiplied by its loss scale.
typedef struct corral_device_ppo {
    uint64_t rows, actions;
    const float *logits, *value; // [rows, actions], [rows]
    const int32_t *action;
    const float *old_log_prob, *old_value, *advantage, *target, *old_log_probs;
    float value_clip_range, value_error_clip, value_coefficient;
    float *logits_grad, *value_grad;
    double *partial; // [blocks of rows, CORRAL_DEVICE_SUMS]
} corral_device_ppo;

/// See corral_dqn_loss().
typedef struct corral_device_dqn {
    uint64_t rows, actions;
    const float *q; // [rows, actions]
    const int32_t *action;
    const float *target, *weight;
    float huber_delta;
    float *q_grad, *error;
    double *partial; // [blocks of rows, CORRAL_DEVICE_SUMS]
} corral_device_dqn;

/// Advantages of `envs` environments of `steps` steps each; see rllib's learner/advantage.h. Columns are
/// [envs, steps], last_value is [envs].
typedef struct corral_device_gae {
    uint64_t envs, steps;
    const float *reward, *value, *last_value, *final_value;
    const uint8_t *terminated, *truncated;
    double gamma, lambda;
    float *advantage, *target;
} corral_device_gae;

/// V-trace (Espeholt et al. 2018, eq. 1): targets and the advantages of the policy gradient.
typedef struct corral_device_vtrace {
    uint64_t envs, steps;
    const float *reward, *value, *last_value, *final_value;
    const uint8_t *terminated, *truncated;
    const float *log_ratio; // [envs, steps], log pi / mu
    double gamma, lambda, clip_rho, clip_c;
    float *target, *advantage;
} corral_device_vtrace;

/// One step of Adam over flat blocks: norm, clipping, loss scale and the step itself. Nothing moves where the
/// norm is not finite or control->stopped is set.
typedef struct corral_device_step {
    uint64_t count;
    float *weight, *first, *second;
    const float *gradient;
    corral_bf16 *weight_half; // a copy of the new weights; NULL: not wanted
    double *squares;          // [chunks of CORRAL_DEVICE_CHUNK]
    const double *partial;    // of the loss, which the step sums up
    uint64_t partial_count, rows;
    double beta1, beta2, epsilon, max_norm;
    uint8_t kind; // corral_device_sums
} corral_device_step;

typedef struct corral_device_table {
    uint32_t abi, size; // CORRAL_DEVICE_ABI, sizeof(corral_device_table)
    const char *name;   // "CUDA"

    // --- the seam: memory, streams, graphs, products
    // ---------------------------------------------------------
    /// How many devices there are; where there are none, why, as the end of a sentence.
    uint32_t (*device_count)(char *out_reason, size_t size);
    bool (*describe)(uint32_t device, corral_device_info *out_info);
    bool (*use)(uint32_t device);    // by the calling thread, from here on
    void *(*allocate)(size_t bytes); // NULL where there is no room
    void (*release)(void *memory);
    /// Host memory that copies may read (or write) without the host's help. False: they still work, slower.
    bool (*pin)(void *host, size_t bytes, bool read_only);
    void (*unpin)(void *host);
    corral_stream *(*stream_create)(void);
    void (*stream_destroy)(corral_stream *stream);
    /// Between host and device in either direction, or inside the device.
    void (*copy)(corral_stream *stream, void *to, const void *from, size_t bytes);
    void (*zero)(corral_stream *stream, void *to, size_t bytes);
    /// What comes to `later` from now on waits for what `earlier` has been given so far.
    void (*order)(corral_stream *earlier, corral_stream *later);
    /// Waits until the stream is empty. NULL, or what went wrong since the device was opened.
    const char *(*wait)(corral_stream *stream);
    void (*capture_begin)(corral_stream *stream);
    corral_graph *(*capture_end)(corral_stream *stream); // NULL: it could not be captured
    void (*graph_launch)(corral_graph *graph, corral_stream *stream);
    void (*graph_destroy)(corral_graph *graph);
    void (*product)(corral_stream *stream, const corral_product *product);
    /// Sums over several devices or learners. `id` (CORRAL_DEVICE_GROUP_ID bytes) is made by one and handed
    /// to all. NULL or false with a reason in wait().
    bool (*reduce_id)(void *out_id);
    corral_reduce_group *(*reduce_create)(const void *id, uint32_t rank, uint32_t count);
    void (*reduce_destroy)(corral_reduce_group *group);
    void (*all_reduce)(corral_reduce_group *group, corral_stream *stream, float *values, size_t count);

    // --- kernels: elements
    // -----------------------------------------------------------------------------------
    /// y = activation(y + bias), y [rows, width]; `half`, where wanted, is its copy in bf16.
    void (*bias_activation)(corral_stream *stream, uint64_t rows, uint64_t width, int activation,
                            const float *bias, float *y, corral_bf16 *half);
    /// gradient *= activation'(y), with a copy in bf16 where wanted, and bias_gradient[width] = its sum over
    /// rows in a fixed order. `partial` is [chunks of CORRAL_DEVICE_BIAS_ROWS rows, width].
    void (*activation_gradient)(corral_stream *stream, uint64_t rows, uint64_t width, int activation,
                                const float *y, float *gradient, corral_bf16 *half, float *partial,
                                float *bias_gradient);
    void (*to_bf16)(corral_stream *stream, uint64_t count, const float *from, corral_bf16 *to);
    /// clip((x - mean) * inverse, -clip, clip), [rows, width]; `out` may be `x`.
    void (*filter)(corral_stream *stream, uint64_t rows, uint64_t width, const float *x, const double *mean,
                   const double *inverse, double clip, float *out);
    void (*gather)(corral_stream *stream, const corral_device_gather *gather,
                   const corral_device_control *control);
    /// to += tau (from - to)
    void (*blend)(corral_stream *stream, uint64_t count, float tau, const float *from, float *to);

    // --- kernels: rows and reductions
    // ------------------------------------------------------------------------
    /// out[0] = the sum, in f64 and a fixed order; `partial` [chunks of CORRAL_DEVICE_CHUNK].
    void (*sum)(corral_stream *stream, uint64_t count, const float *x, double *partial, double *out);
    void (*log_softmax)(corral_stream *stream, uint64_t rows, uint64_t n, const float *x, float *y);
    /// x_gradient += the gradient through it.
    void (*log_softmax_gradient)(corral_stream *stream, uint64_t rows, uint64_t n, const float *y,
                                 const float *y_gradient, float *x_gradient);
    /// As corral_categorical_sample(), with uniform[r] the value (control->counter + r) of stream `key`.
    void (*sample)(corral_stream *stream, uint64_t rows, uint64_t actions, const float *logits, uint64_t key,
                   const corral_device_control *control, int32_t *action, float *log_prob);
    /// Writes control->advantage_mean and _scale for the next `rows` rows of `order`.
    void (*advantage_moments)(corral_stream *stream, uint64_t rows, const uint32_t *order,
                              const float *advantage, double *partial, corral_device_control *control);
    void (*gae)(corral_stream *stream, const corral_device_gae *gae);
    void (*vtrace)(corral_stream *stream, const corral_device_vtrace *vtrace);

    // --- kernels: losses and the optimizer
    // -------------------------------------------------------------------
    void (*ppo_loss)(corral_stream *stream, const corral_device_ppo *ppo,
                     const corral_device_control *control);
    void (*dqn_loss)(corral_stream *stream, const corral_device_dqn *dqn,
                     const corral_device_control *control);
    /// See dqn_targets() of rllib: `q_online` NULL where q_target itself chooses.
    void (*dqn_targets)(corral_stream *stream, uint64_t rows, uint64_t actions, const float *reward,
                        const float *discount, const float *q_target, const float *q_online, float *target);
    void (*dueling)(corral_stream *stream, uint64_t rows, uint64_t actions, const float *value,
                    const float *advantage, float *q);
    /// Both are written.
    void (*dueling_gradient)(corral_stream *stream, uint64_t rows, uint64_t actions, const float *q_gradient,
                             float *value_gradient, float *advantage_gradient);
    void (*step)(corral_stream *stream, const corral_device_step *step, corral_device_control *control);
} corral_device_table;

/// The one name that a plug-in exports: its table, or NULL where it does not know this ABI.
const corral_device_table *corral_device_plugin(uint32_t abi);
typedef const corral_device_table *corral_device_plugin_function(uint32_t abi);

#ifdef __cplusplus
}
#endif
#endif
