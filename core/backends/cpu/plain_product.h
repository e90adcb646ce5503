// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The product of layer_table.h as plain loops in `real`: its definition.

static void plain_product(const corral_product *p)
{
    const real *a = p->a, *b = p->b, *bias = p->bias;
    for (size_t m = 0; m < p->rows; m++) {
        for (size_t n = 0; n < p->columns; n++) {
            const size_t at = p->b_panel == 0 ? n : p->b_panel * (n / CORRAL_PANEL) + n % CORRAL_PANEL;
            real *c = (real *)p->c + m * p->c_row + n, sum = bias == NULL ? *c : bias[n];
            for (size_t j = 0; j < p->outer; j++) {
                for (size_t k = 0; k < p->inner; k++)
                    sum += a[m * p->a_row + j * p->a_outer + k * p->a_step] *
                           b[j * p->b_outer + k * p->b_step + at];
            }
            *c = sum;
        }
    }
}
