// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Tasks: a function, by name, run once somewhere with the resources that it asks for.
///
///     corral_argument arguments[] = {corral_argument_bytes(&x, sizeof x), corral_argument_value(earlier)};
///     corral_task_options options = corral_task_options_default();
///     corral_ref *result;
///     status = corral_task_submit(client, "multiply", arguments, 2, &options, &result);
///
/// A task waits until the values of its arguments are there and its resources are free. One whose argument is
/// an error is not run: its result is that error. Tasks may submit tasks and wait for them; while one waits,
/// its CPUs serve others.
#ifndef CORRAL_ACTORS_TASK_H
#define CORRAL_ACTORS_TASK_H

#include "corral/actors/object.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CORRAL_ARGUMENTS_MAX = 1024,
    CORRAL_NAME_MAX = 127,     // letters of a function, class, method, actor or resource
    CORRAL_RESOURCES_MAX = 16, // kinds in one demand
};

typedef enum corral_argument_kind {
    CORRAL_ARGUMENT_BYTES,     // a copy of these bytes
    CORRAL_ARGUMENT_VALUE,     // the value of this reference, once it is there
    CORRAL_ARGUMENT_REFERENCE, // the reference itself: corral_call_reference()
} corral_argument_kind;

typedef struct corral_argument {
    corral_argument_kind kind;
    corral_bytes bytes;
    corral_ref *ref;
} corral_argument;

corral_argument corral_argument_bytes(const void *data, size_t size);
corral_argument corral_argument_text(const char *text); // without its zero byte
corral_argument corral_argument_value(corral_ref *ref);
corral_argument corral_argument_reference(corral_ref *ref);

/// A kind of resource by name: "cpus", "gpus", or one that the node was started with ("licence"). Amounts are
/// kept in ten-thousandths.
typedef struct corral_resource {
    const char *name;
    double amount;
} corral_resource;

typedef struct corral_task_options {
    double cpus; // default 1
    double gpus; // below 1: a share of one; else whole ones
    const corral_resource *resources;
    size_t resource_count;
    uint32_t max_retries; // how often it is run again when its worker dies (default 0: at most once)
} corral_task_options;

corral_task_options corral_task_options_default(void);

/// Gives back at once. `options` NULL are the defaults. What can never run here is CORRAL_ERROR_INFEASIBLE,
/// by name: "task \"train\": 99 gpus asked for, there are 0". An unknown function is the result's error.
CORRAL_MUST_USE corral_status corral_task_submit(corral_client *client, const char *function,
                                                 const corral_argument *arguments, size_t count,
                                                 const corral_task_options *options, corral_ref **out_result);

/// A task or call that has not begun will not; one that runs sees corral_call_is_cancelled(), and with
/// `force` its worker is killed (not an actor: that has corral_actor_kill()). The result is then
/// CORRAL_ERROR_CANCELLED. One that has ended stays what it is.
CORRAL_MUST_USE corral_status corral_cancel(corral_ref *result, bool force);

#ifdef __cplusplus
}
#endif
#endif
