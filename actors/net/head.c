// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Three tables: nodes (never forgotten, so that ids are never used twice), jobs, and claims. A claim is one
/// actor of one job with the slots that it holds on its node; what a node has in use is the sum over its
/// claims.
#include "head.h"

#include "placement.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 4096, ACTORS_MAX = 65536, NAME_SIZE = 64, TEXT_SIZE = 256 };

typedef struct head_node {
    uint32_t id;
    bool alive;
    char address[TEXT_SIZE], host[NAME_SIZE], socket[112], level[NAME_SIZE];
    int64_t pid;
    double slots, gpus;
    uint64_t fragments_remote;
} head_node;

typedef struct head_job {
    uint64_t id;
    corral_channel channel; // a copy; closing it is the session's
    char program[NAME_SIZE];
    int64_t pid;
} head_job;

typedef struct head_claim {
    uint64_t job;
    uint32_t group, actor, node;
    double cpus, gpus;
    char class_name[NAME_SIZE];
    int64_t pid;
    corral_actor_state state;
    uint32_t restarts;
} head_claim;

struct corral_head {
    char cluster[NAME_SIZE];
    head_node *nodes; // [node id - 1]
    size_t node_count;
    head_job *jobs;
    size_t job_count;
    head_claim *claims;
    size_t claim_count;
    uint64_t last_job;
};

// A table with room for `count` elements more; NULL without memory, and the old one stays.
static void *grown(void *table, size_t used, size_t count, size_t size)
{
    return realloc(table, (used + count) * size);
}

static void keep_text(char *into, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);
    if (text[length] != '\0') // cut, and not within a character
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    memcpy(into, text, length);
    into[length] = '\0';
}

// --- nodes
// ----------------------------------------------------------------------------------------------------------

static bool amount_is_sane(double amount)
{
    return amount >= 0 && amount <= 1e6; // also not NaN
}

static corral_status add_node(corral_head *head, const Corral__V1__NodeInfo *info, head_node **out_node)
{
    if (!amount_is_sane(info->slots) || !amount_is_sane(info->gpus))
        return corral_fail(CORRAL_ERROR_INVALID, "a node with %g slots and %g GPUs", info->slots, info->gpus);
    if (head->node_count == NODES_MAX)
        return corral_fail(CORRAL_ERROR_FULL, "the cluster has seen %d nodes; start it again", NODES_MAX);
    head_node *nodes = grown(head->nodes, head->node_count, 1, sizeof *nodes);
    if (nodes == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one more node");
    head->nodes = nodes;
    head_node *node = &nodes[head->node_count++];
    *node = (head_node){
        .id = (uint32_t)head->node_count,
        .alive = true,
        .pid = info->pid,
        .slots = info->slots,
        .gpus = info->gpus,
    };
    keep_text(node->address, sizeof node->address, info->address);
    keep_text(node->host, sizeof node->host, info->host);
    keep_text(node->socket, sizeof node->socket, info->socket);
    keep_text(node->level, sizeof node->level, info->level);
    *out_node = node;
    return CORRAL_OK;
}

// What messages say about the nodes that live. Both arrays are freed with the first.
static Corral__V1__NodeInfo **list_nodes(const corral_head *head, size_t *out_count)
{
    Corral__V1__NodeInfo *infos = calloc(head->node_count, sizeof *infos);
    Corral__V1__NodeInfo **pointers = calloc(head->node_count + 1, sizeof *pointers);
    *out_count = 0;
    if (infos == NULL || pointers == NULL) {
        free(infos);
        free(pointers);
        return NULL;
    }
    pointers[head->node_count] = infos; // where free_list() finds them
    for (size_t i = 0; i < head->node_count; i++) {
        head_node *node = &head->nodes[i];
        if (!node->alive) continue;
        Corral__V1__NodeInfo *info = &infos[*out_count];
        *info = (Corral__V1__NodeInfo)CORRAL__V1__NODE_INFO__INIT;
        info->id = node->id;
        info->address = node->address;
        info->host = node->host;
        info->socket = node->socket;
        info->level = node->level;
        info->pid = node->pid;
        info->slots = node->slots;
        info->gpus = node->gpus;
        pointers[(*out_count)++] = info;
    }
    return pointers;
}

static void free_list(const corral_head *head, Corral__V1__NodeInfo **list)
{
    if (list == NULL) return;
    free(list[head->node_count]);
    free(list);
}

static void welcome(corral_head *head, const corral_channel *channel, uint32_t node, uint64_t job)
{
    Corral__V1__Welcome message = CORRAL__V1__WELCOME__INIT;
    message.cluster = head->cluster;
    message.node = node;
    message.job = job;
    message.nodes = list_nodes(head, &message.n_nodes);
    corral_channel_tell(channel, CORRAL__V1__ENVELOPE__BODY_WELCOME, &message);
    free_list(head, message.nodes);
}

corral_status corral_head_create(const char *cluster, const Corral__V1__NodeInfo *self,
                                 corral_head **out_head)
{
    corral_head *head = calloc(1, sizeof *head);
    if (head == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the head");
    keep_text(head->cluster, sizeof head->cluster, cluster);
    head_node *node = NULL;
    const corral_status status = add_node(head, self, &node);
    if (status != CORRAL_OK) {
        corral_head_destroy(head);
        return status;
    }
    *out_head = head;
    return CORRAL_OK;
}

void corral_head_destroy(corral_head *head)
{
    if (head == NULL) return;
    free(head->nodes);
    free(head->jobs);
    free(head->claims);
    free(head);
}

void corral_head_set_address(corral_head *head, const char *address)
{
    keep_text(head->nodes[0].address, sizeof head->nodes[0].address, address);
}

corral_status corral_head_join(corral_head *head, const Corral__V1__NodeInfo *info,
                               const corral_channel *channel, uint32_t *out_node)
{
    head_node *node = NULL;
    const corral_status status = add_node(head, info, &node);
    if (status != CORRAL_OK) return status;
    *out_node = node->id;
    welcome(head, channel, node->id, 0);
    return CORRAL_OK;
}

// --- claims
// ---------------------------------------------------------------------------------------------------------

static head_job *find_job(corral_head *head, uint64_t id)
{
    for (size_t i = 0; i < head->job_count; i++)
        if (head->jobs[i].id == id) return &head->jobs[i];
    return NULL;
}

static head_claim *find_claim(corral_head *head, uint64_t job, uint32_t group, uint32_t actor)
{
    for (size_t i = 0; i < head->claim_count; i++) {
        head_claim *claim = &head->claims[i];
        if (claim->job == job && claim->group == group && claim->actor == actor) return claim;
    }
    return NULL;
}

static void remove_claims(corral_head *head, uint64_t job, bool whole_job, uint32_t group)
{
    size_t kept = 0;
    for (size_t i = 0; i < head->claim_count; i++) {
        const head_claim *claim = &head->claims[i];
        if (claim->job == job && (whole_job || claim->group == group)) continue;
        head->claims[kept++] = *claim;
    }
    head->claim_count = kept;
}

// The living nodes but `without`, as the placement wants them. The caller frees.
static corral_place_node *places(const corral_head *head, uint32_t without, size_t *out_count)
{
    corral_place_node *nodes = calloc(head->node_count, sizeof *nodes);
    *out_count = 0;
    for (size_t i = 0; nodes != NULL && i < head->node_count; i++) {
        const head_node *node = &head->nodes[i];
        if (!node->alive || node->id == without) continue;
        corral_place_node *place = &nodes[(*out_count)++];
        *place = (corral_place_node){.id = node->id, .cpus = node->slots, .gpus = node->gpus};
        for (size_t k = 0; k < head->claim_count; k++)
            if (head->claims[k].node == node->id) {
                place->used_cpus += head->claims[k].cpus;
                place->used_gpus += head->claims[k].gpus;
                place->actors++;
            }
    }
    return nodes;
}

// "train (pid 17) holds 4": at most a few of them.
static void describe_holders(const corral_head *head, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < head->job_count && used < size; i++) {
        double cpus = 0;
        for (size_t k = 0; k < head->claim_count; k++)
            if (head->claims[k].job == head->jobs[i].id) cpus += head->claims[k].cpus;
        if (cpus == 0) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s (pid %lld) holds %g", used > 0 ? ", " : "",
                                 head->jobs[i].program, (long long)head->jobs[i].pid, cpus);
    }
}

static corral_status claim_places(corral_head *head, const head_job *job, const Corral__V1__Place *place,
                                  uint32_t *out_nodes)
{
    if (place->count > ACTORS_MAX)
        return corral_fail(CORRAL_ERROR_INFEASIBLE, "group \"%s\": %u actors asked for, at most %d",
                           place->class_name, place->count, ACTORS_MAX);
    size_t node_count = 0;
    corral_place_node *nodes = places(head, 0, &node_count);
    head_claim *claims = grown(head->claims, head->claim_count, place->count + 1, sizeof *claims);
    if (claims != NULL) head->claims = claims;
    char holders[512];
    describe_holders(head, holders, sizeof holders);
    const corral_place_request request = {place->class_name, place->count, place->cpus, place->gpus};
    corral_status status =
        nodes == NULL || claims == NULL
            ? corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to place %u actors", place->count)
            : corral_place(&request, nodes, node_count, holders, out_nodes);
    free(nodes);
    for (uint32_t i = 0; status == CORRAL_OK && i < place->count; i++) {
        head_claim *claim = &head->claims[head->claim_count++];
        *claim = (head_claim){
            .job = job->id,
            .group = place->group,
            .actor = i,
            .node = out_nodes[i],
            .cpus = place->cpus,
            .gpus = place->gpus,
        };
        keep_text(claim->class_name, sizeof claim->class_name, place->class_name);
    }
    return status;
}

static void tell_placed(corral_head *head, const head_job *job, uint32_t request, uint32_t group,
                        size_t count, const Corral__V1__Placement *placements)
{
    Corral__V1__Placed message = CORRAL__V1__PLACED__INIT;
    message.request = request;
    message.group = group;
    message.nodes = list_nodes(head, &message.n_nodes);
    message.placements = calloc(count, sizeof *message.placements);
    for (size_t i = 0; message.placements != NULL && i < count; i++) {
        message.placements[i] = (Corral__V1__Placement *)(uintptr_t)&placements[i]; // packing only reads
        message.n_placements++;
    }
    corral_channel_tell(&job->channel, CORRAL__V1__ENVELOPE__BODY_PLACED, &message);
    free(message.placements);
    free_list(head, message.nodes);
}

static void refuse(const head_job *job, uint32_t request, corral_status status)
{
    Corral__V1__Refused message = CORRAL__V1__REFUSED__INIT;
    message.request = request;
    message.status = status;
    message.text = corral_wire_text(corral_last_error());
    corral_channel_tell(&job->channel, CORRAL__V1__ENVELOPE__BODY_REFUSED, &message);
}

static void on_place(corral_head *head, const head_job *job, const Corral__V1__Place *place)
{
    const uint32_t count = place->count <= ACTORS_MAX ? place->count : 0;
    uint32_t *nodes = calloc(count + 1, sizeof *nodes);
    Corral__V1__Placement *placements = calloc(count + 1, sizeof *placements);
    corral_status status =
        nodes == NULL || placements == NULL
            ? corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to place %u actors", place->count)
            : claim_places(head, job, place, nodes);
    for (uint32_t i = 0; status == CORRAL_OK && i < count; i++) {
        placements[i] = (Corral__V1__Placement)CORRAL__V1__PLACEMENT__INIT;
        placements[i].actor = i;
        placements[i].node = nodes[i];
    }
    if (status == CORRAL_OK)
        tell_placed(head, job, place->request, place->group, count, placements);
    else
        refuse(job, place->request, status);
    free(nodes);
    free(placements);
}

// One actor whose node is lost to its job finds another, or its driver is told that there is none.
static void move_claim(corral_head *head, head_claim *claim, uint32_t without)
{
    const head_job *job = find_job(head, claim->job);
    size_t node_count = 0;
    corral_place_node *nodes = places(head, without, &node_count);
    char holders[512];
    describe_holders(head, holders, sizeof holders);
    const corral_place_request request = {claim->class_name, 1, claim->cpus, claim->gpus};
    uint32_t found = 0;
    const corral_status status =
        nodes == NULL ? CORRAL_ERROR_NO_MEMORY : corral_place(&request, nodes, node_count, holders, &found);
    free(nodes);
    claim->node = status == CORRAL_OK ? found : 0;
    claim->state = status == CORRAL_OK ? CORRAL_ACTOR_PLACED : CORRAL_ACTOR_DOWN;
    claim->pid = 0;
    if (job == NULL) return;
    if (status == CORRAL_OK) {
        Corral__V1__Placement placement = CORRAL__V1__PLACEMENT__INIT;
        placement.actor = claim->actor;
        placement.node = found;
        tell_placed(head, job, 0, claim->group, 1, &placement);
        return;
    }
    Corral__V1__Homeless message = CORRAL__V1__HOMELESS__INIT;
    message.group = claim->group;
    message.actor = claim->actor;
    message.text = corral_wire_text(corral_last_error());
    corral_channel_tell(&job->channel, CORRAL__V1__ENVELOPE__BODY_HOMELESS, &message);
}

static head_node *find_node(corral_head *head, uint32_t id)
{
    return id >= 1 && id <= head->node_count ? &head->nodes[id - 1] : NULL;
}

void corral_head_leave(corral_head *head, uint32_t id)
{
    head_node *node = find_node(head, id);
    if (node == NULL || !node->alive) return;
    node->alive = false;
    for (size_t i = 0; i < head->claim_count; i++)
        if (head->claims[i].node == id) move_claim(head, &head->claims[i], id);
}

static void on_unreachable(corral_head *head, const head_job *job, uint32_t node)
{
    for (size_t i = 0; i < head->claim_count; i++)
        if (head->claims[i].job == job->id && head->claims[i].node == node)
            move_claim(head, &head->claims[i], node);
}

// --- what members and drivers say
// -----------------------------------------------------------------------------------

void corral_head_note(corral_head *head, uint32_t id, const corral_envelope *envelope)
{
    head_node *node = find_node(head, id);
    if (node == NULL) return;
    if (envelope->body_case == CORRAL__V1__ENVELOPE__BODY_BEAT)
        node->fragments_remote = envelope->beat->fragments_remote;
    if (envelope->body_case != CORRAL__V1__ENVELOPE__BODY_ACTOR_STATE) return;
    const Corral__V1__ActorState *told = envelope->actor_state;
    head_claim *claim = find_claim(head, told->job, told->group, told->actor);
    if (claim == NULL || claim->node != id || told->state >= CORRAL_ACTOR_STATE_COUNT) return;
    claim->pid = told->pid;
    claim->state = (corral_actor_state)told->state;
    claim->restarts = told->restarts;
}

corral_status corral_head_begin_job(corral_head *head, const Corral__V1__Hello *hello,
                                    const corral_channel *channel, uint64_t *out_job)
{
    head_job *jobs = grown(head->jobs, head->job_count, 1, sizeof *jobs);
    if (jobs == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for one more job");
    head->jobs = jobs;
    head_job *job = &jobs[head->job_count++];
    *job = (head_job){.id = ++head->last_job, .channel = *channel, .pid = hello->pid};
    keep_text(job->program, sizeof job->program, hello->program);
    *out_job = job->id;
    welcome(head, channel, 1, job->id);
    return CORRAL_OK;
}

void corral_head_end_job(corral_head *head, uint64_t id)
{
    remove_claims(head, id, true, 0);
    head_job *job = find_job(head, id);
    if (job != NULL) *job = head->jobs[--head->job_count];
}

bool corral_head_hear(corral_head *head, uint64_t id, const corral_envelope *envelope)
{
    const head_job *job = find_job(head, id);
    if (job == NULL) return false;
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_PLACE:
        on_place(head, job, envelope->place);
        return true;
    case CORRAL__V1__ENVELOPE__BODY_UNPLACE:
        remove_claims(head, id, false, envelope->unplace->group);
        return true;
    case CORRAL__V1__ENVELOPE__BODY_UNREACHABLE:
        on_unreachable(head, job, envelope->unreachable->node);
        return true;
    default:
        return false;
    }
}

// --- status
// ---------------------------------------------------------------------------------------------------------

static void status_of_node(const corral_head *head, const head_node *node, cJSON *list)
{
    double used = 0;
    for (size_t i = 0; i < head->claim_count; i++)
        if (head->claims[i].node == node->id) used += head->claims[i].cpus;
    cJSON *item = cJSON_CreateObject();
    cJSON_AddNumberToObject(item, "id", node->id);
    cJSON_AddStringToObject(item, "address", node->address);
    cJSON_AddNumberToObject(item, "pid", (double)node->pid);
    cJSON_AddNumberToObject(item, "slots", node->slots);
    cJSON_AddNumberToObject(item, "used", used);
    cJSON_AddNumberToObject(item, "gpus", node->gpus);
    cJSON_AddBoolToObject(item, "alive", node->alive);
    cJSON_AddStringToObject(item, "level", node->level);
    cJSON_AddItemToArray(list, item);
}

static void status_of_actor(const head_claim *claim, cJSON *list)
{
    static const char *const names[CORRAL_ACTOR_STATE_COUNT] = {"placed", "running", "restarting", "down"};
    char id[64];
    snprintf(id, sizeof id, "%llu.%u.%u", (unsigned long long)claim->job, claim->group, claim->actor);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "id", id);
    cJSON_AddStringToObject(item, "class", claim->class_name);
    cJSON_AddNumberToObject(item, "node", claim->node);
    cJSON_AddNumberToObject(item, "pid", (double)claim->pid);
    cJSON_AddStringToObject(item, "state", names[claim->state]);
    cJSON_AddNumberToObject(item, "restarts", claim->restarts);
    cJSON_AddItemToArray(list, item);
}

char *corral_head_status(const corral_head *head)
{
    uint64_t fragments = 0;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "cluster", head->cluster);
    cJSON *nodes = cJSON_AddArrayToObject(json, "nodes");
    for (size_t i = 0; i < head->node_count; i++) {
        status_of_node(head, &head->nodes[i], nodes);
        fragments += head->nodes[i].fragments_remote;
    }
    cJSON *jobs = cJSON_AddArrayToObject(json, "jobs");
    for (size_t i = 0; i < head->job_count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddNumberToObject(item, "id", (double)head->jobs[i].id);
        cJSON_AddStringToObject(item, "program", head->jobs[i].program);
        cJSON_AddNumberToObject(item, "pid", (double)head->jobs[i].pid);
        cJSON_AddItemToArray(jobs, item);
    }
    cJSON *actors = cJSON_AddArrayToObject(json, "actors");
    for (size_t i = 0; i < head->claim_count; i++)
        status_of_actor(&head->claims[i], actors);
    cJSON_AddNumberToObject(json, "fragments_remote", (double)fragments);
    char *text = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return text;
}
