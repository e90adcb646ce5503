// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Sessions: everybody who talks to this node, over its socket or over a link. The first message says who it
/// is; what does not begin with a good Hello is refused with a sentence.
#include "node_private.h"

#include "corral/base/clock.h"
#include "corral/base/log.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HALT_PATIENCE (300 * CORRAL_MILLISECOND) // for the actor's own destroy()

static node_session *create_session(node *n)
{
    node_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->node = n;
    session->channel = CORRAL_CHANNEL_NONE;
    session->watch.fd = -1;
    session->next = n->sessions;
    n->sessions = session;
    return session;
}

corral_status node_session_open(node *n, int socket, bool embedding)
{
    node_session *session = create_session(n);
    if (session == NULL) {
        close(socket);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a session");
    }
    session->channel.socket = socket;
    session->embedding = embedding;
    return node_watch_start(n, &session->watch, WATCH_SESSION, socket, session);
}

void node_session_end(node_session *session, const char *reason)
{
    if (session->ended) return;
    session->ended = true;
    node *n = session->node;
    if (session->member) corral_head_leave(n->head, session->member_node);
    if (session->with_job) corral_head_end_job(n->head, session->job);
    node_watch_stop(n, &session->watch);
    corral_channel_close(&session->channel, reason);
    for (node_group *group = session->groups; group != NULL; group = group->next)
        node_group_halt(group, 0);
    if (session->embedding) node_stop(n, CORRAL_OK, "its driver has ended");
}

static void tell_halted(node_session *session, const node_group *group)
{
    Corral__V1__Halted message = CORRAL__V1__HALTED__INIT;
    message.group = group->id;
    corral_channel_tell(&session->channel, CORRAL__V1__ENVELOPE__BODY_HALTED, &message);
}

static void sweep_groups(node_session *session)
{
    for (node_group **link = &session->groups; *link != NULL;) {
        node_group *group = *link;
        if (!group->halting || !node_group_is_empty(group)) {
            link = &group->next;
            continue;
        }
        *link = group->next;
        tell_halted(session, group);
        node_group_free(group);
    }
}

void node_sessions_sweep(node *n)
{
    for (node_session **link = &n->sessions; *link != NULL;) {
        node_session *session = *link;
        sweep_groups(session);
        if (!session->ended || session->groups != NULL) {
            link = &session->next;
            continue;
        }
        *link = session->next;
        free(session);
    }
}

// --- Hello
// --------------------------------------------------------------------------------------------------------------

// Compares all bytes, wherever the first difference is.
static bool tokens_agree(const char *given, const char *right)
{
    const size_t length = strlen(right);
    if (strlen(given) != length) return false;
    unsigned difference = 0;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(given[i] ^ right[i]);
    return difference == 0;
}

static void refuse(node_session *session, corral_status status)
{
    Corral__V1__Refused message = CORRAL__V1__REFUSED__INIT;
    message.status = status;
    message.text = corral_wire_text(corral_last_error());
    corral_log(CORRAL_LOG_WARNING, "a conversation was refused: %s", message.text);
    corral_channel_tell(&session->channel, CORRAL__V1__ENVELOPE__BODY_REFUSED, &message);
    node_session_end(session, message.text);
}

static corral_status begin_member(node_session *session, const Corral__V1__Hello *hello)
{
    node *n = session->node;
    if (hello->node == NULL || session->channel.link == NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "a node that does not say what it is");
    const corral_status status =
        corral_head_join(n->head, hello->node, &session->channel, &session->member_node);
    session->member = status == CORRAL_OK;
    if (session->member)
        corral_log(CORRAL_LOG_INFO, "node %u at %s joined", session->member_node, hello->node->address);
    return status;
}

static corral_status begin_job(node_session *session, const Corral__V1__Hello *hello)
{
    const corral_status status =
        corral_head_begin_job(session->node->head, hello, &session->channel, &session->job);
    session->with_job = status == CORRAL_OK;
    return status;
}

static corral_status begin_work(node_session *session, const Corral__V1__Hello *hello)
{
    node *n = session->node;
    if (strcmp(hello->cluster, n->cluster) != 0)
        return corral_fail(CORRAL_ERROR_STALE, "the node at %s belongs to another cluster", n->address);
    session->job = hello->job;
    Corral__V1__Welcome message = CORRAL__V1__WELCOME__INIT;
    message.cluster = n->cluster;
    message.node = n->id;
    message.job = hello->job;
    return corral_channel_send(&session->channel, CORRAL__V1__ENVELOPE__BODY_WELCOME, &message);
}

static corral_status begin(node_session *session, const Corral__V1__Hello *hello)
{
    node *n = session->node;
    if (hello->protocol != CORRAL_WIRE_PROTOCOL)
        return corral_fail(CORRAL_ERROR_VERSION,
                           "the node at %s speaks protocol %d, not %u; use the same Corral on both",
                           n->address, CORRAL_WIRE_PROTOCOL, hello->protocol);
    if (!session->embedding && !tokens_agree(hello->token, n->token))
        return corral_fail(
            CORRAL_ERROR_REFUSED,
            "the token is not that of the node at %s; set CORRAL_TOKEN to what its head was started with",
            n->address);
    const bool for_head =
        hello->purpose == CORRAL__V1__PURPOSE__MEMBER || hello->purpose == CORRAL__V1__PURPOSE__JOB;
    if (for_head && n->head == NULL)
        return corral_fail(CORRAL_ERROR_REFUSED, "the node at %s is not a head; its head is at %s",
                           n->address, n->config->join);
    if (session->channel.link != NULL) {
        const char *text = hello->faults[0] != '\0' ? hello->faults : n->config->faults;
        corral_faults faults;
        const corral_status status = corral_faults_parse(text, &faults);
        if (status != CORRAL_OK) return status;
        faults.seed++; // not the same fate for the answer as for the request
        corral_link_set_faults(session->channel.link, &faults);
    }
    // Before it is answered: what follows the answer at once may be long.
    if (session->channel.link != NULL) corral_link_trust(session->channel.link);
    switch (hello->purpose) {
    case CORRAL__V1__PURPOSE__MEMBER:
        return begin_member(session, hello);
    case CORRAL__V1__PURPOSE__JOB:
        return begin_job(session, hello);
    case CORRAL__V1__PURPOSE__WORK:
        return begin_work(session, hello);
    default:
        return corral_fail(CORRAL_ERROR_INVALID, "a Hello for nothing");
    }
}

// --- what drivers say
// -----------------------------------------------------------------------------------------------------

static void on_progress(node_session *session, const Corral__V1__Progress *message)
{
    node_actor *actor = node_actor_find(session, message->group, message->actor, message->incarnation);
    if (actor != NULL) node_actor_progress(actor);
}

static void on_kill(node_session *session, const Corral__V1__Kill *message)
{
    node_actor *actor = node_actor_find(session, message->group, message->actor, message->incarnation);
    if (actor != NULL) node_actor_kill(actor);
}

static void on_halt(node_session *session, uint32_t id)
{
    node_group *group = node_group_find(session, id);
    if (group != NULL) {
        node_group_halt(group, HALT_PATIENCE);
        return;
    }
    Corral__V1__Halted message = CORRAL__V1__HALTED__INIT;
    message.group = id;
    corral_channel_tell(&session->channel, CORRAL__V1__ENVELOPE__BODY_HALTED, &message);
}

static void hear(node_session *session, const corral_envelope *envelope, corral_rpc_message *chunk,
                 size_t chunk_size)
{
    node *n = session->node;
    if (session->member) {
        if (envelope->body_case == CORRAL__V1__ENVELOPE__BODY_BYE)
            node_session_end(session, "goodbye");
        else
            corral_head_note(n->head, session->member_node, envelope);
        return;
    }
    if (session->with_job && corral_head_hear(n->head, session->job, envelope)) return;
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_GROUP:
        node_group_open(session, envelope->group);
        break;
    case CORRAL__V1__ENVELOPE__BODY_START:
        node_group_start(session, envelope->start);
        break;
    case CORRAL__V1__ENVELOPE__BODY_HALT:
        on_halt(session, envelope->halt->group);
        break;
    case CORRAL__V1__ENVELOPE__BODY_KILL:
        on_kill(session, envelope->kill);
        break;
    case CORRAL__V1__ENVELOPE__BODY_PROGRESS:
        on_progress(session, envelope->progress);
        break;
    case CORRAL__V1__ENVELOPE__BODY_LEASE:
        node_relay_lease(session, envelope->lease);
        break;
    case CORRAL__V1__ENVELOPE__BODY_WEIGHTS:
        node_relay_weights(session, envelope->weights, chunk, chunk_size);
        break;
    case CORRAL__V1__ENVELOPE__BODY_LISTEN:
        n->network_at_ns = 0;
        break;
    case CORRAL__V1__ENVELOPE__BODY_BYE:
        node_session_end(session, "goodbye");
        break;
    default:
        break; // nothing that a driver says
    }
}

static void take_envelope(node_session *session, const corral_envelope *envelope, corral_rpc_message *chunk,
                          size_t chunk_size)
{
    if (session->known) {
        hear(session, envelope, chunk, chunk_size);
        return;
    }
    const corral_status status =
        envelope->body_case == CORRAL__V1__ENVELOPE__BODY_HELLO
            ? begin(session, envelope->hello)
            : corral_fail(CORRAL_ERROR_INVALID, "a conversation that does not begin with Hello");
    session->known = status == CORRAL_OK;
    if (status != CORRAL_OK) refuse(session, status);
}

void node_session_receive(node_session *session)
{
    corral_channel_news news;
    const corral_status status =
        corral_channel_receive(session->channel.socket, session->node->buffer, &news);
    if (status == CORRAL_ERROR_EMPTY) return;
    if (status != CORRAL_OK) {
        node_session_end(session, corral_last_error());
        return;
    }
    if (news.message.kind == CORRAL_MESSAGE_BOARD && session->known && news.fds[0] >= 0) {
        node_group_board(session, (uint32_t)news.message.tag, news.fds[0]);
        news.fds[0] = -1;
    }
    if (news.message.kind == CORRAL_MESSAGE_CLIENT && session->known && news.fds[0] >= 0) {
        node_hub_add(session->node, news.fds[0]);
        news.fds[0] = -1;
    }
    if (news.envelope != NULL) take_envelope(session, news.envelope, NULL, 0);
    corral_channel_news_finish(&news);
}

// --- mail from gRPC
// -------------------------------------------------------------------------------------------------------

static void answer_status(node *n, corral_rpc_question *question)
{
    corral_rpc_message *message = corral_rpc_question_message(question);
    uint8_t bytes[512];
    const size_t size = corral_rpc_message_size(message);
    Corral__V1__StatusRequest *request = NULL;
    if (size <= sizeof bytes && corral_rpc_message_read(message, bytes, size))
        request = corral__v1__status_request__unpack(NULL, size, bytes);

    Corral__V1__StatusReply reply = CORRAL__V1__STATUS_REPLY__INIT;
    char *json = NULL;
    if (request == NULL || !tokens_agree(request->token, n->token))
        reply.status = corral_fail(CORRAL_ERROR_REFUSED,
                                   "the token is not that of the node at %s; set CORRAL_TOKEN", n->address);
    else if (strcmp(request->what, "runtime") == 0)
        json = n->hub != NULL ? corral_hub_report(n->hub) : strdup("{}");
    else if (n->head == NULL)
        reply.status = corral_fail(CORRAL_ERROR_REFUSED, "the node at %s is not a head; its head is at %s",
                                   n->address, n->config->join);
    else if ((json = corral_head_status(n->head)) == NULL)
        reply.status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the status");
    if (reply.status == CORRAL_OK && json == NULL)
        reply.status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the status");
    reply.text = json != NULL ? json : corral_wire_text(corral_last_error());
    if (request != NULL) corral__v1__status_request__free_unpacked(request, NULL);

    const size_t reply_size = corral__v1__status_reply__get_packed_size(&reply);
    uint8_t *packed = malloc(reply_size + 1);
    if (packed != NULL) corral__v1__status_reply__pack(&reply, packed);
    corral_rpc_answer(question, packed, packed != NULL ? reply_size : 0);
    free(packed);
    free(json);
}

static void answer(node *n, corral_rpc_question *question)
{
    // grpc.health.v1.HealthCheckResponse {status: SERVING}: field 1, an enum, the value 1. That this loop
    // answers is what makes it true.
    static const uint8_t serving[] = {0x08, 0x01};
    const char *method = corral_rpc_question_method(question);
    if (strcmp(method, "/corral.v1.Node/Status") == 0)
        answer_status(n, question);
    else if (strcmp(method, "/grpc.health.v1.Health/Check") == 0)
        corral_rpc_answer(question, serving, sizeof serving);
    else
        corral_rpc_answer(question, NULL, 0);
}

static void take_message(node *n, corral_mail *mail)
{
    if (mail->link == n->to_head.link) {
        node_hear_head(n, mail->envelope);
        return;
    }
    node_session *session = corral_link_owner(mail->link);
    if (session == NULL) { // a stranger
        session = create_session(n);
        if (session == NULL) return;
        session->channel.link = mail->link;
        take_envelope(session, mail->envelope, NULL, 0);
        if (session->known) corral_link_set_owner(mail->link, session);
        return;
    }
    take_envelope(session, mail->envelope, mail->chunk, mail->chunk_size);
}

static void take_closed(node *n, corral_mail *mail)
{
    if (mail->link == n->to_head.link && !n->joined && corral_tls_is_at_fault(mail->text)) {
        char reason[NODE_TEXT_SIZE];
        snprintf(reason, sizeof reason, "the head at %s: %s", n->config->join, mail->text);
        node_stop(n, CORRAL_ERROR_REFUSED, reason);
        return;
    }
    if (mail->link == n->to_head.link && !n->joined) { // dialled again for a while
        corral_channel_close(&n->to_head, "");
        return;
    }
    if (mail->link == n->to_head.link) {
        char reason[NODE_TEXT_SIZE];
        snprintf(reason, sizeof reason, "the head at %s is gone (%s)", n->config->join, mail->text);
        node_stop(n, CORRAL_ERROR_LOST, reason);
        return;
    }
    node_session *session = corral_link_owner(mail->link);
    if (session != NULL)
        node_session_end(session, mail->text);
    else
        corral_link_close(mail->link, mail->text);
}

void node_take_mail(node *n, corral_mail *mail)
{
    switch (mail->kind) {
    case CORRAL_MAIL_MESSAGE:
        take_message(n, mail);
        break;
    case CORRAL_MAIL_CLOSED:
        take_closed(n, mail);
        break;
    case CORRAL_MAIL_RELEASED:
        node_relay_released(mail->owner);
        break;
    case CORRAL_MAIL_QUESTION:
        answer(n, mail->question);
        mail->question = NULL;
        break;
    }
    corral_mail_free(mail);
}
