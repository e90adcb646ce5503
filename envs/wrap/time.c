// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Wrappers that change time: time_limit, frame_skip, max_and_skip.
//
// A limit is not played here: episodes belong to the host, and a wrapper only tells it how long they last, in
// steps of whoever stands outside. So where frames are skipped an inner limit of 1000 becomes one of 250.
//
// Several inner steps make one outer one, until the episode ends. An environment whose episode is over waits
// for the others, which is why each has an inner batch of its own.

#include "wrap.h"

#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// --- time_limit

static corral_status plan_time_limit(wrapper *w)
{
    const double limit = w->argument[0];
    if (!(limit >= 1 && limit <= UINT32_MAX) || limit != floor(limit))
        return WRAP_FAIL(w, "a time limit is a whole number of steps, at least 1");
    if (w->type.max_episode_steps == 0 || limit < w->type.max_episode_steps)
        w->type.max_episode_steps = (uint32_t)limit;
    return CORRAL_OK;
}

const wrapper_kind corral_wrap_time_limit = {
    .name = "time_limit",
    .arguments = "=STEPS",
    .help = "Episodes are cut off after so many steps, or the inner limit where that is shorter",
    .least = 1,
    .most = 1,
    .plan = plan_time_limit,
};

// --- skipping

static corral_status plan_skip(wrapper *w)
{
    const double skip = w->argument[0];
    if (!(skip >= 1 && skip <= 1000) || skip != floor(skip))
        return WRAP_FAIL(w, "1 to 1000 steps can be one");
    const uint32_t limit = w->type.max_episode_steps, each = (uint32_t)skip;
    w->type.max_episode_steps = limit / each + (limit % each != 0);
    w->type.render_fps = (w->type.render_fps > 0 ? w->type.render_fps : 30) / skip;
    return CORRAL_OK;
}

/// The greater of two rows, element by element, into `row`.
static void keep_greater(const corral_space *leaf, void *row, const void *other)
{
    const size_t count = corral_space_count(leaf);
#define KEEP(type)                                                                                           \
    for (size_t i = 0; i < count; i++)                                                                       \
        if (((const type *)other)[i] > ((type *)row)[i]) ((type *)row)[i] = ((const type *)other)[i]
    switch (leaf->dtype) {
    case CORRAL_SPACE_F32:
        KEEP(float);
        break;
    case CORRAL_SPACE_F64:
        KEEP(double);
        break;
    case CORRAL_SPACE_U8:
        KEEP(uint8_t);
        break;
    default:
        KEEP(int32_t);
    }
#undef KEEP
}

static void rows_at(const corral_env_rows *rows, uint32_t count, uint32_t row, corral_env_rows *out)
{
    for (uint32_t k = 0; k < count; k++)
        out[k] = (corral_env_rows){(char *)rows[k].data + row * rows[k].stride, rows[k].stride};
}

static bool is_over(const corral_env_step *io, uint32_t row)
{
    return io->failed[row] || io->terminated[row] || io->truncated[row];
}

/// Environment `row` plays on until its outer step is complete.
static int32_t skip_row(wrapped *b, const corral_env_step *io, uint32_t row, bool pool)
{
    const corral_env_spaces *spaces = &b->w->inner->spaces;
    const uint32_t leaves = spaces->observation_count, skip = (uint32_t)b->w->argument[0];
    const corral_env_plain_reward *plain = corral_env_extension(b->w->inner, CORRAL_ENV_PLAIN_REWARD);
    corral_env_rows action[WRAP_LEAVES], last[WRAP_LEAVES], before[WRAP_LEAVES];
    rows_at(io->action, spaces->action_count, row, action);
    rows_at(io->observation, leaves, row, last);
    rows_at(b->observation, leaves, row, before);

    double sum = 0, plain_sum = 0;
    uint32_t played = 0;
    while (played < skip && !is_over(io, row)) {
        for (uint32_t k = 0; pool && played > 0 && k < leaves; k++)
            memcpy(before[k].data, last[k].data, corral_space_bytes(&spaces->observation[k]));
        io->reward[row] = 0;
        const corral_env_step one = {
            sizeof one,          action,          last, &io->reward[row], &io->terminated[row],
            &io->truncated[row], &io->failed[row]};
        if (corral_rules_step(&b->inner[row], &one) != 0) return 1;
        sum += io->reward[row];
        plain_sum += plain != NULL ? plain->reward(b->inner[row].batch)[0] : io->reward[row];
        played++;
    }
    // The last two frames that were really played: an episode that ends early shows none of an older step.
    for (uint32_t k = 0; pool && played > 1 && k < leaves; k++)
        keep_greater(&spaces->observation[k], last[k].data, before[k].data);
    io->reward[row] = sum;
    b->plain_reward[row] = plain_sum;
    return 0;
}

static int32_t skip_all(wrapped *b, const corral_env_step *io, bool pool)
{
    memset(io->terminated, 0, b->count);
    for (uint32_t i = 0; i < b->count; i++)
        if (skip_row(b, io, i, pool) != 0) io->failed[i] = 1;
    return 0;
}

static int32_t step_frame_skip(wrapped *b, const corral_env_step *io)
{
    return skip_all(b, io, false);
}

static int32_t step_max_and_skip(wrapped *b, const corral_env_step *io)
{
    return skip_all(b, io, true);
}

const wrapper_kind corral_wrap_frame_skip = {
    .name = "frame_skip",
    .arguments = "=N",
    .help = "Each action is played N times, rewards add up",
    .least = 1,
    .most = 1,
    .plan = plan_skip,
    .step = step_frame_skip,
};

const wrapper_kind corral_wrap_max_and_skip = {
    .name = "max_and_skip",
    .arguments = "=N",
    .help = "The same, and the observation is the greater of the last two, element by element",
    .least = 1,
    .most = 1,
    .plan = plan_skip,
    .step = step_max_and_skip,
};
