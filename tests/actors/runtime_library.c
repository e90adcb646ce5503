// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the runtime's tests run: small functions, each good for one question, and a counter.
#include "runtime_rig.h"

#include "corral/base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double number(const corral_call *call, size_t index)
{
    const corral_bytes bytes = corral_call_argument(call, index);
    double value = -1;
    if (bytes.size == sizeof value) memcpy(&value, bytes.data, sizeof value);
    return value;
}

static corral_status give(corral_call *call, double value)
{
    return corral_call_return(call, &value, sizeof value);
}

static corral_status square(corral_call *call)
{
    const double x = number(call, 0);
    return give(call, x * x);
}

static corral_status add(corral_call *call)
{
    double sum = 0;
    for (size_t i = 0; i < corral_call_count(call); i++)
        sum += number(call, i);
    return give(call, sum);
}

static corral_status fail(corral_call *call)
{
    const corral_bytes text = corral_call_argument(call, 0);
    return corral_fail(CORRAL_ERROR_NOT_FINITE, "%.*s", (int)text.size, (const char *)text.data);
}

static corral_status nothing(corral_call *call)
{
    (void)call;
    return CORRAL_OK;
}

static corral_status process(corral_call *call)
{
    return give(call, getpid());
}

static corral_status attempt(corral_call *call)
{
    return give(call, corral_call_attempt(call));
}

// Dies in the first `n` attempts.
static corral_status die(corral_call *call)
{
    if (corral_call_attempt(call) < number(call, 0)) kill(getpid(), SIGKILL);
    return give(call, corral_call_attempt(call));
}

static corral_status nap(corral_call *call)
{
    const int64_t until = corral_now_ns() + (int64_t)(number(call, 0) * 1e6);
    while (corral_now_ns() < until) {
        if (corral_call_is_cancelled(call))
            return corral_fail(CORRAL_ERROR_CANCELLED, "the nap was cut short");
        corral_sleep_ns(CORRAL_MILLISECOND);
    }
    return give(call, number(call, 0));
}

// `n` bytes that count up.
static corral_status make(corral_call *call)
{
    const size_t size = (size_t)number(call, 0);
    void *data;
    const corral_status status = corral_call_return_into(call, size, &data);
    for (size_t i = 0; status == CORRAL_OK && i < size; i++)
        ((uint8_t *)data)[i] = (uint8_t)i;
    return status;
}

// The sum of all arguments' bytes, whose addresses are multiples of 64.
static corral_status weigh(corral_call *call)
{
    double sum = 0;
    for (size_t k = 0; k < corral_call_count(call); k++) {
        const corral_bytes bytes = corral_call_argument(call, k);
        const uint8_t *data = bytes.data;
        if ((uintptr_t)data % 64 != 0)
            return corral_fail(CORRAL_ERROR_INVALID, "argument %zu is not aligned", k);
        for (size_t i = 0; i < bytes.size; i++)
            sum += data[i];
    }
    return give(call, sum);
}

// Two tasks for each, down to 1: a tree of processes that wait for each other.
static corral_status fibonacci(corral_call *call)
{
    const double n = number(call, 0);
    if (n < 2) return give(call, n);
    corral_client *client = corral_call_client(call);
    corral_ref *parts[2] = {NULL, NULL};
    double sum = 0;
    corral_status status = CORRAL_OK;
    for (int i = 0; i < 2 && status == CORRAL_OK; i++) {
        const double less = n - 1 - i;
        const corral_argument argument = corral_argument_bytes(&less, sizeof less);
        status = corral_task_submit(client, "fibonacci", &argument, 1, NULL, &parts[i]);
    }
    for (int i = 0; i < 2 && status == CORRAL_OK; i++) {
        corral_bytes bytes;
        status = corral_get(parts[i], -1, &bytes);
        if (status == CORRAL_OK) sum += *(const double *)bytes.data;
    }
    for (int i = 0; i < 2; i++)
        corral_release(parts[i]);
    return status == CORRAL_OK ? give(call, sum) : status;
}

// The value behind a reference, got from inside.
static corral_status look(corral_call *call)
{
    corral_bytes bytes;
    const corral_status status = corral_get(corral_call_reference(call, 0), -1, &bytes);
    return status == CORRAL_OK ? corral_call_return(call, bytes.data, bytes.size) : status;
}

// Adds to an actor that came as a reference.
static corral_status tell(corral_call *call)
{
    const double one = 1;
    const corral_argument argument = corral_argument_bytes(&one, sizeof one);
    corral_ref *result = NULL;
    corral_bytes bytes;
    corral_status status =
        corral_actor_call(corral_call_reference(call, 0), "add", &argument, 1, NULL, &result);
    if (status == CORRAL_OK) status = corral_get(result, -1, &bytes);
    if (status == CORRAL_OK) status = corral_call_return(call, bytes.data, bytes.size);
    corral_release(result);
    return status;
}

// Submits a long task and dies without waiting for it.
static corral_status abandon(corral_call *call)
{
    (void)call;
    kill(getpid(), SIGKILL);
    return CORRAL_OK;
}

static corral_status gpus(corral_call *call)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    return text != NULL ? corral_call_return(call, text, strlen(text)) : CORRAL_OK;
}

// One line into a file for each run: what was run, and how often.
static corral_status note(corral_call *call)
{
    char path[256] = "";
    const corral_bytes file = corral_call_argument(call, 0), text = corral_call_argument(call, 1);
    memcpy(path, file.data, file.size < sizeof path ? file.size : 0);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && write(fd, text.data, text.size) == (ssize_t)text.size;
    if (fd >= 0) close(fd);
    return written ? CORRAL_OK : corral_fail(CORRAL_ERROR_IO, "cannot write %s", path);
}

// --- a counter ---------------------------------------------------------------------------------------------

typedef struct counter {
    double value;
    corral_ref *kept;
} counter;

static corral_status counter_create(corral_call *call, void **out_self)
{
    if (corral_call_count(call) > 1)
        return corral_fail(CORRAL_ERROR_INVALID, "a counter begins with one number");
    counter *self = calloc(1, sizeof *self);
    if (self == NULL) return CORRAL_ERROR_NO_MEMORY;
    self->value = corral_call_count(call) > 0 ? number(call, 0) : 0;
    *out_self = self;
    return CORRAL_OK;
}

static void counter_destroy(void *context)
{
    counter *self = context;
    corral_release(self->kept);
    free(self);
}

static corral_status counter_add(void *context, corral_call *call)
{
    counter *self = context;
    self->value += number(call, 0);
    return give(call, self->value);
}

static corral_status counter_process(void *self, corral_call *call)
{
    (void)self;
    return process(call);
}

static corral_status counter_fail(void *self, corral_call *call)
{
    (void)self;
    return fail(call);
}

static corral_status counter_die(void *self, corral_call *call)
{
    (void)self;
    return die(call);
}

static corral_status counter_nap(void *self, corral_call *call)
{
    (void)self;
    return nap(call);
}

static corral_status counter_note(void *self, corral_call *call)
{
    (void)self;
    return note(call);
}

// Keeps a reference over calls: it borrows.
static corral_status counter_keep(void *context, corral_call *call)
{
    counter *self = context;
    self->kept = corral_retain(corral_call_reference(call, 0));
    return CORRAL_OK;
}

static corral_status counter_kept(void *context, corral_call *call)
{
    counter *self = context;
    corral_bytes bytes;
    corral_status status = corral_get(self->kept, -1, &bytes);
    const uint8_t *data = bytes.data;
    double sum = 0;
    for (size_t i = 0; status == CORRAL_OK && i < bytes.size; i++)
        sum += data[i];
    if (status == CORRAL_OK) status = give(call, sum);
    corral_release(self->kept);
    self->kept = NULL;
    return status;
}

static const corral_named_method counter_methods[] = {
    {"add", counter_add},   {"process", counter_process}, {"fail", counter_fail},
    {"die", counter_die},   {"nap", counter_nap},         {"note", counter_note},
    {"keep", counter_keep}, {"kept", counter_kept},       {NULL, NULL},
};

static const corral_class counter_class = {
    .name = "counter", .create = counter_create, .destroy = counter_destroy, .methods = counter_methods};

static const corral_named_function functions[] = {
    {"square", square},       {"add", add},   {"fail", fail}, {"nothing", nothing}, {"process", process},
    {"attempt", attempt},     {"die", die},   {"nap", nap},   {"make", make},       {"weigh", weigh},
    {"fibonacci", fibonacci}, {"look", look}, {"tell", tell}, {"abandon", abandon}, {"gpus", gpus},
    {"note", note},           {NULL, NULL},
};

static const corral_class *const classes[] = {&counter_class, NULL};

const corral_library runtime_library = {CORRAL_LIBRARY_ABI, functions, classes};
