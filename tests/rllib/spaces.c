// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// From an environment's spaces to what a network sees. The flattened values are those that Gymnasium gives
/// (tests/golden names them spaces.json), with Dict keys in sorted order.
#include "test.h"

#include "spaces.h"

#include "corral/base/file.h"

#include <math.h>
#include <unistd.h>

static const int64_t two_three[] = {2, 3};

static corral_policy *policy_of(const environment_spaces *spaces, bool normalize)
{
    const corral_policy_config config = {.observation_size = spaces->observation_size,
                                         .observation = spaces->observation,
                                         .action_count = 2,
                                         .hidden = {1, {8}},
                                         .activation = CORRAL_TANH,
                                         .normalize_observation = normalize,
                                         .observation_clip = 10};
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    return policy;
}

static environment_spaces spaces_of(const corral_space *observation, uint32_t count)
{
    static const corral_space action = {
        .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};
    const corral_env_type type = {
        .size = sizeof type, .id = "Test-v0", .spaces = {observation, count, &action, 1}};
    environment_spaces spaces;
    TEST_OK(environment_spaces_init(&spaces, &type));
    return spaces;
}

/// Encodes one row and compares.
static void check(const environment_spaces *spaces, const void *row, const float *expected, uint32_t size)
{
    float out[64];
    corral_policy *policy = policy_of(spaces, false);
    CU_ASSERT_EQUAL_FATAL(spaces->observation_size, size);
    corral_policy_filter(policy, 1, row, out);
    for (uint32_t i = 0; i < size; i++)
        CU_ASSERT_EQUAL(out[i], expected[i]);
    corral_policy_destroy(policy);
}

static void discrete_is_one_hot(void)
{
    const corral_space space = {
        .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 3, .start = -1};
    const environment_spaces spaces = spaces_of(&space, 1);
    CU_ASSERT_EQUAL(spaces.observation_bytes, 4);
    check(&spaces, (int32_t[]){0}, (float[]){0, 1, 0}, 3);
    check(&spaces, (int32_t[]){1}, (float[]){0, 0, 1}, 3);
    check(&spaces, (int32_t[]){2}, (float[]){0, 0, 0}, 3); // not one of them
}

static void multi_discrete_is_one_hot_each(void)
{
    const corral_space space = {.path = "",
                                .kind = CORRAL_SPACE_MULTI_DISCRETE,
                                .dtype = CORRAL_SPACE_I32,
                                .dimension_count = 1,
                                .shape = {2},
                                .nvec = two_three};
    const environment_spaces spaces = spaces_of(&space, 1);
    CU_ASSERT_EQUAL(spaces.observation.part_count, 2);
    check(&spaces, (int32_t[]){1, 2}, (float[]){0, 1, 0, 0, 1}, 5);
}

/// A row with a hole: bytes in front of f64.
typedef struct mixed {
    float a[3];
    int32_t b;
    uint8_t c[3];
    double d[2];
} mixed;

static const corral_space dict[] = {
    {.path = "a",
     .kind = CORRAL_SPACE_BOX,
     .dtype = CORRAL_SPACE_F32,
     .dimension_count = 1,
     .shape = {3},
     .low = -1,
     .high = 1},
    {.path = "b", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2},
    {.path = "c",
     .kind = CORRAL_SPACE_MULTI_BINARY,
     .dtype = CORRAL_SPACE_U8,
     .dimension_count = 1,
     .shape = {3}},
    {.path = "d",
     .kind = CORRAL_SPACE_BOX,
     .dtype = CORRAL_SPACE_F64,
     .dimension_count = 1,
     .shape = {2},
     .low = -INFINITY,
     .high = INFINITY},
};

static void a_dict_is_its_leaves_in_order(void)
{
    const environment_spaces spaces = spaces_of(dict, 4);
    CU_ASSERT_EQUAL(spaces.observation_offset[0], offsetof(mixed, a));
    CU_ASSERT_EQUAL(spaces.observation_offset[1], offsetof(mixed, b));
    CU_ASSERT_EQUAL(spaces.observation_offset[2], offsetof(mixed, c));
    CU_ASSERT_EQUAL(spaces.observation_offset[3], offsetof(mixed, d));
    CU_ASSERT_EQUAL(spaces.observation_bytes, sizeof(mixed));
    const mixed row = {{0.1f, 0.2f, 0.3f}, 1, {1, 0, 1}, {-4, 0.5}};
    check(&spaces, &row, (float[]){0.1f, 0.2f, 0.3f, 0, 1, 1, 0, 1, -4, 0.5f}, 10);
}

static void only_numbers_are_normalised(void)
{
    const environment_spaces spaces = spaces_of(dict, 4);
    corral_policy *policy = policy_of(&spaces, true);
    mixed rows[4] = {{{0}}};
    for (int r = 0; r < 4; r++)
        rows[r] = (mixed){{(float)r, 1, 0}, r % 2, {1, 1, 0}, {1000.0 * r, -r}};
    corral_policy_filter_update(policy, 4, rows);
    float out[4][10];
    corral_policy_filter(policy, 4, rows, out[0]);
    const double deviation = sqrt(1.25); // of 0, 1, 2, 3
    for (int r = 0; r < 4; r++) {
        CU_ASSERT_DOUBLE_EQUAL(out[r][0], (r - 1.5) / deviation, 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(out[r][1], 0, 1e-5); // never varied
        CU_ASSERT_EQUAL(out[r][3], r % 2 == 0);
        CU_ASSERT_EQUAL(out[r][4], r % 2 == 1);
        CU_ASSERT_EQUAL(out[r][5], 1);
        CU_ASSERT_DOUBLE_EQUAL(out[r][8], (r - 1.5) / deviation, 1e-5); // each by its own scale
        CU_ASSERT_DOUBLE_EQUAL(out[r][9], (1.5 - r) / deviation, 1e-5);
    }
    corral_policy_destroy(policy);
}

static void frames_come_as_channels_over_255(void)
{
    enum { SIDE = 8, CHANNELS = 3 };
    const corral_space space = {.path = "",
                                .kind = CORRAL_SPACE_BOX,
                                .dtype = CORRAL_SPACE_U8,
                                .dimension_count = 3,
                                .shape = {SIDE, SIDE, CHANNELS},
                                .high = 255};
    const environment_spaces spaces = spaces_of(&space, 1);
    CU_ASSERT_EQUAL(spaces.observation.part[0].kind, CORRAL_PART_IMAGE);
    CU_ASSERT_EQUAL(spaces.observation.part[0].channels, CHANNELS);
    uint8_t frame[SIDE][SIDE][CHANNELS];
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int c = 0; c < CHANNELS; c++)
                frame[y][x][c] = (uint8_t)(y * 20 + x * 2 + c);
    float out[SIDE][SIDE][CHANNELS];
    corral_policy *policy = policy_of(&spaces, true);
    corral_policy_filter_update(policy, 1, frame);
    corral_policy_filter(policy, 1, frame, &out[0][0][0]);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            for (int c = 0; c < CHANNELS; c++)
                CU_ASSERT_EQUAL(out[y][x][c], (float)frame[y][x][c] / 255.0f);
    corral_policy_destroy(policy);
}

static void a_plain_box_stays_plain(void)
{
    const corral_space space = {.path = "",
                                .kind = CORRAL_SPACE_BOX,
                                .dtype = CORRAL_SPACE_F32,
                                .dimension_count = 1,
                                .shape = {3},
                                .low = -1,
                                .high = 1};
    const environment_spaces spaces = spaces_of(&space, 1);
    CU_ASSERT_EQUAL(spaces.observation.part_count, 0);
    CU_ASSERT_EQUAL(spaces.observation_bytes, 12);
    check(&spaces, (float[]){1, 2, 3}, (float[]){1, 2, 3}, 3);
}

static void the_file_keeps_the_spaces(void)
{
    char path[] = "/tmp/corral-spaces-XXXXXX";
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    const environment_spaces spaces = spaces_of(dict, 4);
    corral_policy *policy = policy_of(&spaces, true), *loaded;
    TEST_OK(corral_policy_write(policy, path));
    TEST_OK(corral_policy_read(path, &loaded));
    TEST_OK(environment_spaces_fit(&spaces, "Test-v0", corral_policy_get_config(policy)));
    CU_ASSERT_TRUE(corral_policy_space_equal(&corral_policy_get_config(policy)->observation,
                                             &corral_policy_get_config(loaded)->observation));
    const environment_spaces other = spaces_of(dict, 3);
    TEST_FAILS(environment_spaces_fit(&other, "Test-v0", corral_policy_get_config(loaded)),
               CORRAL_ERROR_INVALID, "does not fit the policy");
    corral_policy_destroy(policy);
    corral_policy_destroy(loaded);
    unlink(path);
}

int main(void)
{
    return test_run("spaces", (test_case[]){
                                  {"discrete is one-hot", discrete_is_one_hot},
                                  {"multi-discrete is one-hot each", multi_discrete_is_one_hot_each},
                                  {"a dict is its leaves in order", a_dict_is_its_leaves_in_order},
                                  {"only numbers are normalised", only_numbers_are_normalised},
                                  {"frames come as channels over 255", frames_come_as_channels_over_255},
                                  {"a plain box stays plain", a_plain_box_stays_plain},
                                  {"the file keeps the spaces", the_file_keeps_the_spaces},
                                  {NULL, NULL},
                              });
}
