// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The type that plays another one in processes: a batch of which each row is a process. A step is asked of
// all of them first, then answered by one after the other, so that they work at the same time.

#include "isolate.h"

#include "process.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const double start_seconds = 60; // plug-ins may load models

typedef struct isolated {
    corral_env_type type; // its context is this
    const corral_env_type *inner;
    char *name; // what the process finds it by
    char id[320];
    double seconds;
    isolate_layout at;
    const corral_env_state *inner_state;
    corral_env_state state;
    corral_env_render render;
    corral_env_info info;
    struct isolated *next;
} isolated;

typedef struct row {
    isolate_process process;
    int file;
    char *memory;
    bool asked; // and not yet answered
} row;

typedef struct batch {
    const isolated *of;
    const corral_env_host *host;
    uint32_t count;
    row rows[];
} batch;

static isolate_head *head_of(const row *r)
{
    return (isolate_head *)(void *)r->memory;
}

// --- one process

/// What a call to the process failed with, for the host. The thread's last error has the sentence where the
/// process is lost, the shared head where it answered.
static bool fail(const batch *b, row *r, bool answered)
{
    if (answered) head_of(r)->sentence[sizeof head_of(r)->sentence - 1] = '\0';
    const char *said = answered ? head_of(r)->sentence : corral_last_error();
    b->host->error(said[0] != '\0' ? said : "it failed and gave no reason");
    return false;
}

static bool ask(const batch *b, row *r, char message)
{
    if (r->process.id == 0) {
        b->host->error("its process is gone");
        return false;
    }
    r->asked = isolate_process_send(&r->process, message) == CORRAL_OK;
    return r->asked || fail(b, r, false);
}

static bool hear(const batch *b, row *r, double seconds)
{
    char answer;
    r->asked = false;
    if (isolate_process_receive(&r->process, seconds, &answer) != CORRAL_OK) return fail(b, r, false);
    return answer == ISOLATE_DONE || fail(b, r, true);
}

static bool call(const batch *b, row *r, char message)
{
    return ask(b, r, message) && hear(b, r, b->of->seconds);
}

/// Makes sure that there is a process; a new one is not reset.
static bool revive(const batch *b, row *r)
{
    if (r->process.id != 0) return true;
    if (isolate_process_start(b->of->name, r->file, &r->process) != CORRAL_OK) return fail(b, r, false);
    if (hear(b, r, start_seconds)) return true;
    isolate_process_end(&r->process); // it could not begin
    return false;
}

// --- life

static void destroy(void *handle)
{
    batch *b = handle;
    for (uint32_t i = 0; i < b->count; i++) {
        isolate_process_end(&b->rows[i].process);
        if (b->rows[i].memory != NULL) munmap(b->rows[i].memory, b->of->at.size);
        if (b->rows[i].file >= 0) close(b->rows[i].file);
    }
    free(b);
}

/// What training needs is there from the start, so that too little memory is an error here.
static bool map_row(const batch *b, row *r, const double *values)
{
    const isolate_layout *at = &b->of->at;
    r->file = memfd_create("corral-env", MFD_CLOEXEC);
    if (r->file < 0 || ftruncate(r->file, (off_t)at->size) != 0) return false;
    if (posix_fallocate(r->file, 0, (off_t)at->needed) != 0) return false;
    void *memory = mmap(NULL, at->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
    if (memory == MAP_FAILED) return false;
    r->memory = memory;
    head_of(r)->size = at->size;
    memcpy(r->memory + at->values, values, b->of->type.param_count * sizeof *values);
    return true;
}

static int32_t create(const corral_env_type *type, const corral_env_host *host, uint32_t count,
                      const double *values, void **out_batch)
{
    batch *b = calloc(1, sizeof *b + count * sizeof b->rows[0]);
    if (b == NULL) return 1;
    b->of = type->context;
    b->host = host;
    b->count = count;
    for (uint32_t i = 0; i < count; i++)
        b->rows[i].file = -1;
    bool ok = true;
    for (uint32_t i = 0; i < count && ok; i++) {
        ok = map_row(b, &b->rows[i], values);
        if (!ok) host->error("no shared memory for its processes");
    }
    for (uint32_t i = 0; i < count && ok; i++)
        ok = revive(b, &b->rows[i]);
    if (!ok) {
        destroy(b);
        return 1;
    }
    *out_batch = b;
    return 0;
}

// --- playing

static void take_observation(const batch *b, const row *r, uint32_t index, const corral_env_step *io)
{
    const corral_env_spaces *spaces = &b->of->type.spaces;
    for (uint32_t k = 0; k < spaces->observation_count; k++)
        memcpy((char *)io->observation[k].data + index * io->observation[k].stride,
               r->memory + b->of->at.observation[k], corral_space_bytes(&spaces->observation[k]));
}

static int32_t reset(void *handle, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    batch *b = handle;
    for (uint32_t i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        if (mask != NULL && !mask[i]) continue;
        head_of(r)->seed = seed[i];
        out->failed[i] = !(revive(b, r) && ask(b, r, ISOLATE_RESET));
    }
    for (uint32_t i = 0; i < b->count; i++) {
        if (!b->rows[i].asked) continue;
        if (hear(b, &b->rows[i], b->of->seconds))
            take_observation(b, &b->rows[i], i, out);
        else
            out->failed[i] = 1;
    }
    return 0;
}

static int32_t step(void *handle, const corral_env_step *io)
{
    batch *b = handle;
    const corral_env_spaces *spaces = &b->of->type.spaces;
    for (uint32_t i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        for (uint32_t k = 0; k < spaces->action_count; k++)
            memcpy(r->memory + b->of->at.action[k],
                   (const char *)io->action[k].data + i * io->action[k].stride,
                   corral_space_bytes(&spaces->action[k]));
        io->failed[i] = !ask(b, r, ISOLATE_STEP);
    }
    for (uint32_t i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        if (!r->asked || !hear(b, r, b->of->seconds)) {
            io->failed[i] = 1;
            io->terminated[i] = io->truncated[i] = 0;
            continue;
        }
        io->reward[i] = head_of(r)->reward;
        io->terminated[i] = head_of(r)->terminated;
        io->truncated[i] = head_of(r)->truncated;
        take_observation(b, r, i, io);
    }
    return 0;
}

static const corral_env_batch_functions functions = {NULL, destroy, reset, step};

// --- abilities

/// These have no way to fail, and a process may: then nothing is drawn, and every action is allowed. A state
/// of a lost one is marked, and whoever loads it gets an environment whose next step fails: its episode was
/// lost.

static row *row_of(const void *handle, uint32_t index)
{
    batch *b = (batch *)(uintptr_t)handle; // a question changes the process's answer, not the game
    return &b->rows[index];
}

static void save(const void *handle, uint32_t index, void *out_state)
{
    const batch *b = handle;
    row *r = row_of(handle, index);
    char *out = out_state;
    out[0] = r->process.id != 0 && call(b, r, ISOLATE_SAVE);
    memcpy(out + 1, r->memory + b->of->at.state, b->of->inner_state->state_size);
    if (!out[0]) memset(out + 1, 0, b->of->inner_state->state_size);
}

static int32_t load(void *handle, uint32_t index, const void *state)
{
    const batch *b = handle;
    row *r = row_of(handle, index);
    const char *saved = state;
    if (!saved[0]) {
        isolate_process_end(&r->process);
        return 0;
    }
    memcpy(r->memory + b->of->at.state, saved + 1, b->of->inner_state->state_size);
    return revive(b, r) && call(b, r, ISOLATE_LOAD) ? 0 : 1;
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const batch *b = handle;
    row *r = row_of(handle, index);
    if (r->process.id == 0 || !call(b, r, ISOLATE_DRAW)) return 0;
    const uint32_t said = head_of(r)->item_count, count = said < ISOLATE_ITEMS ? said : ISOLATE_ITEMS;
    const corral_draw *items = (const corral_draw *)(const void *)(r->memory + b->of->at.items);
    for (uint32_t i = 0; i < count && i < limit; i++) {
        out_items[i] = items[i];
        if (items[i].kind != CORRAL_DRAW_IMAGE) continue;
        const size_t offset = (uintptr_t)items[i].image - 1;
        const size_t bytes = (size_t)items[i].image_width * items[i].image_height * 3;
        const bool inside = offset < ISOLATE_IMAGE_BYTES && bytes <= ISOLATE_IMAGE_BYTES - offset;
        out_items[i].image = inside ? (const uint8_t *)r->memory + b->of->at.images + offset : NULL;
        if (!inside) out_items[i].image_width = out_items[i].image_height = 0;
    }
    return count;
}

static void allowed(const void *handle, uint32_t index, uint8_t *out_allowed)
{
    const batch *b = handle;
    row *r = row_of(handle, index);
    const size_t count = corral_env_mask_bytes(&b->of->type.spaces);
    if (r->process.id != 0 && call(b, r, ISOLATE_MASK))
        memcpy(out_allowed, r->memory + b->of->at.allowed, count);
    else
        memset(out_allowed, 1, count);
}

/// One that has just died says nothing of itself.
static void info(const void *handle, uint32_t index, double *out_values)
{
    const batch *b = handle;
    row *r = row_of(handle, index);
    if (r->process.id != 0 && call(b, r, ISOLATE_INFO))
        memcpy(out_values, r->memory + b->of->at.info, b->of->info.count * sizeof *out_values);
}

static const void *extension_for(const corral_env_type *type, const char *name)
{
    static const corral_env_action_mask mask = {sizeof mask, allowed};
    const isolated *of = type->context;
    if (corral_env_extension(of->inner, name) == NULL) return NULL;
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &of->state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &of->render;
    if (strcmp(name, CORRAL_ENV_INFO) == 0) return &of->info;
    return strcmp(name, CORRAL_ENV_ACTION_MASK) == 0 ? &mask : NULL;
}

// --- the type

static isolated *make(const corral_env_type *inner, const char *name, double seconds)
{
    isolated *of = calloc(1, sizeof *of);
    char *copy = strdup(name);
    if (of == NULL || copy == NULL) {
        free(of);
        free(copy);
        return NULL;
    }
    *of = (isolated){.inner = inner, .name = copy, .seconds = seconds, .at = isolate_lay_out(inner)};
    snprintf(of->id, sizeof of->id, "%s+process=%g", inner->id, seconds);
    of->type = (corral_env_type){.size = sizeof of->type,
                                 .id = of->id,
                                 .summary = inner->summary,
                                 .spaces = inner->spaces,
                                 .params = inner->params,
                                 .param_count = inner->param_count,
                                 .max_episode_steps = inner->max_episode_steps,
                                 .reward_threshold = inner->reward_threshold,
                                 .render_fps = inner->render_fps,
                                 .batch = &functions,
                                 .context = of,
                                 .create_for = create,
                                 .extension_for = extension_for};
    of->inner_state = corral_env_extension(inner, CORRAL_ENV_STATE);
    if (of->inner_state != NULL)
        of->state = (corral_env_state){sizeof of->state, 1 + of->inner_state->state_size, save, load};
    const corral_env_render *render = corral_env_extension(inner, CORRAL_ENV_RENDER);
    if (render != NULL)
        of->render =
            (corral_env_render){sizeof of->render, render->width, render->height, render->background, draw};
    const corral_env_info *inner_info = corral_env_extension(inner, CORRAL_ENV_INFO);
    if (inner_info != NULL)
        of->info = (corral_env_info){sizeof of->info, inner_info->count, inner_info->name, info};
    return of;
}

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static isolated *all; // only grows

corral_status corral_isolate(const corral_env_type *type, const char *name, double seconds,
                             const corral_env_type **out_type)
{
    pthread_mutex_lock(&all_lock);
    isolated *of = all;
    while (of != NULL && !(of->inner == type && of->seconds == seconds))
        of = of->next;
    if (of == NULL) {
        of = make(type, name, seconds);
        if (of != NULL) {
            of->next = all;
            all = of;
        }
    }
    pthread_mutex_unlock(&all_lock);
    if (of == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to isolate it", type->id);
    *out_type = &of->type;
    return CORRAL_OK;
}
