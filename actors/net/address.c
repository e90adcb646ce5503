// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Splits "HOST:PORT" or "[HOST]:PORT"; false when it is neither.
static bool split(const char *text, char *host, size_t host_size, unsigned long *out_port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || strlen(text) >= sizeof((corral_address *)0)->text) return false;
    const char *begin = text, *end = colon;
    if (*begin == '[') {
        begin++;
        if (end[-1] != ']' || end - 1 <= begin) return false;
        end--;
    } else if (memchr(begin, ':', (size_t)(end - begin)) != NULL) {
        return false; // a bare IPv6 address: where its port begins is anybody's guess
    }
    if ((size_t)(end - begin) >= host_size) return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    char *rest = NULL;
    *out_port = strtoul(colon + 1, &rest, 10);
    return colon[1] >= '0' && colon[1] <= '9' && *rest == '\0' && *out_port <= 65535;
}

static void take(const struct addrinfo *found, corral_address *address)
{
    if (found->ai_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, found->ai_addr, sizeof in);
        char number[INET_ADDRSTRLEN];
        inet_ntop(AF_INET, &in.sin_addr, number, sizeof number);
        address->loopback = (ntohl(in.sin_addr.s_addr) >> 24) == 127;
        snprintf(address->bare, sizeof address->bare, "%s:%u", number, address->port);
        snprintf(address->target, sizeof address->target, "ipv4:%s", address->bare);
    } else {
        struct sockaddr_in6 in;
        memcpy(&in, found->ai_addr, sizeof in);
        char number[INET6_ADDRSTRLEN];
        inet_ntop(AF_INET6, &in.sin6_addr, number, sizeof number);
        address->loopback = IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
        snprintf(address->bare, sizeof address->bare, "[%s]:%u", number, address->port);
        snprintf(address->target, sizeof address->target, "ipv6:%s", address->bare);
    }
}

corral_status corral_address_parse(const char *text, const char *what, corral_address *out_address)
{
    *out_address = (corral_address){0};
    char host[256];
    unsigned long port = 0;
    if (!split(text, host, sizeof host, &port))
        return corral_fail(CORRAL_ERROR_INVALID, "%s: \"%.200s\" is not HOST:PORT, like 127.0.0.1:7000", what,
                           text);
    snprintf(out_address->text, sizeof out_address->text, "%s", text);
    snprintf(out_address->host, sizeof out_address->host, "%s", host);
    out_address->port = (uint16_t)port;

    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(host, NULL, &hints, &found);
    if (error != 0)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s: there is no host \"%s\" (%s)", what, host,
                           gai_strerror(error));
    const struct addrinfo *best =
        found; // IPv4 where there is one: gRPC's "localhost" problems begin with ::1
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next)
        if (a->ai_family == AF_INET) {
            best = a;
            break;
        }
    take(best, out_address);
    freeaddrinfo(found);
    return CORRAL_OK;
}

void corral_address_set_port(corral_address *address, uint16_t port)
{
    address->port = port;
    snprintf(strrchr(address->text, ':'), 7, ":%u", port);
    snprintf(strrchr(address->bare, ':'), 7, ":%u", port);
    snprintf(strrchr(address->target, ':'), 7, ":%u", port);
}
