// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The runtime's hub in this node. It is made when the first driver wants it: what it needs (a table, and a
/// limit for shared memory) is not for nodes whose runs have rollout workers alone.
#include "node_private.h"

#include "corral/base/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

corral_status node_parse_resources(char *text, corral_resource *out_resources, size_t *out_count)
{
    *out_count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        char *equals = strchr(word, '='), *end = NULL;
        const double amount = equals != NULL ? strtod(equals + 1, &end) : 0;
        if (equals == NULL || equals == word || end == equals + 1 || *end != '\0' ||
            !(amount >= 0 && amount <= 1e6))
            return corral_fail(CORRAL_ERROR_INVALID, "--resources: \"%s\" is not NAME=AMOUNT", word);
        if (*out_count == CORRAL_RESOURCES_MAX)
            return corral_fail(CORRAL_ERROR_INVALID, "--resources: more than %d kinds", CORRAL_RESOURCES_MAX);
        *equals = '\0';
        out_resources[(*out_count)++] = (corral_resource){word, amount};
    }
    return CORRAL_OK;
}

static corral_status create(node *n)
{
    corral_resource resources[CORRAL_RESOURCES_MAX];
    size_t count = 0;
    char *text = strdup(n->config->resources != NULL ? n->config->resources : "");
    if (text == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a hub");
    corral_status status = node_parse_resources(text, resources, &count);
    const corral_hub_config config = {
        .spawner = n->spawner,
        .worker = n->worker,
        .cpus = n->slots,
        .gpus = n->gpus,
        .resources = resources,
        .resource_count = count,
        .store_bytes = (size_t)n->config->store_bytes,
    };
    if (status == CORRAL_OK) status = corral_hub_create(&config, &n->hub);
    free(text);
    if (status == CORRAL_OK) status = node_watch_start(n, &n->hub_watch, WATCH_HUB, corral_hub_fd(n->hub), n);
    if (status != CORRAL_OK) node_hub_finish(n);
    return status;
}

void node_hub_add(node *n, int socket)
{
    corral_status status = CORRAL_OK;
    if (n->hub == NULL) status = create(n);
    if (status == CORRAL_OK)
        status = corral_hub_add_driver(n->hub, socket);
    else
        close(socket); // which is how its client sees it
    if (status != CORRAL_OK) corral_log(CORRAL_LOG_WARNING, "%s", corral_last_error());
}

void node_hub_turn(node *n)
{
    if (n->hub != NULL) corral_hub_turn(n->hub);
}

bool node_hub_exited(node *n, const corral_spawner_exit *exit_info)
{
    return n->hub != NULL && corral_hub_exited(n->hub, exit_info);
}

int64_t node_hub_next_wake(const node *n)
{
    return n->hub != NULL ? corral_hub_next_wake_ns(n->hub) : INT64_MAX;
}

void node_hub_finish(node *n)
{
    node_watch_stop(n, &n->hub_watch);
    corral_hub_destroy(n->hub);
    n->hub = NULL;
}
