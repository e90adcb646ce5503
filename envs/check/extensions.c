// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Rules about what an environment can do beyond playing. Asking must not change the game: saving, drawing and
// masking happen in one of two batches that then have to go on alike.

#include "trace.h"

#include "corral/base/file.h"
#include "corral/envs/batch.h"
#include "corral/envs/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const void *extension(const corral_exam *exam, const char *name)
{
    return corral_env_extension(exam->type, name);
}

/// Plays a batch with a question after each step, and compares with one that is asked nothing.
static void ask_while_playing(corral_exam *exam, bool (*ask)(stage *s, uint32_t environment), const char *how)
{
    trace quiet, asked;
    stage s;
    bool ok = corral_trace_create(&quiet, exam, EXAM_ENVIRONMENTS, exam->rounds);
    ok = corral_trace_create(&asked, exam, EXAM_ENVIRONMENTS, exam->rounds) && ok;
    if (ok && corral_trace_play(&quiet, exam, 0, 0) && corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) {
        ok = corral_stage_begin_all(&s, 0);
        corral_trace_begin(&asked, &s);
        while (ok && asked.round < asked.rounds) {
            for (uint32_t i = 0; ok && i < s.count; i++)
                ok = ask(&s, i);
            ok = ok && corral_trace_step(&asked, &s);
        }
        for (uint32_t i = 0; ok && i < s.count; i++)
            ok = corral_trace_same(exam, &quiet, i, &asked, i, i, how);
        corral_stage_close(&s);
    }
    corral_trace_destroy(&quiet);
    corral_trace_destroy(&asked);
}

// --- save and load

enum { STATE_PATTERN = 0xa7 };

/// Twice, over different bytes, so that what was not written shows.
static bool save(stage *s, uint32_t environment, guarded *out_state)
{
    const corral_env_state *state = extension(s->exam, CORRAL_ENV_STATE);
    uint32_t index, row;
    const void *handle = corral_stage_handle(s, environment, &index);
    uint8_t *bytes = guarded_row(out_state, environment);
    corral_exam_enter(s->exam, "save", s->seed[environment], s->length[environment]);
    memset(bytes, 0, state->state_size);
    state->save(handle, index, bytes);
    const uint64_t sum = corral_checksum(bytes, state->state_size);
    memset(bytes, STATE_PATTERN, state->state_size);
    state->save(handle, index, bytes);
    if (!corral_guarded_intact(out_state, &row))
        return STAGE_FAIL(s, environment, "save writes more than state_size (%u) bytes", state->state_size);
    if (sum != corral_checksum(bytes, state->state_size))
        return STAGE_FAIL(s, environment, "two saves of one state differ; does save leave bytes unwritten?");
    return true;
}

static bool load(stage *s, uint32_t environment, const guarded *states, uint32_t saved)
{
    const corral_env_state *state = extension(s->exam, CORRAL_ENV_STATE);
    uint32_t index;
    void *handle = corral_stage_handle(s, environment, &index);
    corral_exam_enter(s->exam, "load", s->seed[environment], s->length[environment]);
    if (state->load(handle, index, guarded_row(states, saved)) == 0) return true;
    return STAGE_FAIL(s, environment, "load refuses what save gave: %s",
                      corral_exam_said("it gave no reason"));
}

static bool save_all(stage *s, guarded *out_states)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (!save(s, i, out_states)) return false;
    return true;
}

/// A batch that was never reset goes on where another one was saved, and counts as the other did.
static bool load_all(stage *s, const stage *from, const guarded *states)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->episode[i] = from->episode[i];
        s->seed[i] = from->seed[i];
        s->length[i] = from->length[i];
        for (uint32_t k = 0; k < s->type->spaces.observation_count; k++)
            memcpy(guarded_row(&s->observation[k], i), guarded_row(&from->observation[k], i),
                   from->observation[k].width);
        if (!load(s, i, states, i)) return false;
    }
    return true;
}

/// Saved at several points of play, in the middle of episodes.
static bool goes_on_elsewhere(corral_exam *exam, stage *s, trace *here, trace *there, guarded *states)
{
    stage other;
    if (!save_all(s, states) || !corral_stage_open(&other, exam, 0, s->count)) return false;
    bool ok = load_all(&other, s, states) && corral_trace_follow(there, &other);
    corral_stage_close(&other);
    ok = ok && corral_trace_follow(here, s);
    for (uint32_t i = 0; ok && i < s->count; i++)
        ok = corral_trace_same(exam, here, i, there, i, i, "after save and load into another batch");
    return ok;
}

void corral_exam_state(corral_exam *exam)
{
    const corral_env_state *state = extension(exam, CORRAL_ENV_STATE);
    if (state == NULL) {
        corral_exam_skip(exam, "no " CORRAL_ENV_STATE ": a run that is resumed begins its episodes anew");
        return;
    }
    enum { PLACES = 4 };
    trace here, there;
    guarded states = {0};
    stage s;
    const uint32_t rounds = exam->rounds / PLACES;
    bool ok = corral_trace_create(&here, exam, EXAM_ENVIRONMENTS, rounds);
    ok = corral_trace_create(&there, exam, EXAM_ENVIRONMENTS, rounds) && ok;
    ok = ok && (corral_guarded_create(&states, EXAM_ENVIRONMENTS, state->state_size) ||
                corral_exam_fail(exam, "no memory for the examination"));
    if (ok && corral_stage_open(&s, exam, 0, EXAM_ENVIRONMENTS)) {
        ok = corral_stage_begin_all(&s, 0);
        for (int place = 0; place < PLACES && ok; place++) {
            for (int t = 0; t < 3 + 5 * place && ok; t++)
                ok = corral_stage_step(&s, NULL, NULL);
            ok = ok && goes_on_elsewhere(exam, &s, &here, &there, &states);
        }
        corral_stage_close(&s);
    }
    corral_guarded_destroy(&states);
    corral_trace_destroy(&here);
    corral_trace_destroy(&there);
}

// --- pictures

static bool item_is_sound(stage *s, uint32_t environment, uint32_t k, const corral_draw *item)
{
    if (item->kind < CORRAL_DRAW_LINE || item->kind > CORRAL_DRAW_IMAGE)
        return STAGE_FAIL(s, environment, "item %u of the picture is of unknown kind %u", k, item->kind);
    static const uint32_t least[] = {0, 2, 3, 1, 1, 2}; // points, by kind
    if (item->point_count < least[item->kind] || item->point_count > CORRAL_DRAW_POINTS)
        return STAGE_FAIL(s, environment, "item %u of the picture has %u points", k, item->point_count);
    for (uint32_t p = 0; p < item->point_count; p++)
        if (!isfinite(item->point[p][0]) || !isfinite(item->point[p][1]))
            return STAGE_FAIL(s, environment, "point %u of item %u of the picture is not finite", p, k);
    if (item->kind == CORRAL_DRAW_TEXT && memchr(item->text, '\0', sizeof item->text) == NULL)
        return STAGE_FAIL(s, environment, "the text of item %u of the picture has no end", k);
    if (item->kind == CORRAL_DRAW_IMAGE &&
        (item->image == NULL || item->image_width == 0 || item->image_height == 0))
        return STAGE_FAIL(s, environment, "item %u of the picture is an image without pixels", k);
    return true;
}

static bool draw(stage *s, uint32_t environment)
{
    enum { ROOM = 1024, LIMIT = 3 };
    static corral_draw items[ROOM];
    const corral_env_render *render = extension(s->exam, CORRAL_ENV_RENDER);
    uint32_t index;
    const void *handle = corral_stage_handle(s, environment, &index);
    corral_exam_enter(s->exam, "draw", s->seed[environment], s->length[environment]);
    const uint32_t count = render->draw(handle, index, items, ROOM);
    for (uint32_t k = 0; k < count && k < ROOM; k++)
        if (!item_is_sound(s, environment, k, &items[k])) return false;

    memset(&items[LIMIT], STATE_PATTERN, sizeof items[0]);
    const corral_draw behind = items[LIMIT];
    const uint32_t again = render->draw(handle, index, items, LIMIT);
    if (again != count)
        return STAGE_FAIL(s, environment, "a picture of %u items says %u when the limit is %d", count, again,
                          LIMIT);
    if (memcmp(&behind, &items[LIMIT], sizeof behind) != 0)
        return STAGE_FAIL(s, environment, "draw writes more items than its limit of %d", LIMIT);
    return true;
}

void corral_exam_picture(corral_exam *exam)
{
    if (extension(exam, CORRAL_ENV_RENDER) == NULL)
        corral_exam_skip(exam, "no " CORRAL_ENV_RENDER ": there is nothing to see");
    else
        ask_while_playing(exam, draw, "when it is drawn in between");
}

// --- masks

static bool mask(stage *s, uint32_t environment)
{
    const corral_env_action_mask *extended = extension(s->exam, CORRAL_ENV_ACTION_MASK);
    const size_t n = corral_env_mask_bytes(&s->type->spaces);
    guarded bytes;
    uint32_t index, row;
    const void *handle = corral_stage_handle(s, environment, &index);
    if (!corral_guarded_create(&bytes, 1, n)) return corral_exam_fail(s->exam, "no memory for a mask");
    memset(bytes.data, STATE_PATTERN, n);
    corral_exam_enter(s->exam, "mask", s->seed[environment], s->length[environment]);
    extended->mask(handle, index, bytes.data);
    bool ok = corral_guarded_intact(&bytes, &row) ||
              STAGE_FAIL(s, environment, "mask writes more than its %zu bytes", n);
    for (size_t a = 0; a < n && ok; a++) {
        ok = bytes.data[a] <= 1 || STAGE_FAIL(s, environment,
                                              "mask[%zu] is %u (or was not written); it must "
                                              "be 0 or 1",
                                              a, bytes.data[a]);
    }
    if (ok && !corral_env_mask_possible(&s->type->spaces, bytes.data))
        ok = STAGE_FAIL(s, environment, "the mask allows no action");
    corral_guarded_destroy(&bytes);
    return ok;
}

// --- info

static bool info(stage *s, uint32_t environment)
{
    const corral_env_info *extended = extension(s->exam, CORRAL_ENV_INFO);
    guarded values;
    uint32_t index, row;
    const void *handle = corral_stage_handle(s, environment, &index);
    if (!corral_guarded_create(&values, 1, extended->count * sizeof(double)))
        return corral_exam_fail(s->exam, "no memory for an environment's numbers");
    corral_exam_enter(s->exam, "info", s->seed[environment], s->length[environment]);
    extended->info(handle, index, (double *)(void *)values.data);
    const bool ok = corral_guarded_intact(&values, &row) ||
                    STAGE_FAIL(s, environment, "info writes more than its %u numbers", extended->count);
    corral_guarded_destroy(&values);
    return ok;
}

void corral_exam_info(corral_exam *exam)
{
    if (extension(exam, CORRAL_ENV_INFO) == NULL)
        corral_exam_skip(exam, "no " CORRAL_ENV_INFO ": it says no numbers of itself");
    else
        ask_while_playing(exam, info, "when its numbers are asked for in between");
}

void corral_exam_mask(corral_exam *exam)
{
    if (extension(exam, CORRAL_ENV_ACTION_MASK) == NULL)
        corral_exam_skip(exam, "no " CORRAL_ENV_ACTION_MASK ": every action is allowed");
    else
        ask_while_playing(exam, mask, "when its mask is asked for in between");
}
