// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Reading safetensors.
///
///     u64 little endian   N, the length of the table, at most 16 MiB
///     N bytes             JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
///                         with an optional "__metadata__" of texts, padded with spaces
///     the rest            the data that the offsets count in
///
/// The file comes from anywhere, so nothing is believed: the table is scanned for its depth and the number
/// of its values before the JSON library may build a tree of it; an offset must be whole and exact in a
/// double; a shape's bytes are multiplied with care and must equal the offsets' difference; and the tensors,
/// put in order, must follow each other from the first byte of the data to the last.
///
/// Each tensor is then copied to a place of its own that is aligned to 64 bytes, wherever the file has it.
#include "corral/base/safetensors.h"

#include "config_value.h"
#include "stored_type.h"

#include "corral/base/file.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the data of the file is little endian");

enum {
    LENGTH_SIZE = 8,
    TABLE_LIMIT = 16 << 20,
    DEPTH_LIMIT = 3,        // the table, a tensor, its shape
    VALUES_LIMIT = 1 << 20, // of the whole table; the tree takes some 64 bytes for each
    ALIGNMENT = 64,
};

struct corral_safetensors {
    cJSON *table; // owns the names and the metadata
    corral_stored_tensor *tensors;
    size_t count;
    unsigned char *data;
};

const corral_stored_type_info corral_stored_types[CORRAL_STORED_TYPE_COUNT] = {
    [CORRAL_STORED_F32] = {"F32", 4}, [CORRAL_STORED_F64] = {"F64", 8}, [CORRAL_STORED_I64] = {"I64", 8},
    [CORRAL_STORED_I32] = {"I32", 4}, [CORRAL_STORED_U8] = {"U8", 1},
};

bool corral_stored_size(corral_stored_type type, const uint64_t *shape, uint32_t dimension_count,
                        uint64_t *out_size)
{
    uint64_t size = corral_stored_types[type].size;
    bool fits = true;
    for (uint32_t i = 0; i < dimension_count; i++)
        fits = !__builtin_mul_overflow(size, shape[i], &size) && fits;
    *out_size = size;
    return fits;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *corral_repeated_name(const char **names, size_t count)
{
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0) return names[i];
    return NULL;
}

static corral_status no_memory(void)
{
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the tensors");
}

static corral_status corrupt(const char *what)
{
    return corral_fail(CORRAL_ERROR_CORRUPT, "not a sound safetensors file: %s", what);
}

// --- the table as text

// Steps over a string that begins at the quote; gives the byte after it, or NULL. A "\u0000" would end a
// name early without a trace.
static const char *skip_string(const char *text, const char *end)
{
    for (text++; text < end && *text != '"'; text++) {
        if (*text != '\\') continue;
        if (++text == end) return NULL;
        if (end - text >= 5 && memcmp(text, "u0000", 5) == 0) return NULL;
    }
    return text < end ? text + 1 : NULL;
}

// Not a check of the syntax, which the JSON library does, but of what the library would be made to build.
static corral_status check_extent(const char *text, size_t size)
{
    const char *const end = text + size;
    int depth = 0;
    size_t values = 0;
    while (text < end) {
        if (*text == '"') {
            text = skip_string(text, end);
            if (text == NULL) return corrupt("a name in the table does not end or holds a zero");
            continue;
        }
        if (*text == '{' || *text == '[') {
            depth++;
            values++;
        } else if (*text == '}' || *text == ']') {
            depth--;
        } else if (*text == ',') {
            values++;
        } else if (*text == '\0') {
            return corrupt("the table holds a zero byte");
        }
        if (depth > DEPTH_LIMIT) return corrupt("the table is nested too deep");
        if (values > VALUES_LIMIT) return corrupt("the table has more than a million values");
        text++;
    }
    return CORRAL_OK;
}

static corral_status parse_table(const char *text, size_t size, cJSON **out_table)
{
    if (size == 0 || text[0] != '{') return corrupt("the table does not begin with {");
    const corral_status status = check_extent(text, size);
    if (status != CORRAL_OK) return status;

    const char *end = NULL;
    cJSON *table = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (table == NULL) return corrupt("the table is not JSON");
    for (; end < text + size; end++) {
        if (*end == ' ') continue;
        cJSON_Delete(table);
        return corrupt("something follows the table's last brace");
    }
    *out_table = table;
    return CORRAL_OK;
}

// --- one tensor

static bool is_metadata(const cJSON *item)
{
    return strcmp(item->string, "__metadata__") == 0;
}

// A count or an offset: whole, and small enough for a double to hold it exactly.
static bool read_whole(const cJSON *item, uint64_t *out_value)
{
    if (!cJSON_IsNumber(item)) return false;
    const double value = item->valuedouble;
    if (!(value >= 0 && value <= 0x1p53) || value != (double)(uint64_t)value) return false;
    *out_value = (uint64_t)value;
    return true;
}

static corral_status read_type(const cJSON *item, corral_stored_type *out_type)
{
    if (!cJSON_IsString(item)) return corrupt("no dtype");
    for (int type = 0; type < CORRAL_STORED_TYPE_COUNT; type++) {
        if (strcmp(corral_stored_types[type].name, item->valuestring) == 0) {
            *out_type = (corral_stored_type)type;
            return CORRAL_OK;
        }
    }
    return corral_fail(CORRAL_ERROR_UNSUPPORTED, "the dtype \"%.16s\" is not one of F32, F64, I64, I32, U8",
                       item->valuestring);
}

static corral_status read_shape(const cJSON *item, corral_stored_tensor *tensor)
{
    if (!cJSON_IsArray(item)) return corrupt("no shape");
    const cJSON *dimension = NULL;
    cJSON_ArrayForEach(dimension, item)
    {
        if (tensor->dimension_count == CORRAL_SAFETENSORS_DIMENSIONS)
            return corral_fail(CORRAL_ERROR_UNSUPPORTED, "more than %d dimensions",
                               CORRAL_SAFETENSORS_DIMENSIONS);
        if (!read_whole(dimension, &tensor->shape[tensor->dimension_count]))
            return corrupt("a dimension is not a whole number");
        tensor->dimension_count++;
    }
    return CORRAL_OK;
}

// Where a tensor lies in the file's data.
typedef struct extent {
    uint64_t begin, end;
    size_t tensor; // its index
} extent;

static corral_status read_extent(const cJSON *item, uint64_t data_size, extent *out_extent)
{
    const bool is_pair = cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2;
    if (!is_pair || !read_whole(cJSON_GetArrayItem(item, 0), &out_extent->begin) ||
        !read_whole(cJSON_GetArrayItem(item, 1), &out_extent->end))
        return corrupt("data_offsets are not two whole numbers");
    if (out_extent->begin > out_extent->end || out_extent->end > data_size)
        return corrupt("data_offsets lie outside the file");
    return CORRAL_OK;
}

static corral_status read_tensor(const cJSON *item, uint64_t data_size, corral_stored_tensor *tensor,
                                 extent *out_extent)
{
    // Three members of which each of three names is one: so none is there twice.
    if (!cJSON_IsObject(item) || cJSON_GetArraySize(item) != 3)
        return corrupt("not an object of dtype, shape and data_offsets");
    tensor->name = item->string;
    corral_status status = read_type(cJSON_GetObjectItemCaseSensitive(item, "dtype"), &tensor->type);
    if (status == CORRAL_OK) status = read_shape(cJSON_GetObjectItemCaseSensitive(item, "shape"), tensor);
    if (status == CORRAL_OK)
        status = read_extent(cJSON_GetObjectItemCaseSensitive(item, "data_offsets"), data_size, out_extent);
    if (status != CORRAL_OK) return status;

    uint64_t size = 0;
    if (!corral_stored_size(tensor->type, tensor->shape, tensor->dimension_count, &size) ||
        size != out_extent->end - out_extent->begin)
        return corrupt("shape and data_offsets disagree");
    tensor->size = (size_t)size;
    return CORRAL_OK;
}

// --- all tensors

// Names of the table's and of the metadata's members: printable, and each there once.
static corral_status check_names(const cJSON *object)
{
    const size_t count = (size_t)cJSON_GetArraySize(object);
    const char **names = calloc(count + 1, sizeof *names);
    if (names == NULL) return no_memory();
    corral_status status = CORRAL_OK;
    size_t i = 0;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, object)
    {
        if (!corral_text_is_one_line(item->string, strlen(item->string)))
            status = corrupt("a name holds a control character");
        names[i++] = item->string;
    }
    const char *repeated = status == CORRAL_OK ? corral_repeated_name(names, count) : NULL;
    if (repeated != NULL)
        status = corral_fail(CORRAL_ERROR_CORRUPT, "not a sound safetensors file: \"%.100s\" is there twice",
                             repeated);
    free(names);
    return status;
}

static corral_status check_metadata(const cJSON *table)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(table, "__metadata__");
    if (metadata == NULL) return CORRAL_OK;
    if (!cJSON_IsObject(metadata)) return corrupt("__metadata__ is not an object");
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, metadata) if (!cJSON_IsString(item)) return corrupt(
        "a value of __metadata__ is not text");
    return check_names(metadata);
}

static int compare_extents(const void *a, const void *b)
{
    const extent *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

// Leaves the extents in order.
static corral_status check_cover(extent *extents, size_t count, uint64_t data_size)
{
    qsort(extents, count, sizeof *extents, compare_extents);
    uint64_t covered = 0;
    for (size_t i = 0; i < count; i++) {
        if (extents[i].begin != covered) return corrupt("tensors overlap or leave a hole");
        covered = extents[i].end;
    }
    return covered == data_size ? CORRAL_OK : corrupt("bytes follow the last tensor");
}

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static corral_status copy_data(corral_safetensors *file, const extent *extents, const unsigned char *data)
{
    size_t total = ALIGNMENT;
    for (size_t i = 0; i < file->count; i++)
        total += round_up(file->tensors[i].size);
    file->data = aligned_alloc(ALIGNMENT, total);
    if (file->data == NULL) return no_memory();
    unsigned char *place = file->data;
    for (size_t i = 0; i < file->count; i++) {
        corral_stored_tensor *tensor = &file->tensors[extents[i].tensor];
        memcpy(place, data + extents[i].begin, tensor->size);
        tensor->data = place;
        place += round_up(tensor->size);
    }
    return CORRAL_OK;
}

static corral_status read_tensors(corral_safetensors *file, extent *extents, const unsigned char *data,
                                  size_t data_size)
{
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, file->table)
    {
        if (is_metadata(item)) continue;
        extent *where = &extents[file->count];
        where->tensor = file->count;
        const corral_status status = read_tensor(item, data_size, &file->tensors[file->count], where);
        if (status != CORRAL_OK) return corral_fail_within(status, "tensor \"%.100s\"", item->string);
        file->count++;
    }
    // Before anything is allocated by their sizes: tensors that overlap could ask for any amount.
    const corral_status status = check_cover(extents, file->count, data_size);
    return status == CORRAL_OK ? copy_data(file, extents, data) : status;
}

static corral_status read_file(corral_safetensors *file, const unsigned char *bytes, size_t size)
{
    uint64_t table_size = 0;
    if (size < LENGTH_SIZE) return corrupt("shorter than its length field");
    memcpy(&table_size, bytes, LENGTH_SIZE);
    if (table_size > TABLE_LIMIT || table_size > size - LENGTH_SIZE)
        return corrupt("the table's length is beyond the file or 16 MiB");

    const unsigned char *table = bytes + LENGTH_SIZE;
    corral_status status = parse_table((const char *)table, (size_t)table_size, &file->table);
    if (status == CORRAL_OK) status = check_names(file->table);
    if (status == CORRAL_OK) status = check_metadata(file->table);
    if (status != CORRAL_OK) return status;

    const size_t most = (size_t)cJSON_GetArraySize(file->table) + 1;
    extent *extents = calloc(most, sizeof *extents);
    file->tensors = calloc(most, sizeof *file->tensors);
    status = extents != NULL && file->tensors != NULL
                 ? read_tensors(file, extents, table + table_size, size - LENGTH_SIZE - (size_t)table_size)
                 : no_memory();
    free(extents);
    return status;
}

corral_status corral_safetensors_parse(const char *name, const void *bytes, size_t size,
                                       corral_safetensors **out_file)
{
    corral_safetensors *file = calloc(1, sizeof *file);
    const corral_status status = file != NULL ? read_file(file, bytes, size) : no_memory();
    if (status != CORRAL_OK) {
        corral_safetensors_destroy(file);
        return corral_fail_within(status, "%s", name);
    }
    *out_file = file;
    return CORRAL_OK;
}

corral_status corral_safetensors_read(const char *path, corral_safetensors **out_file)
{
    char *bytes = NULL;
    size_t size = 0;
    corral_status status = corral_file_read(path, SIZE_MAX - 1, &bytes, &size);
    if (status != CORRAL_OK) return status;
    status = corral_safetensors_parse(path, bytes, size, out_file);
    free(bytes);
    return status;
}

size_t corral_safetensors_count(const corral_safetensors *file)
{
    return file->count;
}

const corral_stored_tensor *corral_safetensors_at(const corral_safetensors *file, size_t index)
{
    return index < file->count ? &file->tensors[index] : NULL;
}

const corral_stored_tensor *corral_safetensors_find(const corral_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const char *corral_safetensors_metadata(const corral_safetensors *file, const char *key)
{
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(file->table, "__metadata__");
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(metadata, key));
}

void corral_safetensors_destroy(corral_safetensors *file)
{
    if (file == NULL) return;
    cJSON_Delete(file->table);
    free(file->tensors);
    free(file->data);
    free(file);
}
