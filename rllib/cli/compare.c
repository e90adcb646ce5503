// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Compares what the determinism contract promises: policy, optimizer and state of two runs' last
/// checkpoints, and the target network and the replay where both have one.
#include "cli.h"

#include "corral/base/file.h"
#include "corral/base/safetensors.h"
#include "corral/proto/checkpoint.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t size_limit = (size_t)1 << 31;

typedef struct side {
    const char *name; // as given
    char *checkpoint;
    char *bytes;
    size_t size;
} side;

static corral_status read_side(side *s, const char *file)
{
    char *path = corral_format("%s/%s", s->checkpoint, file);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    free(s->bytes);
    s->bytes = NULL;
    const corral_status status = corral_file_read(path, size_limit, &s->bytes, &s->size);
    free(path);
    return status;
}

static double element(const corral_stored_tensor *tensor, size_t index)
{
    if (tensor->type == CORRAL_STORED_F32) return ((const float *)tensor->data)[index];
    if (tensor->type == CORRAL_STORED_F64) return ((const double *)tensor->data)[index];
    return ((const unsigned char *)tensor->data)[index];
}

static void tell_tensor(const char *file, const side *a, const side *b, const corral_stored_tensor *x,
                        const corral_stored_tensor *y)
{
    const size_t width = x->type == CORRAL_STORED_F32   ? sizeof(float)
                         : x->type == CORRAL_STORED_F64 ? sizeof(double)
                                                        : 1;
    size_t i = 0;
    while (memcmp((const char *)x->data + i * width, (const char *)y->data + i * width, width) == 0)
        i++;
    printf("%s: \"%s\" differs first at element %zu: %.9g in %s, %.9g in %s\n", file, x->name, i,
           element(x, i), a->name, element(y, i), b->name);
}

static void tell_tensors(const char *file, const side *a, const side *b)
{
    corral_safetensors *left = NULL, *right = NULL;
    bool told = false;
    if (corral_safetensors_parse(a->name, a->bytes, a->size, &left) == CORRAL_OK &&
        corral_safetensors_parse(b->name, b->bytes, b->size, &right) == CORRAL_OK) {
        for (size_t i = 0; i < corral_safetensors_count(left) && !told; i++) {
            const corral_stored_tensor *x = corral_safetensors_at(left, i);
            const corral_stored_tensor *y = corral_safetensors_find(right, x->name);
            if (y == NULL || y->size != x->size || y->type != x->type) {
                printf("%s: \"%s\" is of another shape or missing in %s\n", file, x->name, b->name);
                told = true;
            } else if (memcmp(x->data, y->data, x->size) != 0) {
                tell_tensor(file, a, b, x, y);
                told = true;
            }
        }
    }
    for (size_t i = 0; right != NULL && i < corral_safetensors_count(right) && !told; i++) {
        const char *name = corral_safetensors_at(right, i)->name;
        if (corral_safetensors_find(left, name) != NULL) continue;
        printf("%s: \"%s\" is missing in %s\n", file, name, a->name);
        told = true;
    }
    if (!told) printf("%s: the metadata differ\n", file);
    corral_safetensors_destroy(left);
    corral_safetensors_destroy(right);
}

/// The line around a position, at most `size` bytes of it.
static void line_at(const side *s, size_t at, char *out, size_t size)
{
    while (at > 0 && s->bytes[at - 1] != '\n')
        at--;
    size_t used = 0;
    while (at < s->size && s->bytes[at] != '\n' && used + 1 < size) {
        if (used > 0 || (s->bytes[at] != ' ' && s->bytes[at] != '\t')) out[used++] = s->bytes[at];
        at++;
    }
    out[used] = '\0';
}

static void tell_text(const char *file, const side *a, const side *b)
{
    size_t at = 0, line = 1;
    while (at < a->size && at < b->size && a->bytes[at] == b->bytes[at])
        line += a->bytes[at++] == '\n';
    char left[100], right[100];
    line_at(a, at, left, sizeof left);
    line_at(b, at, right, sizeof right);
    printf("%s: line %zu differs: %s in %s, %s in %s\n", file, line, left, a->name, right, b->name);
}

static bool has(const side *s, const char *file)
{
    char *path = corral_format("%s/%s", s->checkpoint, file);
    const bool there = path != NULL && access(path, F_OK) == 0;
    free(path);
    return there;
}

enum { ALWAYS = 3 }; // files that each checkpoint has

static corral_status compare(side *a, side *b, bool *out_equal)
{
    static const char *const files[] = {"policy.safetensors", "optimizer.safetensors", "state.json",
                                        "target.safetensors", "replay.safetensors"};
    *out_equal = true;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (i >= ALWAYS && !(has(a, files[i]) && has(b, files[i]))) continue;
        corral_status status = read_side(a, files[i]);
        if (status == CORRAL_OK) status = read_side(b, files[i]);
        if (status != CORRAL_OK) return status;
        if (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0) continue;
        *out_equal = false;
        if (strstr(files[i], ".json") != NULL)
            tell_text(files[i], a, b);
        else
            tell_tensors(files[i], a, b);
    }
    return CORRAL_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const cli_flag flags[] = {{0}};
    bool help, equal = false;
    cli_words words;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    if (status == CORRAL_OK && words.count != 2)
        status = corral_fail(CORRAL_ERROR_INVALID, "compare takes two runs or checkpoints");
    side sides[2] = {{0}};
    for (int i = 0; i < 2 && status == CORRAL_OK; i++) {
        sides[i].name = words.word[i];
        status = corral_checkpoint_find(words.word[i], 0, &sides[i].checkpoint);
        if (status == CORRAL_OK)
            status = corral_checkpoint_verify(sides[i].checkpoint); // damage is no difference
    }
    if (status == CORRAL_OK) status = compare(&sides[0], &sides[1], &equal);
    for (int i = 0; i < 2; i++) {
        free(sides[i].checkpoint);
        free(sides[i].bytes);
    }
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (equal) printf("equal: policy, optimizer and state are the same bit for bit\n");
    return equal ? CLI_OK : CLI_NOT_REACHED;
}

const cli_command cli_compare = {"compare", "RUN_A RUN_B", "Compare two runs' last checkpoints bit for bit",
                                 run};
