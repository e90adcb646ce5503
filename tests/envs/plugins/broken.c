/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * Environments that each break one rule of corral/env.h, for tests of the examiner, and two that break none.
 * They all are the same walk, forwards or back by the action; the parameter `fault`, whose default differs,
 * says what goes wrong. Those of a batch make their rows out of the one instance's functions. */
#define _DEFAULT_SOURCE
#include "corral/env.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* name, and whether it is a batch */
/* clang-format off */
#define FAULTS(X) \
    X(None, 0) X(NoneBatch, 1) X(NotANumber, 0) X(OutOfRange, 0) X(InfiniteReward, 0) X(OddFlag, 1) \
    X(NoReward, 1) X(NoObservation, 0) X(BehindRow, 0) X(BehindRewards, 1) X(ChangesAction, 0) \
    X(BehindInstance, 0) X(ResetsOthers, 1) X(WritesOthers, 1) X(OwnChance, 0) X(LeftOver, 0) \
    X(Shared, 0) X(SharedScratch, 0) X(Position, 1) X(SaveForgets, 0) X(SaveTooMuch, 0) X(SaveGap, 0) \
    X(LoadRefuses, 0) X(DrawMoves, 0) X(DrawTooMuch, 0) X(DrawNan, 0) X(DrawKind, 0) X(MaskEmpty, 0) \
    X(MaskTooMuch, 0) X(InfoTooMuch, 0) X(StepLeaks, 0) X(NoFinish, 0) X(Crashes, 0) X(Hangs, 0) \
    X(Exits, 0) X(Prints, 0) X(Fails, 0) X(FewOnly, 1) X(CrashesInReset, 1)
/* clang-format on */

#define NAME(name, batched) Fault##name,
enum { FAULTS(NAME) FAULT_COUNT };
#undef NAME

enum { STATE = 16, ALLOWED = 3 };

typedef struct walker {
    const corral_env_host *host;
    corral_env_rng rng;
    void *memory;
    double fault;
    float place, luck;
    int32_t steps, row;
    uint32_t hidden; /* not always saved */
} walker;

static float shared;
static volatile float scratch;

static int is(const walker *w, int fault)
{
    return w->fault == fault;
}

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    walker *w = instance;
    w->host = host;
    w->fault = values[0];
    w->memory = malloc(128);
    return 0;
}

static void finish(void *instance)
{
    walker *w = instance;
    if (!is(w, FaultNoFinish)) free(w->memory);
}

static void observe(walker *w, float *row)
{
    if (is(w, FaultNoObservation) && w->steps == 4) return;
    row[0] = w->place;
    row[1] = w->luck;
    if (is(w, FaultNotANumber) && w->steps == 5) row[1] = NAN;
    if (is(w, FaultOutOfRange) && w->steps == 3) row[0] = 1.5f;
    if (is(w, FaultBehindRow) && w->steps == 2) row[2] = 0;
    if (is(w, FaultShared)) row[0] = shared;
    if (is(w, FaultPosition)) row[1] = (float)w->row / 32;
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    walker *w = instance;
    w->host->rng_seed(&w->rng, is(w, FaultOwnChance) ? (uint64_t)(uintptr_t)w->memory + seed : seed);
    if (!is(w, FaultLeftOver)) w->place = 0;
    w->luck = (float)w->host->rng_double(&w->rng);
    w->steps = 0;
    w->hidden = 0;
    if (is(w, FaultShared)) shared = 0;
    observe(w, observation);
    return 0;
}

/* As a wild pointer would, also under a sanitizer, which would say more. */
static void crash(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
}

static void misbehave(walker *w, const void *action)
{
    int32_t changed = 1;
    if (is(w, FaultChangesAction)) memcpy((void *)(uintptr_t)action, &changed, sizeof changed);
    if (is(w, FaultBehindInstance)) ((char *)w)[sizeof *w + 1] = 1;
    if (is(w, FaultStepLeaks)) w->memory = malloc(128);
    if (is(w, FaultCrashes) && w->steps == 12) crash();
    if (is(w, FaultHangs) && w->steps == 7)
        for (;;)
            usleep(1000);
    if (is(w, FaultExits) && w->steps == 2) exit(7);
    if (is(w, FaultPrints) && w->steps == 1) printf("I walk\n");
}

static float luck(walker *w)
{
    const float drawn = (float)w->host->rng_double(&w->rng);
    if (!is(w, FaultSharedScratch)) return drawn;
    scratch = drawn;
    sched_yield();
    return scratch;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    walker *w = instance;
    const float move = (float)(*(const int32_t *)action - 1) * 0.125f;
    w->steps++;
    w->hidden++;
    misbehave(w, action);
    if (is(w, FaultFails) && w->steps == 9) {
        w->host->error("the left foot hurts");
        return 1;
    }
    w->place += move;
    shared += move / 64;
    if (w->place > 1 || w->place < -1) w->place = 0;
    w->luck = luck(w);
    result->reward = is(w, FaultInfiniteReward) && w->steps == 6 ? INFINITY : w->luck;
    result->terminated = w->steps == 20 || (is(w, FaultSaveForgets) && w->hidden == 15);
    observe(w, observation);
    return 0;
}

/* --- extensions */

typedef struct saved {
    corral_env_rng rng;
    float place, luck;
    int32_t steps;
    uint32_t hidden;
} saved;

static void save(const void *instance, uint32_t index, void *out_state)
{
    const walker *w = instance;
    saved s = {w->rng, w->place, w->luck, w->steps, is(w, FaultSaveForgets) ? 0 : w->hidden};
    (void)index;
    memcpy(out_state, &s, is(w, FaultSaveGap) ? sizeof s - 4 : sizeof s);
    if (is(w, FaultSaveTooMuch)) ((char *)out_state)[sizeof s] = 0;
}

static int32_t load(void *instance, uint32_t index, const void *state)
{
    walker *w = instance;
    saved s;
    (void)index;
    if (is(w, FaultLoadRefuses)) {
        w->host->error("not today");
        return 1;
    }
    memcpy(&s, state, sizeof s);
    w->rng = s.rng;
    w->place = s.place;
    w->luck = s.luck;
    w->steps = s.steps;
    w->hidden = s.hidden;
    return 0;
}

static uint32_t draw(const void *instance, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    walker *w = (walker *)(uintptr_t)instance;
    uint32_t count = 8, i;
    (void)index;
    if (is(w, FaultDrawMoves)) w->place = 0.5f;
    for (i = 0; i < count && (i < limit || is(w, FaultDrawTooMuch)); i++) {
        corral_draw item = {CORRAL_DRAW_CIRCLE, 0xff, 1, 1, {{1, 1}}, "", NULL, 0, 0};
        if (is(w, FaultDrawNan)) item.point[0][1] = NAN;
        if (is(w, FaultDrawKind)) item.kind = 9;
        out_items[i] = item;
    }
    return count;
}

static void mask(const void *instance, uint32_t index, uint8_t *out_allowed)
{
    const walker *w = instance;
    int i;
    (void)index;
    for (i = 0; i < ALLOWED + is(w, FaultMaskTooMuch); i++)
        out_allowed[i] = !is(w, FaultMaskEmpty);
}

static void info(const void *instance, uint32_t index, double *out_values)
{
    const walker *w = instance;
    int i;
    (void)index;
    for (i = 0; i < 2 + is(w, FaultInfoTooMuch); i++)
        out_values[i] = w->steps;
}

static const void *extension(const char *name)
{
    static const char *const names[] = {"steps", "steps_again"};
    static const corral_env_info numbers = {sizeof(corral_env_info), 2, names, info};
    static const corral_env_state state = {sizeof(corral_env_state), sizeof(saved), save, load};
    static const corral_env_render render = {sizeof(corral_env_render), 100, 100, 0xff, draw};
    static const corral_env_action_mask action_mask = {sizeof(corral_env_action_mask), mask};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &render;
    if (strcmp(name, CORRAL_ENV_INFO) == 0) return &numbers;
    return strcmp(name, CORRAL_ENV_ACTION_MASK) == 0 ? &action_mask : NULL;
}

/* --- as a batch */

typedef struct walkers {
    uint32_t count;
    walker each[64];
} walkers;

static int32_t create_many(const corral_env_host *host, uint32_t count, const double *values,
                           void **out_batch)
{
    walkers *all = calloc(1, sizeof *all);
    uint32_t i;
    if (count > (values[0] == FaultFewOnly ? 8 : 64)) {
        host->error("that is too many");
        free(all);
        return 1;
    }
    all->count = count;
    for (i = 0; i < count; i++) {
        init(&all->each[i], host, values);
        all->each[i].row = (int32_t)i;
    }
    *out_batch = all;
    return 0;
}

static void destroy_many(void *batch)
{
    walkers *all = batch;
    uint32_t i;
    for (i = 0; i < all->count; i++)
        finish(&all->each[i]);
    free(all);
}

static char *row_of(const corral_env_rows *rows, uint32_t i)
{
    return (char *)rows->data + i * rows->stride;
}

static int32_t reset_many(void *batch, const uint8_t *wanted, const uint64_t *seed,
                          const corral_env_step *out)
{
    walkers *all = batch;
    uint32_t i;
    float nowhere[2];
    for (i = 0; i < all->count; i++) {
        walker *w = &all->each[i];
        if (is(w, FaultCrashesInReset) && w->steps > 0) crash();
        if (wanted == NULL || wanted[i])
            reset(w, seed[i], row_of(out->observation, i));
        else if (is(w, FaultResetsOthers))
            reset(w, seed[i], nowhere);
        else if (is(w, FaultWritesOthers))
            memset(row_of(out->observation, i), 0, 8);
    }
    return 0;
}

static int32_t step_many(void *batch, const corral_env_step *io)
{
    walkers *all = batch;
    uint32_t i;
    for (i = 0; i < all->count; i++) {
        walker *w = &all->each[i];
        corral_env_result result = {0, 0, 0};
        io->failed[i] = step(w, row_of(io->action, i), row_of(io->observation, i), &result) != 0;
        if (!is(w, FaultNoReward)) io->reward[i] = result.reward;
        io->terminated[i] = is(w, FaultOddFlag) && result.terminated ? 3 : result.terminated;
        if (is(w, FaultBehindRewards)) io->reward[all->count] = 0;
    }
    return 0;
}

/* --- description */

static const double low[2] = {-1, 0};
static const corral_space observation = {.path = "",
                                         .kind = CORRAL_SPACE_BOX,
                                         .dtype = CORRAL_SPACE_F32,
                                         .dimension_count = 1,
                                         .shape = {2},
                                         .low_each = low,
                                         .high = 1};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = ALLOWED};
static const corral_env_single one = {sizeof(walker), init, finish, reset, step};
static const corral_env_batch_functions many = {create_many, destroy_many, reset_many, step_many};

#define PARAM(name, batched) {"fault", Fault##name, 0, FAULT_COUNT, "what goes wrong"},
static const corral_env_param params[] = {FAULTS(PARAM)};
#undef PARAM

#define TYPE(name, batched)                                                                                  \
    {.size = sizeof(corral_env_type),                                                                        \
     .id = #name "-v0",                                                                                      \
     .summary = "breaks a rule",                                                                             \
     .spaces = {&observation, 1, &action, 1},                                                                \
     .params = &params[Fault##name],                                                                         \
     .param_count = 1,                                                                                       \
     .max_episode_steps = 50,                                                                                \
     .reward_threshold = NAN,                                                                                \
     .single = (batched) ? NULL : &one,                                                                      \
     .batch = (batched) ? &many : NULL,                                                                      \
     .extension = (batched) ? NULL : extension},
static const corral_env_type types[] = {FAULTS(TYPE)};
CORRAL_ENV_EXPORT(types, FAULT_COUNT);
