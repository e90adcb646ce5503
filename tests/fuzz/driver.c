// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Runs a fuzz target without a fuzzer: each file of its corpus as it is, then mutations of these files. All
/// chance comes from a stream with a fixed key, so that a failure comes back. When the target aborts, the
/// number of the mutation is printed, and
///
///     test_fuzz_config tests/fuzz/corpus/config 1234
///
/// runs that one alone. (After a sanitizer's report run with ASAN_OPTIONS=abort_on_error=1 to see it.)
#include "fuzz.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 256, FILE_LIMIT = 1 << 20, MUTATIONS = 20000, EDITS_MAX = 6, GROWTH = 4096 };

typedef struct input {
    char *bytes;
    size_t size;
} input;

typedef struct corpus {
    input files[FILES_MAX];
    size_t count;
} corpus;

// The buffer has just the size, so that AddressSanitizer sees the first byte read too many.
static void run_target(const unsigned char *bytes, size_t size)
{
    unsigned char *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

// --- mutations

typedef struct chance {
    uint64_t key, counter;
} chance;

static size_t pick(chance *c, size_t count)
{
    return count > 0 ? (size_t)(corral_stream_u64(c->key, c->counter++) % count) : 0;
}

static size_t flip_bit(chance *c, unsigned char *bytes, size_t size)
{
    if (size > 0) bytes[pick(c, size)] ^= (unsigned char)(1u << pick(c, 8));
    return size;
}

// Bytes that formats give a meaning, and the ends of what an integer holds.
static size_t set_byte(chance *c, unsigned char *bytes, size_t size)
{
    static const char meaningful[] = "{}[]\"'\\:,-.0123456789eE#&*!|>%@ \n\r\t\x00\x01\x7F\x80\xFF";
    if (size > 0) bytes[pick(c, size)] = (unsigned char)meaningful[pick(c, sizeof meaningful - 1)];
    return size;
}

static size_t set_number(chance *c, unsigned char *bytes, size_t size)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     0x7F,
                                     0x80,
                                     0xFF,
                                     0x7FFF,
                                     0xFFFF,
                                     INT32_MAX,
                                     UINT32_MAX,
                                     INT64_MAX,
                                     UINT64_MAX,
                                     UINT64_MAX - 7,
                                     UINT64_C(1) << 32,
                                     1 << 20};
    const size_t width = (size_t)1 << pick(c, 4);
    if (size < width) return size;
    const uint64_t value = edges[pick(c, sizeof edges / sizeof edges[0])];
    memcpy(bytes + pick(c, size - width + 1), &value, width);
    return size;
}

static size_t drop_range(chance *c, unsigned char *bytes, size_t size)
{
    if (size == 0) return 0;
    const size_t begin = pick(c, size);
    const size_t length = 1 + pick(c, pick(c, 4) == 0 ? size : 8); // mostly a few bytes
    const size_t end = begin + length < size ? begin + length : size;
    memmove(bytes + begin, bytes + end, size - end);
    return size - (end - begin);
}

static size_t cut_end(chance *c, unsigned char *bytes, size_t size)
{
    (void)bytes;
    return pick(c, size + 1);
}

// Says again, somewhere, a piece of what is there: repeated keys, deeper nesting, longer lists.
static size_t repeat_range(chance *c, unsigned char *bytes, size_t size)
{
    unsigned char piece[64];
    if (size == 0) return size;
    const size_t begin = pick(c, size);
    size_t length = 1 + pick(c, sizeof piece);
    if (length > size - begin) length = size - begin;
    memcpy(piece, bytes + begin, length);
    const size_t place = pick(c, size + 1);
    memmove(bytes + place + length, bytes + place, size - place);
    memcpy(bytes + place, piece, length);
    return size + length;
}

// Each takes and gives a size; none adds more than 64 bytes.
static size_t (*const edits[])(chance *c, unsigned char *bytes, size_t size) = {
    flip_bit, set_byte, set_number, drop_range, cut_end, repeat_range, set_byte, repeat_range,
};

static void run_mutation(const corpus *files, uint64_t number)
{
    chance c = {.key = corral_stream_key(0, CORRAL_STREAM_SHUFFLE, number)};
    const input *base = &files->files[pick(&c, files->count)];
    unsigned char *bytes = malloc(base->size + GROWTH);
    if (bytes == NULL) abort();
    memcpy(bytes, base->bytes, base->size);
    size_t size = base->size;
    for (size_t left = 1 + pick(&c, EDITS_MAX); left > 0; left--)
        size = edits[pick(&c, sizeof edits / sizeof edits[0])](&c, bytes, size);
    run_target(bytes, size);
    free(bytes);
}

// --- the corpus

static int by_content(const void *a, const void *b)
{
    const input *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? -1 : 1;
    return memcmp(x->bytes, y->bytes, x->size);
}

static int read_corpus(const char *folder, corpus *out_files)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) return 0;
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_name[0] == '.' || out_files->count == FILES_MAX) continue;
        char *path = corral_format("%s/%s", folder, entry->d_name);
        if (path == NULL) abort();
        input *file = &out_files->files[out_files->count];
        if (corral_file_read(path, FILE_LIMIT, &file->bytes, &file->size) == CORRAL_OK) out_files->count++;
        free(path);
    }
    closedir(entries);
    // A folder's order is the file system's; the mutations must not depend on it.
    qsort(out_files->files, out_files->count, sizeof out_files->files[0], by_content);
    return out_files->count > 0;
}

static char last_words[64]; // made beforehand, because a signal handler may not format

static void say_last_words(int signal_number)
{
    const ssize_t written = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void try_mutation(const corpus *files, uint64_t number)
{
    snprintf(last_words, sizeof last_words, "mutation %llu\n", (unsigned long long)number);
    run_mutation(files, number);
}

int main(int argc, char **argv)
{
    static corpus files;
    if (argc < 2 || !read_corpus(argv[1], &files)) {
        fprintf(stderr, "usage: %s CORPUS_FOLDER [MUTATION]\n", argv[0]);
        return 2;
    }
    signal(SIGABRT, say_last_words);
    if (argc > 2) {
        try_mutation(&files, strtoull(argv[2], NULL, 10));
        return 0;
    }
    for (size_t i = 0; i < files.count; i++)
        run_target((const unsigned char *)files.files[i].bytes, files.files[i].size);
    for (uint64_t number = 1; number <= MUTATIONS; number++)
        try_mutation(&files, number);
    printf("%zu files, %d mutations\n", files.count, MUTATIONS);
    for (size_t i = 0; i < files.count; i++)
        free(files.files[i].bytes);
    return 0;
}
