// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A descriptor as a careless author might write it: a right one, and then the bytes of the input, three by
/// three, say which field of it gets which odd value. Pointers stay honest about what lies behind them, since
/// no check can find out; counts, sizes, kinds, bounds and texts do not. What the check accepts must then be
/// playable.
#include "fuzz.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 3, LEAVES = 3, PARAMS = 3, ELEMENTS = 16, SMALL = 4096, ROWS = 2 };

typedef struct library {
    corral_env_plugin_descriptor descriptor;
    corral_env_type types[TYPES];
    corral_space observation[TYPES][LEAVES], action[TYPES][LEAVES];
    corral_env_param params[TYPES][PARAMS];
    corral_env_single single[TYPES];
    double low[ELEMENTS], high[ELEMENTS];
    int64_t nvec[ELEMENTS];
} library;

// --- rules that do next to nothing

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    (void)instance, (void)host, (void)values;
    return 0;
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    (void)instance, (void)seed, (void)observation;
    return 0;
}

static int32_t step(void *instance, const void *action, void *observation, corral_env_result *result)
{
    (void)instance, (void)action, (void)observation;
    result->reward = 1;
    return 0;
}

static const corral_env_batch_functions no_functions = {NULL, NULL, NULL, NULL};

static const void *odd_extension(const char *name)
{
    static const corral_env_state state = {4, 0, NULL, NULL};
    static const corral_env_action_mask mask = {sizeof mask, NULL};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    return strcmp(name, CORRAL_ENV_ACTION_MASK) == 0 ? &mask : NULL;
}

static const void *no_extension(const char *name)
{
    (void)name;
    return NULL;
}

// --- a right library

static void write_type(library *l, int t)
{
    static const char *const ids[TYPES] = {"A-v0", "B-v0", "C-v0"};
    static const char *const paths[LEAVES] = {"a", "b", "c"}, *const names[PARAMS] = {"x", "y", "z"};
    for (int k = 0; k < LEAVES; k++) {
        l->observation[t][k] = (corral_space){.path = paths[k],
                                              .kind = CORRAL_SPACE_BOX,
                                              .dtype = CORRAL_SPACE_F32,
                                              .dimension_count = 1,
                                              .shape = {4},
                                              .low = -1,
                                              .high = 1};
        l->action[t][k] = (corral_space){
            .path = paths[k], .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};
    }
    for (int k = 0; k < PARAMS; k++)
        l->params[t][k] = (corral_env_param){names[k], 1, 0, 2, "help"};
    l->single[t] = (corral_env_single){8, init, NULL, reset, step};
    l->types[t] = (corral_env_type){.size = sizeof(corral_env_type),
                                    .id = ids[t],
                                    .summary = "fuzz",
                                    .spaces = {l->observation[t], 1, l->action[t], 1},
                                    .params = l->params[t],
                                    .param_count = 1,
                                    .reward_threshold = NAN,
                                    .single = &l->single[t],
                                    .extension = no_extension};
}

static void write_library(library *l)
{
    memset(l, 0, sizeof *l);
    for (int t = 0; t < TYPES; t++)
        write_type(l, t);
    for (int i = 0; i < ELEMENTS; i++)
        l->low[i] = -2, l->high[i] = 2, l->nvec[i] = 3;
    l->descriptor =
        (corral_env_plugin_descriptor){CORRAL_ENV_ABI_MAJOR, 0, sizeof l->descriptor, 1, l->types};
}

// --- odd values

static double odd_number(uint8_t pick)
{
    static const double numbers[] = {0,        -0.0,      1,   -1,  2,   1e-300,      1e300,
                                     INFINITY, -INFINITY, NAN, 255, 256, 2147483648.0};
    return numbers[pick % (sizeof numbers / sizeof *numbers)];
}

static int64_t odd_integer(uint8_t pick)
{
    static const int64_t integers[] = {0,   1,     -1,        2,         3,         4,        5,
                                       255, 65537, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return integers[pick % (sizeof integers / sizeof *integers)];
}

static const char *odd_text(uint8_t pick)
{
    static char long_text[400];
    memset(long_text, 'x', sizeof long_text - 1);
    const char *const texts[] = {NULL, "", "a", "a:b", "x", "A-v0", "with space", "\xff\xfe", long_text};
    return texts[pick % (sizeof texts / sizeof *texts)];
}

/// A count that is true, or one that is refused before anything is read.
static uint32_t odd_count(uint8_t pick, uint32_t most)
{
    return pick % 8 <= most ? pick % 8 : UINT32_MAX - pick;
}

static void edit_space(library *l, corral_space *s, uint8_t field, uint8_t pick)
{
    switch (field % 12) {
    case 0:
        s->path = odd_text(pick);
        break;
    case 1:
        s->kind = pick % 7;
        break;
    case 2:
        s->dtype = pick % 7;
        break;
    case 3:
        s->dimension_count = (uint32_t)odd_integer(pick);
        break;
    case 4:
        s->shape[pick & 3] = (uint32_t)odd_integer(pick >> 2);
        break;
    case 5:
        s->low = odd_number(pick);
        break;
    case 6:
        s->high = odd_number(pick);
        break;
    case 7:
        s->low_each = pick & 1 ? l->low : NULL;
        break;
    case 8:
        s->high_each = pick & 1 ? l->high : NULL;
        break;
    case 9:
        s->n = odd_integer(pick);
        break;
    case 10:
        s->start = odd_integer(pick);
        break;
    default:
        s->nvec = pick & 1 ? l->nvec : NULL;
        break;
    }
}

static void edit_param(corral_env_param *p, uint8_t field, uint8_t pick)
{
    switch (field % 5) {
    case 0:
        p->name = odd_text(pick);
        break;
    case 1:
        p->default_value = odd_number(pick);
        break;
    case 2:
        p->min = odd_number(pick);
        break;
    case 3:
        p->max = odd_number(pick);
        break;
    default:
        p->help = odd_text(pick);
        break;
    }
}

static void edit_type(library *l, int t, uint8_t field, uint8_t pick)
{
    corral_env_type *type = &l->types[t];
    switch (field % 15) {
    case 0:
        type->size = (uint32_t)(pick & 1 ? sizeof *type : (size_t)odd_integer(pick));
        break;
    case 1:
        type->id = odd_text(pick);
        break;
    case 2:
        type->summary = odd_text(pick);
        break;
    case 3:
        type->spaces.observation_count = odd_count(pick, LEAVES);
        break;
    case 4:
        type->spaces.action_count = odd_count(pick, LEAVES);
        break;
    case 5:
        type->spaces.observation = pick & 1 ? l->observation[t] : NULL;
        break;
    case 6:
        type->spaces.action = pick & 1 ? l->action[t] : NULL;
        break;
    case 7:
        type->param_count = odd_count(pick, PARAMS);
        break;
    case 8:
        type->params = pick & 1 ? l->params[t] : NULL;
        break;
    case 9:
        type->max_episode_steps = (uint32_t)odd_integer(pick);
        break;
    case 10:
        type->reward_threshold = odd_number(pick);
        break;
    case 11:
        type->render_fps = odd_number(pick);
        break;
    case 12:
        type->single = pick & 1 ? &l->single[t] : NULL;
        break;
    case 13:
        type->batch = pick & 1 ? &no_functions : NULL;
        break;
    default:
        type->extension = pick % 3 == 0 ? NULL : pick % 3 == 1 ? no_extension : odd_extension;
        break;
    }
}

static void edit_functions(corral_env_single *s, uint8_t field, uint8_t pick)
{
    switch (field % 4) {
    case 0:
        s->instance_size = (size_t)odd_integer(pick);
        break;
    case 1:
        s->init = pick & 1 ? init : NULL;
        break;
    case 2:
        s->reset = pick & 1 ? reset : NULL;
        break;
    default:
        s->step = pick & 1 ? step : NULL;
        break;
    }
}

static void edit_rest(library *l, uint8_t field, uint8_t pick)
{
    switch (field % 7) {
    case 0:
        l->descriptor.abi_major = (uint32_t)odd_integer(pick);
        break;
    case 1:
        l->descriptor.size = (uint32_t)odd_integer(pick);
        break;
    case 2:
        l->descriptor.type_count = odd_count(pick, TYPES);
        break;
    case 3:
        l->descriptor.types = pick & 1 ? l->types : NULL;
        break;
    case 4:
        l->low[pick % ELEMENTS] = odd_number(pick / ELEMENTS);
        break;
    case 5:
        l->high[pick % ELEMENTS] = odd_number(pick / ELEMENTS);
        break;
    default:
        l->nvec[pick % ELEMENTS] = odd_integer(pick / ELEMENTS);
        break;
    }
}

static void edit(library *l, uint8_t where, uint8_t field, uint8_t pick)
{
    const int t = where / 8 % TYPES, k = where / 8 / TYPES % LEAVES;
    switch (where % 8) {
    case 0:
    case 1:
        edit_space(l, &l->observation[t][k], field, pick);
        break;
    case 2:
    case 3:
        edit_space(l, &l->action[t][k], field, pick);
        break;
    case 4:
        edit_param(&l->params[t][k], field, pick);
        break;
    case 5:
        edit_type(l, t, field, pick);
        break;
    case 6:
        edit_functions(&l->single[t], field, pick);
        break;
    default:
        edit_rest(l, field, pick);
        break;
    }
}

// --- honest pointers

static void shorten(corral_space *s)
{
    uint64_t count = 1;
    for (uint32_t d = 0; d < s->dimension_count && d < CORRAL_SPACE_DIMENSIONS && count <= ELEMENTS; d++)
        count *= s->shape[d];
    if (count <= ELEMENTS) return;
    s->low_each = s->high_each = NULL;
    s->nvec = NULL;
}

static void make_honest(library *l)
{
    for (int t = 0; t < TYPES; t++)
        for (int k = 0; k < LEAVES; k++) {
            shorten(&l->observation[t][k]);
            shorten(&l->action[t][k]);
        }
    // A longer type would be believed to be followed by the next one further on.
    if (l->types[0].size > sizeof l->types[0] && l->descriptor.type_count > 1) l->descriptor.type_count = 1;
}

// --- playing what was accepted

/// Rows of every leaf in one zeroed block, or false where that would be large.
static bool make_rows(const corral_space *leaves, uint32_t count, corral_env_rows *rows, void **out_block)
{
    size_t total = 0, at[LEAVES];
    for (uint32_t k = 0; k < count; k++) {
        const size_t bytes = corral_space_bytes(&leaves[k]);
        if (bytes > SMALL) return false;
        at[k] = total;
        total += ROWS * ((bytes + 7) / 8 * 8);
        rows[k].stride = (bytes + 7) / 8 * 8;
    }
    char *block = calloc(1, total + 1);
    if (block == NULL) abort();
    for (uint32_t k = 0; k < count; k++)
        rows[k].data = block + at[k];
    *out_block = block;
    return true;
}

static void step_some(corral_env_batch *batch, const corral_env_rows *action,
                      const corral_env_rows *observation)
{
    double reward[ROWS];
    uint8_t terminated[ROWS], truncated[ROWS], failed[ROWS];
    corral_episode ended[ROWS];
    uint32_t ended_row[ROWS];
    corral_env_batch_step io = {.observation = observation,
                                .reward = reward,
                                .terminated = terminated,
                                .truncated = truncated,
                                .ended = ended,
                                .ended_row = ended_row,
                                .failed = failed};
    CORRAL_ASSERT(corral_env_batch_reset(batch, observation) == CORRAL_OK);
    for (int i = 0; i < 3; i++) {
        const corral_status status = corral_env_batch_step_all(batch, action, &io);
        CORRAL_ASSERT(status == CORRAL_OK || status == CORRAL_ERROR_INVALID); // zero may be no action
        if (status == CORRAL_OK) CORRAL_ASSERT(reward[0] == 1 && io.failed_count == 0);
    }
}

static void play(const corral_env_type *type)
{
    corral_env_rows action[LEAVES], observation[LEAVES];
    void *action_block = NULL, *observation_block = NULL;
    const corral_env_batch_config config = {
        .type = type, .count = ROWS, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
    corral_env_batch *batch;
    if (type->single->instance_size <= SMALL &&
        make_rows(type->spaces.action, type->spaces.action_count, action, &action_block) &&
        make_rows(type->spaces.observation, type->spaces.observation_count, observation,
                  &observation_block)) {
        CORRAL_ASSERT(corral_env_batch_create(&config, &batch) == CORRAL_OK);
        step_some(batch, action, observation);
        corral_env_batch_destroy(batch);
    }
    free(action_block);
    free(observation_block);
}

static void describe(const corral_space *leaves, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        char *text = corral_space_describe(&leaves[k]);
        CORRAL_ASSERT(text != NULL && text[0] != '\0');
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static library l;
    write_library(&l);
    for (size_t i = 0; i + 3 <= size && i < 3 * 64; i += 3)
        edit(&l, bytes[i], bytes[i + 1], bytes[i + 2]);
    make_honest(&l);
    const corral_status status = corral_env_check_descriptor("fuzz.so", &l.descriptor);
    if (status != CORRAL_OK) {
        CORRAL_ASSERT(strncmp(corral_last_error(), "fuzz.so: ", 9) == 0);
        return 0;
    }
    for (uint32_t t = 0; t < l.descriptor.type_count; t++) {
        describe(l.types[t].spaces.observation, l.types[t].spaces.observation_count);
        describe(l.types[t].spaces.action, l.types[t].spaces.action_count);
        play(&l.types[t]);
    }
    return 0;
}
