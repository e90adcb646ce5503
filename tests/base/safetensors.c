// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/safetensors.h"

#include "temporary.h"

#include <stdint.h>

// A file of this table and `data_size` zero bytes.
static corral_status parse(const char *table, size_t data_size, corral_safetensors **out_file)
{
    const uint64_t table_size = strlen(table);
    const size_t size = 8 + table_size + data_size;
    unsigned char *bytes = calloc(1, size);
    memcpy(bytes, &table_size, 8);
    for (size_t i = 0; i < table_size; i++)
        bytes[8 + i] = (unsigned char)table[i];
    const corral_status status = corral_safetensors_parse("x.safetensors", bytes, size, out_file);
    free(bytes);
    return status;
}

static void tensors_come_back(void)
{
    temporary_begin();
    const char *path = temporary_path("a.safetensors");
    const float weights[6] = {1, 2, 3, 4, 5, 6};
    const double moments[1] = {0.5};
    const uint8_t flags[3] = {7, 8, 9};
    const int64_t steps[2] = {-1, INT64_MAX};
    const corral_stored_tensor tensors[] = {
        {"flags", CORRAL_STORED_U8, 1, {3}, flags, sizeof flags},
        {"layer.\"0\".weight", CORRAL_STORED_F32, 2, {2, 3}, weights, sizeof weights},
        {"scalar", CORRAL_STORED_F64, 0, {0}, moments, sizeof moments},
        {"none", CORRAL_STORED_I32, 2, {0, 5}, weights, 0},
        {"steps", CORRAL_STORED_I64, 1, {2}, steps, sizeof steps},
    };
    const char *const metadata[] = {"algo", "ppo", "note", "two\nlines \"quoted\"", NULL};
    TEST_OK(corral_safetensors_write(path, tensors, 5, metadata));

    corral_safetensors *file = NULL;
    TEST_OK(corral_safetensors_read(path, &file));
    CU_ASSERT_EQUAL_FATAL(corral_safetensors_count(file), 5);
    for (size_t i = 0; i < 5; i++) {
        const corral_stored_tensor *found = corral_safetensors_at(file, i);
        CU_ASSERT_STRING_EQUAL(found->name, tensors[i].name);
        CU_ASSERT_EQUAL(found->type, tensors[i].type);
        CU_ASSERT_EQUAL(found->dimension_count, tensors[i].dimension_count);
        CU_ASSERT_EQUAL(memcmp(found->shape, tensors[i].shape, sizeof found->shape), 0);
        CU_ASSERT_EQUAL(found->size, tensors[i].size);
        CU_ASSERT_EQUAL((uintptr_t)found->data % 64, 0);
        CU_ASSERT_TRUE(found->size == 0 || memcmp(found->data, tensors[i].data, found->size) == 0);
        CU_ASSERT_PTR_EQUAL(corral_safetensors_find(file, found->name), found);
    }
    CU_ASSERT_PTR_NULL(corral_safetensors_at(file, 5));
    CU_ASSERT_PTR_NULL(corral_safetensors_find(file, "steps2"));
    CU_ASSERT_STRING_EQUAL(corral_safetensors_metadata(file, "algo"), "ppo");
    CU_ASSERT_STRING_EQUAL(corral_safetensors_metadata(file, "note"), metadata[3]);
    CU_ASSERT_PTR_NULL(corral_safetensors_metadata(file, "Algo"));
    corral_safetensors_destroy(file);
    temporary_end();
}

static void the_same_input_gives_the_same_aligned_bytes(void)
{
    temporary_begin();
    const float weights[2] = {1, 2};
    const corral_stored_tensor tensor = {"w", CORRAL_STORED_F32, 1, {2}, weights, sizeof weights};
    char *bytes[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const char *path = temporary_path(i == 0 ? "a" : "b");
        TEST_OK(corral_safetensors_write(path, &tensor, 1, NULL));
        TEST_OK(corral_file_read(path, 10000, &bytes[i], &sizes[i]));
    }
    CU_ASSERT_EQUAL(sizes[0], sizes[1]);
    CU_ASSERT_EQUAL(memcmp(bytes[0], bytes[1], sizes[0]), 0);
    uint64_t table_size = 0;
    memcpy(&table_size, bytes[0], 8);
    CU_ASSERT_EQUAL((8 + table_size) % 64, 0);
    CU_ASSERT_EQUAL(sizes[0], 8 + table_size + sizeof weights);
    CU_ASSERT_EQUAL(
        memcmp(bytes[0] + 8, "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} ", 53), 0);
    free(bytes[0]);
    free(bytes[1]);
    temporary_end();
}

/// Agents trained elsewhere are not part of the tree: CORRAL_AGENTS names a folder of them.
static void a_file_of_others_is_read(void)
{
    const char *folder = getenv("CORRAL_AGENTS");
    if (folder == NULL) {
        printf("skipped: CORRAL_AGENTS names no folder of agents ... ");
        return;
    }
    char *path = corral_format("%s/ppo-CartPole-v1.safetensors", folder);
    corral_safetensors *file = NULL;
    TEST_OK(corral_safetensors_read(path, &file));
    free(path);
    CU_ASSERT_EQUAL(corral_safetensors_count(file), 12);
    CU_ASSERT_STRING_EQUAL(corral_safetensors_metadata(file, "env_id"), "CartPole-v1");
    const corral_stored_tensor *weight = corral_safetensors_find(file, "mlp_extractor.policy_net.0.weight");
    if (weight == NULL) abort();
    CU_ASSERT_TRUE(weight->shape[0] == 64 && weight->shape[1] == 4 && weight->size == 1024);
    double largest = 0;
    for (size_t i = 0; i < 256; i++)
        largest = fmax(largest, fabs((double)((const float *)weight->data)[i]));
    CU_ASSERT_TRUE(largest > 0.1 && largest < 10); // weights, not noise
    corral_safetensors_destroy(file);
}

static void unsorted_and_odd_but_sound_is_read(void)
{
    corral_safetensors *file = NULL;
    // The table's order is not the data's; a one-byte tensor leaves the next one unaligned in the file.
    TEST_OK(parse("{\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]},"
                  "\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[1,1]},"
                  "\"a\":{\"data_offsets\":[0,1],\"shape\":[],\"dtype\":\"U8\"}}   ",
                  5, &file));
    CU_ASSERT_EQUAL(corral_safetensors_count(file), 3);
    CU_ASSERT_EQUAL((uintptr_t)corral_safetensors_find(file, "b")->data % 64, 0);
    corral_safetensors_destroy(file);
    TEST_OK(parse("{}", 0, &file));
    CU_ASSERT_EQUAL(corral_safetensors_count(file), 0);
    corral_safetensors_destroy(file);
    corral_safetensors_destroy(NULL);
}

#define TENSOR(name, shape, offsets)                                                                         \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void damage_is_refused(void)
{
    static const struct {
        const char *table;
        size_t data_size;
        const char *sentence;
    } cases[] = {
        {"", 0, "does not begin with {"},
        {"[]", 0, "does not begin with {"},
        {"{", 0, "not JSON"},
        {"{} x", 0, "something follows"},
        {"{\"a", 0, "does not end"},
        {"{\"a\\u0000b\":1}", 0, "holds a zero"},
        {"{\"a\\", 0, "does not end"},
        {"{\"a\":1}", 0, "tensor \"a\": not a sound safetensors file: not an object"},
        {"{\"a\":{\"b\":{\"c\":{}}}}", 0, "nested too deep"},
        {"{" TENSOR("a", "[1]", "[0,4]") "}", 3, "outside the file"},
        {"{" TENSOR("a", "[1]", "[0,4]") "}", 5, "bytes follow"},
        {"{" TENSOR("a", "[1]", "[1,5]") "}", 5, "overlap or leave a hole"},
        {"{" TENSOR("a", "[1]", "[0,4]") "," TENSOR("b", "[1]", "[0,4]") "}", 4, "overlap or leave a hole"},
        {"{" TENSOR("a", "[1]", "[0,4]") "," TENSOR("b", "[1]", "[8,12]") "}", 12, "overlap or leave a hole"},
        {"{" TENSOR("a", "[1]", "[0,4]") "," TENSOR("a", "[1]", "[4,8]") "}", 8, "\"a\" is there twice"},
        {"{" TENSOR("a", "[2]", "[0,4]") "}", 4, "disagree"},
        {"{" TENSOR("a", "[1]", "[4,0]") "}", 4, "outside the file"},
        {"{" TENSOR("a", "[1]", "[0,4,4]") "}", 4, "not two whole numbers"},
        {"{" TENSOR("a", "[1]", "[-4,0]") "}", 4, "not two whole numbers"},
        {"{" TENSOR("a", "[1]", "[0,4.5]") "}", 5, "not two whole numbers"},
        {"{" TENSOR("a", "[1]", "[0,1e300]") "}", 4, "not two whole numbers"},
        {"{" TENSOR("a", "[1]", "[0,\"4\"]") "}", 4, "not two whole numbers"},
        {"{" TENSOR("a", "[0.5]", "[0,2]") "}", 2, "not a whole number"},
        {"{" TENSOR("a", "[-1]", "[0,4]") "}", 4, "not a whole number"},
        {"{" TENSOR("a", "[4294967296,4294967296]", "[0,0]") "}", 0,
         "disagree"}, // 2^64 elements are none by overflow
        {"{" TENSOR("a", "[9007199254740992,4096,0]", "[0,0]") "}", 0, "disagree"},
        {"{" TENSOR("a", "[9007199254740994]", "[0,0]") "}", 0, "not a whole number"},
        {"{" TENSOR("a\\n", "[1]", "[0,4]") "}", 4, "control character"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1]}}", 4, "data_offsets are not"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", 4, "not an object of"},
        {"{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "no dtype"},
        {"{\"__metadata__\":[]}", 0, "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "not text"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "\"a\" is there twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        corral_safetensors *file = NULL;
        TEST_FAILS(parse(cases[i].table, cases[i].data_size, &file), CORRAL_ERROR_CORRUPT, cases[i].sentence);
        CU_ASSERT_EQUAL(strncmp(corral_last_error(), "x.safetensors: ", 15), 0);
    }
    corral_safetensors *file = NULL;
    TEST_FAILS(parse("{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2, &file),
               CORRAL_ERROR_UNSUPPORTED, "tensor \"a\": the dtype \"BF16\" is not one of");
    TEST_FAILS(parse("{" TENSOR("a", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, &file), CORRAL_ERROR_UNSUPPORTED,
               "more than 8");
}

static void a_false_length_is_refused(void)
{
    static const uint64_t lengths[] = {1, 3, UINT64_MAX, UINT64_MAX - 7, (16 << 20) + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        unsigned char bytes[10] = {[8] = '{', [9] = '}'};
        memcpy(bytes, &lengths[i], 8);
        corral_safetensors *file = NULL;
        CU_ASSERT_EQUAL(corral_safetensors_parse("x", bytes, sizeof bytes, &file), CORRAL_ERROR_CORRUPT);
    }
    corral_safetensors *file = NULL;
    TEST_FAILS(corral_safetensors_parse("x", "1234567", 7, &file), CORRAL_ERROR_CORRUPT, "shorter than");
}

// Four million values in 8 MiB must not become a tree of hundreds.
static void a_table_of_too_many_values_is_refused(void)
{
    enum { SIZE = 8 << 20 };
    char *table = malloc(SIZE + 1);
    if (table == NULL) abort();
    for (size_t i = (size_t)sprintf(table, "{\"a\":["); i < SIZE; i++)
        table[i] = i % 2 == 0 ? '0' : ',';
    table[SIZE] = '\0';
    corral_safetensors *file = NULL;
    TEST_FAILS(parse(table, 0, &file), CORRAL_ERROR_CORRUPT, "more than a million values");
    free(table);
}

static void a_cut_file_is_refused_at_any_length(void)
{
    static float weights[3000];
    temporary_begin();
    const char *path = temporary_path("whole");
    const corral_stored_tensor tensors[] = {{"a", CORRAL_STORED_F32, 2, {50, 40}, weights, 8000},
                                            {"b", CORRAL_STORED_F32, 1, {1000}, weights + 2000, 4000}};
    TEST_OK(corral_safetensors_write(path, tensors, 2, NULL));
    char *bytes = NULL;
    size_t size = 0;
    TEST_OK(corral_file_read(path, 1 << 20, &bytes, &size));
    for (size_t length = 0; length < size; length += length < 1300 ? 1 : 97) {
        corral_safetensors *file = NULL;
        CU_ASSERT_EQUAL(corral_safetensors_parse("cut", bytes, length, &file), CORRAL_ERROR_CORRUPT);
    }
    free(bytes);
    temporary_end();
}

static void nonsense_is_not_written(void)
{
    temporary_begin();
    const char *path = temporary_path("a");
    const float one[1] = {1};
    const corral_stored_tensor good = {"w", CORRAL_STORED_F32, 1, {1}, one, 4};
    corral_stored_tensor bad = good;
    bad.size = 8;
    TEST_FAILS(corral_safetensors_write(path, &bad, 1, NULL), CORRAL_ERROR_INVALID,
               "tensor \"w\": 8 bytes do not fit its shape");
    bad = good;
    bad.name = "__metadata__";
    TEST_FAILS(corral_safetensors_write(path, &bad, 1, NULL), CORRAL_ERROR_INVALID, "reserved");
    const corral_stored_tensor both[] = {good, good};
    TEST_FAILS(corral_safetensors_write(path, both, 2, NULL), CORRAL_ERROR_INVALID, "\"w\" is there twice");
    corral_safetensors *file = NULL;
    CU_ASSERT_EQUAL(corral_safetensors_read(path, &file), CORRAL_ERROR_NOT_FOUND);
    TEST_FAILS(corral_safetensors_write(temporary_path("no/a"), &good, 1, NULL), CORRAL_ERROR_IO, "no/a");
    temporary_end();
}

int main(void)
{
    return test_run(
        "safetensors",
        (test_case[]){{"tensors come back", tensors_come_back},
                      {"the same input gives the same bytes", the_same_input_gives_the_same_aligned_bytes},
                      {"a file of others is read", a_file_of_others_is_read},
                      {"unsorted and odd but sound is read", unsorted_and_odd_but_sound_is_read},
                      {"damage is refused", damage_is_refused},
                      {"a false length is refused", a_false_length_is_refused},
                      {"a table of too many values is refused", a_table_of_too_many_values_is_refused},
                      {"a cut file is refused at any length", a_cut_file_is_refused_at_any_length},
                      {"nonsense is not written", nonsense_is_not_written},
                      {NULL, NULL}});
}
