// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The updates that are no kernels of a backend, for one dtype: `real` and `real_sqrt` say which.
//
//   SGD      v = momentum v + g;  w -= lr v          (Nesterov: w -= lr (g + momentum v))
//   AMSGrad  Adam whose second moment, before its correction, is the largest so far
//   RMSprop  s = alpha s + (1 - alpha) g^2;  d = sqrt(s - a^2) + eps, a being the mean gradient where
//   centered;
//            v = momentum v + g / d;  w -= lr v
//            With the epsilon inside, d = sqrt(s - a^2 + eps), and the rate goes into v: TensorFlow's form.
//
// Weight decay comes before: decoupled (AdamW), w *= 1 - lr decay, else coupled, g += decay w.

static void sgd(const corral_update *update, size_t count, void *weight, const void *grad, void *const *state)
{
    real *w = weight, *velocity = state[0];
    const real *g = grad, scale = (real)update->scale, momentum = (real)update->momentum;
    const real rate = (real)update->learning_rate;
    for (size_t i = 0; i < count; i++) {
        const real scaled = g[i] * scale;
        velocity[i] = momentum * velocity[i] + scaled;
        w[i] -= rate * (update->nesterov ? scaled + momentum * velocity[i] : velocity[i]);
    }
}

static void amsgrad(const corral_update *update, size_t count, void *weight, const void *grad,
                    void *const *state)
{
    real *w = weight, *first = state[0], *second = state[1], *largest = state[2];
    const real *g = grad, scale = (real)update->scale, epsilon = (real)update->epsilon;
    const real keep1 = (real)(1.0 - update->beta1), keep2 = (real)(1.0 - update->beta2);
    const real step_size = (real)(update->learning_rate / update->first_correction);
    const real correction = (real)sqrt(update->second_correction);
    for (size_t i = 0; i < count; i++) {
        const real scaled = g[i] * scale;
        first[i] += keep1 * (scaled - first[i]);
        second[i] += keep2 * (scaled * scaled - second[i]);
        largest[i] = second[i] > largest[i] ? second[i] : largest[i];
        w[i] -= step_size * first[i] / (real_sqrt(largest[i]) / correction + epsilon);
    }
}

/// state: mean square, velocity, mean gradient; the last only where centered.
static void rmsprop(const corral_update *update, size_t count, void *weight, const void *grad,
                    void *const *state)
{
    real *w = weight, *square = state[0], *velocity = state[1], *mean = state[2];
    const real *g = grad, scale = (real)update->scale, epsilon = (real)update->epsilon;
    const real alpha = (real)update->beta2, momentum = (real)update->momentum,
               rate = (real)update->learning_rate;
    const bool inside = update->epsilon_inside;
    for (size_t i = 0; i < count; i++) {
        const real scaled = g[i] * scale;
        square[i] = alpha * square[i] + (1 - alpha) * scaled * scaled;
        real variance = square[i];
        if (mean != NULL) {
            mean[i] = alpha * mean[i] + (1 - alpha) * scaled;
            variance -= mean[i] * mean[i];
            if (variance < 0) variance = 0; // by rounding
        }
        const real step =
            inside ? rate * scaled / real_sqrt(variance + epsilon) : scaled / (real_sqrt(variance) + epsilon);
        velocity[i] = momentum * velocity[i] + step;
        w[i] -= inside ? velocity[i] : rate * velocity[i];
    }
}

static void decay(size_t count, void *weight, double factor)
{
    real *w = weight;
    for (size_t i = 0; i < count; i++)
        w[i] *= (real)factor;
}

static void couple(size_t count, const void *weight, void *grad, double scale, double factor)
{
    const real *w = weight;
    real *g = grad;
    for (size_t i = 0; i < count; i++)
        g[i] = g[i] * (real)scale + (real)factor * w[i];
}

static double clip_values(size_t count, void *grad, double bound)
{
    real *g = grad;
    const real limit = (real)bound;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        g[i] = g[i] > limit ? limit : g[i] < -limit ? -limit : g[i]; // NaN stays, and is found by the norm
        squares += (double)g[i] * (double)g[i];
    }
    return squares;
}
