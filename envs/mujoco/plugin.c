// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Environments of MuJoCo models: "mujoco:hopper.yaml". The library makes one type for each file; a type has
// the model, an instance has the simulation's data.
//
// A step is `frame_skip` steps of the simulation under one action, and a forward pass, so that sensors belong
// to where things are now. The reward is a sum of terms; the episode ends where a value leaves its bounds.
// States are saved with the solver's warm start, without which the next step would differ in its last bits.

#include "spec.h"

#include "corral/env.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model_type {
    corral_env_type type; // its context is this
    spec s;
    char id[320];
    corral_space observation, action;
    double *action_low, *action_high;
    corral_env_state state;
} model_type;

typedef struct batch {
    const model_type *of;
    const corral_env_host *host;
    uint32_t count;
    mjData *data[];
} batch;

// --- values

static float *write_values(const mjData *d, const spec_values *v, float *out)
{
    const double *values = spec_array(d, v->source) + v->first;
    for (int i = 0; i < v->count; i++)
        *out++ = (float)values[i];
    return out;
}

static void observe(const spec *s, const mjData *d, const corral_env_rows *rows, uint32_t index)
{
    float *out = (float *)(void *)((char *)rows->data + index * rows->stride);
    for (int k = 0; k < s->observation_count; k++)
        out = write_values(d, &s->observation[k], out);
}

static double sum_of(const spec *s, const mjData *d, const spec_term *t)
{
    if (t->values.source == SPEC_ALIVE) return 1;
    const bool control = t->values.source == SPEC_CONTROL;
    const double *values = control ? d->ctrl : spec_array(d, t->values.source) + t->values.first;
    const int count = control ? s->model->nu : t->values.count;
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += t->square || control ? values[i] * values[i] : values[i];
    return sum;
}

static double reward_of(const spec *s, const mjData *d)
{
    double reward = 0;
    for (int k = 0; k < s->reward_count; k++)
        reward += s->reward[k].weight * sum_of(s, d, &s->reward[k]);
    return reward;
}

static bool is_over(const spec *s, const mjData *d)
{
    for (int k = 0; k < s->end_count; k++) {
        const spec_bound *b = &s->end[k];
        const double *values = spec_array(d, b->values.source) + b->values.first;
        for (int i = 0; i < b->values.count; i++)
            if (values[i] < b->low || values[i] > b->high) return true;
    }
    return false;
}

// --- playing

/// MuJoCo begins anew where numbers run away, and counts it.
static bool has_exploded(const mjData *d)
{
    return d->warning[mjWARN_BADQPOS].number + d->warning[mjWARN_BADQVEL].number +
               d->warning[mjWARN_BADQACC].number + d->warning[mjWARN_BADCTRL].number >
           0;
}

static int32_t step(void *handle, const corral_env_step *io)
{
    batch *b = handle;
    const spec *s = &b->of->s;
    for (uint32_t i = 0; i < b->count; i++) {
        mjData *d = b->data[i];
        const float *action =
            (const float *)(const void *)((const char *)io->action->data + i * io->action->stride);
        for (int u = 0; u < s->model->nu; u++)
            d->ctrl[u] = action[u];
        for (int k = 0; k < s->frame_skip; k++)
            mj_step(s->model, d);
        mj_forward(s->model, d);
        if (has_exploded(d)) {
            b->host->error("the simulation became unstable; smaller steps or weaker motors help");
            io->failed[i] = 1;
        }
        io->reward[i] = reward_of(s, d);
        io->terminated[i] = is_over(s, d);
        observe(s, d, io->observation, i);
    }
    return 0;
}

/// The model's first key frame where it has one, and noise.
static void begin(const batch *b, mjData *d, uint64_t seed)
{
    const spec *s = &b->of->s;
    corral_env_rng rng;
    b->host->rng_seed(&rng, seed);
    if (s->model->nkey > 0)
        mj_resetDataKeyframe(s->model, d, 0);
    else
        mj_resetData(s->model, d);
    for (int i = 0; i < s->model->nq; i++)
        d->qpos[i] += b->host->rng_uniform(&rng, -s->noise, s->noise);
    for (int i = 0; i < s->model->nv; i++)
        d->qvel[i] += b->host->rng_uniform(&rng, -s->noise, s->noise);
    mj_forward(s->model, d);
}

static int32_t reset(void *handle, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    batch *b = handle;
    for (uint32_t i = 0; i < b->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        begin(b, b->data[i], seed[i]);
        observe(&b->of->s, b->data[i], out->observation, i);
    }
    return 0;
}

// --- life

static void destroy(void *handle)
{
    batch *b = handle;
    for (uint32_t i = 0; i < b->count; i++)
        if (b->data[i] != NULL) mj_deleteData(b->data[i]);
    free(b);
}

static int32_t create(const corral_env_type *type, const corral_env_host *host, uint32_t count,
                      const double *values, void **out_batch)
{
    (void)values;
    batch *b = calloc(1, sizeof *b + count * sizeof b->data[0]);
    if (b == NULL) return 1;
    b->of = type->context;
    b->host = host;
    b->count = count;
    for (uint32_t i = 0; i < count; i++) {
        b->data[i] = mj_makeData(b->of->s.model);
        if (b->data[i] != NULL) continue;
        host->error("no memory for a simulation");
        destroy(b);
        return 1;
    }
    *out_batch = b;
    return 0;
}

// --- state

/// Calls `take` with each array that a simulation goes on from.
typedef void take_array(double *array, int count, char **state);

static void each_array(const mjModel *m, mjData *d, take_array *take, char *state)
{
    take(&d->time, 1, &state);
    take(d->qpos, m->nq, &state);
    take(d->qvel, m->nv, &state);
    take(d->act, m->na, &state);
    take(d->ctrl, m->nu, &state);
    take(d->qacc_warmstart, m->nv, &state);
}

static void put_array(double *array, int count, char **state)
{
    memcpy(*state, array, (size_t)count * sizeof *array);
    *state += (size_t)count * sizeof *array;
}

static void take_back(double *array, int count, char **state)
{
    memcpy(array, *state, (size_t)count * sizeof *array);
    *state += (size_t)count * sizeof *array;
}

static void save(const void *handle, uint32_t index, void *out_state)
{
    const batch *b = handle;
    each_array(b->of->s.model, b->data[index], put_array, out_state);
}

static int32_t load(void *handle, uint32_t index, const void *state)
{
    batch *b = handle;
    const mjModel *m = b->of->s.model;
    mj_resetData(m, b->data[index]);
    each_array(m, b->data[index], take_back, (char *)(uintptr_t)state);
    for (int i = 0; i < m->nq; i++)
        if (!isfinite(b->data[index]->qpos[i])) return 1;
    mj_forward(m, b->data[index]); // where everything is; it moves the warm start
    each_array(m, b->data[index], take_back, (char *)(uintptr_t)state);
    return 0;
}

// --- picture: what lies in the plane of x and z, seen from the side, the window following the first body

#define VIEW  480.0f
#define SCALE 120.0f // units to a metre

typedef struct canvas {
    corral_draw *items;
    uint32_t limit, count;
    double left;
} canvas;

static corral_draw *add(canvas *c, uint32_t kind, uint32_t color, float size)
{
    static _Thread_local corral_draw beyond; // what does not fit is written here
    corral_draw *item = c->count < c->limit ? &c->items[c->count] : &beyond;
    c->count++;
    *item = (corral_draw){.kind = kind, .color = color, .size = size};
    return item;
}

static void put_point(const canvas *c, corral_draw *item, double x, double z)
{
    item->point[item->point_count][0] = (float)(x - c->left) * SCALE;
    item->point[item->point_count][1] = VIEW * 0.85f - (float)z * SCALE;
    item->point_count++;
}

static uint32_t color_of(const float *rgba)
{
    uint32_t color = 0;
    for (int i = 0; i < 4; i++)
        color = color << 8 | (uint32_t)(fminf(fmaxf(rgba[i], 0), 1) * 255 + 0.5f);
    return color;
}

static void draw_rod(canvas *c, const double *middle, const double *axes, double half, double radius,
                     uint32_t color)
{
    const double x = axes[2] * half, z = axes[8] * half;
    corral_draw *rod = add(c, CORRAL_DRAW_LINE, color, (float)(2 * radius) * SCALE);
    put_point(c, rod, middle[0] - x, middle[2] - z);
    put_point(c, rod, middle[0] + x, middle[2] + z);
    for (int end = -1; end <= 1; end += 2) {
        corral_draw *cap = add(c, CORRAL_DRAW_CIRCLE, color, (float)radius * SCALE);
        put_point(c, cap, middle[0] + end * x, middle[2] + end * z);
    }
}

static void draw_box(canvas *c, const double *middle, const double *axes, const double *half, uint32_t color)
{
    corral_draw *box = add(c, CORRAL_DRAW_POLYGON, color, 0);
    static const int corner[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (int i = 0; i < 4; i++)
        put_point(c, box, middle[0] + corner[i][0] * axes[0] * half[0] + corner[i][1] * axes[2] * half[2],
                  middle[2] + corner[i][0] * axes[6] * half[0] + corner[i][1] * axes[8] * half[2]);
}

static void draw_geom(canvas *c, const mjModel *m, const mjData *d, int g)
{
    const double *middle = d->geom_xpos + 3 * g, *axes = d->geom_xmat + 9 * g, *size = m->geom_size + 3 * g;
    const uint32_t color = color_of(m->geom_rgba + 4 * g);
    if (m->geom_type[g] == mjGEOM_PLANE) {
        corral_draw *ground = add(c, CORRAL_DRAW_POLYGON, color, 0);
        const double right = c->left + (double)(VIEW / SCALE);
        put_point(c, ground, c->left, middle[2]);
        put_point(c, ground, right, middle[2]);
        put_point(c, ground, right, middle[2] - 2);
        put_point(c, ground, c->left, middle[2] - 2);
    } else if (m->geom_type[g] == mjGEOM_CAPSULE || m->geom_type[g] == mjGEOM_CYLINDER) {
        draw_rod(c, middle, axes, size[1], size[0], color);
    } else if (m->geom_type[g] == mjGEOM_BOX) {
        draw_box(c, middle, axes, size, color);
    } else {
        corral_draw *ball = add(c, CORRAL_DRAW_CIRCLE, color, (float)m->geom_rbound[g] * SCALE);
        put_point(c, ball, middle[0], middle[2]);
    }
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const batch *b = handle;
    const mjModel *m = b->of->s.model;
    const mjData *d = b->data[index];
    canvas c = {out_items, limit, 0, (m->nbody > 1 ? d->xpos[3] : 0) - (double)(VIEW / SCALE) / 2};
    for (int planes = 1; planes >= 0; planes--) // the ground first
        for (int g = 0; g < m->ngeom; g++)
            if ((m->geom_type[g] == mjGEOM_PLANE) == (planes == 1)) draw_geom(&c, m, d, g);
    return c.count;
}

static const void *extension_for(const corral_env_type *type, const char *name)
{
    static const corral_env_render render = {sizeof render, VIEW, VIEW, 0xf7f8faff, draw};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &((const model_type *)type->context)->state;
    return strcmp(name, CORRAL_ENV_RENDER) == 0 ? &render : NULL;
}

// --- the type of a file

static bool describe_action(model_type *t)
{
    const mjModel *m = t->s.model;
    t->action_low = calloc((size_t)m->nu, sizeof *t->action_low);
    t->action_high = calloc((size_t)m->nu, sizeof *t->action_high);
    if (t->action_low == NULL || t->action_high == NULL) return false;
    for (int u = 0; u < m->nu; u++) {
        t->action_low[u] = m->actuator_ctrllimited[u] ? m->actuator_ctrlrange[2 * u] : -1;
        t->action_high[u] = m->actuator_ctrllimited[u] ? m->actuator_ctrlrange[2 * u + 1] : 1;
    }
    t->action = (corral_space){.path = "",
                               .kind = CORRAL_SPACE_BOX,
                               .dtype = CORRAL_SPACE_F32,
                               .dimension_count = 1,
                               .shape = {(uint32_t)m->nu},
                               .low_each = t->action_low,
                               .high_each = t->action_high};
    return true;
}

static void describe(model_type *t)
{
    static const corral_env_batch_functions functions = {NULL, destroy, reset, step};
    const mjModel *m = t->s.model;
    t->observation = (corral_space){.path = "",
                                    .kind = CORRAL_SPACE_BOX,
                                    .dtype = CORRAL_SPACE_F32,
                                    .dimension_count = 1,
                                    .shape = {(uint32_t)t->s.observation_size},
                                    .low = -INFINITY,
                                    .high = INFINITY};
    const int numbers = 1 + m->nq + m->nv + m->na + m->nu + m->nv;
    t->state = (corral_env_state){sizeof t->state, (uint32_t)numbers * (uint32_t)sizeof(double), save, load};
    t->type = (corral_env_type){.size = sizeof t->type,
                                .id = t->id,
                                .summary = t->s.summary,
                                .spaces = {&t->observation, 1, &t->action, 1},
                                .max_episode_steps = t->s.max_episode_steps,
                                .reward_threshold = t->s.reward_threshold,
                                .render_fps = 1 / (m->opt.timestep * t->s.frame_skip),
                                .batch = &functions,
                                .context = t,
                                .create_for = create,
                                .extension_for = extension_for};
}

/// The usual handler writes a file into the working directory.
static void no_warning(const char *text)
{
    (void)text;
}

static const corral_env_type *open_file(const corral_env_host *host, const char *path)
{
    mju_user_warning = no_warning;
    model_type *t = calloc(1, sizeof *t);
    char sentence[500] = "no memory";
    if (t != NULL && spec_read(&t->s, path, sentence, sizeof sentence) && describe_action(t)) {
        snprintf(t->id, sizeof t->id, "mujoco:%s", path);
        describe(t);
        return &t->type;
    }
    host->error(sentence);
    if (t != NULL) {
        spec_free(&t->s);
        free(t->action_low);
        free(t->action_high);
    }
    free(t);
    return NULL;
}

CORRAL_ENV_EXPORT_OPEN(NULL, 0, open_file);
