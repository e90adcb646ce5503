// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The state of one environment between two steps: a head of 40 bytes, then the type's own state, if it has
// the extension. Numbers are in the machine's order: states travel among like machines only.

#include "batch_internal.h"

#include "corral/envs/registry.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct state_head {
    uint64_t begun; // episodes
    uint64_t seed;
    double episode_return;
    uint32_t length;
    uint32_t type_state_size;
    uint64_t started; // 0 or 1
} state_head;
static_assert(sizeof(state_head) == 40, "no holes");

static const corral_env_state *state_extension(const corral_env_batch *batch)
{
    return corral_env_extension(batch->type, CORRAL_ENV_STATE);
}

bool corral_env_batch_state_exact(const corral_env_batch *batch)
{
    return state_extension(batch) != NULL;
}

size_t corral_env_batch_state_size(const corral_env_batch *batch)
{
    const corral_env_state *extension = state_extension(batch);
    return sizeof(state_head) + (extension != NULL ? extension->state_size : 0);
}

void corral_env_batch_save(const corral_env_batch *batch, uint32_t row, void *out_state)
{
    const corral_env_state *extension = state_extension(batch);
    const state_head head = {
        .begun = batch->begun[row],
        .seed = batch->seed[row],
        .episode_return = batch->episode_return[row],
        .length = batch->length[row],
        .type_state_size = extension != NULL ? extension->state_size : 0,
        .started = batch->started,
    };
    memcpy(out_state, &head, sizeof head);
    if (extension == NULL) return;
    uint32_t index;
    const void *handle = corral_env_batch_handle(batch, row, &index);
    extension->save(handle, index, (char *)out_state + sizeof head);
}

static corral_status check_head(const corral_env_batch *batch, const state_head *head, uint32_t row)
{
    const size_t type_state_size = corral_env_batch_state_size(batch) - sizeof *head;
    if (head->type_state_size != type_state_size || !isfinite(head->episode_return) || head->started != 1 ||
        head->begun == 0)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s: environment %llu: the saved state is damaged or of another environment",
                           batch->type->id, (unsigned long long)batch->first_index + row);
    return CORRAL_OK;
}

static corral_status load_row(corral_env_batch *batch, const char *state, uint32_t row)
{
    state_head head;
    memcpy(&head, state, sizeof head);
    const corral_status status = check_head(batch, &head, row);
    if (status != CORRAL_OK) return status;

    batch->begun[row] = head.begun;
    batch->seed[row] = head.seed;
    batch->episode_return[row] = head.episode_return;
    batch->length[row] = head.length;

    const corral_env_state *extension = state_extension(batch);
    if (extension == NULL) return CORRAL_OK;
    uint32_t index;
    void *handle = corral_rules_handle(&batch->rules, row, &index);
    corral_env_host_take_error();
    if (extension->load(handle, index, state + sizeof head) == 0) return CORRAL_OK;
    const char *said = corral_env_host_take_error();
    return corral_fail(CORRAL_ERROR_CORRUPT, "%s: environment %llu: the saved state is refused: %s",
                       batch->type->id, (unsigned long long)batch->first_index + row,
                       said[0] != '\0' ? said : "no reason given");
}

corral_status corral_env_batch_load(corral_env_batch *batch, const void *states, size_t size,
                                    const corral_env_rows *current_observation)
{
    const size_t each = corral_env_batch_state_size(batch);
    if (size != each * batch->count)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: saved states of %zu bytes, %u environments need %zu",
                           batch->type->id, size, batch->count, each * batch->count);

    batch->started = false; // until every row is in place
    for (uint32_t i = 0; i < batch->count; i++) {
        const corral_status status = load_row(batch, (const char *)states + i * each, i);
        if (status != CORRAL_OK) return status;
    }
    if (!corral_env_batch_state_exact(batch)) return corral_env_batch_reset(batch, current_observation);
    batch->started = true;
    return CORRAL_OK;
}
