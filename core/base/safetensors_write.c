// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Writing safetensors (the layout is at the top of safetensors.c).
///
/// The table lists the tensors as they were given. The data goes by element size, largest first: as the
/// format allows no holes, that is what keeps each tensor aligned for its type. Spaces behind the table make
/// the data start at a multiple of 64 bytes, so that a mapped file can be used where it lies.
#include "corral/base/safetensors.h"

#include "config_value.h"
#include "stored_type.h"

#include "atomic_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_SIZE = 8, DATA_ALIGNMENT = 64, TABLE_LIMIT = 16 << 20 };

static const size_t element_sizes[] = {8, 4, 1};
enum { ELEMENT_SIZE_COUNT = sizeof element_sizes / sizeof element_sizes[0] };

static corral_status no_memory(void)
{
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the table of tensors");
}

// --- what may be written

static corral_status check_tensor(const corral_stored_tensor *tensor)
{
    uint64_t size = 0;
    if (tensor->name == NULL || !corral_text_is_one_line(tensor->name, strlen(tensor->name)) ||
        strcmp(tensor->name, "__metadata__") == 0)
        return corral_fail(CORRAL_ERROR_INVALID, "a tensor's name is missing, reserved or not printable");
    if ((unsigned)tensor->type >= CORRAL_STORED_TYPE_COUNT ||
        tensor->dimension_count > CORRAL_SAFETENSORS_DIMENSIONS)
        return corral_fail(CORRAL_ERROR_INVALID, "tensor \"%s\": an unknown type or too many dimensions",
                           tensor->name);
    if (!corral_stored_size(tensor->type, tensor->shape, tensor->dimension_count, &size) ||
        size != tensor->size)
        return corral_fail(CORRAL_ERROR_INVALID, "tensor \"%s\": %zu bytes do not fit its shape",
                           tensor->name, tensor->size);
    return CORRAL_OK;
}

static corral_status check_unique(const char **names, size_t count)
{
    const char *repeated = corral_repeated_name(names, count);
    if (repeated == NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "the name \"%s\" is there twice", repeated);
}

static size_t count_pairs(const char *const *metadata)
{
    size_t count = 0;
    while (metadata != NULL && metadata[2 * count] != NULL)
        count++;
    return count;
}

static corral_status check_all(const corral_stored_tensor *tensors, size_t count, const char *const *metadata)
{
    const size_t pair_count = count_pairs(metadata);
    const char **names = calloc(count + pair_count + 1, sizeof *names);
    if (names == NULL) return no_memory();
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < count && status == CORRAL_OK; i++) {
        status = check_tensor(&tensors[i]);
        names[i] = tensors[i].name;
    }
    for (size_t i = 0; i < pair_count && status == CORRAL_OK; i++) {
        names[count + i] = metadata[2 * i];
        if (!corral_text_is_one_line(metadata[2 * i], strlen(metadata[2 * i])))
            status = corral_fail(CORRAL_ERROR_INVALID, "a key of the metadata is not printable");
    }
    if (status == CORRAL_OK) status = check_unique(names, count);
    if (status == CORRAL_OK) status = check_unique(names + count, pair_count);
    free(names);
    return status;
}

// --- the table

static void write_json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void write_tensor(const corral_stored_tensor *tensor, uint64_t begin, FILE *out)
{
    write_json_text(tensor->name, out);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", corral_stored_types[tensor->type].name);
    for (uint32_t i = 0; i < tensor->dimension_count; i++)
        fprintf(out, "%s%" PRIu64, i > 0 ? "," : "", tensor->shape[i]);
    fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + tensor->size);
}

static void write_metadata(const char *const *metadata, FILE *out)
{
    fputs("\"__metadata__\":{", out);
    for (size_t i = 0; metadata[i] != NULL; i += 2) {
        if (i > 0) fputc(',', out);
        write_json_text(metadata[i], out);
        fputc(':', out);
        write_json_text(metadata[i + 1], out);
    }
    fputc('}', out);
}

// Where each tensor begins in the data.
static void place_tensors(const corral_stored_tensor *tensors, size_t count, uint64_t *out_begins)
{
    uint64_t next = 0;
    for (size_t pass = 0; pass < ELEMENT_SIZE_COUNT; pass++) {
        for (size_t i = 0; i < count; i++) {
            if (corral_stored_types[tensors[i].type].size != element_sizes[pass]) continue;
            out_begins[i] = next;
            next += tensors[i].size;
        }
    }
}

static void write_table(const corral_stored_tensor *tensors, size_t count, const char *const *metadata,
                        const uint64_t *begins, FILE *out)
{
    fputc('{', out);
    if (metadata != NULL) write_metadata(metadata, out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || metadata != NULL) fputc(',', out);
        write_tensor(&tensors[i], begins[i], out);
    }
    fputc('}', out);
    while ((LENGTH_SIZE + ftell(out)) % DATA_ALIGNMENT != 0)
        fputc(' ', out);
}

static corral_status format_table(const corral_stored_tensor *tensors, size_t count,
                                  const char *const *metadata, char **out_table, size_t *out_size)
{
    uint64_t *begins = calloc(count + 1, sizeof *begins);
    FILE *out = begins != NULL ? open_memstream(out_table, out_size) : NULL;
    if (out == NULL) {
        free(begins);
        return no_memory();
    }
    place_tensors(tensors, count, begins);
    write_table(tensors, count, metadata, begins, out);
    free(begins);
    if (fclose(out) != 0) return no_memory();
    if (*out_size > TABLE_LIMIT)
        return corral_fail(CORRAL_ERROR_INVALID, "the names of the tensors take over 16 MiB");
    return CORRAL_OK;
}

// --- the file

static corral_status write_data(corral_atomic_file *file, const corral_stored_tensor *tensors, size_t count)
{
    corral_status status = CORRAL_OK;
    for (size_t pass = 0; pass < ELEMENT_SIZE_COUNT; pass++)
        for (size_t i = 0; i < count && status == CORRAL_OK; i++)
            if (corral_stored_types[tensors[i].type].size == element_sizes[pass])
                status = corral_atomic_file_write(file, tensors[i].data, tensors[i].size);
    return status;
}

static corral_status write_file(const char *path, const char *table, uint64_t table_size,
                                const corral_stored_tensor *tensors, size_t count)
{
    corral_atomic_file file;
    corral_status status = corral_atomic_file_open(&file, path);
    if (status == CORRAL_OK) status = corral_atomic_file_write(&file, &table_size, LENGTH_SIZE);
    if (status == CORRAL_OK) status = corral_atomic_file_write(&file, table, (size_t)table_size);
    if (status == CORRAL_OK) status = write_data(&file, tensors, count);
    if (status == CORRAL_OK) status = corral_atomic_file_commit(&file);
    corral_atomic_file_abandon(&file);
    return status;
}

corral_status corral_safetensors_write(const char *path, const corral_stored_tensor *tensors, size_t count,
                                       const char *const *metadata)
{
    char *table = NULL;
    size_t table_size = 0;
    corral_status status = check_all(tensors, count, metadata);
    if (status == CORRAL_OK) status = format_table(tensors, count, metadata, &table, &table_size);
    if (status == CORRAL_OK)
        status = write_file(path, table, table_size, tensors, count);
    else
        status = corral_fail_within(status, "%s", path);
    free(table);
    return status;
}
