// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One Python process plays all instances of a batch. Both sides map one memory, in which every leaf, the
// rewards and the flags are arrays over the instances; a step is one message and one answer.
//
// When the process ends or hangs, the whole batch has failed: the host drops the open episodes, counts them
// and resets, and the reset starts a new process over the same memory. An exception in one instance is the
// failure of that instance alone.

#include "batch.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/envs/registry.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LEAVES_MAX = 64,
    ALIGNMENT = 64,
    PICTURE_MAX = 32 << 20, // bytes of address space; memory only once one is drawn
};
static const int64_t open_limit_ns = 300 * CORRAL_SECOND;

/// Where each array lies, in bytes from the beginning.
typedef struct layout {
    size_t observation[LEAVES_MAX], action[LEAVES_MAX];
    size_t reward, seed, terminated, truncated, failed, mask, allowed, current, text, picture, size;
} layout;

typedef struct gym_batch {
    gym_type *type;
    const corral_env_host *host;
    uint32_t count;
    double *values;     // [type->type.param_count]
    gym_python *python; // NULL: not started, or ended
    char lost[200];     // how it ended
    uint64_t told;      // checksum of the last traceback that was told
    layout at;
    int file;
    char *memory; // [at.size]
} gym_batch;

// --- the memory

static size_t place(size_t *size, size_t bytes)
{
    const size_t at = *size;
    *size += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static layout lay_out(const gym_type *type, uint32_t count)
{
    const corral_env_spaces *spaces = &type->type.spaces;
    layout l = {0};
    l.text = place(&l.size, GYM_TEXT_SIZE); // first: a refusal is written there before all else is known
    l.current = place(&l.size, sizeof(uint32_t));
    l.reward = place(&l.size, count * sizeof(double));
    l.seed = place(&l.size, count * sizeof(uint64_t));
    l.terminated = place(&l.size, count);
    l.truncated = place(&l.size, count);
    l.failed = place(&l.size, count);
    l.mask = place(&l.size, count);
    for (uint32_t k = 0; k < spaces->action_count; k++)
        l.action[k] = place(&l.size, count * corral_space_bytes(&spaces->action[k]));
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        l.observation[k] = place(&l.size, count * corral_space_bytes(&spaces->observation[k]));
    if (type->has_mask) l.allowed = place(&l.size, count * (size_t)spaces->action->n);
    l.picture = l.size;
    l.size += PICTURE_MAX;
    return l;
}

/// What training needs is there from the start, so that too little memory is an error here.
static bool map_memory(gym_batch *b)
{
    b->file = memfd_create("corral-gym", MFD_CLOEXEC);
    if (b->file < 0 || ftruncate(b->file, (off_t)b->at.size) != 0 ||
        posix_fallocate(b->file, 0, (off_t)b->at.picture) != 0)
        return false;
    void *memory = mmap(NULL, b->at.size, PROT_READ | PROT_WRITE, MAP_SHARED, b->file, 0);
    if (memory == MAP_FAILED) return false;
    b->memory = memory;
    return true;
}

// --- creation

int32_t gym_batch_create(gym_type *type, const corral_env_host *host, uint32_t count, const double *values,
                         void **out_batch)
{
    gym_batch *b = calloc(1, sizeof *b);
    if (b == NULL) return 1;
    b->type = type;
    b->host = host;
    b->count = count;
    b->file = -1;
    b->at = lay_out(type, count);
    b->values = calloc(type->type.param_count, sizeof *b->values);
    if (b->values == NULL || !map_memory(b)) {
        host->error("no shared memory for its observations");
        gym_batch_destroy(b);
        return 1;
    }
    memcpy(b->values, values, type->type.param_count * sizeof *values);
    *out_batch = b;
    return 0;
}

/// The process is kept for the next batch where it answers in peace.
static void release(gym_batch *b)
{
    gym_answer answer;
    if (b->python == NULL) return;
    if (gym_python_ask(b->python, "c", 1, -1, 10 * CORRAL_SECOND, &answer) == CORRAL_OK && answer.mark == '+')
        gym_type_give(b->type, b->python);
    else
        gym_python_end(b->python);
    b->python = NULL;
}

void gym_batch_destroy(void *batch)
{
    gym_batch *b = batch;
    if (b == NULL) return;
    release(b);
    if (b->memory != NULL) munmap(b->memory, b->at.size);
    if (b->file >= 0) close(b->file);
    free(b->values);
    free(b);
}

// --- opening

static void add_numbers(cJSON *object, const char *key, const size_t *values, uint32_t count)
{
    cJSON *list = cJSON_AddArrayToObject(object, key);
    for (uint32_t i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)values[i]));
}

/// Those that differ from what the class takes by itself; the last parameter is ours.
static void add_values(cJSON *order, const gym_batch *b)
{
    cJSON *values = cJSON_AddObjectToObject(order, "values");
    const corral_env_type *type = &b->type->type;
    for (uint32_t i = 0; i + 1 < type->param_count; i++)
        if (b->values[i] != type->params[i].default_value)
            cJSON_AddNumberToObject(values, type->params[i].name, b->values[i]);
}

static char *opening_order(const gym_batch *b)
{
    const layout *l = &b->at;
    const struct {
        const char *name;
        size_t at;
    } columns[] = {{"reward", l->reward},       {"seed", l->seed},     {"terminated", l->terminated},
                   {"truncated", l->truncated}, {"failed", l->failed}, {"mask", l->mask},
                   {"current", l->current},     {"text", l->text},     {"picture", l->picture},
                   {"allowed", l->allowed}};
    cJSON *order = cJSON_CreateObject();
    cJSON_AddStringToObject(order, "name", b->type->name);
    cJSON_AddStringToObject(order, "spaces", b->type->digest);
    cJSON_AddNumberToObject(order, "count", b->count);
    cJSON_AddNumberToObject(order, "size", (double)l->size);
    add_values(order, b);
    cJSON *at = cJSON_AddObjectToObject(order, "at");
    for (size_t i = 0; i < sizeof columns / sizeof *columns - !b->type->has_mask; i++)
        cJSON_AddNumberToObject(at, columns[i].name, (double)columns[i].at);
    add_numbers(at, "action", l->action, b->type->type.spaces.action_count);
    add_numbers(at, "observation", l->observation, b->type->type.spaces.observation_count);
    char *json = cJSON_PrintUnformatted(order);
    char *message = json != NULL ? corral_format("o%s", json) : NULL;
    cJSON_free(json);
    cJSON_Delete(order);
    return message;
}

/// The sentence and the traceback that lie in the memory. The same traceback is told once.
static void tell(gym_batch *b)
{
    char text[GYM_TEXT_SIZE + 2];
    memcpy(text, b->memory + b->at.text, GYM_TEXT_SIZE);
    text[GYM_TEXT_SIZE] = text[GYM_TEXT_SIZE + 1] = '\0';
    b->host->error(text);
    const char *traceback = text + strlen(text) + 1;
    const uint64_t checksum = corral_checksum(traceback, strlen(traceback));
    if (checksum != b->told) gym_log_traceback(b->type->name, traceback);
    b->told = checksum;
}

/// The process is of no use any more.
static void lose(gym_batch *b, const char *doing)
{
    uint32_t current;
    memcpy(&current, b->memory + b->at.current, sizeof current);
    snprintf(b->lost, sizeof b->lost, "%s (%s %u of %u)", corral_last_error(), doing, current + 1, b->count);
    b->host->error(b->lost);
    gym_python_end(b->python);
    b->python = NULL;
}

static bool open_python(gym_batch *b)
{
    if (gym_type_take(b->type, &b->python) != CORRAL_OK) {
        b->host->error(corral_last_error());
        return false;
    }
    char *order = opening_order(b);
    gym_answer answer = {0};
    const corral_status status =
        order != NULL ? gym_python_ask(b->python, order, strlen(order), b->file, open_limit_ns, &answer)
                      : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory");
    free(order);
    if (status != CORRAL_OK) {
        lose(b, "making environment");
        return false;
    }
    if (answer.mark == '+') return true;
    tell(b);
    gym_python_end(b->python);
    b->python = NULL;
    return false;
}

// --- playing

static int64_t timeout_ns(const gym_batch *b)
{
    return (int64_t)(b->values[b->type->type.param_count - 1] * 1e9);
}

/// False where the process is lost; its sentence is told.
static bool ask(gym_batch *b, const char *letter, const char *doing)
{
    gym_answer answer;
    if (gym_python_ask(b->python, letter, 1, -1, timeout_ns(b), &answer) != CORRAL_OK) {
        lose(b, doing);
        return false;
    }
    if (answer.mark == '!') tell(b);
    return answer.mark != '-';
}

static void copy_observations(const gym_batch *b, const uint8_t *mask, const corral_env_rows *rows)
{
    const corral_env_spaces *spaces = &b->type->type.spaces;
    for (uint32_t k = 0; k < spaces->observation_count; k++) {
        const size_t bytes = corral_space_bytes(&spaces->observation[k]);
        for (uint32_t i = 0; i < b->count; i++)
            if (mask == NULL || mask[i])
                memcpy((char *)rows[k].data + i * rows[k].stride,
                       b->memory + b->at.observation[k] + i * bytes, bytes);
    }
}

static void copy_actions(gym_batch *b, const corral_env_rows *rows)
{
    const corral_env_spaces *spaces = &b->type->type.spaces;
    for (uint32_t k = 0; k < spaces->action_count; k++) {
        const size_t bytes = corral_space_bytes(&spaces->action[k]);
        for (uint32_t i = 0; i < b->count; i++)
            memcpy(b->memory + b->at.action[k] + i * bytes, (const char *)rows[k].data + i * rows[k].stride,
                   bytes);
    }
}

int32_t gym_batch_reset(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    gym_batch *b = batch;
    if (b->python == NULL && !open_python(b)) return 1;
    if (mask != NULL)
        memcpy(b->memory + b->at.mask, mask, b->count);
    else
        memset(b->memory + b->at.mask, 1, b->count);
    uint64_t *seeds = (void *)(b->memory + b->at.seed);
    for (uint32_t i = 0; i < b->count; i++)
        seeds[i] = b->type->wide_seeds ? seed[i] : (uint32_t)(seed[i] ^ seed[i] >> 32);
    memset(b->memory + b->at.failed, 0, b->count);
    if (!ask(b, "r", "resetting environment")) return 1;
    memcpy(out->failed, b->memory + b->at.failed, b->count);
    copy_observations(b, mask, out->observation);
    return 0;
}

int32_t gym_batch_step(void *batch, const corral_env_step *io)
{
    gym_batch *b = batch;
    if (b->python == NULL) {
        b->host->error(b->lost);
        return 1;
    }
    copy_actions(b, io->action);
    memset(b->memory + b->at.failed, 0, b->count);
    if (!ask(b, "s", "stepping environment")) return 1;
    memcpy(io->failed, b->memory + b->at.failed, b->count);
    memcpy(io->reward, b->memory + b->at.reward, b->count * sizeof(double));
    memcpy(io->terminated, b->memory + b->at.terminated, b->count);
    memcpy(io->truncated, b->memory + b->at.truncated, b->count);
    copy_observations(b, NULL, io->observation);
    return 0;
}

// --- extensions

void gym_batch_mask(const void *batch, uint32_t index, uint8_t *out_allowed)
{
    const gym_batch *b = batch;
    const size_t count = (size_t)b->type->type.spaces.action->n;
    memcpy(out_allowed, b->memory + b->at.allowed + index * count, count);
}

/// Drawing is Python's, so that asking for it may lose the process like a step.
uint32_t gym_batch_draw(const void *batch, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    gym_batch *b = (gym_batch *)(uintptr_t)batch;
    if (b->python == NULL) return 0;
    char message[16];
    const int length = snprintf(message, sizeof message, "f%u", index);
    gym_answer answer;
    if (gym_python_ask(b->python, message, (size_t)length, -1, timeout_ns(b), &answer) != CORRAL_OK) {
        lose(b, "drawing environment");
        return 0;
    }
    if (answer.mark != '+') {
        if (answer.number != 0) tell(b); // else it draws from its next episode on
        return 0;
    }
    const float width = b->type->render.width, height = b->type->render.height;
    if (limit > 0)
        out_items[0] = (corral_draw){.kind = CORRAL_DRAW_IMAGE,
                                     .color = 0xffffffff,
                                     .point_count = 2,
                                     .point = {{0, 0}, {width, height}},
                                     .image = (const uint8_t *)b->memory + b->at.picture,
                                     .image_width = answer.number & 0xffff,
                                     .image_height = answer.number >> 16};
    return 1;
}
