// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the files of this folder share. Not for others.
#ifndef CORRAL_POLICY_INTERNAL_H
#define CORRAL_POLICY_INTERNAL_H

#include "corral/core/layers.h"
#include "corral/policy/policy.h"

/// Running mean and variance per number of an observation, and the frozen form that acting uses.
typedef struct policy_filter {
    uint32_t size;
    double count;
    double *mean;    // [size]
    double *m2;      // [size] sum of squared deviations from the mean
    double *inverse; // [size] 1 / sqrt(variance + epsilon): derived
} policy_filter;

corral_status policy_filter_init(policy_filter *filter, uint32_t size);
void policy_filter_finish(policy_filter *filter);
/// Recomputes what is derived, after `count`, `mean` or `m2` were written.
void policy_filter_refresh(policy_filter *filter);
/// Of rows of raw observations.
void policy_filter_merge(policy_filter *filter, const corral_policy_space *space, size_t rows,
                         const void *observation);
void policy_filter_apply(const policy_filter *filter, double clip, size_t rows, const float *observation,
                         float *out);

typedef struct policy_layer {
    uint32_t weight, bias; // entries of the parameters
    size_t in, out;
    corral_activation activation;
} policy_layer;

/// A chain of linear layers.
typedef struct policy_tower {
    policy_layer layer[CORRAL_SIZES_MAX + 1];
    uint32_t count;
} policy_tower;

/// What a policy's actions are made of, worked out from its configuration.
typedef struct policy_actions {
    size_t choices; // elements that are one of several
    size_t *sizes;  // [choices] of how many
    size_t logits;  // the sum of these
    size_t numbers; // elements that are numbers
} policy_actions;

corral_status policy_actions_check(const corral_policy_config *config);
corral_status policy_actions_init(policy_actions *actions, const corral_policy_config *config);

/// Within which the logarithms of deviations that the network gives stay.
enum { POLICY_LOG_STD_LOW = -20, POLICY_LOG_STD_HIGH = 2 };

/// What stands behind the hidden layers of a policy whose action is not just one choice.
typedef struct policy_heads {
    policy_layer logits, mean;
    policy_layer log_std_layer; // deviations that are an output of the network
    uint32_t log_std;           // the entry of all others
} policy_heads;

/// What a network says of a block of rows, on a tape. NULL where there are no choices, or no numbers.
typedef struct policy_outputs {
    corral_tensor *features; // [rows, last hidden layer] of the actor, or hidden units of its memory
    corral_tensor *cell;     // [rows, units] of an LSTM
    corral_tensor *logits;   // [rows, logits]
    corral_tensor *mean;     // [rows, numbers]
    corral_tensor *log_std;  // [rows, numbers], or [numbers] where all rows share it
    corral_tensor *value;    // [rows, 1]
} policy_outputs;

/// A layer of a noisy network, and the noise that its weights bear now.
typedef struct policy_noisy_layer {
    policy_layer mu;
    uint32_t sigma_weight, sigma_bias; // entries of the parameters
    float *of_output, *of_input;       // [out], [in]: factors
} policy_noisy_layer;

typedef struct policy_noise {
    corral_params *weights; // what acting and learning multiply with; laid out as the first entries
    policy_noisy_layer layer[3 * (CORRAL_SIZES_MAX + 1)];
    uint32_t count;
} policy_noise;
/// What a recurrent policy remembers before its rows, which are sequences of `steps` each.
typedef struct policy_past {
    size_t steps;
    const uint8_t *reset;       // [rows] 1 where an episode begins; NULL: nowhere
    const float *hidden, *cell; // [sequences, units] before the first step of each
} policy_past;

corral_status policy_memory_check(const corral_policy_config *config);
corral_status policy_memory_build(corral_policy *policy, size_t *width);
corral_status policy_memory_init(corral_policy *policy, uint64_t seed);
corral_tensor *policy_memory_graph(const corral_policy *policy, corral_tensor *x, const policy_past *past,
                                   corral_tensor **out_cell);
/// The states after a block of rows, as rows of them.
void policy_memory_join(const corral_policy *policy, const policy_outputs *network, size_t rows, float *out);

enum { POLICY_IMAGES_MAX = 4, POLICY_CONVOLUTIONS_MAX = 3 };

typedef struct policy_convolution {
    policy_layer layer; // weight [out channels, window and in channels]
    corral_window window;
    size_t height, width, in_channels; // of what goes in
    size_t channels, out_size;         // of what comes out
} policy_convolution;

typedef struct policy_image {
    size_t offset, size; // in an encoded observation
    policy_convolution convolution[POLICY_CONVOLUTIONS_MAX];
    uint32_t convolution_count;
    policy_layer features;
} policy_image;

/// The part of a network that sees images; nothing where `image_count` is 0.
typedef struct policy_body {
    policy_image image[POLICY_IMAGES_MAX];
    uint32_t image_count;
    size_t out;        // features of a row
    size_t widest;     // convolution's result
    float *scratch[2]; // [block_rows, widest]
} policy_body;

corral_status policy_body_check(const corral_policy_config *config);
/// Writes how wide its result is.
corral_status policy_body_build(corral_policy *policy, size_t *width);
corral_status policy_body_init(corral_policy *policy, double gain, uint64_t seed);
void policy_body_run(const corral_policy *policy, size_t rows, const float *x, float *out);
corral_tensor *policy_body_graph(const corral_policy *policy, corral_tensor *x);

enum {
    POLICY_BLOCK_ROWS = 256, // acting works through its rows in blocks of this size
    POLICY_SCRATCH = 5,      // buffers of that many rows: filtered observation, two that alternate, trunk's
                             // result, body's result
};

struct corral_policy {
    corral_policy_config config;
    corral_policy_space layout; // of observations, the plain case spelled out
    uint64_t version;
    corral_params *params;
    policy_filter filter;
    corral_moments returns;
    policy_noise noise; // of a noisy network
    double exploration; // Q-networks: epsilon
    policy_body body;
    policy_tower trunk;         // shared networks only: the hidden layers
    policy_tower actor, critic; // heads, with hidden layers of their own where nothing is shared; of a
                                // Q-network the worths, or (dueling) the advantages and the value
    bool general;           // `actor` ends with its hidden layers, and `heads` come behind; acts on `tape`
    policy_actions actions; // of a general one, as are these:
    policy_heads heads;
    corral_recurrent recurrent; // where there is a memory
    float *hidden, *cell;       // [block_rows, units]
    size_t noise_width;
    corral_tape *tape;
    float *row_scratch;             // [logits and twice the numbers]
    size_t block_rows;              // that acting works through at a time
    size_t widest;                  // of all layers and the observation
    float *scratch[POLICY_SCRATCH]; // [POLICY_BLOCK_ROWS, widest]
};

/// Adds the sigmas of all layers, behind all other entries and before the parameters are sealed.
corral_status policy_noise_build(corral_policy *policy);
void policy_noise_init(corral_policy *policy);
void policy_noise_finish(corral_policy *policy);

/// Numbers of the head for each action.
uint32_t policy_atoms(const corral_policy_config *config);
/// What is said of worths and noise.
corral_status policy_check_q(const corral_policy_config *config);

/// The worths of the actions of at most POLICY_BLOCK_ROWS observations, then what `out` wants.
void policy_act_q(corral_policy *policy, const corral_policy_input *in, const corral_policy_output *out);

/// Runs a tower over rows of `x`; hidden layers alternate between two scratch buffers, the last writes to
/// `out`.
void policy_run_tower(const corral_policy *policy, const policy_tower *tower, size_t rows, const float *x,
                      float *out);

corral_status policy_add_layer(corral_policy *policy, policy_layer *layer, const char *name, size_t in,
                               size_t out, corral_activation activation);
corral_status policy_init_layer(corral_policy *policy, const policy_layer *layer, double gain, uint64_t seed);

/// Raw observations of a block of rows to what the hidden layers begin with, in the policy's own memory.
float *policy_observe(const corral_policy *policy, size_t rows, const void *observation);

/// A general policy's network on a tape.
void policy_graph_outputs(const corral_policy *policy, corral_tape *tape, size_t rows, const float *filtered,
                          const policy_past *past, policy_outputs *out);
corral_status policy_heads_build(corral_policy *policy, size_t features);
corral_status policy_heads_init(corral_policy *policy, uint64_t seed);
void policy_heads_graph(const corral_policy *policy, corral_tensor *features, policy_outputs *out);
/// Acts on a block of rows.
corral_status policy_act_heads(corral_policy *policy, const corral_policy_input *in,
                               const corral_policy_output *out);

/// Element i of a part of numbers in a row of raw observations, before the filter.
double policy_number_at(const corral_part *part, const unsigned char *row, size_t i);

/// A space as a member of a configuration, where it has parts.
struct cJSON;
void policy_space_to_json(struct cJSON *parent, const char *name, const corral_policy_space *space);
/// Leaves `space` alone where there is no such member. False where it makes no sense.
bool policy_space_from_json(const struct cJSON *parent, const char *name, corral_policy_space *space);

/// A policy whose weights are all zero.
corral_status policy_create_uninitialised(const corral_policy_config *config, corral_policy **out_policy);

#endif
