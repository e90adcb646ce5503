// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to the runtime: what shall be run, as the tail of one message. The submitter packs it, the hub
/// reads and keeps it, the worker gets the same bytes.
///
///     fixed part | name 0 | label 0 | resources: amount, name 0 | arguments: 16 bytes each | bytes, each at
///     64
///
/// Offsets of the bytes are not written down: they follow from the sizes. Nothing in a packed spec is
/// believed before spec_read() has been through it.
#ifndef CORRAL_RUNTIME_SPEC_H
#define CORRAL_RUNTIME_SPEC_H

#include "corral/actors/actor_call.h"

typedef enum spec_kind { SPEC_TASK = 1, SPEC_SPAWN, SPEC_CALL } spec_kind;

enum { SPEC_ALIGNMENT = 64 };

/// The fixed part, as it travels.
typedef struct spec_head {
    uint32_t kind;        // spec_kind
    uint32_t retries;     // TASK, CALL: max_retries; SPAWN: max_restarts
    uint32_t concurrency; // SPAWN
    uint32_t detached;    // SPAWN
    uint64_t actor;       // CALL
    double cpus, gpus;
    uint32_t name_size, label_size; // without their zero bytes
    uint32_t resource_count, argument_count;
} spec_head;

/// Something to pack, or what was read; then all pointers are into the packed bytes.
typedef struct spec {
    spec_head head;
    const char *name;  // of the function, class or method
    const char *label; // of an actor that can be found by name; ""
    corral_resource resources[CORRAL_RESOURCES_MAX];
    const uint8_t *arguments; // read by spec_argument_at()
    const uint8_t *bytes;     // where the packed spec begins
    size_t payload;           // where the first argument's bytes begin
} spec;

typedef struct spec_argument {
    uint32_t kind; // corral_argument_kind
    uint32_t size; // BYTES
    uint64_t ref;  // the others
} spec_argument;

/// How many bytes it takes; SIZE_MAX where that is too many for a message.
size_t spec_size(const spec *s, const corral_argument *arguments);
/// `out_bytes` has spec_size() of them. The references' ids are written.
void spec_pack(const spec *s, const corral_argument *arguments, uint8_t *out_bytes);
/// CORRAL_ERROR_CORRUPT for what spec_pack() cannot have made. `bytes` stays in use.
CORRAL_MUST_USE corral_status spec_read(const uint8_t *bytes, size_t size, spec *out_spec);
spec_argument spec_argument_at(const spec *s, size_t index);
/// The bytes of argument `index`, for a reader that goes through them in order: `*offset` begins as
/// `payload`.
const uint8_t *spec_next_bytes(const spec *s, size_t index, size_t *offset);
/// "task \"square\"", "actor \"counter\"", "call \"add\""
void spec_describe(const spec *s, char *text, size_t size);

#endif
