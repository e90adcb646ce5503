// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "replay.h"

#include "film.h"
#include "scene.h"

#include "environment.h"
#include "record/replay_note.h"

#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay {
    replay_note note;
    environment_setup setup;
    corral_env_batch *batch;
    unsigned char *observation, *action;
    corral_env_rows rows[SPACES_LEAVES_MAX], actions[SPACES_LEAVES_MAX];
    scene scene;
    corral_status drawn;
    fonts *fonts;
    canvas canvas;
    film *film;
    unsigned long long frames;
} replay;

static void draw(replay *r, const corral_env_batch *batch)
{
    uint32_t index;
    const void *handle = corral_env_batch_handle(batch, 0, &index);
    r->drawn = scene_capture(&r->scene, r->setup.type, handle, index);
}

static void before_reset(void *context, const corral_env_batch *batch, uint32_t row)
{
    (void)row;
    draw(context, batch);
}

static corral_status add_frame(replay *r)
{
    if (r->drawn != CORRAL_OK) return r->drawn;
    scene_paint(&r->scene, &r->canvas, r->fonts,
                (box){0, 0, (float)r->canvas.width, (float)r->canvas.height});
    r->frames++;
    return film_add(r->film, &r->canvas);
}

static corral_status open_environment(replay *r)
{
    corral_status status = environment_setup_init(&r->setup, r->note.env, &r->note.params);
    if (status != CORRAL_OK) return status;
    const corral_env_batch_config config = {
        .type = r->setup.type,
        .count = 1,
        .first_index = r->note.environment,
        .run_seed = r->note.seed,
        .role = CORRAL_STREAM_ENVIRONMENT,
        .max_episode_steps = r->note.max_episode_steps,
        .param_values = r->setup.values,
        .before_reset = before_reset,
        .before_reset_context = r,
    };
    const environment_spaces *spaces = &r->setup.spaces;
    if (r->note.action_bytes != spaces->action_bytes)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s takes actions of %u bytes, not %u", r->note.env,
                           spaces->action_bytes, r->note.action_bytes);
    r->observation = calloc(1, spaces->observation_bytes + 64);
    r->action = calloc(1, spaces->action_bytes + 64);
    if (r->observation == NULL || r->action == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to play");
    environment_observation_rows(spaces, r->observation, spaces->observation_bytes, r->rows);
    environment_action_rows(spaces, r->action, spaces->action_bytes, r->actions);
    status = corral_env_batch_create(&config, &r->batch);
    if (status == CORRAL_OK) status = corral_env_batch_reset_to(r->batch, r->note.number, r->rows);
    if (status == CORRAL_OK) draw(r, r->batch);
    return status;
}

static corral_status open_film(replay *r, const char *out)
{
    float width, height;
    const corral_env_type *type = r->setup.type;
    if (!scene_size(type, &width, &height))
        return corral_fail(CORRAL_ERROR_UNSUPPORTED, "%s draws no picture", type->id);
    corral_status status = fonts_open(&r->fonts);
    if (status == CORRAL_OK) status = canvas_init(&r->canvas, (uint32_t)width, (uint32_t)height);
    if (status == CORRAL_OK)
        status = film_open(out, r->canvas.width, r->canvas.height,
                           type->render_fps > 0 ? type->render_fps : 30, &r->film);
    return status;
}

static corral_status play(replay *r, const volatile sig_atomic_t *stop)
{
    corral_status status = add_frame(r);
    bool ended = false;
    for (uint32_t t = 0; t < r->note.count && status == CORRAL_OK && !ended && !*stop; t++) {
        memcpy(r->action, r->note.actions + (size_t)t * r->note.action_bytes, r->note.action_bytes);
        double reward;
        uint8_t flags[3];
        corral_episode episode;
        uint32_t row;
        corral_env_batch_step step = {.observation = r->rows,
                                      .reward = &reward,
                                      .terminated = &flags[0],
                                      .truncated = &flags[1],
                                      .failed = &flags[2],
                                      .ended = &episode,
                                      .ended_row = &row};
        status = corral_env_batch_step_all(r->batch, r->actions, &step);
        if (status == CORRAL_OK && step.failed_count > 0)
            status = corral_fail(CORRAL_ERROR_ENVIRONMENT, "%s", corral_env_batch_failure(r->batch));
        ended = status == CORRAL_OK && step.ended_count > 0;
        if (status == CORRAL_OK && !ended) draw(r, r->batch);
        if (status == CORRAL_OK) status = add_frame(r);
    }
    return status;
}

/// What the training leaves of the processor is enough.
static void step_back(void)
{
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_IDLE, &none); // where that is not allowed it goes on as it is
}

corral_status replay_film(const char *note, const char *out, const volatile sig_atomic_t *stop,
                          char **out_path, unsigned long long *out_frames)
{
    replay r = {0};
    *out_path = NULL;
    step_back();
    corral_status status = replay_note_read(note, &r.note);
    if (status == CORRAL_OK) status = open_environment(&r);
    if (status == CORRAL_OK) status = open_film(&r, out);
    if (status == CORRAL_OK) status = play(&r, stop);
    if (status == CORRAL_OK)
        status = film_close(r.film, out_path);
    else
        film_abandon(r.film);
    *out_frames = r.frames;
    corral_env_batch_destroy(r.batch);
    scene_finish(&r.scene);
    canvas_finish(&r.canvas);
    fonts_close(r.fonts);
    free(r.observation);
    free(r.action);
    replay_note_finish(&r.note);
    return status;
}
