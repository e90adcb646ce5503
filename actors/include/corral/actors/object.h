// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Objects: immutable bytes that somebody has made or will make, and references to them.
///
/// What is small (CORRAL_OBJECT_INLINE_MAX) travels in messages; what is larger lies in shared memory that
/// its writer alone can change, and is mapped by readers without a copy. An object is freed when no process
/// holds a reference to it and no task waits for it. It outlives the process that made it; a value that was
/// still to be made dies with the process that asked for it, and whoever holds a reference is told so
/// (CORRAL_ERROR_LOST).
#ifndef CORRAL_ACTORS_OBJECT_H
#define CORRAL_ACTORS_OBJECT_H

#include "corral/actors/function.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CORRAL_OBJECT_INLINE_MAX = 100 * 1024 };

/// Copies `size` bytes into a new object. CORRAL_ERROR_FULL, with who holds what, where the store stays full
/// for the client's store_timeout_ns. The caller ends `*out_ref` with corral_release(). [any thread, as all
/// functions here]
CORRAL_MUST_USE corral_status corral_put(corral_client *client, const void *data, size_t size,
                                         corral_ref **out_ref);

/// Waits until the value is there: `*out_bytes` is 64-byte aligned, read-only, and valid until the reference
/// is released. A value that is an error gives that error, with its sentence and where it arose. `timeout_ns`
/// -1 waits for ever; CORRAL_ERROR_TIMEOUT otherwise. Of an actor's reference: until it has been created.
CORRAL_MUST_USE corral_status corral_get(corral_ref *ref, int64_t timeout_ns, corral_bytes *out_bytes);
/// All of them, `out_bytes` [count]; the first one that is an error ends it.
CORRAL_MUST_USE corral_status corral_get_many(corral_ref *const *refs, size_t count, int64_t timeout_ns,
                                              corral_bytes *out_bytes);
/// Waits until `wanted` of `count` are there (as values or errors), or the time is over, which is no failure:
/// `out_ready` [count] says which are, `*out_count` how many.
CORRAL_MUST_USE corral_status corral_wait(corral_ref *const *refs, size_t count, size_t wanted,
                                          int64_t timeout_ns, bool *out_ready, size_t *out_count);

/// One reference more to the same object, for the same process; returns `ref`.
corral_ref *corral_retain(corral_ref *ref);
/// Ends one reference. NULL is fine.
void corral_release(corral_ref *ref);
/// A number that names the object in lists and messages.
uint64_t corral_ref_id(const corral_ref *ref);

#ifdef __cplusplus
}
#endif
#endif
