// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A client's socket to the hub is one end of a pair; the other one goes to the agent over the conversation
/// that a driver has with it, which has shown that it may.
#include "cluster_private.h"

#include "corral/actors/hub.h"
#include "corral/base/clock.h"
#include "corral/base/threads.h"
#include "corral/net/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_SIZE = 4096 };

// What an agent of our own shall offer, as its flags.
typedef struct own_node {
    char resources[LIST_SIZE], cpus[32], gpus[32], store[32];
    const char *flags[9]; // ends with NULL
} own_node;

static corral_status describe_node(const corral_client_config *config, own_node *out_node)
{
    size_t used = 0, flag = 0;
    for (size_t i = 0; i < config->resource_count && used < LIST_SIZE; i++)
        used += (size_t)snprintf(out_node->resources + used, LIST_SIZE - used, "%s%s=%.17g", i > 0 ? "," : "",
                                 config->resources[i].name, config->resources[i].amount);
    if (used >= LIST_SIZE)
        return corral_fail(CORRAL_ERROR_INVALID, "the resources take more than %d letters", LIST_SIZE);
    if (used > 0) {
        out_node->flags[flag++] = "--resources";
        out_node->flags[flag++] = out_node->resources;
    }
    if (config->cpus > 0) {
        snprintf(out_node->cpus, sizeof out_node->cpus, "%.17g", config->cpus);
        out_node->flags[flag++] = "--slots";
        out_node->flags[flag++] = out_node->cpus;
    }
    // Also where it is 0: then a driver need not be asked.
    snprintf(out_node->gpus, sizeof out_node->gpus, "%.17g", config->gpus);
    out_node->flags[flag++] = "--gpus";
    out_node->flags[flag++] = out_node->gpus;
    if (config->store_bytes > 0) {
        snprintf(out_node->store, sizeof out_node->store, "%.17g", (double)config->store_bytes / (1 << 20));
        out_node->flags[flag++] = "--store";
        out_node->flags[flag++] = out_node->store;
    }
    return CORRAL_OK;
}

// A site whose actors we reach through shared memory: its node's hub is ours, too.
static const cluster_site *site_on_this_host(const corral_cluster *cluster)
{
    for (const cluster_site *site = cluster->sites; site != NULL; site = site->next)
        if (!site->gone && site->channel.socket >= 0) return site;
    return NULL;
}

static corral_status hand_over(corral_cluster *cluster, int *out_socket)
{
    const cluster_site *site = site_on_this_host(cluster);
    if (site == NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND,
                           "no agent of yours runs on this host; start one with `corral node --join %s`",
                           cluster->address);
    int sockets[2];
    corral_status status = corral_message_pair(sockets);
    if (status != CORRAL_OK) return status;
    const corral_message message = {.kind = CORRAL_MESSAGE_CLIENT};
    status = corral_message_send(site->channel.socket, &message, NULL, &sockets[1], 1, CORRAL_SECOND);
    close(sockets[1]);
    if (status != CORRAL_OK) close(sockets[0]);
    *out_socket = sockets[0];
    return status;
}

static void disconnect(void *context)
{
    corral_cluster_disconnect(context);
}

corral_status corral_client_connect(const corral_client_config *config, corral_client **out_client)
{
    if (config->local) return corral_client_open_local(config, out_client);
    own_node node = {0};
    corral_cluster *cluster = NULL;
    corral_cluster_config with = corral_cluster_config_default();
    corral_status status = describe_node(config, &node);
    if (status != CORRAL_OK) return status;
    with.address = config->address;
    with.slots = corral_available_cores();
    with.node_flags = node.flags;
    status = corral_cluster_connect(&with, &cluster);
    if (status != CORRAL_OK) return status;
    int socket = -1;
    status = hand_over(cluster, &socket);
    if (status == CORRAL_OK) status = corral_client_attach(socket, config, out_client);
    if (status != CORRAL_OK) {
        char sentence[REASON_SIZE]; // the clean-up may leave another
        snprintf(sentence, sizeof sentence, "%s", corral_last_error());
        corral_cluster_disconnect(cluster);
        return corral_fail(status, "%s", sentence);
    }
    corral_client_on_close(*out_client, disconnect, cluster);
    return CORRAL_OK;
}
