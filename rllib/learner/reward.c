// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reward normalisation. With the running discounted return of each environment,
///
///   G_t = r_t + gamma G_{t-1},    but G_t = r_t on the step that ends an episode,
///
/// a reward is divided by sqrt(Var[G] + 1e-8). The mean is not taken away: that would change what is worth
/// doing. This is Gymnasium's NormalizeReward, where a true end drops the past. There a time limit does not;
/// here it does, because what the next episode pays has nothing to do with it.
///
/// Moments are updated value by value (Welford 1962): M2 += (G - old mean) (G - new mean).
#include "reward.h"

#include <math.h>

static const double variance_floor = 1e-8;

static void add(corral_moments *moments, double x)
{
    moments->count += 1;
    const double deviation = x - moments->mean;
    moments->mean += deviation / moments->count;
    moments->m2 += deviation * (x - moments->mean);
}

void reward_measure(const batch *b, double gamma, double *accumulator, corral_moments *moments)
{
    size_t next = 0; // of the usable rows, which ascend
    for (size_t row = 0; row < b->rows; row++) {
        double *running = &accumulator[row / b->steps];
        const bool usable = next < b->usable_count && b->usable[next] == row;
        if (usable) {
            const bool ended = b->terminated[row] || b->truncated[row];
            *running = (ended ? 0 : gamma * *running) + (double)b->reward[row];
            add(moments, *running);
            next++;
        } else {
            *running = 0; // a failed episode: what it paid may be anything
        }
    }
}

void reward_transform(batch *b, const corral_moments *moments, double clip)
{
    const double variance = moments != NULL && moments->count > 0 ? moments->m2 / moments->count : 1;
    const double deviation = moments != NULL ? sqrt(variance + variance_floor) : 1;
    const double bound = clip > 0 ? clip : INFINITY;
    for (size_t row = 0; row < b->rows; row++) {
        const double reward = (double)b->reward[row] / deviation;
        b->reward[row] = (float)fmin(fmax(reward, -bound), bound);
    }
}
