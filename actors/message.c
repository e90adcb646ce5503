// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/actors/message.h"

#include "corral/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKET_BUFFER = 4 * CORRAL_MESSAGE_TAIL_MAX };

// Room for the descriptors of one message, aligned as the kernel wants it.
typedef union control_buffer {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(CORRAL_MESSAGE_FDS_MAX * sizeof(int))];
} control_buffer;

corral_status corral_message_pair(int out_sockets[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out_sockets) != 0)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make a pair of sockets");
    // The kernel cuts the size to its limit (net.core.wmem_max), whose default still holds one of the
    // longest.
    const int size = SOCKET_BUFFER;
    for (int i = 0; i < 2; i++)
        setsockopt(out_sockets[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return CORRAL_OK;
}

// Waits until the socket can be read or written; false when `deadline_ns` passes first. A deadline of -1 is
// never.
static bool wait_for(int socket, short events, int64_t deadline_ns)
{
    for (;;) {
        int wait_ms = -1;
        if (deadline_ns >= 0) {
            const int64_t left = deadline_ns - corral_now_ns();
            if (left <= 0) return false;
            const int64_t rounded = (left + CORRAL_MILLISECOND - 1) / CORRAL_MILLISECOND;
            wait_ms = rounded < 1000000 ? (int)rounded : 1000000;
        }
        struct pollfd wanted = {.fd = socket, .events = events};
        const int ready = poll(&wanted, 1, wait_ms);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true; // the next call on the socket says what it is
    }
}

static int64_t deadline_of(int64_t timeout_ns)
{
    if (timeout_ns < 0) return -1;
    const int64_t now = corral_now_ns();
    return timeout_ns < INT64_MAX - now ? now + timeout_ns : -1;
}

static void attach_descriptors(struct msghdr *datagram, control_buffer *control, const int *fds, size_t count)
{
    memset(control, 0, sizeof *control);
    datagram->msg_control = control->bytes;
    datagram->msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *head = CMSG_FIRSTHDR(datagram);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
}

corral_status corral_message_send(int socket, const corral_message *message, const void *tail, const int *fds,
                                  size_t fd_count, int64_t timeout_ns)
{
    if (message->tail_size > CORRAL_MESSAGE_TAIL_MAX || fd_count > CORRAL_MESSAGE_FDS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "a message with a tail of %u bytes and %zu descriptors",
                           (unsigned)message->tail_size, fd_count);
    // sendmsg() does not write through these.
    struct iovec parts[2] = {{(void *)(uintptr_t)message, sizeof *message},
                             {(void *)(uintptr_t)tail, message->tail_size}};
    struct msghdr datagram = {.msg_iov = parts, .msg_iovlen = message->tail_size > 0 ? 2 : 1};
    control_buffer control;
    if (fd_count > 0) attach_descriptors(&datagram, &control, fds, fd_count);

    const int64_t deadline = deadline_of(timeout_ns);
    for (;;) {
        if (sendmsg(socket, &datagram, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return CORRAL_OK;
        if (errno == EINTR) continue;
        if (errno == EPIPE || errno == ECONNRESET)
            return corral_fail(CORRAL_ERROR_LOST, "the other side is gone");
        if (errno != EAGAIN && errno != ENOBUFS)
            return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot send a message");
        if (timeout_ns == 0 || !wait_for(socket, POLLOUT, deadline))
            return corral_fail(CORRAL_ERROR_FULL, "the other side does not take its messages");
    }
}

static void take_descriptors(struct msghdr *datagram, int *out_fds)
{
    int taken = 0;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(datagram); head != NULL; head = CMSG_NXTHDR(datagram, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd = -1;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            if (taken < CORRAL_MESSAGE_FDS_MAX)
                out_fds[taken++] = fd;
            else
                close(fd);
        }
    }
}

static void close_descriptors(int *fds)
{
    for (int i = 0; fds != NULL && i < CORRAL_MESSAGE_FDS_MAX; i++) {
        if (fds[i] >= 0) close(fds[i]);
        fds[i] = -1;
    }
}

static corral_status check_datagram(const corral_message *message, ssize_t received, int flags,
                                    bool wants_fds)
{
    if ((flags & MSG_TRUNC) != 0)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message is longer than its kind may be");
    if ((flags & MSG_CTRUNC) != 0 && wants_fds)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "a message carries more descriptors than it may or than fit here");
    if ((size_t)received < sizeof *message)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message of %zd bytes is shorter than its header",
                           received);
    if (message->tail_size != (size_t)received - sizeof *message)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message says that %u bytes follow, %zd do",
                           (unsigned)message->tail_size, received - (ssize_t)sizeof *message);
    if (message->kind == 0 || message->kind >= CORRAL_MESSAGE_KIND_COUNT)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message of the unknown kind %u", (unsigned)message->kind);
    return CORRAL_OK;
}

// One datagram; *out_size 0 is end-of-file.
static corral_status receive_datagram(int socket, struct msghdr *datagram, int64_t timeout_ns,
                                      ssize_t *out_size)
{
    const int64_t deadline = deadline_of(timeout_ns);
    const struct msghdr fresh = *datagram;
    for (;;) {
        *datagram = fresh; // the kernel has written to the one of the attempt before
        *out_size = recvmsg(socket, datagram, MSG_CMSG_CLOEXEC | (timeout_ns < 0 ? 0 : MSG_DONTWAIT));
        if (*out_size >= 0) return CORRAL_OK;
        // A reset says once that the other side went without having read everything from us. What it had sent
        // before is still queued: its last blocks, and the sentence that says why it ended.
        if (errno == EINTR || errno == ECONNRESET) continue;
        if (errno != EAGAIN) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot receive a message");
        if (timeout_ns == 0 || !wait_for(socket, POLLIN, deadline))
            return corral_fail(CORRAL_ERROR_EMPTY, "no message has come");
    }
}

corral_status corral_message_receive(int socket, corral_message *out_message, void *tail,
                                     size_t tail_capacity, int *out_fds, int64_t timeout_ns)
{
    for (int i = 0; out_fds != NULL && i < CORRAL_MESSAGE_FDS_MAX; i++)
        out_fds[i] = -1;
    struct iovec parts[2] = {{out_message, sizeof *out_message}, {tail, tail_capacity}};
    control_buffer control;
    struct msghdr datagram = {.msg_iov = parts, .msg_iovlen = tail_capacity > 0 ? 2 : 1};
    if (out_fds != NULL) { // without a buffer the kernel drops what came
        datagram.msg_control = control.bytes;
        datagram.msg_controllen = sizeof control.bytes;
    }
    ssize_t size = 0;
    corral_status status = receive_datagram(socket, &datagram, timeout_ns, &size);
    if (status != CORRAL_OK) return status;
    if (size == 0) return corral_fail(CORRAL_ERROR_LOST, "the other side is gone");

    if (out_fds != NULL) take_descriptors(&datagram, out_fds);
    status = check_datagram(out_message, size, datagram.msg_flags, out_fds != NULL);
    if (status != CORRAL_OK) close_descriptors(out_fds);
    return status;
}
