// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The definition of every product: plain loops in `real`. Included once with `real` as float, for the
// portable table, and once as double, for gradient checks. Each element is one sum over k ascending that
// starts from the bias, from zero (input gradients) or from what is there (weight gradients).

/// W has an element (o, k) at w[o * w_out + k * w_in]: plain [out, in] or packed [in, padded out].
static void plain_linear(size_t rows, size_t in, size_t out, const real *x, const real *w, size_t w_out,
                         size_t w_in, const real *bias, real *y)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            real sum = bias[o];
            for (size_t k = 0; k < in; k++)
                sum += x[r * in + k] * w[o * w_out + k * w_in];
            y[r * out + o] = sum;
        }
    }
}

static void plain_activation_grad(size_t count, corral_activation activation, const real *y, real *grad)
{
    if (activation == CORRAL_TANH) {
        for (size_t i = 0; i < count; i++)
            grad[i] *= 1 - y[i] * y[i];
    } else if (activation == CORRAL_RELU) {
        for (size_t i = 0; i < count; i++)
            grad[i] = y[i] > 0 ? grad[i] : 0;
    }
}

static void plain_linear_grad_input(size_t rows, size_t in, size_t out, const real *dy, const real *weight,
                                    real *dx, bool adds)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < in; i++) {
            real sum = adds ? dx[r * in + i] : 0;
            for (size_t o = 0; o < out; o++)
                sum += dy[r * out + o] * weight[o * in + i];
            dx[r * in + i] = sum;
        }
    }
}

static void plain_linear_grad_weight(size_t rows, size_t in, size_t out, const real *dy, const real *x,
                                     real *dw, real *db)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < out; o++) {
            const real g = dy[r * out + o];
            for (size_t i = 0; i < in; i++)
                dw[o * in + i] += g * x[r * in + i];
            if (db != NULL) db[o] += g;
        }
    }
}
