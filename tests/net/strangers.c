// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What a node does with those who do not belong to it, and with what comes too late. The other side is
/// written by hand.
#include "rig.h"

#include "link.h"
#include "runtime.h"

#include <poll.h>

typedef struct stranger {
    corral_mailbox *mailbox;
    corral_exchange *exchange;
    corral_link *link;
    corral_runtime_entry entry; // of the head
    pid_t head;
    corral_mail *mail; // the newest
} stranger;

static void begin(stranger *s)
{
    char address[64];
    corral_address parsed;
    rig_begin();
    *s = (stranger){.head = rig_head("2", "", address)};
    TEST_OK(corral_address_parse(address, "test", &parsed));
    TEST_OK(corral_runtime_find(parsed.port, &s->entry));
    TEST_OK(corral_mailbox_create(&s->mailbox));
    TEST_OK(corral_exchange_start(s->mailbox, NULL, NULL, &s->exchange));
}

static void dial(stranger *s)
{
    corral_address address;
    TEST_OK(corral_address_parse(s->entry.address, "test", &address));
    TEST_OK(corral_link_dial(s->exchange, &address, NULL, s, &s->link));
}

static void hang_up(stranger *s)
{
    if (s->mail != NULL) corral_mail_free(s->mail);
    s->mail = NULL;
    corral_link_close(s->link, "the test ends");
    s->link = NULL;
}

static void end(stranger *s)
{
    corral_exchange_stop(s->exchange);
    corral_mailbox_destroy(s->mailbox);
    rig_stop(s->head);
    rig_end();
}

static void say(stranger *s, Corral__V1__Envelope__BodyCase body_case, void *body)
{
    const corral_envelope envelope = corral_envelope_of(body_case, body);
    TEST_OK(corral_link_send(s->link, &envelope, NULL, 0, 0));
}

// The next mail; the case ends when none comes.
static const corral_mail *listen_for(stranger *s, double seconds)
{
    const int64_t deadline = corral_now_ns() + (int64_t)(seconds * 1e9);
    if (s->mail != NULL) corral_mail_free(s->mail);
    while ((s->mail = corral_mailbox_take(s->mailbox)) == NULL && corral_now_ns() < deadline) {
        struct pollfd wanted = {.fd = corral_mailbox_fd(s->mailbox), .events = POLLIN};
        poll(&wanted, 1, 10);
    }
    return s->mail;
}

static Corral__V1__Hello hello_of(stranger *s, Corral__V1__Purpose purpose)
{
    Corral__V1__Hello hello = CORRAL__V1__HELLO__INIT;
    hello.protocol = CORRAL_WIRE_PROTOCOL;
    hello.purpose = purpose;
    hello.token = s->entry.token;
    return hello;
}

static void refused(stranger *s, Corral__V1__Hello *hello, corral_status status, const char *text)
{
    dial(s);
    say(s, CORRAL__V1__ENVELOPE__BODY_HELLO, hello);
    const corral_mail *mail = listen_for(s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->kind, CORRAL_MAIL_MESSAGE);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_REFUSED);
    CU_ASSERT_EQUAL(mail->envelope->refused->status, (uint32_t)status);
    CU_ASSERT_PTR_NOT_NULL(strstr(mail->envelope->refused->text, text));
    mail = listen_for(s, 10); // and the node hangs up
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL(mail->kind, CORRAL_MAIL_CLOSED);
    hang_up(s);
}

static void a_bad_hello_is_refused(void)
{
    stranger s;
    begin(&s);
    Corral__V1__Hello hello = hello_of(&s, CORRAL__V1__PURPOSE__JOB);
    char wrong[] = "0123456789abcdef0123456789abcdef", foreign[] = "another";
    hello.token = wrong;
    refused(&s, &hello, CORRAL_ERROR_REFUSED, "CORRAL_TOKEN");
    hello = hello_of(&s, CORRAL__V1__PURPOSE__JOB);
    hello.protocol++;
    refused(&s, &hello, CORRAL_ERROR_VERSION, "protocol");
    hello = hello_of(&s, CORRAL__V1__PURPOSE__WORK);
    hello.cluster = foreign;
    refused(&s, &hello, CORRAL_ERROR_STALE, "another cluster");
    hello = hello_of(&s, CORRAL__V1__PURPOSE__NOTHING);
    refused(&s, &hello, CORRAL_ERROR_INVALID, "Hello");
    hello = hello_of(&s, CORRAL__V1__PURPOSE__MEMBER); // without saying what it is
    refused(&s, &hello, CORRAL_ERROR_INVALID, "node");
    end(&s);
}

static void who_does_not_say_hello_is_refused(void)
{
    stranger s;
    begin(&s);
    dial(&s);
    Corral__V1__Halt halt = CORRAL__V1__HALT__INIT;
    say(&s, CORRAL__V1__ENVELOPE__BODY_HALT, &halt);
    const corral_mail *mail = listen_for(&s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->kind, CORRAL_MAIL_MESSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(mail->envelope->refused->text, "does not begin with Hello"));
    hang_up(&s);

    dial(&s); // a first message that is longer than any Hello
    Corral__V1__Group group = CORRAL__V1__GROUP__INIT;
    uint8_t junk[20000] = {0};
    group.config.data = junk;
    group.config.len = sizeof junk;
    say(&s, CORRAL__V1__ENVELOPE__BODY_GROUP, &group);
    mail = listen_for(&s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL(mail->kind, CORRAL_MAIL_CLOSED);
    CU_ASSERT_PTR_NOT_NULL(strstr(mail->text, "not of this protocol"));
    hang_up(&s);
    end(&s);
}

// A group by hand; returns the incarnation of its actor.
static uint64_t start_actor(stranger *s)
{
    dial(s);
    Corral__V1__Hello hello = hello_of(s, CORRAL__V1__PURPOSE__JOB);
    say(s, CORRAL__V1__ENVELOPE__BODY_HELLO, &hello);
    const corral_mail *mail = listen_for(s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_WELCOME);
    char name[] = "fill";
    Corral__V1__Group group = CORRAL__V1__GROUP__INIT;
    group.group = 1;
    group.class_name = name;
    group.count = 1;
    group.block_bytes = 4096;
    group.blocks_per_actor = 1;
    group.relayed = 1;
    say(s, CORRAL__V1__ENVELOPE__BODY_GROUP, &group);
    uint32_t zero = 0;
    Corral__V1__Start start = CORRAL__V1__START__INIT;
    start.group = 1;
    start.n_actors = 1;
    start.actors = &zero;
    say(s, CORRAL__V1__ENVELOPE__BODY_START, &start);
    mail = listen_for(s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_READY);
    return mail->envelope->ready->incarnation;
}

static void lease(stranger *s, uint64_t incarnation, uint64_t tag)
{
    test_request request = {.seed = tag, .length = 10};
    Corral__V1__Lease message = CORRAL__V1__LEASE__INIT;
    message.group = 1;
    message.incarnation = incarnation;
    message.tag = tag;
    message.request.data = (uint8_t *)&request;
    message.request.len = sizeof request;
    say(s, CORRAL__V1__ENVELOPE__BODY_LEASE, &message);
}

static void what_is_for_the_dead_is_dropped(void)
{
    stranger s;
    begin(&s);
    const uint64_t incarnation = start_actor(&s);
    lease(&s, incarnation - 1, 1);
    lease(&s, incarnation + 1, 2);
    lease(&s, incarnation, 3);
    const corral_mail *mail = listen_for(&s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_FRAGMENT);
    CU_ASSERT_EQUAL(mail->envelope->fragment->tag, 3);
    Corral__V1__Kill kill = CORRAL__V1__KILL__INIT;
    kill.group = 1;
    kill.incarnation = incarnation - 1;
    say(&s, CORRAL__V1__ENVELOPE__BODY_KILL, &kill); // not this one
    lease(&s, incarnation, 4);
    mail = listen_for(&s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_FRAGMENT);
    kill.incarnation = incarnation;
    say(&s, CORRAL__V1__ENVELOPE__BODY_KILL, &kill);
    mail = listen_for(&s, 10);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_EQUAL_FATAL(mail->envelope->body_case, CORRAL__V1__ENVELOPE__BODY_GONE);
    CU_ASSERT_EQUAL(mail->envelope->gone->incarnation, incarnation);
    hang_up(&s);
    end(&s);
}

// Numbers that nobody means: the session ends, the node does not.
static void nonsense_does_not_hurt_the_node(void)
{
    stranger s;
    begin(&s);
    start_actor(&s);
    Corral__V1__Lease far = CORRAL__V1__LEASE__INIT;
    far.group = 77;
    far.actor = UINT32_MAX;
    say(&s, CORRAL__V1__ENVELOPE__BODY_LEASE, &far);
    Corral__V1__Weights weights = CORRAL__V1__WEIGHTS__INIT;
    weights.group = 1;
    weights.size = UINT64_MAX;
    weights.offset = UINT64_MAX - 5;
    say(&s, CORRAL__V1__ENVELOPE__BODY_WEIGHTS, &weights);
    Corral__V1__ActorState state = CORRAL__V1__ACTOR_STATE__INIT;
    state.state = 99;
    say(&s, CORRAL__V1__ENVELOPE__BODY_ACTOR_STATE, &state);
    char name[] = "x";
    Corral__V1__Group group = CORRAL__V1__GROUP__INIT;
    group.group = 2;
    group.class_name = name;
    group.count = UINT32_MAX;
    group.block_bytes = UINT64_MAX;
    group.relayed = 1;
    say(&s, CORRAL__V1__ENVELOPE__BODY_GROUP, &group);
    const corral_mail *mail = NULL;
    do
        mail = listen_for(&s, 10);
    while (mail != NULL && mail->kind != CORRAL_MAIL_CLOSED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mail);
    CU_ASSERT_PTR_NOT_NULL(strstr(mail->text, "makes no sense"));
    hang_up(&s);
    char *json = NULL;
    TEST_OK(corral_cluster_status(s.entry.address, NULL, &json));
    free(json);
    CU_ASSERT_TRUE(rig_processes_become(2, 5)); // the head and its spawner: the actor of that session is gone
    end(&s);
}

static void unary_calls(void)
{
    stranger s;
    begin(&s);
    corral_address address;
    TEST_OK(corral_address_parse(s.entry.address, "test", &address));
    uint8_t *reply = NULL;
    size_t size = 0;
    TEST_OK(corral_rpc_ask(&address, NULL, "/grpc.health.v1.Health/Check", "", 0, 5 * CORRAL_SECOND, &reply,
                           &size));
    CU_ASSERT_TRUE(size == 2 && reply[0] == 0x08 && reply[1] == 0x01); // SERVING
    free(reply);
    const int64_t begin_ns = corral_now_ns();
    TEST_FAILS(
        corral_rpc_ask(&address, NULL, "/corral.v1.Node/Nothing", "", 0, 5 * CORRAL_SECOND, &reply, &size),
        CORRAL_ERROR_LOST, "no such method");
    CU_ASSERT_TRUE(corral_now_ns() - begin_ns < 4 * CORRAL_SECOND); // at once, not at the deadline
    end(&s);
}

int main(void)
{
    return test_run("net: strangers",
                    (test_case[]){
                        {"a bad Hello is refused", a_bad_hello_is_refused},
                        {"who does not say Hello is refused", who_does_not_say_hello_is_refused},
                        {"what is for the dead is dropped", what_is_for_the_dead_is_dropped},
                        {"nonsense does not hurt the node", nonsense_does_not_hurt_the_node},
                        {"unary calls", unary_calls},
                        {NULL, NULL},
                    });
}
