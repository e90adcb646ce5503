// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Datagrams: what arrives is what was sent, and what nobody should have sent is refused.
#include "test.h"

#include "corral/actors/message.h"
#include "corral/base/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static char tail[CORRAL_MESSAGE_TAIL_MAX + 1];

static void open_pair(void)
{
    TEST_OK(corral_message_pair(ends));
}

static void close_pair(void)
{
    close(ends[0]);
    close(ends[1]);
}

static size_t open_descriptors(void)
{
    size_t count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void header_tail_and_descriptors_arrive(void)
{
    open_pair();
    int pipes[2], got[CORRAL_MESSAGE_FDS_MAX];
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    corral_message sent = {.kind = CORRAL_MESSAGE_LEASE,
                           .tail_size = 5,
                           .incarnation = 1,
                           .tag = 2,
                           .offset = 3,
                           .length = 4,
                           .generation = 5,
                           .version = 6,
                           .code = 7,
                           .actor = 8};
    corral_message received;
    TEST_OK(corral_message_send(ends[0], &sent, "hello", pipes, 2, 0));
    TEST_OK(corral_message_receive(ends[1], &received, tail, sizeof tail, got, 0));
    CU_ASSERT_EQUAL(memcmp(&sent, &received, sizeof sent), 0);
    CU_ASSERT_EQUAL(memcmp(tail, "hello", 5), 0);
    CU_ASSERT_TRUE(got[0] >= 0 && got[1] >= 0 && got[2] == -1);
    CU_ASSERT_TRUE((fcntl(got[0], F_GETFD) & FD_CLOEXEC) != 0);
    char byte = 0;
    CU_ASSERT_EQUAL(write(got[1], "x", 1), 1);
    CU_ASSERT_EQUAL(read(pipes[0], &byte, 1), 1);
    close(got[0]);
    close(got[1]);

    const size_t before = open_descriptors();
    TEST_OK(corral_message_send(ends[0], &sent, "hello", pipes, 2, 0));
    TEST_OK(
        corral_message_receive(ends[1], &received, tail, sizeof tail, NULL, 0)); // unwanted ones are closed
    CU_ASSERT_EQUAL(open_descriptors(), before);
    close(pipes[0]);
    close(pipes[1]);
    close_pair();
}

static void the_longest_tail_goes_through(void)
{
    open_pair();
    static char longest[CORRAL_MESSAGE_TAIL_MAX];
    memset(longest, 'l', sizeof longest);
    corral_message message = {.kind = CORRAL_MESSAGE_CALL, .tail_size = sizeof longest};
    TEST_OK(corral_message_send(ends[0], &message, longest, NULL, 0, 0));
    TEST_OK(corral_message_receive(ends[1], &message, tail, sizeof tail, NULL, 0));
    CU_ASSERT_EQUAL(memcmp(tail, longest, sizeof longest), 0);
    message.tail_size++;
    TEST_FAILS(corral_message_send(ends[0], &message, longest, NULL, 0, 0), CORRAL_ERROR_INVALID, "131073");
    close_pair();
}

static corral_status receive_raw(const void *bytes, size_t size, size_t capacity)
{
    corral_message message;
    if (send(ends[0], bytes, size, 0) != (ssize_t)size) return CORRAL_ERROR_IO;
    return corral_message_receive(ends[1], &message, tail, capacity, NULL, 0);
}

static void malformed_datagrams_are_corrupt(void)
{
    open_pair();
    struct {
        corral_message header;
        char rest[16];
    } raw = {.header = {.kind = CORRAL_MESSAGE_PING}};
    TEST_FAILS(receive_raw(&raw, 1, 16), CORRAL_ERROR_CORRUPT, "shorter than its header");
    TEST_FAILS(receive_raw(&raw, 63, 16), CORRAL_ERROR_CORRUPT, "shorter than its header");
    TEST_OK(receive_raw(&raw, 64, 16));
    TEST_OK(receive_raw(&raw, 64, 0));
    TEST_FAILS(receive_raw(&raw, 65, 16), CORRAL_ERROR_CORRUPT, "says that 0 bytes follow, 1 do");
    raw.header.tail_size = 16;
    TEST_FAILS(receive_raw(&raw, 70, 16), CORRAL_ERROR_CORRUPT, "says that 16 bytes follow, 6 do");
    TEST_OK(receive_raw(&raw, 80, 16));
    TEST_FAILS(receive_raw(&raw, 80, 15), CORRAL_ERROR_CORRUPT, "longer");
    TEST_FAILS(receive_raw(&raw, 80, 0), CORRAL_ERROR_CORRUPT, "longer");
    raw.header.tail_size = UINT32_MAX;
    TEST_FAILS(receive_raw(&raw, 80, 16), CORRAL_ERROR_CORRUPT, "follow");
    raw.header = (corral_message){.kind = 0};
    TEST_FAILS(receive_raw(&raw, 64, 16), CORRAL_ERROR_CORRUPT, "unknown kind 0");
    raw.header.kind = CORRAL_MESSAGE_KIND_COUNT;
    TEST_FAILS(receive_raw(&raw, 64, 16), CORRAL_ERROR_CORRUPT, "unknown kind");
    close_pair();
}

// More descriptors than a message may carry: refused, and none of them stays open.
static void too_many_descriptors_are_refused(void)
{
    open_pair();
    enum { COUNT = CORRAL_MESSAGE_FDS_MAX + 3 };
    int fds[COUNT], got[CORRAL_MESSAGE_FDS_MAX];
    for (int i = 0; i < COUNT; i++)
        fds[i] = ends[0];
    corral_message message = {.kind = CORRAL_MESSAGE_PING};
    TEST_FAILS(corral_message_send(ends[0], &message, NULL, fds, COUNT, 0), CORRAL_ERROR_INVALID,
               "8 descriptors");

    struct iovec part = {&message, sizeof message};
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(COUNT * sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr datagram = {.msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&datagram);
    *head = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(COUNT * sizeof(int))};
    memcpy(CMSG_DATA(head), fds, sizeof fds);
    const size_t before = open_descriptors();
    CU_ASSERT_EQUAL_FATAL(sendmsg(ends[0], &datagram, 0), (ssize_t)sizeof message);
    TEST_FAILS(corral_message_receive(ends[1], &message, tail, sizeof tail, got, 0), CORRAL_ERROR_CORRUPT,
               "more descriptors");
    CU_ASSERT_EQUAL(got[0], -1);
    CU_ASSERT_EQUAL(open_descriptors(), before);
    close_pair();
}

static void waiting_is_bounded(void)
{
    open_pair();
    corral_message message = {.kind = CORRAL_MESSAGE_PING};
    CU_ASSERT_EQUAL(corral_message_receive(ends[1], &message, tail, sizeof tail, NULL, 0),
                    CORRAL_ERROR_EMPTY);
    int64_t begin = corral_now_ns();
    CU_ASSERT_EQUAL(
        corral_message_receive(ends[1], &message, tail, sizeof tail, NULL, 30 * CORRAL_MILLISECOND),
        CORRAL_ERROR_EMPTY);
    CU_ASSERT_TRUE(corral_now_ns() - begin >= 30 * CORRAL_MILLISECOND);

    corral_status status = CORRAL_OK;
    for (int i = 0; i < 1000000 && status == CORRAL_OK; i++)
        status = corral_message_send(ends[0], &message, NULL, NULL, 0, 0);
    CU_ASSERT_EQUAL(status, CORRAL_ERROR_FULL);
    begin = corral_now_ns();
    TEST_FAILS(corral_message_send(ends[0], &message, NULL, NULL, 0, 30 * CORRAL_MILLISECOND),
               CORRAL_ERROR_FULL, "does not take");
    CU_ASSERT_TRUE(corral_now_ns() - begin >= 30 * CORRAL_MILLISECOND);
    close_pair();
}

static void *receive_all(void *context)
{
    corral_message message;
    char small[8];
    uint64_t expected = 0;
    while (corral_message_receive(ends[1], &message, small, sizeof small, NULL, -1) == CORRAL_OK)
        if (message.tag != expected++) return context;
    return expected == 20000 ? NULL : context;
}

static void order_is_kept_between_threads(void)
{
    open_pair();
    pthread_t reader;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&reader, NULL, receive_all, ends), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        const corral_message message = {.kind = CORRAL_MESSAGE_PING, .tag = i, .tail_size = 8};
        if (corral_message_send(ends[0], &message, "8 bytes.", NULL, 0, -1) != CORRAL_OK) break;
    }
    shutdown(ends[0], SHUT_WR);
    void *failure = ends;
    pthread_join(reader, &failure);
    CU_ASSERT_PTR_NULL(failure);
    close_pair();
}

// A process that dies leaves what it never read. The kernel then says "connection reset" once, before the
// last words.
static void last_words_survive_unread_messages(void)
{
    open_pair();
    corral_message message = {.kind = CORRAL_MESSAGE_LEASE};
    TEST_OK(corral_message_send(ends[0], &message, NULL, NULL, 0, 0));
    message = (corral_message){.kind = CORRAL_MESSAGE_ERROR, .tail_size = 3};
    TEST_OK(corral_message_send(ends[1], &message, "why", NULL, 0, 0));
    close(ends[1]);
    TEST_OK(corral_message_receive(ends[0], &message, tail, sizeof tail, NULL, 0));
    CU_ASSERT_EQUAL(memcmp(tail, "why", 3), 0);
    TEST_FAILS(corral_message_receive(ends[0], &message, tail, sizeof tail, NULL, -1), CORRAL_ERROR_LOST,
               "gone");
    TEST_FAILS(corral_message_send(ends[0], &message, "why", NULL, 0, -1), CORRAL_ERROR_LOST,
               "gone"); // no SIGPIPE
    close(ends[0]);
}

int main(void)
{
    return test_run("message",
                    (test_case[]){{"header, tail and descriptors arrive", header_tail_and_descriptors_arrive},
                                  {"the longest tail goes through", the_longest_tail_goes_through},
                                  {"malformed datagrams are corrupt", malformed_datagrams_are_corrupt},
                                  {"too many descriptors are refused", too_many_descriptors_are_refused},
                                  {"waiting is bounded", waiting_is_bounded},
                                  {"order is kept between threads", order_is_kept_between_threads},
                                  {"last words survive unread messages", last_words_survive_unread_messages},
                                  {NULL, NULL}});
}
