// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The scale is a power of two as long as it begins as one, so that scaling and unscaling lose nothing but
// what leaves the range.

#include "corral/core/precision.h"

#include "corral/base/log.h"

corral_loss_scaler corral_loss_scaler_default(void)
{
    return (corral_loss_scaler){.scale = 65536, .floor = 1, .ceiling = 16777216, .interval = 2000};
}

corral_tensor *corral_loss_scaled(corral_tensor *loss, const corral_loss_scaler *scaler)
{
    return corral_scale(loss, scaler->scale);
}

static void back_off(corral_loss_scaler *scaler)
{
    scaler->good = 0;
    scaler->skipped++;
    if (scaler->scale <= scaler->floor) {
        corral_log(CORRAL_LOG_WARNING,
                   "loss scaling: gradients are not finite at the smallest scale, %g; %llu steps were "
                   "skipped so far",
                   scaler->floor, (unsigned long long)scaler->skipped);
    }
    const double halved = scaler->scale / 2;
    scaler->scale = halved < scaler->floor ? scaler->floor : halved;
}

static void count_good(corral_loss_scaler *scaler)
{
    if (++scaler->good < scaler->interval) return;
    scaler->good = 0;
    const double doubled = scaler->scale * 2;
    scaler->scale = doubled > scaler->ceiling ? scaler->ceiling : doubled;
}

corral_status corral_loss_scaler_step(corral_loss_scaler *scaler, corral_optimizer *optimizer,
                                      size_t lane_count, double learning_rate, corral_team *team,
                                      double *out_norm, bool *out_skipped)
{
    corral_optimizer_set_gradient_factor(optimizer, 1.0 / scaler->scale);
    const corral_status status = corral_optimizer_step(optimizer, lane_count, learning_rate, team, out_norm);
    corral_optimizer_set_gradient_factor(optimizer, 1.0);
    *out_skipped = status == CORRAL_ERROR_NOT_FINITE;
    if (*out_skipped) {
        back_off(scaler);
        return CORRAL_OK;
    }
    if (status == CORRAL_OK) count_good(scaler);
    return status;
}
