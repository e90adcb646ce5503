// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The gamma function's logarithm and its derivatives by Stirling's series from 10 on, below by
// gamma(x + 1) = x gamma(x); and the incomplete beta function by its continued fraction (DLMF 8.17.22),
//
//     I_x(a, b) = x^a (1-x)^b / (a B(a, b)) / (1 + d_1 / (1 + d_2 / (1 + ...)))
//     d_2m = m (b-m) x / ((a+2m-1) (a+2m)),   d_2m+1 = -(a+m) (a+b+m) x / ((a+2m) (a+2m+1))
//
// which converges fast below the mean (in about the root of the larger parameter's size of terms); above,
// I_x(a, b) = 1 - I_1-x(b, a). The fraction is worked out from its end together with its derivatives by a and
// b, which is what reparameterised samples need (Figurnov, Mohamed and Mnih 2018).

#include "ops/gamma_functions.h"

#include <math.h>

enum { SERIES_FROM = 10 };

double corral_log_gamma(double x)
{
    if (!(x > 0.0)) return NAN;
    double product = 1.0;
    for (; x < SERIES_FROM; x += 1.0)
        product *= x;
    const double y = 1.0 / x, s = y * y;
    const double tail = y * (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188))));
    return (x - 0.5) * log(x) - x + 0.918938533204672741780 + tail - log(product);
}

double corral_digamma(double x)
{
    if (!(x > 0.0)) return NAN;
    double sum = 0.0;
    for (; x < SERIES_FROM; x += 1.0)
        sum -= 1.0 / x;
    const double s = 1.0 / (x * x);
    const double tail = s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
    return sum + log(x) - 0.5 / x - tail;
}

double corral_trigamma(double x)
{
    if (!(x > 0.0)) return NAN;
    double sum = 0.0;
    for (; x < SERIES_FROM; x += 1.0)
        sum += 1.0 / (x * x);
    const double y = 1.0 / x, s = y * y;
    const double tail = s * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * (5.0 / 66)))));
    return sum + y * (1.0 + 0.5 * y + tail);
}

double corral_log_beta(double a, double b)
{
    return corral_log_gamma(a) + corral_log_gamma(b) - corral_log_gamma(a + b);
}

// --- the incomplete beta function -------------------------------------------------------------------------

static corral_dual times(corral_dual x, corral_dual y)
{
    return (corral_dual){x.value * y.value, x.by_a * y.value + x.value * y.by_a,
                         x.by_b * y.value + x.value * y.by_b};
}

static corral_dual over(corral_dual x, corral_dual y)
{
    const double value = x.value / y.value;
    return (corral_dual){value, (x.by_a - value * y.by_a) / y.value, (x.by_b - value * y.by_b) / y.value};
}

static corral_dual a_plus(double a, double n)
{
    return (corral_dual){a + n, 1.0, 0.0};
}

/// The k-th numerator of the fraction, k from 1.
static corral_dual numerator(double a, double b, double x, int k)
{
    const double m = k / 2;
    if (k % 2 == 0) {
        const corral_dual top = {m * (b - m) * x, 0.0, m * x};
        return over(top, times(a_plus(a, 2 * m - 1), a_plus(a, 2 * m)));
    }
    const corral_dual sum = {a + b + m, 1.0, 1.0}, factor = {-x * (a + m), -x, 0.0};
    return over(times(factor, sum), times(a_plus(a, 2 * m), a_plus(a, 2 * m + 1)));
}

/// For x up to about the mean.
static corral_dual lower_share(double a, double b, double x)
{
    corral_dual fraction = {1.0, 0.0, 0.0};
    for (int k = 2 * (24 + (int)(3.0 * sqrt(fmin(fmax(a, b), 1e8)))); k > 0; k--) {
        fraction = over(numerator(a, b, x, k), fraction);
        fraction.value += 1.0;
    }
    const double all = corral_digamma(a + b);
    const double front = exp(a * log(x) + b * log1p(-x) - corral_log_beta(a, b)) / a;
    const corral_dual factor = {front, front * (log(x) - 1.0 / a - corral_digamma(a) + all),
                                front * (log1p(-x) - corral_digamma(b) + all)};
    return over(factor, fraction);
}

corral_dual corral_incomplete_beta(double a, double b, double x)
{
    if (!(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0)) return (corral_dual){NAN, NAN, NAN};
    if (x == 0.0 || x == 1.0) return (corral_dual){x, 0.0, 0.0};
    if (x <= (a + 1.0) / (a + b + 2.0)) return lower_share(a, b, x);
    const corral_dual rest = lower_share(b, a, 1.0 - x);
    return (corral_dual){1.0 - rest.value, -rest.by_b, -rest.by_a};
}

/// Between two bounds, by their ratio where they are far apart.
static double between(double low, double high)
{
    return high > 4.0 * low ? sqrt(low * high) : 0.5 * (low + high);
}

/// Newton's steps, within bounds that close in.
double corral_incomplete_beta_inverse(double a, double b, double u)
{
    enum { MOST_STEPS = 200 };
    if (!(a > 0.0 && b > 0.0 && u >= 0.0 && u <= 1.0)) return NAN;
    double low = 1e-300, high = 1.0, x = a / (a + b);
    const double log_beta = corral_log_beta(a, b);
    for (int i = 0; i < MOST_STEPS && low < high; i++) {
        const double excess = corral_incomplete_beta(a, b, x).value - u;
        if (excess > 0.0)
            high = x;
        else
            low = x;
        const double density = exp((a - 1.0) * log(x) + (b - 1.0) * log1p(-x) - log_beta);
        double next = x - excess / density;
        if (!(next > low && next < high)) next = between(low, high);
        if (fabs(next - x) <= 1e-15 * x) return next;
        x = next;
    }
    return x;
}
