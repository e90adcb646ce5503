// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Element-wise kernels. Every element goes through the same vector code, also in a partial vector at the end,
// so that its result does not depend on where it stands.

/// Calls FUNCTION on each vector of x and stores to y. Four vectors at a time: their chains overlap.
#define EACH_VECTOR(count, x, y, FUNCTION)                                                                   \
    size_t i_ = 0;                                                                                           \
    for (; i_ + 4 * LANES <= (count); i_ += 4 * LANES) {                                                     \
        vec v_[4];                                                                                           \
        for (int j_ = 0; j_ < 4; j_++)                                                                       \
            v_[j_] = FUNCTION(load((x) + i_ + j_ * LANES));                                                  \
        for (int j_ = 0; j_ < 4; j_++)                                                                       \
            store((y) + i_ + j_ * LANES, v_[j_]);                                                            \
    }                                                                                                        \
    for (; i_ < (count); i_ += LANES) {                                                                      \
        const size_t last_ = (count)-i_ < LANES ? (count)-i_ : LANES;                                        \
        store_partial((y) + i_, FUNCTION(load_partial((x) + i_, last_)), last_);                             \
    }

/// Coefficients of lowest degree first. Horner's scheme, one fused multiply-add per degree.
#define POLYNOMIAL(t, ...)                                                                                   \
    evaluate((t), (const float[]){__VA_ARGS__}, sizeof(float[]){__VA_ARGS__} / sizeof(float))
ALWAYS_INLINE vec evaluate(vec t, const float *coefficients, size_t count)
{
    vec value = broadcast(coefficients[count - 1]);
#pragma GCC unroll 16
    for (size_t i = count - 1; i-- > 0;)
        value = value * t + coefficients[i];
    return value;
}

/// tanh(x) = x P(x^2) / Q(x^2), of least relative error (2.1e-8) on |x| <= 9.02; tanh is 1 in f32 from 9.011
/// on. Odd by construction. The last line keeps rounding from passing 1. NaN stays NaN.
ALWAYS_INLINE vec tanh_vector(vec x)
{
    const vec limit = broadcast(9.02f), one = broadcast(1.0f);
    x = minimum(limit, maximum(-limit, x));
    const vec t = x * x;
    const vec p = POLYNOMIAL(t, 1.0f, 0.13379551710398674f, 0.0034938407254040686f, 2.0580454981946734e-05f,
                             1.3315211323895881e-08f);
    const vec q = POLYNOMIAL(t, 1.0f, 0.4671286683690156f, 0.02587032619355422f, 0.0003282782692934935f,
                             7.760367860546488e-07f);
    return minimum(one, maximum(-one, x * p / q));
}

ALWAYS_INLINE vec power_of_two(ivec exponent)
{
    return (vec)((exponent + 127) << 23);
}

/// exp(x) = 2^n exp(r), n the whole number nearest to x / ln 2 and |r| <= ln 2 / 2. The scaling takes two
/// steps, so that results below the normal range are right too. exp(0) is exactly 1.
ALWAYS_INLINE vec exp_vector(vec x)
{
    x = minimum(broadcast(89.0f), maximum(broadcast(-105.0f), x));
    // Adding and subtracting 1.5 * 2^23 rounds to a whole number.
    const vec magic = broadcast(12582912.0f);
    const vec n = (x * 1.44269504f + magic) - magic;
    const vec r =
        (x - n * 0.693359375f) + n * 2.12194440e-4f; // ln 2 in two parts, the first one exact in products
    const vec q = POLYNOMIAL(r, 0.5f, 0.16666576666119928f, 0.04166655421298415f, 0.008363232883682618f,
                             0.0013926250831497611f);
    const vec y = r * r * q + r + 1.0f;
    const ivec exponent = __builtin_convertvector(pick(x == x, n, (vec){0}), ivec);
    const ivec half = exponent >> 1;
    return y * power_of_two(half) * power_of_two(exponent - half);
}

/// log(x) = e ln 2 + log(1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
ALWAYS_INLINE vec log_vector(vec x)
{
    const ivec tiny = x < 1.17549435e-38f; // below the normal range: bring it up
    const vec scaled = pick(tiny, x * 8388608.0f, x);
    const ivec e = (ivec)((uvec)scaled - 0x3f3504f3u) >> 23;
    const vec f = (vec)((uvec)scaled - ((uvec)e << 23)) - 1.0f;
    const vec exponent = __builtin_convertvector(e, vec) - pick(tiny, broadcast(23.0f), (vec){0});
    const vec p =
        POLYNOMIAL(f, 0.33333330728190674f, -0.25000306422569796f, 0.2000104509416068f, -0.16641281463106394f,
                   0.14214495923947962f, -0.1299818376365153f, 0.12622319849228378f, -0.0790274377239344f);
    const vec square = f * f;
    vec y = f * square * p - exponent * 2.12194440e-4f;
    y = (f - 0.5f * square + y) + exponent * 0.693359375f;
    y = pick(x == 0.0f, broadcast(-INFINITY), y);
    y = pick(x == INFINITY, x, y);
    return pick((ivec)(x >= 0.0f), y, broadcast(NAN));
}

static void apply_tanh(size_t count, const float *x, float *y)
{
    EACH_VECTOR(count, x, y, tanh_vector)
}

static void apply_exp(size_t count, const float *x, float *y)
{
    EACH_VECTOR(count, x, y, exp_vector)
}

static void apply_log(size_t count, const float *x, float *y){EACH_VECTOR(count, x, y, log_vector)}

/// maximum() gives its second argument where either is NaN: NaN passes through.
ALWAYS_INLINE vec relu_vector(vec x)
{
    return maximum((vec){0}, x);
}

static void activate(size_t count, corral_activation activation, float *y)
{
    if (activation == CORRAL_TANH) apply_tanh(count, y, y);
    if (activation == CORRAL_RELU) {
        EACH_VECTOR(count, y, y, relu_vector)
    }
}

ALWAYS_INLINE vec activation_grad_vector(corral_activation activation, vec y, vec grad)
{
    if (activation == CORRAL_TANH) return grad * (1.0f - y * y);
    return pick(y > 0.0f, grad, (vec){0});
}

ALWAYS_INLINE void each_activation_grad(corral_activation activation, size_t count, const float *y,
                                        float *grad)
{
    size_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        vec v[4];
        for (int j = 0; j < 4; j++) {
            v[j] = activation_grad_vector(activation, load(y + i + j * LANES), load(grad + i + j * LANES));
        }
        for (int j = 0; j < 4; j++)
            store(grad + i + j * LANES, v[j]);
    }
    for (; i + LANES <= count; i += LANES) {
        store(grad + i, activation_grad_vector(activation, load(y + i), load(grad + i)));
    }
    if (i < count) {
        const size_t last = count - i;
        const vec result =
            activation_grad_vector(activation, load_partial(y + i, last), load_partial(grad + i, last));
        store_partial(grad + i, result, last);
    }
}

static void activation_grad(size_t count, corral_activation activation, const float *y, float *grad)
{
    if (activation == CORRAL_TANH) each_activation_grad(CORRAL_TANH, count, y, grad);
    if (activation == CORRAL_RELU) each_activation_grad(CORRAL_RELU, count, y, grad);
}

typedef struct adam_factors {
    float scale, first, second, step_size, inverse_correction, epsilon;
} adam_factors;

/// Numbers below the normal range become 0: they cost a hundred cycles each, and a weight without gradient
/// would keep its moments there for ever.
ALWAYS_INLINE vec flush_tiny(vec x)
{
    const ivec size = (ivec)x & 0x7fffffff;
    return (vec)((ivec)x & (size >= 0x00800000));
}

ALWAYS_INLINE void adam_vector(const adam_factors *f, vec *weight, vec grad, vec *first, vec *second)
{
    const vec g = grad * f->scale;
    *first = flush_tiny(*first + f->first * (g - *first));
    *second = flush_tiny(*second + f->second * (g * g - *second));
    *weight -= f->step_size * *first / (square_root(*second) * f->inverse_correction + f->epsilon);
}

static void adam(size_t count, float *weight, const float *grad, float *first, float *second, float scale,
                 float beta1, float beta2, float step_size, float second_correction_sqrt, float epsilon)
{
    const adam_factors f = {scale,  1.0f - beta1, 1.0f - beta2, step_size, 1.0f / second_correction_sqrt,
                            epsilon};
    for (size_t i = 0; i < count; i += LANES) {
        const size_t last = count - i < LANES ? count - i : LANES;
        vec w = load_partial(weight + i, last), m = load_partial(first + i, last);
        vec v = load_partial(second + i, last);
        adam_vector(&f, &w, load_partial(grad + i, last), &m, &v);
        store_partial(weight + i, w, last);
        store_partial(first + i, m, last);
        store_partial(second + i, v, last);
    }
}

/// One vector of the sum over lanes: neighbours first, then pairs of pairs.
ALWAYS_INLINE vec sum_lane_vectors(size_t lane_count, float *const *lanes, size_t i, size_t last)
{
    vec sums[CORRAL_BACKEND_LANES] = {0};
#pragma GCC unroll 8
    for (size_t lane = 0; lane < lane_count; lane++) {
        sums[lane] = load_partial(lanes[lane] + i, last);
    }
#pragma GCC unroll 8
    for (size_t step = 1; step < lane_count; step *= 2) {
#pragma GCC unroll 8
        for (size_t lane = 0; lane + step < lane_count; lane += 2 * step)
            sums[lane] += sums[lane + step];
    }
    return sums[0];
}

typedef double wide __attribute__((vector_size(8 * LANES)));

enum { SQUARES = 16, SQUARE_VECTORS = SQUARES / LANES };

/// Squares go into sixteen partial sums by i mod 16, so that every vector length gives the same bits. The
/// squares of f32 numbers are exact in f64.
ALWAYS_INLINE double sum_some_lanes(size_t lane_count, size_t count, float *const *lanes, float *total)
{
    wide partial[SQUARE_VECTORS] = {0};
    size_t i = 0;
    for (; i + SQUARES <= count; i += SQUARES) {
#pragma GCC unroll 4
        for (size_t j = 0; j < SQUARE_VECTORS; j++) {
            const vec sum = sum_lane_vectors(lane_count, lanes, i + j * LANES, LANES);
            store(total + i + j * LANES, sum);
            const wide exact = __builtin_convertvector(sum, wide);
            partial[j] += exact * exact;
        }
    }
    double sums[SQUARES];
    memcpy(sums, partial, sizeof sums);
    for (size_t k = 0; i < count; i++, k++) {
        const vec sum = sum_lane_vectors(lane_count, lanes, i, 1);
        total[i] = sum[0];
        sums[k] += (double)sum[0] * (double)sum[0];
    }
    for (size_t step = SQUARES / 2; step > 0; step /= 2) {
        for (size_t k = 0; k < step; k++)
            sums[k] += sums[k + step];
    }
    return sums[0];
}

static double sum_lanes(size_t count, size_t lane_count, float *const *lanes, float *total)
{
    // With the number of lanes a constant, everything stays in registers.
    switch (lane_count) {
    case 1:
        return sum_some_lanes(1, count, lanes, total);
    case 2:
        return sum_some_lanes(2, count, lanes, total);
    case 4:
        return sum_some_lanes(4, count, lanes, total);
    case CORRAL_BACKEND_LANES:
        return sum_some_lanes(CORRAL_BACKEND_LANES, count, lanes, total);
    default:
        return sum_some_lanes(lane_count, count, lanes, total);
    }
}
