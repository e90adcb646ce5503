// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Element-wise loops in `real`. The including file defines real, real_sqrt, real_exp_all and real_log_all and
// real_tanh_all (over arrays), and includes this once.

// A gradient of exactly 0 adds exactly 0, whatever the slope is: what a selection left out stays out, also
// where its slope is infinite (0 times infinity would be NaN).

// --- two arguments
// ------------------------------------------------------------------------------------------

typedef struct real_pair {
    real a, b;
} real_pair;

static inline real add_value(real a, real b)
{
    return a + b;
}
static inline real_pair add_slope(real g, real a, real b)
{
    (void)a, (void)b;
    return (real_pair){g, g};
}

static inline real sub_value(real a, real b)
{
    return a - b;
}
static inline real_pair sub_slope(real g, real a, real b)
{
    (void)a, (void)b;
    return (real_pair){g, -g};
}

static inline real mul_value(real a, real b)
{
    return a * b;
}
static inline real_pair mul_slope(real g, real a, real b)
{
    return (real_pair){g * b, g * a};
}

static inline real div_value(real a, real b)
{
    return a / b;
}
static inline real_pair div_slope(real g, real a, real b)
{
    return (real_pair){g / b, -g * (a / b) / b};
}

// NaN in either argument gives NaN. The side that is left out gets exactly 0, whatever the gradient is.
static inline real minimum_value(real a, real b)
{
    return a <= b || a != a ? a : b;
}
static inline real_pair minimum_slope(real g, real a, real b)
{
    return a <= b || a != a ? (real_pair){g, 0} : (real_pair){0, g};
}

static inline real maximum_value(real a, real b)
{
    return a >= b || a != a ? a : b;
}
static inline real_pair maximum_slope(real g, real a, real b)
{
    return a >= b || a != a ? (real_pair){g, 0} : (real_pair){0, g};
}

/// Where a step is 0 all of the run's gradients go to one element; they are summed in f64 first.
static inline void add_binary_grad(const corral_binary_run *run, real_pair (*slope)(real, real, real))
{
    const real *a = run->a, *b = run->b, *g = run->y_grad;
    real *a_grad = run->a_grad, *b_grad = run->b_grad;
    double a_sum = 0.0, b_sum = 0.0;
    for (size_t i = 0; i < run->count; i++) {
        const real_pair p =
            g[i] == 0 ? (real_pair){0, 0} : slope(g[i], a[i * run->a_step], b[i * run->b_step]);
        if (a_grad != NULL && run->a_step != 0) a_grad[i] += p.a;
        if (b_grad != NULL && run->b_step != 0) b_grad[i] += p.b;
        a_sum += p.a;
        b_sum += p.b;
    }
    if (a_grad != NULL && run->a_step == 0) *a_grad += (real)a_sum;
    if (b_grad != NULL && run->b_step == 0) *b_grad += (real)b_sum;
}

// One loop per operation, so that the compiler puts the operation into the loop.
#define BINARY(name)                                                                                         \
    static void name##_run(const corral_binary_run *run)                                                     \
    {                                                                                                        \
        const real *a = run->a, *b = run->b;                                                                 \
        real *y = run->y;                                                                                    \
        for (size_t i = 0; i < run->count; i++)                                                              \
            y[i] = name##_value(a[i * run->a_step], b[i * run->b_step]);                                     \
    }                                                                                                        \
    static void name##_run_grad(const corral_binary_run *run)                                                \
    {                                                                                                        \
        add_binary_grad(run, name##_slope);                                                                  \
    }
BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(minimum)
BINARY(maximum)
#undef BINARY

// --- one argument
// ------------------------------------------------------------------------------------------- value(x, p, q)
// and slope(g, x, y, p, q), with p and q the operation's numbers.

static inline real scale_value(real x, real p, real q)
{
    (void)q;
    return x * p;
}
static inline real scale_slope(real g, real x, real y, real p, real q)
{
    (void)x, (void)y, (void)q;
    return g * p;
}

static inline real exp_slope(real g, real x, real y, real p, real q)
{
    (void)x, (void)p, (void)q;
    return g * y;
}

static inline real log_slope(real g, real x, real y, real p, real q)
{
    (void)y, (void)p, (void)q;
    return g / x;
}

static inline real tanh_slope(real g, real x, real y, real p, real q)
{
    (void)x, (void)p, (void)q;
    return g * (1 - y * y);
}

static inline real sigmoid_slope(real g, real x, real y, real p, real q)
{
    (void)x, (void)p, (void)q;
    return g * y * (1 - y);
}

static inline real relu_value(real x, real p, real q)
{
    (void)p, (void)q;
    return x > 0 || x != x ? x : 0;
}
static inline real relu_slope(real g, real x, real y, real p, real q)
{
    (void)y, (void)p, (void)q;
    return x > 0 ? g : 0;
}

static inline real square_value(real x, real p, real q)
{
    (void)p, (void)q;
    return x * x;
}
static inline real square_slope(real g, real x, real y, real p, real q)
{
    (void)y, (void)p, (void)q;
    return 2 * x * g;
}

static inline real sqrt_value(real x, real p, real q)
{
    (void)p, (void)q;
    return real_sqrt(x);
}
static inline real sqrt_slope(real g, real x, real y, real p, real q)
{
    (void)x, (void)p, (void)q;
    return y == 0 ? 0 : g / (2 * y);
}

static inline real abs_value(real x, real p, real q)
{
    (void)p, (void)q;
    return x < 0 ? -x : x + 0; // x + 0 turns -0 into 0
}
static inline real abs_slope(real g, real x, real y, real p, real q)
{
    (void)y, (void)p, (void)q;
    return x > 0 ? g : x < 0 ? -g : 0;
}

static inline real clamp_value(real x, real p, real q)
{
    return x < p ? p : x > q ? q : x;
}
static inline real clamp_slope(real g, real x, real y, real p, real q)
{
    (void)y;
    return x >= p && x <= q ? g : 0;
}

static inline real smooth_l1_value(real x, real p, real q)
{
    (void)q;
    const real size = x < 0 ? -x : x;
    return size < p ? (real)0.5 * size * size / p : size - (real)0.5 * p;
}
static inline real smooth_l1_slope(real g, real x, real y, real p, real q)
{
    const real size = x < 0 ? -x : x;
    return size < p ? g * x / p : abs_slope(g, x, y, p, q);
}

#define UNARY_VALUE(name)                                                                                    \
    static void name##_run(const corral_unary_run *run)                                                      \
    {                                                                                                        \
        const real *x = run->x;                                                                              \
        real *y = run->y;                                                                                    \
        const real p = (real)run->numbers[0], q = (real)run->numbers[1];                                     \
        for (size_t i = 0; i < run->count; i++)                                                              \
            y[i] = name##_value(x[i], p, q);                                                                 \
    }
UNARY_VALUE(scale)
UNARY_VALUE(relu)
UNARY_VALUE(square)
UNARY_VALUE(sqrt)
UNARY_VALUE(abs)
UNARY_VALUE(clamp)
UNARY_VALUE(smooth_l1)
#undef UNARY_VALUE

#define UNARY_SLOPE(name)                                                                                    \
    static void name##_run_grad(const corral_unary_run *run)                                                 \
    {                                                                                                        \
        const real *x = run->x, *y = run->y, *g = run->y_grad;                                               \
        real *x_grad = run->x_grad;                                                                          \
        const real p = (real)run->numbers[0], q = (real)run->numbers[1];                                     \
        for (size_t i = 0; i < run->count; i++) {                                                            \
            x_grad[i] += g[i] == 0 ? 0 : name##_slope(g[i], x[i], y[i], p, q);                               \
        }                                                                                                    \
    }
UNARY_SLOPE(scale)
UNARY_SLOPE(exp)
UNARY_SLOPE(log)
UNARY_SLOPE(tanh)
UNARY_SLOPE(sigmoid)
UNARY_SLOPE(relu)
UNARY_SLOPE(square)
UNARY_SLOPE(sqrt)
UNARY_SLOPE(abs)
UNARY_SLOPE(clamp)
UNARY_SLOPE(smooth_l1)
#undef UNARY_SLOPE

static void exp_run(const corral_unary_run *run)
{
    real_exp_all(run->count, run->x, run->y);
}

static void log_run(const corral_unary_run *run)
{
    real_log_all(run->count, run->x, run->y);
}

static void tanh_run(const corral_unary_run *run)
{
    real_tanh_all(run->count, run->x, run->y);
}

/// 1 / (1 + exp(-x)): right to the last digits on the negative side too.
static void sigmoid_run(const corral_unary_run *run)
{
    const real *x = run->x;
    real *y = run->y;
    for (size_t i = 0; i < run->count; i++)
        y[i] = -x[i];
    real_exp_all(run->count, y, y);
    for (size_t i = 0; i < run->count; i++)
        y[i] = 1 / (1 + y[i]);
}
