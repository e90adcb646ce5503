// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "progress.h"

#include "cli.h"
#include "screen.h"

#include "corral/base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE = 400 };

static const int64_t redraw_ns = 100 * CORRAL_MILLISECOND, line_ns = CORRAL_SECOND;

struct progress {
    bool quiet, terminal;
    screen screen;
    const char *run_folder;
    char title[400];
    double target;
    bool boxed; // the state is shown in a box, not in lines
    int64_t drawn_ns, printed_ns;
    float curve[CURVE]; // mean returns, thinned out when full
    int curve_count, curve_every, curve_skip;
    corral_train_report last;
};

progress *progress_start(const corral_train_config *config, const char *run_folder, bool quiet)
{
    progress *p = calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->quiet = quiet;
    p->terminal = p->boxed = screen_is_possible();
    screen_init(&p->screen);
    p->run_folder = run_folder;
    p->target = config->stop.target_return;
    p->curve_every = 1;
    const char *folder_end = strrchr(config->env, '/');
    snprintf(p->title, sizeof p->title, "%s on %s, seed %lld", corral_algorithm_name(config->algorithm),
             folder_end != NULL ? folder_end + 1 : config->env, (long long)config->seed);
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

// --- the table --------------------------------------------------------------------------------------------

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

static void draw_steps(screen *s, const corral_train_report *r)
{
    char steps[32], budget[32], bar[80], left[40];
    const double share = fmin(1.0, (double)r->env_steps / (double)r->step_budget);
    const double rate = speed(r), rest = (double)r->step_budget - (double)r->env_steps;
    const bool wide = screen_room(s) > 45;
    screen_row(s, "steps", "%s of %s%s%s %3.0f %%", cli_count(r->env_steps, steps, sizeof steps),
               cli_count(r->step_budget, budget, sizeof budget), wide ? "  " : ",",
               screen_bar(s, share, wide ? 16 : 0, bar, sizeof bar), 100 * share);
    if (rate > 0 && rest > 0)
        screen_row(s, "speed", "%s steps/s, at most %s left",
                   cli_count((unsigned long long)rate, steps, sizeof steps),
                   cli_duration(rest / rate, left, sizeof left));
    else
        screen_row(s, "speed", "%s steps/s", cli_count((unsigned long long)rate, steps, sizeof steps));
}

static void draw_returns(screen *s, const progress *p, const corral_train_report *r)
{
    char curve[CURVE * 3 + 1], step[32];
    if (r->episodes > 0)
        screen_row(s, "return", "%-8.1f %s", r->return_mean,
                   screen_curve(s, p->curve, p->curve_count, screen_room(s) - 9, curve, sizeof curve));
    else
        screen_row(s, "return", "no episode has ended yet");
    if (r->evaluations > 0)
        screen_row(s, "evaluation", "%.1f %s %.1f, best %.1f at %s", r->eval_mean, screen_plus_minus(s),
                   r->eval_std, r->best_mean, cli_count(r->best_step, step, sizeof step));
    else
        screen_row(s, "evaluation", "none yet");
}

/// What is 0 in four digits, without the sign that it may have had.
static double shown(double value)
{
    return fabs(value) < 5e-5 ? 0 : value;
}

static void draw_q_update(screen *s, const corral_train_report *r)
{
    screen_row(s, "losses", "%.4g, errors %.4g of worths %.4g", r->loss, r->td_error, r->q_mean);
    screen_row(s, "exploring", "%.1f %% of the actions", 100 * r->epsilon);
    screen_row(s, "replay", "%llu rows", (unsigned long long)r->replay_rows);
    screen_row(s, "learning", "rate %.3g, %llu updates", r->learning_rate, (unsigned long long)r->updates);
}

static void draw_update(screen *s, const corral_train_report *r)
{
    if (r->algorithm == CORRAL_ALGORITHM_DQN) {
        draw_q_update(s, r);
        return;
    }
    screen_row(s, "losses", "policy %.4f, value %.4f", shown(r->policy_loss), r->value_loss);
    screen_row(s, "policy", "KL %.4f, clipped %.0f %%, entropy %.3f", shown(r->approx_kl),
               100 * r->clip_fraction, r->entropy);
    if (r->explained_variance_known)
        screen_row(s, "value", "explained to %.0f %%", 100 * r->explained_variance);
    else
        screen_row(s, "value", "returns do not vary");
    screen_row(s, "learning", "rate %.3g, clip %.3g, %llu updates", r->learning_rate, r->clip_range,
               (unsigned long long)r->updates);
}

static void draw_runtime(screen *s, const corral_train_report *r)
{
    char why[200];
    const uint64_t sum = dropped(r, why, sizeof why);
    if (r->workers > 0)
        screen_row(s, "workers", "%u of %u alive, %llu lost", r->workers_alive, r->workers,
                   (unsigned long long)r->workers_lost);
    screen_row(s, "fragments", "%llu trained, %llu dropped%s", (unsigned long long)r->fragments_trained,
               (unsigned long long)sum, why);
}

static bool draw_table(progress *p, const corral_train_report *r)
{
    screen *s = &p->screen;
    const double total = fmax(r->session_seconds, 1e-9);
    if (!screen_begin(s, p->title)) return false;
    draw_steps(s, r);
    draw_returns(s, p, r);
    screen_row(s, "time", "rollouts %.0f %%, learning %.0f %%, evaluation %.0f %%",
               100 * r->sample_seconds / total, 100 * r->learn_seconds / total,
               100 * r->evaluate_seconds / total);
    draw_update(s, r);
    draw_runtime(s, r);
    screen_end(s);
    return true;
}

// --- lines ------------------------------------------------------------------------------------------------

static void print_line(const corral_train_report *r)
{
    printf("%10llu steps %9.0f/s", (unsigned long long)r->env_steps, speed(r));
    if (r->episodes > 0) printf("  return %7.1f", r->return_mean);
    if (r->evaluations > 0) printf("  evaluation %7.1f%s", r->eval_mean, r->evaluated ? "*" : " ");
    if (r->algorithm == CORRAL_ALGORITHM_DQN)
        printf("  exploring %.1f %%  error %.3g\n", 100 * r->epsilon, r->td_error);
    else
        printf("  KL %.4f  entropy %.3f\n", shown(r->approx_kl), r->entropy);
    fflush(stdout);
}

static void print_message(progress *p, const char *message)
{
    if (p->terminal) {
        screen_message(&p->screen, message);
        p->drawn_ns = 0; // the box comes back at once
    } else {
        printf("%s\n", message);
        fflush(stdout);
    }
}

void progress_update(progress *p, const corral_train_report *report)
{
    if (p == NULL) return;
    p->last = *report;
    if (p->quiet) return;
    if (report->message != NULL) print_message(p, report->message);
    add_to_curve(p, report);
    const int64_t now = corral_now_ns();
    if (p->terminal && now - p->drawn_ns >= redraw_ns) {
        p->boxed = draw_table(p, report);
        p->drawn_ns = now;
    }
    if (!p->boxed && (now - p->printed_ns >= line_ns || report->evaluated)) {
        print_line(report);
        p->printed_ns = now;
    }
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
