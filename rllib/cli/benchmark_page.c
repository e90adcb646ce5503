// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What came of the runs, read from their folders, and as a page.
#include "benchmark.h"

#include "corral/base/file.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// --- reading ----------------------------------------------------------------------------------------------

static cJSON *read_json(const char *run, const char *name)
{
    char *path = corral_format("%s/%s", run, name), *text = NULL;
    size_t size;
    cJSON *root = NULL;
    if (path != NULL && corral_file_read(path, 1 << 24, &text, &size) == CORRAL_OK)
        root = cJSON_ParseWithLength(text, size);
    free(path);
    free(text);
    return root;
}

static bool read_number(const cJSON *root, const char *name, double *out_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, name);
    if (!cJSON_IsNumber(item)) return false;
    *out_value = item->valuedouble;
    return true;
}

/// The column of this name in a line of a CSV file without quotes; NULL where there is none.
static int find_column(const char *header, const char *name)
{
    int column = 0;
    for (const char *at = header; at != NULL; column++) {
        if (strncmp(at, name, strlen(name)) == 0 && strchr(",\r\n", at[strlen(name)]) != NULL) return column;
        at = strchr(at, ',');
        if (at != NULL) at++;
    }
    return -1;
}

static bool read_column(const char *line, int column, double *out_value)
{
    for (; column > 0 && line != NULL; column--) {
        line = strchr(line, ',');
        if (line != NULL) line++;
    }
    if (line == NULL) return false;
    char *end;
    *out_value = strtod(line, &end);
    return end != line;
}

static double find_steps_to_goal(const char *run, double goal)
{
    char *path = corral_format("%s/progress.csv", run), *line = NULL;
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    size_t size = 0;
    double found = INFINITY, steps, mean;
    int steps_at = -1, mean_at = -1;
    if (file != NULL && getline(&line, &size, file) > 0) {
        steps_at = find_column(line, "time/total_timesteps");
        mean_at = find_column(line, "eval/mean_reward");
    }
    while (steps_at >= 0 && mean_at >= 0 && isinf(found) && getline(&line, &size, file) > 0)
        if (read_column(line, steps_at, &steps) && read_column(line, mean_at, &mean) && mean >= goal)
            found = steps;
    if (file != NULL) fclose(file);
    free(line);
    free(path);
    return found;
}

void benchmark_read(const char *run, double goal, benchmark_outcome *out)
{
    cJSON *summary = read_json(run, "run.json"), *evaluation = read_json(run, "benchmark.json");
    out->known =
        read_number(evaluation, "mean_return", &out->last) && read_number(summary, "seconds", &out->seconds);
    if (!read_number(summary, "best_mean", &out->best) || out->best < out->last) out->best = out->last;
    out->steps_to_goal = out->known ? find_steps_to_goal(run, goal) : INFINITY;
    cJSON_Delete(summary);
    cJSON_Delete(evaluation);
}

// --- figures ----------------------------------------------------------------------------------------------

typedef struct figures {
    double low, median, high;
} figures;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/// Of the member at `offset` of the outcomes that are known.
static figures figures_of(const benchmark_line *line, size_t offset)
{
    double value[BENCHMARK_SEEDS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < line->count; i++)
        if (line->outcome[i].known)
            memcpy(&value[count++], (const char *)&line->outcome[i] + offset, sizeof value[0]);
    if (count == 0) return (figures){NAN, NAN, NAN};
    qsort(value, count, sizeof value[0], compare);
    const double median =
        isinf(value[count / 2]) ? INFINITY : (value[(count - 1) / 2] + value[count / 2]) / 2;
    return (figures){value[0], median, value[count - 1]};
}

static bool counts(const benchmark_task *task, double value)
{
    return task->stays_below ? value < task->goal : value >= task->goal;
}

/// How many seeds did what the line wants.
static size_t count_reached(const benchmark_line *line, size_t *out_known)
{
    size_t reached = 0;
    *out_known = 0;
    for (size_t i = 0; i < line->count; i++) {
        *out_known += line->outcome[i].known;
        reached += line->outcome[i].known && counts(line->task, line->outcome[i].last);
    }
    return reached;
}

bool benchmark_passes(const benchmark_line *line)
{
    size_t known;
    const size_t reached = count_reached(line, &known);
    return known > 0 && 5 * reached >= 4 * known &&
           counts(line->task, figures_of(line, offsetof(benchmark_outcome, last)).median);
}

// --- the page ---------------------------------------------------------------------------------------------

/// The first line of a command's output, or of a file's line that begins with `key`; "" where there is none.
static void first_line(const char *command, char *out, size_t size)
{
    out[0] = '\0';
    FILE *pipe = popen(command, "re");
    if (pipe == NULL) return;
    if (fgets(out, (int)size, pipe) == NULL) out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    pclose(pipe);
}

static void write_head(FILE *file)
{
    char commit[128], processor[128], date[32] = "";
    const time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day) != NULL) strftime(date, sizeof date, "%Y-%m-%d", &day);
    first_line("git rev-parse --short HEAD 2>/dev/null", commit, sizeof commit);
    first_line("sed -n 's/^model name.*: //p' /proc/cpuinfo", processor, sizeof processor);
    fprintf(
        file,
        "# What the examples learn\n\n"
        "Written by `corral benchmark learning` on %s, from commit %s, on %ld cores of %s.\n\n"
        "Each line is `examples/NAME.yaml` with its whole budget of steps. The return is the mean of greedy\n"
        "episodes, 100 or as many as the line says, of the *last* checkpoint, with seeds that training never "
        "saw;\n"
        "the best is that of the evaluations on the way. A line counts when the median and four of five "
        "seeds\n"
        "reach the goal (or stay below it, where that is the point). Steps to the goal are those after which "
        "an evaluation on the way first reached it; "
        "times\n"
        "are of runs side by side, one thread each, evaluations included.\n\n",
        date, commit[0] != '\0' ? commit : "unknown", sysconf(_SC_NPROCESSORS_ONLN),
        processor[0] != '\0' ? processor : "an unknown processor");
    fprintf(file,
            "| environment | algorithm | goal | return: median (range) | seeds | best | steps to the goal | "
            "seconds | |\n|---|---|---|---|---|---|---|---|---|\n");
}

static void write_steps(FILE *file, double steps)
{
    if (isinf(steps))
        fprintf(file, "not reached");
    else
        fprintf(file, "%.0f", steps);
}

static void write_line(FILE *file, const benchmark_line *line)
{
    const benchmark_task *task = line->task;
    size_t known;
    const size_t reached = count_reached(line, &known);
    fprintf(file, "| [%s](../examples/%s.yaml) | %s | %s%g by %lld", task->env, task->name, task->algorithm,
            task->stays_below ? "below " : "", task->goal, (long long)task->steps);
    if (task->episodes != 100) fprintf(file, ", %lld episodes", (long long)task->episodes);
    if (known == 0) {
        fprintf(file, " | not run | | | | | |\n");
        return;
    }
    const figures last = figures_of(line, offsetof(benchmark_outcome, last));
    const figures best = figures_of(line, offsetof(benchmark_outcome, best));
    const figures steps = figures_of(line, offsetof(benchmark_outcome, steps_to_goal));
    const figures seconds = figures_of(line, offsetof(benchmark_outcome, seconds));
    fprintf(file, " | %.4g (%.4g to %.4g) | %zu of %zu | %.4g | ", last.median, last.low, last.high, reached,
            known, best.median);
    if (!task->stays_below) write_steps(file, steps.low);
    if (!task->stays_below) fprintf(file, " to ");
    if (!task->stays_below) write_steps(file, steps.high);
    fprintf(file, " | %.0f (%.0f to %.0f) | %s |\n", seconds.median, seconds.low, seconds.high,
            benchmark_passes(line) ? (task->stays_below ? "as it should be" : "reached")
                                   : (task->stays_below ? "learned all the same" : "short of it"));
}

corral_status benchmark_write_page(const char *path, const benchmark_line *lines, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for the page", path);
    write_head(file);
    for (size_t i = 0; i < count; i++)
        write_line(file, &lines[i]);
    corral_status status = fclose(file) == 0
                               ? corral_file_write(path, text, size)
                               : corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory for the page", path);
    free(text);
    return status;
}
