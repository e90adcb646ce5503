// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Policies as ONNX. Here the bytes are read back as protocol buffers: every length fits, and the graph names
// what it should. With a folder as the argument, each model is left there beside observations and what acting
// says of them, for onnx_check.py to compare with another runtime.

#include "../base/temporary.h"

#include "corral/base/rng.h"
#include "corral/policy/export.h"

enum { ROWS = 7, NUMBERS = 5 };

static const char *folder;

// --- policies of every kind -------------------------------------------------------------------------------

static corral_policy_config plain(void)
{
    return (corral_policy_config){.observation_size = NUMBERS,
                                  .action_count = 3,
                                  .action_start = 2,
                                  .hidden = {2, {16, 12}},
                                  .activation = CORRAL_TANH,
                                  .observation_clip = 1.5,
                                  .normalize_observation = true};
}

static corral_policy_config of_q(corral_worth worth, bool dueling)
{
    corral_policy_config config = plain();
    config.kind = CORRAL_POLICY_Q;
    config.activation = CORRAL_RELU;
    config.worth = worth;
    config.dueling = dueling;
    config.atoms = worth == CORRAL_WORTH_MEAN ? 0 : 11;
    config.value_min = -3;
    config.value_max = 5;
    return config;
}

/// Choices and numbers on both sides.
static corral_policy_config of_parts(corral_deviation_kind deviation, bool squash)
{
    corral_policy_config config = plain();
    config.action_start = 0;
    config.observation.row_bytes = 4 + NUMBERS * 4;
    config.observation.part_count = 2;
    config.observation.part[0] = (corral_part){
        .kind = CORRAL_PART_CHOICES, .dtype = CORRAL_PART_I32, .count = 1, .start = 1, .choices = 4};
    config.observation.part[1] =
        (corral_part){.kind = CORRAL_PART_NUMBERS, .dtype = CORRAL_PART_F32, .offset = 4, .count = NUMBERS};
    config.observation_size = 4 + NUMBERS;
    config.action.row_bytes = 8 + 8;
    config.action.part_count = 2;
    config.action.part[0] = (corral_part){
        .kind = CORRAL_PART_CHOICES, .dtype = CORRAL_PART_I32, .count = 2, .start = 3, .choices = 3};
    config.action.part[1] = (corral_part){.kind = CORRAL_PART_NUMBERS,
                                          .dtype = CORRAL_PART_F32,
                                          .offset = 8,
                                          .count = 2,
                                          .low = -0.1,
                                          .high = 0.7};
    config.action_count = (uint32_t)corral_policy_action_inputs(&config.action);
    config.deviation = deviation;
    config.squash = squash;
    config.noise_every = 1;
    return config;
}

/// Weights of another size than the first ones, so that outputs differ and bounds are met.
static void stir(corral_policy *policy)
{
    corral_params *params = corral_policy_params(policy);
    float *weights = corral_params_data(params);
    for (uint32_t k = 0; k < corral_params_entry_count(params); k++) {
        const corral_param *entry = corral_params_entry(params, k);
        for (size_t i = 0; i < entry->count; i++)
            weights[entry->offset + i] = (float)(0.8 * sin((double)(k + 1) * 1.7 + (double)i * 0.9));
    }
    corral_params_refresh(params);
    corral_policy_still_noise(policy);
}

// --- the bytes --------------------------------------------------------------------------------------------

static bool read_varint(const unsigned char **at, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) return true;
    }
    return false;
}

/// Counts the fields of a message, and gives the last one of this number that has a length.
static int read_message(const unsigned char *at, const unsigned char *end, unsigned wanted,
                        const unsigned char **out_at, const unsigned char **out_end)
{
    int count = 0;
    uint64_t key, value;
    for (; at < end; count++) {
        if (!read_varint(&at, end, &key) || !read_varint(&at, end, &value)) return -1;
        if ((key & 7) == 0) continue;
        if ((key & 7) != 2 || value > (uint64_t)(end - at)) return -1;
        if (key >> 3 == wanted) {
            *out_at = at;
            *out_end = at + value;
        }
        at += value;
    }
    return count;
}

static bool holds(const char *bytes, size_t size, const char *text)
{
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void check_bytes(const char *path, const corral_policy_config *config)
{
    char *bytes;
    size_t size;
    TEST_OK(corral_file_read(path, 1 << 24, &bytes, &size));
    const unsigned char *at = (const unsigned char *)bytes, *end = at + size, *graph = NULL,
                        *graph_end = NULL;
    CU_ASSERT_EQUAL(read_message(at, end, 7, &graph, &graph_end), 5);
    CU_ASSERT_TRUE_FATAL(graph != NULL && graph_end <= end);
    CU_ASSERT_TRUE(read_message(graph, graph_end, 1, &at, &end) > 10);
    CU_ASSERT_TRUE(read_message(at, end, 4, &at, &end) >= 2); // the last node
    const bool q = config->kind == CORRAL_POLICY_Q, parts = config->action.part_count > 0;
    CU_ASSERT_TRUE(holds(bytes, size, "observation") && holds(bytes, size, q ? "q_values" : "value"));
    CU_ASSERT_EQUAL(holds(bytes, size, "numbers"), parts);
    free(bytes);
}

// --- for another runtime ----------------------------------------------------------------------------------

static void print_floats(FILE *file, const char *name, size_t count, const float *values)
{
    fprintf(file, "%s", name);
    for (size_t i = 0; i < count; i++)
        fprintf(file, " %.9g", (double)values[i]);
    fprintf(file, "\n");
}

static void print_action(FILE *file, const corral_policy_config *config, const unsigned char *row)
{
    int32_t whole[2];
    float numbers[2];
    memcpy(whole, row, config->action.part_count > 0 ? sizeof whole : sizeof whole[0]);
    if (config->action.part_count == 0) {
        fprintf(file, "action %d\n", whole[0]);
        return;
    }
    memcpy(numbers, row + 8, sizeof numbers);
    fprintf(file, "choices %d %d\n", whole[0], whole[1]);
    print_floats(file, "numbers", 2, numbers);
}

/// The encoded observation, and what acting says of it.
static void print_row(FILE *file, corral_policy *policy, const corral_policy *encoder, const void *row)
{
    const corral_policy_config *config = corral_policy_get_config(policy);
    float seen[32], inputs[32], value;
    int32_t action[8];
    unsigned char moved[32];
    corral_policy_filter(encoder, 1, row, seen);
    print_floats(file, "observation", config->observation_size, seen);
    TEST_OK(corral_policy_act(policy, 1, row, NULL,
                              &(corral_policy_output){action, moved, NULL, inputs, &value}));
    print_action(file, config, moved);
    const bool q = config->kind == CORRAL_POLICY_Q, parts = config->action.part_count > 0;
    print_floats(file, q ? "q_values" : "logits", parts ? 6 : config->action_count, inputs);
    if (parts) print_floats(file, "mean", 2, inputs + 6);
    if (parts && config->deviation != CORRAL_DEVIATION_GSDE) print_floats(file, "log_std", 2, inputs + 8);
    if (!q) print_floats(file, "value", 1, &value);
}

static void check(const char *name, corral_policy_config config)
{
    struct {
        int32_t choice;
        float number[NUMBERS];
    } rows[ROWS];
    const bool parts = config.observation.part_count > 0;
    corral_policy *policy = NULL, *encoder = NULL;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    corral_policy_config raw = config;
    raw.normalize_observation = false;
    TEST_OK(corral_policy_create(&raw, 1, &encoder));
    stir(policy);
    for (int r = 0; r < ROWS; r++) {
        rows[r].choice = r % 6; // 0 and 5 are outside
        for (int i = 0; i < NUMBERS; i++)
            rows[r].number[i] = sinf((float)(r * NUMBERS + i)) * (float)(i + 1) + (float)i;
        corral_policy_filter_update(policy, 1, parts ? (const void *)&rows[r] : rows[r].number);
    }
    char path[512];
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    TEST_OK(corral_policy_export_onnx(policy, path));
    check_bytes(path, &config);
    snprintf(path, sizeof path, "%s/%s.txt", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    for (int r = 0; r < ROWS; r++)
        print_row(file, policy, encoder, parts ? (const void *)&rows[r] : rows[r].number);
    fclose(file);
    corral_policy_destroy(policy);
    corral_policy_destroy(encoder);
}

static void every_kind_is_written(void)
{
    corral_policy_config config = plain();
    check("actor_critic", config);
    config.shared = true;
    config.normalize_observation = false;
    config.activation = CORRAL_RELU;
    check("shared", config);
    check("q", of_q(CORRAL_WORTH_MEAN, false));
    check("dueling", of_q(CORRAL_WORTH_MEAN, true));
    check("c51", of_q(CORRAL_WORTH_CATEGORICAL, false));
    check("c51_dueling", of_q(CORRAL_WORTH_CATEGORICAL, true));
    check("quantile_dueling", of_q(CORRAL_WORTH_QUANTILE, true));
    config = of_q(CORRAL_WORTH_MEAN, false);
    config.noisy = true;
    config.noisy_sigma = 0.5;
    check("noisy", config);
    check("parts", of_parts(CORRAL_DEVIATION_FREE, false));
    check("squashed", of_parts(CORRAL_DEVIATION_STATE, true));
    check("gsde", of_parts(CORRAL_DEVIATION_GSDE, false));
}

static void a_place_that_is_not_there(void)
{
    const corral_policy_config config = plain();
    corral_policy *policy = NULL;
    TEST_OK(corral_policy_create(&config, 1, &policy));
    TEST_FAILS(corral_policy_export_onnx(policy, temporary_path("nowhere/p.onnx")), CORRAL_ERROR_IO,
               "p.onnx");
    corral_policy_destroy(policy);
}

int main(int argc, char **argv)
{
    temporary_begin();
    folder = argc > 1 ? argv[1] : temporary_folder;
    const int result =
        test_run("onnx", (test_case[]){{"every kind is written", every_kind_is_written},
                                       {"a place that is not there", a_place_that_is_not_there},
                                       {NULL, NULL}});
    return corral_folder_remove(temporary_folder) == CORRAL_OK ? result : 2;
}
