// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cluster_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RETRY_AFTER    (100 * CORRAL_MILLISECOND)
#define FAREWELL_LIMIT (3 * CORRAL_SECOND)

corral_cluster_config corral_cluster_config_default(void)
{
    return (corral_cluster_config){.connect_timeout_ns = 10 * CORRAL_SECOND};
}

const char *cluster_failure(const corral_cluster *cluster)
{
    return cluster->head_site != NULL && cluster->head_site->gone ? cluster->head_site->reason : NULL;
}

static const char *describe_site(const cluster_site *site, char *text, size_t size)
{
    const corral_cluster *cluster = site->cluster;
    if (site == cluster->head_site && cluster->node_pid != 0)
        snprintf(text, size, "our own agent");
    else if (site == cluster->head_site)
        snprintf(text, size, "the head at %s", cluster->address);
    else
        snprintf(text, size, "node %u", site->node);
    return text;
}

void cluster_site_lost(cluster_site *site, const char *reason)
{
    if (site->gone) return;
    corral_cluster *cluster = site->cluster;
    char name[256];
    describe_site(site, name, sizeof name);
    site->refused = corral_tls_is_at_fault(reason);
    if (site->refused)
        snprintf(site->reason, sizeof site->reason, "%s: %s", name, reason);
    else
        snprintf(site->reason, sizeof site->reason, "%s is gone (%s)", name, reason);
    cluster_site_close(site, "");
    if (site == cluster->head_site) {
        for (corral_group *g = cluster->groups; g != NULL; g = g->next)
            group_fail(g, site->reason);
        return;
    }
    for (corral_group *g = cluster->groups; g != NULL; g = g->next)
        group_site_lost(g, site);
    if (site->node == 0 || cluster->head_site == NULL) return;
    Corral__V1__Unreachable message = CORRAL__V1__UNREACHABLE__INIT;
    message.node = site->node;
    corral_channel_tell(&cluster->head_site->channel, CORRAL__V1__ENVELOPE__BODY_UNREACHABLE, &message);
}

// --- what comes
// ---------------------------------------------------------------------------------------------------------

static void keep(char *into, size_t size, const char *text)
{
    snprintf(into, size, "%s", text);
}

static void learn_nodes(corral_cluster *cluster, size_t count, Corral__V1__NodeInfo *const *infos)
{
    if (count == 0) return;
    cluster_node *nodes = calloc(count, sizeof *nodes);
    if (nodes == NULL) return;
    for (size_t i = 0; i < count; i++) {
        nodes[i].id = infos[i]->id;
        keep(nodes[i].address, sizeof nodes[i].address, infos[i]->address);
        keep(nodes[i].host, sizeof nodes[i].host, infos[i]->host);
        keep(nodes[i].socket, sizeof nodes[i].socket, infos[i]->socket);
        keep(nodes[i].level, sizeof nodes[i].level, infos[i]->level);
    }
    free(cluster->nodes);
    cluster->nodes = nodes;
    cluster->node_count = count;
}

static void on_welcome(cluster_site *site, const Corral__V1__Welcome *message)
{
    corral_cluster *cluster = site->cluster;
    if (site != cluster->head_site) return;
    keep(cluster->id, sizeof cluster->id, message->cluster);
    cluster->job = message->job;
    if (site->channel.socket >= 0) site->node = message->node; // its actors are ours through shared memory
    learn_nodes(cluster, message->n_nodes, message->nodes);
}

static void on_refused(cluster_site *site, const Corral__V1__Refused *message)
{
    cluster_request *request = &site->cluster->request;
    const bool known = message->status != CORRAL_OK && message->status < CORRAL_STATUS_COUNT;
    if (message->request != 0 && message->request != request->id) return;
    if (message->request == 0 && site != site->cluster->head_site) {
        cluster_site_lost(site, message->text);
        return;
    }
    request->answered = true;
    request->status = known ? (corral_status)message->status : CORRAL_ERROR_REFUSED;
    keep(request->text, sizeof request->text, message->text);
}

static void on_placed(corral_cluster *cluster, const Corral__V1__Placed *message)
{
    learn_nodes(cluster, message->n_nodes, message->nodes);
    corral_group *group = group_find(cluster, message->group);
    if (group == NULL) return;
    const corral_status status = group_place(group, message);
    if (message->request == 0 || message->request != cluster->request.id) return;
    cluster->request.answered = true;
    cluster->request.status = status;
    keep(cluster->request.text, sizeof cluster->request.text, status != CORRAL_OK ? corral_last_error() : "");
}

static void hear_head(cluster_site *site, const corral_envelope *envelope)
{
    corral_cluster *cluster = site->cluster;
    corral_group *group = NULL;
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_PLACED:
        on_placed(cluster, envelope->placed);
        break;
    case CORRAL__V1__ENVELOPE__BODY_HOMELESS:
        group = group_find(cluster, envelope->homeless->group);
        if (group != NULL) group_homeless(group, envelope->homeless);
        break;
    case CORRAL__V1__ENVELOPE__BODY_LISTENING:
        keep(cluster->address, sizeof cluster->address, envelope->listening->address);
        keep(cluster->token, sizeof cluster->token, envelope->listening->token);
        break;
    default:
        break;
    }
}

static void on_halted(corral_group *group, const cluster_site *site)
{
    for (size_t i = 0; i < group->site_count; i++)
        if (group->sites[i] == site) group->halted_count++;
}

static void hear_node(cluster_site *site, const corral_envelope *envelope, corral_rpc_message *chunk,
                      size_t chunk_size)
{
    corral_cluster *cluster = site->cluster;
    corral_group *group = NULL;
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_READY:
        group = group_find(cluster, envelope->ready->group);
        if (group != NULL) group_relayed_ready(group, envelope->ready);
        break;
    case CORRAL__V1__ENVELOPE__BODY_FRAGMENT:
        group = group_find(cluster, envelope->fragment->group);
        if (group != NULL) group_relayed_fragment(group, envelope->fragment, chunk, chunk_size);
        break;
    case CORRAL__V1__ENVELOPE__BODY_GONE:
        group = group_find(cluster, envelope->gone->group);
        if (group != NULL) group_gone(group, envelope->gone);
        break;
    case CORRAL__V1__ENVELOPE__BODY_HALTED:
        group = group_find(cluster, envelope->halted->group);
        if (group != NULL) on_halted(group, site);
        break;
    default:
        break;
    }
}

static void hear(cluster_site *site, const corral_envelope *envelope, corral_rpc_message *chunk,
                 size_t chunk_size)
{
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_WELCOME:
        on_welcome(site, envelope->welcome);
        break;
    case CORRAL__V1__ENVELOPE__BODY_REFUSED:
        on_refused(site, envelope->refused);
        break;
    case CORRAL__V1__ENVELOPE__BODY_BYE:
        cluster_site_lost(site, envelope->bye->text);
        break;
    default:
        if (site == site->cluster->head_site) hear_head(site, envelope);
        hear_node(site, envelope, chunk, chunk_size);
        break;
    }
}

static void receive_socket(cluster_site *site)
{
    corral_channel_news news;
    const corral_status status = corral_channel_receive(site->channel.socket, site->cluster->buffer, &news);
    if (status == CORRAL_ERROR_EMPTY) return;
    if (status != CORRAL_OK) {
        cluster_site_lost(site, status == CORRAL_ERROR_LOST ? "end of file" : corral_last_error());
        return;
    }
    if (news.message.kind == CORRAL_MESSAGE_ACTOR_UP) {
        corral_group *group = group_find(site->cluster, (uint32_t)news.message.tag);
        if (group != NULL) group_local_up(group, &news.message, news.fds);
    }
    if (news.envelope != NULL) hear(site, news.envelope, NULL, 0);
    corral_channel_news_finish(&news);
}

static void receive_mail(corral_cluster *cluster)
{
    corral_mail *mail;
    while ((mail = corral_mailbox_take(cluster->mailbox)) != NULL) {
        cluster_site *site = mail->link != NULL ? corral_link_owner(mail->link) : NULL;
        if (site != NULL && mail->kind == CORRAL_MAIL_MESSAGE)
            hear(site, mail->envelope, mail->chunk, mail->chunk_size);
        if (site != NULL && mail->kind == CORRAL_MAIL_CLOSED) cluster_site_lost(site, mail->text);
        corral_mail_free(mail);
    }
}

void cluster_pump(corral_cluster *cluster, int64_t timeout_ns)
{
    // One event at a time: handling one may end another's site.
    struct epoll_event event;
    const int wait_ms =
        timeout_ns < 0 ? -1 : (int)((timeout_ns + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND);
    if (epoll_wait(cluster->epoll, &event, 1, wait_ms) != 1) return;
    if (event.data.ptr == cluster)
        receive_mail(cluster);
    else
        receive_socket(event.data.ptr);
}

// --- connecting
// -----------------------------------------------------------------------------------------------------------

static corral_status open_cluster(const corral_cluster_config *config, corral_cluster **out_cluster)
{
    corral_cluster *cluster = calloc(1, sizeof *cluster);
    if (cluster == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a cluster");
    *out_cluster = cluster;
    cluster->epoll = epoll_create1(EPOLL_CLOEXEC);
    cluster->buffer = malloc(CORRAL_MESSAGE_TAIL_MAX);
    cluster->faults_text = strdup(config->faults != NULL ? config->faults : "");
    cluster->connect_timeout_ns = config->connect_timeout_ns;
    if (cluster->epoll < 0 || cluster->buffer == NULL || cluster->faults_text == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a cluster");
    corral_status status = corral_faults_parse(config->faults, &cluster->faults);
    const char *tls = config->tls != NULL ? config->tls : getenv("CORRAL_TLS");
    if (status == CORRAL_OK && config->address != NULL) status = corral_tls_load(tls, &cluster->tls);
    if (status == CORRAL_OK) status = corral_mailbox_create(&cluster->mailbox);
    if (status != CORRAL_OK) return status;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = cluster};
    if (epoll_ctl(cluster->epoll, EPOLL_CTL_ADD, corral_mailbox_fd(cluster->mailbox), &event) != 0)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a cluster");
    return CORRAL_OK;
}

// The token, and where the head's socket is when it is of this user on this host.
static corral_status find_head(corral_cluster *cluster, const corral_cluster_config *config,
                               const corral_address *address, corral_runtime_entry *out_entry)
{
    *out_entry = (corral_runtime_entry){0};
    const char *given = config->token != NULL ? config->token : getenv("CORRAL_TOKEN");
    const bool has_given = given != NULL && given[0] != '\0';
    const corral_status found =
        address->loopback ? corral_runtime_find(address->port, out_entry) : CORRAL_ERROR_NOT_FOUND;
    if (has_given)
        keep(cluster->token, sizeof cluster->token, given);
    else if (found == CORRAL_OK)
        keep(cluster->token, sizeof cluster->token, out_entry->token);
    else if (!address->loopback)
        return corral_fail(CORRAL_ERROR_NOT_FOUND,
                           "the token of the head at %s is not known here; set CORRAL_TOKEN",
                           cluster->address);
    else
        return CORRAL_ERROR_EMPTY; // not there yet
    return CORRAL_OK;
}

// One attempt. CORRAL_ERROR_LOST: nobody there, worth another one.
static corral_status try_head(corral_cluster *cluster, const corral_cluster_config *config,
                              const corral_address *address, int64_t deadline)
{
    corral_runtime_entry entry;
    corral_status status = find_head(cluster, config, address, &entry);
    if (status == CORRAL_ERROR_EMPTY) return CORRAL_ERROR_LOST;
    if (status != CORRAL_OK) return status;
    int socket = -1;
    if (entry.socket[0] != '\0' && corral_runtime_attach(entry.socket, &socket) == CORRAL_OK)
        status = cluster_site_socket(cluster, socket, &cluster->head_site);
    else
        status = cluster_site_dial(cluster, address, 0, &cluster->head_site);
    if (status == CORRAL_OK) status = cluster_say_hello(cluster->head_site, CORRAL__V1__PURPOSE__JOB);
    cluster->request = (cluster_request){0};
    while (status == CORRAL_OK && cluster->job == 0 && !cluster->request.answered &&
           !cluster->head_site->gone && corral_now_ns() < deadline)
        cluster_pump(cluster, 20 * CORRAL_MILLISECOND);
    if (status != CORRAL_OK) return status;
    if (cluster->job != 0) return CORRAL_OK;
    if (cluster->request.answered) return corral_fail(cluster->request.status, "%s", cluster->request.text);
    const bool refused = cluster->head_site->refused;
    if (refused) status = corral_fail(CORRAL_ERROR_REFUSED, "%s", cluster->head_site->reason);
    cluster_site_close(cluster->head_site, "nobody there");
    cluster->head_site = NULL;
    return refused ? status : CORRAL_ERROR_LOST;
}

// A node of this user on this host that is not the head: its actors are reached through shared memory, too.
static void attach_local(corral_cluster *cluster)
{
    if (cluster->head_site->channel.socket >= 0) return;
    for (size_t i = 0; i < cluster->node_count; i++) {
        const cluster_node *node = &cluster->nodes[i];
        int socket = -1;
        cluster_site *site = NULL;
        if (node->socket[0] == '\0' || corral_runtime_attach(node->socket, &socket) != CORRAL_OK ||
            cluster_site_socket(cluster, socket, &site) != CORRAL_OK)
            continue;
        site->node = node->id; // the node refuses if it is of another cluster
        if (cluster_say_hello(site, CORRAL__V1__PURPOSE__WORK) == CORRAL_OK) return;
        cluster_site_close(site, "");
    }
}

static corral_status join(corral_cluster *cluster, const corral_cluster_config *config)
{
    corral_address address;
    corral_status status = corral_address_parse(config->address, "the cluster's address", &address);
    if (status != CORRAL_OK) return status;
    keep(cluster->address, sizeof cluster->address, config->address);
    const int64_t deadline = corral_now_ns() + config->connect_timeout_ns;
    while ((status = try_head(cluster, config, &address, deadline)) == CORRAL_ERROR_LOST) {
        if (corral_now_ns() + RETRY_AFTER >= deadline)
            return corral_fail(
                CORRAL_ERROR_TIMEOUT,
                "no head answers at %s within %g s; start one with `corral node --head --listen %s`%s",
                config->address, (double)config->connect_timeout_ns / 1e9, config->address,
                cluster->tls.key != NULL ? "" : "; a head with --tls wants it of who dials, too");
        corral_sleep_ns(RETRY_AFTER);
    }
    if (status == CORRAL_OK) attach_local(cluster);
    return status;
}

corral_status corral_cluster_connect(const corral_cluster_config *config, corral_cluster **out_cluster)
{
    corral_cluster *cluster = NULL;
    corral_status status = open_cluster(config, &cluster);
    if (status == CORRAL_OK)
        status = config->address != NULL ? join(cluster, config)
                                         : cluster_embed(cluster, config->slots, config->node_flags);
    if (status != CORRAL_OK) {
        char sentence[REASON_SIZE]; // the clean-up may fail, too
        keep(sentence, sizeof sentence, corral_last_error());
        corral_cluster_disconnect(cluster);
        return corral_fail(status, "%s", sentence);
    }
    *out_cluster = cluster;
    return CORRAL_OK;
}

void corral_cluster_disconnect(corral_cluster *cluster)
{
    if (cluster == NULL) return;
    while (cluster->groups != NULL)
        corral_group_destroy(cluster->groups);
    Corral__V1__Bye bye = CORRAL__V1__BYE__INIT;
    bye.text = corral_wire_text("the driver disconnects");
    for (cluster_site *site = cluster->sites; site != NULL; site = site->next) {
        if (site->gone) continue;
        corral_channel_tell(&site->channel, CORRAL__V1__ENVELOPE__BODY_BYE, &bye);
        cluster_site_close(site, bye.text);
    }
    corral_exchange_stop(cluster->exchange);
    cluster_await_node(cluster, FAREWELL_LIMIT);
    while (cluster->sites != NULL) {
        cluster_site *site = cluster->sites;
        cluster->sites = site->next;
        free(site);
    }
    corral_mailbox_destroy(cluster->mailbox);
    if (cluster->epoll >= 0) close(cluster->epoll);
    free(cluster->nodes);
    corral_tls_finish(&cluster->tls);
    free(cluster->faults_text);
    free(cluster->buffer);
    free(cluster);
}

bool corral_cluster_levels_agree(const corral_cluster *cluster, const char **out_note)
{
    corral_cluster *notes = (corral_cluster *)(uintptr_t)cluster; // only the note is written
    *out_note = "";
    for (size_t i = 1; i < cluster->node_count; i++) {
        const cluster_node *first = &cluster->nodes[0], *other = &cluster->nodes[i];
        if (strcmp(first->level, other->level) == 0) continue;
        snprintf(notes->note, sizeof notes->note,
                 "node %u computes at level %s and node %u at level %s: results may differ in the last bits",
                 first->id, first->level, other->id, other->level);
        *out_note = cluster->note;
        return false;
    }
    return true;
}
