// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// LSTM and GRU: gradients, resets, and that stepping without a tape gives the bits of a recorded sequence.

#include "corral/core/layers.h"

#include "layer_check.h"

enum { STEPS = 4, SEQUENCES = 3, ROWS = STEPS * SEQUENCES, IN = 3, HIDDEN = 5 };

static const corral_recurrent entries = {0, 1, 2, 3};
static const uint8_t resets[ROWS] = {1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0};

static corral_tensor *use_lstm(corral_tensor *const *inputs)
{
    const corral_sequences s = {.steps = STEPS, .reset = resets, .hidden = inputs[1], .cell = inputs[2]};
    corral_tensor *cell, *hidden = corral_lstm(inputs[0], &entries, &s, &cell);
    return corral_add(hidden, corral_scale(corral_square(cell), 0.5));
}

static corral_tensor *use_cells_only(corral_tensor *const *inputs)
{
    const corral_sequences s = {.steps = STEPS};
    corral_tensor *cell;
    corral_lstm(inputs[0], &entries, &s, &cell);
    return cell;
}

static corral_tensor *use_gru(corral_tensor *const *inputs)
{
    const corral_sequences s = {.steps = STEPS, .reset = resets, .hidden = inputs[1]};
    return corral_gru(inputs[0], &entries, &s);
}

static void gradients_follow_differences(void)
{
    const layer_check checks[] = {
        {.name = "lstm",
         .build = use_lstm,
         .entries = {{2, {4 * HIDDEN, IN}}, {2, {4 * HIDDEN, HIDDEN}}, {1, {4 * HIDDEN}}, {1, {4 * HIDDEN}}},
         .entry_count = 4,
         .inputs = {{2, {ROWS, IN}}, {2, {SEQUENCES, HIDDEN}}, {2, {SEQUENCES, HIDDEN}}},
         .input_count = 3,
         .tolerance = 1e-7},
        {.name = "lstm's cells",
         .build = use_cells_only,
         .entries = {{2, {4 * HIDDEN, IN}}, {2, {4 * HIDDEN, HIDDEN}}, {1, {4 * HIDDEN}}, {1, {4 * HIDDEN}}},
         .entry_count = 4,
         .inputs = {{2, {ROWS, IN}}},
         .input_count = 1,
         .tolerance = 1e-7},
        {.name = "gru",
         .build = use_gru,
         .entries = {{2, {3 * HIDDEN, IN}}, {2, {3 * HIDDEN, HIDDEN}}, {1, {3 * HIDDEN}}, {1, {3 * HIDDEN}}},
         .entry_count = 4,
         .inputs = {{2, {ROWS, IN}}, {2, {SEQUENCES, HIDDEN}}},
         .input_count = 2,
         .tolerance = 1e-7},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        run_layer_check(&checks[i]);
}

// --- a network large enough for every tile ----------------------------------------------------------------

enum { WIDE = 70, WIDE_IN = 37, T = 6, MANY = 13 };

static corral_params *make_params(size_t gates)
{
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F32, &params));
    TEST_OK(corral_params_add(params, "w_i", 2, (const size_t[]){gates * WIDE, WIDE_IN}, &index));
    TEST_OK(corral_params_add(params, "w_h", 2, (const size_t[]){gates * WIDE, WIDE}, &index));
    TEST_OK(corral_params_add(params, "b_i", 1, (const size_t[]){gates * WIDE}, &index));
    TEST_OK(corral_params_add(params, "b_h", 1, (const size_t[]){gates * WIDE}, &index));
    TEST_OK(corral_params_seal(params));
    float *data = corral_params_data(params);
    for (uint32_t e = 0; e < 4; e++) {
        for (size_t i = 0; i < corral_params_entry(params, e)->count; i++)
            data[corral_params_entry(params, e)->offset + i] = 0.3f * (float)layer_number(i + 7 * e);
    }
    corral_params_refresh(params);
    return params;
}

/// Step by step, in batches of one and of all sequences, against the recorded sequence: the same bits.
static void check_steps(size_t gates)
{
    static float x[MANY * T * WIDE_IN], hidden[MANY * WIDE], cell[MANY * WIDE], step_x[MANY * WIDE_IN];
    uint8_t reset[MANY * T], step_reset[MANY];
    corral_params *params = make_params(gates);
    float *scratch = calloc(corral_recurrent_scratch(MANY, WIDE), sizeof *scratch);
    for (size_t i = 0; i < MANY * T * WIDE_IN; i++)
        x[i] = (float)layer_number(3 * i);
    for (size_t i = 0; i < MANY * T; i++)
        reset[i] = i % 5 == 2;
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    const corral_sequences s = {.steps = T, .reset = reset};
    corral_tensor *input = corral_input(tape, CORRAL_F32, 2, (const size_t[]){MANY * T, WIDE_IN}, x);
    const corral_tensor *y =
        gates == 4 ? corral_lstm(input, &entries, &s, NULL) : corral_gru(input, &entries, &s);
    TEST_OK(corral_tape_status(tape));
    for (size_t batch = 1; batch <= MANY; batch += MANY - 1) {
        for (size_t first = 0; first < MANY; first += batch) {
            memset(hidden, 0, sizeof hidden);
            memset(cell, 0, sizeof cell);
            for (size_t t = 0; t < T; t++) {
                for (size_t i = 0; i < batch; i++) {
                    memcpy(step_x + i * WIDE_IN, x + ((first + i) * T + t) * WIDE_IN, WIDE_IN * sizeof *x);
                    step_reset[i] = reset[(first + i) * T + t];
                }
                if (gates == 4)
                    corral_lstm_step(params, &entries, batch, step_x, step_reset, hidden, cell, scratch);
                else
                    corral_gru_step(params, &entries, batch, step_x, step_reset, hidden, scratch);
                for (size_t i = 0; i < batch; i++) {
                    const float *row = (const float *)y->data + ((first + i) * T + t) * WIDE;
                    CU_ASSERT_EQUAL(memcmp(hidden + i * WIDE, row, WIDE * sizeof *row), 0);
                }
            }
        }
    }
    corral_tape_destroy(tape);
    corral_params_destroy(params);
    free(scratch);
}

static void steps_give_the_bits_of_a_sequence(void)
{
    check_steps(4);
    check_steps(3);
}

/// A sequence that holds two episodes is two sequences of one each: values, and nothing flows across.
static void a_reset_is_a_fresh_start(void)
{
    double x[ROWS * IN], state[SEQUENCES * HIDDEN];
    uint8_t reset[ROWS] = {0};
    for (size_t i = 0; i < ROWS * IN; i++)
        x[i] = layer_number(i);
    for (size_t i = 0; i < SEQUENCES * HIDDEN; i++)
        state[i] = layer_number(i + 50);
    reset[0 * STEPS + 2] = 1;
    corral_params *params = NULL;
    uint32_t index;
    TEST_OK(corral_params_create(CORRAL_F64, &params));
    TEST_OK(corral_params_add(params, "w_i", 2, (const size_t[]){4 * HIDDEN, IN}, &index));
    TEST_OK(corral_params_add(params, "w_h", 2, (const size_t[]){4 * HIDDEN, HIDDEN}, &index));
    TEST_OK(corral_params_add(params, "b_i", 1, (const size_t[]){4 * HIDDEN}, &index));
    TEST_OK(corral_params_add(params, "b_h", 1, (const size_t[]){4 * HIDDEN}, &index));
    TEST_OK(corral_params_seal(params));
    for (size_t i = 0; i < corral_params_count(params); i++)
        ((double *)corral_params_data(params))[i] = layer_number(i);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, params, NULL);
    corral_tensor *input = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, IN}, x);
    corral_tensor *first = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){SEQUENCES, HIDDEN}, state);
    const corral_sequences whole = {.steps = STEPS, .reset = reset, .hidden = first, .cell = first};
    corral_tensor *y = corral_lstm(input, &entries, &whole, NULL);
    corral_tensor *tail = corral_input(tape, CORRAL_F64, 2, (const size_t[]){2, IN}, x + 2 * IN);
    const corral_sequences rest = {.steps = 2};
    const corral_tensor *alone = corral_lstm(tail, &entries, &rest, NULL);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(memcmp((double *)y->data + 2 * HIDDEN, alone->data, 2 * HIDDEN * sizeof(double)), 0);
    // The loss sees only what came after the reset.
    double weights[ROWS * HIDDEN] = {0};
    for (size_t i = 2 * HIDDEN; i < 4 * HIDDEN; i++)
        weights[i] = 1.0;
    corral_tensor *w = corral_input(tape, CORRAL_F64, 2, (const size_t[]){ROWS, HIDDEN}, weights);
    TEST_OK(corral_backward(corral_sum(corral_mul(y, w))));
    for (size_t i = 0; i < SEQUENCES * HIDDEN; i++)
        CU_ASSERT_EQUAL(((double *)first->grad)[i], 0.0);
    for (size_t i = 0; i < 2 * IN; i++)
        CU_ASSERT_EQUAL(((double *)input->grad)[i], 0.0);
    CU_ASSERT_NOT_EQUAL(((double *)input->grad)[2 * IN], 0.0);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

static void misuse_is_a_sentence(void)
{
    static const float x[ROWS * WIDE_IN] = {0};
    corral_params *params = make_params(4);
    corral_tape *tape = NULL;
    TEST_OK(corral_tape_create(&tape));
    static const char *const texts[] = {"not whole sequences", "[4 hidden, in]", "[3 hidden, in]",
                                        "first state"};
    for (int which = 0; which < 4; which++) {
        corral_tape_reset(tape, params, NULL);
        corral_tensor *input = corral_input(tape, CORRAL_F32, 2, (const size_t[]){ROWS, WIDE_IN}, x);
        corral_sequences s = {.steps = which == 0 ? 5 : STEPS};
        const corral_recurrent wrong = {0, 1, 2, 9};
        if (which == 3) s.hidden = input;
        if (which == 2)
            corral_gru(input, &entries, &s);
        else
            corral_lstm(input, which == 1 ? &wrong : &entries, &s, NULL);
        TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, texts[which]);
    }
    // No rows: an empty result.
    corral_tape_reset(tape, params, NULL);
    corral_tensor *none = corral_input(tape, CORRAL_F32, 2, (const size_t[]){0, WIDE_IN}, x);
    corral_tensor *y = corral_lstm(none, &entries, &(corral_sequences){.steps = STEPS}, NULL);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(corral_tensor_count(y), 0);
    corral_tape_destroy(tape);
    corral_params_destroy(params);
}

int main(void)
{
    return test_run("recurrent",
                    (test_case[]){{"gradients follow differences", gradients_follow_differences},
                                  {"steps give the bits of a sequence", steps_give_the_bits_of_a_sequence},
                                  {"a reset is a fresh start", a_reset_is_a_fresh_start},
                                  {"misuse is a sentence", misuse_is_a_sentence},
                                  {NULL, NULL}});
}
