// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The cut of a minibatch into lanes: whole chunks of CORRAL_LANE_ROWS, spread as evenly as they go, the first
// lanes one chunk longer. It depends on the number of rows alone.

#include "corral/core/optim.h"

// Every lane costs a gradient block that travels between caches: more than two only where lanes stay this
// long.
enum { LONG_LANE = 8 };

static size_t chunk_count(size_t rows)
{
    return rows / CORRAL_LANE_ROWS + (rows % CORRAL_LANE_ROWS != 0);
}

size_t corral_lane_count(size_t rows)
{
    const size_t chunks = chunk_count(rows);
    if (chunks <= 2) return chunks;
    size_t lanes = 2;
    while (lanes < CORRAL_LANES && chunks / lanes >= LONG_LANE)
        lanes *= 2;
    return lanes;
}

static size_t first_row(size_t rows, size_t lanes, size_t lane)
{
    const size_t chunks = chunk_count(rows), longer = chunks % lanes;
    const size_t chunk = chunks / lanes * lane + (lane < longer ? lane : longer);
    const size_t row = chunk * CORRAL_LANE_ROWS;
    return row < rows ? row : rows;
}

corral_lane corral_lane_at(size_t rows, size_t lane)
{
    const size_t lanes = corral_lane_count(rows);
    CORRAL_ASSERT(lane < lanes);
    const size_t first = first_row(rows, lanes, lane);
    return (corral_lane){.first = first, .count = first_row(rows, lanes, lane + 1) - first};
}
