// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "recorder.h"

#include "replay_note.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAITING_MAX = 32 };
static const int64_t film_limit_ns = 120 * CORRAL_SECOND; // of one, at the end of a run

struct recorder {
    const corral_train_config *config;
    const corral_policy_config *policy;
    uint32_t action_bytes;  // of a row as the environment takes it
    size_t words;           // of an action
    char *program, *videos; // corral-view, and the folder of the films
    // The episode that is going on:
    bool known;      // its number
    uint64_t number; // of environment 0's episodes
    uint64_t next_step;
    bool whole;             // all of its actions are here
    unsigned char *actions; // [room, action_bytes]
    uint32_t count, room;
    // Episodes that were noted and not filmed yet; the first one is being filmed while `film` is not 0.
    uint64_t waiting[WAITING_MAX];
    uint32_t waiting_count;
    pid_t film;
};

// --- the schedule -----------------------------------------------------------------------------------------

static bool is_number(const char *every, unsigned long long *out)
{
    char *end;
    *out = strtoull(every, &end, 10);
    return every[0] >= '0' && every[0] <= '9' && *end == '\0' && *out > 0;
}

corral_status recorder_check_schedule(const char *every)
{
    unsigned long long number;
    if (strcmp(every, "off") == 0 || strcmp(every, "cubic") == 0 || is_number(every, &number))
        return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID,
                       "record.every: \"%s\" is none of off, cubic, or a number of episodes", every);
}

bool recorder_wants(const char *every, uint64_t number)
{
    unsigned long long each;
    if (is_number(every, &each)) return number % each == 0;
    if (strcmp(every, "cubic") != 0) return false;
    if (number >= 1000) return number % 1000 == 0;
    for (uint64_t k = 0; k < 10; k++)
        if (k * k * k == number) return true;
    return false;
}

// --- filming ----------------------------------------------------------------------------------------------

static char *path_of(const recorder *r, uint64_t number, const char *suffix)
{
    return corral_format("%s/episode-%06llu.%s", r->videos, (unsigned long long)number, suffix);
}

static int spawn(recorder *r, char *note, char *film)
{
    char name[] = "corral-view", command[] = "record", from[] = "--replay", to[] = "--out";
    char *const arguments[] = {name, command, from, note, to, film, NULL};
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0); // Ctrl-C is for the run
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const int error = posix_spawn(&r->film, r->program, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static void forget_first(recorder *r)
{
    char *note = path_of(r, r->waiting[0], "json");
    if (note != NULL) unlink(note);
    free(note);
    r->waiting_count--;
    memmove(&r->waiting[0], &r->waiting[1], r->waiting_count * sizeof r->waiting[0]);
}

static void start_film(recorder *r)
{
    char *note = path_of(r, r->waiting[0], "json"), *film = path_of(r, r->waiting[0], "mp4");
    const int error = note != NULL && film != NULL ? spawn(r, note, film) : ENOMEM;
    if (error != 0) {
        r->film = 0;
        corral_log(CORRAL_LOG_WARNING, "episode %llu cannot be filmed: %s", (unsigned long long)r->waiting[0],
                   strerror(error));
        forget_first(r);
    }
    free(note);
    free(film);
}

/// Looks after the film that is being made, and starts the next one.
static void look_after(recorder *r)
{
    int how;
    if (r->film != 0 && waitpid(r->film, &how, WNOHANG) != 0) {
        r->film = 0;
        forget_first(r);
    }
    if (r->film == 0 && r->waiting_count > 0) start_film(r);
}

// --- taking -----------------------------------------------------------------------------------------------

static void note_episode(recorder *r)
{
    if (r->waiting_count == WAITING_MAX) return; // films are behind: this one is left out
    const corral_train_config *c = r->config;
    replay_note note = {.params = c->env_params,
                        .max_episode_steps = c->max_episode_steps,
                        .seed = (uint64_t)c->seed,
                        .environment = 0,
                        .number = r->number,
                        .actions = r->actions,
                        .action_bytes = r->action_bytes,
                        .count = r->count};
    char *path = path_of(r, r->number, "json");
    corral_status status = corral_train_config_env(c, note.env);
    if (status == CORRAL_OK) status = path != NULL ? replay_note_write(path, &note) : CORRAL_ERROR_NO_MEMORY;
    if (status == CORRAL_OK)
        r->waiting[r->waiting_count++] = r->number;
    else
        corral_log(CORRAL_LOG_WARNING, "episode %llu cannot be filmed: %s", (unsigned long long)r->number,
                   corral_last_error());
    free(path);
}

static void begin(recorder *r, uint64_t number)
{
    r->known = true;
    r->number = number;
    r->count = 0;
    r->whole = recorder_wants(r->config->record.every, number);
}

static void append(recorder *r, const int32_t *action)
{
    if (r->count == r->room && r->room < REPLAY_NOTE_STEPS_MAX) {
        const uint32_t room = r->room == 0 ? 1024 : r->room * 2;
        unsigned char *actions = realloc(r->actions, (size_t)room * r->action_bytes);
        if (actions != NULL) {
            r->actions = actions;
            r->room = room;
        }
    }
    if (r->count < r->room)
        corral_policy_env_action(r->policy, action, r->actions + (size_t)r->count++ * r->action_bytes);
    else
        r->whole = false;
}

/// The number of the episode of environment 0 that ends in step t, if one does.
static bool ends(const corral_fragment *fragment, uint32_t *k, uint32_t t, uint64_t *out_number)
{
    for (; *k < fragment->header.ended_count; (*k)++) {
        const corral_fragment_ended ended = corral_fragment_ended_at(fragment, *k, NULL);
        if (ended.step > t) return false;
        if (ended.environment != 0 || ended.step < t) continue;
        *out_number = ended.number;
        return true;
    }
    return false;
}

static void take(recorder *r, const corral_fragment *fragment)
{
    const uint32_t steps = fragment->header.spec.steps;
    if (fragment->header.first_step == 0) begin(r, 0);
    if (fragment->header.first_step != r->next_step) r->known = fragment->header.first_step == 0;
    r->next_step = fragment->header.first_step + steps;
    uint32_t k = 0;
    for (uint32_t t = 0; t < steps; t++) {
        if (!fragment->valid[t]) r->known = r->whole = false; // of an episode that failed
        if (r->known && r->whole) append(r, fragment->action + t * r->words);
        uint64_t number;
        if (!ends(fragment, &k, t, &number)) continue;
        if (r->known && r->whole && r->number == number) note_episode(r);
        begin(r, number + 1);
    }
}

void recorder_take(recorder *r, const corral_fragment *fragments, uint32_t count)
{
    if (r == NULL) return;
    for (uint32_t i = 0; i < count; i++)
        if (fragments[i].header.env_begin == 0) take(r, &fragments[i]);
    look_after(r);
}

// --- life -------------------------------------------------------------------------------------------------

corral_status recorder_create(const corral_train_config *config, const environment_setup *setup,
                              const rollout_config *rollout, const char *folder, recorder **out_recorder)
{
    *out_recorder = NULL;
    if (strcmp(config->record.every, "off") == 0) return CORRAL_OK;
    recorder *r = calloc(1, sizeof *r);
    if (r == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to record");
    r->config = config;
    r->policy = &rollout->policy;
    r->action_bytes = setup->spaces.action_bytes;
    r->words = corral_policy_action_words(r->policy);
    corral_status status = corral_program_find("corral-view", &r->program);
    if (status != CORRAL_OK)
        status = corral_fail_within(status, "record.every: films are made by corral-view");
    r->videos = corral_format("%s/videos", folder);
    if (status == CORRAL_OK)
        status = r->videos != NULL ? corral_folder_create(r->videos)
                                   : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    if (status != CORRAL_OK) {
        recorder_destroy(r, true);
        return status;
    }
    *out_recorder = r;
    return CORRAL_OK;
}

static void finish_film(recorder *r)
{
    const int64_t until = corral_now_ns() + film_limit_ns;
    const pid_t film = r->film;
    while (r->film == film && r->film != 0 && corral_now_ns() < until) {
        corral_sleep_ns(5 * CORRAL_MILLISECOND);
        look_after(r);
    }
    if (r->film == film && r->film != 0) r->waiting_count = 1; // it hangs: the others are given up as well
}

void recorder_destroy(recorder *r, bool hurry)
{
    if (r == NULL) return;
    while (!hurry && r->film != 0 && r->waiting_count > 0) {
        const pid_t film = r->film;
        finish_film(r);
        hurry = r->film == film;
    }
    if (r->film != 0) {
        kill(r->film, SIGTERM); // it finishes its file
        waitpid(r->film, NULL, 0);
    }
    while (r->waiting_count > 0)
        forget_first(r);
    free(r->program);
    free(r->videos);
    free(r->actions);
    free(r);
}
