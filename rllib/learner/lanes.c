// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "lanes.h"

#include <stdio.h>

typedef struct lanes {
    const lanes_plan *plan;
    size_t rows, lane_count;
    corral_status status[LANES_PARTS * CORRAL_LANES];
    char error[LANES_PARTS * CORRAL_LANES][256];
} lanes;

enum { SHORT_ROWS = 16 }; // what a short lane's length is a multiple of, but for the last one's

static bool has_short_lanes(const lanes_plan *plan, size_t rows)
{
    return plan->short_lanes && corral_lane_count(rows) == 1 && rows >= 2 * SHORT_ROWS;
}

size_t lanes_count(const lanes_plan *plan, size_t rows)
{
    return has_short_lanes(plan, rows) ? 2 : corral_lane_count(rows);
}

static corral_lane lane_at(const lanes_plan *plan, size_t rows, size_t lane)
{
    if (!has_short_lanes(plan, rows)) return corral_lane_at(rows, lane);
    const size_t half = rows / (2 * SHORT_ROWS) * SHORT_ROWS;
    return lane == 0 ? (corral_lane){0, half} : (corral_lane){half, rows - half};
}

/// All lanes of the first part come first: the team hands out indices in runs, so that a thread stays with a
/// part.
static void run_lane(void *context, size_t index, unsigned thread)
{
    lanes *l = context;
    const lanes_plan *plan = l->plan;
    if (index == l->lane_count * plan->part_count) {
        plan->beside(plan->context);
        return;
    }
    lanes_block block = {.lane = index % l->lane_count, .part = index / l->lane_count, .thread = thread};
    block.gradient = corral_optimizer_lane_span(plan->optimizer, block.lane, plan->part[block.part]);
    const corral_lane lane = lane_at(plan, l->rows, block.lane);
    corral_status status = CORRAL_OK;
    for (size_t at = 0; at < lane.count && status == CORRAL_OK; at += LANES_BLOCK_ROWS) {
        block.first = lane.first + at;
        block.count = lane.count - at < LANES_BLOCK_ROWS ? lane.count - at : LANES_BLOCK_ROWS;
        status = plan->learn(plan->context, &block);
    }
    l->status[index] = status;
    if (status != CORRAL_OK) snprintf(l->error[index], sizeof l->error[index], "%s", corral_last_error());
}

corral_status lanes_run(const lanes_plan *plan, size_t rows)
{
    lanes l; // the sentences are written where they are needed
    l.plan = plan;
    l.rows = rows;
    l.lane_count = lanes_count(plan, rows);
    const size_t count = l.lane_count * plan->part_count;
    corral_team_run(plan->team, plan->beside != NULL ? count + 1 : count, run_lane, &l);
    for (size_t i = 0; i < count; i++)
        if (l.status[i] != CORRAL_OK) return corral_fail(l.status[i], "%s", l.error[i]);
    return CORRAL_OK;
}
