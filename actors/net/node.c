// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The node's loop. One thread owns all state; gRPC's threads leave things in a mailbox, whose descriptor is
/// one of those that the loop waits for.
///
/// Order matters at start: the spawner is forked first, while there is one thread; then signals are blocked,
/// so that no thread of gRPC takes one; gRPC comes last. An embedded node serves its driver before that,
/// since what the driver wants first (workers) needs no network.
#include "node_private.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/log.h"
#include "corral/base/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RETRY_MS = 100 };

#define NETWORK_DELAY (30 * CORRAL_MILLISECOND)
#define JOIN_TIMEOUT  (10 * CORRAL_SECOND)

corral_node_config corral_node_config_default(void)
{
    return (corral_node_config){.slots = -1, .gpus = -1, .embedded_fd = -1};
}

corral_status node_watch_start(node *n, node_watch *watch, node_watch_kind kind, int fd, void *thing)
{
    *watch = (node_watch){kind, fd, thing};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};
    if (epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &event) == 0) return CORRAL_OK;
    watch->fd = -1;
    return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot watch a descriptor");
}

void node_watch_stop(node *n, node_watch *watch)
{
    if (watch->fd < 0) return;
    epoll_ctl(n->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
}

void node_stop(node *n, corral_status status, const char *reason)
{
    if (n->stopping) return;
    n->stopping = true;
    n->stop_status = status;
    snprintf(n->stop_reason, sizeof n->stop_reason, "%s", reason);
}

// --- events
// -------------------------------------------------------------------------------------------------------------

static void accept_driver(node *n)
{
    const int socket = accept4(n->listener.fd, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0) return;
    if (!corral_runtime_peer_is_ours(socket)) {
        close(socket);
        return;
    }
    if (node_session_open(n, socket, false) != CORRAL_OK)
        corral_log(CORRAL_LOG_WARNING, "%s", corral_last_error());
}

static void take_signal(node *n)
{
    struct signalfd_siginfo info;
    if (read(n->signals.fd, &info, sizeof info) != (ssize_t)sizeof info) return;
    char reason[128];
    snprintf(reason, sizeof reason, "node %u was told to stop (SIG%s)", n->id,
             sigabbrev_np((int)info.ssi_signo));
    node_stop(n, CORRAL_OK, reason);
}

static void take_exits(node *n)
{
    corral_spawner_exit exit_info;
    corral_status status;
    while ((status = corral_spawner_next_exit(n->spawner, &exit_info)) == CORRAL_OK)
        if (!node_hub_exited(n, &exit_info)) node_actor_exited(n, &exit_info);
    if (status == CORRAL_ERROR_LOST) node_stop(n, CORRAL_ERROR_LOST, "the node's spawner is gone");
}

static void take_event(node *n, const node_watch *watch)
{
    switch (watch->kind) {
    case WATCH_LISTENER:
        accept_driver(n);
        break;
    case WATCH_SIGNALS:
        take_signal(n);
        break;
    case WATCH_EXITS:
        take_exits(n);
        break;
    case WATCH_MAIL: {
        corral_mail *mail = corral_mailbox_take(n->mailbox);
        if (mail != NULL) node_take_mail(n, mail);
        break;
    }
    case WATCH_SESSION:
        node_session_receive(watch->thing);
        break;
    case WATCH_PEER:
        node_relay_receive(watch->thing);
        break;
    case WATCH_STDERR:
        node_actor_read_stderr(watch->thing);
        break;
    case WATCH_HUB:
        node_hub_turn(n);
        break;
    }
}

// --- the network
// --------------------------------------------------------------------------------------------------------

static corral_status announce(node *n)
{
    corral_status status = corral_runtime_open(&n->runtime);
    int listener = -1;
    if (status == CORRAL_OK && n->config->embedded_fd < 0)
        status = corral_runtime_listen(n->runtime, &listener);
    if (status == CORRAL_OK && listener >= 0) {
        status = node_watch_start(n, &n->listener, WATCH_LISTENER, listener, n);
        if (status != CORRAL_OK) close(listener);
    }
    if (status != CORRAL_OK) return status;
    return corral_runtime_announce(n->runtime, n->head != NULL, n->address, n->listen.port, n->token);
}

static void tell_driver(node *n)
{
    Corral__V1__Listening message = CORRAL__V1__LISTENING__INIT;
    message.address = n->address;
    message.token = n->token;
    for (node_session *s = n->sessions; s != NULL; s = s->next)
        if (s->embedding && !s->ended)
            corral_channel_tell(&s->channel, CORRAL__V1__ENVELOPE__BODY_LISTENING, &message);
}

static corral_status start_network(node *n)
{
    corral_status status =
        corral_exchange_start(n->mailbox, &n->listen, n->tls.key != NULL ? &n->tls : NULL, &n->exchange);
    if (status != CORRAL_OK) return status;
    corral_address_set_port(&n->listen, corral_exchange_port(n->exchange));
    const char *shown = n->config->advertise != NULL ? n->config->advertise : n->listen.bare;
    snprintf(n->address, sizeof n->address, "%s", shown);
    if (n->head != NULL) corral_head_set_address(n->head, n->address);
    status = announce(n);
    if (status == CORRAL_OK) tell_driver(n);
    return status;
}

// --- the loop
// -----------------------------------------------------------------------------------------------------------

static int wait_ms(const node *n, int64_t now_ns)
{
    int64_t next = node_groups_next_wake(n);
    if (node_hub_next_wake(n) < next) next = node_hub_next_wake(n);
    if (n->exchange == NULL && n->network_at_ns < next) next = n->network_at_ns;
    if (node_has_workers(n) && n->memory_at_ns < next) next = n->memory_at_ns;
    if (next <= now_ns) return 0;
    const int64_t left = (next - now_ns + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND;
    return left < 1000 ? (int)left : 1000;
}

static void run_once(node *n)
{
    struct epoll_event event;
    const int count = epoll_wait(n->epoll, &event, 1, wait_ms(n, corral_now_ns()));
    if (count == 1) take_event(n, event.data.ptr);
    const int64_t now = corral_now_ns();
    node_groups_wake(n, now);
    if (node_hub_next_wake(n) <= now) node_hub_turn(n);
    node_sessions_sweep(n);
    if (node_has_workers(n)) node_memory_check(n, now);
    node_beat(n);
    if (n->exchange == NULL && !n->stopping && (count == 0 || n->network_at_ns == 0) &&
        now >= n->network_at_ns && start_network(n) != CORRAL_OK) {
        // The run that embeds us can do without, as long as nobody asks for it.
        corral_log(CORRAL_LOG_WARNING, "no network: %s", corral_last_error());
        n->network_at_ns = INT64_MAX;
    }
}

// Everybody hears why; processes get a moment to end by themselves.
static void drain(node *n)
{
    Corral__V1__Bye bye = CORRAL__V1__BYE__INIT;
    bye.text = n->stop_reason;
    if (n->to_head.link != NULL) corral_channel_tell(&n->to_head, CORRAL__V1__ENVELOPE__BODY_BYE, &bye);
    corral_channel_close(&n->to_head, n->stop_reason);
    for (node_session *s = n->sessions; s != NULL; s = s->next) {
        if (s->ended) continue;
        corral_channel_tell(&s->channel, CORRAL__V1__ENVELOPE__BODY_BYE, &bye);
        node_session_end(s, n->stop_reason);
    }
    const int64_t deadline = corral_now_ns() + 2 * CORRAL_SECOND;
    while (node_sessions_sweep(n), n->sessions != NULL && corral_now_ns() < deadline) {
        struct epoll_event event;
        if (epoll_wait(n->epoll, &event, 1, 50) == 1) take_event(n, event.data.ptr);
    }
}

// --- start and end
// ------------------------------------------------------------------------------------------------------

static corral_status find_worker(node *n)
{
    const char *given = n->config->worker != NULL ? n->config->worker : getenv("CORRAL_WORKER");
    if (given == NULL || given[0] == '\0') return corral_program_find("corral-worker", &n->worker);
    n->worker = strdup(given);
    return n->worker != NULL ? CORRAL_OK : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
}

static corral_status given_token(node *n)
{
    const char *given = n->config->token != NULL ? n->config->token : getenv("CORRAL_TOKEN");
    if (given == NULL || given[0] == '\0') return CORRAL_OK;
    if (strlen(given) >= sizeof n->token || strpbrk(given, " \t\n") != NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "the token (CORRAL_TOKEN) has to be one word of at most %d letters",
                           CORRAL_TOKEN_SIZE - 1);
    snprintf(n->token, sizeof n->token, "%s", given);
    return CORRAL_OK;
}

// A head of this user on this host has left its token where we find it; it may be about to start.
static corral_status await_token(node *n)
{
    corral_address head;
    corral_status status = corral_address_parse(n->config->join, "--join", &head);
    if (status != CORRAL_OK || n->token[0] != '\0') return status;
    corral_runtime_entry entry;
    const int64_t deadline = corral_now_ns() + JOIN_TIMEOUT;
    while (head.loopback && !n->stopping && corral_now_ns() < deadline) {
        if (corral_runtime_find(head.port, &entry) == CORRAL_OK) {
            snprintf(n->token, sizeof n->token, "%s", entry.token);
            return CORRAL_OK;
        }
        struct epoll_event event;
        if (epoll_wait(n->epoll, &event, 1, RETRY_MS) == 1) take_event(n, event.data.ptr);
    }
    if (n->stopping) return corral_fail(CORRAL_ERROR_CANCELLED, "%s", n->stop_reason);
    return corral_fail(
        CORRAL_ERROR_NOT_FOUND,
        "no head of this user answers at %s%s; start one with `corral node --head --listen %s`, or set "
        "CORRAL_TOKEN to its token",
        n->config->join, head.loopback ? " within 10 s" : "", n->config->join);
}

static corral_status load_tls(node *n)
{
    const char *folder = n->config->tls != NULL ? n->config->tls : getenv("CORRAL_TLS");
    // An embedded node and its driver share a host and a pair of sockets.
    return corral_tls_load(n->config->embedded_fd < 0 ? folder : NULL, &n->tls);
}

static corral_status check_listen(node *n)
{
    const corral_node_config *config = n->config;
    const char *listen = config->listen != NULL ? config->listen : "127.0.0.1:0";
    corral_status status = corral_address_parse(listen, "--listen", &n->listen);
    if (status != CORRAL_OK) return status;
    if (!n->listen.loopback && !config->insecure && n->tls.key == NULL)
        return corral_fail(
            CORRAL_ERROR_REFUSED,
            "--listen %s is not a loopback address, and without TLS what travels could be read and changed "
            "by "
            "others; give --tls DIR (`corral certs` makes it), or add --insecure if that network is yours "
            "alone",
            listen);
    const bool any = strncmp(n->listen.bare, "0.0.0.0:", 8) == 0 || strncmp(n->listen.bare, "[::]:", 5) == 0;
    if (any && config->advertise == NULL)
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "--listen %s is every address; say with --advertise HOST:PORT which one others shall dial",
            listen);
    corral_faults faults;
    return corral_faults_parse(config->faults, &faults);
}

static corral_status check_resources(const node *n)
{
    corral_resource ignored[CORRAL_RESOURCES_MAX];
    size_t count = 0;
    char *text = strdup(n->config->resources != NULL ? n->config->resources : "");
    if (text == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the resources");
    const corral_status status = node_parse_resources(text, ignored, &count);
    free(text);
    return status;
}

static corral_status watch_signals(node *n, sigset_t *out_before)
{
    sigset_t all, ours;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, out_before);
    sigemptyset(&ours);
    const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now;
        // Whoever starts us may have seen to it that we do not hear it: nohup, or a shell's "&".
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&ours, numbers[i]);
    }
    const int fd = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot wait for signals");
    return node_watch_start(n, &n->signals, WATCH_SIGNALS, fd, n);
}

static corral_status open_loop(node *n)
{
    n->buffer = malloc(CORRAL_MESSAGE_TAIL_MAX);
    n->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (n->buffer == NULL || n->epoll < 0)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the node");
    corral_status status = corral_mailbox_create(&n->mailbox);
    if (status == CORRAL_OK)
        status = node_watch_start(n, &n->mail, WATCH_MAIL, corral_mailbox_fd(n->mailbox), n);
    if (status == CORRAL_OK)
        status = node_watch_start(n, &n->exits, WATCH_EXITS, corral_spawner_fd(n->spawner), n);
    return status;
}

static corral_status open_head(node *n)
{
    if (n->config->join != NULL) return CORRAL_OK;
    n->id = 1;
    corral_status status = corral_runtime_random(n->cluster, sizeof n->cluster);
    if (status == CORRAL_OK && n->token[0] == '\0') status = corral_runtime_random(n->token, sizeof n->token);
    Corral__V1__NodeInfo self;
    node_describe(n, &self);
    if (status == CORRAL_OK) status = corral_head_create(n->cluster, &self, &n->head);
    return status;
}

// A node that joins is up when its head has taken it in. A head that is not there yet is dialled again.
static corral_status await_welcome(node *n)
{
    corral_status status = CORRAL_OK;
    const int64_t deadline = corral_now_ns() + JOIN_TIMEOUT;
    int64_t dial_at = 0;
    while (status == CORRAL_OK && !n->joined && !n->stopping && corral_now_ns() < deadline) {
        if (n->to_head.link == NULL && corral_now_ns() >= dial_at) {
            status = node_join(n);
            dial_at = corral_now_ns() + RETRY_MS * CORRAL_MILLISECOND;
            continue;
        }
        struct epoll_event event;
        if (epoll_wait(n->epoll, &event, 1, RETRY_MS) == 1) take_event(n, event.data.ptr);
    }
    if (status != CORRAL_OK || n->joined) return status;
    if (n->stopping)
        return corral_fail(n->stop_status != CORRAL_OK ? n->stop_status : CORRAL_ERROR_CANCELLED, "%s",
                           n->stop_reason);
    return corral_fail(CORRAL_ERROR_TIMEOUT,
                       "no head answers at %s within 10 s; start one with `corral node --head --listen %s`%s",
                       n->config->join, n->config->join,
                       n->tls.key != NULL ? "" : "; a head with --tls wants it of its nodes, too");
}

static corral_status start(node *n)
{
    corral_status status = open_head(n);
    if (status != CORRAL_OK) return status;
    if (n->config->embedded_fd >= 0) {
        n->network_at_ns = corral_now_ns() + NETWORK_DELAY;
        fcntl(n->config->embedded_fd, F_SETFD, FD_CLOEXEC);
        return node_session_open(n, n->config->embedded_fd, true);
    }
    if (n->config->join != NULL) status = await_token(n);
    if (status == CORRAL_OK) status = start_network(n);
    if (status == CORRAL_OK && n->config->join != NULL) status = await_welcome(n);
    return status;
}

static void say_up(const node *n, void (*announce_line)(void *context, const char *line), void *context)
{
    char line[512];
    if (announce_line == NULL || n->config->embedded_fd >= 0) return;
    if (n->head != NULL)
        snprintf(line, sizeof line, "head at %s, %g slots", n->address, n->slots);
    else
        snprintf(line, sizeof line, "node %u at %s, %g slots, head at %s", n->id, n->address, n->slots,
                 n->config->join);
    announce_line(context, line);
}

static void finish(node *n)
{
    drain(n);
    node_hub_finish(n);
    corral_spawner_stop(n->spawner);
    corral_exchange_stop(n->exchange);
    corral_mail *mail;
    while (n->mailbox != NULL && (mail = corral_mailbox_take(n->mailbox)) != NULL) {
        if (mail->kind == CORRAL_MAIL_RELEASED) node_relay_released(mail->owner);
        corral_mail_free(mail);
    }
    node_sessions_sweep(n);
    const int listener = n->listener.fd, signals = n->signals.fd;
    if (listener >= 0) close(listener);
    if (signals >= 0) close(signals);
    corral_runtime_close(n->runtime);
    corral_head_destroy(n->head);
    corral_mailbox_destroy(n->mailbox);
    if (n->epoll >= 0) close(n->epoll);
    free(n->buffer);
    free(n->worker);
    corral_tls_finish(&n->tls);
}

corral_status corral_node_run(const corral_node_config *config,
                              void (*announce_line)(void *context, const char *line), void *context)
{
    node n = {
        .config = config,
        .epoll = -1,
        .listener.fd = -1,
        .signals.fd = -1,
        .exits.fd = -1,
        .mail.fd = -1,
        .hub_watch.fd = -1,
        .to_head = CORRAL_CHANNEL_NONE,
        .slots = config->slots >= 0 ? config->slots : corral_available_cores(),
        .gpus = config->gpus >= 0 ? config->gpus : corral_available_gpus(), // before there are threads
    };
    corral_status status = load_tls(&n);
    if (status == CORRAL_OK) status = check_listen(&n);
    if (status == CORRAL_OK) status = check_resources(&n);
    if (status == CORRAL_OK) status = find_worker(&n);
    if (status == CORRAL_OK) status = given_token(&n);
    if (status == CORRAL_OK) status = corral_spawner_start(&n.spawner);
    if (status != CORRAL_OK) {
        corral_tls_finish(&n.tls);
        free(n.worker);
        return status;
    }
    sigset_t before;
    sigprocmask(SIG_SETMASK, NULL, &before);
    status = open_loop(&n);
    if (status == CORRAL_OK) status = watch_signals(&n, &before);
    if (status == CORRAL_OK) status = start(&n);
    if (status == CORRAL_OK) {
        say_up(&n, announce_line, context);
        while (!n.stopping)
            run_once(&n);
        if (n.stop_status != CORRAL_OK) status = corral_fail(n.stop_status, "%s", n.stop_reason);
    }
    char sentence[NODE_TEXT_SIZE]; // the clean-up may say something, too
    snprintf(sentence, sizeof sentence, "%s", corral_last_error());
    finish(&n);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == CORRAL_OK ? CORRAL_OK : corral_fail(status, "%s", sentence);
}
