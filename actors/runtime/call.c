// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// One call, from inside: its arguments, its result, and how a failure becomes a sentence that says where it
/// arose.
#include "client_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t corral_call_count(const corral_call *call)
{
    return call->count;
}

corral_bytes corral_call_argument(const corral_call *call, size_t index)
{
    return index < call->count ? call->values[index] : (corral_bytes){0};
}

corral_ref *corral_call_reference(const corral_call *call, size_t index)
{
    return index < call->count ? call->references[index] : NULL;
}

corral_client *corral_call_client(const corral_call *call)
{
    return call->client;
}

bool corral_call_is_cancelled(const corral_call *call)
{
    if (call->cancelled == NULL) return false;
    if (!atomic_load(call->cancelled)) { // the news may lie in the socket
        pthread_mutex_lock(&call->client->lock);
        client_poll(call->client);
        pthread_mutex_unlock(&call->client->lock);
    }
    return atomic_load(call->cancelled);
}

uint32_t corral_call_attempt(const corral_call *call)
{
    return call->attempt;
}

// --- the result --------------------------------------------------------------------------------------------

void call_discard_result(corral_call *call)
{
    if (call->result_segment == NULL) {
        free(call->result);
    } else {
        pthread_mutex_lock(&call->client->lock);
        client_store_freed(call->client, client_segment_id(call->result_segment), call->result_offset,
                           call->result_size);
        pthread_mutex_unlock(&call->client->lock);
    }
    call->result = NULL;
    call->result_segment = NULL;
    call->result_size = 0;
}

corral_status corral_call_return_into(corral_call *call, size_t size, void **out_data)
{
    call_discard_result(call);
    corral_status status = CORRAL_OK;
    if (size <= CORRAL_OBJECT_INLINE_MAX || call->client->local || call->here) {
        call->result = client_aligned(size);
        if (call->result == NULL)
            status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a result of %zu bytes", size);
    } else {
        pthread_mutex_lock(&call->client->lock);
        status = client_store_allocate(call->client, size, &call->result_segment, &call->result_offset,
                                       &call->result);
        pthread_mutex_unlock(&call->client->lock);
    }
    if (status != CORRAL_OK) return status;
    call->result_size = size;
    *out_data = call->result;
    return CORRAL_OK;
}

corral_status corral_call_return(corral_call *call, const void *data, size_t size)
{
    void *to;
    const corral_status status = corral_call_return_into(call, size, &to);
    if (status == CORRAL_OK && size > 0) memcpy(to, data, size);
    return status;
}

// --- running -----------------------------------------------------------------------------------------------

// "task "square": a number was expected (process 17)"
static corral_status explain(corral_status status, const char *kind, const char *name)
{
    if (status == CORRAL_OK) return CORRAL_OK;
    if (status < 0 || status >= CORRAL_STATUS_COUNT) status = CORRAL_ERROR_INVALID;
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s", corral_last_error());
    if (sentence[0] == '\0') snprintf(sentence, sizeof sentence, "%s", corral_status_name(status));
    return corral_fail(status, "%s \"%s\": %s (process %d)", kind, name, sentence, (int)getpid());
}

static void forget_last_error(void)
{
    (void)corral_fail(CORRAL_OK, "%s", "");
}

corral_status call_run_function(corral_call *call, const corral_library *library, const char *name)
{
    corral_function *function = library_function(library, name);
    if (function == NULL)
        return explain(corral_fail(CORRAL_ERROR_NOT_FOUND, "the library has no such function"), "task", name);
    forget_last_error();
    return explain(function(call), "task", name);
}

corral_status call_run_create(corral_call *call, const corral_class *class, const char *name, void **out_self)
{
    *out_self = NULL;
    if (class == NULL)
        return explain(corral_fail(CORRAL_ERROR_NOT_FOUND, "the library has no such class"), "actor", name);
    forget_last_error();
    return explain(class->create(call, out_self), "actor", name);
}

corral_status call_run_method(corral_call *call, const corral_class *class, void *self, const char *name)
{
    corral_method *method = library_method(class, name);
    char full[2 * CORRAL_NAME_MAX + 2];
    snprintf(full, sizeof full, "%s.%s", class->name, name);
    if (method == NULL)
        return explain(corral_fail(CORRAL_ERROR_NOT_FOUND, "the class has no such method"), "call", full);
    forget_last_error();
    return explain(method(self, call), "call", full);
}

corral_status corral_client_run(corral_client *client, const char *function, const char *const *arguments,
                                size_t count, void **out_bytes, size_t *out_size)
{
    corral_bytes *values = calloc(count + 1, sizeof *values);
    corral_ref **references = calloc(count + 1, sizeof(corral_ref *));
    corral_status status = CORRAL_OK;
    if (values == NULL || references == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a call");
    for (size_t i = 0; status == CORRAL_OK && i < count; i++)
        values[i] = (corral_bytes){arguments[i], strlen(arguments[i])};
    corral_call call = {
        .client = client, .count = count, .values = values, .references = references, .here = true};
    if (status == CORRAL_OK) status = call_run_function(&call, client->library, function);
    free(values);
    free(references);
    if (status != CORRAL_OK) {
        char sentence[1024];
        snprintf(sentence, sizeof sentence, "%s", corral_last_error());
        call_discard_result(&call);
        return corral_fail(status, "%s", sentence);
    }
    *out_bytes = call.result;
    *out_size = call.result_size;
    return CORRAL_OK;
}
