// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "test.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "corral/policy/policy.h"

#include <unistd.h>

enum { ROWS = 300, OBSERVATION = 5, ACTIONS = 3 };

static corral_policy_config config_of(bool shared, bool normalize)
{
    return (corral_policy_config){.observation_size = OBSERVATION,
                                  .action_count = ACTIONS,
                                  .action_start = 1,
                                  .hidden = {2, {64, 24}},
                                  .activation = CORRAL_TANH,
                                  .shared = shared,
                                  .normalize_observation = normalize,
                                  .observation_clip = 10};
}

static void fill(float *observation, size_t count, double scale)
{
    corral_rng rng;
    corral_rng_seed(&rng, 3);
    for (size_t i = 0; i < count; i++)
        observation[i] = (float)(scale * corral_rng_uniform(&rng, -1, 1));
}

typedef struct acted {
    int32_t action[ROWS], env_action[ROWS];
    float log_prob[ROWS], logits[ROWS * ACTIONS], value[ROWS];
} acted;

static void act(corral_policy *policy, size_t rows, const float *observation, const float *uniform,
                acted *out)
{
    const corral_policy_output output = {out->action, out->env_action, out->log_prob, out->logits,
                                         out->value};
    TEST_OK(corral_policy_act(policy, rows, observation, uniform, &output));
}

static void check_rows_alone(bool shared)
{
    static float observation[ROWS * OBSERVATION], uniform[ROWS];
    static acted together, alone;
    fill(observation, ROWS * OBSERVATION, 2);
    for (int i = 0; i < ROWS; i++)
        uniform[i] = corral_stream_float(7, (uint64_t)i);
    const corral_policy_config config = config_of(shared, true);
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    corral_policy_filter_update(policy, ROWS, observation);
    act(policy, ROWS, observation, uniform, &together);
    for (int r = 0; r < ROWS; r += 7) {
        act(policy, 1, observation + r * OBSERVATION, uniform + r, &alone);
        CU_ASSERT_EQUAL(memcmp(alone.logits, together.logits + r * ACTIONS, sizeof(float) * ACTIONS), 0);
        CU_ASSERT_EQUAL(alone.action[0], together.action[r]);
        CU_ASSERT_EQUAL(alone.env_action[0], together.action[r] + 1);
        CU_ASSERT_EQUAL(memcmp(&alone.value[0], &together.value[r], sizeof(float)), 0);
        CU_ASSERT_EQUAL(memcmp(&alone.log_prob[0], &together.log_prob[r], sizeof(float)), 0);
    }
    corral_policy_destroy(policy);
}

static void a_row_does_not_depend_on_its_neighbours(void)
{
    check_rows_alone(false);
    check_rows_alone(true);
}

static void the_graph_computes_what_acting_does(void)
{
    static float observation[ROWS * OBSERVATION], filtered[ROWS * OBSERVATION];
    static acted acting;
    fill(observation, ROWS * OBSERVATION, 3);
    for (int shared = 0; shared < 2; shared++) {
        const corral_policy_config config = config_of(shared, true);
        corral_policy *policy;
        corral_tape *tape;
        TEST_OK(corral_policy_create(&config, 1, &policy));
        TEST_OK(corral_tape_create(&tape));
        corral_policy_filter_update(policy, ROWS, observation);
        act(policy, ROWS, observation, NULL, &acting);
        corral_tape_reset(tape, corral_policy_params(policy), NULL);
        corral_policy_filter(policy, ROWS, observation, filtered);
        corral_tensor *logits, *value;
        corral_policy_graph(policy, tape, ROWS, filtered, &logits, &value);
        TEST_OK(corral_tape_status(tape));
        CU_ASSERT_EQUAL(memcmp(logits->data, acting.logits, sizeof acting.logits), 0);
        CU_ASSERT_EQUAL(memcmp(value->data, acting.value, sizeof acting.value), 0);
        corral_tape_destroy(tape);
        corral_policy_destroy(policy);
    }
}

static void greedy_takes_the_most_probable(void)
{
    static float observation[ROWS * OBSERVATION];
    static acted acting;
    fill(observation, ROWS * OBSERVATION, 3);
    const corral_policy_config config = config_of(false, false);
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 5, &policy));
    act(policy, ROWS, observation, NULL, &acting);
    for (int r = 0; r < ROWS; r++)
        for (int a = 0; a < ACTIONS; a++)
            CU_ASSERT_TRUE(acting.logits[r * ACTIONS + acting.action[r]] >= acting.logits[r * ACTIONS + a]);
    corral_policy_destroy(policy);
}

static void the_filter_normalises_each_element(void)
{
    static float observation[ROWS * OBSERVATION], out[ROWS * OBSERVATION];
    fill(observation, ROWS * OBSERVATION, 1);
    for (int r = 0; r < ROWS; r++) {
        observation[r * OBSERVATION] = 1000 * observation[r * OBSERVATION] + 500;
        observation[r * OBSERVATION + 1] = 4; // never varies
    }
    const corral_policy_config config = config_of(false, true);
    corral_policy *whole, *parts;
    TEST_OK(corral_policy_create(&config, 5, &whole));
    TEST_OK(corral_policy_create(&config, 5, &parts));
    corral_policy_filter(whole, 1, observation, out);
    CU_ASSERT_DOUBLE_EQUAL(out[2], observation[2], 1e-6); // before any update: as it is
    corral_policy_filter_update(whole, ROWS, observation);
    for (int at = 0; at < ROWS; at += 100)
        corral_policy_filter_update(parts, 100, observation + at * OBSERVATION);
    corral_policy_filter(whole, ROWS, observation, out);
    for (int i = 0; i < OBSERVATION; i++) {
        double sum = 0, squares = 0;
        for (int r = 0; r < ROWS; r++) {
            sum += out[r * OBSERVATION + i];
            squares += (double)out[r * OBSERVATION + i] * out[r * OBSERVATION + i];
        }
        CU_ASSERT_DOUBLE_EQUAL(sum / ROWS, 0, 1e-4);
        CU_ASSERT_DOUBLE_EQUAL(squares / ROWS, i == 1 ? 0 : 1, 1e-4);
    }
    static float merged[ROWS * OBSERVATION];
    corral_policy_filter(parts, ROWS, observation, merged);
    for (int k = 0; k < ROWS * OBSERVATION; k++)
        CU_ASSERT_DOUBLE_EQUAL(merged[k], out[k], 1e-5);
    corral_policy_destroy(whole);
    corral_policy_destroy(parts);
}

static char *temporary(void)
{
    char *path = corral_format("/tmp/corral-policy-%d.safetensors", (int)getpid());
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    return path;
}

static bool same_moments(const corral_policy *a, const corral_policy *b)
{
    const corral_moments x = corral_policy_returns(a), y = corral_policy_returns(b);
    return x.count == y.count && x.mean == y.mean && x.m2 == y.m2;
}

static void files_and_bytes_keep_everything(void)
{
    static float observation[ROWS * OBSERVATION];
    static acted before, after;
    fill(observation, ROWS * OBSERVATION, 3);
    for (int shared = 0; shared < 2; shared++) {
        corral_policy_config config = config_of(shared, true);
        config.normalize_reward = true;
        corral_policy *policy, *read, *unpacked;
        TEST_OK(corral_policy_create(&config, 9, &policy));
        corral_policy_set_returns(policy, (corral_moments){1e6 + 1, 0.1, 1.0 / 3});
        corral_policy_filter_update(policy, ROWS, observation);
        corral_policy_set_version(policy, 41);
        act(policy, ROWS, observation, NULL, &before);

        char *path = temporary();
        TEST_OK(corral_policy_write(policy, path));
        TEST_OK(corral_policy_read(path, &read));
        CU_ASSERT_EQUAL(corral_policy_version(read), 41);
        CU_ASSERT_TRUE(same_moments(policy, read));
        act(read, ROWS, observation, NULL, &after);
        CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof before), 0);

        TEST_OK(corral_policy_create(&config, 10, &unpacked));
        char *bytes = malloc(corral_policy_bytes(policy));
        CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
        corral_policy_pack(policy, bytes);
        TEST_FAILS(corral_policy_unpack(unpacked, bytes, corral_policy_bytes(policy) - 1),
                   CORRAL_ERROR_CORRUPT, "not weights of this network");
        TEST_OK(corral_policy_unpack(unpacked, bytes, corral_policy_bytes(policy)));
        act(unpacked, ROWS, observation, NULL, &after);
        CU_ASSERT_EQUAL(memcmp(&before, &after, sizeof before), 0);
        CU_ASSERT_EQUAL(corral_policy_version(unpacked), 41);
        CU_ASSERT_TRUE(same_moments(policy, unpacked));

        unlink(path);
        free(path);
        free(bytes);
        corral_policy_destroy(policy);
        corral_policy_destroy(read);
        corral_policy_destroy(unpacked);
    }
}

static void another_file_is_refused(void)
{
    corral_policy *policy;
    char *path = temporary();
    TEST_FAILS(corral_policy_read(path, &policy), CORRAL_ERROR_NOT_FOUND, path);
    TEST_OK(corral_file_write(path, "{}", 2));
    CU_ASSERT_NOT_EQUAL(corral_policy_read(path, &policy), CORRAL_OK);
    unlink(path);
    free(path);
}

static void weights_follow_from_the_seed(void)
{
    const corral_policy_config config = config_of(false, false);
    corral_policy *a, *b, *c;
    TEST_OK(corral_policy_create(&config, 1, &a));
    TEST_OK(corral_policy_create(&config, 1, &b));
    TEST_OK(corral_policy_create(&config, 2, &c));
    const size_t size = corral_params_count(corral_policy_params(a)) * sizeof(float);
    CU_ASSERT_EQUAL(memcmp(corral_params_data(corral_policy_params(a)),
                           corral_params_data(corral_policy_params(b)), size),
                    0);
    CU_ASSERT_NOT_EQUAL(memcmp(corral_params_data(corral_policy_params(a)),
                               corral_params_data(corral_policy_params(c)), size),
                        0);
    corral_policy_destroy(a);
    corral_policy_destroy(b);
    corral_policy_destroy(c);
}

/// The values of images of nothing, and of one bright pixel in each corner.
static void see_corners(corral_cnn cnn, uint32_t height, uint32_t width, float value[5])
{
    corral_policy_config config = config_of(true, false);
    const uint32_t count = height * width;
    config.cnn = cnn;
    config.initialisation = CORRAL_INIT_FAN_IN;
    config.activation = CORRAL_RELU;
    config.observation_size = count;
    config.observation = (corral_policy_space){.row_bytes = count, .part_count = 1};
    config.observation.part[0] = (corral_part){.kind = CORRAL_PART_IMAGE,
                                               .dtype = CORRAL_PART_U8,
                                               .count = count,
                                               .channels = 1,
                                               .height = height,
                                               .width = width};
    corral_policy *policy;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    unsigned char *image = calloc(5, count);
    image[count] = image[2 * count + width - 1] = image[4 * count - width] = image[5 * count - 1] = 255;
    acted out;
    const corral_policy_input in = {.rows = 5, .observation = image};
    const corral_policy_output output = {out.action, out.env_action, out.log_prob, out.logits, out.value};
    TEST_OK(corral_policy_act_on(policy, &in, &output));
    memcpy(value, out.value, 5 * sizeof *value);
    free(image);
    corral_policy_destroy(policy);
}

static void every_corner_of_an_image_is_seen(void)
{
    static const uint32_t sides[][2] = {{36, 36}, {42, 42}, {43, 44}, {50, 62}, {84, 84}, {87, 84}};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++)
        for (corral_cnn cnn = CORRAL_CNN_SMALL; cnn <= CORRAL_CNN_NATURE; cnn++) {
            float value[5];
            see_corners(cnn, sides[i][0], sides[i][1], value);
            for (int corner = 1; corner < 5; corner++)
                CU_ASSERT_NOT_EQUAL(value[corner], value[0]);
        }
}

int main(void)
{
    return test_run("policy",
                    (test_case[]){
                        {"a row does not depend on its neighbours", a_row_does_not_depend_on_its_neighbours},
                        {"the graph computes what acting does", the_graph_computes_what_acting_does},
                        {"greedy takes the most probable", greedy_takes_the_most_probable},
                        {"the filter normalises each element", the_filter_normalises_each_element},
                        {"files and bytes keep everything", files_and_bytes_keep_everything},
                        {"another file is refused", another_file_is_refused},
                        {"weights follow from the seed", weights_follow_from_the_seed},
                        {"every corner of an image is seen", every_corner_of_an_image_is_seen},
                        {NULL, NULL},
                    });
}
