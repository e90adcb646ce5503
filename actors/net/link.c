// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// How a link makes a stream reliable.
///
/// Each message gets the next number and is kept until it is acknowledged; what is not, is sent again after a
/// time that follows the measured round trip and doubles with each attempt. At most WINDOW messages are
/// unacknowledged; the rest wait. The receiver keeps what comes early in a ring of WINDOW places, drops what
/// it has had, and delivers in order. Everything that is sent carries the newest acknowledgement; where there
/// is nothing to send, an empty message does, and after a second of silence it is the heartbeat. Ten seconds
/// without a word are the end.
///
/// The gRPC stream below loses nothing by itself. But the fault injection, which decides here about each
/// transmission, does; and with it every test can show that what is built on top holds when messages are
/// lost, doubled and late.
///
/// Threads: the owner sends and closes; gRPC's thread receives, hears of completed writes, and ticks. The
/// send side is guarded by the link's mutex, the receive side belongs to gRPC's thread. Locks nest in the
/// order exchange, link, stream, mailbox.
#include "link.h"

#include "corral/base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_LIMIT  (10 * CORRAL_SECOND)
#define HEARTBEAT      CORRAL_SECOND
#define HELLO_LIMIT    (5 * CORRAL_SECOND)
#define FAREWELL_LIMIT CORRAL_SECOND
#define STOP_LIMIT     (500 * CORRAL_MILLISECOND)
#define RESEND_MIN     CORRAL_SECOND // gRPC loses nothing: a slow network must not get its chunks twice
#define RESEND_MAX     (4 * CORRAL_SECOND)
#define RESEND_FAULTY  (10 * CORRAL_MILLISECOND) // with faults, what is lost is lost often

enum { WINDOW = 64, STRANGER_MESSAGE_MAX = 8 << 10, STRANGERS_MAX = 64, DOUBLINGS_MAX = 6 };

struct corral_payload {
    atomic_uint references;
    void *bytes;
    size_t size;
    corral_mailbox *mailbox; // NULL: the bytes are freed
    void *owner;
};

// One numbered message, until it is acknowledged.
typedef struct link_parcel {
    struct link_parcel *next;
    uint64_t seq;
    bool wanted;  // shall be sent (again)
    bool delayed; // by injection, until not_before_ns
    unsigned attempts;
    int64_t sent_at_ns, not_before_ns;
    uint8_t *body;
    size_t body_size;
    corral_payload *payload;
    size_t offset, size; // of the chunk
} link_parcel;

struct corral_exchange {
    corral_rpc *rpc;
    corral_mailbox *mailbox;
    pthread_mutex_t mutex;
    corral_link *links; // until their stream is closed and their owner has closed them
    unsigned strangers;
    bool stopping;
};

struct corral_link {
    atomic_uint references; // the owner, the stream, mail
    corral_exchange *exchange;
    corral_link *previous, *next; // guarded by the exchange's mutex
    bool stream_closed, owner_closed, listed;
    void *owner; // the owner's thread only
    bool accepted;
    // gRPC's thread only
    corral_mail *ring[WINDOW];
    uint64_t next_in;
    // guarded by the mutex
    pthread_mutex_t mutex;
    corral_rpc_stream *stream;
    link_parcel *first, *last; // unacknowledged, by number
    const link_parcel *writing;
    uint64_t next_out, received;
    bool busy, broken, trusted, ack_due, closing;
    int64_t born_at_ns, heard_at_ns, written_at_ns, close_at_ns, round_trip_ns;
    corral_faults faults;
    corral_rng rng;
    char reason[256];
};

// --- payloads
// ---------------------------------------------------------------------------------------------------------

corral_payload *corral_payload_create(void *bytes, size_t size, corral_mailbox *mailbox, void *owner)
{
    corral_payload *payload = calloc(1, sizeof *payload);
    if (payload == NULL) {
        if (mailbox == NULL) free(bytes);
        return NULL;
    }
    atomic_init(&payload->references, 1);
    payload->bytes = bytes;
    payload->size = size;
    payload->mailbox = mailbox;
    payload->owner = owner;
    return payload;
}

void corral_payload_retain(corral_payload *payload)
{
    atomic_fetch_add_explicit(&payload->references, 1, memory_order_relaxed);
}

void corral_payload_release(corral_payload *payload)
{
    if (atomic_fetch_sub_explicit(&payload->references, 1, memory_order_acq_rel) != 1) return;
    if (payload->mailbox == NULL) {
        free(payload->bytes);
    } else {
        corral_mail *mail = calloc(1, sizeof *mail);
        CORRAL_ASSERT(mail != NULL); // a block that is never free again would stop its actor without a word
        mail->kind = CORRAL_MAIL_RELEASED;
        mail->owner = payload->owner;
        corral_mailbox_post(payload->mailbox, mail);
    }
    free(payload);
}

unsigned corral_payload_others(const corral_payload *payload)
{
    return atomic_load_explicit(&payload->references, memory_order_acquire) - 1;
}

static void release_piece(void *context)
{
    corral_payload_release(context);
}

// --- life
// ---------------------------------------------------------------------------------------------------------------

void corral_link_retain(corral_link *link)
{
    atomic_fetch_add_explicit(&link->references, 1, memory_order_relaxed);
}

static void free_parcel(link_parcel *parcel)
{
    if (parcel->payload != NULL) corral_payload_release(parcel->payload);
    free(parcel->body);
    free(parcel);
}

void corral_link_release(corral_link *link)
{
    if (atomic_fetch_sub_explicit(&link->references, 1, memory_order_acq_rel) != 1) return;
    while (link->first != NULL) {
        link_parcel *parcel = link->first;
        link->first = parcel->next;
        free_parcel(parcel);
    }
    for (int i = 0; i < WINDOW; i++)
        if (link->ring[i] != NULL) corral_mail_free(link->ring[i]);
    pthread_mutex_destroy(&link->mutex);
    free(link);
}

static corral_link *create_link(corral_exchange *exchange, const corral_faults *faults, void *owner)
{
    corral_link *link = calloc(1, sizeof *link);
    if (link == NULL) return NULL;
    atomic_init(&link->references, 2);
    pthread_mutex_init(&link->mutex, NULL);
    link->exchange = exchange;
    link->owner = owner;
    link->next_in = link->next_out = 1;
    link->born_at_ns = link->heard_at_ns = link->written_at_ns = corral_now_ns();
    link->round_trip_ns = CORRAL_MILLISECOND;
    if (faults != NULL) link->faults = *faults;
    corral_rng_seed(&link->rng, link->faults.seed);
    return link;
}

// With the exchange's mutex held.
static void list_link(corral_exchange *exchange, corral_link *link)
{
    link->listed = true;
    link->next = exchange->links;
    if (exchange->links != NULL) exchange->links->previous = link;
    exchange->links = link;
    exchange->strangers += link->accepted;
}

static void unlist_if_over(corral_link *link)
{
    corral_exchange *exchange = link->exchange;
    if (!link->stream_closed || !link->owner_closed || !link->listed) return;
    link->listed = false;
    if (link->previous != NULL)
        link->previous->next = link->next;
    else
        exchange->links = link->next;
    if (link->next != NULL) link->next->previous = link->previous;
}

// --- sending
// ------------------------------------------------------------------------------------------------------------

static bool write_parcel(corral_link *link, link_parcel *parcel)
{
    const uint32_t chunk_size = parcel != NULL ? (uint32_t)parcel->size : 0;
    const size_t body_size = parcel != NULL ? parcel->body_size : 0;
    const corral_wire_prefix prefix = {
        .chunk_size = chunk_size, .seq = parcel != NULL ? parcel->seq : 0, .ack = link->received};
    uint8_t small[1024];
    const size_t room = CORRAL_WIRE_PREFIX + body_size + CORRAL_WIRE_CHUNK_HEAD_MAX;
    uint8_t *head = room <= sizeof small ? small : malloc(room);
    if (head == NULL) return false;
    corral_wire_prefix_write(&prefix, head);
    if (body_size > 0) memcpy(head + CORRAL_WIRE_PREFIX, parcel->body, body_size);
    const size_t size = CORRAL_WIRE_PREFIX + body_size +
                        corral_wire_chunk_head(chunk_size, head + CORRAL_WIRE_PREFIX + body_size);
    corral_rpc_piece piece = {0};
    if (chunk_size > 0) {
        corral_payload_retain(parcel->payload);
        piece = (corral_rpc_piece){(const uint8_t *)parcel->payload->bytes + parcel->offset, chunk_size,
                                   release_piece, parcel->payload};
    }
    const bool written = corral_rpc_write(link->stream, head, size, chunk_size > 0 ? &piece : NULL);
    if (head != small) free(head);
    return written;
}

static link_parcel *pick(const corral_link *link, int64_t now)
{
    if (link->first == NULL) return NULL;
    // Whoever dials says Hello, and no more before that was answered: a stranger's messages are short and
    // few.
    const bool greeted = link->accepted || link->received > 0;
    const uint64_t end = greeted ? link->first->seq + WINDOW : 2;
    for (link_parcel *parcel = link->first; parcel != NULL && parcel->seq < end; parcel = parcel->next)
        if (parcel->wanted && now >= parcel->not_before_ns) return parcel;
    return NULL;
}

// What injection makes of this transmission; true when it shall really be written now.
static bool survives(corral_link *link, link_parcel *parcel, int64_t now)
{
    const corral_fate fate = corral_faults_draw(&link->faults, &link->rng, now - link->born_at_ns);
    if (parcel == NULL) return !fate.lost;
    if (fate.delay_ns > 0 && !parcel->delayed) {
        parcel->delayed = true;
        parcel->not_before_ns = now + fate.delay_ns;
        return false;
    }
    parcel->delayed = false;
    parcel->wanted = fate.twice;
    parcel->attempts++;
    parcel->sent_at_ns = now;
    return !fate.lost;
}

// Writes what is due, if the stream takes it. With the mutex held.
static void pump(corral_link *link)
{
    const int64_t now = corral_now_ns();
    while (!link->busy && !link->broken) {
        link_parcel *parcel = pick(link, now);
        if (parcel == NULL && !link->ack_due) return;
        link->ack_due = false;
        if (!survives(link, parcel, now)) continue;
        link->written_at_ns = now;
        link->writing = parcel;
        link->busy = write_parcel(link, parcel);
        if (!link->busy) return; // closing: the end is on its way
    }
}

static int64_t resend_after(const corral_link *link, const link_parcel *parcel)
{
    int64_t wait = 4 * link->round_trip_ns;
    const int64_t least = link->faults.active ? RESEND_FAULTY : RESEND_MIN;
    if (wait < least) wait = least;
    const unsigned doublings = parcel->attempts > 0 ? parcel->attempts - 1 : 0;
    wait <<= doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX;
    return wait < RESEND_MAX ? wait : RESEND_MAX;
}

corral_status corral_link_send(corral_link *link, const corral_envelope *envelope, corral_payload *payload,
                               size_t offset, size_t size)
{
    CORRAL_ASSERT(size <= CORRAL_WIRE_CHUNK_MAX && (size == 0 || payload != NULL));
    link_parcel *parcel = calloc(1, sizeof *parcel);
    if (parcel == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a message");
    const corral_status status = corral_wire_pack(envelope, &parcel->body, &parcel->body_size);
    if (status != CORRAL_OK) {
        free(parcel);
        return status;
    }
    parcel->wanted = true;
    if (size > 0) {
        corral_payload_retain(payload);
        parcel->payload = payload;
        parcel->offset = offset;
        parcel->size = size;
    }
    pthread_mutex_lock(&link->mutex);
    const bool drop = link->broken || link->closing;
    if (!drop) {
        parcel->seq = link->next_out++;
        if (link->first == NULL)
            link->first = parcel;
        else
            link->last->next = parcel;
        link->last = parcel;
        pump(link);
    }
    pthread_mutex_unlock(&link->mutex);
    if (drop) free_parcel(parcel);
    return CORRAL_OK;
}

// --- receiving: gRPC's thread
// ---------------------------------------------------------------------------------------------

// What a parcel's acknowledgement says about the round trip. Nothing where it was sent twice, since nobody
// knows which attempt came through; and nothing where several come at once: they waited for one that had been
// lost.
static void learn_round_trip(corral_link *link, const link_parcel *done, int64_t now)
{
    if (done == NULL || done->next != NULL || done->attempts != 1) return;
    link->round_trip_ns += (now - done->sent_at_ns - link->round_trip_ns) / 8;
}

// With the mutex held. Returns what may be freed without it.
static link_parcel *take_ack(corral_link *link, uint64_t ack)
{
    link_parcel *done = NULL;
    while (link->first != NULL && link->first->seq <= ack && ack < link->next_out) {
        link_parcel *parcel = link->first;
        link->first = parcel->next;
        if (link->writing == parcel) link->writing = NULL;
        parcel->next = done;
        done = parcel;
    }
    learn_round_trip(link, done, corral_now_ns());
    return done;
}

static void break_link(corral_link *link, const char *reason)
{
    pthread_mutex_lock(&link->mutex);
    if (link->reason[0] == '\0') snprintf(link->reason, sizeof link->reason, "%s", reason);
    if (link->stream != NULL) corral_rpc_close(link->stream, reason);
    pthread_mutex_unlock(&link->mutex);
}

// Envelope and chunk of a numbered message; NULL when it is malformed.
static corral_mail *open_message(corral_link *link, corral_rpc_message *message,
                                 const corral_wire_prefix *prefix)
{
    uint8_t head[CORRAL_WIRE_CHUNK_HEAD_MAX];
    const size_t tail = corral_wire_chunk_head(prefix->chunk_size, head) + prefix->chunk_size;
    const size_t size = corral_rpc_message_size(message);
    uint8_t *body = size >= tail && size - tail <= CORRAL_WIRE_BODY_MAX ? malloc(size - tail + 1) : NULL;
    corral_mail *mail = calloc(1, sizeof *mail);
    uint8_t found[CORRAL_WIRE_CHUNK_HEAD_MAX];
    const bool good = body != NULL && mail != NULL && corral_rpc_message_read(message, body, size - tail) &&
                      corral_rpc_message_read(message, found, tail - prefix->chunk_size) &&
                      memcmp(found, head, tail - prefix->chunk_size) == 0 &&
                      corral_wire_unpack(body, size - tail, &mail->envelope) == CORRAL_OK;
    free(body);
    if (!good) {
        free(mail);
        return NULL;
    }
    mail->kind = CORRAL_MAIL_MESSAGE;
    mail->link = link;
    mail->chunk_size = prefix->chunk_size;
    return mail;
}

static void deliver(corral_link *link)
{
    corral_mail **place;
    while (*(place = &link->ring[link->next_in % WINDOW]) != NULL) {
        corral_mail *mail = *place;
        *place = NULL;
        link->next_in++;
        mail->link = link; // counted by the mailbox from here on
        corral_mailbox_post(link->exchange->mailbox, mail);
    }
}

// Takes over the message.
static void take_numbered(corral_link *link, corral_rpc_message *message, const corral_wire_prefix *prefix)
{
    corral_mail **place = &link->ring[prefix->seq % WINDOW];
    const bool wanted =
        prefix->seq >= link->next_in && prefix->seq - link->next_in < WINDOW && *place == NULL;
    corral_mail *mail = wanted ? open_message(link, message, prefix) : NULL;
    if (mail == NULL) {
        corral_rpc_message_free(message);
        if (wanted) break_link(link, "it sent a message that is not of this protocol");
        return;
    }
    if (prefix->chunk_size > 0)
        mail->chunk = message;
    else
        corral_rpc_message_free(message);
    mail->link = NULL; // not counted while it waits in the ring
    *place = mail;
    deliver(link);
}

static void on_received(void *context, corral_rpc_message *message)
{
    corral_link *link = context;
    uint8_t bytes[CORRAL_WIRE_PREFIX];
    corral_wire_prefix prefix;
    pthread_mutex_lock(&link->mutex);
    const bool strange = link->accepted && !link->trusted;
    pthread_mutex_unlock(&link->mutex);
    if ((strange && corral_rpc_message_size(message) > STRANGER_MESSAGE_MAX) ||
        !corral_rpc_message_read(message, bytes, sizeof bytes) ||
        corral_wire_prefix_read(bytes, &prefix) != CORRAL_OK) {
        corral_rpc_message_free(message);
        break_link(link, "it sent a message that is not of this protocol");
        return;
    }
    if (prefix.seq > 0)
        take_numbered(link, message, &prefix);
    else
        corral_rpc_message_free(message);
    pthread_mutex_lock(&link->mutex);
    link->heard_at_ns = corral_now_ns();
    link->received = link->next_in - 1;
    if (prefix.seq > 0) link->ack_due = true;
    link_parcel *done = take_ack(link, prefix.ack);
    pump(link);
    pthread_mutex_unlock(&link->mutex);
    while (done != NULL) {
        link_parcel *parcel = done;
        done = parcel->next;
        free_parcel(parcel);
    }
}

static void on_written(void *context)
{
    corral_link *link = context;
    pthread_mutex_lock(&link->mutex);
    link->busy = false;
    link->writing = NULL;
    pump(link);
    pthread_mutex_unlock(&link->mutex);
}

static void on_closed(void *context, const char *reason)
{
    corral_link *link = context;
    corral_mail *mail = calloc(1, sizeof *mail);
    CORRAL_ASSERT(mail != NULL); // the owner must hear of it
    mail->kind = CORRAL_MAIL_CLOSED;
    mail->link = link;
    pthread_mutex_lock(&link->mutex);
    corral_rpc_stream *stream = link->stream;
    link->stream = NULL;
    link->broken = true;
    snprintf(mail->text, sizeof mail->text, "%s", link->reason[0] != '\0' ? link->reason : reason);
    link_parcel *left = link->first;
    link->first = link->last = NULL;
    link->writing = NULL;
    pthread_mutex_unlock(&link->mutex);
    while (left != NULL) {
        link_parcel *parcel = left;
        left = parcel->next;
        free_parcel(parcel);
    }
    corral_mailbox_post(link->exchange->mailbox, mail);
    pthread_mutex_lock(&link->exchange->mutex);
    link->stream_closed = true;
    unlist_if_over(link);
    pthread_mutex_unlock(&link->exchange->mutex);
    corral_rpc_release(stream);
    corral_link_release(link);
}

static const corral_rpc_events link_events = {on_received, on_written, on_closed};

static void *on_accepted(void *context, corral_rpc_stream *stream, const corral_rpc_events **out_events)
{
    corral_exchange *exchange = context;
    corral_link *link = create_link(exchange, NULL, NULL);
    if (link == NULL) return NULL;
    link->accepted = true;
    link->stream = stream;
    pthread_mutex_lock(&exchange->mutex);
    const bool crowd = exchange->strangers >= STRANGERS_MAX;
    if (!crowd) list_link(exchange, link);
    pthread_mutex_unlock(&exchange->mutex);
    if (crowd) {
        corral_link_release(link);
        corral_link_release(link);
        return NULL;
    }
    *out_events = &link_events;
    return link;
}

static void on_asked(void *context, corral_rpc_question *question)
{
    corral_exchange *exchange = context;
    corral_mail *mail = calloc(1, sizeof *mail);
    if (mail == NULL) {
        corral_rpc_answer(question, NULL, 0);
        return;
    }
    mail->kind = CORRAL_MAIL_QUESTION;
    mail->question = question;
    pthread_mutex_lock(&exchange->mutex);
    const bool late = exchange->stopping;
    if (!late) corral_mailbox_post(exchange->mailbox, mail);
    pthread_mutex_unlock(&exchange->mutex);
    if (late) corral_mail_free(mail); // answers that there is nothing
}

// --- time
// -----------------------------------------------------------------------------------------------------------------

// With the mutex held: why the link has to end now, NULL when it has not.
static const char *overdue(const corral_link *link, int64_t now)
{
    if (now - link->heard_at_ns > SILENCE_LIMIT) return "no word for 10 s";
    if (link->accepted && !link->trusted && now - link->born_at_ns > HELLO_LIMIT)
        return "no Hello within 5 s";
    if (link->closing && (link->first == NULL || now >= link->close_at_ns)) return "closed";
    return NULL;
}

// Returns how soon it shall be called again.
static int64_t tick_link(corral_link *link, int64_t now)
{
    pthread_mutex_lock(&link->mutex);
    bool restless = link->closing || link->first != NULL;
    const char *end = link->broken ? NULL : overdue(link, now);
    if (end != NULL && link->stream != NULL) {
        if (link->reason[0] == '\0') snprintf(link->reason, sizeof link->reason, "%s", end);
        corral_rpc_close(link->stream, link->reason);
    }
    unsigned place = 0;
    for (link_parcel *parcel = link->first; parcel != NULL && place < WINDOW; parcel = parcel->next, place++)
        if (!parcel->wanted && parcel != link->writing &&
            now - parcel->sent_at_ns > resend_after(link, parcel))
            parcel->wanted = true;
    if (now - link->written_at_ns > HEARTBEAT) link->ack_due = true;
    if (link->stream != NULL) pump(link);
    const bool faulty = link->faults.active;
    restless = restless && !link->broken;
    pthread_mutex_unlock(&link->mutex);
    return !restless ? 250 * CORRAL_MILLISECOND : faulty ? 2 * CORRAL_MILLISECOND : 20 * CORRAL_MILLISECOND;
}

static int64_t on_tick(void *context)
{
    corral_exchange *exchange = context;
    const int64_t now = corral_now_ns();
    int64_t soonest = CORRAL_SECOND;
    pthread_mutex_lock(&exchange->mutex);
    for (corral_link *link = exchange->links; link != NULL; link = link->next) {
        const int64_t wait = tick_link(link, now);
        if (wait < soonest) soonest = wait;
    }
    pthread_mutex_unlock(&exchange->mutex);
    return soonest;
}

// --- the owner
// ------------------------------------------------------------------------------------------------------------

corral_status corral_exchange_start(corral_mailbox *mailbox, const corral_address *listen,
                                    const corral_tls *tls, corral_exchange **out_exchange)
{
    corral_exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for gRPC");
    exchange->mailbox = mailbox;
    pthread_mutex_init(&exchange->mutex, NULL);
    const corral_rpc_config config = {
        .listen = listen,
        .tls = tls,
        .accepted = on_accepted,
        .asked = on_asked,
        .tick = on_tick,
        .context = exchange,
    };
    const corral_status status = corral_rpc_start(&config, &exchange->rpc);
    if (status != CORRAL_OK) {
        pthread_mutex_destroy(&exchange->mutex);
        free(exchange);
        return status;
    }
    *out_exchange = exchange;
    return CORRAL_OK;
}

static bool has_farewells(corral_exchange *exchange)
{
    bool found = false;
    pthread_mutex_lock(&exchange->mutex);
    for (const corral_link *link = exchange->links; link != NULL; link = link->next)
        if (link->owner_closed) found = true; // its last words are still on their way
    pthread_mutex_unlock(&exchange->mutex);
    return found;
}

void corral_exchange_stop(corral_exchange *exchange)
{
    if (exchange == NULL) return;
    const int64_t deadline = corral_now_ns() + STOP_LIMIT;
    while (has_farewells(exchange) && corral_now_ns() < deadline)
        corral_sleep_ns(CORRAL_MILLISECOND);
    // gRPC waits for its open calls, and nobody will answer these any more.
    pthread_mutex_lock(&exchange->mutex);
    exchange->stopping = true;
    pthread_mutex_unlock(&exchange->mutex);
    corral_mailbox_drop_questions(exchange->mailbox);
    corral_rpc_stop(exchange->rpc);
    while (exchange->links != NULL)
        corral_link_close(exchange->links, "");
    pthread_mutex_destroy(&exchange->mutex);
    free(exchange);
}

uint16_t corral_exchange_port(const corral_exchange *exchange)
{
    return corral_rpc_port(exchange->rpc);
}

corral_status corral_link_dial(corral_exchange *exchange, const corral_address *address,
                               const corral_faults *faults, void *owner, corral_link **out_link)
{
    corral_link *link = create_link(exchange, faults, owner);
    if (link == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a connection");
    pthread_mutex_lock(&exchange->mutex);
    list_link(exchange, link);
    pthread_mutex_unlock(&exchange->mutex);
    // The stream's thread may call back before its address is stored: it waits for the mutex.
    pthread_mutex_lock(&link->mutex);
    const corral_status status = corral_rpc_open(exchange->rpc, address, &link_events, link, &link->stream);
    link->broken = status != CORRAL_OK;
    pthread_mutex_unlock(&link->mutex);
    if (status != CORRAL_OK) {
        pthread_mutex_lock(&exchange->mutex);
        link->stream_closed = true;
        pthread_mutex_unlock(&exchange->mutex);
        corral_link_release(link); // for the stream that never was
        corral_link_close(link, "");
        return status;
    }
    *out_link = link;
    return CORRAL_OK;
}

void corral_link_trust(corral_link *link)
{
    pthread_mutex_lock(&link->mutex);
    const bool was_strange = link->accepted && !link->trusted;
    link->trusted = true;
    pthread_mutex_unlock(&link->mutex);
    if (!was_strange) return;
    pthread_mutex_lock(&link->exchange->mutex);
    link->exchange->strangers--;
    pthread_mutex_unlock(&link->exchange->mutex);
}

void corral_link_set_owner(corral_link *link, void *owner)
{
    link->owner = owner;
    corral_link_trust(link);
}

void *corral_link_owner(const corral_link *link)
{
    return link->owner;
}

void corral_link_set_faults(corral_link *link, const corral_faults *faults)
{
    pthread_mutex_lock(&link->mutex);
    link->faults = *faults;
    corral_rng_seed(&link->rng, faults->seed);
    pthread_mutex_unlock(&link->mutex);
}

void corral_link_close(corral_link *link, const char *reason)
{
    corral_exchange *exchange = link->exchange;
    pthread_mutex_lock(&link->mutex);
    link->closing = true;
    link->close_at_ns = corral_now_ns() + FAREWELL_LIMIT;
    if (link->reason[0] == '\0') snprintf(link->reason, sizeof link->reason, "%s", reason);
    if (link->first == NULL && link->stream != NULL) corral_rpc_close(link->stream, link->reason);
    const bool was_strange = link->accepted && !link->trusted;
    pthread_mutex_unlock(&link->mutex);
    pthread_mutex_lock(&exchange->mutex);
    if (was_strange) exchange->strangers--;
    link->owner_closed = true;
    unlist_if_over(link);
    pthread_mutex_unlock(&exchange->mutex);
    corral_link_release(link);
}

bool corral_link_is_closed(const corral_link *link)
{
    return link->owner_closed; // written by the owner, who asks
}
