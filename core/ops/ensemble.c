// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Linear layers side by side: one batched product, one addition.

#include "corral/core/layers.h"
#include "corral/core/shapes.h"
#include "ops/pointwise.h"
#include "tensor/params.h"
#include "tensor/tape.h"

static bool check_ensemble(const corral_tensor *x, uint32_t weight, uint32_t bias)
{
    if (!corral_tape_ready(x, NULL, "ensemble_linear")) return false;
    const corral_params *p = x->tape->params;
    const bool known = p != NULL && p->dtype == x->dtype && weight < p->entry_count &&
                       bias < p->entry_count && p->entries[weight].dimension_count == 3 &&
                       p->entries[bias].dimension_count == 2;
    if (known && (x->dimension_count == 2 || x->dimension_count == 3)) {
        const size_t *w = p->entries[weight].shape, *b = p->entries[bias].shape;
        if (w[0] == b[0] && w[1] == b[1] && x->shape[x->dimension_count - 1] == w[2] &&
            (x->dimension_count == 2 || x->shape[0] == w[0]))
            return true;
    }
    corral_tape_fail(
        x->tape, CORRAL_ERROR_INVALID,
        "ensemble_linear: needs x [rows, in] or [members, rows, in] and, of the tape's parameters and "
        "of their dtype, a weight [members, out, in] and a bias [members, out]");
    return false;
}

corral_tensor *corral_ensemble_linear(corral_tensor *x, uint32_t weight, uint32_t bias,
                                      corral_activation activation)
{
    corral_tape *tape = x->tape;
    if (!check_ensemble(x, weight, bias)) return &tape->empty;
    const size_t members = tape->params->entries[weight].shape[0];
    if (x->dimension_count == 2) x = corral_expand(x, 3, (const size_t[]){members, x->shape[0], x->shape[1]});
    corral_tensor *sums = corral_bmm(x, corral_parameter(tape, weight), true);
    return corral_activate(corral_add(sums, corral_unsqueeze(corral_parameter(tape, bias), 1)), activation);
}
