// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The functions of elements.h in `real`. Those of every day are worked out in blocks, through the backend's
// exp, log and tanh; the others one by one in f64, which makes f32 results right to the last digit.
//
// A gradient of exactly 0 adds exactly 0, whatever the slope is.

#define SQRT_HALF        0.707106781186547524401
#define INV_SQRT_TWOPI   0.398942280401432677940
#define SQRT_TWO_OVER_PI 0.797884560802865355880
#define GELU_CUBIC       0.044715

// --- one by one: value(x, p) and slope(x, y, p) -----------------------------------------------------------

static inline double pow_value(double x, double p)
{
    return pow(x, p);
}
static inline double pow_slope(double x, double y, double p)
{
    (void)y;
    return p == 0.0 || (x == 0.0 && p < 1.0) ? 0.0 : p * pow(x, p - 1.0);
}

static inline double log1p_value(double x, double p)
{
    (void)p;
    return log1p(x);
}
static inline double log1p_slope(double x, double y, double p)
{
    (void)y, (void)p;
    return 1.0 / (1.0 + x);
}

static inline double expm1_value(double x, double p)
{
    (void)p;
    return expm1(x);
}
static inline double expm1_slope(double x, double y, double p)
{
    (void)x, (void)p;
    return y + 1.0;
}

static inline double sin_value(double x, double p)
{
    (void)p;
    return sin(x);
}
static inline double sin_slope(double x, double y, double p)
{
    (void)y, (void)p;
    return cos(x);
}

static inline double cos_value(double x, double p)
{
    (void)p;
    return cos(x);
}
static inline double cos_slope(double x, double y, double p)
{
    (void)y, (void)p;
    return -sin(x);
}

static inline double atanh_value(double x, double p)
{
    (void)p;
    return atanh(x);
}
static inline double atanh_slope(double x, double y, double p)
{
    (void)y, (void)p;
    return 1.0 / ((1.0 - x) * (1.0 + x));
}

static inline double erf_value(double x, double p)
{
    (void)p;
    return erf(x);
}
static inline double erf_slope(double x, double y, double p)
{
    (void)y, (void)p;
    return 2.0 * SQRT_TWO_OVER_PI * SQRT_HALF * exp(-x * x);
}

static inline double leaky_relu_value(double x, double p)
{
    return x < 0.0 ? p * x : x;
}
static inline double leaky_relu_slope(double x, double y, double p)
{
    (void)y;
    return x > 0.0 ? 1.0 : p;
}

/// x Phi(x); exactly 0 where Phi is, also at -inf.
static inline double gelu_value(double x, double p)
{
    (void)p;
    const double below = 0.5 * erfc(-x * SQRT_HALF);
    return below == 0.0 ? 0.0 : x * below;
}
static inline double gelu_slope(double x, double y, double p)
{
    (void)y, (void)p;
    const double density = INV_SQRT_TWOPI * exp(-0.5 * x * x);
    return 0.5 * erfc(-x * SQRT_HALF) + (density == 0.0 ? 0.0 : x * density);
}

static inline double sign_value(double x, double p)
{
    (void)p;
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static inline double floor_value(double x, double p)
{
    (void)p;
    return floor(x);
}

#define VALUE(name)                                                                                          \
    static void name##_run(const corral_unary_run *run)                                                      \
    {                                                                                                        \
        const real *x = run->x;                                                                              \
        for (size_t i = 0; i < run->count; i++)                                                              \
            ((real *)run->y)[i] = (real)name##_value((double)x[i], run->numbers[0]);                         \
    }
#define SLOPE(name)                                                                                          \
    static void name##_run_grad(const corral_unary_run *run)                                                 \
    {                                                                                                        \
        const real *x = run->x, *y = run->y, *g = run->y_grad;                                               \
        for (size_t i = 0; i < run->count; i++) {                                                            \
            if (g[i] == 0) continue;                                                                         \
            ((real *)run->x_grad)[i] +=                                                                      \
                g[i] * (real)name##_slope((double)x[i], (double)y[i], run->numbers[0]);                      \
        }                                                                                                    \
    }
VALUE(pow)
VALUE(log1p)
VALUE(expm1)
VALUE(sin)
VALUE(cos)
VALUE(atanh)
VALUE(erf)
VALUE(leaky_relu)
VALUE(gelu)
VALUE(sign)
VALUE(floor)
SLOPE(pow)
SLOPE(log1p)
SLOPE(expm1)
SLOPE(sin)
SLOPE(cos)
SLOPE(atanh)
SLOPE(erf)
SLOPE(leaky_relu)
SLOPE(gelu)
#undef VALUE
#undef SLOPE

// --- in blocks: value(count, x, y, p) and slope(count, x, y, slope, p) ------------------------------------

/// exp(x) - 1 below 0 by tanh(x/2) 2 / (1 - tanh(x/2)): no digits are lost near 0.
static inline void elu_value(size_t count, const real *x, real *y, real p)
{
    real half[BLOCK];
    for (size_t i = 0; i < count; i++)
        half[i] = x[i] < 0 ? (real)0.5 * x[i] : 0;
    real_tanh_all(count, half, half);
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] < 0 ? p * (2 * half[i] / (1 - half[i])) : x[i];
}
static inline void elu_slope(size_t count, const real *x, const real *y, real *slope, real p)
{
    for (size_t i = 0; i < count; i++)
        slope[i] = x[i] < 0 ? y[i] + p : 1;
}

/// tanh of the inner polynomial, and its slope.
static inline void gelu_tanh_parts(size_t count, const real *x, real *t, real *inner)
{
    for (size_t i = 0; i < count; i++) {
        const real square = x[i] * x[i];
        t[i] = (real)SQRT_TWO_OVER_PI * x[i] * (1 + (real)GELU_CUBIC * square);
        inner[i] = (real)SQRT_TWO_OVER_PI * (1 + 3 * (real)GELU_CUBIC * square);
    }
    real_tanh_all(count, t, t);
}
static inline void gelu_tanh_value(size_t count, const real *x, real *y, real p)
{
    (void)p;
    real t[BLOCK], inner[BLOCK];
    gelu_tanh_parts(count, x, t, inner);
    for (size_t i = 0; i < count; i++)
        y[i] = t[i] == -1 ? 0 : (real)0.5 * x[i] * (1 + t[i]);
}
static inline void gelu_tanh_slope(size_t count, const real *x, const real *y, real *slope, real p)
{
    (void)y, (void)p;
    real t[BLOCK], inner[BLOCK];
    gelu_tanh_parts(count, x, t, inner);
    for (size_t i = 0; i < count; i++) {
        const real bend = 1 - t[i] * t[i];
        slope[i] = (real)0.5 * (1 + t[i]) + (bend == 0 ? 0 : (real)0.5 * x[i] * bend * inner[i]);
    }
}

static inline void silu_value(size_t count, const real *x, real *y, real p)
{
    (void)p;
    real s[BLOCK];
    real_sigmoid_block(count, x, s);
    for (size_t i = 0; i < count; i++)
        y[i] = s[i] == 0 ? 0 : x[i] * s[i];
}
static inline void silu_slope(size_t count, const real *x, const real *y, real *slope, real p)
{
    (void)p;
    real s[BLOCK];
    real_sigmoid_block(count, x, s);
    for (size_t i = 0; i < count; i++)
        slope[i] = s[i] + (s[i] == 1 ? 0 : y[i] * (1 - s[i]));
}

static inline void softplus_value(size_t count, const real *x, real *y, real p)
{
    (void)p;
    real_softplus_block(count, x, y);
}
static inline void softplus_slope(size_t count, const real *x, const real *y, real *slope, real p)
{
    (void)y, (void)p;
    real_sigmoid_block(count, x, slope);
}

static inline void negate(size_t count, const real *x, real *y)
{
    for (size_t i = 0; i < count; i++)
        y[i] = -x[i];
}
static inline void log_sigmoid_value(size_t count, const real *x, real *y, real p)
{
    (void)p;
    negate(count, x, y);
    real_softplus_block(count, y, y);
    negate(count, y, y);
}
static inline void log_sigmoid_slope(size_t count, const real *x, const real *y, real *slope, real p)
{
    (void)y, (void)p;
    real minus[BLOCK];
    negate(count, x, minus);
    real_sigmoid_block(count, minus, slope);
}

#define IN_BLOCKS(name)                                                                                      \
    static void name##_run(const corral_unary_run *run)                                                      \
    {                                                                                                        \
        for (size_t i = 0; i < run->count; i += BLOCK)                                                       \
            name##_value(block_at(run->count, i), (const real *)run->x + i, (real *)run->y + i,              \
                         (real)run->numbers[0]);                                                             \
    }                                                                                                        \
    static void name##_run_grad(const corral_unary_run *run)                                                 \
    {                                                                                                        \
        real slope[BLOCK];                                                                                   \
        const real *g = run->y_grad;                                                                         \
        for (size_t i = 0; i < run->count; i += BLOCK) {                                                     \
            const size_t count = block_at(run->count, i);                                                    \
            name##_slope(count, (const real *)run->x + i, (const real *)run->y + i, slope,                   \
                         (real)run->numbers[0]);                                                             \
            for (size_t k = 0; k < count; k++)                                                               \
                ((real *)run->x_grad)[i + k] += g[i + k] == 0 ? 0 : g[i + k] * slope[k];                     \
        }                                                                                                    \
    }
IN_BLOCKS(elu)
IN_BLOCKS(gelu_tanh)
IN_BLOCKS(silu)
IN_BLOCKS(softplus)
IN_BLOCKS(log_sigmoid)
#undef IN_BLOCKS

// --- two tensors ------------------------------------------------------------------------------------------

#define PAIRING(name, EXPRESSION)                                                                            \
    static void name##_pairs(const corral_binary_run *run)                                                   \
    {                                                                                                        \
        for (size_t i = 0; i < run->count; i++) {                                                            \
            const real a = ((const real *)run->a)[i * run->a_step];                                          \
            const real b = ((const real *)run->b)[i * run->b_step];                                          \
            ((real *)run->y)[i] = (real)(EXPRESSION);                                                        \
        }                                                                                                    \
    }
PAIRING(power, pow((double)a, (double)b))
PAIRING(greater, a > b)
PAIRING(greater_equal, a >= b)
PAIRING(less, a < b)
PAIRING(less_equal, a <= b)
PAIRING(equal, a == b)
PAIRING(not_equal, a != b)
#undef PAIRING

static void power_grad(const corral_binary_run *run)
{
    double a_sum = 0.0, b_sum = 0.0;
    for (size_t i = 0; i < run->count; i++) {
        const double g = (double)((const real *)run->y_grad)[i];
        const double a = (double)((const real *)run->a)[i * run->a_step];
        const double b = (double)((const real *)run->b)[i * run->b_step];
        if (g == 0.0) continue;
        const double by_a = g * pow_slope(a, 0.0, b), by_b = a == 0.0 ? 0.0 : g * pow(a, b) * log(a);
        if (run->a_grad != NULL && run->a_step != 0) ((real *)run->a_grad)[i] += (real)by_a;
        if (run->b_grad != NULL && run->b_step != 0) ((real *)run->b_grad)[i] += (real)by_b;
        a_sum += by_a;
        b_sum += by_b;
    }
    if (run->a_grad != NULL && run->a_step == 0) *(real *)run->a_grad += (real)a_sum;
    if (run->b_grad != NULL && run->b_step == 0) *(real *)run->b_grad += (real)b_sum;
}

static void where(size_t count, const void *condition, const void *yes, const void *no, void *y)
{
    for (size_t i = 0; i < count; i++)
        ((real *)y)[i] = ((const real *)condition)[i] != 0 ? ((const real *)yes)[i] : ((const real *)no)[i];
}

static void where_grad(size_t count, const void *condition, bool wanted, const void *y_grad, void *grad)
{
    for (size_t i = 0; i < count; i++) {
        if ((((const real *)condition)[i] != 0) == wanted) ((real *)grad)[i] += ((const real *)y_grad)[i];
    }
}

// --- dropout ----------------------------------------------------------------------------------------------

static real kept_share(const corral_dropout_run *run, size_t i)
{
    const bool dropped = corral_stream_double(run->key, run->counter + i) < run->p;
    return dropped ? 0 : (real)(1.0 / (1.0 - run->p));
}

static void dropout(const corral_dropout_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const real share = kept_share(run, i);
        ((real *)run->to)[i] = share == 0 ? 0 : share * ((const real *)run->from)[i];
    }
}

static void dropout_grad(const corral_dropout_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const real share = kept_share(run, i);
        ((real *)run->to)[i] += share == 0 ? 0 : share * ((const real *)run->from)[i];
    }
}

#undef SQRT_HALF
#undef INV_SQRT_TWOPI
#undef SQRT_TWO_OVER_PI
#undef GELU_CUBIC

#define FUNCTION(NAME, name) [CORRAL_FUNCTION_##NAME] = name
#define PAIR(NAME, name)     [CORRAL_PAIRING_##NAME] = name

const corral_element_kernels OF_DTYPE(corral_elements) = {
    .function = {FUNCTION(POW, pow_run), FUNCTION(LOG1P, log1p_run), FUNCTION(EXPM1, expm1_run),
                 FUNCTION(SIN, sin_run), FUNCTION(COS, cos_run), FUNCTION(ATANH, atanh_run),
                 FUNCTION(ERF, erf_run), FUNCTION(LEAKY_RELU, leaky_relu_run), FUNCTION(ELU, elu_run),
                 FUNCTION(GELU, gelu_run), FUNCTION(GELU_TANH, gelu_tanh_run), FUNCTION(SILU, silu_run),
                 FUNCTION(SOFTPLUS, softplus_run), FUNCTION(LOG_SIGMOID, log_sigmoid_run),
                 FUNCTION(SIGN, sign_run), FUNCTION(FLOOR, floor_run)},
    .function_grad = {FUNCTION(POW, pow_run_grad), FUNCTION(LOG1P, log1p_run_grad),
                      FUNCTION(EXPM1, expm1_run_grad), FUNCTION(SIN, sin_run_grad),
                      FUNCTION(COS, cos_run_grad), FUNCTION(ATANH, atanh_run_grad),
                      FUNCTION(ERF, erf_run_grad), FUNCTION(LEAKY_RELU, leaky_relu_run_grad),
                      FUNCTION(ELU, elu_run_grad), FUNCTION(GELU, gelu_run_grad),
                      FUNCTION(GELU_TANH, gelu_tanh_run_grad), FUNCTION(SILU, silu_run_grad),
                      FUNCTION(SOFTPLUS, softplus_run_grad), FUNCTION(LOG_SIGMOID, log_sigmoid_run_grad)},
    .pairing = {PAIR(POWER, power_pairs), PAIR(GREATER, greater_pairs),
                PAIR(GREATER_EQUAL, greater_equal_pairs), PAIR(LESS, less_pairs),
                PAIR(LESS_EQUAL, less_equal_pairs), PAIR(EQUAL, equal_pairs),
                PAIR(NOT_EQUAL, not_equal_pairs)},
    .power_grad = power_grad,
    .where = where,
    .where_grad = where_grad,
    .dropout = dropout,
    .dropout_grad = dropout_grad,
};

#undef FUNCTION
#undef PAIR
