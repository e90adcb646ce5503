// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A node and its head. Where the head lives in the same process, what is told to it is a function call.
#include "node_private.h"

#include "corral/base/clock.h"
#include "corral/base/file.h"
#include "corral/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BEAT_EVERY CORRAL_SECOND

// Equal for two nodes that share a kernel: boot id, and the name of the machine or container.
static void name_host(char *out_id, size_t id_size)
{
    char *boot = NULL, name[256] = "";
    size_t size = 0;
    gethostname(name, sizeof name - 1);
    if (corral_file_read("/proc/sys/kernel/random/boot_id", 256, &boot, &size) != CORRAL_OK) size = 0;
    snprintf(out_id, id_size, "%016llx%016llx", (unsigned long long)corral_checksum(boot, size),
             (unsigned long long)corral_checksum(name, strlen(name)));
    free(boot);
}

static const char *cpu_level(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return "v4";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "v3";
    if (__builtin_cpu_supports("sse4.2")) return "v2";
#endif
    return "portable";
}

void node_describe(node *n, Corral__V1__NodeInfo *out_info)
{
    const char *forced = getenv("CORRAL_CPU_LEVEL"); // what the arithmetic of its workers is told, too
    *out_info = (Corral__V1__NodeInfo)CORRAL__V1__NODE_INFO__INIT;
    out_info->address = n->address;
    if (n->host[0] == '\0') name_host(n->host, sizeof n->host);
    out_info->host = n->host;
    out_info->socket = corral_wire_text(n->runtime != NULL ? corral_runtime_socket_path(n->runtime) : "");
    out_info->level = corral_wire_text(forced != NULL && forced[0] != '\0' ? forced : cpu_level());
    out_info->pid = getpid();
    out_info->slots = n->slots;
    out_info->gpus = n->gpus;
}

corral_status node_join(node *n)
{
    corral_address head;
    corral_faults faults;
    corral_status status = corral_address_parse(n->config->join, "--join", &head);
    if (status == CORRAL_OK) status = corral_faults_parse(n->config->faults, &faults);
    if (status == CORRAL_OK) status = corral_link_dial(n->exchange, &head, &faults, n, &n->to_head.link);
    if (status != CORRAL_OK) return status;
    Corral__V1__NodeInfo self;
    node_describe(n, &self);
    Corral__V1__Hello hello = CORRAL__V1__HELLO__INIT;
    hello.protocol = CORRAL_WIRE_PROTOCOL;
    hello.purpose = CORRAL__V1__PURPOSE__MEMBER;
    hello.token = n->token;
    hello.pid = getpid();
    hello.program = corral_wire_text("corral-node");
    hello.faults = corral_wire_text(n->config->faults != NULL ? n->config->faults : "");
    hello.node = &self;
    return corral_channel_send(&n->to_head, CORRAL__V1__ENVELOPE__BODY_HELLO, &hello);
}

void node_hear_head(node *n, const corral_envelope *envelope)
{
    switch (envelope->body_case) {
    case CORRAL__V1__ENVELOPE__BODY_WELCOME:
        n->id = envelope->welcome->node;
        snprintf(n->cluster, sizeof n->cluster, "%s", envelope->welcome->cluster);
        n->joined = true;
        break;
    case CORRAL__V1__ENVELOPE__BODY_REFUSED:
        node_stop(n, CORRAL_ERROR_REFUSED, envelope->refused->text);
        break;
    case CORRAL__V1__ENVELOPE__BODY_BYE:
        node_stop(n, CORRAL_OK, envelope->bye->text);
        break;
    default:
        break; // nothing that a head says to a member
    }
}

void node_tell_head(node *n, Corral__V1__Envelope__BodyCase body_case, void *body)
{
    if (n->head == NULL) {
        if (n->joined) corral_channel_tell(&n->to_head, body_case, body);
        return;
    }
    const corral_envelope envelope = corral_envelope_of(body_case, body);
    corral_head_note(n->head, n->id, &envelope);
}

void node_beat(node *n)
{
    const int64_t now = corral_now_ns();
    if (now < n->beat_at_ns) return;
    n->beat_at_ns = now + BEAT_EVERY;
    if (n->fragments_told == n->fragments_remote) return;
    n->fragments_told = n->fragments_remote;
    Corral__V1__Beat message = CORRAL__V1__BEAT__INIT;
    message.fragments_remote = n->fragments_remote;
    node_tell_head(n, CORRAL__V1__ENVELOPE__BODY_BEAT, &message);
}
