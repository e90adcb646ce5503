// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What tasks and actors run: functions and classes, listed by name in one table.
///
/// A library says them under the symbol `corral_library_table`, and `corral run app.so ENTRY` or a worker
/// opens it; a program hands the same table to corral_worker_main() and to the client that it opens.
///
///     static corral_status square(corral_call *call)
///     {
///         corral_bytes in = corral_call_argument(call, 0);
///         double x;
///         if (in.size != sizeof x) return corral_fail(CORRAL_ERROR_INVALID, "a number was expected");
///         memcpy(&x, in.data, sizeof x);
///         x *= x;
///         return corral_call_return(call, &x, sizeof x);
///     }
///
/// A function that fails returns a status after corral_fail(): the sentence travels, with where it arose, to
/// whoever asks for the result. Functions run on a worker's main thread, one at a time, unless an actor asked
/// for more.
#ifndef CORRAL_ACTORS_FUNCTION_H
#define CORRAL_ACTORS_FUNCTION_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One process's way into the runtime: see client.h.
typedef struct corral_client corral_client;
/// A value that is there or will be: see object.h.
typedef struct corral_ref corral_ref;
/// One call of a function, seen from inside; valid until the function returns.
typedef struct corral_call corral_call;

typedef struct corral_bytes {
    const void *data;
    size_t size;
} corral_bytes;

typedef corral_status corral_function(corral_call *call);
typedef corral_status corral_method(void *self, corral_call *call);

typedef struct corral_named_function {
    const char *name;
    corral_function *run;
} corral_named_function;

typedef struct corral_named_method {
    const char *name;
    corral_method *run;
} corral_named_method;

typedef struct corral_class {
    const char *name;
    /// The call's arguments are those of the spawn. After a restart it is called again with the same.
    corral_status (*create)(corral_call *call, void **out_self);
    void (*destroy)(void *self);        // NULL: nothing to do
    const corral_named_method *methods; // ends with {NULL, NULL}
} corral_class;

enum { CORRAL_LIBRARY_ABI = 1 };

typedef struct corral_library {
    uint32_t abi;                           // CORRAL_LIBRARY_ABI
    const corral_named_function *functions; // ends with {NULL, NULL}; NULL: none
    const corral_class *const *classes;     // ends with NULL; NULL: none
} corral_library;

/// The symbol under which a shared library has its table: `const corral_library corral_library_table =
/// {...};`
#define CORRAL_LIBRARY_SYMBOL "corral_library_table"

size_t corral_call_count(const corral_call *call);
/// The bytes of an argument, 64-byte aligned, read-only. An index beyond the last gives {NULL, 0}.
corral_bytes corral_call_argument(const corral_call *call, size_t index);
/// An argument that was given as a reference (corral_argument_reference()), NULL for the others. It is the
/// call's: corral_retain() it to keep it longer.
corral_ref *corral_call_reference(const corral_call *call, size_t index);

/// The result, copied. Without a call of it the result is empty; of several the last one counts.
CORRAL_MUST_USE corral_status corral_call_return(corral_call *call, const void *data, size_t size);
/// The same without a copy: `*out_data`, `size` bytes, 64-byte aligned, is to be filled before the function
/// returns.
CORRAL_MUST_USE corral_status corral_call_return_into(corral_call *call, size_t size, void **out_data);

/// For tasks of its own, and objects.
corral_client *corral_call_client(const corral_call *call);
/// Somebody has asked for this call to end: return CORRAL_ERROR_CANCELLED soon.
bool corral_call_is_cancelled(const corral_call *call);
/// 0 for the first attempt, then 1, 2, ... (retries of tasks, restarts of actors).
uint32_t corral_call_attempt(const corral_call *call);

#ifdef __cplusplus
}
#endif
#endif
