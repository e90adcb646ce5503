// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "progress.h"

#include "cli.h"

#include "corral/base/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CURVE = 400, WIDEST = 100, NARROWEST = 40, LABEL = 13 };

static const int64_t redraw_ns = 100 * CORRAL_MILLISECOND, line_ns = CORRAL_SECOND;

struct progress {
    bool quiet, terminal, color;
    const char *run_folder;
    char title[400];
    double target;
    int64_t shown_ns;
    int lines;          // of the table that stands on the screen
    int width;          // of the screen now
    float curve[CURVE]; // mean returns, thinned out when full
    int curve_count, curve_every, curve_skip;
    corral_train_report last;
};

progress *progress_start(const corral_train_config *config, const char *run_folder, bool quiet)
{
    progress *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    const char *dumb = getenv("TERM");
    p->quiet = quiet;
    p->terminal = isatty(STDOUT_FILENO) && dumb != NULL && strcmp(dumb, "dumb") != 0;
    p->color = p->terminal && getenv("NO_COLOR") == NULL;
    p->run_folder = run_folder;
    p->target = config->stop.target_return;
    p->curve_every = 1;
    snprintf(p->title, sizeof p->title, "ppo on %s, seed %lld", config->env, (long long)config->seed);
    return p;
}

// --- the curve --------------------------------------------------------------------------------------------

static void add_to_curve(progress *p, const corral_train_report *report)
{
    if (report->episodes == 0 || ++p->curve_skip < p->curve_every) return;
    p->curve_skip = 0;
    if (p->curve_count == CURVE) {
        for (int i = 0; i < CURVE / 2; i++)
            p->curve[i] = p->curve[2 * i];
        p->curve_count = CURVE / 2;
        p->curve_every *= 2;
    }
    p->curve[p->curve_count++] = (float)report->return_mean;
}

static void sparkline(const progress *p, int cells, char *out, size_t size)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const int count = p->curve_count < cells ? p->curve_count : cells;
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->curve_count; i++) {
        low = fminf(low, p->curve[i]);
        high = fmaxf(high, p->curve[i]);
    }
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < count && used + 4 < size; i++) {
        const float value = p->curve[(int)((long)i * p->curve_count / count)];
        const int level = high > low ? (int)(7.99f * (value - low) / (high - low)) : 0;
        used += (size_t)snprintf(out + used, size - used, "%s", bars[level]);
    }
}

// --- the table --------------------------------------------------------------------------------------------

/// Columns that a UTF-8 text takes: one for each character.
static int columns(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/// Bytes of the longest beginning that takes at most `limit` columns.
static int bytes_within(const char *text, int limit)
{
    int at = 0, count = 0;
    while (text[at] != '\0') {
        if (((unsigned char)text[at] & 0xc0) != 0x80 && ++count > limit) break;
        at++;
    }
    return at;
}

static void row(progress *p, const char *label, const char *format, ...) CORRAL_PRINTF(3, 4);
static void row(progress *p, const char *label, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const int room = p->width - 4 - LABEL;
    const int bytes = bytes_within(text, room), pad = room - columns(text);
    printf("│ %s%-*s%s%.*s%*s │\033[K\n", p->color ? "\033[2m" : "", LABEL, label, p->color ? "\033[0m" : "",
           bytes, text, pad > 0 ? pad : 0, "");
    p->lines++;
}

static void edge(progress *p, const char *left, const char *right, const char *title)
{
    const int used = columns(title);
    printf("%s%s%s%s", left, title[0] != '\0' ? " " : "", title, title[0] != '\0' ? " " : "");
    for (int i = used + (used > 0 ? 2 : 0); i < p->width - 2; i++)
        printf("─");
    printf("%s\033[K\n", right);
    p->lines++;
}

static int screen_width(void)
{
    struct winsize size;
    const int width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col - 1 : 79;
    return width > WIDEST ? WIDEST : width < NARROWEST ? NARROWEST : width;
}

static double speed(const corral_train_report *r)
{
    return r->session_seconds > 0 ? (double)r->session_steps / r->session_seconds : 0;
}

static uint64_t dropped(const corral_train_report *r, char *why, size_t size)
{
    uint64_t sum = 0;
    size_t used = 0;
    why[0] = '\0';
    for (int i = 0; i < CORRAL_DROP_REASONS; i++) {
        sum += r->fragments_dropped[i];
        if (r->fragments_dropped[i] > 0 && used < size)
            used += (size_t)snprintf(why + used, size - used, "%s%s %llu", used > 0 ? ", " : " (",
                                     corral_drop_reason_name((corral_drop_reason)i),
                                     (unsigned long long)r->fragments_dropped[i]);
    }
    if (sum > 0 && used + 1 < size) snprintf(why + used, size - used, ")");
    return sum;
}

static void draw_steps(progress *p, const corral_train_report *r)
{
    char steps[32], budget[32], bar[200] = "", left[40];
    const double share = fmin(1.0, (double)r->env_steps / (double)r->step_budget);
    const int cells = p->width > 60 ? 16 : 0;
    for (int i = 0; i < cells; i++)
        strcat(bar, i < share * cells ? "━" : "╌");
    row(p, "steps", "%s of %s  %s %3.0f %%", cli_count(r->env_steps, steps, sizeof steps),
        cli_count(r->step_budget, budget, sizeof budget), bar, 100 * share);
    const double rate = speed(r);
    row(p, "speed", "%s steps/s, at most %s left", cli_count((unsigned long long)rate, steps, sizeof steps),
        rate > 0 ? cli_duration((double)(r->step_budget - fmin(r->step_budget, r->env_steps)) / rate, left,
                                sizeof left)
                 : "?");
}

static void draw_table(progress *p, const corral_train_report *r)
{
    char line[CURVE * 3 + 1], why[200], best_step[32];
    const double total = fmax(r->session_seconds, 1e-9);
    if (p->lines > 0) printf("\033[%dA", p->lines); // back to the top of what stands there
    p->lines = 0;
    p->width = screen_width();
    edge(p, "╭", "╮", p->title);
    draw_steps(p, r);
    row(p, "time", "rollouts %.0f %%, learning %.0f %%, evaluation %.0f %%", 100 * r->sample_seconds / total,
        100 * r->learn_seconds / total, 100 * r->evaluate_seconds / total);
    sparkline(p, p->width - 4 - LABEL - 9, line, sizeof line);
    if (r->episodes > 0)
        row(p, "return", "%-8.1f %s", r->return_mean, line);
    else
        row(p, "return", "no episode has ended yet");
    if (r->evaluations > 0)
        row(p, "evaluation", "%.1f ± %.1f, best %.1f at %s", r->eval_mean, r->eval_std, r->best_mean,
            cli_count(r->best_step, best_step, sizeof best_step));
    else
        row(p, "evaluation", "none yet");
    row(p, "losses", "policy %.4f, value %.4f", r->policy_loss, r->value_loss);
    row(p, "policy", "KL %.4f, clipped %.0f %%, entropy %.3f", r->approx_kl, 100 * r->clip_fraction,
        r->entropy);
    if (r->explained_variance_known)
        row(p, "value", "explains %.0f %% of the variance", 100 * r->explained_variance);
    else
        row(p, "value", "returns do not vary");
    row(p, "learning", "rate %.3g, clip %.3g, %llu updates", r->learning_rate, r->clip_range,
        (unsigned long long)r->updates);
    const uint64_t sum = dropped(r, why, sizeof why);
    if (r->workers > 0)
        row(p, "workers", "%u of %u alive, %llu lost", r->workers_alive, r->workers,
            (unsigned long long)r->workers_lost);
    row(p, "fragments", "%llu trained, %llu dropped%s", (unsigned long long)r->fragments_trained,
        (unsigned long long)sum, why);
    edge(p, "╰", "╯", "");
    fflush(stdout);
}

// --- lines ------------------------------------------------------------------------------------------------

static void print_line(const corral_train_report *r)
{
    printf("%10llu steps %9.0f/s", (unsigned long long)r->env_steps, speed(r));
    if (r->episodes > 0) printf("  return %7.1f", r->return_mean);
    if (r->evaluations > 0) printf("  evaluation %7.1f%s", r->eval_mean, r->evaluated ? "*" : " ");
    printf("  KL %.4f  entropy %.3f\n", r->approx_kl, r->entropy);
    fflush(stdout);
}

static void print_message(progress *p, const char *message)
{
    if (p->lines > 0) printf("\033[%dA\033[J", p->lines);
    p->lines = 0;
    if (p->terminal)
        printf("%s%s%s\n", p->color ? "\033[33m" : "", message, p->color ? "\033[0m" : "");
    else
        printf("%s\n", message);
    fflush(stdout);
}

void progress_update(progress *p, const corral_train_report *report)
{
    if (p == NULL) return;
    p->last = *report;
    if (p->quiet) return;
    if (report->message != NULL) print_message(p, report->message);
    add_to_curve(p, report);
    const int64_t now = corral_now_ns();
    if (p->terminal) {
        if (now - p->shown_ns < redraw_ns) return;
        draw_table(p, report);
    } else {
        if (now - p->shown_ns < line_ns && !report->evaluated) return;
        print_line(report);
    }
    p->shown_ns = now;
}

// --- the end ----------------------------------------------------------------------------------------------

static void print_result(const progress *p, const corral_train_summary *s)
{
    char number[32];
    switch (s->stop_reason) {
    case CORRAL_STOP_RETURN:
        printf("Reached: evaluation %.1f, the goal was %.1f\n", s->last.eval_mean, p->target);
        break;
    case CORRAL_STOP_STEPS:
    case CORRAL_STOP_SECONDS:
        printf("Ended with the budget of %s%s\n", s->stop_reason == CORRAL_STOP_STEPS ? "steps" : "seconds",
               isinf(p->target) ? "" : ", short of the goal");
        break;
    case CORRAL_STOP_INTERRUPTED:
        printf("Interrupted\n");
        break;
    default:
        printf("Failed\n");
    }
    char seconds[40];
    printf("  steps       %s in %s (%s steps/s)\n", cli_count(s->last.env_steps, number, sizeof number),
           cli_duration(s->last.seconds, seconds, sizeof seconds),
           cli_count((unsigned long long)speed(&s->last), (char[32]){0}, 32));
    if (s->last.evaluations > 0)
        printf("  evaluation  %.1f, best %.1f at %s\n", s->last.eval_mean, s->last.best_mean,
               cli_count(s->last.best_step, number, sizeof number));
    if (!s->deterministic) printf("  note        not reproducible bit for bit: %s\n", s->note);
    if (s->run_folder[0] == '\0') return;
    printf("  run         %s\n", s->run_folder);
    printf("  look at it  corral eval %s\n", s->run_folder);
    if (s->stop_reason == CORRAL_STOP_INTERRUPTED)
        printf("  go on       corral train --resume %s\n", s->run_folder);
}

void progress_finish(progress *p, const corral_train_summary *summary)
{
    if (p == NULL) return;
    if (!p->quiet) {
        if (p->terminal && p->last.env_steps > 0) draw_table(p, &p->last);
        print_result(p, summary);
        fflush(stdout);
    }
    free(p);
}
