// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "spawn_message.h"

#include <stdbool.h>
#include <string.h>

enum { STDERR_BIT = CORRAL_SPAWN_FDS_MAX };

_Static_assert(CORRAL_SPAWN_FDS_MAX + 1 <= CORRAL_MESSAGE_FDS_MAX, "all descriptors fit into one message");

typedef struct word_writer {
    char *tail;
    size_t used;
    bool full;
} word_writer;

static void write_word(word_writer *writer, const char *word)
{
    const size_t size = strlen(word) + 1;
    writer->full = writer->full || size > CORRAL_MESSAGE_TAIL_MAX - writer->used;
    if (writer->full) return;
    memcpy(writer->tail + writer->used, word, size);
    writer->used += size;
}

static size_t write_words(word_writer *writer, const char *const *words)
{
    size_t count = 0;
    for (; words != NULL && words[count] != NULL; count++)
        write_word(writer, words[count]);
    return count;
}

corral_status corral_spawn_pack(const corral_spawn *spawn, corral_message *out_message, char *tail,
                                int *out_fds, size_t *out_fd_count)
{
    word_writer writer = {.tail = tail};
    corral_message message = {.kind = CORRAL_MESSAGE_SPAWN};
    write_word(&writer, spawn->program);
    message.length = write_words(&writer, spawn->arguments);
    message.generation = write_words(&writer, spawn->environment);
    if (writer.full || message.length > CORRAL_SPAWN_WORDS_MAX || message.generation > CORRAL_SPAWN_WORDS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "cannot start %s: more than %d words or %d bytes of arguments", spawn->program,
                           CORRAL_SPAWN_WORDS_MAX, CORRAL_MESSAGE_TAIL_MAX);
    message.tail_size = (uint32_t)writer.used;

    size_t count = 0;
    for (unsigned i = 0; i <= STDERR_BIT; i++) {
        const int fd = i == STDERR_BIT ? spawn->stderr_fd : spawn->fds[i];
        if (fd < 0) continue;
        message.code |= 1u << i;
        out_fds[count++] = fd;
    }
    *out_message = message;
    *out_fd_count = count;
    return CORRAL_OK;
}

// Each word ends inside the tail, because the tail ends with a zero byte: NULL when there is none left.
static const char *read_word(const char *tail, size_t size, size_t *position)
{
    if (*position >= size) return NULL;
    const char *word = tail + *position;
    *position += strlen(word) + 1;
    return word;
}

static bool read_words(const char *tail, size_t size, size_t *position, uint64_t count,
                       const char **out_words)
{
    if (count > CORRAL_SPAWN_WORDS_MAX) return false;
    for (uint64_t i = 0; i < count; i++) {
        out_words[i] = read_word(tail, size, position);
        if (out_words[i] == NULL) return false;
    }
    out_words[count] = NULL;
    return true;
}

corral_status corral_spawn_unpack(const corral_message *message, const char *tail, const int *fds,
                                  corral_spawn_words *words, corral_spawn *out_spawn)
{
    const size_t size = message->tail_size;
    size_t position = 0;
    if (size == 0 || tail[size - 1] != '\0')
        return corral_fail(CORRAL_ERROR_CORRUPT, "a SPAWN without its words");
    *out_spawn = (corral_spawn){.program = read_word(tail, size, &position)};
    if (!read_words(tail, size, &position, message->length, words->arguments) ||
        !read_words(tail, size, &position, message->generation, words->environment))
        return corral_fail(CORRAL_ERROR_CORRUPT, "a SPAWN lacks some of its words");
    out_spawn->arguments = words->arguments;
    out_spawn->environment = words->environment;

    for (unsigned i = 0, taken = 0; i <= STDERR_BIT; i++) {
        const bool there = (message->code >> i & 1) != 0 && taken < CORRAL_MESSAGE_FDS_MAX;
        const int fd = there ? fds[taken++] : -1;
        if (i == STDERR_BIT)
            out_spawn->stderr_fd = fd;
        else
            out_spawn->fds[i] = fd;
    }
    return CORRAL_OK;
}
