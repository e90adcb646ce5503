// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Collecting a round.
///
/// The environments are cut into slices, one per worker (or per thread). Each slice is usually played by the
/// worker of the same number, which keeps its environments between rounds. When that worker is lost in the
/// middle of a round, the slice goes to any other worker at once, together with the state that its last
/// fragment carried: so the round is finished without waiting for a restart, with the very rows that the lost
/// worker would have made. In the next round the slice goes home again, by the same means.
#include "sampler.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/net/cluster.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOBODY = UINT32_MAX,
    REQUEST_BYTES_MAX = 120 * 1024 /* they go into one message */,
    BLOCKS_PER_WORKER = 2
};

// How long a run waits at its start for word from each worker: blocks of gigabytes are not had in an instant.
static const int64_t start_limit_ns = 10 * CORRAL_SECOND;
// How long a round waits for a worker that is still starting before others take over its slice.
static const int64_t start_patience_ns = 2 * CORRAL_SECOND;
// How often failures of environments are told at most; they are counted all the time.
static const int64_t failure_interval_ns = 10 * CORRAL_SECOND;
// How long an interrupted run still waits for the round to be finished.
static const int64_t interrupt_patience_ns = 3 * CORRAL_SECOND;

typedef struct slice {
    uint32_t env_begin, env_count;
    corral_fragment_layout layout;
    uint32_t leased_to; // worker of this round's open lease, or NOBODY
    uint32_t holder;    // worker whose environments stand at the round's first step, or NOBODY
    bool collected;
    corral_group_event event; // the collected block
    // without workers
    rollout_slice *local;
    corral_policy *policy;
    void *block;
    corral_status status;
    char error[512];
} slice;

typedef struct worker {
    bool ready;
    bool lost; // before
} worker;

struct sampler {
    const corral_train_config *train;
    const rollout_config *rollout;
    const environment_setup *setup;
    corral_team *team;
    sampler_listener listener;
    uint32_t slice_count;
    slice *slices;
    corral_fragment *fragments;
    bool have_states; // what `states` holds is the state at the next round's first step
    bool exact;
    unsigned char *states;                 // [envs] saved states
    unsigned char *observations;           // [envs]
    size_t state_bytes, observation_bytes; // of one environment
    void *packed;
    size_t packed_size;
    uint64_t version;
    double exploration;
    // with workers
    corral_cluster *cluster;
    corral_group *group;
    worker *workers;
    uint32_t worker_count, workers_gone;
    uint64_t round;
    int64_t created_ns;
    unsigned char *request;
    atomic_bool interrupted;
    uint64_t fragments_trained, fragments_dropped[CORRAL_DROP_REASONS];
    uint32_t bad_in_a_row;
    bool failure_told;
    int64_t failure_told_ns;
    char message[1024], note[512];
};

// --- creating ---------------------------------------------------------------------------------------------

static corral_status plan_slices(sampler *s)
{
    const uint32_t envs = (uint32_t)s->train->envs;
    s->slices = calloc(s->slice_count, sizeof *s->slices);
    s->fragments = calloc(s->slice_count, sizeof *s->fragments);
    if (s->slices == NULL || s->fragments == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for slices");
    for (uint32_t i = 0; i < s->slice_count; i++) {
        slice *sl = &s->slices[i];
        sl->env_begin = (uint32_t)((uint64_t)envs * i / s->slice_count);
        sl->env_count = (uint32_t)((uint64_t)envs * (i + 1) / s->slice_count) - sl->env_begin;
        sl->leased_to = sl->holder = NOBODY;
        corral_status status =
            rollout_fragment_layout(s->rollout, s->setup, sl->env_count, &sl->layout, &s->exact);
        if (status != CORRAL_OK) return status;
    }
    s->state_bytes = s->slices[0].layout.spec.state_bytes;
    s->observation_bytes = s->slices[0].layout.spec.observation_bytes;
    s->states = calloc(envs, s->state_bytes + 1);
    s->observations = calloc(envs, s->observation_bytes);
    s->request = malloc(REQUEST_BYTES_MAX);
    s->packed = malloc(s->packed_size);
    if (s->states == NULL || s->observations == NULL || s->request == NULL || s->packed == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the states of %u environments", envs);
    return CORRAL_OK;
}

static corral_status create_local(sampler *s)
{
    for (uint32_t i = 0; i < s->slice_count; i++) {
        slice *sl = &s->slices[i];
        corral_status status =
            rollout_slice_create(s->rollout, s->setup, sl->env_begin, sl->env_count, &sl->local);
        if (status == CORRAL_OK)
            status = corral_policy_create(&s->rollout->policy, s->rollout->run_seed, &sl->policy);
        if (status != CORRAL_OK) return status;
        sl->block = aligned_alloc(64, (sl->layout.capacity + 63) / 64 * 64);
        if (sl->block == NULL)
            return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a fragment of %zu bytes",
                               sl->layout.capacity);
    }
    return CORRAL_OK;
}

static corral_status create_group(sampler *s, const char *address)
{
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.address = address;
    cluster.slots = (unsigned)ceil(s->train->worker_cpus * s->worker_count);
    // Asking a driver takes its time: only a run that wants GPUs does.
    static const char *const no_gpus[] = {"--gpus", "0", NULL};
    if (s->train->worker_gpus == 0) cluster.node_flags = no_gpus;
    cluster.faults = s->train->faults;
    corral_status status = corral_cluster_connect(&cluster, &s->cluster);
    if (status != CORRAL_OK) return status;
    size_t block = 0;
    for (uint32_t i = 0; i < s->slice_count; i++)
        if (s->slices[i].layout.capacity > block) block = s->slices[i].layout.capacity;
    const corral_group_config group = {
        .class_name = rollout_worker_class.name,
        .count = s->worker_count,
        .cpus = s->train->worker_cpus,
        .gpus = s->train->worker_gpus,
        .config = s->rollout,
        .config_size = sizeof *s->rollout,
        .block_bytes = block,
        .blocks_per_actor = BLOCKS_PER_WORKER,
        .weights_bytes = s->packed_size,
        .transport = (corral_transport)s->train->transport,
        .lease_timeout_ns = (int64_t)(s->train->step_timeout * 1e9),
        .max_restarts = (uint32_t)s->train->max_restarts,
    };
    s->workers = calloc(s->worker_count, sizeof *s->workers);
    if (s->workers == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %u workers", s->worker_count);
    s->created_ns = corral_now_ns();
    return corral_group_create(s->cluster, &group, &s->group);
}

/// The group's sentence begins with its own name for the actor, which to the user is a worker.
static const char *without_name(const corral_group_event *event)
{
    char name[128];
    const int length =
        snprintf(name, sizeof name, "actor %u of group \"%s\" ", event->actor, rollout_worker_class.name);
    const bool begins = strncmp(event->reason, name, (size_t)length) == 0;
    return begins ? event->reason + length : event->reason;
}

static corral_status handle_event(sampler *s, const corral_group_event *event, uint64_t first_step);

static corral_status refused_start(const sampler *s, const corral_group_event *event)
{
    const corral_fragment_layout *layout = &s->slices[s->slice_count - 1].layout; // none is larger
    return corral_fail(
        CORRAL_ERROR_REFUSED,
        "worker %u %s (a worker has %u environments, and %d blocks of %u steps of them: %zu MiB)",
        event->actor, without_name(event), layout->spec.env_count, BLOCKS_PER_WORKER, layout->spec.steps,
        BLOCKS_PER_WORKER * layout->capacity >> 20);
}

/// Waits until each worker is up or has ended. What they say themselves at their start (no memory for their
/// blocks, an environment that cannot be made) would be the same the next time: the run is refused.
static corral_status await_workers(sampler *s)
{
    corral_status status = CORRAL_OK;
    uint32_t heard = 0;
    while (heard < s->worker_count && corral_now_ns() - s->created_ns < start_limit_ns) {
        corral_group_event event;
        status = corral_group_next(s->group, 100 * CORRAL_MILLISECOND, &event);
        if (status == CORRAL_ERROR_EMPTY) continue;
        if (status == CORRAL_OK && event.kind == CORRAL_GROUP_ACTOR_LOST && event.explained)
            return refused_start(s, &event);
        if (status == CORRAL_OK) status = handle_event(s, &event, 0);
        if (status != CORRAL_OK) return status;
        heard++;
    }
    return CORRAL_OK;
}

corral_status sampler_create(const sampler_config *config, sampler **out_sampler)
{
    sampler *s = calloc(1, sizeof *s);
    if (s == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the sampler");
    s->train = config->train;
    s->rollout = config->rollout;
    s->setup = config->setup;
    s->team = config->team;
    s->listener = config->listener;
    s->packed_size = config->policy_bytes;
    s->worker_count = (uint32_t)config->train->workers;
    const uint32_t envs = (uint32_t)config->train->envs, threads = corral_team_size(config->team);
    s->slice_count = s->worker_count > 0 ? s->worker_count : threads < envs ? threads : envs;
    corral_status status = plan_slices(s);
    if (status == CORRAL_OK)
        status = s->worker_count > 0 ? create_group(s, config->cluster) : create_local(s);
    if (status == CORRAL_OK && s->group != NULL) status = await_workers(s);
    if (status != CORRAL_OK) {
        sampler_destroy(s);
        return status;
    }
    *out_sampler = s;
    return CORRAL_OK;
}

void sampler_destroy(sampler *s)
{
    if (s == NULL) return;
    corral_group_destroy(s->group);
    corral_cluster_disconnect(s->cluster);
    for (uint32_t i = 0; s->slices != NULL && i < s->slice_count; i++) {
        rollout_slice_destroy(s->slices[i].local);
        corral_policy_destroy(s->slices[i].policy);
        free(s->slices[i].block);
    }
    free(s->slices);
    free(s->fragments);
    free(s->states);
    free(s->observations);
    free(s->request);
    free(s->packed);
    free(s->workers);
    free(s);
}

static void say(sampler *s, const char *format, ...) CORRAL_PRINTF(2, 3);
static void say(sampler *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->message, sizeof s->message, format, arguments);
    va_end(arguments);
    if (s->listener.message != NULL) s->listener.message(s->listener.context, s->message);
}

// --- publishing -------------------------------------------------------------------------------------------

corral_status sampler_publish(sampler *s, const corral_policy *policy)
{
    corral_policy_pack(policy, s->packed);
    s->version = corral_policy_version(policy);
    if (s->group != NULL) return corral_group_publish(s->group, s->version, s->packed, s->packed_size);
    for (uint32_t i = 0; i < s->slice_count; i++) {
        corral_status status = corral_policy_unpack(s->slices[i].policy, s->packed, s->packed_size);
        if (status != CORRAL_OK) return status;
    }
    return CORRAL_OK;
}

void sampler_explore(sampler *s, double epsilon)
{
    s->exploration = epsilon;
}

// --- requests ---------------------------------------------------------------------------------------------

/// Writes a lease's request; with state where the player does not stand at `first_step`, and where it fits.
static size_t write_request(sampler *s, const slice *sl, uint64_t first_step, bool with_state, void *out)
{
    const size_t states = sl->env_count * s->state_bytes, observations = sl->env_count * s->observation_bytes;
    rollout_request request = {.magic = ROLLOUT_REQUEST_MAGIC,
                               .env_begin = sl->env_begin,
                               .env_count = sl->env_count,
                               .first_step = first_step,
                               .policy_version = s->version,
                               .exploration = s->exploration};
    if (with_state) request.state_bytes = (uint32_t)(states + observations);
    memcpy(out, &request, sizeof request);
    if (!with_state) return sizeof request;
    memcpy((char *)out + sizeof request, s->states + sl->env_begin * s->state_bytes, states);
    memcpy((char *)out + sizeof request + states, s->observations + sl->env_begin * s->observation_bytes,
           observations);
    return sizeof request + states + observations;
}

static bool state_fits(const sampler *s, const slice *sl)
{
    return sizeof(rollout_request) + sl->env_count * (s->state_bytes + s->observation_bytes) <=
           REQUEST_BYTES_MAX;
}

// --- collecting without workers ---------------------------------------------------------------------------

typedef struct local_round {
    sampler *s;
    uint64_t first_step;
} local_round;

static void collect_local_slice(void *context, size_t index, unsigned thread)
{
    (void)thread;
    const local_round *round = context;
    sampler *s = round->s;
    slice *sl = &s->slices[index];
    const rollout_request request = {
        .env_count = sl->env_count,
        .first_step = round->first_step,
        .exploration = s->exploration,
        .state_bytes = sl->holder == NOBODY && s->have_states
                           ? (uint32_t)(sl->env_count * (s->state_bytes + s->observation_bytes))
                           : 0,
    };
    unsigned char *state = NULL;
    if (request.state_bytes > 0) {
        state = malloc(request.state_bytes);
        if (state != NULL) {
            const size_t states = sl->env_count * s->state_bytes;
            memcpy(state, s->states + sl->env_begin * s->state_bytes, states);
            memcpy(state + states, s->observations + sl->env_begin * s->observation_bytes,
                   sl->env_count * s->observation_bytes);
        }
    }
    size_t length = 0;
    sl->status = request.state_bytes > 0 && state == NULL
                     ? corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the states of %u environments",
                                   sl->env_count)
                     : rollout_slice_seek(sl->local, &request, state);
    free(state);
    if (sl->status == CORRAL_OK)
        sl->status =
            rollout_slice_collect(sl->local, sl->policy, 0, NULL, sl->block, sl->layout.capacity, &length);
    if (sl->status == CORRAL_OK)
        sl->status = corral_fragment_open(&sl->layout, sl->block, length, &s->fragments[index]);
    sl->holder = 0;
    if (sl->status != CORRAL_OK) snprintf(sl->error, sizeof sl->error, "%s", corral_last_error());
}

static corral_status collect_local(sampler *s, uint64_t first_step)
{
    local_round round = {s, first_step};
    corral_team_run(s->team, s->slice_count, collect_local_slice, &round);
    for (uint32_t i = 0; i < s->slice_count; i++) {
        if (s->slices[i].status != CORRAL_OK)
            return corral_fail(s->slices[i].status, "%s", s->slices[i].error);
        s->slices[i].collected = true;
    }
    return CORRAL_OK;
}

// --- collecting with workers ------------------------------------------------------------------------------

static uint64_t tag_of(const sampler *s, uint32_t index)
{
    return s->round << 16 | index;
}

static corral_status lease_slice(sampler *s, uint32_t index, uint32_t to, uint64_t first_step)
{
    slice *sl = &s->slices[index];
    const bool with_state = sl->holder != to && s->have_states;
    if (with_state && !state_fits(s, sl))
        return corral_fail(CORRAL_ERROR_UNSUPPORTED,
                           "the saved state of %u environments does not fit into a request; use more workers",
                           sl->env_count);
    const size_t size = write_request(s, sl, first_step, with_state, s->request);
    corral_status status = corral_group_lease(s->group, to, tag_of(s, index), s->request, size);
    if (status == CORRAL_OK) sl->leased_to = to;
    return status == CORRAL_ERROR_FULL || status == CORRAL_ERROR_LOST ? CORRAL_OK : status;
}

/// Leases each open slice that nobody plays: to its own worker, or to another when that one is lost or late.
static corral_status lease_open_slices(sampler *s, uint64_t first_step)
{
    const bool patient = corral_now_ns() - s->created_ns < start_patience_ns;
    for (uint32_t i = 0; i < s->slice_count; i++) {
        slice *sl = &s->slices[i];
        if (sl->collected || sl->leased_to != NOBODY) continue;
        uint32_t to = i;
        if (!s->workers[i].ready) {
            if (patient) continue;
            for (uint32_t k = 1; k < s->worker_count && !s->workers[to].ready; k++)
                to = (i + k) % s->worker_count;
        }
        if (!s->workers[to].ready) continue;
        corral_status status = lease_slice(s, i, to, first_step);
        if (status != CORRAL_OK) return status;
    }
    return CORRAL_OK;
}

static void drop(sampler *s, const corral_group_event *event, corral_drop_reason reason)
{
    s->fragments_dropped[reason]++;
    corral_group_release(s->group, event);
}

static corral_status take_fragment(sampler *s, const corral_group_event *event, uint64_t first_step)
{
    const uint32_t index = (uint32_t)(event->tag & 0xffff);
    if (event->tag >> 16 != s->round || index >= s->slice_count || s->slices[index].collected) {
        drop(s, event, CORRAL_DROP_LATE);
        return CORRAL_OK;
    }
    slice *sl = &s->slices[index];
    corral_fragment *fragment = &s->fragments[index];
    if (sl->leased_to == event->actor) sl->leased_to = NOBODY;
    sl->holder = NOBODY; // until the fragment is accepted nobody is known to stand where it ends
    corral_status status = corral_fragment_open(&sl->layout, event->data, event->length, fragment);
    if (status == CORRAL_OK &&
        (fragment->header.env_begin != sl->env_begin || fragment->header.first_step != first_step))
        status =
            corral_fail(CORRAL_ERROR_CORRUPT, "it is of other environments or steps than were asked for");
    if (status != CORRAL_OK) {
        say(s, "worker %u: its fragment is dropped: %s", event->actor, corral_last_error());
        drop(s, event, status == CORRAL_ERROR_NOT_FINITE ? CORRAL_DROP_NOT_FINITE : CORRAL_DROP_CORRUPT);
        if (++s->bad_in_a_row >= 10)
            return corral_fail(status, "10 fragments in a row could not be used; the last: %s", s->message);
        return CORRAL_OK;
    }
    if (fragment->header.policy_version != s->version) {
        drop(s, event, CORRAL_DROP_STALE);
        return CORRAL_OK;
    }
    s->bad_in_a_row = 0;
    sl->collected = true;
    sl->holder = event->actor;
    sl->event = *event;
    return CORRAL_OK;
}

static void worker_ready(sampler *s, uint32_t index)
{
    worker *w = &s->workers[index];
    const bool restarted = w->lost;
    *w = (worker){.ready = true};
    if (restarted && s->listener.worker_restarted != NULL)
        s->listener.worker_restarted(s->listener.context, index);
}

static void worker_gone(sampler *s, const corral_group_event *event, bool for_good)
{
    s->workers[event->actor] = (worker){.lost = true};
    uint32_t open = 0;
    for (uint32_t i = 0; i < s->slice_count; i++) {
        slice *sl = &s->slices[i];
        if (sl->holder == event->actor) sl->holder = NOBODY;
        if (sl->leased_to != event->actor) continue;
        sl->leased_to = NOBODY;
        open++;
    }
    s->fragments_dropped[CORRAL_DROP_WORKER_LOST] += open;
    s->created_ns = 0; // from now on nobody waits for a start
    if (for_good) s->workers_gone++;
    say(s, "worker %u %s%s", event->actor, without_name(event),
        event->timed_out ? "; raise step_timeout if its environments are only slow" : "");
    if (s->listener.worker_lost != NULL)
        s->listener.worker_lost(s->listener.context, event->actor, event->reason, for_good);
}

static corral_status handle_event(sampler *s, const corral_group_event *event, uint64_t first_step)
{
    switch (event->kind) {
    case CORRAL_GROUP_ACTOR_READY:
        worker_ready(s, event->actor);
        return CORRAL_OK;
    case CORRAL_GROUP_FRAGMENT:
        return take_fragment(s, event, first_step);
    case CORRAL_GROUP_ACTOR_LOST:
        worker_gone(s, event, false);
        return CORRAL_OK;
    case CORRAL_GROUP_ACTOR_DOWN:
        worker_gone(s, event, true);
        if (s->workers_gone < s->worker_count) return CORRAL_OK;
        return corral_fail(CORRAL_ERROR_LOST, "no worker is left; the last: %s", s->message);
    case CORRAL_GROUP_FAILED:
        return corral_fail(CORRAL_ERROR_LOST, "%s", event->reason);
    }
    return CORRAL_OK;
}

static bool all_collected(const sampler *s)
{
    for (uint32_t i = 0; i < s->slice_count; i++)
        if (!s->slices[i].collected) return false;
    return true;
}

static corral_status collect_from_group(sampler *s, uint64_t first_step)
{
    s->round++;
    int64_t interrupted_ns = 0;
    while (!all_collected(s)) {
        corral_status status = lease_open_slices(s, first_step);
        if (status != CORRAL_OK) return status;
        if (atomic_load(&s->interrupted)) {
            if (interrupted_ns == 0) interrupted_ns = corral_now_ns();
            if (corral_now_ns() - interrupted_ns > interrupt_patience_ns)
                return corral_fail(CORRAL_ERROR_CANCELLED, "interrupted while waiting for rollouts");
        }
        corral_group_event event;
        status = corral_group_next(s->group, 100 * CORRAL_MILLISECOND, &event);
        if (status == CORRAL_OK) status = handle_event(s, &event, first_step);
        if (status != CORRAL_OK && status != CORRAL_ERROR_EMPTY && status != CORRAL_ERROR_CANCELLED)
            return status;
    }
    return CORRAL_OK;
}

// --- a round ----------------------------------------------------------------------------------------------

static void keep_states(sampler *s)
{
    for (uint32_t i = 0; i < s->slice_count; i++) {
        const slice *sl = &s->slices[i];
        const corral_fragment *f = &s->fragments[i];
        memcpy(s->states + sl->env_begin * s->state_bytes, f->state, sl->env_count * s->state_bytes);
        const size_t rows = (size_t)sl->layout.spec.steps + 1;
        for (uint32_t e = 0; e < sl->env_count; e++)
            memcpy(s->observations + (sl->env_begin + e) * s->observation_bytes,
                   f->observation + (e * rows + rows - 1) * s->observation_bytes, s->observation_bytes);
    }
    s->have_states = true;
}

static void tell_failures(sampler *s)
{
    const int64_t now = corral_now_ns();
    if (s->failure_told && now - s->failure_told_ns < failure_interval_ns) return;
    uint64_t failures = 0;
    const corral_fragment *first = NULL;
    for (uint32_t i = 0; i < s->slice_count; i++) {
        failures += s->fragments[i].header.failed_count;
        if (first == NULL && s->fragments[i].header.failed_count > 0) first = &s->fragments[i];
    }
    if (first == NULL) return;
    s->failure_told = true;
    s->failure_told_ns = now;
    say(s, "%s; its episode is dropped and the next one begun (failures in these steps: %llu)",
        first->failure, (unsigned long long)failures);
}

corral_status sampler_collect(sampler *s, uint64_t first_step, const corral_fragment **out_fragments)
{
    for (uint32_t i = 0; i < s->slice_count; i++) {
        s->slices[i].collected = false;
        s->slices[i].leased_to = NOBODY;
    }
    corral_status status =
        s->group != NULL ? collect_from_group(s, first_step) : collect_local(s, first_step);
    if (status != CORRAL_OK) {
        char sentence[1024]; // giving back may fail, too, where the workers are gone
        snprintf(sentence, sizeof sentence, "%s", corral_last_error());
        sampler_release(s);
        return corral_fail(status, "%s", sentence);
    }
    keep_states(s);
    tell_failures(s);
    s->fragments_trained += s->slice_count;
    *out_fragments = s->fragments;
    return CORRAL_OK;
}

void sampler_release(sampler *s)
{
    for (uint32_t i = 0; i < s->slice_count; i++) {
        if (s->group != NULL && s->slices[i].collected) corral_group_release(s->group, &s->slices[i].event);
        s->slices[i].collected = false;
    }
}

uint32_t sampler_slice_count(const sampler *s)
{
    return s->slice_count;
}

const void *sampler_states(const sampler *s, size_t *out_state_bytes, size_t *out_observation_bytes)
{
    *out_state_bytes = s->state_bytes;
    *out_observation_bytes = s->observation_bytes;
    return s->have_states ? s->states : NULL;
}

const void *sampler_observations(const sampler *s)
{
    return s->observations;
}

corral_status sampler_restore(sampler *s, const void *states, const void *observations, size_t state_size,
                              size_t observation_size)
{
    const size_t envs = (size_t)s->train->envs;
    if (state_size != envs * s->state_bytes || observation_size != envs * s->observation_bytes)
        return corral_fail(
            CORRAL_ERROR_CORRUPT,
            "the saved environments are not those of this configuration (%zu bytes of state, %zu expected)",
            state_size, envs * s->state_bytes);
    memcpy(s->states, states, state_size);
    memcpy(s->observations, observations, observation_size);
    s->have_states = true;
    for (uint32_t i = 0; i < s->slice_count; i++)
        s->slices[i].holder = NOBODY;
    return CORRAL_OK;
}

bool sampler_exact(const sampler *s)
{
    return s->exact;
}

sampler_stats sampler_get_stats(sampler *s)
{
    sampler_stats stats = {.fragments_trained = s->fragments_trained, .deterministic = true, .note = ""};
    memcpy(stats.dropped, s->fragments_dropped, sizeof stats.dropped);
    if (s->group != NULL) {
        const corral_group_stats group = corral_group_get_stats(s->group);
        stats.workers_alive = group.actors_alive;
        stats.workers_started = group.actors_started;
        stats.workers_lost = group.actors_lost;
        stats.fragments_remote = group.fragments_remote;
        const char *note = NULL;
        if (!corral_cluster_levels_agree(s->cluster, &note)) {
            snprintf(s->note, sizeof s->note, "%s",
                     note != NULL ? note : "instruction sets differ between nodes");
            stats.deterministic = false;
        } else if (group.actors_lost > 0 && !s->exact) {
            snprintf(s->note, sizeof s->note, "%llu workers were lost, and %s cannot save its state",
                     (unsigned long long)group.actors_lost, s->setup->type->id);
            stats.deterministic = false;
        }
        if (!stats.deterministic) stats.note = s->note;
    }
    return stats;
}

void sampler_interrupt(sampler *s)
{
    atomic_store(&s->interrupted, true);
    if (s->group != NULL) corral_group_interrupt(s->group);
}
