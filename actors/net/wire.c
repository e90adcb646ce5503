// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// protobuf-c lets through what a stranger may misuse: texts that are not UTF-8 or hold control characters,
/// and allocations far beyond the input's size (a few bytes per unknown field). So an allocator with a budget
/// stands below it, and every text of every message is looked at, found by the descriptors that protoc-c
/// generates. Fields that are not known here are refused, too: who speaks another protocol says so by its
/// number.
#include "wire.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_PER_BYTE = 16, MEMORY_BASE = 4096, TEXT_MAX = 16 << 10, DEPTH_MAX = 4 };

corral_envelope corral_envelope_of(Corral__V1__Envelope__BodyCase body_case, void *body)
{
    corral_envelope envelope = CORRAL__V1__ENVELOPE__INIT;
    envelope.body_case = body_case;
    envelope.hello = body; // the union's members are all pointers to structs
    return envelope;
}

corral_status corral_wire_pack(const corral_envelope *envelope, uint8_t **out_bytes, size_t *out_size)
{
    const size_t size = corral__v1__envelope__get_packed_size(envelope);
    if (size > CORRAL_WIRE_BODY_MAX)
        return corral_fail(CORRAL_ERROR_FULL, "a message of %zu bytes is too large, at most %d", size,
                           CORRAL_WIRE_BODY_MAX);
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    if (bytes == NULL)
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a message of %zu bytes", size);
    *out_size = corral__v1__envelope__pack(envelope, bytes);
    *out_bytes = bytes;
    return CORRAL_OK;
}

// --- reading
// --------------------------------------------------------------------------------------------------------

static void *budget_alloc(void *context, size_t size)
{
    size_t *left = context;
    const size_t cost = size + 16;
    if (cost < size || cost > *left) return NULL;
    *left -= cost;
    return malloc(size);
}

static void budget_free(void *context, void *memory)
{
    (void)context;
    free(memory);
}

// The length of the UTF-8 sequence at `s`, 0 when it is malformed, overlong, a surrogate or beyond U+10FFFF.
static size_t sequence_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    const size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80) return 0; // also stops at the end of the string
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0;
    if (s[0] == 0xed && s[1] > 0x9f) return 0;
    if (s[0] == 0xf0 && s[1] < 0x90) return 0;
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0;
    return length;
}

// Such texts end up in messages, in JSON and on terminals.
static bool text_is_clean(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    size_t length = 0;
    while (s[length] != '\0') {
        const size_t next = sequence_length(s + length);
        const bool control =
            (s[length] < 0x20 && s[length] != '\n' && s[length] != '\t') || s[length] == 0x7f;
        if (next == 0 || control || length > TEXT_MAX) return false;
        length += next;
    }
    return true;
}

void corral_wire_clean(char *text)
{
    unsigned char *s = (unsigned char *)text;
    while (*s != '\0') {
        const size_t length = sequence_length(s);
        const bool control = (*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f;
        if (length == 0 || control) *s = '?';
        s += length == 0 ? 1 : length;
    }
}

static const char *problem_of(const ProtobufCMessage *message, unsigned depth);

static const char *problem_of_value(const ProtobufCFieldDescriptor *field, const void *value, unsigned depth)
{
    const void *pointer = NULL;
    memcpy(&pointer, value, sizeof pointer);
    if (pointer == NULL) return NULL;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return problem_of(pointer, depth + 1);
    return text_is_clean(pointer) ? NULL : "a text in it is not clean UTF-8";
}

static const char *problem_of_field(const ProtobufCFieldDescriptor *field, const char *base, unsigned depth)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count = 0;
        char *values = NULL;
        const char *problem = NULL;
        memcpy(&count, base + field->quantifier_offset, sizeof count);
        memcpy(&values, base + field->offset, sizeof values);
        for (size_t i = 0; i < count && problem == NULL; i++)
            problem = problem_of_value(field, values + i * sizeof(void *), depth);
        return problem;
    }
    uint32_t chosen = field->id;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        memcpy(&chosen, base + field->quantifier_offset, sizeof chosen);
    return chosen == field->id ? problem_of_value(field, base + field->offset, depth) : NULL;
}

// Why nobody should see this message; NULL when there is no reason.
static const char *problem_of(const ProtobufCMessage *message, unsigned depth)
{
    if (depth > DEPTH_MAX) return "it nests too deep";
    if (message->n_unknown_fields > 0) return "a field of it is not known here";
    const char *problem = NULL;
    for (unsigned i = 0; i < message->descriptor->n_fields && problem == NULL; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE)
            problem = problem_of_field(field, (const char *)message, depth);
    }
    return problem;
}

void corral_wire_free(corral_envelope *envelope)
{
    if (envelope != NULL) corral__v1__envelope__free_unpacked(envelope, NULL);
}

corral_status corral_wire_unpack(const uint8_t *bytes, size_t size, corral_envelope **out_envelope)
{
    if (size > CORRAL_WIRE_BODY_MAX)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message of %zu bytes is larger than any of ours", size);
    size_t budget = MEMORY_BASE + MEMORY_PER_BYTE * size;
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    corral_envelope *envelope = corral__v1__envelope__unpack(&allocator, size, bytes);
    if (envelope == NULL)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%zu bytes that are no message of ours", size);
    const bool has_body =
        envelope->body_case != CORRAL__V1__ENVELOPE__BODY__NOT_SET && envelope->hello != NULL;
    const char *problem = has_body ? problem_of(&envelope->base, 0) : "it has no body that is known here";
    if (problem != NULL) {
        corral_wire_free(envelope);
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message is refused: %s", problem);
    }
    *out_envelope = envelope;
    return CORRAL_OK;
}

// --- the first and the last bytes of a stream's message
// --------------------------------------------------------------

enum { TAG_CHUNK_SIZE = 0x0d, TAG_SEQ = 0x11, TAG_ACK = 0x19 }; // field 1 fixed32, fields 2 and 3 fixed64
enum { TAG_CHUNK_LOW = 0xa2, TAG_CHUNK_HIGH = 0x06 };           // field 100, length-delimited

static void put(uint8_t *bytes, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

void corral_wire_prefix_write(const corral_wire_prefix *prefix, uint8_t out_bytes[CORRAL_WIRE_PREFIX])
{
    out_bytes[0] = TAG_CHUNK_SIZE;
    put(out_bytes + 1, prefix->chunk_size, 4);
    out_bytes[5] = TAG_SEQ;
    put(out_bytes + 6, prefix->seq, 8);
    out_bytes[14] = TAG_ACK;
    put(out_bytes + 15, prefix->ack, 8);
}

corral_status corral_wire_prefix_read(const uint8_t bytes[CORRAL_WIRE_PREFIX], corral_wire_prefix *out_prefix)
{
    if (bytes[0] != TAG_CHUNK_SIZE || bytes[5] != TAG_SEQ || bytes[14] != TAG_ACK)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message that does not begin as ours do");
    out_prefix->chunk_size = (uint32_t)get(bytes + 1, 4);
    out_prefix->seq = get(bytes + 6, 8);
    out_prefix->ack = get(bytes + 15, 8);
    if (out_prefix->chunk_size > CORRAL_WIRE_CHUNK_MAX)
        return corral_fail(CORRAL_ERROR_CORRUPT, "a message with a chunk of %u bytes, at most %d",
                           (unsigned)out_prefix->chunk_size, CORRAL_WIRE_CHUNK_MAX);
    return CORRAL_OK;
}

size_t corral_wire_chunk_head(uint32_t chunk_size, uint8_t out_bytes[CORRAL_WIRE_CHUNK_HEAD_MAX])
{
    if (chunk_size == 0) return 0;
    size_t size = 0;
    out_bytes[size++] = TAG_CHUNK_LOW;
    out_bytes[size++] = TAG_CHUNK_HIGH;
    uint32_t rest = chunk_size;
    for (; rest >= 0x80; rest >>= 7)
        out_bytes[size++] = (uint8_t)(rest | 0x80);
    out_bytes[size++] = (uint8_t)rest;
    return size;
}
