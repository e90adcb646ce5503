// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A hub and drivers that have lost their minds: messages in any order, with any numbers, some damaged, some
/// twice. Whatever comes, the hub goes on for a driver that behaves, and the sanitizers find nothing.
#include "../../actors/runtime/spec.h"

#include "corral/actors/hub.h"
#include "corral/actors/message.h"
#include "corral/actors/segment.h"
#include "corral/base/rng.h"
#include "test.h"

#include <sys/socket.h>
#include <unistd.h>

enum { DRIVERS = 3, ROUNDS = 40, MESSAGES = 400, ID_SHIFT = 40 };

typedef struct stranger {
    int socket; // -1: the hub has had enough of it
    uint32_t number;
    uint64_t last_id;
} stranger;

static corral_spawner *spawner;

static void join(corral_hub *hub, stranger *s)
{
    int sockets[2];
    // A program that cannot be started: what would run fails.
    static const char tail[] = "/nowhere\0";
    const corral_message message = {.kind = CORRAL_MESSAGE_JOIN, .tail_size = sizeof tail};
    TEST_OK(corral_message_pair(sockets));
    TEST_OK(corral_hub_add_driver(hub, sockets[1]));
    TEST_OK(corral_message_send(sockets[0], &message, tail, NULL, 0, 0));
    *s = (stranger){.socket = sockets[0]};
    corral_hub_turn(hub);
    static uint8_t buffer[CORRAL_MESSAGE_TAIL_MAX];
    corral_message answer;
    TEST_OK(corral_message_receive(s->socket, &answer, buffer, sizeof buffer, NULL, 0));
    CU_ASSERT_EQUAL_FATAL(answer.kind, CORRAL_MESSAGE_ADMITTED);
    s->number = (uint32_t)answer.tag;
}

// Reads what the hub says, or does not bother; sees when it has been shown the door.
static void listen_a_little(corral_rng *rng, stranger *s)
{
    static uint8_t buffer[CORRAL_MESSAGE_TAIL_MAX];
    corral_message message;
    corral_status status = CORRAL_OK;
    while (s->socket >= 0 && status == CORRAL_OK && corral_rng_integer(rng, 4) != 0)
        status = corral_message_receive(s->socket, &message, buffer, sizeof buffer, NULL, 0);
    if (status == CORRAL_OK || status == CORRAL_ERROR_EMPTY) return;
    close(s->socket);
    s->socket = -1;
}

// Mostly of those that are there.
static uint64_t some_id(corral_rng *rng, const stranger *all)
{
    const stranger *s = &all[corral_rng_integer(rng, DRIVERS)];
    if (corral_rng_integer(rng, 20) == 0) return corral_rng_u64(rng);
    return (uint64_t)s->number << ID_SHIFT | corral_rng_integer(rng, s->last_id + 2);
}

static size_t some_spec(corral_rng *rng, const stranger *all, uint8_t *bytes)
{
    static const uint8_t data[40] = {0};
    static const char *const names[] = {"a", "counter", "some.method"};
    spec s = {.name = names[corral_rng_integer(rng, 3)],
              .label = corral_rng_integer(rng, 4) == 0 ? "name" : ""};
    s.head.kind = 1 + (uint32_t)corral_rng_integer(rng, 3);
    s.head.cpus = (double)corral_rng_integer(rng, 3);
    s.head.actor = some_id(rng, all);
    s.head.detached = corral_rng_integer(rng, 4) == 0;
    s.head.concurrency = (uint32_t)corral_rng_integer(rng, 3);
    s.head.retries = (uint32_t)corral_rng_integer(rng, 3);
    s.head.name_size = (uint32_t)strlen(s.name);
    s.head.label_size = (uint32_t)strlen(s.label);
    corral_argument arguments[3];
    for (int i = 0; i < 3; i++)
        arguments[i] = corral_argument_bytes(data, sizeof data);
    s.head.argument_count = 3;
    const size_t size = spec_size(&s, arguments);
    spec_pack(&s, arguments, bytes);
    // References instead of bytes: only the table changes, and the bytes that follow are too many, or just
    // right.
    if (corral_rng_integer(rng, 2) == 0) {
        s.head.argument_count = 1;
        spec_pack(&s, arguments, bytes);
        const spec_argument argument = {.kind = 1 + (uint32_t)corral_rng_integer(rng, 2),
                                        .ref = some_id(rng, all)};
        const size_t at = sizeof(spec_head) + s.head.name_size + 1 + s.head.label_size + 1;
        memcpy(bytes + at, &argument, sizeof argument);
        return at + sizeof argument;
    }
    return size;
}

static void say_something(corral_rng *rng, stranger *all, stranger *s)
{
    static uint8_t tail[4096];
    static const uint32_t kinds[] = {
        CORRAL_MESSAGE_SUBMIT,    CORRAL_MESSAGE_SUBMIT,  CORRAL_MESSAGE_SUBMIT,  CORRAL_MESSAGE_PUT,
        CORRAL_MESSAGE_WANT,      CORRAL_MESSAGE_DROP,    CORRAL_MESSAGE_HOLD,    CORRAL_MESSAGE_RESERVE,
        CORRAL_MESSAGE_UNSEGMENT, CORRAL_MESSAGE_CANCEL,  CORRAL_MESSAGE_KILL,    CORRAL_MESSAGE_FIND,
        CORRAL_MESSAGE_DONE,      CORRAL_MESSAGE_BLOCKED, CORRAL_MESSAGE_SEGMENT,
    };
    corral_message message = {.kind = kinds[corral_rng_integer(rng, sizeof kinds / sizeof kinds[0])]};
    message.tag = some_id(rng, all);
    message.code = (uint32_t)corral_rng_integer(rng, 3);
    int fd = -1;
    switch (message.kind) {
    case CORRAL_MESSAGE_SUBMIT:
        message.tag = (uint64_t)s->number << ID_SHIFT | ++s->last_id;
        message.tail_size = (uint32_t)some_spec(rng, all, tail);
        break;
    case CORRAL_MESSAGE_PUT:
        message.tag = (uint64_t)s->number << ID_SHIFT | ++s->last_id;
        message.generation = corral_rng_integer(rng, 4);
        message.offset = corral_rng_integer(rng, 3) * 4096;
        message.length = corral_rng_integer(rng, 3) * 4096;
        message.tail_size = message.generation == 0 ? (uint32_t)corral_rng_integer(rng, 100) : 0;
        break;
    case CORRAL_MESSAGE_WANT:
    case CORRAL_MESSAGE_DROP:
        message.tail_size = 16;
        for (int i = 0; i < 2; i++) {
            const uint64_t id = some_id(rng, all);
            memcpy(tail + 8 * i, &id, sizeof id);
        }
        break;
    case CORRAL_MESSAGE_RESERVE:
        message.length = corral_rng_integer(rng, 5) * 4096;
        break;
    case CORRAL_MESSAGE_UNSEGMENT:
    case CORRAL_MESSAGE_SEGMENT:
        message.tag = corral_rng_integer(rng, 10);
        break;
    case CORRAL_MESSAGE_FIND:
        memcpy(tail, "name", 4);
        message.tail_size = 4;
        break;
    default:
        break;
    }
    corral_segment segment = {.fd = -1};
    if (message.kind == CORRAL_MESSAGE_SEGMENT) {
        TEST_OK(corral_segment_create("stranger", 4096 * 4, &segment));
        TEST_OK(corral_segment_share(&segment, &fd));
    }
    if (corral_rng_integer(rng, 200) == 0) { // damaged
        message.tail_size = (uint32_t)corral_rng_integer(rng, 200);
        tail[corral_rng_integer(rng, sizeof tail)] ^= 0x40;
    }
    // Where it does not listen, its answers pile up in the hub, and this may find the socket full.
    (void)!corral_message_send(s->socket, &message, tail, &fd, fd >= 0 ? 1 : 0, 0);
    if (fd >= 0) close(fd);
    corral_segment_finish(&segment);
}

static void strangers_do_no_harm(void)
{
    corral_rng rng;
    corral_rng_seed(&rng, 11);
    for (int round = 0; round < ROUNDS; round++) {
        const corral_hub_config config = {.spawner = spawner, .cpus = 1, .store_bytes = 5 * 4096};
        corral_hub *hub = NULL;
        stranger all[DRIVERS];
        TEST_OK(corral_hub_create(&config, &hub));
        for (int i = 0; i < DRIVERS; i++)
            join(hub, &all[i]);
        for (int m = 0; m < MESSAGES; m++) {
            stranger *s = &all[corral_rng_integer(&rng, DRIVERS)];
            if (s->socket < 0 ||
                corral_rng_integer(&rng, 150) == 0) { // it was ended, or ends, and comes again
                if (s->socket >= 0) close(s->socket);
                join(hub, s);
            }
            say_something(&rng, all, s);
            corral_hub_turn(hub);
            listen_a_little(&rng, s);
        }
        stranger sane;
        join(hub, &sane); // is admitted as if nothing had been
        close(sane.socket);
        for (int i = 0; i < DRIVERS; i++)
            if (all[i].socket >= 0) close(all[i].socket);
        corral_hub_turn(hub);
        char *report = corral_hub_report(hub);
        CU_ASSERT_PTR_NOT_NULL_FATAL(report);
        // Detached actors are all that may be left, and none could be started.
        CU_ASSERT_PTR_NOT_NULL(strstr(report, "\"object_count\":0,"));
        CU_ASSERT_PTR_NOT_NULL(strstr(report, "\"store\":{\"limit\":20480,\"used\":0}"));
        free(report);
        corral_hub_destroy(hub);
    }
}

int main(void)
{
    if (corral_spawner_start(&spawner) != CORRAL_OK) return 2;
    const int code = test_run("a hub among strangers", (test_case[]){
                                                           {"strangers do no harm", strangers_do_no_harm},
                                                           {NULL, NULL},
                                                       });
    corral_spawner_stop(spawner);
    return code;
}
