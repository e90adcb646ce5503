// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// With delta_t = r_t + gamma V(s_{t+1}) - V(s_t):   A_t = delta_t + gamma lambda A_{t+1}.
#include "advantage.h"

void advantage_estimate(const advantage_input *in, float *out_advantage, float *out_target)
{
    // Backwards in time, because each advantage builds on the one after it. A true end drops the future
    // value, also where the time limit struck on the same step. A time limit alone keeps it: the value of the
    // episode's own last observation, not of the next episode's first. Either end cuts the chain.
    double advantage = 0, next_value = in->last_value;
    for (size_t t = in->steps; t-- > 0;) {
        const int ended = in->terminated[t] || in->truncated[t];
        const double future = in->terminated[t] ? 0.0 : in->truncated[t] ? in->final_value[t] : next_value;
        const double delta = (double)in->reward[t] + in->gamma * future - (double)in->value[t];
        advantage = delta + (ended ? 0.0 : in->gamma * in->lambda * advantage);
        out_advantage[t] = (float)advantage;
        next_value = in->value[t];
        out_target[t] = (float)(advantage + (double)in->value[t]);
    }
}
