// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The YAML file that makes an environment of a model: see README.md.
#ifndef CORRAL_ENVS_MUJOCO_SPEC_H
#define CORRAL_ENVS_MUJOCO_SPEC_H

#include <mujoco/mujoco.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEC_TERMS = 32, SPEC_NAME = 64 };

typedef enum spec_source {
    SPEC_QPOS,    // all joint positions, or one
    SPEC_QVEL,    // all joint speeds, or one
    SPEC_SENSOR,  // all values of a sensor, or one
    SPEC_CONTROL, // in rewards: the sum of the squares of actions
    SPEC_ALIVE,   // in rewards: 1
} spec_source;

/// Numbers of the simulation: `count` of them from `first` on, in the array that the source names.
typedef struct spec_values {
    spec_source source;
    int first, count;
} spec_values;

typedef struct spec_term {
    spec_values values;
    double weight;
    bool square;
} spec_term;

typedef struct spec_bound {
    spec_values values;
    double low, high;
} spec_bound;

typedef struct spec {
    char summary[128];
    char *model_path;
    mjModel *model;
    int frame_skip;
    double noise; // of positions and speeds at a reset, evenly to both sides
    uint32_t max_episode_steps;
    double reward_threshold;
    spec_values observation[SPEC_TERMS];
    int observation_count, observation_size;
    spec_term reward[SPEC_TERMS];
    int reward_count;
    spec_bound end[SPEC_TERMS];
    int end_count;
} spec;

/// False, with a sentence in `error`, where the file or the model cannot be used. spec_free() in either case.
bool spec_read(spec *s, const char *path, char *error, size_t error_size);
void spec_free(spec *s);

const double *spec_array(const mjData *data, spec_source source);

#endif
