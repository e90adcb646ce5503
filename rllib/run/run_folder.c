// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/rllib/run_folder.h"

#include "tfevents.h"
#include "trim.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/proto/checkpoint.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const int64_t flush_ns = CORRAL_SECOND, events_ns = 100 * CORRAL_MILLISECOND;
static const int64_t summary_ns = 10 * CORRAL_SECOND; // between writes of run.json while the run goes on

static const char info_prefix[] = "info/";

struct corral_run_folder {
    char *path;
    bool created; // by this open
    bool resumed;
    FILE *progress, *metrics, *episodes, *events, *log;
    int64_t flushed_ns, events_written_ns, summary_ns;
    char *events_path;
    uint32_t info_count; // what the environments say of themselves
    char info_name[CORRAL_ENV_INFO_MOST][sizeof info_prefix + CORRAL_ENV_INFO_NAME];
    corral_train_config config;
    double started_wall;
};

// --- metrics: one list for all files ----------------------------------------------------------------------

enum { OWN_METRICS_MAX = 48, METRICS_MAX = OWN_METRICS_MAX + CORRAL_ENV_INFO_MOST };

typedef struct metric {
    const char *name;
    double value; // NaN: absent
} metric;

static double when(bool known, double value)
{
    return known ? value : NAN;
}

static size_t list_own_metrics(const corral_train_report *r, metric *out)
{
    const bool episodes = r->episodes > 0, evaluated = r->evaluated;
    const bool ppo = r->algorithm == CORRAL_ALGORITHM_PPO, dqn = r->algorithm == CORRAL_ALGORITHM_DQN;
    uint64_t dropped = 0;
    for (int i = 0; i < CORRAL_DROP_REASONS; i++)
        dropped += r->fragments_dropped[i];
    const metric metrics[] = {
        {"time/total_timesteps", (double)r->env_steps},
        {"time/iterations", (double)r->iteration},
        {"time/time_elapsed", r->seconds},
        {"time/fps", when(r->session_seconds > 0, (double)r->session_steps / r->session_seconds)},
        {"rollout/ep_rew_mean", when(episodes, r->return_mean)},
        {"rollout/ep_rew_min", when(episodes, r->return_min)},
        {"rollout/ep_rew_max", when(episodes, r->return_max)},
        {"rollout/ep_len_mean", when(episodes, r->length_mean)},
        {"rollout/episodes", (double)r->episodes_total},
        {"eval/mean_reward", when(evaluated, r->eval_mean)},
        {"eval/std_reward", when(evaluated, r->eval_std)},
        {"eval/mean_ep_length", when(evaluated, r->eval_length)},
        {"eval/best_mean_reward", when(evaluated, r->best_mean)},
        {"train/loss", r->loss},
        {"train/policy_gradient_loss", when(ppo, r->policy_loss)},
        {"train/value_loss", when(ppo, r->value_loss)},
        {"train/entropy_loss", when(ppo, -r->entropy)},
        {"train/approx_kl", when(ppo, r->approx_kl)},
        {"train/kl", when(r->kl_penalised, r->kl)},
        {"train/kl_coefficient", when(r->kl_penalised, r->kl_coefficient)},
        {"train/infinite_kl", when(r->kl_penalised, (double)r->infinite_kl)},
        {"train/clip_fraction", when(ppo, r->clip_fraction)},
        {"train/clip_range", when(ppo, r->clip_range)},
        {"train/explained_variance", when(r->explained_variance_known, r->explained_variance)},
        {"train/q_mean", when(dqn, r->q_mean)},
        {"train/td_error", when(dqn, r->td_error)},
        {"rollout/exploration_rate", when(dqn, r->epsilon)},
        {"train/replay_rows", when(dqn, (double)r->replay_rows)},
        {"train/grad_norm", r->grad_norm},
        {"train/learning_rate", r->learning_rate},
        {"train/n_updates", (double)r->updates},
        {"train/skipped_updates", (double)r->bad_updates},
        {"runtime/workers_alive", (double)r->workers_alive},
        {"runtime/workers_lost", (double)r->workers_lost},
        {"runtime/fragments_trained", (double)r->fragments_trained},
        {"runtime/fragments_dropped", (double)dropped},
        {"runtime/fragments_remote", (double)r->fragments_remote},
        {"runtime/policy_lag", (double)r->policy_lag},
        {"runtime/environment_failures", (double)r->failures_total},
        {"runtime/sample_seconds", r->sample_seconds},
        {"runtime/learn_seconds", r->learn_seconds},
        {"runtime/evaluate_seconds", r->evaluate_seconds},
    };
    _Static_assert(sizeof metrics / sizeof metrics[0] <= OWN_METRICS_MAX,
                   "more metrics than there is room for");
    memcpy(out, metrics, sizeof metrics);
    return sizeof metrics / sizeof metrics[0];
}

static size_t list_metrics(const corral_run_folder *folder, const corral_train_report *r, metric *out)
{
    size_t count = list_own_metrics(r, out);
    for (uint32_t i = 0; i < folder->info_count; i++)
        out[count++] = (metric){folder->info_name[i], when(i < r->info_count, r->info[i])};
    return count;
}

static void print_number(FILE *file, double value)
{
    if (value == floor(value) && fabs(value) < 1e15)
        fprintf(file, "%.0f", value);
    else
        fprintf(file, "%.9g", value);
}

// --- opening ----------------------------------------------------------------------------------------------

static char *in_folder(const corral_run_folder *folder, const char *name)
{
    return corral_format("%s/%s", folder->path, name);
}

/// The run's name from its environment's: what could lead out of the folder is replaced.
static char *name_of(const corral_train_config *config)
{
    const char *env = strrchr(config->env, '/');
    char *name =
        corral_format("%s-%s", env != NULL && strstr(config->env, ".so") != NULL ? env + 1 : config->env,
                      corral_algorithm_name(config->algorithm));
    for (char *c = name; c != NULL && *c != '\0'; c++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *c) == NULL) *c = '-';
    return name;
}

corral_status corral_run_folder_number(const corral_train_config *config, char **out_path)
{
    char *name = name_of(config), *path = NULL;
    corral_status status = name != NULL ? corral_folder_create("runs")
                                        : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    bool created = false;
    for (int n = 1; status == CORRAL_OK && !created; n++) {
        free(path);
        path = corral_format("runs/%s-%d", name, n);
        if (path == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
        else if (mkdir(path, 0777) == 0)
            created = true;
        else if (errno != EEXIST)
            status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot create the run folder %s", path);
    }
    free(name);
    if (created)
        *out_path = path;
    else
        free(path);
    return status;
}

static corral_status create_named(corral_run_folder *folder, const char *path)
{
    folder->path = corral_format("%s", path);
    char *config = folder->path != NULL ? in_folder(folder, "config.yaml") : NULL;
    corral_status status = CORRAL_OK;
    if (config == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    else if (access(config, F_OK) == 0)
        status = corral_fail(CORRAL_ERROR_EXISTS,
                             "%s holds a run already; choose another --out, or go on with it by --resume %s",
                             path, path);
    else {
        folder->created = access(path, F_OK) != 0;
        status = corral_fail_within(corral_folder_create(path), "the run folder");
    }
    free(config);
    return status;
}

static corral_status open_file(corral_run_folder *folder, const char *name, FILE **out_file)
{
    char *path = in_folder(folder, name);
    *out_file = path != NULL ? fopen(path, "ae") : NULL;
    const corral_status status = *out_file != NULL ? CORRAL_OK
                                 : path == NULL
                                     ? corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path")
                                     : corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot write %s", path);
    free(path);
    return status;
}

/// Opens the log, and holds it: a run has one writer, and a second one would spoil its curves.
static corral_status claim(corral_run_folder *folder)
{
    const corral_status status = open_file(folder, "log.txt", &folder->log);
    if (status != CORRAL_OK || flock(fileno(folder->log), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return status; // a file system without locks is no reason to stop
    return corral_fail(CORRAL_ERROR_REFUSED,
                       "the run %s is being written by another process; stop that one first", folder->path);
}

/// A run's last checkpoint is the one with the highest number: going on from an earlier one would leave the
/// later ones of another future in front.
static corral_status check_is_last(const corral_run_folder *folder, uint64_t step)
{
    char *last = NULL;
    if (corral_checkpoint_find(folder->path, 0, &last) != CORRAL_OK) return CORRAL_OK; // there is none
    const char *name = strrchr(last, '/');
    const uint64_t last_step = name != NULL ? strtoull(name + 1, NULL, 10) : 0;
    free(last);
    if (last_step <= step) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID,
                       "%s has a later checkpoint, %" PRIu64
                       "; go on from that one, or into a new folder with --out",
                       folder->path, last_step);
}

static corral_status open_files(corral_run_folder *folder)
{
    corral_status status = open_file(folder, "progress.csv", &folder->progress);
    if (status == CORRAL_OK) status = open_file(folder, "metrics.jsonl", &folder->metrics);
    if (status == CORRAL_OK) status = open_file(folder, "episodes.csv", &folder->episodes);
    char host[64] = "localhost", name[160];
    gethostname(host, sizeof host - 1);
    // A resumed run adds a file of its own; TensorBoard reads all of a folder's in order.
    for (int i = 0; status == CORRAL_OK && folder->events == NULL; i++) {
        snprintf(name, sizeof name, TFEVENTS_PREFIX "%010.0f.%s.%d.%d", folder->started_wall, host,
                 (int)getpid(), i);
        free(folder->events_path);
        folder->events_path = in_folder(folder, name);
        const bool there = folder->events_path != NULL && access(folder->events_path, F_OK) == 0;
        if (!there) status = open_file(folder, name, &folder->events);
    }
    if (status != CORRAL_OK) return status;
    tfevents_write_header(folder->events, folder->started_wall);
    if (ftell(folder->progress) == 0) {
        metric metrics[METRICS_MAX];
        const size_t count = list_metrics(folder, &(corral_train_report){0}, metrics);
        for (size_t i = 0; i < count; i++)
            fprintf(folder->progress, "%s%s", i > 0 ? "," : "", metrics[i].name);
        fputc('\n', folder->progress);
    }
    if (ftell(folder->episodes) == 0) {
        fprintf(folder->episodes, "step,environment,episode,return,length,terminated,truncated");
        for (uint32_t i = 0; i < folder->info_count; i++)
            fprintf(folder->episodes, ",%s", folder->info_name[i]);
        fputc('\n', folder->episodes);
    }
    return CORRAL_OK;
}

static corral_status write_config(corral_run_folder *folder)
{
    char *text = NULL, *path = in_folder(folder, "config.yaml");
    corral_status status = path != NULL ? corral_config_write(corral_train_fields, &folder->config, &text)
                                        : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    if (status == CORRAL_OK) status = corral_file_write(path, text, strlen(text));
    free(text);
    free(path);
    return status;
}

static corral_status make_checkpoints(corral_run_folder *folder)
{
    char *path = in_folder(folder, "checkpoints");
    const corral_status status = path != NULL ? corral_folder_create(path)
                                              : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(path);
    return status;
}

corral_status corral_run_folder_open(const char *path, const corral_train_config *config,
                                     const corral_env_info *info, bool resume, uint64_t resume_step,
                                     corral_run_folder **out_folder)
{
    corral_run_folder *folder = calloc(1, sizeof *folder);
    if (folder == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a run folder");
    folder->config = *config;
    folder->started_wall = corral_wall_seconds();
    folder->resumed = resume;
    folder->info_count = info != NULL ? info->count : 0;
    for (uint32_t i = 0; i < folder->info_count; i++)
        snprintf(folder->info_name[i], sizeof folder->info_name[i], "%s%s", info_prefix, info->name[i]);
    corral_status status;
    if (resume) {
        folder->path = corral_format("%s", path);
        status =
            folder->path != NULL ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    } else {
        status = path != NULL ? create_named(folder, path) : corral_run_folder_number(config, &folder->path);
        if (path == NULL) folder->created = status == CORRAL_OK;
    }
    if (status == CORRAL_OK) status = claim(folder);
    if (status == CORRAL_OK && resume) status = check_is_last(folder, resume_step);
    if (status == CORRAL_OK && resume) status = run_trim(folder->path, resume_step);
    if (status == CORRAL_OK) status = make_checkpoints(folder);
    if (status == CORRAL_OK) status = write_config(folder);
    if (status == CORRAL_OK) status = open_files(folder);
    if (status != CORRAL_OK) {
        // What belongs to another run, or to a writer that holds it, stays as it is.
        if (status != CORRAL_ERROR_EXISTS && status != CORRAL_ERROR_REFUSED && folder->path != NULL)
            corral_run_folder_discard(folder);
        else
            corral_run_folder_close(folder);
        return status;
    }
    *out_folder = folder;
    return CORRAL_OK;
}

const char *corral_run_folder_path(const corral_run_folder *folder)
{
    return folder->path;
}

char *corral_run_folder_checkpoint_path(const corral_run_folder *folder, uint64_t step)
{
    return corral_format("%s/checkpoints/%" PRIu64, folder->path, step);
}

// --- writing ----------------------------------------------------------------------------------------------

corral_status corral_run_folder_flush(corral_run_folder *folder)
{
    FILE *const files[] = {folder->progress, folder->metrics, folder->episodes, folder->events};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        errno = 0;
        if (fflush(files[i]) == 0 && ferror(files[i]) == 0) continue;
        const int error = errno != 0 ? errno : EIO; // an earlier failure's errno is gone
        return corral_fail_errno(error == ENOSPC || error == EDQUOT ? CORRAL_ERROR_FULL : CORRAL_ERROR_IO,
                                 error, "cannot write to the run folder %s", folder->path);
    }
    return CORRAL_OK;
}

static void write_row(FILE *file, const metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) fputc(',', file);
        if (isfinite(metrics[i].value)) print_number(file, metrics[i].value);
    }
    fputc('\n', file);
}

static void write_object(FILE *file, const metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(metrics[i].value)) continue;
        fprintf(file, "%s\"%s\": ", i > 0 ? ", " : "{", metrics[i].name);
        print_number(file, metrics[i].value);
    }
    fputs("}\n", file);
}

corral_status corral_run_folder_report(corral_run_folder *folder, const corral_train_report *report)
{
    metric metrics[METRICS_MAX];
    const size_t count = list_metrics(folder, report, metrics);
    const int64_t now = corral_now_ns();
    write_row(folder->progress, metrics, count);
    write_object(folder->metrics, metrics, count);
    if (report->evaluated || now - folder->events_written_ns > events_ns) {
        const double wall = corral_wall_seconds();
        for (size_t i = 1; i < count; i++)
            if (isfinite(metrics[i].value))
                tfevents_write_scalar(folder->events, wall, report->env_steps, metrics[i].name,
                                      metrics[i].value);
        folder->events_written_ns = now;
    }
    corral_status status = CORRAL_OK;
    if (report->evaluated || now - folder->flushed_ns >= flush_ns) {
        status = corral_run_folder_flush(folder);
        folder->flushed_ns = now;
    }
    if (status == CORRAL_OK && now - folder->summary_ns >= summary_ns)
        status = corral_run_folder_summary(folder,
                                           &(corral_train_summary){.last = *report,
                                                                   .stop_reason = CORRAL_STOP_RUNNING,
                                                                   .run_folder = folder->path,
                                                                   .final_checkpoint = "",
                                                                   .deterministic = report->workers_lost == 0,
                                                                   .note = ""});
    return status;
}

corral_status corral_run_folder_episode(corral_run_folder *folder, const corral_train_episode *episode)
{
    FILE *file = folder->episodes;
    fprintf(file, "%" PRIu64 ",%u,%" PRIu64 ",%.9g,%u,%d,%d", episode->env_steps, episode->environment,
            episode->number, episode->episode_return, episode->length, episode->terminated,
            episode->truncated);
    for (uint32_t i = 0; i < folder->info_count; i++) {
        fputc(',', file);
        if (!isnan(episode->info[i])) print_number(file, episode->info[i]);
    }
    fputc('\n', file);
    return CORRAL_OK; // a failure shows when the file is flushed
}

void corral_run_folder_log(corral_run_folder *folder, const char *line)
{
    char stamp[32];
    const time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &local));
    fprintf(folder->log, "%s %s\n", stamp, line);
    fflush(folder->log);
}

// --- run.json ---------------------------------------------------------------------------------------------

static void add_host(cJSON *root, const corral_run_folder *folder)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    cJSON_AddStringToObject(root, "version", CORRAL_VERSION);
    cJSON_AddStringToObject(root, "host", host);
    cJSON_AddNumberToObject(root, "pid", getpid());
    cJSON_AddNumberToObject(root, "started", floor(folder->started_wall));
}

static void add_results(cJSON *root, const corral_train_summary *summary)
{
    const corral_train_report *r = &summary->last;
    cJSON_AddStringToObject(root, "stop_reason", corral_stop_reason_name(summary->stop_reason));
    cJSON_AddNumberToObject(root, "env_steps", (double)r->env_steps);
    cJSON_AddNumberToObject(root, "iterations", (double)r->iteration);
    cJSON_AddNumberToObject(root, "updates", (double)r->updates);
    cJSON_AddNumberToObject(root, "policy_version", (double)r->policy_version);
    cJSON_AddNumberToObject(root, "seconds", r->seconds);
    cJSON_AddNumberToObject(root, "session_seconds", r->session_seconds);
    cJSON_AddNumberToObject(root, "session_steps", (double)r->session_steps);
    cJSON_AddNumberToObject(root, "episodes", (double)r->episodes_total);
    cJSON_AddNumberToObject(root, "environment_failures", (double)r->failures_total);
    cJSON_AddNumberToObject(root, "skipped_updates", (double)r->bad_updates);
    if (r->episodes > 0) cJSON_AddNumberToObject(root, "return_mean", r->return_mean);
    if (r->evaluations > 0) {
        cJSON_AddNumberToObject(root, "eval_mean", r->eval_mean);
        cJSON_AddNumberToObject(root, "best_mean", r->best_mean);
        cJSON_AddNumberToObject(root, "best_step", (double)r->best_step);
    }
    if (summary->final_checkpoint[0] != '\0')
        cJSON_AddStringToObject(root, "checkpoint", summary->final_checkpoint);
    cJSON_AddBoolToObject(root, "deterministic", summary->deterministic);
    if (summary->note[0] != '\0') cJSON_AddStringToObject(root, "note", summary->note);
}

static void add_runtime(cJSON *root, const corral_train_report *r)
{
    cJSON_AddNumberToObject(root, "workers", r->workers);
    cJSON_AddNumberToObject(root, "workers_started", (double)r->workers_started);
    cJSON_AddNumberToObject(root, "workers_lost", (double)r->workers_lost);
    cJSON_AddNumberToObject(root, "fragments_trained", (double)r->fragments_trained);
    cJSON_AddNumberToObject(root, "fragments_remote", (double)r->fragments_remote);
    cJSON *dropped = cJSON_AddObjectToObject(root, "fragments_dropped");
    for (int i = 0; i < CORRAL_DROP_REASONS; i++)
        cJSON_AddNumberToObject(dropped, corral_drop_reason_name((corral_drop_reason)i),
                                (double)r->fragments_dropped[i]);
}

corral_status corral_run_folder_summary(corral_run_folder *folder, const corral_train_summary *summary)
{
    cJSON *root = cJSON_CreateObject();
    add_results(root, summary);
    add_runtime(root, &summary->last);
    add_host(root, folder);
    char *text = cJSON_Print(root), *path = in_folder(folder, "run.json");
    cJSON_Delete(root);
    corral_status status = text != NULL && path != NULL
                               ? corral_file_write(path, text, strlen(text))
                               : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for run.json");
    if (status == CORRAL_OK) status = corral_run_folder_flush(folder);
    folder->summary_ns = corral_now_ns();
    cJSON_free(text);
    free(path);
    return status;
}

// --- closing ----------------------------------------------------------------------------------------------

void corral_run_folder_close(corral_run_folder *folder)
{
    if (folder == NULL) return;
    FILE *const files[] = {folder->progress, folder->metrics, folder->episodes, folder->events, folder->log};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] != NULL) fclose(files[i]);
    free(folder->events_path);
    free(folder->path);
    free(folder);
}

/// Takes our files out of a folder that was there before us.
static void remove_files(const corral_run_folder *folder)
{
    static const char *const names[] = {"config.yaml",   "run.json",     "progress.csv",
                                        "metrics.jsonl", "episodes.csv", "log.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = in_folder(folder, names[i]);
        if (path != NULL) unlink(path);
        free(path);
    }
    if (folder->events_path != NULL) unlink(folder->events_path);
    char *checkpoints = in_folder(folder, "checkpoints");
    if (checkpoints != NULL) rmdir(checkpoints);
    free(checkpoints);
}

void corral_run_folder_discard(corral_run_folder *folder)
{
    if (folder == NULL) return;
    if (!folder->created && !folder->resumed) remove_files(folder);
    char *path = folder->created ? corral_format("%s", folder->path) : NULL;
    corral_run_folder_close(folder);
    // The failure that led here is the one to tell, not that a folder resists.
    char *sentence = corral_format("%s", corral_last_error());
    if (path != NULL && corral_folder_remove(path) != CORRAL_OK && sentence != NULL)
        (void)corral_fail(CORRAL_ERROR_IO, "%s", sentence);
    free(sentence);
    free(path);
}
