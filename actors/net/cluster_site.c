// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cluster_private.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static cluster_site *create_site(corral_cluster *cluster, uint32_t node)
{
    cluster_site *site = calloc(1, sizeof *site);
    if (site == NULL) return NULL;
    site->cluster = cluster;
    site->node = node;
    site->channel = CORRAL_CHANNEL_NONE;
    site->next = cluster->sites;
    cluster->sites = site;
    return site;
}

corral_status cluster_site_socket(corral_cluster *cluster, int socket, cluster_site **out_site)
{
    cluster_site *site = create_site(cluster, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = site};
    if (site == NULL || epoll_ctl(cluster->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        close(socket);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to talk to a node");
    }
    site->channel.socket = socket;
    *out_site = site;
    return CORRAL_OK;
}

corral_status cluster_site_dial(corral_cluster *cluster, const corral_address *address, uint32_t node,
                                cluster_site **out_site)
{
    corral_status status = CORRAL_OK;
    if (cluster->exchange == NULL)
        status = corral_exchange_start(cluster->mailbox, NULL,
                                       cluster->tls.key != NULL ? &cluster->tls : NULL, &cluster->exchange);
    if (status != CORRAL_OK) return status;
    cluster_site *site = create_site(cluster, node);
    if (site == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to talk to a node");
    status = corral_link_dial(cluster->exchange, address, &cluster->faults, site, &site->channel.link);
    if (status != CORRAL_OK) {
        site->gone = true;
        return status;
    }
    *out_site = site;
    return CORRAL_OK;
}

// The program's name as others may show it: letters that need no care.
static void name_program(char *name, size_t size)
{
    snprintf(name, size, "%s", program_invocation_short_name);
    for (char *c = name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~') *c = '?';
}

corral_status cluster_say_hello(cluster_site *site, Corral__V1__Purpose purpose)
{
    corral_cluster *cluster = site->cluster;
    char program[64];
    name_program(program, sizeof program);
    Corral__V1__Hello hello = CORRAL__V1__HELLO__INIT;
    hello.protocol = CORRAL_WIRE_PROTOCOL;
    hello.purpose = purpose;
    hello.token = cluster->token;
    hello.cluster = cluster->id;
    hello.job = cluster->job;
    hello.program = program;
    hello.pid = getpid();
    hello.faults = cluster->faults_text;
    return corral_channel_send(&site->channel, CORRAL__V1__ENVELOPE__BODY_HELLO, &hello);
}

static const cluster_node *find_node(const corral_cluster *cluster, uint32_t id)
{
    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].id == id) return &cluster->nodes[i];
    return NULL;
}

// An embedded node starts its gRPC when somebody asks for it.
static corral_status await_address(corral_cluster *cluster, const cluster_node *node,
                                   const char **out_address)
{
    *out_address = node->address;
    if (node->address[0] != '\0' || cluster->node_pid == 0) return CORRAL_OK;
    Corral__V1__Listen listen = CORRAL__V1__LISTEN__INIT;
    corral_status status =
        corral_channel_send(&cluster->head_site->channel, CORRAL__V1__ENVELOPE__BODY_LISTEN, &listen);
    const int64_t deadline = corral_now_ns() + cluster->connect_timeout_ns;
    while (status == CORRAL_OK && cluster->address[0] == '\0' && cluster_failure(cluster) == NULL &&
           corral_now_ns() < deadline)
        cluster_pump(cluster, 10 * CORRAL_MILLISECOND);
    *out_address = cluster->address;
    if (status == CORRAL_OK && cluster->address[0] == '\0')
        status = corral_fail(CORRAL_ERROR_TIMEOUT, "our own node does not open its gRPC port");
    return status;
}

static corral_status dial_node(corral_cluster *cluster, uint32_t id, cluster_site **out_site)
{
    const cluster_node *node = find_node(cluster, id);
    if (node == NULL) return corral_fail(CORRAL_ERROR_NOT_FOUND, "the head speaks of an unknown node %u", id);
    const char *text = NULL;
    corral_address address;
    corral_status status = await_address(cluster, node, &text);
    if (status == CORRAL_OK) status = corral_address_parse(text, "a node's address", &address);
    if (status == CORRAL_OK) status = cluster_site_dial(cluster, &address, id, out_site);
    if (status == CORRAL_OK) status = cluster_say_hello(*out_site, CORRAL__V1__PURPOSE__WORK);
    return status;
}

corral_status cluster_site_for(corral_cluster *cluster, uint32_t node, corral_transport transport,
                               cluster_site **out_site)
{
    cluster_site *link = NULL;
    for (cluster_site *site = cluster->sites; site != NULL; site = site->next) {
        if (site->gone || site->node != node) continue;
        *out_site = site;
        if (transport == CORRAL_TRANSPORT_SHARED_MEMORY && site->channel.socket >= 0) return CORRAL_OK;
        if (site->channel.link != NULL) link = site;
    }
    *out_site = link;
    return link != NULL ? CORRAL_OK : dial_node(cluster, node, out_site);
}

void cluster_site_close(cluster_site *site, const char *reason)
{
    if (site->channel.socket >= 0) epoll_ctl(site->cluster->epoll, EPOLL_CTL_DEL, site->channel.socket, NULL);
    corral_channel_close(&site->channel, reason);
    site->gone = true;
}
