// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One thread serves all watchers. It sleeps until somebody comes; then it plays LIVE_CELLS_MAX environments,
// spread over the workers, at the pace that the environment asks for, and sends at most FRAMES_PER_SECOND of
// each.
//
// A watcher that does not read is left out until it does: sending never waits. Since frames build on each
// other, one that has missed any makes the next frame a whole one, for everybody.

#include "live.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WATCHERS_MAX = 16, POINTS_MAX = 512, FRAMES_PER_SECOND = 25 };
static const int64_t whole_ns = 5 * CORRAL_SECOND, rest_ns = CORRAL_SECOND / 2, behind_ns = 2 * CORRAL_SECOND;
static const int64_t point_ns = CORRAL_SECOND / 5, nap_ns = CORRAL_SECOND / 25;

struct live {
    live_hello hello;
    follower cells[LIVE_CELLS_MAX];
    struct {
        int64_t due_ns, sent_ns, whole_ns;
    } pace[LIVE_CELLS_MAX];
    int listening, wake;
    char *path; // of the socket
    pthread_t thread;
    bool threaded;
    atomic_bool ending;
    atomic_uint watched;
    int watcher[WATCHERS_MAX];
    bool starved[WATCHERS_MAX]; // has missed a frame
    uint32_t watcher_count;
    uint8_t packet[LIVE_PACKET_MAX];
    // Under the lock:
    pthread_mutex_t lock;
    live_point points[POINTS_MAX];
    uint32_t point_count, stride, skipped; // every stride-th report is kept
    live_point newest;
    bool news;
    live_end end;
};

// --- sockets ----------------------------------------------------------------------------------------------

/// A socket's address has room for 107 bytes, a folder's name may be longer: so it is reached by its number.
static corral_status address_of(const char *folder, struct sockaddr_un *out, int *out_folder)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    *out_folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*out_folder < 0) return corral_fail_errno(CORRAL_ERROR_NOT_FOUND, errno, "%s", folder);
    snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/live.sock", *out_folder);
    return CORRAL_OK;
}

static int listen_at(const char *folder)
{
    struct sockaddr_un address;
    int directory;
    if (address_of(folder, &address, &directory) != CORRAL_OK) return -1;
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(address.sun_path); // of an earlier session: the folder is locked, so it is ours
    const bool bound = listening >= 0 && bind(listening, (void *)&address, sizeof address) == 0 &&
                       chmod(address.sun_path, 0600) == 0 && listen(listening, WATCHERS_MAX) == 0;
    close(directory);
    if (bound) return listening;
    if (listening >= 0) close(listening);
    return -1;
}

corral_status live_connect(const char *run, int *out_socket)
{
    struct sockaddr_un address;
    int directory;
    corral_status status = address_of(run, &address, &directory);
    if (status != CORRAL_OK) return status;
    const int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (file < 0 || connect(file, (void *)&address, sizeof address) != 0) {
        status =
            corral_fail(CORRAL_ERROR_NOT_FOUND,
                        "%s is not being trained now; `corral view %s` shows what it has learned", run, run);
        if (file >= 0) close(file);
    } else {
        *out_socket = file;
    }
    close(directory);
    return status;
}

static bool is_own_user(int file)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == getuid() || who.uid == 0);
}

// --- sending ----------------------------------------------------------------------------------------------

static void drop_watcher(live *l, uint32_t index)
{
    close(l->watcher[index]);
    l->watcher_count--;
    l->watcher[index] = l->watcher[l->watcher_count];
    l->starved[index] = l->starved[l->watcher_count];
    atomic_store(&l->watched, l->watcher_count);
}

static void send_to(live *l, uint32_t index, const void *packet, size_t size)
{
    if (send(l->watcher[index], packet, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return;
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
        l->starved[index] = true;
    else
        drop_watcher(l, index);
}

static void send_all(live *l, const void *packet, size_t size)
{
    for (uint32_t i = l->watcher_count; i-- > 0;)
        send_to(l, i, packet, size);
}

static void welcome(live *l, int file)
{
    if (l->watcher_count == WATCHERS_MAX || !is_own_user(file)) {
        close(file);
        return;
    }
    const int room = 1 << 20; // for the points
    setsockopt(file, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    const uint32_t index = l->watcher_count++;
    l->watcher[index] = file;
    l->starved[index] = true; // its first frame is a whole one
    send_to(l, index, &l->hello, sizeof l->hello);
    pthread_mutex_lock(&l->lock);
    for (uint32_t i = 0; i < l->point_count && index < l->watcher_count; i++)
        send_to(l, index, &l->points[i], sizeof l->points[i]);
    pthread_mutex_unlock(&l->lock);
    atomic_store(&l->watched, l->watcher_count);
}

static void send_frame(live *l, uint32_t cell, int64_t now)
{
    follower *f = &l->cells[cell];
    bool whole = now - l->pace[cell].whole_ns > whole_ns;
    for (uint32_t i = 0; i < l->watcher_count; i++)
        whole |= l->starved[i];
    f->now.whole = whole;
    const size_t size = live_frame_write(&f->now, f->items, f->item_count, &f->sent, l->packet);
    if (whole) l->pace[cell].whole_ns = now;
    send_all(l, l->packet, size);
}

static void send_news(live *l)
{
    pthread_mutex_lock(&l->lock);
    const bool news = l->news;
    const live_point point = l->newest;
    l->news = false;
    pthread_mutex_unlock(&l->lock);
    if (news) send_all(l, &point, sizeof point);
}

// --- playing ----------------------------------------------------------------------------------------------

static int64_t step_ns(const live *l)
{
    return (int64_t)(1e9 / l->hello.fps);
}

/// Plays what is due of one environment. Returns when to look again.
static int64_t pass(live *l, uint32_t cell, int64_t now)
{
    follower *f = &l->cells[cell];
    if (now < l->pace[cell].due_ns) return l->pace[cell].due_ns;
    if (f->now.ended && follower_waiting(f) > (uint64_t)(behind_ns / step_ns(l))) follower_skip(f);
    bool moved = false;
    if (now - l->pace[cell].due_ns > CORRAL_SECOND) l->pace[cell].due_ns = now; // time lost is lost
    while (l->pace[cell].due_ns <= now && follower_play(f)) {
        moved = true;
        l->pace[cell].due_ns += f->now.ended ? rest_ns : step_ns(l);
        if (f->now.ended) break;
    }
    if (!moved) return l->pace[cell].due_ns = now + nap_ns;
    if (f->now.ended ||
        now - l->pace[cell].sent_ns >= CORRAL_SECOND / FRAMES_PER_SECOND - CORRAL_MILLISECOND) {
        send_frame(l, cell, now);
        l->pace[cell].sent_ns = now;
    }
    return l->pace[cell].due_ns;
}

static int64_t play(live *l)
{
    int64_t until = corral_now_ns() + point_ns;
    for (uint32_t i = 0; i < l->hello.cells; i++) {
        const int64_t due = pass(l, i, corral_now_ns());
        if (due < until) until = due;
    }
    for (uint32_t i = 0; i < l->watcher_count; i++)
        l->starved[i] = false;
    send_news(l);
    return until;
}

/// Takes in who comes, and lets go who leaves.
static void look_round(live *l, int64_t wait_ns)
{
    struct pollfd files[2 + WATCHERS_MAX] = {{.fd = l->wake, .events = POLLIN},
                                             {.fd = l->listening, .events = POLLIN}};
    for (uint32_t i = 0; i < l->watcher_count; i++)
        files[2 + i] = (struct pollfd){.fd = l->watcher[i], .events = POLLIN};
    const int limit = wait_ns < 0 ? -1 : (int)((wait_ns + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND);
    if (poll(files, 2 + l->watcher_count, limit) <= 0) return;
    for (uint32_t i = l->watcher_count; i-- > 0;)
        if (files[2 + i].revents != 0) drop_watcher(l, i); // they have nothing to say
    if (files[1].revents == 0) return;
    const int file = accept4(l->listening, NULL, NULL, SOCK_CLOEXEC);
    if (file >= 0) welcome(l, file);
}

static void *serve(void *context)
{
    live *l = context;
    bool playing = false;
    while (!atomic_load(&l->ending)) {
        int64_t wait = -1;
        if (l->watcher_count > 0) {
            playing = true;
            wait = play(l) - corral_now_ns();
        }
        if (l->watcher_count == 0 && playing) {
            for (uint32_t i = 0; i < l->hello.cells; i++)
                follower_forget(&l->cells[i]);
            playing = false;
        }
        look_round(l, l->watcher_count == 0 ? -1 : wait > 0 ? wait : 0);
    }
    send_all(l, &l->end, sizeof l->end);
    while (l->watcher_count > 0)
        drop_watcher(l, 0);
    return NULL;
}

// --- the learner's side -----------------------------------------------------------------------------------

static void fill_hello(live *l, const live_config *config)
{
    const corral_train_config *train = config->train;
    const corral_env_type *type = config->setup->type;
    const uint32_t envs = (uint32_t)train->envs;
    live_hello *h = &l->hello;
    *h = (live_hello){.head = {LIVE_VERSION, LIVE_HELLO, sizeof *h},
                      .cells = envs < LIVE_CELLS_MAX ? envs : LIVE_CELLS_MAX,
                      .workers = (uint32_t)train->workers,
                      .envs = envs,
                      .fps = type->render_fps > 0 ? type->render_fps : 30,
                      .step_budget = (uint64_t)train->stop.steps};
    snprintf(h->env, sizeof h->env, "%s", type->id);
    snprintf(h->run, sizeof h->run, "%s", config->folder);
    snprintf(h->algorithm, sizeof h->algorithm, "%s", corral_algorithm_name(train->algorithm));
}

/// What the picture is like is asked for once somebody looks, since that may cost a second in Python.
static void fill_picture(live *l)
{
    const corral_env_type *type = l->cells[0].setup->type;
    const corral_env_render *render = type->extension != NULL ? type->extension(CORRAL_ENV_RENDER) : NULL;
    if (render == NULL) return;
    l->hello.width = render->width;
    l->hello.height = render->height;
    l->hello.background = render->background;
}

static void *first_serve(void *context)
{
    live *l = context;
    struct pollfd files[2] = {{.fd = l->wake, .events = POLLIN}, {.fd = l->listening, .events = POLLIN}};
    while (poll(files, 2, -1) < 0 && errno == EINTR) {
    }
    if (!atomic_load(&l->ending)) fill_picture(l);
    return serve(l);
}

static bool start_thread(live *l)
{
    l->threaded = corral_thread_start(&l->thread, first_serve, l) == CORRAL_OK;
    return l->threaded;
}

static void release(live *l)
{
    for (uint32_t i = 0; i < l->hello.cells; i++)
        follower_finish(&l->cells[i]);
    if (l->listening >= 0) close(l->listening);
    if (l->wake >= 0) close(l->wake);
    if (l->path != NULL) unlink(l->path);
    free(l->path);
    free(l);
}

live *live_start(const live_config *config)
{
    live *l = calloc(1, sizeof *l);
    if (l == NULL) return NULL;
    pthread_mutex_init(&l->lock, NULL);
    l->stride = 1;
    l->end = (live_end){.head = {LIVE_VERSION, LIVE_END, sizeof l->end}};
    fill_hello(l, config);
    corral_status status = CORRAL_OK;
    for (uint32_t i = 0; i < l->hello.cells && status == CORRAL_OK; i++)
        status = follower_init(&l->cells[i], config->setup, config->rollout, i,
                               (uint32_t)((uint64_t)l->hello.envs * i / l->hello.cells));
    l->wake = eventfd(0, EFD_CLOEXEC);
    l->listening = listen_at(config->folder);
    if (l->listening >= 0) l->path = corral_format("%s/live.sock", config->folder);
    if (status == CORRAL_OK && l->wake >= 0 && l->listening >= 0 && start_thread(l)) return l;
    corral_log(CORRAL_LOG_WARNING, "%s: no socket live.sock can be made there, so this run cannot be watched",
               config->folder);
    release(l);
    return NULL;
}

void live_stop(live *l, const char *reason)
{
    if (l == NULL) return;
    snprintf(l->end.reason, sizeof l->end.reason, "%s", reason);
    atomic_store(&l->ending, true);
    const uint64_t one = 1;
    if (write(l->wake, &one, sizeof one) == sizeof one) pthread_join(l->thread, NULL);
    release(l);
}

void live_take(live *l, const corral_fragment *fragments, uint32_t count)
{
    if (l == NULL || atomic_load_explicit(&l->watched, memory_order_relaxed) == 0) return;
    for (uint32_t i = 0; i < l->hello.cells; i++)
        follower_take(&l->cells[i], fragments, count);
}

static live_point point_of(const corral_train_report *r)
{
    const bool any = r->episodes > 0;
    return (live_point){
        .head = {LIVE_VERSION, LIVE_POINT, sizeof(live_point)},
        .env_steps = r->env_steps,
        .policy_version = r->policy_version,
        .seconds = r->seconds,
        .steps_per_second = r->session_seconds > 0 ? (double)r->session_steps / r->session_seconds : NAN,
        .return_mean = any ? r->return_mean : NAN,
        .length_mean = any ? r->length_mean : NAN,
        .eval_mean = r->evaluated ? r->eval_mean : NAN,
        .loss = r->loss,
        .value_loss = r->algorithm == CORRAL_ALGORITHM_PPO ? r->value_loss : NAN,
        .entropy = r->algorithm == CORRAL_ALGORITHM_PPO ? r->entropy : NAN,
        .workers_alive = r->workers_alive,
        .episodes = (uint32_t)r->episodes_total,
    };
}

/// Every second point goes when there is no room, so that the curve stays whole.
static void keep(live *l, const live_point *point)
{
    const bool wanted = ++l->skipped >= l->stride || !isnan(point->eval_mean);
    if (!wanted) return;
    l->skipped = 0;
    if (l->point_count == POINTS_MAX) {
        for (uint32_t i = 0; i < POINTS_MAX / 2; i++)
            l->points[i] = l->points[2 * i + 1];
        l->point_count /= 2;
        l->stride *= 2;
    }
    l->points[l->point_count++] = *point;
}

void live_report(live *l, const corral_train_report *report)
{
    if (l == NULL) return;
    const live_point point = point_of(report);
    pthread_mutex_lock(&l->lock);
    keep(l, &point);
    const double evaluated = l->news && isnan(point.eval_mean) ? l->newest.eval_mean : point.eval_mean;
    l->newest = point;
    l->newest.eval_mean = evaluated; // one that has not been sent yet is not lost
    l->news = true;
    pthread_mutex_unlock(&l->lock);
}
