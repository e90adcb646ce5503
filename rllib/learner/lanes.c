// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "lanes.h"

#include <stdio.h>

typedef struct lanes {
    corral_optimizer *optimizer;
    size_t rows;
    lanes_block *block;
    void *context;
    corral_status status[CORRAL_LANES];
    char error[CORRAL_LANES][256];
} lanes;

static void run_lane(void *context, size_t index, unsigned thread)
{
    lanes *l = context;
    const corral_lane lane = corral_lane_at(l->rows, index);
    void *gradient = corral_optimizer_lane(l->optimizer, index);
    corral_status status = CORRAL_OK;
    for (size_t at = 0; at < lane.count && status == CORRAL_OK; at += LANES_BLOCK_ROWS) {
        const size_t count = lane.count - at < LANES_BLOCK_ROWS ? lane.count - at : LANES_BLOCK_ROWS;
        status = l->block(l->context, index, thread, lane.first + at, count, gradient);
    }
    l->status[index] = status;
    if (status != CORRAL_OK) snprintf(l->error[index], sizeof l->error[index], "%s", corral_last_error());
}

corral_status lanes_run(corral_team *team, corral_optimizer *optimizer, size_t rows, lanes_block *block,
                        void *context)
{
    const size_t count = corral_lane_count(rows);
    lanes l = {.optimizer = optimizer, .rows = rows, .block = block, .context = context};
    corral_team_run(team, count, run_lane, &l);
    for (size_t i = 0; i < count; i++)
        if (l.status[i] != CORRAL_OK) return corral_fail(l.status[i], "%s", l.error[i]);
    return CORRAL_OK;
}
