// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A worker: takes what it shall run from its hub, one thing after the other, and says what came out.
///
///     a task        run, DONE, the next one
///     an actor      create(), DONE; from then on its calls, by as many threads as it asked for
///
/// A call is told of before the next one begins: the hub reads from that what may have begun when we die.
#include "client_private.h"

#include "corral/base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKER_SOCKET_FD = 3, WORKER_THREADS_MAX = 256 };

#define ADMIT_TIMEOUT (30 * CORRAL_SECOND)

static const char worker_variable[] = "CORRAL_RUNTIME_WORKER";

typedef struct worker {
    corral_client *client;
    corral_status library_status; // why there is no library
    char library_text[512];
    const corral_class *class; // of the actor that lives here
    void *self;
    bool created;
    unsigned concurrency;
    pthread_t threads[WORKER_THREADS_MAX];
    unsigned thread_count;
    uint64_t gpus;
} worker;

// --- what comes --------------------------------------------------------------------------------------------

// References are counted when they come, since what comes later may let them go.
static void use_references(corral_client *client, const client_run *run)
{
    for (size_t i = 0; i < run->spec.head.argument_count; i++) {
        const spec_argument argument = spec_argument_at(&run->spec, i);
        if (argument.kind != CORRAL_ARGUMENT_REFERENCE) continue;
        corral_ref *ref = client_ref_find(client, argument.ref);
        if (ref == NULL && client_ref_create(client, argument.ref, &ref) != CORRAL_OK) continue;
        ref->uses++;
    }
}

void worker_take_run(corral_client *client, const corral_message *message, const uint8_t *tail)
{
    client_run *run = calloc(1, sizeof *run);
    uint8_t *bytes = client_aligned(message->tail_size);
    if (run == NULL || bytes == NULL) {
        free(run);
        free(bytes);
        client->stopping = true; // our end is what tells the hub
        return;
    }
    memcpy(bytes, tail, message->tail_size);
    run->bytes = bytes;
    run->id = message->tag;
    run->gpus = message->generation;
    run->attempt = (uint32_t)message->version;
    run->lends = message->code != 0;
    if (!client->worker || spec_read(bytes, message->tail_size, &run->spec) != CORRAL_OK) {
        free(bytes);
        free(run);
        client->stopping = true;
        return;
    }
    use_references(client, run);
    if (client->run_last != NULL)
        client->run_last->next = run;
    else
        client->run_first = run;
    client->run_last = run;
}

void worker_cancel(corral_client *client, uint64_t id)
{
    client_run *const lists[] = {client->run_first, client->running};
    for (size_t i = 0; i < 2; i++)
        for (client_run *run = lists[i]; run != NULL; run = run->next)
            if (run->id == id) atomic_store(&run->cancelled, true);
}

// --- a call's arguments ------------------------------------------------------------------------------------

static corral_status begin_call(corral_client *client, client_run *run, corral_call *out_call)
{
    const size_t count = run->spec.head.argument_count;
    *out_call = (corral_call){.client = client,
                              .id = run->id,
                              .attempt = run->attempt,
                              .cancelled = &run->cancelled,
                              .count = count};
    out_call->values = calloc(count + 1, sizeof *out_call->values);
    out_call->references = calloc(count + 1, sizeof(corral_ref *));
    if (out_call->values == NULL || out_call->references == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a call");
    size_t offset = run->spec.payload;
    for (size_t i = 0; i < count; i++) {
        const spec_argument argument = spec_argument_at(&run->spec, i);
        if (argument.kind == CORRAL_ARGUMENT_BYTES) {
            out_call->values[i] = (corral_bytes){spec_next_bytes(&run->spec, i, &offset), argument.size};
            continue;
        }
        corral_ref *ref = client_ref_find(client, argument.ref);
        if (ref == NULL) return corral_fail(CORRAL_ERROR_LOST, "argument %zu did not come", i);
        if (argument.kind == CORRAL_ARGUMENT_REFERENCE)
            out_call->references[i] = ref;
        else if (ref->state != REF_VALUE)
            return corral_fail(CORRAL_ERROR_LOST, "argument %zu cannot be read here: %s", i,
                               ref->text != NULL ? ref->text : "it has no value");
        else
            out_call->values[i] = (corral_bytes){ref->data, ref->size};
    }
    return CORRAL_OK;
}

static void end_call(corral_client *client, const client_run *run, corral_call *call)
{
    for (size_t i = 0; i < run->spec.head.argument_count; i++) {
        const spec_argument argument = spec_argument_at(&run->spec, i);
        corral_ref *ref =
            argument.kind != CORRAL_ARGUMENT_BYTES ? client_ref_find(client, argument.ref) : NULL;
        if (ref != NULL && ref->uses > 0) client_ref_unuse(ref);
    }
    free(call->values);
    free(call->references);
}

// --- running -----------------------------------------------------------------------------------------------

static void show_gpus(worker *w, uint64_t gpus)
{
    if (w->client->pool.total[RESOURCE_GPUS] == 0) return; // not ours to decide
    char text[4 * RESOURCE_GPUS_MAX] = "";
    size_t used = 0;
    for (unsigned i = 0; i < RESOURCE_GPUS_MAX; i++)
        if ((gpus >> i & 1) != 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used > 0 ? "," : "", i);
    setenv("CUDA_VISIBLE_DEVICES", text, 1);
}

static corral_status run_spec(worker *w, client_run *run, corral_call *call)
{
    const spec *s = &run->spec;
    if (atomic_load(&run->cancelled))
        return corral_fail(CORRAL_ERROR_CANCELLED, "%s \"%s\" was cancelled before it began",
                           s->head.kind == SPEC_CALL ? "call" : "task", s->name);
    if (w->library_status != CORRAL_OK) return corral_fail(w->library_status, "%s", w->library_text);
    if (s->head.kind == SPEC_CALL) {
        if (!w->created) return corral_fail(CORRAL_ERROR_LOST, "no actor lives here");
        return call_run_method(call, w->class, w->self, s->name);
    }
    show_gpus(w, run->gpus);
    if (s->head.kind == SPEC_TASK) return call_run_function(call, w->client->library, s->name);
    w->class = library_class(w->client->library, s->name);
    const corral_status status = call_run_create(call, w->class, s->name, &w->self);
    w->created = status == CORRAL_OK;
    w->concurrency = s->head.concurrency;
    return status;
}

// With the lock held.
static void tell_done(corral_client *client, const client_run *run, corral_call *call, corral_status status,
                      const char *sentence)
{
    corral_message done = {.kind = CORRAL_MESSAGE_DONE, .tag = run->id, .code = status};
    const void *tail = sentence;
    if (status != CORRAL_OK) {
        done.tail_size = (uint32_t)strlen(sentence);
    } else if (call->result_segment != NULL) {
        done.generation = client_segment_id(call->result_segment);
        done.offset = call->result_offset;
        done.length = call->result_size;
    } else {
        tail = call->result;
        done.tail_size = (uint32_t)call->result_size;
    }
    const corral_status sent = client_send(client, &done, tail, -1);
    (void)sent; // without a hub we are about to end
    if (call->result_segment == NULL) free(call->result);
}

static void unlink_running(corral_client *client, const client_run *run)
{
    for (client_run **link = &client->running; *link != NULL; link = &(*link)->next)
        if (*link == run) {
            *link = run->next;
            return;
        }
}

static void run_one(worker *w, client_run *run)
{
    corral_client *client = w->client;
    corral_call call;
    corral_status status = begin_call(client, run, &call);
    client->lends = run->lends && w->concurrency <= 1;
    pthread_mutex_unlock(&client->lock);
    if (status == CORRAL_OK) status = run_spec(w, run, &call);
    char sentence[1024] = "";
    if (status != CORRAL_OK) snprintf(sentence, sizeof sentence, "%s", corral_last_error());
    if (status != CORRAL_OK) call_discard_result(&call);
    pthread_mutex_lock(&client->lock);
    client->lends = false;
    end_call(client, run, &call); // says what is kept before it says that the call is over
    unlink_running(client, run);
    tell_done(client, run, &call, status, sentence);
    free(run->bytes);
    free(run);
}

static bool has_work(void *context)
{
    const corral_client *client = context;
    return client->run_first != NULL || client->stopping;
}

static void serve(worker *w);

static void *serve_thread(void *context)
{
    worker *w = context;
    pthread_mutex_lock(&w->client->lock);
    serve(w);
    pthread_mutex_unlock(&w->client->lock);
    return NULL;
}

static void start_threads(worker *w)
{
    while (w->created && w->thread_count + 1 < w->concurrency && w->thread_count < WORKER_THREADS_MAX) {
        if (pthread_create(&w->threads[w->thread_count], NULL, serve_thread, w) != 0)
            return; // fewer do as well
        w->thread_count++;
    }
}

// With the lock held.
static void serve(worker *w)
{
    corral_client *client = w->client;
    while (!client->stopping) {
        if (client_wait(client, has_work, client, -1) != CORRAL_OK) return;
        client_poll(client); // a call that waits here may have been cancelled
        client_run *run = client->run_first;
        if (run == NULL || client->stopping) continue;
        client->run_first = run->next;
        if (client->run_first == NULL) client->run_last = NULL;
        const bool is_spawn = run->spec.head.kind == SPEC_SPAWN;
        run->next = client->running;
        client->running = run;
        run_one(w, run);
        if (is_spawn) start_threads(w);
    }
}

// --- the process -------------------------------------------------------------------------------------------

bool corral_is_worker(void)
{
    return getenv(worker_variable) != NULL;
}

static bool is_admitted(void *context)
{
    return ((const corral_client *)context)->number != 0;
}

static void open_library(worker *w, const corral_library *library)
{
    corral_client *client = w->client;
    client->library = library;
    if (library != NULL) return;
    w->library_status = corral_library_open(client->library_path, &client->library);
    if (w->library_status != CORRAL_OK)
        snprintf(w->library_text, sizeof w->library_text, "%s", corral_last_error());
}

static void end_worker(worker *w)
{
    for (unsigned i = 0; i < w->thread_count; i++)
        pthread_join(w->threads[i], NULL);
    if (w->created && w->class->destroy != NULL) w->class->destroy(w->self);
    client_free(w->client);
}

int corral_worker_main(const corral_library *library)
{
    static worker w;           // large, and there is one per process
    unsetenv(worker_variable); // not for programs that a task starts
    if (client_create(&w.client) != CORRAL_OK) return EXIT_FAILURE;
    corral_client *client = w.client;
    client->socket = WORKER_SOCKET_FD;
    client->worker = true;
    client->store.timeout_ns = corral_client_config_default().store_timeout_ns;
    pthread_mutex_lock(&client->lock);
    const corral_status status = client_wait(client, is_admitted, client, corral_now_ns() + ADMIT_TIMEOUT);
    if (status == CORRAL_OK) {
        open_library(&w, library);
        serve(&w);
    }
    pthread_mutex_unlock(&client->lock);
    end_worker(&w);
    return status == CORRAL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
