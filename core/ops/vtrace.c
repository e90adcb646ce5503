// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// V-trace (Espeholt et al. 2018, eq. 1): backwards in time, because each target builds on the one after it.

#include "corral/core/losses.h"

#include <math.h>

static double clipped(double ratio, float bound)
{
    return ratio < (double)bound ? ratio : (double)bound;
}

void corral_vtrace(size_t rows, const corral_vtrace_terms *terms, float *out_target, float *out_advantage)
{
    CORRAL_ASSERT(terms->steps > 0 && rows % terms->steps == 0);
    double beyond = 0.0; // v_s' - V' of the row after this one
    for (size_t r = rows; r-- > 0;) {
        const bool last = (r + 1) % terms->steps == 0 || (terms->cut != NULL && terms->cut[r] != 0);
        if (last) beyond = 0.0;
        const double ratio = exp((double)terms->log_ratio[r]), discount = (double)terms->discount[r];
        const double rho = clipped(ratio, terms->rho_clip);
        const double c = (double)terms->lambda * clipped(ratio, terms->c_clip);
        const double value = (double)terms->value[r], reward = (double)terms->reward[r];
        // An end has no future, whatever its value is said to be.
        const double next = discount == 0.0 ? 0.0 : discount * (double)terms->next_value[r];
        const double follows = discount == 0.0 ? 0.0 : discount * beyond;
        out_advantage[r] =
            (float)(clipped(ratio, terms->policy_rho_clip) * (reward + next + follows - value));
        beyond = rho * (reward + next - value) + c * follows;
        out_target[r] = (float)(value + beyond);
    }
}
