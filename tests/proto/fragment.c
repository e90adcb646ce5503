// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/proto/fragment.h"
#include "test.h"

#include <math.h>
#include <stdint.h>

// Three environments of five steps: small enough to count by hand, odd enough that every column is padded.
static const corral_fragment_spec spec = {
    .env_count = 3, .steps = 5, .observation_bytes = 12, .action_count = 2, .state_bytes = 20};

static corral_fragment_layout layout;
static unsigned char *block; // 64-byte aligned, `layout.capacity` bytes

static corral_fragment_header *header_of(void)
{
    return (corral_fragment_header *)(void *)block;
}

static void put_record(uint32_t k, uint32_t environment, uint32_t step, uint8_t terminated, uint8_t truncated)
{
    const corral_fragment_ended ended = {.episode_return = 7.5 + k,
                                         .number = k,
                                         .length = 3,
                                         .environment = environment,
                                         .step = step,
                                         .final_value = terminated ? 0.0f : 1.25f,
                                         .terminated = terminated,
                                         .truncated = truncated};
    unsigned char *record = block + layout.ended + k * layout.ended_stride;
    memcpy(record, &ended, sizeof ended);
    memset(record + sizeof ended, (int)(0x40 + k), spec.observation_bytes);
    const size_t row = (size_t)environment * spec.steps + step;
    block[layout.terminated + row] = terminated;
    block[layout.truncated + row] = truncated;
}

static float *floats(size_t column)
{
    return (float *)(void *)(block + column);
}

// A fragment with two finished episodes: environment 2 ends truly at step 1, environment 0 is cut at step 3.
static void fill(void)
{
    TEST_OK(corral_fragment_layout_init(&spec, &layout));
    free(block);
    block = aligned_alloc(64, (layout.capacity + 63) / 64 * 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(block);
    memset(block, 0, (layout.capacity + 63) / 64 * 64);
    const size_t rows = (size_t)spec.env_count * spec.steps;
    for (size_t row = 0; row < rows; row++) {
        ((int32_t *)(void *)(block + layout.action))[row] = (int32_t)(row % 2);
        floats(layout.log_prob)[row] = -0.5f;
        floats(layout.reward)[row] = (float)row;
        block[layout.valid + row] = 1;
    }
    put_record(0, 2, 1, 1, 0);
    put_record(1, 0, 3, 0, 1);
    *header_of() = (corral_fragment_header){.magic = CORRAL_FRAGMENT_MAGIC,
                                            .format = CORRAL_FRAGMENT_VERSION,
                                            .length = layout.ended + 2 * layout.ended_stride,
                                            .policy_version = 4,
                                            .first_step = 640,
                                            .spec = spec,
                                            .env_begin = 6,
                                            .ended_count = 2,
                                            .worker = 1};
}

static corral_status open_block(corral_fragment *out_fragment)
{
    return corral_fragment_open(&layout, block, layout.capacity, out_fragment);
}

static void refused(corral_status status, const char *text)
{
    corral_fragment fragment;
    TEST_FAILS(open_block(&fragment), status, text);
    fill();
    TEST_OK(open_block(&fragment)); // it was this change alone
}

// --- the layout
// ------------------------------------------------------------------------------------------------------

// The drawing in proto/WIRE.md, number by number.
static void offsets_are_the_drawing(void)
{
    TEST_OK(corral_fragment_layout_init(&spec, &layout));
    CU_ASSERT_EQUAL(layout.observation, 128);
    CU_ASSERT_EQUAL(layout.action, 384);
    CU_ASSERT_EQUAL(layout.logits, 448);
    CU_ASSERT_EQUAL(layout.log_prob, 576);
    CU_ASSERT_EQUAL(layout.value, 640);
    CU_ASSERT_EQUAL(layout.reward, 768);
    CU_ASSERT_EQUAL(layout.terminated, 832);
    CU_ASSERT_EQUAL(layout.truncated, 896);
    CU_ASSERT_EQUAL(layout.valid, 960);
    CU_ASSERT_EQUAL(layout.state, 1024);
    CU_ASSERT_EQUAL(layout.failure, 1088);
    CU_ASSERT_EQUAL(layout.ended, 1344);
    CU_ASSERT_EQUAL(layout.ended_stride, 56);
    CU_ASSERT_EQUAL(layout.capacity, 1344 + 15 * 56);
}

static void columns_do_not_overlap(void)
{
    for (uint32_t envs = 1; envs < 70; envs += 23)
        for (uint32_t steps = 1; steps < 40; steps += 13) {
            const uint32_t memories = steps % 3 == 0 ? 0 : 1 + envs % 2 * (steps > 1);
            const corral_fragment_spec s = {.env_count = envs,
                                            .steps = steps,
                                            .observation_bytes = 1 + envs % 7,
                                            .action_count = 1 + steps % 5,
                                            .state_bytes = envs % 3,
                                            .action_words = envs % 4,
                                            .mask_bytes = steps % 4,
                                            .memory_rows = memories,
                                            .memory_bytes = memories > 0 ? 4 * (1 + envs % 3) : 0};
            const size_t words = s.action_words > 0 ? s.action_words : 1;
            corral_fragment_layout l;
            TEST_OK(corral_fragment_layout_init(&s, &l));
            const size_t rows = (size_t)envs * steps, more = rows + envs;
            const size_t begin[] = {sizeof(corral_fragment_header),
                                    l.observation,
                                    l.action,
                                    l.logits,
                                    l.log_prob,
                                    l.value,
                                    l.reward,
                                    l.terminated,
                                    l.truncated,
                                    l.valid,
                                    l.mask,
                                    l.memory,
                                    l.state,
                                    l.failure,
                                    l.ended};
            const size_t size[] = {0,
                                   more * s.observation_bytes,
                                   rows * 4 * words,
                                   rows * 4 * s.action_count,
                                   rows * 4,
                                   more * 4,
                                   rows * 4,
                                   rows,
                                   rows,
                                   rows,
                                   more * s.mask_bytes,
                                   (size_t)envs * s.memory_rows * s.memory_bytes,
                                   (size_t)envs * s.state_bytes,
                                   CORRAL_FRAGMENT_TEXT,
                                   rows * l.ended_stride};
            for (int i = 1; i < 15; i++) {
                CU_ASSERT_EQUAL(begin[i] % 64, 0);
                CU_ASSERT(begin[i] >= begin[i - 1] + size[i - 1]);
            }
            CU_ASSERT_EQUAL(l.capacity, l.ended + rows * l.ended_stride);
        }
}

/// What environments say of themselves stands behind an episode's last observation, at a multiple of 8.
static void records_carry_numbers(void)
{
    const corral_fragment_spec s = {
        .env_count = 1, .steps = 2, .observation_bytes = 5, .action_count = 2, .info_count = 3};
    corral_fragment_layout l;
    TEST_OK(corral_fragment_layout_init(&s, &l));
    CU_ASSERT_EQUAL(l.ended_info, 48);
    CU_ASSERT_EQUAL(l.ended_stride, 48 + 3 * 8);
    unsigned char *bytes = aligned_alloc(64, (l.capacity + 63) / 64 * 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    memset(bytes, 0, l.capacity);
    const corral_fragment_header header = {.magic = CORRAL_FRAGMENT_MAGIC,
                                           .format = CORRAL_FRAGMENT_VERSION,
                                           .length = l.ended + l.ended_stride,
                                           .spec = s,
                                           .ended_count = 1};
    memcpy(bytes, &header, sizeof header);
    bytes[l.valid] = bytes[l.valid + 1] = bytes[l.terminated + 1] = 1;
    const corral_fragment_ended ended = {.length = 2, .step = 1, .terminated = 1};
    memcpy(bytes + l.ended, &ended, sizeof ended);
    const double numbers[] = {1.5, NAN, -3};
    memcpy(bytes + l.ended + l.ended_info, numbers, sizeof numbers);
    corral_fragment fragment;
    TEST_OK(corral_fragment_open(&l, bytes, l.ended + l.ended_stride, &fragment));
    const double *read = corral_fragment_info_at(&fragment, 0);
    CU_ASSERT_TRUE(read[0] == 1.5 && isnan(read[1]) && read[2] == -3);
    free(bytes);
}

static void impossible_sizes_are_refused(void)
{
    corral_fragment_layout l;
#define SPEC(envs, t, observation, actions, state)                                                           \
    {                                                                                                        \
        .env_count = envs, .steps = t, .observation_bytes = observation, .action_count = actions,            \
        .state_bytes = state                                                                                 \
    }
    const corral_fragment_spec zero[] = {SPEC(0, 5, 4, 2, 0), SPEC(3, 0, 4, 2, 0), SPEC(3, 5, 0, 2, 0),
                                         SPEC(3, 5, 4, 0, 0)};
    for (int i = 0; i < 4; i++)
        TEST_FAILS(corral_fragment_layout_init(&zero[i], &l), CORRAL_ERROR_INVALID,
                   "none of these may be zero");
    // Each of these overflows 64 bits somewhere, or just exceeds the limit.
    const corral_fragment_spec huge[] = {
        SPEC(UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX),
        SPEC(UINT32_MAX, UINT32_MAX, 1, 1, 0),
        SPEC(1, 1, UINT32_MAX, UINT32_MAX, UINT32_MAX),
        SPEC(1 << 20, 1, 1, 1 << 20, 0),
        SPEC(1 << 10, 1 << 20, 1 << 10, 2, 0),
        SPEC(2, 1, 4, 2, UINT32_MAX),
    };
    const int expected[] = {1, 1, 0, 1, 1, 0};
    for (int i = 0; i < 6; i++) {
        const corral_status status = corral_fragment_layout_init(&huge[i], &l);
        CU_ASSERT_EQUAL(status, expected[i] ? CORRAL_ERROR_INVALID : CORRAL_OK);
        if (status == CORRAL_OK) CU_ASSERT(l.capacity <= UINT64_C(1) << 40);
    }
#undef SPEC
}

static void a_memory_belongs_to_steps(void)
{
    corral_fragment_layout l;
    corral_fragment_spec s = spec;
    s.memory_rows = 6; // of 5 steps
    s.memory_bytes = 8;
    TEST_FAILS(corral_fragment_layout_init(&s, &l), CORRAL_ERROR_INVALID, "6 states of 8 bytes");
    s.memory_rows = 5;
    s.memory_bytes = 6; // one and a half floats
    TEST_FAILS(corral_fragment_layout_init(&s, &l), CORRAL_ERROR_INVALID, "of 6 bytes");
}

/// An action of a choice among 3, one among 2, and a number, with masks and a state per environment.
static void wide_actions_are_checked_word_by_word(void)
{
    corral_fragment_spec s = {.env_count = 2,
                              .steps = 2,
                              .observation_bytes = 4,
                              .action_count = 7,
                              .action_words = 3,
                              .mask_bytes = 5,
                              .memory_rows = 1,
                              .memory_bytes = 8};
    corral_fragment_layout l;
    TEST_OK(corral_fragment_layout_init(&s, &l));
    corral_fragment_layout_set_runs(&l, 3, (const corral_fragment_run[]){{1, 3}, {1, 2}, {1, 0}});
    unsigned char *bytes = aligned_alloc(64, (l.capacity + 63) / 64 * 64);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    memset(bytes, 0, (l.capacity + 63) / 64 * 64);
    const corral_fragment_header header = {
        .magic = CORRAL_FRAGMENT_MAGIC, .format = CORRAL_FRAGMENT_VERSION, .length = l.ended, .spec = s};
    memcpy(bytes, &header, sizeof header);
    int32_t *word = (int32_t *)(void *)(bytes + l.action) + 3; // of the second row
    const float number = -7.5f, nan_number = NAN;
    word[0] = 2;
    word[1] = 1;
    memcpy(&word[2], &number, sizeof number);
    corral_fragment fragment;
    TEST_OK(corral_fragment_open(&l, bytes, l.capacity, &fragment));
    word[1] = 2;
    TEST_FAILS(corral_fragment_open(&l, bytes, l.capacity, &fragment), CORRAL_ERROR_CORRUPT,
               "action is out of range in environment 0, step 1");
    word[1] = 0;
    memcpy(&word[2], &nan_number, sizeof number);
    TEST_FAILS(corral_fragment_open(&l, bytes, l.capacity, &fragment), CORRAL_ERROR_CORRUPT,
               "action is out of range");
    word[2] = 0;
    bytes[l.mask + 7] = 2;
    TEST_FAILS(corral_fragment_open(&l, bytes, l.capacity, &fragment), CORRAL_ERROR_CORRUPT, "masks");
    bytes[l.mask + 7] = 1;
    ((float *)(void *)(bytes + l.memory))[1] = INFINITY;
    TEST_FAILS(corral_fragment_open(&l, bytes, l.capacity, &fragment), CORRAL_ERROR_NOT_FINITE, "states");
    free(bytes);
}

// --- opening
// ---------------------------------------------------------------------------------------------------------

static void a_whole_one_opens(void)
{
    fill();
    corral_fragment fragment;
    TEST_OK(open_block(&fragment));
    CU_ASSERT_EQUAL(fragment.header.policy_version, 4);
    CU_ASSERT_EQUAL(fragment.header.first_step, 640);
    CU_ASSERT_EQUAL(fragment.action[1], 1);
    CU_ASSERT_EQUAL(fragment.reward[14], 14.0f);
    CU_ASSERT_EQUAL(fragment.terminated[2 * 5 + 1], 1);
    const unsigned char *observation;
    const corral_fragment_ended first = corral_fragment_ended_at(&fragment, 0, &observation);
    CU_ASSERT_EQUAL(first.environment, 2);
    CU_ASSERT_EQUAL(observation[11], 0x40);
    const corral_fragment_ended second = corral_fragment_ended_at(&fragment, 1, NULL);
    CU_ASSERT_EQUAL(second.step, 3);
    CU_ASSERT_EQUAL(second.episode_return, 8.5);
    // Exactly the bytes used are enough.
    TEST_OK(corral_fragment_open(&layout, block, (size_t)header_of()->length, &fragment));
}

static void short_blocks_are_refused(void)
{
    fill();
    corral_fragment fragment;
    // A copy of each length, so that the sanitizer sees a read beyond it.
    const size_t used = (size_t)header_of()->length;
    for (size_t length = 0; length < used; length += length < 96 ? 1 : 61) {
        unsigned char *copy = aligned_alloc(64, (length + 64) / 64 * 64);
        CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
        memcpy(copy, block, length);
        CU_ASSERT_EQUAL(corral_fragment_open(&layout, copy, length, &fragment), CORRAL_ERROR_CORRUPT);
        free(copy);
    }
}

static void a_lying_header_is_refused(void)
{
    fill();
    header_of()->magic ^= 1;
    refused(CORRAL_ERROR_CORRUPT, "magic");
    header_of()->format = 1;
    refused(CORRAL_ERROR_CORRUPT, "format 1");
    header_of()->spec.info_count = 1;
    refused(CORRAL_ERROR_CORRUPT, "were asked for");
    header_of()->spec.steps = 4;
    refused(CORRAL_ERROR_CORRUPT, "4 steps");
    header_of()->spec.observation_bytes = UINT32_MAX;
    refused(CORRAL_ERROR_CORRUPT, "were asked for");
    header_of()->spec.action_count = 3;
    refused(CORRAL_ERROR_CORRUPT, "3 actions");
    header_of()->spec.state_bytes = 0;
    refused(CORRAL_ERROR_CORRUPT, "0 bytes of state");
    header_of()->spec.env_count = 0;
    refused(CORRAL_ERROR_CORRUPT, "0 environments");
    header_of()->length = UINT64_MAX;
    refused(CORRAL_ERROR_CORRUPT, "bytes");
    header_of()->length -= 1;
    refused(CORRAL_ERROR_CORRUPT, "bytes");
    header_of()->ended_count = UINT32_MAX;
    refused(CORRAL_ERROR_CORRUPT, "15 rows claims 4294967295");
    header_of()->ended_count = 1; // the length says two
    refused(CORRAL_ERROR_CORRUPT, "contents take");
}

static void bad_rows_are_refused(void)
{
    fill();
    int32_t *action = (int32_t *)(void *)(block + layout.action);
    action[7] = 2;
    refused(CORRAL_ERROR_CORRUPT, "action is out of range in environment 1, step 2");
    ((int32_t *)(void *)(block + layout.action))[0] = -1;
    refused(CORRAL_ERROR_CORRUPT, "action is out of range in environment 0, step 0");
    block[layout.terminated + 4] = 2;
    refused(CORRAL_ERROR_CORRUPT, "terminated flag");
    block[layout.truncated + 4] = 0xff;
    refused(CORRAL_ERROR_CORRUPT, "truncated flag");
    block[layout.valid + 14] = 3;
    refused(CORRAL_ERROR_CORRUPT, "valid flag");
    floats(layout.reward)[14] = NAN;
    refused(CORRAL_ERROR_NOT_FINITE, "reward is not finite in environment 2, step 4");
    floats(layout.value)[0] = INFINITY;
    refused(CORRAL_ERROR_NOT_FINITE, "value is not finite in environment 0, step 0");
    floats(layout.value)[2 * 6 + 5] = NAN; // what environment 2 goes on from
    refused(CORRAL_ERROR_NOT_FINITE, "value after the last step is not finite in environment 2");
    floats(layout.log_prob)[6] = -INFINITY;
    refused(CORRAL_ERROR_NOT_FINITE, "log_prob");
    floats(layout.logits)[2 * 9 + 1] = NAN;
    refused(CORRAL_ERROR_NOT_FINITE, "logits is not finite in environment 1, step 4");
}

static void rows_of_a_failed_episode_may_hold_anything(void)
{
    fill();
    corral_fragment fragment;
    const size_t row = 1 * 5 + 4;
    floats(layout.reward)[row] = NAN;
    floats(layout.value)[1 * 6 + 4] = NAN;
    floats(layout.logits)[2 * row] = INFINITY;
    block[layout.valid + row] = 0;
    header_of()->failed_count = 1;
    TEST_OK(open_block(&fragment));
}

static corral_fragment_ended *record_of(uint32_t k)
{
    return (corral_fragment_ended *)(void *)(block + layout.ended + k * layout.ended_stride);
}

static void bad_records_are_refused(void)
{
    fill();
    record_of(0)->environment = 3;
    refused(CORRAL_ERROR_CORRUPT, "environment 3, step 1, outside");
    record_of(1)->step = 5;
    refused(CORRAL_ERROR_CORRUPT, "outside");
    record_of(1)->step = 2; // no end there
    refused(CORRAL_ERROR_CORRUPT, "does not agree");
    record_of(0)->terminated = 0;
    refused(CORRAL_ERROR_CORRUPT, "does not agree");
    record_of(0)->length = 0;
    refused(CORRAL_ERROR_CORRUPT, "does not agree");
    record_of(1)->episode_return = NAN;
    refused(CORRAL_ERROR_NOT_FINITE, "not finite");
    record_of(1)->final_value = INFINITY;
    refused(CORRAL_ERROR_NOT_FINITE, "not finite");
    block[layout.terminated + 14] = 1; // an end without a record
    refused(CORRAL_ERROR_CORRUPT, "3 ends of episodes and records of 2");
    *record_of(1) = *record_of(0); // one end twice, the other not at all
    refused(CORRAL_ERROR_CORRUPT, "not in order");
    const corral_fragment_ended first = *record_of(0);
    *record_of(0) = *record_of(1);
    *record_of(1) = first;
    refused(CORRAL_ERROR_CORRUPT, "not in order");
}

// What an environment said is shown to people: one line, whatever lies there.
static void what_failed_is_one_line(void)
{
    fill();
    corral_fragment fragment;
    snprintf((char *)block + layout.failure, CORRAL_FRAGMENT_TEXT, "stuck\033[2J\nagain");
    TEST_OK(open_block(&fragment));
    CU_ASSERT_STRING_EQUAL(fragment.failure, ""); // nothing has failed
    header_of()->failed_count = 1;
    TEST_OK(open_block(&fragment));
    CU_ASSERT_STRING_EQUAL(fragment.failure, "stuck?[2J?again");
    memset(block + layout.failure, 'x', CORRAL_FRAGMENT_TEXT); // without an end
    TEST_OK(open_block(&fragment));
    CU_ASSERT_EQUAL(strlen(fragment.failure), CORRAL_FRAGMENT_TEXT - 1);
}

int main(void)
{
    const int code = test_run(
        "fragment",
        (test_case[]){
            {"offsets are the drawing", offsets_are_the_drawing},
            {"columns do not overlap", columns_do_not_overlap},
            {"records carry numbers", records_carry_numbers},
            {"impossible sizes are refused", impossible_sizes_are_refused},
            {"a memory belongs to steps", a_memory_belongs_to_steps},
            {"wide actions are checked word by word", wide_actions_are_checked_word_by_word},
            {"a whole one opens", a_whole_one_opens},
            {"short blocks are refused", short_blocks_are_refused},
            {"a lying header is refused", a_lying_header_is_refused},
            {"bad rows are refused", bad_rows_are_refused},
            {"rows of a failed episode may hold anything", rows_of_a_failed_episode_may_hold_anything},
            {"bad records are refused", bad_records_are_refused},
            {"what failed is one line", what_failed_is_one_line},
            {NULL, NULL},
        });
    free(block);
    return code;
}
