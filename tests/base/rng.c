// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The generator against what NumPy drew (golden/rng_pcg64.json), and the streams against chance.
#include "corral/base/rng.h"

#include "corral/base/file.h"

#include "test.h"

#include <cjson/cJSON.h>
#include <stdint.h>

#define STREAM_KEY   UINT64_C(0x17D0D394BC79663C)
#define STREAM_VALUE UINT64_C(0x77B7FE355EE7E413)

static uint64_t word_at(const cJSON *list, int index)
{
    return strtoull(cJSON_GetStringValue(cJSON_GetArrayItem(list, index)), NULL, 10);
}

static double number_at(const cJSON *list, int index)
{
    return cJSON_GetNumberValue(cJSON_GetArrayItem(list, index));
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

// In decimal, as the file has it: both halves of 128 bits at once.
static void format_u128(uint64_t high, uint64_t low, char out_text[48])
{
    unsigned __int128 value = (unsigned __int128)high << 64 | low;
    char digits[48];
    int count = 0;
    do {
        digits[count++] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value != 0);
    for (int i = 0; i < count; i++)
        out_text[i] = digits[count - 1 - i];
    out_text[count] = '\0';
}

static void check_state(const cJSON *golden, uint64_t seed)
{
    corral_rng rng;
    corral_rng_seed(&rng, seed);
    char text[48];
    format_u128(rng.state_high, rng.state_low, text);
    CU_ASSERT_STRING_EQUAL(text, cJSON_GetStringValue(member(golden, "pcg64_state")));
    format_u128(rng.increment_high, rng.increment_low, text);
    CU_ASSERT_STRING_EQUAL(text, cJSON_GetStringValue(member(golden, "pcg64_inc")));
}

static void check_floats(const cJSON *golden, uint64_t seed)
{
    corral_rng raw, doubles, floats, uniform;
    corral_rng_seed(&raw, seed);
    doubles = floats = uniform = raw;
    const cJSON *list = member(golden, "raw_u64");
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        CU_ASSERT_EQUAL(corral_rng_u64(&raw), word_at(list, i));
    list = member(golden, "random");
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        CU_ASSERT_TRUE(corral_rng_double(&doubles) == number_at(list, i));
    list = member(golden, "random_f32");
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        CU_ASSERT_TRUE(corral_rng_float(&floats) == (float)number_at(list, i));
    list = member(golden, "uniform_m0.05_0.05");
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        CU_ASSERT_TRUE(corral_rng_uniform(&uniform, -0.05, 0.05) == number_at(list, i));
}

static void check_integers(const cJSON *golden, uint64_t seed)
{
    const struct {
        const char *name;
        uint64_t count;
    } cases[] = {{"integers_0_2", 2}, {"integers_0_6", 6}, {"integers_0_1000", 1000}};
    corral_rng rng;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const cJSON *list = member(golden, cases[c].name);
        corral_rng_seed(&rng, seed);
        for (int i = 0; i < cJSON_GetArraySize(list); i++)
            CU_ASSERT_EQUAL(corral_rng_integer(&rng, cases[c].count), (uint64_t)number_at(list, i));
    }
    const cJSON *list = member(golden, "integers_0_2^40");
    corral_rng_seed(&rng, seed);
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        CU_ASSERT_EQUAL(corral_rng_integer(&rng, UINT64_C(1) << 40), word_at(list, i));
}

// A 64-bit draw between two 32-bit ones leaves the buffered half where it is.
static void check_mixed(const cJSON *golden, uint64_t seed)
{
    const cJSON *list = member(member(golden, "mixed"), "v");
    corral_rng rng;
    corral_rng_seed(&rng, seed);
    CU_ASSERT_TRUE(corral_rng_double(&rng) == number_at(list, 0));
    CU_ASSERT_EQUAL(corral_rng_integer(&rng, 10), (uint64_t)number_at(list, 1));
    CU_ASSERT_EQUAL(corral_rng_integer(&rng, 10), (uint64_t)number_at(list, 2));
    CU_ASSERT_TRUE(corral_rng_double(&rng) == number_at(list, 3));
}

static void draws_equal_numpy(void)
{
    char *text = NULL;
    size_t size = 0;
    TEST_OK(corral_file_read(CORRAL_SOURCE_DIR "/tests/golden/rng_pcg64.json", 1 << 20, &text, &size));
    cJSON *file = cJSON_Parse(text);
    free(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    int checked = 0;
    const cJSON *golden = NULL;
    cJSON_ArrayForEach(golden, member(file, "seeds"))
    {
        const char *seed_text = cJSON_GetStringValue(member(golden, "seed"));
        if (strcmp(seed_text, "18446744073709551621") == 0) continue; // 2^64 + 5 is beyond our seeds
        const uint64_t seed = strtoull(seed_text, NULL, 10);
        check_state(golden, seed);
        check_floats(golden, seed);
        check_integers(golden, seed);
        check_mixed(golden, seed);
        checked++;
    }
    cJSON_Delete(file);
    CU_ASSERT_EQUAL(checked, 12);
}

static void an_integer_of_one_draws_nothing(void)
{
    corral_rng rng, before;
    corral_rng_seed(&rng, 1);
    before = rng;
    CU_ASSERT_EQUAL(corral_rng_integer(&rng, 0), 0);
    CU_ASSERT_EQUAL(corral_rng_integer(&rng, 1), 0);
    CU_ASSERT_EQUAL(memcmp(&rng, &before, sizeof rng), 0);
    for (int i = 0; i < 100; i++) {
        CU_ASSERT_TRUE(corral_rng_integer(&rng, UINT32_MAX) < UINT32_MAX);
        CU_ASSERT_TRUE(corral_rng_integer(&rng, UINT64_C(1) << 32) <= UINT32_MAX);
        CU_ASSERT_TRUE(corral_rng_integer(&rng, UINT64_C(3) << 62) < UINT64_C(3) << 62);
    }
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Neighbouring seeds, roles, indices and counters: all values of all of these streams are different. Chance
// alone would make two of half a million 64-bit values equal once in a hundred million tries.
static void neighbouring_streams_share_nothing(void)
{
    enum { SEEDS = 20, ROLES = 6, INDICES = 64, COUNTERS = 64, TOTAL = SEEDS * ROLES * INDICES * COUNTERS };
    uint64_t *values = malloc(TOTAL * sizeof *values);
    if (values == NULL) abort();
    size_t count = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (int role = 1; role <= ROLES; role++)
            for (uint64_t index = 0; index < INDICES; index++) {
                const uint64_t key = corral_stream_key(seed, (corral_stream_role)role, index);
                for (uint64_t counter = 0; counter < COUNTERS; counter++)
                    values[count++] = corral_stream_u64(key, counter);
            }
    qsort(values, count, sizeof *values, compare_u64);
    size_t equal = 0;
    for (size_t i = 1; i < count; i++)
        equal += values[i] == values[i - 1];
    CU_ASSERT_EQUAL(equal, 0);
    free(values);
}

// Chi-squared over 256 cells, once along a stream and once across neighbouring streams. With 255 degrees of
// freedom, 400 is beyond chance (p < 1e-8); so is 140.
static double chi_squared(const unsigned *cells, unsigned draws)
{
    const double expected = draws / 256.0;
    double sum = 0;
    for (int i = 0; i < 256; i++)
        sum += (cells[i] - expected) * (cells[i] - expected) / expected;
    return sum;
}

static void streams_are_uniform(void)
{
    enum { DRAWS = 100000 };
    for (int byte = 0; byte < 8; byte++) {
        unsigned along[256] = {0}, across[256] = {0};
        const uint64_t key = corral_stream_key(7, CORRAL_STREAM_ACTION, 3);
        for (uint64_t i = 0; i < DRAWS; i++) {
            along[corral_stream_u64(key, i) >> (8 * byte) & 255]++;
            across[corral_stream_u64(corral_stream_key(7, CORRAL_STREAM_ACTION, i), 0) >> (8 * byte) & 255]++;
        }
        CU_ASSERT_TRUE(chi_squared(along, DRAWS) > 140 && chi_squared(along, DRAWS) < 400);
        CU_ASSERT_TRUE(chi_squared(across, DRAWS) > 140 && chi_squared(across, DRAWS) < 400);
    }
}

// One changed bit of any part changes half of the value's bits, on average over many.
static void every_bit_counts(void)
{
    unsigned changed = 0, trials = 0;
    for (uint64_t i = 0; i < 200; i++) {
        for (int bit = 0; bit < 64; bit += 7) {
            const uint64_t flip = UINT64_C(1) << bit;
            const uint64_t base = corral_stream_u64(corral_stream_key(i, CORRAL_STREAM_SHUFFLE, i), i);
            const uint64_t others[3] = {
                corral_stream_u64(corral_stream_key(i ^ flip, CORRAL_STREAM_SHUFFLE, i), i),
                corral_stream_u64(corral_stream_key(i, CORRAL_STREAM_SHUFFLE, i ^ flip), i),
                corral_stream_u64(corral_stream_key(i, CORRAL_STREAM_SHUFFLE, i), i ^ flip)};
            for (int part = 0; part < 3; part++) {
                changed += (unsigned)__builtin_popcountll(base ^ others[part]);
                trials++;
            }
        }
    }
    const double mean = (double)changed / trials; // 32, with a deviation of 4 / sqrt(trials)
    CU_ASSERT_DOUBLE_EQUAL(mean, 32, 6 * 4 / sqrt(trials));
}

// Saved runs depend on these values: a change of the hash must not go unnoticed.
static void streams_stay_what_they_are(void)
{
    const uint64_t key = corral_stream_key(1, CORRAL_STREAM_ENVIRONMENT, 0);
    CU_ASSERT_EQUAL(key, STREAM_KEY);
    CU_ASSERT_EQUAL(corral_stream_u64(key, 0), STREAM_VALUE);
    CU_ASSERT_TRUE(corral_stream_double(key, 0) == (double)(STREAM_VALUE >> 11) * 0x1p-53);
    CU_ASSERT_TRUE(corral_stream_float(key, 0) == (float)(STREAM_VALUE >> 40) * 0x1p-24f);
}

static void permutations_are_permutations(void)
{
    unsigned first_place[5] = {0};
    for (uint64_t round = 0; round < 5000; round++) {
        uint32_t order[5];
        unsigned seen = 0;
        corral_stream_permutation(corral_stream_key(3, CORRAL_STREAM_SHUFFLE, round), 0, order, 5);
        for (int i = 0; i < 5; i++)
            seen |= 1u << order[i];
        CU_ASSERT_EQUAL(seen, 31);
        first_place[order[0]]++;
    }
    for (int i = 0; i < 5; i++)
        CU_ASSERT_TRUE(first_place[i] > 850 && first_place[i] < 1150); // 1000 +- 5 sigma
    corral_stream_permutation(1, 0, NULL, 0);
}

int main(void)
{
    return test_run("rng",
                    (test_case[]){{"draws equal NumPy's", draws_equal_numpy},
                                  {"an integer of one draws nothing", an_integer_of_one_draws_nothing},
                                  {"neighbouring streams share nothing", neighbouring_streams_share_nothing},
                                  {"streams are uniform", streams_are_uniform},
                                  {"every bit counts", every_bit_counts},
                                  {"streams stay what they are", streams_stay_what_they_are},
                                  {"permutations are permutations", permutations_are_permutations},
                                  {NULL, NULL}});
}
