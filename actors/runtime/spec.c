// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "spec.h"

#include "corral/actors/message.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t aligned(size_t offset)
{
    return (offset + SPEC_ALIGNMENT - 1) / SPEC_ALIGNMENT * SPEC_ALIGNMENT;
}

// Up to the arguments' table.
static size_t front_size(const spec *s)
{
    size_t size = sizeof(spec_head) + s->head.name_size + 1 + s->head.label_size + 1;
    for (size_t i = 0; i < s->head.resource_count; i++)
        size += sizeof(double) + strlen(s->resources[i].name) + 1;
    return size;
}

size_t spec_size(const spec *s, const corral_argument *arguments)
{
    size_t size = front_size(s) + s->head.argument_count * sizeof(spec_argument);
    for (size_t i = 0; i < s->head.argument_count; i++) {
        if (arguments[i].kind != CORRAL_ARGUMENT_BYTES) continue;
        if (arguments[i].bytes.size > CORRAL_MESSAGE_TAIL_MAX) return SIZE_MAX;
        size = aligned(size) + arguments[i].bytes.size;
        if (size > CORRAL_MESSAGE_TAIL_MAX) return SIZE_MAX;
    }
    return size <= CORRAL_MESSAGE_TAIL_MAX ? size : SIZE_MAX;
}

static uint8_t *put(uint8_t *to, const void *from, size_t size)
{
    if (size > 0) memcpy(to, from, size);
    return to + size;
}

void spec_pack(const spec *s, const corral_argument *arguments, uint8_t *out_bytes)
{
    uint8_t *to = put(out_bytes, &s->head, sizeof s->head);
    to = put(to, s->name, s->head.name_size + 1);
    to = put(to, s->label, s->head.label_size + 1);
    for (size_t i = 0; i < s->head.resource_count; i++) {
        to = put(to, &s->resources[i].amount, sizeof(double));
        to = put(to, s->resources[i].name, strlen(s->resources[i].name) + 1);
    }
    for (size_t i = 0; i < s->head.argument_count; i++) {
        const bool by_bytes = arguments[i].kind == CORRAL_ARGUMENT_BYTES;
        const spec_argument argument = {
            .kind = arguments[i].kind,
            .size = by_bytes ? (uint32_t)arguments[i].bytes.size : 0,
            .ref = by_bytes ? 0 : corral_ref_id(arguments[i].ref),
        };
        to = put(to, &argument, sizeof argument);
    }
    size_t offset = (size_t)(to - out_bytes);
    for (size_t i = 0; i < s->head.argument_count; i++) {
        if (arguments[i].kind != CORRAL_ARGUMENT_BYTES) continue;
        memset(out_bytes + offset, 0, aligned(offset) - offset);
        offset = aligned(offset);
        put(out_bytes + offset, arguments[i].bytes.data, arguments[i].bytes.size);
        offset += arguments[i].bytes.size;
    }
}

// --- reading -----------------------------------------------------------------------------------------------

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at;
    bool bad;
} reader;

static void take(reader *r, void *to, size_t size)
{
    r->bad = r->bad || size > r->size - r->at;
    if (r->bad) return;
    memcpy(to, r->bytes + r->at, size);
    r->at += size;
}

// A string and its zero byte; "" when it is not there.
static const char *take_text(reader *r, size_t *out_length)
{
    const char *text = (const char *)r->bytes + r->at;
    const size_t length = r->bad ? 0 : strnlen(text, r->size - r->at);
    r->bad = r->bad || length >= r->size - r->at || length > CORRAL_NAME_MAX;
    if (r->bad) text = "";
    if (!r->bad) r->at += length + 1;
    if (out_length != NULL) *out_length = r->bad ? 0 : length;
    return text;
}

static bool head_is_sane(const spec_head *head)
{
    return head->kind >= SPEC_TASK && head->kind <= SPEC_CALL && head->name_size <= CORRAL_NAME_MAX &&
           head->label_size <= CORRAL_NAME_MAX && head->resource_count <= CORRAL_RESOURCES_MAX &&
           head->argument_count <= CORRAL_ARGUMENTS_MAX && isfinite(head->cpus) && isfinite(head->gpus);
}

static void read_arguments(reader *r, spec *out_spec)
{
    out_spec->arguments = r->bytes + r->at;
    const size_t table = out_spec->head.argument_count * sizeof(spec_argument);
    r->bad = r->bad || table > r->size - r->at;
    if (r->bad) return;
    r->at += table;
    out_spec->payload = r->at;
    for (size_t i = 0; i < out_spec->head.argument_count; i++) {
        const spec_argument argument = spec_argument_at(out_spec, i);
        if (argument.kind == CORRAL_ARGUMENT_BYTES) {
            r->at = aligned(r->at);
            r->bad = r->bad || r->at > r->size || argument.size > r->size - r->at;
            if (r->bad) return;
            r->at += argument.size;
        } else {
            r->bad = r->bad || argument.kind > CORRAL_ARGUMENT_REFERENCE || argument.ref == 0;
        }
    }
}

corral_status spec_read(const uint8_t *bytes, size_t size, spec *out_spec)
{
    reader r = {.bytes = bytes, .size = size};
    *out_spec = (spec){.bytes = bytes, .name = "", .label = ""};
    take(&r, &out_spec->head, sizeof out_spec->head);
    r.bad = r.bad || !head_is_sane(&out_spec->head);
    size_t name = 0, label = 0;
    out_spec->name = take_text(&r, &name);
    out_spec->label = take_text(&r, &label);
    r.bad = r.bad || name != out_spec->head.name_size || label != out_spec->head.label_size;
    for (size_t i = 0; !r.bad && i < out_spec->head.resource_count; i++) {
        take(&r, &out_spec->resources[i].amount, sizeof(double));
        out_spec->resources[i].name = take_text(&r, NULL);
    }
    if (!r.bad) read_arguments(&r, out_spec);
    if (r.bad || r.at != size) return corral_fail(CORRAL_ERROR_CORRUPT, "a task that makes no sense");
    return CORRAL_OK;
}

spec_argument spec_argument_at(const spec *s, size_t index)
{
    spec_argument argument;
    memcpy(&argument, s->arguments + index * sizeof argument, sizeof argument);
    return argument;
}

const uint8_t *spec_next_bytes(const spec *s, size_t index, size_t *offset)
{
    const spec_argument argument = spec_argument_at(s, index);
    if (argument.kind != CORRAL_ARGUMENT_BYTES) return NULL;
    const uint8_t *bytes = s->bytes + aligned(*offset);
    *offset = aligned(*offset) + argument.size;
    return bytes;
}

void spec_describe(const spec *s, char *text, size_t size)
{
    static const char *const kinds[] = {[SPEC_TASK] = "task", [SPEC_SPAWN] = "actor", [SPEC_CALL] = "call"};
    snprintf(text, size, "%s \"%s\"", kinds[s->head.kind], s->name);
}
