// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What an optimizer may be told, and schedules of its learning rate.

#include "optim/updates.h"

#include <math.h>

corral_optimizer_config corral_optimizer_config_default(void)
{
    return (corral_optimizer_config){
        .kind = CORRAL_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .alpha = 0.99};
}

static bool is_fraction(double x)
{
    return x >= 0.0 && x < 1.0;
}

static corral_status check_bound(const char *name, double value)
{
    if (value >= 0.0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "optimizer: %s %g is below 0; 0 turns it off", name, value);
}

static corral_status check_adaptive(const corral_optimizer_config *config)
{
    const bool rmsprop = config->kind == CORRAL_RMSPROP;
    const char *name = rmsprop ? "RMSprop" : "Adam";
    if (!rmsprop && (!is_fraction(config->beta1) || !is_fraction(config->beta2))) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: Adam's betas %g and %g must be in [0, 1)",
                           config->beta1, config->beta2);
    }
    if (rmsprop && !is_fraction(config->alpha)) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: RMSprop's alpha %g must be in [0, 1)",
                           config->alpha);
    }
    // Without it, a weight that never had a gradient would be divided 0 by 0.
    if (!((float)config->epsilon > 0.0f)) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: %s's epsilon %g must be above 0", name,
                           config->epsilon);
    }
    return CORRAL_OK;
}

corral_status corral_optimizer_config_check(const corral_optimizer_config *config)
{
    if ((unsigned)config->kind >= CORRAL_OPTIMIZER_KINDS) {
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "optimizer: %d is no kind; use CORRAL_SGD, CORRAL_ADAM, CORRAL_ADAMW or CORRAL_RMSPROP",
            (int)config->kind);
    }
    corral_status status = config->kind != CORRAL_SGD ? check_adaptive(config) : CORRAL_OK;
    if (status != CORRAL_OK) return status;
    const bool has_momentum = config->kind == CORRAL_SGD || config->kind == CORRAL_RMSPROP;
    if (has_momentum && !is_fraction(config->momentum)) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: momentum %g must be in [0, 1)",
                           config->momentum);
    }
    if (config->kind == CORRAL_SGD && config->nesterov && config->momentum == 0) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: nesterov needs a momentum above 0");
    }
    status = check_bound("max_grad_norm", config->max_grad_norm);
    if (status == CORRAL_OK) status = check_bound("max_grad_value", config->max_grad_value);
    if (status == CORRAL_OK) status = check_bound("weight_decay", config->weight_decay);
    return status;
}

// --- schedules --------------------------------------------------------------------------------------------

static const double pi = 3.14159265358979323846;

double corral_rate_factor(const corral_rate_schedule *schedule, uint64_t step)
{
    if (step < schedule->warmup) return (double)(step + 1) / (double)schedule->warmup;
    const uint64_t since = step - schedule->warmup;
    const double done = since < schedule->steps ? (double)since / (double)schedule->steps : 1.0;
    switch (schedule->shape) {
    case CORRAL_RATE_CONSTANT:
        return 1.0;
    case CORRAL_RATE_LINEAR:
        return 1.0 + (schedule->end - 1.0) * done;
    case CORRAL_RATE_COSINE:
        return schedule->end + (1.0 - schedule->end) * 0.5 * (1.0 + cos(pi * done));
    case CORRAL_RATE_EXPONENTIAL:
        return pow(schedule->end, done);
    case CORRAL_RATE_STEPS:
        return schedule->steps == 0 ? 1.0 : pow(schedule->end, (double)(since / schedule->steps));
    }
    return 1.0;
}
