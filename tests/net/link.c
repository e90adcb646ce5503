// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The reliable link, both ends in one process.
#include "test.h"

#include "link.h"

#include "corral/base/clock.h"

#include <poll.h>

typedef struct side {
    corral_mailbox *mailbox;
    corral_exchange *exchange;
    corral_link *link;
    uint64_t next;   // tag of the next message that shall come
    unsigned closed; // CLOSED mails
    unsigned released;
    unsigned wrong;
    char reason[256];
} side;

static void open_side(side *s, const corral_address *listen)
{
    *s = (side){0};
    TEST_OK(corral_mailbox_create(&s->mailbox));
    TEST_OK(corral_exchange_start(s->mailbox, listen, NULL, &s->exchange));
}

static void close_side(side *s)
{
    if (s->link != NULL) corral_link_close(s->link, "the test ends");
    corral_exchange_stop(s->exchange);
    corral_mailbox_destroy(s->mailbox);
}

static corral_address anywhere(void)
{
    corral_address address;
    TEST_OK(corral_address_parse("127.0.0.1:0", "test", &address));
    return address;
}

// A Lease carries the number; its chunk, when there is one, a pattern of it.
static void send_number(side *s, uint64_t number, size_t chunk_size)
{
    Corral__V1__Lease lease = CORRAL__V1__LEASE__INIT;
    lease.tag = number;
    const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_LEASE, &lease);
    corral_payload *payload = NULL;
    if (chunk_size > 0) {
        uint8_t *bytes = malloc(chunk_size);
        memset(bytes, (int)(number & 0xff), chunk_size);
        payload = corral_payload_create(bytes, chunk_size, NULL, NULL);
    }
    TEST_OK(corral_link_send(s->link, &envelope, payload, 0, chunk_size));
    if (payload != NULL) corral_payload_release(payload);
}

static void take_message(side *s, corral_mail *mail, bool answer)
{
    if (s->link == NULL) { // a stranger's first
        s->link = mail->link;
        corral_link_set_owner(s->link, s);
    }
    const uint64_t tag = mail->envelope->lease->tag;
    s->wrong += tag != s->next++;
    uint8_t *bytes = malloc(mail->chunk_size + 1);
    s->wrong += mail->chunk_size > 0 && !corral_rpc_message_read(mail->chunk, bytes, mail->chunk_size);
    for (size_t i = 0; i < mail->chunk_size; i += 97)
        s->wrong += bytes[i] != (uint8_t)(tag & 0xff);
    free(bytes);
    if (answer) send_number(s, tag, 0);
}

static void receive(side *s, bool answer, int wait_ms)
{
    struct pollfd wanted = {.fd = corral_mailbox_fd(s->mailbox), .events = POLLIN};
    poll(&wanted, 1, wait_ms);
    corral_mail *mail;
    while ((mail = corral_mailbox_take(s->mailbox)) != NULL) {
        if (mail->kind == CORRAL_MAIL_MESSAGE) take_message(s, mail, answer);
        if (mail->kind == CORRAL_MAIL_RELEASED) s->released++;
        if (mail->kind == CORRAL_MAIL_CLOSED) {
            s->closed++;
            snprintf(s->reason, sizeof s->reason, "%s", mail->text);
        }
        corral_mail_free(mail);
    }
}

// A server that echoes, a client that sends `count` numbers and gets all of them back, in order.
static void exchange_numbers(const char *faults_text, unsigned count, size_t chunk_size)
{
    side server, client;
    corral_address address = anywhere();
    corral_faults faults;
    TEST_OK(corral_faults_parse(faults_text, &faults));
    open_side(&server, &address);
    open_side(&client, NULL);
    corral_address_set_port(&address, corral_exchange_port(server.exchange));
    TEST_OK(corral_link_dial(client.exchange, &address, &faults, &client, &client.link));
    bool faulty_answers = false;
    for (unsigned i = 0; i < count; i++)
        send_number(&client, i, i == 0 ? 0 : chunk_size);
    const int64_t deadline = corral_now_ns() + 60 * CORRAL_SECOND;
    while (client.next < count && corral_now_ns() < deadline) {
        receive(&server, true, 1);
        if (server.link != NULL && !faulty_answers) {
            corral_link_set_faults(server.link, &faults);
            faulty_answers = true;
        }
        receive(&client, false, 1);
    }
    CU_ASSERT_EQUAL(server.next, count);
    CU_ASSERT_EQUAL(client.next, count);
    CU_ASSERT_EQUAL(server.wrong + client.wrong, 0);
    CU_ASSERT_EQUAL(server.closed + client.closed, 0);
    close_side(&client);
    close_side(&server);
}

static void numbers_come_back(void)
{
    exchange_numbers("", 2000, 0);
}

static void chunks_come_whole(void)
{
    exchange_numbers("", 20, CORRAL_WIRE_CHUNK_MAX);
    exchange_numbers("", 200, 1);
}

static void faults_change_nothing(void)
{
    exchange_numbers("lose=0.2,seed=1", 500, 100);
    exchange_numbers("duplicate=0.5,seed=2", 500, 100);
    exchange_numbers("delay=3ms:0.3,seed=3", 500, 100);
    exchange_numbers("lose=0.1,duplicate=0.1,delay=5ms:0.1,seed=4", 500, 3000);
    exchange_numbers("blackout=0s:300ms", 50, 0);
}

static void nobody_answers(void)
{
    side client;
    open_side(&client, NULL);
    corral_address address;
    TEST_OK(corral_address_parse("127.0.0.1:1", "test", &address));
    TEST_OK(corral_link_dial(client.exchange, &address, NULL, &client, &client.link));
    send_number(&client, 0, 0);
    const int64_t deadline = corral_now_ns() + 10 * CORRAL_SECOND;
    while (client.closed == 0 && corral_now_ns() < deadline)
        receive(&client, false, 10);
    CU_ASSERT_EQUAL(client.closed, 1);
    CU_ASSERT_TRUE(strlen(client.reason) > 0);
    close_side(&client);
}

static void last_words_arrive(void)
{
    for (int i = 0; i < 20; i++) {
        side server, client;
        corral_address address = anywhere();
        open_side(&server, &address);
        open_side(&client, NULL);
        corral_address_set_port(&address, corral_exchange_port(server.exchange));
        TEST_OK(corral_link_dial(client.exchange, &address, NULL, &client, &client.link));
        send_number(&client, 0, 0);
        const int64_t deadline = corral_now_ns() + 10 * CORRAL_SECOND;
        while (server.link == NULL && corral_now_ns() < deadline)
            receive(&server, false, 10);
        for (uint64_t number = 0; number < 10; number++)
            send_number(&server, number, 1000);
        corral_link_close(server.link, "enough");
        server.link = NULL;
        while (client.closed == 0 && corral_now_ns() < deadline)
            receive(&client, false, 10);
        CU_ASSERT_EQUAL(client.next, 10); // all of them, although the link was closed at once
        CU_ASSERT_STRING_EQUAL(client.reason, "enough");
        close_side(&client);
        close_side(&server);
    }
}

static void a_payload_is_told_when_it_is_free(void)
{
    side server, client;
    corral_address address = anywhere();
    open_side(&server, &address);
    open_side(&client, NULL);
    corral_address_set_port(&address, corral_exchange_port(server.exchange));
    TEST_OK(corral_link_dial(client.exchange, &address, NULL, &client, &client.link));
    send_number(&client, 0, 0);
    static uint8_t bytes[1000];
    memset(bytes, 1, sizeof bytes);
    corral_payload *payload = corral_payload_create(bytes, sizeof bytes, client.mailbox, &client);
    Corral__V1__Lease lease = CORRAL__V1__LEASE__INIT;
    lease.tag = 1;
    const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_LEASE, &lease);
    TEST_OK(corral_link_send(client.link, &envelope, payload, 0, sizeof bytes));
    corral_payload_release(payload);
    const int64_t deadline = corral_now_ns() + 10 * CORRAL_SECOND;
    receive(&client, false, 0);
    CU_ASSERT_EQUAL(client.released,
                    0); // nobody has answered the first message yet, so nothing more was sent
    while (client.released == 0 && corral_now_ns() < deadline) {
        receive(&server, true, 5);
        receive(&client, false, 5);
    }
    CU_ASSERT_EQUAL(client.released, 1);
    CU_ASSERT_EQUAL(server.wrong, 0);
    close_side(&client);
    close_side(&server);
}

// A link may be broken at any time; what was on its way is freed, which the sanitizers see.
static void stopping_in_the_middle(void)
{
    for (int i = 0; i < 20; i++) {
        side server, client;
        corral_address address = anywhere();
        open_side(&server, &address);
        open_side(&client, NULL);
        corral_address_set_port(&address, corral_exchange_port(server.exchange));
        TEST_OK(corral_link_dial(client.exchange, &address, NULL, &client, &client.link));
        for (unsigned k = 0; k < 100; k++)
            send_number(&client, k, k == 0 ? 0 : 10000);
        for (int k = 0; k < i; k++)
            receive(&server, true, 1);
        if (server.link != NULL) corral_link_close(server.link, "enough");
        server.link = NULL;
        close_side(i % 2 == 0 ? &client : &server);
        close_side(i % 2 == 0 ? &server : &client);
    }
}

static void a_taken_port_is_told(void)
{
    side first, second = {0};
    corral_address address = anywhere();
    open_side(&first, &address);
    corral_address_set_port(&address, corral_exchange_port(first.exchange));
    TEST_OK(corral_mailbox_create(&second.mailbox));
    TEST_FAILS(corral_exchange_start(second.mailbox, &address, NULL, &second.exchange), CORRAL_ERROR_EXISTS,
               address.text);
    corral_mailbox_destroy(second.mailbox);
    close_side(&first);
}

static void questions(void)
{
    side server;
    corral_address address = anywhere();
    open_side(&server, &address);
    corral_address_set_port(&address, corral_exchange_port(server.exchange));
    uint8_t *reply = NULL;
    size_t size = 0;
    // Nobody takes the server's mail: the deadline ends the wait.
    const int64_t begin = corral_now_ns();
    TEST_FAILS(corral_rpc_ask(&address, NULL, "/corral.v1.Node/Status", "", 0, 300 * CORRAL_MILLISECOND,
                              &reply, &size),
               CORRAL_ERROR_LOST, address.text);
    CU_ASSERT_TRUE(corral_now_ns() - begin < 5 * CORRAL_SECOND);
    close_side(&server);
}

int main(void)
{
    return test_run("net: link", (test_case[]){
                                     {"numbers come back", numbers_come_back},
                                     {"chunks come whole", chunks_come_whole},
                                     {"faults change nothing", faults_change_nothing},
                                     {"nobody answers", nobody_answers},
                                     {"last words arrive", last_words_arrive},
                                     {"a payload is told when it is free", a_payload_is_told_when_it_is_free},
                                     {"stopping in the middle", stopping_in_the_middle},
                                     {"a taken port is told", a_taken_port_is_told},
                                     {"questions", questions},
                                     {NULL, NULL},
                                 });
}
