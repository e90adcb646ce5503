// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the runtime: the hub's state, all of it owned by the thread that calls corral_hub_turn().
///
///     job -> clients: its driver, and its workers
///     object: a value, or the promise of one; who holds it, who waits for it
///     task -> the object that it will make; with a queue by what it demands (shape), or its actor's queue
///     actor -> its worker, the calls that wait and those that run
///     segment: shared memory of one client, with the objects in it
///
/// Messages, beyond what message.h says (`tag` is an object's id unless said otherwise):
///
///     JOIN       tail: program 0 library 0 (one of them may be empty)
///     ADMITTED   tag: the client's number; length: the store's size; tail: resource_pool, then the library 0
///     SUBMIT     tail: a spec. The result's id is chosen by the submitter: its number << 40 | a counter
///     RUN        tail: the spec; version: attempt; generation: GPUs; code: 1 if its CPUs count while it
///     waits VALUE      code: status; version: 1 = for an argument of the next RUN. The value is the tail,
///     or, where
///                generation is not 0, `length` bytes at `offset` of that segment (its descriptor comes along
///                once). Where code is not 0 the tail is the sentence
///     DONE, PUT  as VALUE
///     WANT, DROP tail: ids
///     RESERVE    tag: of the request; length. RESERVED the same; code: a status (tail: why); generation:
///     segment FREED      generation, offset, length CANCEL     code: 1 = by force. KILL: code: 1 = it may
///     restart FIND       tag: of the request; tail: a name. FOUND: tag; code (tail: why); offset: the
///     actor's id
#ifndef CORRAL_RUNTIME_HUB_PRIVATE_H
#define CORRAL_RUNTIME_HUB_PRIVATE_H

#include "id_map.h"
#include "resources.h"
#include "spec.h"

#include "corral/actors/hub.h"
#include "corral/actors/message.h"

enum {
    HUB_ID_SHIFT = 40,      // an id is its maker's number and a counter
    HUB_WINDOW = 64,        // calls that an actor's process may have before it
    HUB_TEXT_SIZE = 1024,   // of a sentence
    HUB_TURN_MESSAGES = 64, // of one client before others have their turn
};

typedef struct hub_client hub_client;
typedef struct hub_job hub_job;
typedef struct hub_worker hub_worker;
typedef struct hub_object hub_object;
typedef struct hub_task hub_task;
typedef struct hub_actor hub_actor;
typedef struct hub_segment hub_segment;
typedef struct hub_shape hub_shape;

typedef struct hub_list { // of anything, in no order
    void **things;
    size_t count, capacity;
} hub_list;

struct hub_job {
    hub_job *next;
    uint64_t id;
    char *program, *library; // "" where there is none
    hub_client *driver;      // NULL: gone
    int64_t driver_pid;
    size_t workers, tasks; // that refer to it
};

/// What could not be sent yet.
typedef struct hub_out {
    struct hub_out *next;
    corral_message message;
    hub_object *object; // pinned; its bytes are the tail
    uint8_t *tail;      // or these, owned
    int fd;             // -1; owned
} hub_out;

struct hub_client {
    hub_client *next;
    uint32_t number;
    int socket;
    bool ended;       // freed at the end of this turn
    const char *doom; // why it will be ended then; NULL: it will not
    bool waiting;     // for room in its socket
    hub_job *job;     // NULL: a driver that has not said JOIN
    hub_worker *worker;
    int64_t pid;
    hub_out *out_first, *out_last;
    hub_list mapped;    // segments whose descriptor it has
    size_t store_bytes; // of its segments
    hub_segment *segments;
};

typedef enum hub_object_state { HUB_PENDING, HUB_INLINE, HUB_SHARED, HUB_ERROR } hub_object_state;

struct hub_object {
    corral_hub *hub;
    uint64_t id;
    hub_object_state state;
    corral_status status;
    uint8_t *bytes; // INLINE; ERROR: the sentence
    size_t size;
    hub_segment *segment; // SHARED
    uint64_t offset;
    uint32_t pins;    // arguments of tasks, messages on their way
    hub_list holders; // clients
    hub_list wanting; // clients
    hub_list waiting; // tasks that it is an argument of
    hub_task *task;   // PENDING: what makes it
    hub_actor *actor; // the reference of an actor
    char made_by[CORRAL_NAME_MAX + 16];
};

typedef enum hub_task_state {
    TASK_WAITING, // for arguments
    TASK_READY,   // in its shape's or its actor's queue
    TASK_RUNNING,
} hub_task_state;

struct hub_task {
    hub_task *next; // in a queue
    uint64_t id, sequence;
    hub_task_state state;
    hub_object *result;
    hub_job *job;
    hub_client *owner; // NULL: gone
    uint8_t *bytes;    // packed
    size_t size;
    spec spec;
    uint32_t missing; // arguments
    uint32_t retries_left, attempt;
    bool cancelled, forced;
    hub_shape *shape; // not of calls
    int64_t ready_at_ns;
    hub_worker *worker; // RUNNING
    hub_actor *actor;   // CALL, SPAWN
};

typedef struct hub_queue {
    hub_task *first, *last;
    size_t count;
} hub_queue;

/// Tasks that demand the same.
struct hub_shape {
    hub_shape *next;
    resource_demand demand;
    hub_queue ready;
    size_t tasks; // that refer to it
};

struct hub_worker {
    hub_worker *next;
    hub_job *job;
    hub_client *client;
    pid_t pid;
    hub_task *task;   // a task, or an actor's creation
    hub_actor *actor; // that lives in it
    resource_grant grant;
    bool has_grant, blocked, resuming, ending;
    bool counted;       // among the hub's task_workers
    int64_t kill_at_ns; // ending: when patience ends; 0: never
    int64_t started_ns;
    char doom[320]; // why it was killed, where that is not its own doing; ""
};

/// Calls of one client, in order.
typedef struct hub_caller {
    struct hub_caller *next;
    uint32_t number;
    hub_queue queue;
} hub_caller;

typedef enum hub_actor_state {
    ACTOR_WAITING,
    ACTOR_STARTING,
    ACTOR_ALIVE,
    ACTOR_RESTARTING,
    ACTOR_DEAD
} hub_actor_state;

struct hub_actor {
    uint64_t id;
    hub_actor_state state;
    hub_object *reference;
    hub_job *job;
    hub_task *creation; // kept for restarts
    hub_worker *worker;
    uint32_t restarts_left, restarts, crashes_in_row;
    int64_t restart_at_ns; // RESTARTING
    bool killed;           // it shall not come back
    bool detached;         // pinned by the hub
    hub_caller *callers;
    size_t waiting;
    hub_queue running;       // sent to its process, in order
    char why[HUB_TEXT_SIZE]; // DEAD
    char name[CORRAL_NAME_MAX + 1], class_name[CORRAL_NAME_MAX + 1];
};

struct hub_segment {
    hub_segment *next; // of its writer's
    uint64_t id;
    hub_client *writer; // NULL: gone
    int fd;             // read-only; -1: reserved
    size_t size;
    size_t objects;
};

typedef struct hub_reserve {
    struct hub_reserve *next;
    hub_client *client;
    uint64_t tag;
    size_t size;
    int64_t until_ns;
} hub_reserve;

struct corral_hub {
    corral_spawner *spawner;
    char *worker_program;
    int epoll;
    resource_pool pool;
    id_map objects, actors, segments;
    hub_client *clients;
    hub_job *jobs;
    hub_worker *workers;
    hub_shape *shapes;
    size_t task_workers; // that run a task and are not blocked
    size_t restarting;   // actors
    size_t store_limit, store_used;
    hub_reserve *reserves;
    uint32_t last_client;
    uint64_t last_job, last_segment, last_sequence;
    bool dispatching;     // something may be ready
    uint64_t tasks_ended; // for the report
    uint8_t *buffer;      // [CORRAL_MESSAGE_TAIL_MAX]
};

// hub.c
CORRAL_MUST_USE corral_status hub_list_add(hub_list *list, void *thing);
bool hub_list_has(const hub_list *list, const void *thing);
bool hub_list_remove(hub_list *list, const void *thing);
void hub_queue_push(hub_queue *queue, hub_task *task);
void hub_queue_push_front(hub_queue *queue, hub_task *task);
hub_task *hub_queue_pop(hub_queue *queue);
bool hub_queue_remove(hub_queue *queue, const hub_task *task);

// hub_client.c: who speaks
void hub_client_admit(corral_hub *hub, hub_client *client);
CORRAL_MUST_USE corral_status hub_client_open(corral_hub *hub, int socket, hub_client **out_client);
void hub_client_receive(corral_hub *hub, hub_client *client, size_t limit);
void hub_client_end(corral_hub *hub, hub_client *client, const char *reason);
void hub_client_free(corral_hub *hub, hub_client *client);
/// Sends or queues; never waits. `tail` is copied when it is queued.
void hub_client_send(corral_hub *hub, hub_client *client, const corral_message *message, const void *tail);
void hub_client_send_value(corral_hub *hub, hub_client *client, hub_object *object, bool argument);
void hub_client_flush(corral_hub *hub, hub_client *client);

// hub_object.c: values and who needs them
CORRAL_MUST_USE corral_status hub_object_create(corral_hub *hub, uint64_t id, const char *made_by,
                                                hub_object **out_object);
hub_object *hub_object_find(const corral_hub *hub, uint64_t id);
/// The value that a DONE or PUT of `client` carries; an error where it makes no sense.
void hub_object_resolve(corral_hub *hub, hub_object *object, hub_client *client,
                        const corral_message *message, const void *tail);
void hub_object_fail(corral_hub *hub, hub_object *object, corral_status status, const char *sentence);
void hub_object_pin(hub_object *object);
void hub_object_unpin(corral_hub *hub, hub_object *object);
void hub_object_drop(corral_hub *hub, hub_object *object, hub_client *holder);
void hub_object_free_if_unused(corral_hub *hub, hub_object *object);

// hub_store.c: shared memory
void hub_store_reserve(corral_hub *hub, hub_client *client, const corral_message *message);
CORRAL_MUST_USE corral_status hub_store_segment(corral_hub *hub, hub_client *client, uint64_t id, int fd);
void hub_store_unsegment(corral_hub *hub, hub_client *client, uint64_t id);
void hub_store_freed(corral_hub *hub, hub_segment *segment, uint64_t offset, size_t size);
void hub_store_writer_gone(corral_hub *hub, hub_client *client);
void hub_store_turn(corral_hub *hub, int64_t now_ns);
int64_t hub_store_next_wake(const corral_hub *hub);

// hub_task.c: from submit to done
CORRAL_MUST_USE corral_status hub_task_submit(corral_hub *hub, hub_client *client,
                                              const corral_message *message, const uint8_t *tail);
void hub_task_argument_ready(corral_hub *hub, hub_task *task);
void hub_task_ready(corral_hub *hub, hub_task *task); // all its arguments are there
void hub_task_fail(corral_hub *hub, hub_task *task, corral_status status,
                   const char *sentence); // and free it
void hub_task_free(corral_hub *hub, hub_task *task);
void hub_task_cancel(corral_hub *hub, hub_task *task, bool force);
void hub_task_send(corral_hub *hub, hub_task *task, hub_worker *worker);
void hub_task_requeue(corral_hub *hub, hub_task *task); // READY again, at the end of its shape's queue
void hub_task_done(corral_hub *hub, hub_client *client, const corral_message *message, const uint8_t *tail);
/// Takes a task out of whatever queue it is in.
void hub_task_withdraw(corral_hub *hub, hub_task *task);

// hub_dispatch.c: who runs what, when
void hub_dispatch(corral_hub *hub);

// hub_actor.c
CORRAL_MUST_USE corral_status hub_actor_create(corral_hub *hub, hub_task *creation);
void hub_actor_dispatch(corral_hub *hub, hub_actor *actor); // sends what can be sent
void hub_actor_enqueue(corral_hub *hub, hub_task *call);
void hub_actor_created(corral_hub *hub, hub_actor *actor, const corral_message *message, const uint8_t *tail);
bool hub_actor_call_done(corral_hub *hub, hub_actor *actor, uint64_t id, const corral_message *message,
                         const uint8_t *tail);
void hub_actor_started(hub_actor *actor, hub_worker *worker);
void hub_actor_process_gone(corral_hub *hub, hub_actor *actor, const char *how);
/// Its creation cannot be run at all.
void hub_actor_creation_failed(corral_hub *hub, hub_actor *actor, corral_status status, const char *why);
void hub_actor_kill(corral_hub *hub, hub_actor *actor, bool may_restart);
void hub_actor_unreferenced(corral_hub *hub, hub_actor *actor);
bool hub_actor_withdraw(hub_actor *actor, hub_task *call);
hub_actor *hub_actor_named(const corral_hub *hub, const char *name);
void hub_actors_turn(corral_hub *hub, int64_t now_ns);
int64_t hub_actors_next_wake(const corral_hub *hub);

// hub_worker.c: processes
CORRAL_MUST_USE corral_status hub_worker_for(corral_hub *hub, hub_job *job, hub_worker **out_worker);
void hub_worker_idle(corral_hub *hub, hub_worker *worker); // has nothing to do: stays, or is stopped
void hub_worker_kill(corral_hub *hub, hub_worker *worker);
void hub_worker_stop(corral_hub *hub, hub_worker *worker);
void hub_worker_blocked(corral_hub *hub, hub_worker *worker);
void hub_worker_unblocked(corral_hub *hub, hub_worker *worker);
void hub_worker_count(corral_hub *hub, hub_worker *worker, bool counts); // among task_workers, or not
void hub_worker_take_back(corral_hub *hub, hub_worker *worker);          // its grant
void hub_workers_turn(corral_hub *hub, int64_t now_ns);
int64_t hub_workers_next_wake(const corral_hub *hub);
void hub_job_end(corral_hub *hub, hub_job *job);
void hub_job_free_if_over(corral_hub *hub, hub_job *job);

#endif
