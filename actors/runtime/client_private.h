// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the runtime: a client's state. `lock` guards all of it.
///
/// There is no thread in the background. Whoever waits for something reads the socket; when several threads
/// wait, one of them reads for all (it leads), and hands on when it has what it wanted. So a call costs no
/// thread's waking, and a process that does not call us is not disturbed.
#ifndef CORRAL_RUNTIME_CLIENT_PRIVATE_H
#define CORRAL_RUNTIME_CLIENT_PRIVATE_H

#include "id_map.h"
#include "resources.h"
#include "spec.h"

#include "corral/actors/actor_call.h"
#include "corral/actors/client.h"
#include "corral/actors/message.h"
#include "corral/actors/segment.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum ref_state { REF_PENDING, REF_VALUE, REF_ERROR } ref_state;

/// Another process's segment, mapped for reading; or one of our own.
typedef struct client_segment client_segment;

struct corral_ref {
    corral_client *client;
    uint64_t id;
    uint32_t handles; // of the process: corral_retain(), corral_release()
    uint32_t uses;    // by calls that run here, as arguments
    bool held;        // the hub counts us among the holders
    bool asked;       // its value will come without being asked for
    bool is_actor;
    ref_state state;
    corral_status status; // ERROR
    char *text;           // ERROR: the sentence
    const void *data;
    size_t size;
    void *owned;                   // where data is ours
    struct corral_ref *actor;      // of a call: whose; its `pending` counts it
    uint32_t pending, max_pending; // of an actor
    struct local_actor *local;     // of an actor in a local client
};

/// Memory for large objects that this process writes: see client_store.c.
typedef struct client_store {
    client_segment *own, *mapped;
    size_t limit; // of the node
    int64_t timeout_ns;
} client_store;

/// Something that was asked and is answered by one message.
typedef struct client_question {
    struct client_question *next;
    uint64_t tag;
    bool answered;
    corral_message answer;
    char text[1024];
} client_question;

typedef struct client_run { // a worker's: what it shall run
    struct client_run *next;
    uint64_t id, gpus;
    uint32_t attempt;
    bool lends; // its CPUs may be lent while it waits
    spec spec;
    uint8_t *bytes; // 64-byte aligned
    atomic_bool cancelled;
} client_run;

struct corral_client {
    bool local, worker, stopping;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool leading;     // somebody reads the socket
    unsigned waiting; // threads that wait for a leader's news
    int socket;
    uint32_t number;
    uint64_t last_id, last_question;
    id_map refs;
    uint64_t *dropped; // ids to tell of; [DROPS_MAX]
    size_t drop_count;
    int64_t dropped_at_ns; // when they were told of last
    client_question *questions;
    client_store store;
    resource_pool pool;
    const corral_library *library;
    char *library_path; // as ADMITTED said; a worker's
    char *failure;      // the hub is gone; NULL: it is not
    uint8_t *buffer;    // the leader's
    uint8_t *send_buffer;
    client_run *run_first, *run_last; // to be run
    client_run *running;              // being run, any order
    bool lends, blocked, resumed;     // of a worker that runs one thing at a time
    void (*on_close)(void *context);  // what net has opened with it
    void *close_context;
    id_map local_actors; // names are searched
};

enum { CLIENT_DROPS_MAX = 256 };

/// The seen side of a call, on the stack of whoever runs it.
struct corral_call {
    corral_client *client;
    uint64_t id;
    uint32_t attempt;
    size_t count;
    corral_bytes *values;    // [count]
    corral_ref **references; // [count], of REFERENCE arguments
    atomic_bool *cancelled;  // NULL: nobody can ask
    void *result;            // owned, or in the store
    size_t result_size;
    client_segment *result_segment; // NULL: owned
    uint64_t result_offset;
    bool here; // in the driver itself: the result is its own
};

// client.c
CORRAL_MUST_USE corral_status client_create(corral_client **out_client);
void client_free(corral_client *client);
/// With the lock held: until `condition` is true. CORRAL_ERROR_TIMEOUT; CORRAL_ERROR_LOST when the hub is
/// gone.
CORRAL_MUST_USE corral_status client_wait(corral_client *client, bool (*condition)(void *context),
                                          void *context, int64_t deadline_ns);
/// With the lock held: takes what has come, without waiting.
void client_poll(corral_client *client);
/// With the lock held.
CORRAL_MUST_USE corral_status client_send(corral_client *client, const corral_message *message,
                                          const void *tail, int fd);
CORRAL_MUST_USE corral_status client_ask(corral_client *client, corral_message *message, const void *tail,
                                         client_question *question);
void client_flush_drops(corral_client *client);
int64_t client_deadline(int64_t timeout_ns); // -1: never
void *client_aligned(size_t size);           // 64-byte aligned, at least one byte; free()

// client_ref.c: the table of references. With the lock held.
CORRAL_MUST_USE corral_status client_ref_create(corral_client *client, uint64_t id, corral_ref **out_ref);
corral_ref *client_ref_find(const corral_client *client, uint64_t id);
uint64_t client_new_id(corral_client *client);
void client_ref_take_value(corral_client *client, const corral_message *message, const uint8_t *tail, int fd);
void client_ref_set_error(corral_ref *ref, corral_status status, const char *text, size_t size);
void client_ref_resolved(corral_ref *ref);
void client_ref_unuse(corral_ref *ref);
void client_ref_free_if_unused(corral_ref *ref);

// client_store.c: with the lock held
CORRAL_MUST_USE corral_status client_store_allocate(corral_client *client, size_t size,
                                                    client_segment **out_segment, uint64_t *out_offset,
                                                    void **out_data);
void client_store_freed(corral_client *client, uint64_t segment, uint64_t offset, size_t size);
void client_store_trim(corral_client *client, size_t keep);
void client_store_unmap(corral_client *client, uint64_t segment);
CORRAL_MUST_USE corral_status client_store_locate(corral_client *client, uint64_t segment, int fd,
                                                  uint64_t offset, size_t size, const void **out_data);
uint64_t client_segment_id(const client_segment *segment);
void client_store_finish(corral_client *client);

// client_local.c
CORRAL_MUST_USE corral_status local_submit(corral_client *client, const spec *s,
                                           const corral_argument *arguments, corral_ref *result);
CORRAL_MUST_USE corral_status local_find(corral_client *client, const char *name, corral_ref **out_actor);
void local_actor_end(corral_ref *actor, const char *why);

// library.c
corral_function *library_function(const corral_library *library, const char *name);
const corral_class *library_class(const corral_library *library, const char *name);
corral_method *library_method(const corral_class *class, const char *name);

// call.c: running a function, and saying how it failed
corral_status call_run_function(corral_call *call, const corral_library *library, const char *name);
corral_status call_run_create(corral_call *call, const corral_class *class, const char *name,
                              void **out_self);
corral_status call_run_method(corral_call *call, const corral_class *class, void *self, const char *name);
void call_discard_result(corral_call *call);

// worker.c
void worker_take_run(corral_client *client, const corral_message *message, const uint8_t *tail);
void worker_cancel(corral_client *client, uint64_t id);

#endif
