// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Optimizers over the flat block of parameters, and how gradients of several lanes become one.
///
/// A minibatch is cut into at most CORRAL_LANES lanes of rows; the cut depends on the number of rows alone.
/// Each lane adds up its own gradient block; the blocks are then summed in a fixed tree. So any number of
/// threads gives the same bits. A lane may be recorded in pieces (rows in order, the same block): that gives
/// the same bits too, and pieces of 64 to 128 rows stay in the cache where a lane of a large minibatch would
/// not.
#ifndef CORRAL_CORE_OPTIM_H
#define CORRAL_CORE_OPTIM_H

#include "corral/base/threads.h"
#include "corral/core/tensor.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_LANES = 8, CORRAL_LANE_ROWS = 64 };

/// Rows first .. first+count-1 of lane `lane`: contiguous, in whole chunks of CORRAL_LANE_ROWS but for the
/// last.
typedef struct corral_lane {
    size_t first, count;
} corral_lane;

/// How many lanes `rows` rows make (0 for none), and where each lies.
size_t corral_lane_count(size_t rows);
corral_lane corral_lane_at(size_t rows, size_t lane);

typedef enum corral_optimizer_kind {
    CORRAL_SGD, // with momentum
    CORRAL_ADAM,
    CORRAL_ADAMW, // Adam whose weight decay is apart from the gradient (Loshchilov and Hutter 2019)
    CORRAL_RMSPROP,
    CORRAL_OPTIMIZER_KINDS,
} corral_optimizer_kind;

typedef struct corral_optimizer_config {
    corral_optimizer_kind kind;
    double beta1, beta2, epsilon; // Adam: m_hat / (sqrt(v_hat) + epsilon), both moments bias-corrected
    double momentum;              // SGD: v = momentum v + g; w -= lr v
    double max_grad_norm;  // global 2-norm (squares summed in f64): g *= min(1, max / (norm + 1e-6)); 0: off
    double max_grad_value; // each element to +-max, before the norm is taken; 0: off
    double weight_decay;   // AdamW: w *= 1 - lr decay; else g += decay w, after clipping
    bool nesterov;         // SGD: w -= lr (g + momentum v)
    bool amsgrad;          // Adam, AdamW: divides by the largest second moment so far (Reddi et al. 2018)
    double alpha;          // RMSprop: s = alpha s + (1 - alpha) g^2; v = momentum v + g / (sqrt(s) + epsilon)
    bool centered;         // RMSprop: the variance instead of the mean square
    bool epsilon_inside;   // RMSprop: sqrt(s + epsilon), s begins at 1, lr inside v: TensorFlow's form
} corral_optimizer_config;

/// Adam with 0.9, 0.999, 1e-8, no clipping; RMSprop's alpha is 0.99.
corral_optimizer_config corral_optimizer_config_default(void);

typedef struct corral_optimizer corral_optimizer;

/// `params` must be sealed and outlive the optimizer.
CORRAL_MUST_USE corral_status corral_optimizer_create(const corral_optimizer_config *config,
                                                      corral_params *params,
                                                      corral_optimizer **out_optimizer);
void corral_optimizer_destroy(corral_optimizer *optimizer);

/// What the entries of a group have of their own. All begin with a rate of 1 and the config's weight decay.
typedef struct corral_optimizer_group {
    double rate; // times the step's learning rate; 0: frozen
    double weight_decay;
} corral_optimizer_group;

/// Sets the group of one entry of the parameters: biases without decay, a slower trunk.
void corral_optimizer_set_group(corral_optimizer *optimizer, uint32_t entry, corral_optimizer_group group);

/// Gradients come multiplied by 1 / `factor` (1 at first), as under loss scaling: norms, clipping and updates
/// are of what they are without.
void corral_optimizer_set_gradient_factor(corral_optimizer *optimizer, double factor);

/// How a learning rate goes, as a factor of its first value.
typedef enum corral_rate_shape {
    CORRAL_RATE_CONSTANT,
    CORRAL_RATE_LINEAR,      // to `end` at step `steps`
    CORRAL_RATE_COSINE,      // to `end`, half a wave
    CORRAL_RATE_EXPONENTIAL, // to `end`, by the same factor each step; `end` above 0
    CORRAL_RATE_STEPS,       // times `end` every `steps` steps
} corral_rate_shape;

typedef struct corral_rate_schedule {
    corral_rate_shape shape;
    uint64_t warmup; // steps: rises from 1 / warmup to 1, then the shape begins
    uint64_t steps;
    double end;
} corral_rate_schedule;

/// The factor at `step`, 0 being the first. Beyond the last one it stays.
double corral_rate_factor(const corral_rate_schedule *schedule, uint64_t step);

/// The gradient block of a lane, owned by the optimizer, laid out as the parameters, and zeroed by this call:
/// so let the thread that fills it make it, once per lane and step. [different lanes from different threads]
void *corral_optimizer_lane(corral_optimizer *optimizer, size_t lane);
/// The same block, of which only a span is zeroed: for a thread that fills only that one.
void *corral_optimizer_lane_span(corral_optimizer *optimizer, size_t lane, corral_span span);

/// Sums the first `lane_count` blocks in the fixed tree, clips, updates the parameters, refreshes them, and
/// writes the norm before clipping to `*out_norm` (may be NULL).
/// CORRAL_ERROR_NOT_FINITE when the norm is not finite: nothing changes.
/// `team` may be NULL; it changes the speed, never the bits.
CORRAL_MUST_USE corral_status corral_optimizer_step(corral_optimizer *optimizer, size_t lane_count,
                                                    double learning_rate, corral_team *team,
                                                    double *out_norm);

/// For checkpoints: the steps taken, and the flat state blocks (first and second moment, velocity, ...) of
/// corral_params_count() elements each.
uint64_t corral_optimizer_steps(const corral_optimizer *optimizer);
void corral_optimizer_set_steps(corral_optimizer *optimizer, uint64_t steps);
uint32_t corral_optimizer_state_count(const corral_optimizer *optimizer);
void *corral_optimizer_state(corral_optimizer *optimizer, uint32_t index, const char **out_name);

#ifdef __cplusplus
}
#endif
#endif
