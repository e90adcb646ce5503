// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "channel.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t kind_of(Corral__V1__Envelope__BodyCase body_case)
{
    if (body_case == CORRAL__V1__ENVELOPE__BODY_HELLO) return CORRAL_MESSAGE_ATTACH;
    if (body_case == CORRAL__V1__ENVELOPE__BODY_WELCOME) return CORRAL_MESSAGE_ATTACHED;
    if (body_case == CORRAL__V1__ENVELOPE__BODY_REFUSED) return CORRAL_MESSAGE_ERROR;
    return CORRAL_MESSAGE_CALL;
}

static bool carries_envelope(uint32_t kind)
{
    return kind == CORRAL_MESSAGE_ATTACH || kind == CORRAL_MESSAGE_ATTACHED || kind == CORRAL_MESSAGE_ERROR ||
           kind == CORRAL_MESSAGE_CALL;
}

static corral_status send_datagram(int socket, const corral_envelope *envelope)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    corral_status status = corral_wire_pack(envelope, &bytes, &size);
    if (status != CORRAL_OK) return status;
    if (size > CORRAL_MESSAGE_TAIL_MAX) {
        free(bytes);
        return corral_fail(CORRAL_ERROR_FULL, "a message of %zu bytes is too large, at most %d", size,
                           CORRAL_MESSAGE_TAIL_MAX);
    }
    const corral_message message = {.kind = kind_of(envelope->body_case), .tail_size = (uint32_t)size};
    status = corral_message_send(socket, &message, bytes, NULL, 0, CORRAL_SECOND);
    free(bytes);
    return status;
}

corral_status corral_channel_send(const corral_channel *channel, Corral__V1__Envelope__BodyCase body_case,
                                  void *body)
{
    const corral_envelope envelope = corral_envelope_of(body_case, body);
    if (channel->link != NULL) return corral_link_send(channel->link, &envelope, NULL, 0, 0);
    if (channel->socket >= 0) return send_datagram(channel->socket, &envelope);
    return corral_fail(CORRAL_ERROR_LOST, "the other side is gone");
}

void corral_channel_tell(const corral_channel *channel, Corral__V1__Envelope__BodyCase body_case, void *body)
{
    const corral_status status = corral_channel_send(channel, body_case, body);
    (void)status;
}

void corral_channel_close(corral_channel *channel, const char *reason)
{
    if (channel->link != NULL) corral_link_close(channel->link, reason);
    if (channel->socket >= 0) close(channel->socket);
    *channel = CORRAL_CHANNEL_NONE;
}

corral_status corral_channel_receive(int socket, uint8_t *buffer, corral_channel_news *out_news)
{
    out_news->envelope = NULL;
    corral_status status =
        corral_message_receive(socket, &out_news->message, buffer, CORRAL_MESSAGE_TAIL_MAX, out_news->fds, 0);
    if (status != CORRAL_OK || !carries_envelope(out_news->message.kind)) return status;
    status = corral_wire_unpack(buffer, out_news->message.tail_size, &out_news->envelope);
    if (status != CORRAL_OK) corral_channel_news_finish(out_news);
    return status;
}

void corral_channel_news_finish(corral_channel_news *news)
{
    for (int i = 0; i < CORRAL_MESSAGE_FDS_MAX; i++)
        if (news->fds[i] >= 0) close(news->fds[i]);
    corral_wire_free(news->envelope);
    news->envelope = NULL;
}
