// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One table of functions per device: what the operations call. The portable C table defines every kernel; a
/// faster table is tested against it. The CPU has tables for x86-64-v2, v3 and v4 and plain C, chosen at
/// start by what the processor has; CUDA is one more table, opened at run time.
#ifndef CORRAL_CORE_BACKEND_H
#define CORRAL_CORE_BACKEND_H

#include "corral/core/ops.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_BACKEND_ABI = 1, CORRAL_BACKEND_LANES = 8 };

/// f32 kernels on packed or plain row-major memory. A missing entry is NULL and the portable one is used.
typedef struct corral_backend {
    uint32_t abi;     // CORRAL_BACKEND_ABI
    uint32_t size;    // sizeof(corral_backend)
    const char *name; // "x86-64-v4"
    /// 1 where products are chains of fused multiply-adds (one per element, over k ascending; sixteen, by k
    /// mod 16, in a layer with few outputs): all tables with the same level give the same bits.
    uint32_t level;

    /// Floats of the form of a weight [out, in] that `linear` reads, which is the table's own affair; and
    /// rows first_row .. first_row+row_count-1 of `weight` put into that form.
    size_t (*packed_size)(size_t out_features, size_t in_features);
    void (*pack)(size_t out_features, size_t in_features, size_t first_row, size_t row_count,
                 const float *weight, float *packed);
    /// y[rows, out] = activation(x[rows, in] packed + bias).
    void (*linear)(size_t rows, size_t in_features, size_t out_features, const float *x, const float *packed,
                   const float *bias, corral_activation activation, float *y);
    /// grad *= activation'(y), y being the activation's result.
    void (*activation_grad)(size_t count, corral_activation activation, const float *y, float *grad);
    /// dx[rows, in] = dy[rows, out] weight[out, in], or += where it `adds`
    void (*linear_grad_input)(size_t rows, size_t in_features, size_t out_features, const float *dy,
                              const float *weight, float *dx, bool adds);
    /// dw[out, in] += dy^T x, db[out] += sum of dy over rows (NULL: not wanted); rows ascending.
    void (*linear_grad_weight)(size_t rows, size_t in_features, size_t out_features, const float *dy,
                               const float *x, float *dw, float *db);
    void (*tanh)(size_t count, const float *x, float *y);
    void (*exp)(size_t count, const float *x, float *y);
    void (*log)(size_t count, const float *x, float *y);
    /// One Adam update of `count` elements; see optim.h. `scale` multiplies the gradient (clipping).
    void (*adam)(size_t count, float *weight, const float *grad, float *first, float *second, float scale,
                 float beta1, float beta2, float step_size, float second_correction_sqrt, float epsilon);
    /// total[i] = the sum of lane[i] over 1 .. CORRAL_BACKEND_LANES lanes in a fixed tree;
    /// returns the sum of squares of `total`, in f64. `total` may be one of the lanes.
    double (*sum_lanes)(size_t count, size_t lane_count, float *const *lanes, float *total);
} corral_backend;

/// The table in use. CORRAL_CPU_LEVEL=portable|v2|v3|v4 in the environment forces one (an unusable one is
/// ignored with a warning in the log). [any thread]
const corral_backend *corral_backend_cpu(void);

/// Every table that this machine can run, the portable one first: for tests and benchmarks.
size_t corral_backend_list(const corral_backend **out_tables, size_t limit);

/// The limit beside which figures of products are worth something: independent fused multiply-adds in
/// registers, on `threads` threads at once, in GFLOP/s. The best of `rounds` probes of about ten
/// milliseconds; 0 where there are no threads to be had.
double corral_cpu_peak_gflops(unsigned threads, unsigned rounds);

#ifdef __cplusplus
}
#endif
#endif
