// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// One question, one answer: a unary call on a queue of its own, for who needs nothing else of gRPC.
#include "rpc_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

// One call on a queue of its own.
typedef struct rpc_ask {
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *request, *reply;
    grpc_status_code code;
    grpc_slice details;
} rpc_ask;

static void run_ask(const corral_address *address, const corral_tls *tls, const char *method,
                    int64_t timeout_ns, rpc_ask *ask)
{
    grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
    grpc_channel *channel = corral_rpc_dial(address, tls);
    grpc_call *call = corral_rpc_call(channel, queue, method, corral_rpc_in_ns(timeout_ns));
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = ask->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &ask->initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &ask->reply},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &ask->trailing,
                                        .status = &ask->code,
                                        .status_details = &ask->details}},
    };
    // The call's own deadline ends the wait.
    if (grpc_call_start_batch(call, ops, sizeof ops / sizeof ops[0], call, NULL) == GRPC_CALL_OK)
        grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_call_unref(call);
    grpc_channel_destroy(channel);
    grpc_completion_queue_shutdown(queue);
    while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL).type !=
           GRPC_QUEUE_SHUTDOWN) {
    }
    grpc_completion_queue_destroy(queue);
}

static corral_status take_reply(const corral_address *address, rpc_ask *ask, uint8_t **out_reply,
                                size_t *out_size)
{
    if (ask->code != GRPC_STATUS_OK || ask->reply == NULL) {
        char details[512], sentence[320];
        const size_t length = GRPC_SLICE_LENGTH(ask->details);
        snprintf(details, sizeof details, "%.*s", length < 500 ? (int)length : 500,
                 (const char *)GRPC_SLICE_START_PTR(ask->details));
        if (corral_tls_explain(details, sentence, sizeof sentence))
            return corral_fail(CORRAL_ERROR_REFUSED, "%s: %s", address->text, sentence);
        return corral_fail(CORRAL_ERROR_LOST, "no node answers at %s (%.200s)", address->text, details);
    }
    const size_t size = grpc_byte_buffer_length(ask->reply);
    corral_rpc_message *message = corral_rpc_wrap(ask->reply);
    ask->reply = NULL;
    uint8_t *bytes = malloc(size + 1);
    if (message == NULL || bytes == NULL || !corral_rpc_message_read(message, bytes, size)) {
        free(bytes);
        if (message != NULL) corral_rpc_message_free(message);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the answer of %s", address->text);
    }
    corral_rpc_message_free(message);
    *out_reply = bytes;
    *out_size = size;
    return CORRAL_OK;
}

corral_status corral_rpc_ask(const corral_address *address, const corral_tls *tls, const char *method,
                             const void *bytes, size_t size, int64_t timeout_ns, uint8_t **out_reply,
                             size_t *out_size)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    corral_rpc_init(false);
    rpc_ask ask = {.code = GRPC_STATUS_UNKNOWN, .details = grpc_empty_slice()};
    grpc_metadata_array_init(&ask.initial);
    grpc_metadata_array_init(&ask.trailing);
    grpc_slice slice = grpc_slice_from_copied_buffer(bytes, size);
    ask.request = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    run_ask(address, tls, method, timeout_ns, &ask);
    const corral_status status = take_reply(address, &ask, out_reply, out_size);
    grpc_byte_buffer_destroy(ask.request);
    if (ask.reply != NULL) grpc_byte_buffer_destroy(ask.reply);
    grpc_slice_unref(ask.details);
    grpc_metadata_array_destroy(&ask.initial);
    grpc_metadata_array_destroy(&ask.trailing);
    grpc_shutdown_blocking();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}
