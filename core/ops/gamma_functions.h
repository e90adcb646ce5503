// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Functions around the gamma function, for Beta distributions, in f64. NaN where an argument is not
/// positive.
#ifndef CORRAL_CORE_OPS_GAMMA_FUNCTIONS_H
#define CORRAL_CORE_OPS_GAMMA_FUNCTIONS_H

double corral_log_gamma(double x); // without the global of the C library's lgamma()
double corral_digamma(double x);   // its derivative
double corral_trigamma(double x);  // and that one's

/// log B(a, b) = log gamma(a) + log gamma(b) - log gamma(a + b).
double corral_log_beta(double a, double b);

/// A number with its derivatives by two parameters.
typedef struct corral_dual {
    double value, by_a, by_b;
} corral_dual;

/// The share of a Beta distribution with parameters a and b below x, 0 <= x <= 1.
corral_dual corral_incomplete_beta(double a, double b, double x);

/// The x below which lies the share u, 0 < u < 1.
double corral_incomplete_beta_inverse(double a, double b, double u);

#endif
