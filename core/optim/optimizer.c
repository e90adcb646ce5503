// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One step in two loops over fixed pieces of the flat block, each spread over the team in runs of about the
// same number of elements, so that a thread finds the same pieces in its cache step after step:
//
//   1. sum the lanes in a fixed tree into the first one, and the squares of the piece
//   2. clip, update the weights, and refresh their packed forms
//
// A piece is an entry, or some rows of a large one. The norm is the sum of the pieces' squares in order, in
// f64. No loop depends on who takes which piece.

#include "optim/updates.h"
#include "tensor/params.h"

#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

// About the elements of a piece, and what its rows are a multiple of: packed rows share cache lines.
enum { PIECE = 2048, PIECE_ROWS = 16, STATES = CORRAL_OPTIMIZER_STATES, ALIGNMENT = 64 };

/// Cache lines of its own: neighbours belong to other threads.
typedef struct piece {
    alignas(ALIGNMENT) uint32_t entry;
    size_t first_row, row_count; // of the entry; a vector has rows of one element
    size_t first, count;         // elements of the flat block
    double squares;              // of the gradient, in this step
} piece;

struct corral_optimizer {
    corral_optimizer_config config;
    corral_params *params;
    const corral_update_table *updates;
    size_t count, element_size, piece_count;
    uint64_t steps;
    double gradient_factor;
    uint32_t state_count;
    void *lanes[CORRAL_LANES]; // one allocation, at lanes[0]
    void *state[STATES];       // NULL where the kind has none
    const char *state_name[STATES];
    corral_apply *apply;
    corral_optimizer_group *groups; // [entries]
    piece *pieces;                  // [piece_count]
};

/// What the pieces of one step share.
typedef struct step_context {
    corral_optimizer *optimizer;
    size_t lane_count, run_count;
    corral_update update;
    void (*work)(const struct step_context *step, piece *p);
} step_context;

static void *allocate_zeroed(size_t size)
{
    const size_t rounded = (size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    void *block = aligned_alloc(ALIGNMENT, rounded);
    if (block != NULL) memset(block, 0, rounded);
    return block;
}

/// Bytes from one lane's block to the next: not a multiple of the cache's way size, so that the same element
/// of all lanes does not fall into one set.
static size_t lane_stride(size_t block_size)
{
    return (block_size + 4095) / 4096 * 4096 + 3 * ALIGNMENT;
}

/// Elements of a row: a matrix's or convolution's outputs are its rows, a vector's its elements.
static size_t row_size(const corral_param *entry)
{
    return entry->dimension_count < 2 || entry->shape[0] == 0 ? 1 : entry->count / entry->shape[0];
}

static size_t rows_per_piece(const corral_param *entry)
{
    const size_t rows = PIECE / (row_size(entry) + 1) / PIECE_ROWS * PIECE_ROWS;
    return rows > 0 ? rows : PIECE_ROWS;
}

static size_t pieces_of(const corral_param *entry)
{
    const size_t rows = entry->count / row_size(entry), each = rows_per_piece(entry);
    return (rows + each - 1) / each;
}

static bool cut_into_pieces(corral_optimizer *optimizer)
{
    const corral_params *params = optimizer->params;
    size_t count = 0;
    for (uint32_t i = 0; i < params->entry_count; i++)
        count += pieces_of(&params->entries[i]);
    optimizer->pieces = allocate_zeroed(count * sizeof *optimizer->pieces);
    if (optimizer->pieces == NULL) return false;
    for (uint32_t i = 0; i < params->entry_count; i++) {
        const corral_param *entry = &params->entries[i];
        const size_t size = row_size(entry), rows = entry->count / size, each = rows_per_piece(entry);
        for (size_t row = 0; row < rows; row += each) {
            const size_t taken = rows - row < each ? rows - row : each;
            optimizer->pieces[optimizer->piece_count++] =
                (piece){i, row, taken, entry->offset + row * size, taken * size, 0.0};
        }
    }
    return true;
}

static bool allocate_blocks(corral_optimizer *optimizer)
{
    const size_t size = optimizer->count * optimizer->element_size, stride = lane_stride(size);
    optimizer->lanes[0] = allocate_zeroed(CORRAL_LANES * stride);
    optimizer->groups = calloc(optimizer->params->entry_count + 1, sizeof *optimizer->groups);
    if (optimizer->lanes[0] == NULL || optimizer->groups == NULL || !cut_into_pieces(optimizer)) return false;
    for (size_t i = 1; i < CORRAL_LANES; i++)
        optimizer->lanes[i] = (char *)optimizer->lanes[0] + i * stride;
    for (uint32_t i = 0; i < STATES; i++) {
        if (optimizer->state_name[i] == NULL) continue;
        optimizer->state[i] = allocate_zeroed(size);
        if (optimizer->state[i] == NULL) return false;
    }
    return true;
}

/// What the kind calls, and which blocks it keeps. A block without a name is not there.
static void choose(corral_optimizer *o)
{
    const corral_optimizer_config *config = &o->config;
    const corral_update_table *u = o->updates;
    const bool adam = config->kind == CORRAL_ADAM || config->kind == CORRAL_ADAMW;
    if (adam) {
        o->apply = config->amsgrad ? u->amsgrad : u->adam;
        o->state_name[0] = "first_moment";
        o->state_name[1] = "second_moment";
        o->state_name[2] = config->amsgrad ? "largest_second_moment" : NULL;
    } else if (config->kind == CORRAL_RMSPROP) {
        o->apply = u->rmsprop;
        o->state_name[0] = "mean_square";
        o->state_name[1] = "velocity";
        o->state_name[2] = config->centered ? "mean_gradient" : NULL;
    } else {
        o->apply = u->sgd;
        o->state_name[0] = "velocity";
    }
    while (o->state_count < STATES && o->state_name[o->state_count] != NULL)
        o->state_count++;
}

static void fill_with_ones(const corral_optimizer *o, void *block)
{
    for (size_t i = 0; i < o->count; i++) {
        if (o->params->dtype == CORRAL_F64)
            ((double *)block)[i] = 1.0;
        else
            ((float *)block)[i] = 1.0f;
    }
}

corral_status corral_optimizer_create(const corral_optimizer_config *config, corral_params *params,
                                      corral_optimizer **out_optimizer)
{
    corral_status status = corral_optimizer_config_check(config);
    if (status != CORRAL_OK) return status;
    if (!params->sealed) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: seal the parameters first");
    }
    corral_optimizer *optimizer = calloc(1, sizeof *optimizer);
    if (optimizer == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "optimizer: no memory");
    optimizer->config = *config;
    optimizer->params = params;
    optimizer->updates = params->dtype == CORRAL_F64 ? &corral_updates_f64 : &corral_updates_f32;
    optimizer->count = params->count;
    optimizer->gradient_factor = 1.0;
    optimizer->element_size = corral_dtype_size(params->dtype);
    choose(optimizer);
    if (!allocate_blocks(optimizer)) {
        corral_optimizer_destroy(optimizer);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "optimizer: no memory for %zu parameters", params->count);
    }
    for (uint32_t i = 0; i < params->entry_count; i++)
        optimizer->groups[i] = (corral_optimizer_group){1.0, config->weight_decay};
    if (config->kind == CORRAL_RMSPROP && config->epsilon_inside)
        fill_with_ones(optimizer, optimizer->state[0]);
    *out_optimizer = optimizer;
    return CORRAL_OK;
}

void corral_optimizer_destroy(corral_optimizer *optimizer)
{
    if (optimizer == NULL) return;
    for (size_t i = 0; i < STATES; i++)
        free(optimizer->state[i]);
    free(optimizer->groups);
    free(optimizer->pieces);
    free(optimizer->lanes[0]);
    free(optimizer);
}

void corral_optimizer_set_group(corral_optimizer *optimizer, uint32_t entry, corral_optimizer_group group)
{
    CORRAL_ASSERT(entry < optimizer->params->entry_count);
    optimizer->groups[entry] = group;
}

void corral_optimizer_set_gradient_factor(corral_optimizer *optimizer, double factor)
{
    CORRAL_ASSERT(factor > 0);
    optimizer->gradient_factor = factor;
}

void *corral_optimizer_lane(corral_optimizer *optimizer, size_t lane)
{
    return corral_optimizer_lane_span(optimizer, lane, (corral_span){0, optimizer->count});
}

void *corral_optimizer_lane_span(corral_optimizer *optimizer, size_t lane, corral_span span)
{
    CORRAL_ASSERT(lane < CORRAL_LANES && span.first <= optimizer->count &&
                  span.count <= optimizer->count - span.first);
    char *block = optimizer->lanes[lane];
    memset(block + span.first * optimizer->element_size, 0, span.count * optimizer->element_size);
    return block;
}

/// Where a piece begins in a block of the parameters' layout.
static void *piece_of(const corral_optimizer *optimizer, void *block, const piece *p)
{
    return block == NULL ? NULL : (char *)block + p->first * optimizer->element_size;
}

static void sum_piece(const step_context *step, piece *p)
{
    corral_optimizer *o = step->optimizer;
    void *lanes[CORRAL_LANES];
    for (size_t lane = 0; lane < step->lane_count; lane++)
        lanes[lane] = piece_of(o, o->lanes[lane], p);
    void *total = lanes[0]; // in place: one block less to travel through the caches
    p->squares = o->updates->sum_lanes(p->count, step->lane_count, lanes, total);
    if (o->config.max_grad_value > 0)
        p->squares = o->updates->clip_values(p->count, total, o->config.max_grad_value / o->gradient_factor);
}

static void update_piece(const step_context *step, piece *p)
{
    corral_optimizer *o = step->optimizer;
    const corral_optimizer_group *group = &o->groups[p->entry];
    if (group->rate == 0) return;
    void *const state[STATES] = {piece_of(o, o->state[0], p), piece_of(o, o->state[1], p),
                                 piece_of(o, o->state[2], p)};
    void *weight = piece_of(o, o->params->data, p), *grad = piece_of(o, o->lanes[0], p);
    corral_update update = step->update;
    update.learning_rate *= group->rate;
    if (group->weight_decay != 0 && o->config.kind == CORRAL_ADAMW) {
        o->updates->decay(p->count, weight, 1.0 - update.learning_rate * group->weight_decay);
    } else if (group->weight_decay != 0) {
        o->updates->couple(p->count, weight, grad, update.scale, group->weight_decay);
        update.scale = 1.0;
    }
    o->apply(&update, p->count, weight, grad, state);
    if (corral_params_is_packed(o->params, p->entry))
        corral_params_refresh_rows(o->params, p->entry, p->first_row, p->row_count);
}

/// The run that a piece belongs to is the one that its middle lies in.
static bool is_before_run(const step_context *step, const piece *p, size_t index)
{
    return (p->first + p->count / 2) * step->run_count < index * step->optimizer->count;
}

static void work_on_run(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const step_context *step = context;
    corral_optimizer *o = step->optimizer;
    size_t i = 0;
    while (i < o->piece_count && is_before_run(step, &o->pieces[i], index))
        i++;
    for (; i < o->piece_count && is_before_run(step, &o->pieces[i], index + 1); i++)
        step->work(step, &o->pieces[i]);
}

static void work_on_pieces(corral_team *team, step_context *step,
                           void (*work)(const step_context *step, piece *p))
{
    step->work = work;
    if (team == NULL)
        work_on_run(step, 0, 0);
    else
        corral_team_run(team, step->run_count, work_on_run, step);
}

static double clip_scale(double norm, double max_norm)
{
    const double scale = max_norm / (norm + 1e-6);
    return max_norm > 0.0 && scale < 1.0 ? scale : 1.0;
}

corral_status corral_optimizer_step(corral_optimizer *optimizer, size_t lane_count, double learning_rate,
                                    corral_team *team, double *out_norm)
{
    CORRAL_ASSERT(lane_count <= CORRAL_LANES);
    if (lane_count == 0) {
        return corral_fail(CORRAL_ERROR_INVALID, "optimizer: a step without lanes; a minibatch needs a row");
    }
    step_context step = {.optimizer = optimizer, .lane_count = lane_count};
    step.run_count = team == NULL ? 1 : corral_team_size(team);
    work_on_pieces(team, &step, sum_piece);
    double squares = 0.0;
    for (size_t i = 0; i < optimizer->piece_count; i++)
        squares += optimizer->pieces[i].squares;
    const double norm = sqrt(squares) * optimizer->gradient_factor;
    if (out_norm != NULL) *out_norm = norm;
    if (!isfinite(norm)) {
        return corral_fail(CORRAL_ERROR_NOT_FINITE,
                           "optimizer: the gradient's norm is %g after %llu steps; "
                           "this step is skipped",
                           norm, (unsigned long long)optimizer->steps);
    }

    const corral_optimizer_config *config = &optimizer->config;
    optimizer->steps++;
    step.update = (corral_update){
        .scale = clip_scale(norm, config->max_grad_norm) * optimizer->gradient_factor,
        .learning_rate = learning_rate,
        .beta1 = config->beta1,
        .beta2 = config->beta2,
        .epsilon = config->epsilon,
        .first_correction = 1.0 - pow(config->beta1, (double)optimizer->steps),
        .second_correction = 1.0 - pow(config->beta2, (double)optimizer->steps),
        .momentum = config->momentum,
        .nesterov = config->nesterov,
        .epsilon_inside = config->epsilon_inside,
    };
    if (config->kind == CORRAL_RMSPROP) step.update.beta2 = config->alpha;
    optimizer->params->version++; // tapes that recorded with the old weights are told
    work_on_pieces(team, &step, update_piece);
    return CORRAL_OK;
}

uint64_t corral_optimizer_steps(const corral_optimizer *optimizer)
{
    return optimizer->steps;
}

void corral_optimizer_set_steps(corral_optimizer *optimizer, uint64_t steps)
{
    optimizer->steps = steps;
}

uint32_t corral_optimizer_state_count(const corral_optimizer *optimizer)
{
    return optimizer->state_count;
}

void *corral_optimizer_state(corral_optimizer *optimizer, uint32_t index, const char **out_name)
{
    CORRAL_ASSERT(index < optimizer->state_count);
    if (out_name != NULL) *out_name = optimizer->state_name[index];
    return optimizer->state[index];
}
