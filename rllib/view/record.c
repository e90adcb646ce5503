// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral record`: whole episodes into a file, without a display. An episode of n steps is n + 1 frames.
#include "commands.h"

#include "exhibit.h"
#include "film.h"
#include "replay.h"
#include "stage.h"

#include "corral/base/file.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupted; // finish the file, then stop

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

typedef struct recording {
    exhibit exhibit;
    fonts *fonts;
    canvas canvas;
    film *film;
    bool panel;
    unsigned long long frames;
} recording;

static corral_status measure(const recording *r, const char *width_text, uint32_t *out_width,
                             uint32_t *out_height)
{
    float width = STAGE_WIDTH, height = STAGE_HEIGHT;
    const corral_env_type *type = player_get_config(r->exhibit.player)->type;
    if (!r->panel && !scene_size(type, &width, &height))
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "%s draws no picture (it has no extension " CORRAL_ENV_RENDER
                           "); --panel records its "
                           "numbers",
                           type->id);
    long long wanted = llroundf(width);
    const corral_status status =
        width_text != NULL ? cli_number("--width", width_text, 64, 4096, &wanted) : CORRAL_OK;
    *out_width = (uint32_t)wanted;
    *out_height = (uint32_t)fmaxf(roundf(height * (float)wanted / width), 1);
    return status;
}

static corral_status add_frame(recording *r)
{
    if (r->panel) {
        const stage view = {.cells = {{r->exhibit.player, r->exhibit.title}},
                            .count = 1,
                            .scale = (float)r->canvas.width / STAGE_WIDTH,
                            .panel = true,
                            .playing = true,
                            .speed = 1};
        stage_paint(&view, &r->canvas, r->fonts);
    } else {
        scene_paint(player_scene(r->exhibit.player), &r->canvas, r->fonts,
                    (box){0, 0, (float)r->canvas.width, (float)r->canvas.height});
    }
    r->frames++;
    return film_add(r->film, &r->canvas);
}

static corral_status record_episode(recording *r, uint32_t episode)
{
    film_episode(r->film, episode);
    corral_status status = add_frame(r);
    while (status == CORRAL_OK && !player_moment(r->exhibit.player)->ended && !interrupted) {
        status = player_forward(r->exhibit.player);
        if (status == CORRAL_OK) status = add_frame(r);
    }
    return status;
}

static void report_episode(const recording *r)
{
    const moment *m = player_moment(r->exhibit.player);
    printf("episode %u: return %g, %u steps%s\n", m->episode, m->episode_return, m->step,
           m->ended ? "" : " (interrupted)");
}

static corral_status record_all(recording *r, uint32_t first, uint32_t episodes)
{
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; status == CORRAL_OK && i < episodes && !interrupted; i++) {
        if (i > 0) status = player_begin(r->exhibit.player, first + i);
        if (status == CORRAL_OK) status = record_episode(r, first + i);
        if (status == CORRAL_OK) report_episode(r);
    }
    return status;
}

static corral_status finish(recording *r, corral_status status)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", corral_last_error());
    char *path = NULL;
    // What was recorded before a failure is a film of its own, so it is finished all the same.
    const corral_status closed = r->frames > 0 ? film_close(r->film, &path) : CORRAL_OK;
    if (r->frames == 0) film_abandon(r->film);
    r->film = NULL;
    if (path != NULL) printf("%llu frames in %s\n", r->frames, path);
    free(path);
    return status != CORRAL_OK ? corral_fail(status, "%s", sentence) : closed;
}

static char *default_name(const recording *r)
{
    char *name = corral_format("%s.mp4", player_get_config(r->exhibit.player)->type->id);
    for (char *c = name; c != NULL && *c != '\0'; c++)
        if (*c == '/') *c = '-';
    return name;
}

static corral_status start(recording *r, const char *out, const char *width_text, double fps)
{
    uint32_t width = 0, height = 0;
    corral_status status = measure(r, width_text, &width, &height);
    if (status == CORRAL_OK) status = fonts_open(&r->fonts);
    if (status == CORRAL_OK) status = canvas_init(&r->canvas, width, height);
    if (status != CORRAL_OK) return status;
    char *name = out != NULL ? corral_format("%s", out) : default_name(r);
    if (name == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    status = film_open(name, width, height, fps > 0 ? fps : player_fps(r->exhibit.player), &r->film);
    free(name);
    return status;
}

static corral_status read_fps(const char *text, double *out_fps)
{
    char *end;
    *out_fps = strtod(text, &end);
    if (end != text && *end == '\0' && *out_fps >= 0.1 && *out_fps <= 1000) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "--fps: \"%s\" is not a number within 0.1 to 1000", text);
}

static int run_replay(const char *note, const char *out)
{
    char *path;
    unsigned long long frames;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (replay_film(note, out, &interrupted, &path, &frames) != CORRAL_OK) return cli_fail(CLI_FAILED);
    printf("%llu frames in %s\n", frames, path);
    free(path);
    return interrupted ? CLI_INTERRUPTED : CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *out = NULL, *episodes_text = NULL, *first_text = NULL, *seed_text = NULL, *fps_text = NULL,
               *width_text = NULL, *note = NULL;
    exhibit_options options = {0};
    recording r = {0};
    bool help;
    const cli_flag flags[] = {
        {"--out", "FILE",
         "NAME.mp4, NAME.gif, or FOLDER/ for PNGs (ENVIRONMENT.mp4); taken names are numbered", &out},
        {"--episodes", "N", "How many episodes (1)", &episodes_text},
        {"--first", "K", "The first episode, as eval counts them (0)", &first_text},
        {"--seed", "S", "Other seeds, other episodes (0)", &seed_text},
        {"--stochastic", NULL, "Draw actions instead of taking the most probable one", NULL,
         &options.stochastic},
        {"--env", "ID", "Another environment, or one without a policy: actions are drawn evenly",
         &options.env},
        {"--replay", "NOTE", "An episode that a training run has noted (its key record.every)", &note},
        {"--fps", "F", "Frames per second (the environment's, else 30; a GIF's at most 50)", &fps_text},
        {"--width", "PIXELS", "Width of the picture (the environment's)", &width_text},
        {"--panel", NULL, "With return, value, actions and observation beside the picture", NULL, &r.panel},
        {0},
    };
    cli_words words;
    long long episodes = 1, first = 0, seed = 0;
    double fps = 0;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && note != NULL && out != NULL && words.count == 0) return run_replay(note, out);
    if (status == CORRAL_OK && (words.count > 1 || (words.count == 0 && options.env == NULL)))
        status = corral_fail(CORRAL_ERROR_INVALID,
                             "record takes one run or checkpoint, or --env ID: corral record runs/NAME");
    if (status == CORRAL_OK && episodes_text != NULL)
        status = cli_number("--episodes", episodes_text, 1, 1000000, &episodes);
    if (status == CORRAL_OK && first_text != NULL)
        status = cli_number("--first", first_text, 0, 1 << 30, &first);
    if (status == CORRAL_OK && seed_text != NULL)
        status = cli_number("--seed", seed_text, 0, 1LL << 53, &seed);
    if (status == CORRAL_OK && fps_text != NULL) status = read_fps(fps_text, &fps);
    options.seed = (uint64_t)seed;
    options.first_episode = (uint32_t)first;
    if (status == CORRAL_OK)
        status = exhibit_open(&r.exhibit, words.count > 0 ? words.word[0] : NULL, &options);
    if (status == CORRAL_OK) status = start(&r, out, width_text, fps);
    int code = status == CORRAL_OK ? CLI_OK : cli_fail(CLI_BAD_INPUT);
    if (code == CLI_OK) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        status = finish(&r, record_all(&r, options.first_episode, (uint32_t)episodes));
        if (status != CORRAL_OK)
            code = cli_fail(CLI_FAILED);
        else if (interrupted)
            code = CLI_INTERRUPTED;
    }
    canvas_finish(&r.canvas);
    fonts_close(r.fonts);
    exhibit_close(&r.exhibit);
    return code;
}

const cli_command view_record = {"record", "RUN|CHECKPOINT [--episodes 3] [--out a.mp4|a.gif|frames/]",
                                 "Record episodes as a video, a GIF or pictures; needs no display", run};
