/* SPDX-License-Identifier: Apache-2.0
 * Copyright (c) 2026 The Corral authors
 *
 * Write an environment for Corral: this header alone, C99 or later, or C++.
 *
 * An environment library exports one constant, `corral_env_plugin`, which lists its environments. An
 * environment is only its rules. The host owns episodes: it decides when to reset, counts steps, applies time
 * limits, seeds, records and draws. It steps many instances at once, straight into memory that it owns.
 *
 * There are two ways to write one. Fill `single` and describe ONE instance (a struct, reset, step): the host
 * makes batches of it. Or fill `batch` and step all instances in one call, the fast way. Never both.
 *
 *     static int32_t walk_step(void *instance, const void *action, void *observation,
 *                              corral_env_result *result);
 *     static const corral_env_type types[] = {{.size = sizeof(corral_env_type), .id = "Walk-v0", ...}};
 *     CORRAL_ENV_EXPORT(types, 1);
 *
 *     cc -O2 -shared -fPIC walk.c -o walk.so && corral train --algo ppo --env ./walk.so:Walk-v0
 *
 * Rules that keep everybody safe
 *  - No mutable globals: instances of one type may run in several threads and processes at once. One batch is
 *    used by one thread at a time, but not always by the same one.
 *  - Memory passed in is valid during that call only. Write only the rows you are given.
 *  - Same seed, same actions: same episode. Draw chance only from the instance's own corral_env_rng.
 *  - Failures are return codes with a sentence through host->error(); never exit, print or longjmp.
 *  - Compile with -ffp-contract=off where results shall be equal on every machine.
 *
 * Versions: a host loads a plug-in with the same CORRAL_ENV_ABI_MAJOR. Structs begin with their size and only
 * grow at the end; what is new is asked for by name through `extension`.
 */
#ifndef CORRAL_ENV_H
#define CORRAL_ENV_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CORRAL_ENV_ABI_MAJOR 1
#define CORRAL_ENV_ABI_MINOR 2

/* --- spaces */

typedef enum corral_space_kind {
    CORRAL_SPACE_BOX = 1,        /* `shape` numbers within low..high */
    CORRAL_SPACE_DISCRETE,       /* one int32: start .. start+n-1 */
    CORRAL_SPACE_MULTI_DISCRETE, /* `shape` int32s, element i: 0 .. nvec[i]-1 */
    CORRAL_SPACE_MULTI_BINARY    /* `shape` uint8s, 0 or 1 */
} corral_space_kind;

typedef enum corral_space_dtype {
    CORRAL_SPACE_F32 = 1,
    CORRAL_SPACE_F64,
    CORRAL_SPACE_U8,
    CORRAL_SPACE_I32
} corral_space_dtype;

#define CORRAL_SPACE_DIMENSIONS 4

/* One leaf. A plain space is one leaf with path ""; Dict and Tuple spaces are several, in canonical order
 * (keys sorted, then position), with paths like "camera" or "arm/0". */
typedef struct corral_space {
    const char *path;
    uint32_t kind;  /* corral_space_kind */
    uint32_t dtype; /* corral_space_dtype; DISCRETE and MULTI_DISCRETE: I32, MULTI_BINARY: U8 */
    uint32_t dimension_count;
    uint32_t shape[CORRAL_SPACE_DIMENSIONS]; /* DISCRETE: dimension_count 0 */
    double low, high;       /* BOX: bounds of every element; -INFINITY and INFINITY for none */
    const double *low_each; /* BOX: bounds per element, row-major, or NULL */
    const double *high_each;
    int64_t n;           /* DISCRETE: how many values */
    int64_t start;       /* DISCRETE: the first one, usually 0 */
    const int64_t *nvec; /* MULTI_DISCRETE */
} corral_space;

typedef struct corral_env_spaces {
    const corral_space *observation;
    uint32_t observation_count;
    const corral_space *action;
    uint32_t action_count;
} corral_env_spaces;

/* --- what the host offers */

/* NumPy's PCG64, so that seeds start where Gymnasium's start. Put one into each instance. Plain data: it may
 * be copied and saved with the instance. */
typedef struct corral_env_rng {
    uint64_t word[4];
    uint32_t spare, has_spare;
} corral_env_rng;

typedef enum corral_env_log_level {
    CORRAL_ENV_LOG_DEBUG,
    CORRAL_ENV_LOG_INFO,
    CORRAL_ENV_LOG_WARNING,
    CORRAL_ENV_LOG_ERROR
} corral_env_log_level;

/* Valid as long as the plug-in is loaded; keep the pointer. Every function: [any thread]. */
typedef struct corral_env_host {
    uint32_t size;                                        /* sizeof(corral_env_host) of the host */
    uint32_t abi_minor;                                   /* of the host */
    void (*rng_seed)(corral_env_rng *rng, uint64_t seed); /* default_rng(seed) */
    double (*rng_double)(corral_env_rng *rng);            /* random(): [0, 1) */
    double (*rng_uniform)(corral_env_rng *rng, double low, double high); /* uniform(low, high) */
    int64_t (*rng_integer)(corral_env_rng *rng, int64_t count);          /* integers(count): 0 .. count-1 */
    /* The sentence of the failure that the current call is about to return. Copied. */
    void (*error)(const char *sentence);
    void (*log)(int32_t level, const char *line);
} corral_env_host;

/* --- parameters */

/* A setting that people may change: `env.params.gravity: 9.8`. All are numbers; a flag is 0 or 1. */
typedef struct corral_env_param {
    const char *name;
    double default_value, min, max;
    const char *help; /* one line */
} corral_env_param;

/* --- one instance */

typedef struct corral_env_result {
    double reward;
    uint8_t terminated; /* a true end of the episode; time limits belong to the host */
    uint8_t truncated;  /* cut off by the environment itself for a reason outside its rules; usually 0 */
} corral_env_result;

/* Return 0 for success, anything else (after host->error) for a failure of this instance alone: it is reset
 * and its open episode is dropped. Observations and actions with several leaves: `observation` and `action`
 * point to arrays of pointers, one per leaf; with one leaf they point to its data. */
typedef struct corral_env_single {
    size_t instance_size; /* bytes, zeroed before init, aligned to 64 */
    /* values[i] belongs to params[i], checked against its range. May be NULL: nothing to set up. */
    int32_t (*init)(void *instance, const corral_env_host *host, const double *values);
    void (*finish)(void *instance); /* may be NULL */
    int32_t (*reset)(void *instance, uint64_t seed, void *observation);
    int32_t (*step)(void *instance, const void *action, void *observation, corral_env_result *result);
} corral_env_single;

/* --- many instances at once */

/* Row i of leaf k starts at (char *)leaf[k].data + i * leaf[k].stride. Rows are aligned to their element. */
typedef struct corral_env_rows {
    void *data;
    size_t stride; /* bytes */
} corral_env_rows;

typedef struct corral_env_step {
    uint32_t size;
    const corral_env_rows *action;      /* one per action leaf; NULL in a reset */
    const corral_env_rows *observation; /* one per observation leaf: where the next observation goes */
    double *reward;                     /* [count] */
    uint8_t *terminated;                /* [count] 0 or 1 */
    uint8_t *truncated;                 /* [count] already 0 */
    uint8_t *failed;                    /* [count] already 0; 1: this instance failed, the others are fine */
} corral_env_step;

typedef struct corral_env_batch_functions {
    /* Makes `count` instances. They are reset before they are stepped. */
    int32_t (*create)(const corral_env_host *host, uint32_t count, const double *values, void **out_batch);
    void (*destroy)(void *batch);
    /* Starts new episodes in the instances with mask[i] != 0 (all where mask is NULL); seed[i] is for
     * instance i. Writes their observation rows only. */
    int32_t (*reset)(void *batch, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out);
    /* One step of all instances. After an end the host resets before it steps again. A non-zero return means
     * that the whole batch failed. */
    int32_t (*step)(void *batch, const corral_env_step *io);
} corral_env_batch_functions;

/* --- the descriptor */

typedef struct corral_env_type {
    uint32_t size;       /* sizeof(corral_env_type) */
    const char *id;      /* "CartPole-v1" */
    const char *summary; /* one line */
    corral_env_spaces spaces;
    const corral_env_param *params;
    uint32_t param_count;
    uint32_t max_episode_steps;      /* the usual time limit, applied by the host; 0: none */
    double reward_threshold;         /* the return that counts as solved; NAN where there is none */
    double render_fps;               /* 0: 30 */
    const corral_env_single *single; /* exactly one of these two */
    const corral_env_batch_functions *batch;
    /* Optional abilities by name; NULL for unknown names. The pointer itself may be NULL. */
    const void *(*extension)(const char *name);

    /* Since 1.1, for types that are made while the program runs, where the same functions serve several
     * types: `create_for` is called instead of batch->create (which may be NULL), `extension_for` instead of
     * extension. Usual types leave these at NULL. */
    const void *context; /* the type's own */
    int32_t (*create_for)(const struct corral_env_type *type, const corral_env_host *host, uint32_t count,
                          const double *values, void **out_batch);
    const void *(*extension_for)(const struct corral_env_type *type, const char *name);
} corral_env_type;

typedef struct corral_env_plugin_descriptor {
    uint32_t abi_major, abi_minor;
    uint32_t size;
    uint32_t type_count;
    const corral_env_type *types;
    /* Since 1.1, may be NULL: makes a type of what stands behind the library's name where that is none of its
     * ids, for instance of a file ("./physics.so:hopper.yaml"). Called once for each such name; the type
     * lives as long as the program. NULL, after host->error, where there can be none. */
    const corral_env_type *(*open)(const corral_env_host *host, const char *what);
} corral_env_plugin_descriptor;

#if defined(_WIN32)
#define CORRAL_ENV_PUBLIC __declspec(dllexport)
#elif defined(__GNUC__)
#define CORRAL_ENV_PUBLIC __attribute__((visibility("default")))
#else
#define CORRAL_ENV_PUBLIC
#endif

#ifdef __cplusplus
#define CORRAL_ENV_LINKAGE extern "C"
#else
#define CORRAL_ENV_LINKAGE extern
#endif

/* Exports an array of `count` types. Once per library. */
#define CORRAL_ENV_EXPORT(type_array, count) CORRAL_ENV_EXPORT_OPEN(type_array, count, NULL)

/* The same for a library that also makes types of names. */
#define CORRAL_ENV_EXPORT_OPEN(type_array, count, open)                                                      \
    CORRAL_ENV_LINKAGE CORRAL_ENV_PUBLIC const corral_env_plugin_descriptor corral_env_plugin;               \
    const corral_env_plugin_descriptor corral_env_plugin = {CORRAL_ENV_ABI_MAJOR,                            \
                                                            CORRAL_ENV_ABI_MINOR,                            \
                                                            sizeof(corral_env_plugin_descriptor),            \
                                                            (count),                                         \
                                                            (type_array),                                    \
                                                            (open)}

/* --- extensions */

/* Save and load: the run can stop and go on as if it had not, and a lost worker's episodes go on elsewhere.
 * For a `single` type `batch` is the instance and `index` is 0. */
#define CORRAL_ENV_STATE "corral.state"
typedef struct corral_env_state {
    uint32_t size;
    uint32_t state_size; /* bytes per instance, fixed */
    void (*save)(const void *batch, uint32_t index, void *out_state);
    int32_t (*load)(void *batch, uint32_t index, const void *state);
} corral_env_state;

/* Drawing as a display list: one description serves the window, pictures, videos and a page. */
#define CORRAL_ENV_RENDER "corral.render"
typedef enum corral_draw_kind {
    CORRAL_DRAW_LINE = 1, /* point[0], point[1], size = width */
    CORRAL_DRAW_POLYGON,  /* point[0 .. count-1], filled, convex or not */
    CORRAL_DRAW_CIRCLE,   /* point[0], size = radius, filled */
    CORRAL_DRAW_TEXT,     /* point[0] = left end of the baseline, size = height, text */
    CORRAL_DRAW_IMAGE     /* point[0] top left, point[1] bottom right; image: width x height RGB */
} corral_draw_kind;

#define CORRAL_DRAW_POINTS 16
typedef struct corral_draw {
    uint32_t kind;
    uint32_t color; /* 0xRRGGBBAA */
    float size;
    uint32_t point_count;
    float point[CORRAL_DRAW_POINTS][2]; /* in the frame's units, origin top left, y down */
    char text[64];
    const uint8_t *image; /* valid until the next call on this instance */
    uint32_t image_width, image_height;
} corral_draw;

typedef struct corral_env_render {
    uint32_t size;
    float width, height; /* of the frame, in units; also its usual size in pixels */
    uint32_t background; /* 0xRRGGBBAA */
    /* Writes at most `limit` items, bottom to top; returns how many there are. */
    uint32_t (*draw)(const void *batch, uint32_t index, corral_draw *out_items, uint32_t limit);
} corral_env_render;

/* Which actions are allowed now: writes one byte (0 or 1) for each choice, n for a DISCRETE action space. For
 * several elements and leaves, one behind the other: nvec[i] bytes for each element of a MULTI_DISCRETE, 2
 * (may be 0, may be 1) for each of a MULTI_BINARY, none for a BOX. At least one of each element's is 1. */
#define CORRAL_ENV_ACTION_MASK "corral.action-mask"
typedef struct corral_env_action_mask {
    uint32_t size;
    void (*mask)(const void *batch, uint32_t index, uint8_t *out_allowed);
} corral_env_action_mask;

/* Since 1.2. Numbers beside the reward that people like to watch: a score, the parts of a reward, a distance.
 * They are asked for after a step; the viewer shows them, and a run keeps those that each episode ended with,
 * and their means as info/NAME. NAN stands for none. */
#define CORRAL_ENV_INFO      "corral.info"
#define CORRAL_ENV_INFO_MOST 16
#define CORRAL_ENV_INFO_NAME 32
typedef struct corral_env_info {
    uint32_t size;
    uint32_t count;          /* 1 .. CORRAL_ENV_INFO_MOST */
    const char *const *name; /* [count]: letters, digits, _ and -, shorter than CORRAL_ENV_INFO_NAME */
    void (*info)(const void *batch, uint32_t index, double *out_values); /* [count] */
} corral_env_info;

/* Since 1.2. How a person plays with the keys of a keyboard: `action` writes the action of one who holds
 * these down (bits of corral_env_key), row 0 of each action leaf; none held is an action, too. Without it the
 * arrows mean less and more, or the first and the last choice, and the game waits for a key. */
#define CORRAL_ENV_KEYS "corral.keys"
typedef enum corral_env_key {
    CORRAL_KEY_LEFT = 1,
    CORRAL_KEY_RIGHT = 1 << 1,
    CORRAL_KEY_UP = 1 << 2,
    CORRAL_KEY_DOWN = 1 << 3,
    CORRAL_KEY_SHIFT = 1 << 4,
    CORRAL_KEY_CONTROL = 1 << 5,
    CORRAL_KEY_ENTER = 1 << 6,
    CORRAL_KEY_0 = 1 << 16 /* that of digit d is CORRAL_KEY_0 << d */
} corral_env_key;
typedef struct corral_env_keys {
    uint32_t size;
    const char *help; /* "up fires the main engine, left and right steer"; one line */
    void (*action)(const void *batch, uint32_t index, uint32_t held, const corral_env_rows *out_action);
} corral_env_keys;

#ifdef __cplusplus
}
#endif
#endif
