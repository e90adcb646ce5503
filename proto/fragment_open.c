// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Opening a fragment is where trust begins: the block was written by another process, perhaps by a plug-in's
// stray store. The header is copied first, so that what was checked is what is used. Then every number that
// the learner will use as an index, a count or a flag is checked, and every float that it will do arithmetic
// with.
//
// Observations are raw bytes here; that they are finite is checked by the environments' host in the worker.

#include "corral/proto/fragment.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK_ALIGNMENT = 64 };

// --- the header
// ------------------------------------------------------------------------------------------------------

static bool same_spec(const corral_fragment_spec *a, const corral_fragment_spec *b)
{
    return a->env_count == b->env_count && a->steps == b->steps &&
           a->observation_bytes == b->observation_bytes && a->action_count == b->action_count &&
           a->state_bytes == b->state_bytes && a->action_words == b->action_words &&
           a->mask_bytes == b->mask_bytes && a->memory_rows == b->memory_rows &&
           a->memory_bytes == b->memory_bytes && a->info_count == b->info_count;
}

static corral_status check_identity(const corral_fragment_header *header)
{
    if (header->magic != CORRAL_FRAGMENT_MAGIC)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a fragment begins with %08x instead of its magic number",
                           header->magic);
    if (header->format != CORRAL_FRAGMENT_VERSION)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "a fragment has format %u, this program reads %d; run the same version everywhere",
                           header->format, CORRAL_FRAGMENT_VERSION);
    return CORRAL_OK;
}

static corral_status check_sizes(const corral_fragment_header *header, const corral_fragment_layout *layout,
                                 size_t length)
{
    const corral_fragment_spec *spec = &header->spec;
    if (!same_spec(spec, &layout->spec))
        return corral_fail(
            CORRAL_ERROR_CORRUPT,
            "a fragment has %u environments, %u steps, %u bytes per observation, %u actions and %u "
            "bytes of state; %u, %u, %u, %u and %u were asked for",
            spec->env_count, spec->steps, spec->observation_bytes, spec->action_count, spec->state_bytes,
            layout->spec.env_count, layout->spec.steps, layout->spec.observation_bytes,
            layout->spec.action_count, layout->spec.state_bytes);
    const uint64_t rows = (uint64_t)spec->env_count * spec->steps;
    if (header->ended_count > rows)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a fragment of %llu rows claims %u finished episodes",
                           (unsigned long long)rows, header->ended_count);
    const uint64_t used = layout->ended + (uint64_t)header->ended_count * layout->ended_stride;
    if (header->length != used || used > length)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "a fragment says %llu bytes, its contents take %llu, and %zu have come",
                           (unsigned long long)header->length, (unsigned long long)used, length);
    return CORRAL_OK;
}

// --- the columns
// -----------------------------------------------------------------------------------------------------

static corral_status bad_value(corral_status status, const corral_fragment *fragment, const char *column,
                               size_t row)
{
    const size_t steps = fragment->header.spec.steps;
    return corral_fail(status, "a fragment's %s is %s in environment %zu, step %zu", column,
                       status == CORRAL_ERROR_NOT_FINITE ? "not finite" : "out of range", row / steps,
                       row % steps);
}

static bool action_is_sound(const corral_fragment *fragment, const int32_t *words)
{
    const corral_fragment_layout *layout = fragment->layout;
    for (uint32_t i = 0; i < layout->run_count; i++) {
        const corral_fragment_run run = layout->run[i];
        for (uint32_t k = 0; k < run.words; k++, words++) {
            float number;
            memcpy(&number, words, sizeof number);
            // One comparison: a negative action is a large unsigned number.
            if (run.choices > 0 ? (uint32_t)*words >= run.choices : !isfinite(number)) return false;
        }
    }
    return true;
}

/// Infinities and NaNs alone have all bits of the exponent; whole numbers compare in vectors.
static bool all_finite(const float *values, size_t count)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t infinite = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        infinite |= (bits & exponent) == exponent;
    }
    return infinite == 0;
}

static bool all_flags(const uint8_t *flags, size_t count)
{
    uint8_t seen = 0;
    for (size_t i = 0; i < count; i++)
        seen |= flags[i];
    return seen <= 1;
}

static bool all_below(const int32_t *actions, size_t count, uint32_t choices)
{
    uint32_t above = 0;
    for (size_t i = 0; i < count; i++)
        above |= (uint32_t)actions[i] >= choices;
    return above == 0;
}

/// Whether no row has anything to complain of: one pass over each column, in vectors. Where it says no, the
/// rows are looked at one by one, for the sentence; those that are left out may hold anything.
static bool columns_are_sound(const corral_fragment *fragment, size_t rows)
{
    const corral_fragment_layout *layout = fragment->layout;
    const corral_fragment_spec *spec = &layout->spec;
    return layout->run_count == 1 && layout->run[0].choices > 0 &&
           all_below(fragment->action, rows * layout->run[0].words, layout->run[0].choices) &&
           all_flags(fragment->terminated, rows) && all_flags(fragment->truncated, rows) &&
           all_flags(fragment->valid, rows) && all_finite(fragment->reward, rows) &&
           all_finite(fragment->value, rows + spec->env_count) && all_finite(fragment->log_prob, rows) &&
           all_finite(fragment->logits, rows * spec->action_count);
}

static corral_status check_indices(const corral_fragment *fragment, size_t rows)
{
    const size_t words = corral_fragment_action_words(&fragment->header.spec);
    for (size_t row = 0; row < rows; row++) {
        if (!action_is_sound(fragment, fragment->action + row * words))
            return bad_value(CORRAL_ERROR_CORRUPT, fragment, "action", row);
        if (fragment->terminated[row] > 1)
            return bad_value(CORRAL_ERROR_CORRUPT, fragment, "terminated flag", row);
        if (fragment->truncated[row] > 1)
            return bad_value(CORRAL_ERROR_CORRUPT, fragment, "truncated flag", row);
        if (fragment->valid[row] > 1) return bad_value(CORRAL_ERROR_CORRUPT, fragment, "valid flag", row);
    }
    return CORRAL_OK;
}

static corral_status check_row(const corral_fragment *fragment, size_t row)
{
    const size_t steps = fragment->header.spec.steps, actions = fragment->header.spec.action_count;
    const size_t environment = row / steps, step = row % steps;
    // The values have one more per environment; a row's own and the next one are what its advantage is made
    // of.
    const float *value = &fragment->value[environment * (steps + 1) + step];
    if (!isfinite(fragment->reward[row])) return bad_value(CORRAL_ERROR_NOT_FINITE, fragment, "reward", row);
    if (!isfinite(value[0])) return bad_value(CORRAL_ERROR_NOT_FINITE, fragment, "value", row);
    if (step + 1 == steps && !isfinite(value[1]))
        return bad_value(CORRAL_ERROR_NOT_FINITE, fragment, "value after the last step", row);
    if (!isfinite(fragment->log_prob[row]))
        return bad_value(CORRAL_ERROR_NOT_FINITE, fragment, "log_prob", row);
    if (!all_finite(&fragment->logits[row * actions], actions))
        return bad_value(CORRAL_ERROR_NOT_FINITE, fragment, "logits", row);
    return CORRAL_OK;
}

static corral_status check_rows(const corral_fragment *fragment, size_t rows)
{
    corral_status status = CORRAL_OK;
    for (size_t row = 0; row < rows && status == CORRAL_OK; row++)
        if (fragment->valid[row]) status = check_row(fragment, row);
    return status;
}

static corral_status check_whole_columns(const corral_fragment *fragment, size_t rows)
{
    const corral_fragment_spec *spec = &fragment->header.spec;
    const size_t memory = (size_t)spec->env_count * spec->memory_rows * (spec->memory_bytes / sizeof(float));
    if (!all_flags(fragment->mask, (rows + spec->env_count) * spec->mask_bytes))
        return corral_fail(CORRAL_ERROR_CORRUPT, "a fragment's action masks are not all 0 or 1");
    if (!all_finite(fragment->memory, memory))
        return corral_fail(CORRAL_ERROR_NOT_FINITE, "a fragment's states of the policy are not all finite");
    return CORRAL_OK;
}

// --- the records of finished episodes
// --------------------------------------------------------------------------------

static corral_status check_record(const corral_fragment *fragment, uint32_t k,
                                  const corral_fragment_ended *ended)
{
    const corral_fragment_spec *spec = &fragment->header.spec;
    if (ended->environment >= spec->env_count || ended->step >= spec->steps)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "a fragment's finished episode %u ends in environment %u, step %u, outside of it",
                           k, ended->environment, ended->step);
    const size_t row = (size_t)ended->environment * spec->steps + ended->step;
    if (ended->terminated != fragment->terminated[row] || ended->truncated != fragment->truncated[row] ||
        fragment->valid[row] == 0 || ended->terminated + ended->truncated == 0 || ended->length == 0)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "a fragment's finished episode %u does not agree with environment %u, step %u", k,
                           ended->environment, ended->step);
    if (!isfinite(ended->episode_return) || !isfinite(ended->final_value))
        return corral_fail(
            CORRAL_ERROR_NOT_FINITE,
            "a fragment's finished episode %u (environment %u, step %u) has a return or a value that "
            "is not finite",
            k, ended->environment, ended->step);
    return CORRAL_OK;
}

static size_t count_ends(const corral_fragment *fragment, size_t rows)
{
    size_t count = 0;
    for (size_t row = 0; row < rows; row++)
        count += fragment->valid[row] && (fragment->terminated[row] || fragment->truncated[row]);
    return count;
}

// Each end has exactly one record: as many records as ends, each at an end, in strictly ascending order (as
// they happened: by step, then by environment), so that none is there twice.
static corral_status check_records(const corral_fragment *fragment, size_t rows)
{
    const size_t ends = count_ends(fragment, rows);
    if (ends != fragment->header.ended_count)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a fragment has %zu ends of episodes and records of %u",
                           ends, fragment->header.ended_count);
    uint64_t previous = 0;
    for (uint32_t k = 0; k < fragment->header.ended_count; k++) {
        const corral_fragment_ended ended = corral_fragment_ended_at(fragment, k, NULL);
        const corral_status status = check_record(fragment, k, &ended);
        if (status != CORRAL_OK) return status;
        const uint64_t place = (uint64_t)ended.step * fragment->header.spec.env_count + ended.environment + 1;
        if (place <= previous)
            return corral_fail(CORRAL_ERROR_CORRUPT,
                               "a fragment's finished episode %u is not in order of step, then environment",
                               k);
        previous = place;
    }
    return CORRAL_OK;
}

// --- the whole
// -------------------------------------------------------------------------------------------------------

static void set_columns(corral_fragment *fragment, const unsigned char *block)
{
    const corral_fragment_layout *layout = fragment->layout;
    fragment->observation = block + layout->observation;
    fragment->action = (const int32_t *)(const void *)(block + layout->action);
    fragment->logits = (const float *)(const void *)(block + layout->logits);
    fragment->log_prob = (const float *)(const void *)(block + layout->log_prob);
    fragment->value = (const float *)(const void *)(block + layout->value);
    fragment->reward = (const float *)(const void *)(block + layout->reward);
    fragment->terminated = block + layout->terminated;
    fragment->truncated = block + layout->truncated;
    fragment->valid = block + layout->valid;
    fragment->mask = block + layout->mask;
    fragment->memory = (const float *)(const void *)(block + layout->memory);
    fragment->state = block + layout->state;
}

// It goes into logs and onto terminals: whatever a stray store put there, what is read is one line.
static void copy_failure(corral_fragment *fragment, const unsigned char *block)
{
    char *text = fragment->failure;
    memcpy(text, block + fragment->layout->failure, sizeof fragment->failure);
    text[fragment->header.failed_count > 0 ? sizeof fragment->failure - 1 : 0] = '\0';
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e) *text = '?';
}

corral_status corral_fragment_open(const corral_fragment_layout *layout, const void *block, size_t length,
                                   corral_fragment *out_fragment)
{
    CORRAL_ASSERT((uintptr_t)block % BLOCK_ALIGNMENT == 0);
    corral_fragment fragment = {.layout = layout};
    if (length < sizeof fragment.header)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a fragment of %zu bytes is shorter than its header",
                           length);
    memcpy(&fragment.header, block, sizeof fragment.header);
    corral_status status = check_identity(&fragment.header);
    if (status == CORRAL_OK) status = check_sizes(&fragment.header, layout, length);
    if (status != CORRAL_OK) return status;

    set_columns(&fragment, block);
    const size_t rows = (size_t)layout->spec.env_count * layout->spec.steps;
    const bool sound = columns_are_sound(&fragment, rows);
    status = check_whole_columns(&fragment, rows);
    if (status == CORRAL_OK && !sound) status = check_indices(&fragment, rows);
    if (status == CORRAL_OK) status = check_records(&fragment, rows);
    if (status == CORRAL_OK && !sound) status = check_rows(&fragment, rows);
    if (status != CORRAL_OK) return status;
    copy_failure(&fragment, block);
    *out_fragment = fragment;
    return CORRAL_OK;
}

corral_fragment_ended corral_fragment_ended_at(const corral_fragment *fragment, uint32_t k,
                                               const unsigned char **out_observation)
{
    CORRAL_ASSERT(k < fragment->header.ended_count);
    // The observations are the first column, so their distance from the block's begin gives the begin back.
    const unsigned char *block = fragment->observation - fragment->layout->observation;
    const unsigned char *record = block + fragment->layout->ended + k * fragment->layout->ended_stride;
    corral_fragment_ended ended;
    memcpy(&ended, record, sizeof ended);
    if (out_observation != NULL) *out_observation = record + sizeof ended;
    return ended;
}

const double *corral_fragment_info_at(const corral_fragment *fragment, uint32_t k)
{
    CORRAL_ASSERT(k < fragment->header.ended_count);
    const unsigned char *block = fragment->observation - fragment->layout->observation;
    return (const double *)(const void *)(block + fragment->layout->ended +
                                          k * fragment->layout->ended_stride + fragment->layout->ended_info);
}
