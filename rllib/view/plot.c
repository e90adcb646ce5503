// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral plot`: learning curves in the terminal, as PNG, as SVG.
#include "commands.h"

#include "chart.h"
#include "film.h"

#include "corral/base/file.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static corral_status write_png(const chart *c, const char *path)
{
    canvas picture;
    fonts *letters = NULL;
    corral_status status = canvas_init(&picture, 2 * CHART_WIDTH, 2 * CHART_HEIGHT);
    if (status != CORRAL_OK) return status;
    status = fonts_open(&letters);
    if (status == CORRAL_OK) {
        sheet paper = {.canvas = &picture, .fonts = letters, .scale = 2};
        chart_draw(c, &paper);
        char *name = NULL;
        status = film_picture(path, &picture, &name);
        if (status == CORRAL_OK) printf("%s\n", name);
        free(name);
    }
    fonts_close(letters);
    canvas_finish(&picture);
    return status;
}

static corral_status write_svg(const chart *c, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %s", path);
    sheet paper = {.svg = memory, .scale = 1};
    chart_draw(c, &paper);
    corral_status status =
        fclose(memory) == 0 ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %s", path);
    char *name = NULL;
    if (status == CORRAL_OK) status = film_text(path, text, size, &name);
    if (status == CORRAL_OK) printf("%s\n", name);
    free(name);
    free(text);
    return status;
}

static uint32_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < 120 ? size.ws_col : 120;
    return 80;
}

static corral_status show(const chart *c, const char *out)
{
    if (out == NULL || isatty(STDOUT_FILENO))
        chart_print(c, stdout, terminal_columns(), isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL);
    if (out == NULL) return CORRAL_OK;
    return ends_with(out, ".svg") ? write_svg(c, out) : write_png(c, out);
}

static corral_status check_out(const char *out)
{
    if (out == NULL || ends_with(out, ".png") || ends_with(out, ".svg")) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "--out: %s: a plot's name ends with .png or .svg", out);
}

static corral_status choose_x(const char *text, const char **out_column, const char **out_label)
{
    *out_column = "time/total_timesteps";
    *out_label = "environment steps";
    if (text == NULL || strcmp(text, "steps") == 0) return CORRAL_OK;
    *out_column = "time/time_elapsed";
    *out_label = "seconds";
    if (strcmp(text, "seconds") == 0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "--x: \"%s\" is neither steps nor seconds", text);
}

enum { RUNS_MAX = 1024 };

typedef struct run_list {
    char *path[RUNS_MAX];
    uint32_t count;
} run_list;

static corral_status add_run(run_list *runs, const char *path)
{
    if (runs->count == RUNS_MAX) return corral_fail(CORRAL_ERROR_FULL, "more than %d runs", RUNS_MAX);
    runs->path[runs->count] = corral_format("%s", path);
    if (runs->path[runs->count] == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    runs->count++;
    return CORRAL_OK;
}

/// A run; or what `corral train --seeds` makes, a folder of runs seed-N, which stands for all of them.
static corral_status add_runs(run_list *runs, const char *word)
{
    char *progress = corral_format("%s/progress.csv", word), *pattern = corral_format("%s/seed-*", word);
    glob_t seeds = {0};
    const bool many = progress != NULL && pattern != NULL && access(progress, F_OK) != 0 &&
                      glob(pattern, 0, NULL, &seeds) == 0;
    free(progress);
    free(pattern);
    corral_status status = many ? CORRAL_OK : add_run(runs, word);
    for (size_t i = 0; many && status == CORRAL_OK && i < seeds.gl_pathc; i++)
        status = add_run(runs, seeds.gl_pathv[i]);
    globfree(&seeds);
    return status;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *out = NULL, *metric = "rollout/ep_rew_mean", *x = NULL, *x_column = NULL, *x_label = NULL;
    const cli_flag flags[] = {
        {"--out", "FILE", "NAME.png or NAME.svg; taken names are numbered", &out},
        {"--metric", "NAME", "A column of progress.csv (rollout/ep_rew_mean)", &metric},
        {"--x", "steps|seconds", "What runs to the right (steps)", &x},
        {0},
    };
    cli_words words;
    bool help;
    curves read = {0};
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && words.count == 0)
        status = corral_fail(CORRAL_ERROR_INVALID, "plot takes runs: corral plot runs/NAME...");
    run_list runs = {.count = 0};
    for (size_t i = 0; status == CORRAL_OK && i < words.count; i++)
        status = add_runs(&runs, words.word[i]);
    if (status == CORRAL_OK) status = check_out(out);
    if (status == CORRAL_OK) status = choose_x(x, &x_column, &x_label);
    if (status == CORRAL_OK)
        status = curves_read((const char *const *)runs.path, runs.count, x_column, metric, &read);
    for (uint32_t i = 0; i < runs.count; i++)
        free(runs.path[i]);
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    const chart c = {.curves = &read, .title = metric, .x_label = x_label};
    status = show(&c, out);
    curves_finish(&read);
    return status == CORRAL_OK ? CLI_OK : cli_fail(CLI_FAILED);
}

const cli_command view_plot = {
    "plot", "RUN|MONITOR.csv... [--metric NAME] [--out curve.png|curve.svg]",
    "Draw learning curves; runs that differ by their seed as a mean with its range", run};
