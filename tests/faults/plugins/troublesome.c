/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * A walk of 25 steps that can be saved and loaded, and that one thing goes wrong in. The variable
 * TROUBLE_FILE names a file: whoever manages to remove it has the trouble, at its 7th step of an episode or
 * later, so it befalls one process once. The trouble is the environment's name; Calm-v0 has none. */
#include "corral/env.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EPISODE_STEPS = 25, TROUBLE_STEP = 7 };

typedef struct walk {
    const corral_env_host *host;
    corral_env_rng rng;
    double always; /* the parameter: no file is asked */
    int32_t position, steps;
} walk;

static void observe(const walk *w, float *observation)
{
    observation[0] = (float)w->position;
    observation[1] = (float)w->steps;
}

static int32_t init(void *instance, const corral_env_host *host, const double *values)
{
    walk *w = instance;
    w->host = host;
    w->always = values[0];
    return 0;
}

static int32_t reset(void *instance, uint64_t seed, void *observation)
{
    walk *w = instance;
    w->host->rng_seed(&w->rng, seed);
    w->position = w->steps = 0;
    observe(w, observation);
    return 0;
}

/* The walk itself: to the right is paid, and now and then the wind blows. */
static void move(walk *w, int32_t action, float *observation, corral_env_result *result)
{
    w->position += action == 1 ? 1 : -1;
    if (w->host->rng_double(&w->rng) < 0.2) w->position--;
    w->steps++;
    result->reward = action == 1;
    result->terminated = w->steps >= EPISODE_STEPS;
    observe(w, observation);
}

static int is_time_for_trouble(const walk *w)
{
    const char *file = getenv("TROUBLE_FILE");
    if (w->steps < TROUBLE_STEP) return 0;
    return w->always != 0 || (file != NULL && unlink(file) == 0);
}

#define STEP_BEGIN                                                                                           \
    walk *w = instance;                                                                                      \
    move(w, *(const int32_t *)action, observation, result);                                                  \
    if (!is_time_for_trouble(w)) return 0

static int32_t step_calm(void *instance, const void *action, void *observation, corral_env_result *result)
{
    move(instance, *(const int32_t *)action, observation, result);
    return 0;
}

static int32_t step_abort(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    fprintf(stderr, "walk.c:12: wheel: Assertion `wheels == 4' failed.\n");
    signal(SIGABRT, SIG_DFL);
    abort();
}

static int32_t step_exit(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    _exit(0);
}

static void wait_for_ever(void)
{
    for (;;)
        pause();
}

static int32_t step_hang(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    wait_for_ever();
    return 0;
}

/* A child that does not listen, in a session of its own, and holds whatever its parent had open. */
static int32_t step_fork(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        setsid();
        wait_for_ever();
    }
    return 0;
}

static int32_t step_error(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    w->host->error("the gearbox is stuck");
    return 1;
}

static int32_t step_nan(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    ((float *)observation)[0] = NAN;
    return 0;
}

static int32_t step_inf(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    result->reward = INFINITY;
    return 0;
}

/* Finds what of Corral's shared memory this process has mapped with these rights, and overwrites all of it.
 */
static void scribble(const char *rights)
{
    char line[512], permissions[5];
    unsigned long begin, end;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "/memfd:corral") != NULL &&
            sscanf(line, "%lx-%lx %4s", &begin, &end, permissions) == 3 &&
            strncmp(permissions, rights, 2) == 0)
            memset((void *)begin, 0xff, end - begin);
    if (maps != NULL) fclose(maps);
}

/* Over everything that this process may write: its own blocks. */
static int32_t step_scribble(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    scribble("rw");
    return 0;
}

/* Over what it may only read: the weights. */
static int32_t step_vandal(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    scribble("r-");
    return 0;
}

/* Far more than its space says. */
static int32_t step_overrun(void *instance, const void *action, void *observation, corral_env_result *result)
{
    STEP_BEGIN;
    memset(observation, 0x7f, (size_t)256 << 20);
    return 0;
}

/* --- saving */

typedef struct saved {
    corral_env_rng rng;
    int32_t position, steps;
} saved;

static void save(const void *instance, uint32_t index, void *out_state)
{
    const walk *w = instance;
    const saved state = {w->rng, w->position, w->steps};
    (void)index;
    memcpy(out_state, &state, sizeof state);
}

static int32_t load(void *instance, uint32_t index, const void *bytes)
{
    walk *w = instance;
    saved state;
    (void)index;
    memcpy(&state, bytes, sizeof state);
    w->rng = state.rng;
    w->position = state.position;
    w->steps = state.steps;
    return 0;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof(corral_env_state), sizeof(saved), save, load};
    return strcmp(name, CORRAL_ENV_STATE) == 0 ? &state : NULL;
}

/* --- what there is */

static const corral_space observation_space = {.path = "",
                                               .kind = CORRAL_SPACE_BOX,
                                               .dtype = CORRAL_SPACE_F32,
                                               .dimension_count = 1,
                                               .shape = {2},
                                               .low = -100,
                                               .high = 100};
static const corral_space action_space = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};
static const corral_env_param params[] = {{"always", 0, 0, 1, "1: in every episode, without a file"}};

#define SINGLE(name)                                                                                         \
    static const corral_env_single single_##name = {sizeof(walk), init, NULL, reset, step_##name}
SINGLE(calm);
SINGLE(abort);
SINGLE(exit);
SINGLE(hang);
SINGLE(fork);
SINGLE(error);
SINGLE(nan);
SINGLE(inf);
SINGLE(scribble);
SINGLE(vandal);
SINGLE(overrun);

#define TYPE(name, id_text)                                                                                  \
    {                                                                                                        \
        .size = sizeof(corral_env_type), .id = (id_text), .summary = "a walk with trouble on the way",       \
        .spaces = {&observation_space, 1, &action_space, 1}, .params = params, .param_count = 1,             \
        .reward_threshold = NAN, .single = &single_##name, .extension = extension                            \
    }
static const corral_env_type types[] = {
    TYPE(calm, "Calm-v0"),     TYPE(abort, "Abort-v0"),    TYPE(exit, "Exit-v0"),
    TYPE(hang, "Hang-v0"),     TYPE(fork, "Fork-v0"),      TYPE(error, "Error-v0"),
    TYPE(nan, "Nan-v0"),       TYPE(inf, "Inf-v0"),        TYPE(scribble, "Scribble-v0"),
    TYPE(vandal, "Vandal-v0"), TYPE(overrun, "Overrun-v0")};
CORRAL_ENV_EXPORT(types, sizeof types / sizeof types[0]);
