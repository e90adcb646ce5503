// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "rpc.h"
#include "runtime.h"
#include "wire.h"

#include "corral/base/clock.h"
#include "corral/net/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_LIMIT (5 * CORRAL_SECOND)

// Whom to ask, and with which token. A node that a run embeds has no socket for others, and no TLS.
static corral_status find_head(const char *address, const char *token, corral_address *out_address,
                               char out_token[CORRAL_TOKEN_SIZE], bool *out_embedded)
{
    corral_runtime_entry entry = {0};
    corral_status status = CORRAL_OK;
    if (address == NULL) {
        status = corral_runtime_find(0, &entry);
        if (status == CORRAL_OK)
            status = corral_address_parse(entry.address, "the head's address", out_address);
    } else {
        status = corral_address_parse(address, "the cluster's address", out_address);
        const corral_status found = status == CORRAL_OK && out_address->loopback
                                        ? corral_runtime_find(out_address->port, &entry)
                                        : status;
        (void)found; // without an entry there may still be a token
    }
    if (status != CORRAL_OK) return status;
    const char *given = token != NULL ? token : getenv("CORRAL_TOKEN");
    const char *used = given != NULL && given[0] != '\0' ? given : entry.token;
    if (used[0] == '\0')
        return corral_fail(
            CORRAL_ERROR_NOT_FOUND,
            "no head of yours answers at %s on this host, and its token is not known; set CORRAL_TOKEN",
            out_address->text);
    snprintf(out_token, CORRAL_TOKEN_SIZE, "%s", used);
    *out_embedded = entry.address[0] != '\0' && entry.socket[0] == '\0';
    return CORRAL_OK;
}

static corral_status open_reply(const uint8_t *bytes, size_t size, char **out_json)
{
    Corral__V1__StatusReply *reply = corral__v1__status_reply__unpack(NULL, size, bytes);
    if (reply == NULL) return corral_fail(CORRAL_ERROR_CORRUPT, "the head's answer is not of this protocol");
    corral_status status = CORRAL_OK;
    if (reply->status != CORRAL_OK)
        status = corral_fail(reply->status < CORRAL_STATUS_COUNT ? (corral_status)reply->status
                                                                 : CORRAL_ERROR_REFUSED,
                             "%s", reply->text);
    else if ((*out_json = strdup(reply->text)) == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the status");
    corral__v1__status_reply__free_unpacked(reply, NULL);
    return status;
}

static corral_status ask(const char *address, const char *token, const char *what, char **out_json)
{
    corral_address head;
    char used_token[CORRAL_TOKEN_SIZE];
    bool embedded = false;
    corral_tls tls = {0};
    corral_status status = find_head(address, token, &head, used_token, &embedded);
    if (status == CORRAL_OK && !embedded) status = corral_tls_load(getenv("CORRAL_TLS"), &tls);
    if (status != CORRAL_OK) return status;
    Corral__V1__StatusRequest request = CORRAL__V1__STATUS_REQUEST__INIT;
    request.token = used_token;
    request.what = corral_wire_text(what);
    uint8_t packed[64];
    const size_t packed_size = corral__v1__status_request__pack(&request, packed);
    uint8_t *reply = NULL;
    size_t size = 0;
    status = corral_rpc_ask(&head, tls.key != NULL ? &tls : NULL, "/corral.v1.Node/Status", packed,
                            packed_size, ANSWER_LIMIT, &reply, &size);
    corral_tls_finish(&tls);
    if (status != CORRAL_OK) return status;
    status = open_reply(reply, size, out_json);
    free(reply);
    return status;
}

corral_status corral_cluster_status(const char *address, const char *token, char **out_json)
{
    return ask(address, token, "", out_json);
}

corral_status corral_cluster_runtime_status(const char *address, const char *token, char **out_json)
{
    return ask(address, token, "runtime", out_json);
}
