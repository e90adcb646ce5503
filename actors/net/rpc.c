// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The C core works by batches of operations on a call, each with a tag that comes out of a completion queue
/// when the batch is done. Here a tag is a struct that knows its function; one thread takes tags out and
/// calls them.
///
/// What experience says, and what is done about it:
/// - A killed peer is reported only when RECV_INITIAL_METADATA has been asked for: it always is.
/// - Keepalive stops on idle streams, and a server takes pings for an attack, unless both sides are told
/// otherwise.
/// - Two servers share a port in silence unless SO_REUSEPORT is off; then port 0 means "taken".
/// - With retries on, sent messages are kept for another attempt; we number and repeat them ourselves.
/// - Nobody answers a method that was not registered: so none is, and all come through the generic request.
/// - Proxies from the environment would get calls to loopback.
/// - Its threads take signals unless these are blocked when it starts.
#include "rpc_private.h"

#include "corral/base/clock.h"

#include <grpc/grpc_security.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_SIZE = 240, DETAILS_SIZE = 1024 };

static const char TALK[] = "/corral.v1.Node/Talk";

// What comes out of the completion queue.
typedef struct rpc_tag {
    void (*run)(struct rpc_tag *tag, bool ok);
    void *owner;
} rpc_tag;

struct corral_rpc {
    corral_rpc_config config;
    grpc_completion_queue *queue;
    grpc_server *server;
    uint16_t port;
    pthread_t thread;
    // the next call that a peer will make
    rpc_tag incoming_tag, shutdown_tag;
    grpc_call *incoming;
    grpc_call_details details;
    grpc_metadata_array metadata;
    // guarded by the mutex
    pthread_mutex_t mutex;
    pthread_cond_t calm; // no stream or question left
    unsigned open_count;
    corral_rpc_stream *streams;
    bool stopping, server_is_down;
};

struct corral_rpc_stream {
    corral_rpc *rpc;
    corral_rpc_stream *previous, *next; // in the rpc's list
    const corral_rpc_events *events;
    void *context;
    grpc_channel *channel; // a client's
    grpc_call *call;
    bool is_client;
    rpc_tag start_tag, read_tag, write_tag, end_tag, finish_tag;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *incoming;
    grpc_status_code code;
    grpc_slice details;
    int cancelled;
    char reason[REASON_SIZE];
    // guarded by the mutex
    pthread_mutex_t mutex;
    unsigned pending; // batches, and 1 until the end is known
    bool writing, ending, finish_sent;
    unsigned references; // its holder, and the rpc
};

struct corral_rpc_question {
    corral_rpc *rpc;
    grpc_call *call;
    rpc_tag read_tag, answer_tag;
    char method[128];
    grpc_byte_buffer *incoming;
    corral_rpc_message *message;
    int cancelled;
};

// ------------------------------------------------------------------------------------------------

static void opened(corral_rpc *rpc)
{
    pthread_mutex_lock(&rpc->mutex);
    rpc->open_count++;
    pthread_mutex_unlock(&rpc->mutex);
}

static void gone(corral_rpc *rpc)
{
    pthread_mutex_lock(&rpc->mutex);
    if (--rpc->open_count == 0) pthread_cond_broadcast(&rpc->calm);
    pthread_mutex_unlock(&rpc->mutex);
}

// --- streams
// --------------------------------------------------------------------------------------------------------------

static void drop_reference(corral_rpc_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    const bool last = --stream->references == 0;
    pthread_mutex_unlock(&stream->mutex);
    if (!last) return;
    pthread_mutex_destroy(&stream->mutex);
    free(stream);
}

static void link_stream(corral_rpc_stream *stream)
{
    corral_rpc *rpc = stream->rpc;
    pthread_mutex_lock(&rpc->mutex);
    stream->next = rpc->streams;
    if (rpc->streams != NULL) rpc->streams->previous = stream;
    rpc->streams = stream;
    rpc->open_count++;
    pthread_mutex_unlock(&rpc->mutex);
}

static void unlink_stream(corral_rpc_stream *stream)
{
    corral_rpc *rpc = stream->rpc;
    pthread_mutex_lock(&rpc->mutex);
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        rpc->streams = stream->next;
    if (stream->next != NULL) stream->next->previous = stream->previous;
    pthread_mutex_unlock(&rpc->mutex);
}

static void describe_end(corral_rpc_stream *stream)
{
    if (!stream->is_client) {
        snprintf(stream->reason, sizeof stream->reason, "the connection was closed");
        return;
    }
    const size_t length = GRPC_SLICE_LENGTH(stream->details);
    const int shown = length < REASON_SIZE ? (int)length : REASON_SIZE - 1;
    snprintf(stream->reason, sizeof stream->reason, "%.*s", shown,
             (const char *)GRPC_SLICE_START_PTR(stream->details));
    if (stream->reason[0] == '\0')
        snprintf(stream->reason, sizeof stream->reason, "the connection was closed");
    char details[DETAILS_SIZE];
    snprintf(details, sizeof details, "%.*s", length < DETAILS_SIZE ? (int)length : DETAILS_SIZE - 1,
             (const char *)GRPC_SLICE_START_PTR(stream->details));
    corral_tls_explain(details, stream->reason, sizeof stream->reason);
}

// All batches are done: the last thing that happens to a stream.
static void finish_stream(corral_rpc_stream *stream)
{
    corral_rpc *rpc = stream->rpc;
    describe_end(stream);
    unlink_stream(stream);
    stream->events->closed(stream->context, stream->reason);
    grpc_call_unref(stream->call);
    grpc_metadata_array_destroy(&stream->initial);
    grpc_metadata_array_destroy(&stream->trailing);
    if (stream->is_client) {
        grpc_slice_unref(stream->details);
        grpc_channel_destroy(stream->channel);
    }
    drop_reference(stream);
    gone(rpc);
}

static void batch_done(corral_rpc_stream *stream)
{
    pthread_mutex_lock(&stream->mutex);
    const bool last = --stream->pending == 0;
    pthread_mutex_unlock(&stream->mutex);
    if (last) finish_stream(stream);
}

// With the mutex held. A call that refuses a batch has ended already: its end tag is on its way.
static bool start_batch(corral_rpc_stream *stream, const grpc_op *ops, size_t count, rpc_tag *tag)
{
    if (grpc_call_start_batch(stream->call, ops, count, tag, NULL) != GRPC_CALL_OK) return false;
    stream->pending++;
    return true;
}

static void read_next(corral_rpc_stream *stream)
{
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &stream->incoming};
    pthread_mutex_lock(&stream->mutex);
    if (!stream->ending) start_batch(stream, &op, 1, &stream->read_tag);
    pthread_mutex_unlock(&stream->mutex);
}

// A server says how a call ended; for a client, cancelling is all there is to say. With the mutex held.
static void end_call(corral_rpc_stream *stream, const char *reason)
{
    if (stream->finish_sent) return;
    stream->ending = stream->finish_sent = true;
    if (stream->is_client) {
        grpc_call_cancel(stream->call, NULL);
        return;
    }
    grpc_slice details = grpc_slice_from_copied_string(reason);
    const grpc_op op = {
        .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
        .data.send_status_from_server = {.status = GRPC_STATUS_OK, .status_details = &details},
    };
    if (!start_batch(stream, &op, 1, &stream->finish_tag)) grpc_call_cancel(stream->call, NULL);
    grpc_slice_unref(details);
}

static void on_start(rpc_tag *tag, bool ok)
{
    (void)ok; // a start that failed has an end that says why
    batch_done(tag->owner);
}

static void on_read(rpc_tag *tag, bool ok)
{
    corral_rpc_stream *stream = tag->owner;
    grpc_byte_buffer *buffer = stream->incoming;
    stream->incoming = NULL;
    if (ok && buffer != NULL) {
        corral_rpc_message *message = corral_rpc_wrap(buffer);
        if (message != NULL) stream->events->received(stream->context, message);
        read_next(stream);
    } else if (!stream->is_client) {
        // The client has nothing more to say, and the call is over when we say so. A server says it itself.
        pthread_mutex_lock(&stream->mutex);
        end_call(stream, "");
        pthread_mutex_unlock(&stream->mutex);
    }
    batch_done(stream);
}

static void on_write(rpc_tag *tag, bool ok)
{
    corral_rpc_stream *stream = tag->owner;
    pthread_mutex_lock(&stream->mutex);
    stream->writing = false;
    const bool more = ok && !stream->ending;
    pthread_mutex_unlock(&stream->mutex);
    if (more) stream->events->written(stream->context);
    batch_done(stream);
}

static void on_end(rpc_tag *tag, bool ok)
{
    (void)ok;
    corral_rpc_stream *stream = tag->owner;
    pthread_mutex_lock(&stream->mutex);
    if (!stream->is_client) end_call(stream, ""); // a server's call is over when it has said so
    stream->ending = true;
    pthread_mutex_unlock(&stream->mutex);
    batch_done(stream);
}

static corral_rpc_stream *create_stream(corral_rpc *rpc, grpc_channel *channel, grpc_call *call)
{
    corral_rpc_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->rpc = rpc;
    stream->channel = channel;
    stream->call = call;
    stream->is_client = channel != NULL;
    stream->references = 2;
    stream->start_tag = (rpc_tag){on_start, stream};
    stream->read_tag = (rpc_tag){on_read, stream};
    stream->write_tag = (rpc_tag){on_write, stream};
    stream->end_tag = (rpc_tag){on_end, stream};
    stream->finish_tag = (rpc_tag){on_start, stream};
    grpc_metadata_array_init(&stream->initial);
    grpc_metadata_array_init(&stream->trailing);
    pthread_mutex_init(&stream->mutex, NULL);
    return stream;
}

// All first batches count before any of them can finish.
static void start_stream(corral_rpc_stream *stream)
{
    link_stream(stream);
    const grpc_op send_metadata = {.op = GRPC_OP_SEND_INITIAL_METADATA};
    const grpc_op first[] = {
        send_metadata,
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &stream->initial},
    };
    const grpc_op client_end = {
        .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
        .data.recv_status_on_client = {.trailing_metadata = &stream->trailing,
                                       .status = &stream->code,
                                       .status_details = &stream->details},
    };
    const grpc_op server_end = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER,
                                .data.recv_close_on_server.cancelled = &stream->cancelled};
    const grpc_op read = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &stream->incoming};
    pthread_mutex_lock(&stream->mutex);
    stream->details = grpc_empty_slice();
    stream->pending = 1;
    bool ok = start_batch(stream, stream->is_client ? &client_end : &server_end, 1, &stream->end_tag);
    CORRAL_ASSERT(ok); // fails only for a batch that makes no sense
    ok = start_batch(stream, first, stream->is_client ? 2 : 1, &stream->start_tag);
    if (ok) start_batch(stream, &read, 1, &stream->read_tag);
    pthread_mutex_unlock(&stream->mutex);
    batch_done(stream);
}

bool corral_rpc_write(corral_rpc_stream *stream, const void *head, size_t head_size,
                      const corral_rpc_piece *piece)
{
    grpc_slice slices[2] = {grpc_slice_from_copied_buffer(head, head_size)};
    size_t count = 1;
    // An empty piece is not worth a slice, but has to be released all the same.
    if (piece != NULL)
        slices[count++] = grpc_slice_new_with_user_data((void *)(uintptr_t)piece->bytes, piece->size,
                                                        piece->release, piece->context);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(slices, count);
    for (size_t i = 0; i < count; i++)
        grpc_slice_unref(slices[i]);
    const grpc_op op = {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = buffer};
    pthread_mutex_lock(&stream->mutex);
    CORRAL_ASSERT(!stream->writing);
    const bool started = !stream->ending && start_batch(stream, &op, 1, &stream->write_tag);
    stream->writing = started;
    pthread_mutex_unlock(&stream->mutex);
    grpc_byte_buffer_destroy(buffer); // the call has taken the slices
    return started;
}

void corral_rpc_close(corral_rpc_stream *stream, const char *reason)
{
    pthread_mutex_lock(&stream->mutex);
    end_call(stream, reason);
    pthread_mutex_unlock(&stream->mutex);
}

void corral_rpc_release(corral_rpc_stream *stream)
{
    drop_reference(stream);
}

// --- dialling
// -------------------------------------------------------------------------------------------------------------

corral_status corral_rpc_open(corral_rpc *rpc, const corral_address *address, const corral_rpc_events *events,
                              void *context, corral_rpc_stream **out_stream)
{
    grpc_channel *channel = corral_rpc_dial(address, rpc->config.tls);
    grpc_call *call = corral_rpc_call(channel, rpc->queue, TALK, gpr_inf_future(GPR_CLOCK_REALTIME));
    corral_rpc_stream *stream = create_stream(rpc, channel, call);
    if (stream == NULL) {
        grpc_call_unref(call);
        grpc_channel_destroy(channel);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a connection to %s", address->text);
    }
    stream->events = events;
    stream->context = context;
    *out_stream = stream;
    start_stream(stream);
    return CORRAL_OK;
}

// --- serving
// --------------------------------------------------------------------------------------------------------------

static void free_question(corral_rpc_question *question)
{
    corral_rpc *rpc = question->rpc;
    if (question->message != NULL) corral_rpc_message_free(question->message);
    grpc_call_unref(question->call);
    free(question);
    gone(rpc);
}

static void on_answered(rpc_tag *tag, bool ok)
{
    (void)ok; // who asked may have gone
    free_question(tag->owner);
}

const char *corral_rpc_question_method(const corral_rpc_question *question)
{
    return question->method;
}

corral_rpc_message *corral_rpc_question_message(corral_rpc_question *question)
{
    return question->message;
}

void corral_rpc_answer(corral_rpc_question *question, const void *bytes, size_t size)
{
    grpc_slice slice = grpc_slice_from_copied_buffer(bytes != NULL ? bytes : "", size);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    grpc_slice details = grpc_slice_from_static_string(bytes != NULL ? "" : "there is no such method");
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA},
        {.op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &question->cancelled},
        {.op = GRPC_OP_SEND_STATUS_FROM_SERVER,
         .data.send_status_from_server = {.status =
                                              bytes != NULL ? GRPC_STATUS_OK : GRPC_STATUS_UNIMPLEMENTED,
                                          .status_details = &details}},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = buffer},
    };
    pthread_mutex_lock(&question->rpc->mutex); // see run_tag()
    const grpc_call_error error =
        grpc_call_start_batch(question->call, ops, bytes != NULL ? 4 : 3, &question->answer_tag, NULL);
    pthread_mutex_unlock(&question->rpc->mutex);
    grpc_byte_buffer_destroy(buffer);
    if (error != GRPC_CALL_OK) free_question(question);
}

static void on_question(rpc_tag *tag, bool ok)
{
    corral_rpc_question *question = tag->owner;
    if (ok && question->incoming != NULL) question->message = corral_rpc_wrap(question->incoming);
    if (question->message != NULL)
        question->rpc->config.asked(question->rpc->config.context, question);
    else
        corral_rpc_answer(question, NULL, 0);
}

static void accept_question(corral_rpc *rpc, grpc_call *call, grpc_slice method)
{
    corral_rpc_question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        grpc_call_cancel(call, NULL);
        grpc_call_unref(call);
        return;
    }
    opened(rpc);
    question->rpc = rpc;
    question->call = call;
    question->read_tag = (rpc_tag){on_question, question};
    question->answer_tag = (rpc_tag){on_answered, question};
    const size_t length = GRPC_SLICE_LENGTH(method);
    if (length < sizeof question->method) memcpy(question->method, GRPC_SLICE_START_PTR(method), length);
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &question->incoming};
    if (grpc_call_start_batch(call, &op, 1, &question->read_tag, NULL) != GRPC_CALL_OK)
        free_question(question);
}

static void accept_stream(corral_rpc *rpc, grpc_call *call)
{
    corral_rpc_stream *stream = create_stream(rpc, NULL, call);
    if (stream != NULL) stream->context = rpc->config.accepted(rpc->config.context, stream, &stream->events);
    if (stream == NULL || stream->context == NULL) {
        grpc_call_cancel(call, NULL);
        grpc_call_unref(call);
        if (stream != NULL) pthread_mutex_destroy(&stream->mutex);
        free(stream);
        return;
    }
    start_stream(stream);
}

static void await_call(corral_rpc *rpc)
{
    grpc_call_details_init(&rpc->details);
    grpc_metadata_array_init(&rpc->metadata);
    grpc_server_request_call(rpc->server, &rpc->incoming, &rpc->details, &rpc->metadata, rpc->queue,
                             rpc->queue, &rpc->incoming_tag);
}

static void on_call(rpc_tag *tag, bool ok)
{
    corral_rpc *rpc = tag->owner;
    if (ok && grpc_slice_str_cmp(rpc->details.method, TALK) == 0)
        accept_stream(rpc, rpc->incoming);
    else if (ok)
        accept_question(rpc, rpc->incoming, rpc->details.method);
    grpc_metadata_array_destroy(&rpc->metadata);
    grpc_call_details_destroy(&rpc->details);
    if (ok) await_call(rpc); // else the server is shutting down
}

static void on_shut_down(rpc_tag *tag, bool ok)
{
    (void)ok;
    corral_rpc *rpc = tag->owner;
    pthread_mutex_lock(&rpc->mutex);
    rpc->server_is_down = true;
    pthread_cond_broadcast(&rpc->calm);
    pthread_mutex_unlock(&rpc->mutex);
}

static corral_status start_server(corral_rpc *rpc)
{
    const corral_address *address = rpc->config.listen;
    grpc_arg args[] = {
        corral_rpc_integer(GRPC_ARG_ALLOW_REUSEPORT, 0),
        corral_rpc_integer(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_LIMIT),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_TIME_MS, KEEPALIVE_MS),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KEEPALIVE_MS),
        corral_rpc_integer(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        corral_rpc_integer(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0),
        corral_rpc_integer(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000),
    };
    const grpc_channel_args list = {sizeof args / sizeof args[0], args};
    rpc->server = grpc_server_create(&list, NULL);
    grpc_server_register_completion_queue(rpc->server, rpc->queue, NULL);
    grpc_server_credentials *credentials = corral_rpc_server_credentials(rpc->config.tls);
    const int port = grpc_server_add_http2_port(rpc->server, address->bare, credentials);
    grpc_server_credentials_release(credentials);
    grpc_server_start(rpc->server);
    rpc->port = (uint16_t)port;
    if (port != 0) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_EXISTS,
                       "cannot listen at %s: the port is taken, or the address is not this host's; "
                       "name another with --listen (port 0 picks a free one)",
                       address->text);
}

// --- the thread
// -----------------------------------------------------------------------------------------------------------

// What the thread that started a batch had written is ours to read from here on. gRPC sees to that, too, but
// in a way that no tool for finding races can follow.
static void run_tag(corral_rpc *rpc, rpc_tag *tag, bool ok)
{
    pthread_mutex_lock(&rpc->mutex);
    pthread_mutex_unlock(&rpc->mutex);
    tag->run(tag, ok);
}

static void *run_queue(void *context)
{
    corral_rpc *rpc = context;
    int64_t next_tick = corral_now_ns();
    for (;;) {
        const int64_t wait = next_tick - corral_now_ns();
        const grpc_event event =
            grpc_completion_queue_next(rpc->queue, corral_rpc_in_ns(wait > 0 ? wait : 0), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) return NULL;
        if (event.type == GRPC_OP_COMPLETE) run_tag(rpc, event.tag, event.success != 0);
        // What just happened may have made something due: an event always asks again.
        next_tick = corral_now_ns() + rpc->config.tick(rpc->config.context);
    }
}

static corral_status start_thread(corral_rpc *rpc)
{
    return pthread_create(&rpc->thread, NULL, run_queue, rpc) == 0
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_NO_MEMORY, "cannot start a thread for gRPC");
}

// A server that could not listen: nothing has happened to it, but it wants to be shut down in order.
static void abandon_server(corral_rpc *rpc)
{
    grpc_server_shutdown_and_notify(rpc->server, rpc->queue, &rpc->shutdown_tag);
    grpc_completion_queue_next(rpc->queue, corral_rpc_in_ns(CORRAL_SECOND), NULL);
    grpc_server_destroy(rpc->server);
    rpc->server = NULL;
}

static void free_rpc(corral_rpc *rpc)
{
    grpc_completion_queue_shutdown(rpc->queue);
    while (grpc_completion_queue_next(rpc->queue, corral_rpc_in_ns(CORRAL_SECOND), NULL).type ==
           GRPC_OP_COMPLETE) {
    }
    grpc_completion_queue_destroy(rpc->queue);
    grpc_shutdown_blocking();
    pthread_cond_destroy(&rpc->calm);
    pthread_mutex_destroy(&rpc->mutex);
    free(rpc);
}

corral_status corral_rpc_start(const corral_rpc_config *config, corral_rpc **out_rpc)
{
    corral_rpc *rpc = calloc(1, sizeof *rpc);
    if (rpc == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for gRPC");
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    corral_rpc_init(config->listen != NULL && config->tls != NULL);
    rpc->config = *config;
    rpc->queue = grpc_completion_queue_create_for_next(NULL);
    rpc->incoming_tag = (rpc_tag){on_call, rpc};
    rpc->shutdown_tag = (rpc_tag){on_shut_down, rpc};
    pthread_mutex_init(&rpc->mutex, NULL);
    pthread_cond_init(&rpc->calm, NULL);
    corral_status status = config->listen != NULL ? start_server(rpc) : CORRAL_OK;
    if (status == CORRAL_OK && rpc->server != NULL) await_call(rpc);
    if (status == CORRAL_OK) status = start_thread(rpc);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != CORRAL_OK) {
        if (rpc->server != NULL) abandon_server(rpc);
        free_rpc(rpc);
        return status;
    }
    *out_rpc = rpc;
    return CORRAL_OK;
}

// With the rpc's mutex held: no stream leaves the list meanwhile.
static void close_streams(corral_rpc *rpc)
{
    for (corral_rpc_stream *stream = rpc->streams; stream != NULL; stream = stream->next)
        corral_rpc_close(stream, "the node ends");
}

void corral_rpc_stop(corral_rpc *rpc)
{
    if (rpc == NULL) return;
    // In this order: no new calls, no open ones, no server, no queue, no thread, no gRPC.
    if (rpc->server != NULL) grpc_server_shutdown_and_notify(rpc->server, rpc->queue, &rpc->shutdown_tag);
    pthread_mutex_lock(&rpc->mutex);
    close_streams(rpc);
    pthread_mutex_unlock(&rpc->mutex);
    if (rpc->server != NULL) grpc_server_cancel_all_calls(rpc->server);
    pthread_mutex_lock(&rpc->mutex);
    while (rpc->open_count > 0 || (rpc->server != NULL && !rpc->server_is_down))
        pthread_cond_wait(&rpc->calm, &rpc->mutex);
    pthread_mutex_unlock(&rpc->mutex);
    if (rpc->server != NULL) grpc_server_destroy(rpc->server);
    grpc_completion_queue_shutdown(rpc->queue);
    pthread_join(rpc->thread, NULL);
    grpc_completion_queue_destroy(rpc->queue);
    grpc_shutdown_blocking();
    pthread_cond_destroy(&rpc->calm);
    pthread_mutex_destroy(&rpc->mutex);
    free(rpc);
}

uint16_t corral_rpc_port(const corral_rpc *rpc)
{
    return rpc->port;
}
