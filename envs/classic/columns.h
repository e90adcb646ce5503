// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A batch of environments whose instances are a few doubles: one array per number, so that a loop over the
/// instances runs along memory. Rules put their own create, reset and step around it.
#ifndef CORRAL_ENVS_CLASSIC_COLUMNS_H
#define CORRAL_ENVS_CLASSIC_COLUMNS_H

#include "corral/env.h"

#include <string.h>

enum { CORRAL_COLUMNS_MAX = 4, CORRAL_COLUMNS_SETTINGS_MAX = 8 };

typedef struct corral_columns {
    const corral_env_host *host;
    uint32_t count;                               // instances
    uint32_t width;                               // numbers of an instance
    double *column[CORRAL_COLUMNS_MAX];           // [width][count]
    double settings[CORRAL_COLUMNS_SETTINGS_MAX]; // the parameters' values, in their order
} corral_columns;

/// For batch.create and batch.destroy.
int32_t corral_columns_create(const corral_env_host *host, uint32_t count, const double *values,
                              uint32_t value_count, uint32_t width, void **out_columns);
void corral_columns_destroy(void *columns);

/// For the state extension: `width` doubles.
void corral_columns_save(const void *columns, uint32_t index, void *out_state);
int32_t corral_columns_load(void *columns, uint32_t index, const void *state);

/// Action and observation of instance `index`.
static inline int32_t corral_action_i32(const corral_env_step *io, size_t index)
{
    int32_t action;
    memcpy(&action, (const char *)io->action->data + index * io->action->stride, sizeof action);
    return action;
}

static inline float corral_action_f32(const corral_env_step *io, size_t index)
{
    float action;
    memcpy(&action, (const char *)io->action->data + index * io->action->stride, sizeof action);
    return action;
}

static inline void corral_observation_f32(const corral_env_step *io, size_t index, const float *row,
                                          size_t count)
{
    memcpy((char *)io->observation->data + index * io->observation->stride, row, count * sizeof *row);
}

#endif
