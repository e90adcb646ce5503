// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The loss of Q-learning and its gradient in one pass over the rows, and the dueling head, in `real`. With
// the error d = q(a) - y of the action taken, a row's loss is w h(d) and its gradient by q(a) is w h'(d):
//
//     h(d) = 0.5 d^2                where |d| <= delta, or everywhere where delta is 0
//            delta (|d| - delta/2)  beyond
//
// The other actions' values have gradient 0.

static double dqn(const corral_dqn_rows *run)
{
    const corral_dqn_terms *terms = run->terms;
    const double share = terms->total_rows == 0 ? 0.0 : 1.0 / (double)terms->total_rows;
    const real delta = terms->huber_delta > 0 ? (real)terms->huber_delta : (real)INFINITY;
    double total = 0.0;
    for (size_t r = 0; r < run->rows; r++) {
        const size_t at = r * run->actions + (size_t)terms->action[r];
        const real q = ((const real *)run->q)[at], error = q - (real)terms->target[r];
        const real weight = terms->weight != NULL ? (real)terms->weight[r] : 1;
        const real size = error < 0 ? -error : error;
        const bool far = size > delta && size != (real)INFINITY; // what is not finite must not get lost
        const real loss = far ? delta * (size - (real)0.5 * delta) : (real)0.5 * error * error;
        const real slope = !far ? error : error < 0 ? -delta : delta;
        total += (double)(weight * loss);
        if (run->q_grad != NULL) ((real *)run->q_grad)[at] = weight * slope * (real)share;
        if (run->error != NULL) run->error[r] = (float)error;
        if (run->stats == NULL) continue;
        run->stats->loss += (double)(weight * loss);
        run->stats->q += (double)q;
        run->stats->error += (double)size;
    }
    if (run->stats != NULL) run->stats->rows += run->rows;
    return total * share;
}

/// The sum of one atom over the actions, whose atoms lie side by side.
static double sum_of_actions(size_t n, size_t atoms, const real *x)
{
    if (atoms == 1) return sum_tree(n, x);
    double sum = 0;
    for (size_t a = 0; a < n; a++)
        sum += (double)x[a * atoms];
    return sum;
}

/// q(a) = v + (advantage(a) - mean advantage), for each atom.
static void dueling(size_t rows, size_t n, size_t atoms, const void *value, const void *advantage, void *q)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < atoms; i++) {
            const real *from = (const real *)advantage + r * n * atoms + i;
            real *to = (real *)q + r * n * atoms + i;
            const real v = ((const real *)value)[r * atoms + i];
            const real mean = (real)(sum_of_actions(n, atoms, from) / (double)n);
            for (size_t a = 0; a < n; a++)
                to[a * atoms] = v + (from[a * atoms] - mean);
        }
    }
}

static void dueling_grad(size_t rows, size_t n, size_t atoms, const void *q_grad, void *value_grad,
                         void *advantage_grad)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < atoms; i++) {
            const size_t first = r * n * atoms + i;
            const real *g = (const real *)q_grad + first;
            const double sum = sum_of_actions(n, atoms, g);
            const real mean = (real)(sum / (double)n);
            if (value_grad != NULL) ((real *)value_grad)[r * atoms + i] += (real)sum;
            for (size_t a = 0; advantage_grad != NULL && a < n; a++)
                ((real *)advantage_grad)[first + a * atoms] += g[a * atoms] - mean;
        }
    }
}
