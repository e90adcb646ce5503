// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What crosses the border to an environment, leaf by leaf and row by row: are the actions inside their
/// space, are the observations finite; and copying of rows.
#ifndef CORRAL_ENVS_BATCH_ROWS_H
#define CORRAL_ENVS_BATCH_ROWS_H

#include "corral/base/status.h"
#include "corral/env.h"

#include <stdbool.h>

/// CORRAL_ERROR_INVALID for the first action outside: "environment 7: action 2 is outside Discrete(2)", where
/// 7 is `first_index` + the row.
CORRAL_MUST_USE corral_status corral_rows_check_actions(const corral_env_spaces *spaces,
                                                        const corral_env_rows *action, uint32_t count,
                                                        uint64_t first_index);

/// Lowest and highest value of an element.
void corral_rows_bounds(const corral_space *leaf, size_t index, double *out_low, double *out_high);

/// Finds the first element of a row that is outside its space or not finite. False where all is well.
bool corral_rows_find_outside(const corral_space *leaf, const void *row, size_t *out_index,
                              double *out_value);

/// Sets failed[i] = 1 where a number of row i is NaN or infinite; leaves the others. True if it set any.
bool corral_rows_mark_not_finite(const corral_env_spaces *spaces, const corral_env_rows *observation,
                                 uint32_t count, uint8_t *failed);

/// The same question about one row.
bool corral_rows_finite(const corral_env_spaces *spaces, const corral_env_rows *observation, uint32_t row);

void corral_rows_copy(const corral_env_spaces *spaces, const corral_env_rows *from, uint32_t from_row,
                      const corral_env_rows *to, uint32_t to_row);

#endif
