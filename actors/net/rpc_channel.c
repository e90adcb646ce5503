// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Messages as gRPC hands them over, and how a peer is dialled.
#include "rpc_private.h"

#include "corral/base/log.h"

#include <grpc/grpc_security.h>
#include <grpc/support/log.h>

#include <stdlib.h>
#include <string.h>

struct corral_rpc_message {
    grpc_byte_buffer *buffer;
    grpc_byte_buffer_reader reader;
    grpc_slice slice;
    size_t used, left; // of the slice, of all
    bool has_slice;
};

corral_rpc_message *corral_rpc_wrap(grpc_byte_buffer *buffer)
{
    corral_rpc_message *message = calloc(1, sizeof *message);
    if (message == NULL || !grpc_byte_buffer_reader_init(&message->reader, buffer)) {
        free(message);
        grpc_byte_buffer_destroy(buffer);
        return NULL;
    }
    message->buffer = buffer;
    message->left = grpc_byte_buffer_length(buffer);
    return message;
}

size_t corral_rpc_message_size(const corral_rpc_message *message)
{
    return message->left;
}

bool corral_rpc_message_read(corral_rpc_message *message, void *out_bytes, size_t size)
{
    if (size > message->left) return false;
    uint8_t *into = out_bytes;
    message->left -= size;
    while (size > 0) {
        if (!message->has_slice) {
            if (!grpc_byte_buffer_reader_next(&message->reader, &message->slice)) return false;
            message->has_slice = true;
            message->used = 0;
        }
        const size_t there = GRPC_SLICE_LENGTH(message->slice) - message->used;
        const size_t count = there < size ? there : size;
        memcpy(into, GRPC_SLICE_START_PTR(message->slice) + message->used, count);
        into += count;
        size -= count;
        message->used += count;
        if (count == there) {
            grpc_slice_unref(message->slice);
            message->has_slice = false;
        }
    }
    return true;
}

void corral_rpc_message_free(corral_rpc_message *message)
{
    if (message->has_slice) grpc_slice_unref(message->slice);
    grpc_byte_buffer_reader_destroy(&message->reader);
    grpc_byte_buffer_destroy(message->buffer);
    free(message);
}

// What it has to say is for its own developers; ours are the sentences.
static void log_line(gpr_log_func_args *line)
{
    if (strstr(line->message, "Handshake failed") != NULL) return; // it is in the sentence of whoever dialled
    corral_log(CORRAL_LOG_DEBUG, "gRPC: %s", line->message);
}

// A peer that a server refuses at its handshake is never seen by anybody but gRPC's log.
static void log_line_of_server(gpr_log_func_args *line)
{
    char sentence[320];
    if (strstr(line->message, "Security handshake failed") != NULL &&
        corral_tls_explain(line->message, sentence, sizeof sentence))
        corral_log(CORRAL_LOG_WARNING, "a connection was refused: %s", sentence);
    else
        log_line(line);
}

void corral_rpc_init(bool serving)
{
    gpr_set_log_function(serving ? log_line_of_server : log_line);
    if (serving) gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG); // that of handshakes
    grpc_init();
}

gpr_timespec corral_rpc_in_ns(int64_t wait_ns)
{
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(wait_ns, GPR_TIMESPAN));
}

grpc_arg corral_rpc_integer(const char *key, int value)
{
    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

static grpc_channel_credentials *channel_credentials(const corral_tls *tls)
{
    if (tls == NULL) return grpc_insecure_credentials_create();
    grpc_ssl_pem_key_cert_pair pair = {.private_key = tls->key, .cert_chain = tls->certificate};
    return grpc_ssl_credentials_create_ex(tls->authority, &pair, NULL, NULL);
}

grpc_server_credentials *corral_rpc_server_credentials(const corral_tls *tls)
{
    if (tls == NULL) return grpc_insecure_server_credentials_create();
    grpc_ssl_pem_key_cert_pair pair = {.private_key = tls->key, .cert_chain = tls->certificate};
    return grpc_ssl_server_credentials_create_ex(
        tls->authority, &pair, 1, GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, NULL);
}

grpc_channel *corral_rpc_dial(const corral_address *address, const corral_tls *tls)
{
    // What is dialled is a number; what the certificate has to name is what people said.
    const grpc_arg host = {.type = GRPC_ARG_STRING,
                           .key = (char *)(uintptr_t)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
                           .value.string = (char *)(uintptr_t)address->host};
    grpc_arg args[] = {
        corral_rpc_integer(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        corral_rpc_integer(GRPC_ARG_ENABLE_RETRIES, 0),
        corral_rpc_integer(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
                           1), // a connection of its own, closed with the channel
        corral_rpc_integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_LIMIT),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_MS),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        corral_rpc_integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        corral_rpc_integer(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 10000), // also how long one attempt may take
        host,
    };
    const grpc_channel_args list = {sizeof args / sizeof args[0], args};
    grpc_channel_credentials *credentials = channel_credentials(tls);
    grpc_channel *channel = grpc_channel_create(address->target, credentials, &list);
    grpc_channel_credentials_release(credentials);
    return channel;
}

grpc_call *corral_rpc_call(grpc_channel *channel, grpc_completion_queue *queue, const char *method,
                           gpr_timespec deadline)
{
    const grpc_slice name = grpc_slice_from_copied_string(method);
    grpc_call *call =
        grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue, name, NULL, deadline, NULL);
    grpc_slice_unref(name);
    return call;
}
