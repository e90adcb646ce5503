// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Operations that move elements, choose among them, or reduce over dimensions. All results are dense copies;
/// a gradient is added up over what was repeated. Index arrays are checked, and must live until
/// the reset; a replay reads them again.
#ifndef CORRAL_CORE_SHAPES_H
#define CORRAL_CORE_SHAPES_H

#include "corral/core/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- the same elements, elsewhere -------------------------------------------------------------------------

/// Dimension i of the result is dimension order[i] of x.
corral_tensor *corral_permute(corral_tensor *x, const uint32_t *order);
/// Repeats dimensions of one element, and adds leading ones, up to `shape`.
corral_tensor *corral_expand(corral_tensor *x, uint32_t dimension_count, const size_t *shape);
/// Elements first .. first+count-1 of a dimension.
corral_tensor *corral_slice(corral_tensor *x, uint32_t dimension, size_t first, size_t count);
/// Behind each other along a dimension, in which alone they may differ.
corral_tensor *corral_cat(size_t tensor_count, corral_tensor *const *tensors, uint32_t dimension);
/// Equal shapes, along a new dimension.
corral_tensor *corral_stack(size_t tensor_count, corral_tensor *const *tensors, uint32_t dimension);
/// Into parts of sizes[i] along a dimension: out_parts [part_count].
void corral_split(corral_tensor *x, uint32_t dimension, size_t part_count, const size_t *sizes,
                  corral_tensor **out_parts);
/// Without, or with, a dimension of one element.
corral_tensor *corral_squeeze(corral_tensor *x, uint32_t dimension);
corral_tensor *corral_unsqueeze(corral_tensor *x, uint32_t dimension);
/// `before` and `after` elements of `value` around a dimension.
corral_tensor *corral_pad(corral_tensor *x, uint32_t dimension, size_t before, size_t after, double value);

// --- chosen elements --------------------------------------------------------------------------------------

/// The index[k]-th slices along a dimension, k = 0 .. count-1. Gradients of repeated ones add up. An
/// embedding is this over dimension 0 of corral_parameter().
corral_tensor *corral_index_select(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count);
/// Of the parameter `weight` [n, width]: [count, width].
corral_tensor *corral_embedding(corral_tape *tape, uint32_t weight, const int32_t *index, size_t count);
/// Element by element: y[i, k, j] = x[i, index[i, k, j], j] along a dimension, which has `count` elements in
/// the result. `index` has the shape of the result.
corral_tensor *corral_gather_along(corral_tensor *x, uint32_t dimension, const int32_t *index, size_t count);
/// x with y[i, index[i, k, j], j] += source[i, k, j]; `index` has the shape of `source`.
corral_tensor *corral_scatter_add(corral_tensor *x, uint32_t dimension, const int32_t *index,
                                  corral_tensor *source);
/// [count, n]: 1 at the index, 0 elsewhere. No gradient.
corral_tensor *corral_one_hot(corral_tape *tape, corral_dtype dtype, const int32_t *index, size_t count,
                              size_t n);
/// Along the last dimension, ascending or descending; equal elements keep their order, NaN is the largest.
/// `out_index`, which may be NULL, is where each came from [the shape of x]; it lives until the reset.
corral_tensor *corral_sort(corral_tensor *x, bool descending, const int32_t **out_index);
/// The `count` largest along the last dimension, descending.
corral_tensor *corral_top_k(corral_tensor *x, size_t count, const int32_t **out_index);

// --- reductions -------------------------------------------------------------------------------------------
//
// `dimensions` is a set of bits, CORRAL_DIMENSION(1) | CORRAL_DIMENSION(2); CORRAL_ALL_DIMENSIONS are all.
// With `keep` the reduced dimensions stay, of one element. Over nothing, sums are 0, products 1, and largest
// elements do not exist.

#define CORRAL_DIMENSION(i)   (1u << (i))
#define CORRAL_ALL_DIMENSIONS 0xffffffffu

corral_tensor *corral_sum_over(corral_tensor *x, uint32_t dimensions, bool keep);
corral_tensor *corral_mean_over(corral_tensor *x, uint32_t dimensions, bool keep); // of nothing: 0
/// The mean squared distance to the mean, times n / (n - correction): 1 for a sample's, 0 for the
/// population's.
corral_tensor *corral_variance(corral_tensor *x, uint32_t dimensions, double correction, bool keep);
/// Its root. The gradient of equal elements is 0.
corral_tensor *corral_deviation(corral_tensor *x, uint32_t dimensions, double correction, bool keep);
/// The root of the sum of squares. The gradient at 0 is 0.
corral_tensor *corral_norm(corral_tensor *x, uint32_t dimensions, bool keep);
/// The gradient goes to the first of equals. NaN is the largest, and the smallest.
corral_tensor *corral_max_over(corral_tensor *x, uint32_t dimensions, bool keep);
corral_tensor *corral_min_over(corral_tensor *x, uint32_t dimensions, bool keep);
/// log sum exp. +inf gives +inf; nothing but -inf gives -inf, with gradient 0.
corral_tensor *corral_log_sum_exp(corral_tensor *x, uint32_t dimensions, bool keep);
corral_tensor *corral_product_over(corral_tensor *x, uint32_t dimensions, bool keep);

/// Over the last dimension: the index of the largest element, the first among equals. out_index [rows].
void corral_argmax(const corral_tensor *x, int32_t *out_index);
/// Running sums along the last dimension.
corral_tensor *corral_cumsum(corral_tensor *x);
/// exp(x) / sum exp(x) over the last dimension; a row of nothing but -inf is all 0, with gradient 0.
corral_tensor *corral_softmax(corral_tensor *x);

// --- sums of products -------------------------------------------------------------------------------------

/// Einstein's notation for one tensor or two (`b` may be NULL), "bik,bjk->bij": a letter for each dimension;
/// what the result does not name is summed over. A letter stands once in a tensor, and what is left between
/// the steps has four dimensions or less. Made of permutations and of corral_bmm().
corral_tensor *corral_einsum(const char *equation, corral_tensor *a, corral_tensor *b);

#ifdef __cplusplus
}
#endif
#endif
