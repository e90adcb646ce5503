// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// 16-bit formats bit by bit, products under autocast, loss scaling, layers of integers, and tensors by
// DLPack.

#include "corral/core/precision.h"
#include "corral/base/log.h"
#include "corral/core/dlpack.h"
#include "small_network.h"

static corral_tape *tape;

// --- 16 bits ----------------------------------------------------------------------------------------------

static float round_one(corral_half format, float value)
{
    corral_half_round(format, 1, &value, &value);
    return value;
}

static void every_f16_comes_back(void)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint16_t half = (uint16_t)bits;
        float value;
        uint16_t again;
        corral_half_load(CORRAL_F16, 1, &half, &value);
        corral_half_store(CORRAL_F16, 1, &value, &again);
        const int same = isnan(value) ? (again & 0x7C00) == 0x7C00 && (again & 0x3FF) != 0 : again == half;
        CU_ASSERT_TRUE(same);
    }
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 1.0f / 3), 0.333251953125f);
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 65519.0f), 65504.0f);
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, -65520.0f), -INFINITY);
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 0x1p-24f), 0x1p-24f);
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 0x1p-25f), 0.0f);       // the tie goes to even
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 0x1.8p-24f), 0x1p-23f); // so does this one
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 2049.0f), 2048.0f);
    CU_ASSERT_EQUAL(round_one(CORRAL_F16, 2051.0f), 2052.0f);
}

static void bf16_rounds_to_nearest(void)
{
    CU_ASSERT_EQUAL(round_one(CORRAL_BF16, 1.0f), 1.0f);
    CU_ASSERT_EQUAL(round_one(CORRAL_BF16, 1.00390625f), 1.0f);      // a tie, to even
    CU_ASSERT_EQUAL(round_one(CORRAL_BF16, 1.01171875f), 1.015625f); // a tie, to even
    CU_ASSERT_EQUAL(round_one(CORRAL_BF16, 3.4e38f), INFINITY);
    CU_ASSERT_TRUE(isnan(round_one(CORRAL_BF16, NAN)));
    CU_ASSERT_EQUAL(round_one(CORRAL_BF16, -INFINITY), -INFINITY);
    CU_ASSERT_EQUAL(round_one(CORRAL_FULL, 1.00390625f), 1.00390625f);
}

// --- autocast ---------------------------------------------------------------------------------------------

static void autocast_rounds_operands(void)
{
    static small_network n;
    static float full[4096], rounded[4096], both[4096];
    small_network_start(&n);
    const size_t shape[] = {16, NET_IN}, count = corral_params_count(n.params);
    CU_ASSERT_TRUE_FATAL(count <= 4096);
    float outputs[2][16 * NET_ACTIONS];
    for (int cast = 0; cast < 2; cast++) {
        corral_tape_reset(tape, n.params, cast ? rounded : full);
        if (cast) CU_ASSERT_EQUAL(corral_tape_autocast(tape, CORRAL_BF16), CORRAL_FULL);
        corral_tensor *y = small_network_apply(corral_input(tape, CORRAL_F32, 2, shape, n.observation), 0);
        TEST_OK(corral_backward(corral_mean(corral_square(y))));
        memcpy(outputs[cast], y->data, sizeof outputs[cast]);
    }
    double largest = 0, apart = 0;
    for (size_t i = 0; i < 16 * NET_ACTIONS; i++) {
        largest = fmax(largest, fabs((double)outputs[0][i]));
        apart = fmax(apart, fabs((double)outputs[0][i] - (double)outputs[1][i]));
    }
    CU_ASSERT_TRUE(apart > 0 && apart <= 2e-2 * largest);
    double norm = 0, difference = 0;
    for (size_t i = 0; i < count; i++) {
        norm += (double)full[i] * (double)full[i];
        difference += pow((double)full[i] - (double)rounded[i], 2);
    }
    CU_ASSERT_TRUE(difference > 0 && sqrt(difference) <= 2e-2 * sqrt(norm));

    // Exactly the product of rounded operands.
    corral_tape_reset(tape, n.params, both);
    corral_tensor *x = corral_input(tape, CORRAL_F32, 2, shape, n.observation);
    corral_tensor *w = corral_transpose(corral_parameter(tape, 0));
    corral_tensor *apart_rounded =
        corral_matmul(corral_round_to(x, CORRAL_F16), corral_round_to(w, CORRAL_F16));
    corral_tape_autocast(tape, CORRAL_F16);
    corral_tensor *cast = corral_matmul(x, w);
    TEST_OK(corral_tape_status(tape));
    CU_ASSERT_EQUAL(memcmp(apart_rounded->data, cast->data, corral_tensor_count(cast) * sizeof(float)), 0);
    small_network_finish(&n);
}

// --- loss scaling -----------------------------------------------------------------------------------------

static int warnings;

static void count_warnings(void *context, corral_log_level level, const char *line)
{
    (void)context;
    (void)line;
    warnings += level == CORRAL_LOG_WARNING;
}

static void scaled_losses_train_the_same(void)
{
    static small_network n[2];
    corral_loss_scaler scaler = corral_loss_scaler_default();
    double norm[2];
    bool skipped = true;
    for (int scaled = 0; scaled < 2; scaled++) {
        small_network_start(&n[scaled]);
        corral_tape_reset(tape, n[scaled].params, corral_optimizer_lane(n[scaled].optimizer, 0));
        corral_tensor *x =
            corral_input(tape, CORRAL_F32, 2, (const size_t[]){16, NET_IN}, n[scaled].observation);
        corral_tensor *loss = corral_mean(corral_square(small_network_apply(x, 0)));
        TEST_OK(corral_backward(scaled ? corral_loss_scaled(loss, &scaler) : loss));
        if (scaled)
            TEST_OK(corral_loss_scaler_step(&scaler, n[1].optimizer, 1, 1e-2, NULL, &norm[1], &skipped));
        else
            TEST_OK(corral_optimizer_step(n[0].optimizer, 1, 1e-2, NULL, &norm[0]));
    }
    CU_ASSERT_FALSE(skipped);
    CU_ASSERT_DOUBLE_EQUAL(norm[0], norm[1], 1e-12 * norm[0]);
    const float *a = corral_params_data(n[0].params), *b = corral_params_data(n[1].params);
    for (size_t i = 0; i < corral_params_count(n[0].params); i++)
        CU_ASSERT_DOUBLE_EQUAL(a[i], b[i], 1e-6);
    small_network_finish(&n[0]);
    small_network_finish(&n[1]);
}

static void skipped_steps_are_counted_to_a_floor(void)
{
    static small_network n;
    small_network_start(&n);
    corral_loss_scaler scaler = {.scale = 4, .floor = 1, .ceiling = 8, .interval = 2};
    bool skipped = false;
    warnings = 0;
    corral_log_set_sink(count_warnings, NULL);
    const float before = *(const float *)corral_params_data(n.params);
    for (int i = 0; i < 4; i++) {
        ((float *)corral_optimizer_lane(n.optimizer, 0))[0] = INFINITY;
        TEST_OK(corral_loss_scaler_step(&scaler, n.optimizer, 1, 1e-2, NULL, NULL, &skipped));
        CU_ASSERT_TRUE(skipped);
    }
    CU_ASSERT_EQUAL(scaler.scale, 1.0);
    CU_ASSERT_EQUAL(scaler.skipped, 4);
    CU_ASSERT_EQUAL(warnings, 2); // at the floor, where halving helps no more
    CU_ASSERT_EQUAL(*(const float *)corral_params_data(n.params), before);
    for (int i = 0; i < 10; i++) {
        corral_optimizer_lane(n.optimizer, 0);
        TEST_OK(corral_loss_scaler_step(&scaler, n.optimizer, 1, 1e-2, NULL, NULL, &skipped));
    }
    CU_ASSERT_EQUAL(scaler.scale, 8.0);
    corral_log_set_sink(NULL, NULL);
    small_network_finish(&n);
}

// --- integers ---------------------------------------------------------------------------------------------

static void integer_layers_are_close_and_small(void)
{
    static small_network n;
    small_network_start(&n);
    corral_int8_linear *layer = NULL;
    float exact[8 * NET_HIDDEN], found[8 * NET_HIDDEN], alone[NET_HIDDEN];
    float *bias = (float *)corral_params_data(n.params) + corral_params_entry(n.params, 1)->offset;
    for (size_t i = 0; i < NET_HIDDEN; i++)
        bias[i] = 0.01f * (float)i;
    TEST_OK(corral_int8_linear_create(n.params, 0, 1, CORRAL_TANH, &layer));
    corral_linear_forward(n.params, 0, 1, CORRAL_TANH, 8, n.observation, exact);
    TEST_OK(corral_int8_linear_run(layer, 8, n.observation, found));
    for (size_t i = 0; i < 8 * NET_HIDDEN; i++)
        CU_ASSERT_DOUBLE_EQUAL(found[i], exact[i], 0.02);
    TEST_OK(corral_int8_linear_run(layer, 1, n.observation + 3 * NET_IN, alone));
    CU_ASSERT_EQUAL(memcmp(alone, found + 3 * NET_HIDDEN, sizeof alone), 0);
    CU_ASSERT_TRUE(corral_int8_linear_bytes(layer) < NET_HIDDEN * (NET_IN + 2 * sizeof(float)) + 128);
    const float zeros[NET_IN] = {0}, bad[NET_IN] = {1, NAN};
    TEST_OK(corral_int8_linear_run(layer, 1, zeros, alone));
    CU_ASSERT_DOUBLE_EQUAL(alone[5], tanh(0.05), 1e-6);
    TEST_FAILS(corral_int8_linear_run(layer, 1, bad, alone), CORRAL_ERROR_NOT_FINITE, "row 0");
    corral_int8_linear_destroy(layer);
    TEST_FAILS(corral_int8_linear_create(n.params, 1, 1, CORRAL_TANH, &layer), CORRAL_ERROR_INVALID,
               "[out, in]");
    small_network_finish(&n);
}

// --- DLPack -----------------------------------------------------------------------------------------------

static void tensors_go_out(void)
{
    static small_network n;
    small_network_start(&n);
    corral_dl_managed *view = NULL, *copy = NULL;
    TEST_OK(corral_dl_export_param(n.params, 0, &view));
    CU_ASSERT_PTR_EQUAL(view->tensor.data, corral_params_data(n.params));
    CU_ASSERT_TRUE(view->tensor.shape[0] == NET_HIDDEN && view->tensor.strides[0] == NET_IN);
    CU_ASSERT_TRUE(view->tensor.dtype.bits == 32 && view->tensor.dtype.code == CORRAL_DL_FLOAT);
    view->deleter(view);
    corral_tape_reset(tape, n.params, NULL);
    TEST_OK(corral_dl_export(corral_square(corral_parameter(tape, 0)), &copy));
    corral_tape_reset(tape, NULL, NULL);
    const float w = *(const float *)corral_params_data(n.params);
    CU_ASSERT_EQUAL(*(const float *)copy->tensor.data, w * w);
    copy->deleter(copy);
    small_network_finish(&n);
}

static void tensors_come_in(void)
{
    float values[6] = {1, 2, 3, 4, 5, 6};
    int64_t shape[2] = {2, 3}, across[2] = {1, 2};
    corral_dl_managed managed = {.tensor = {.data = values,
                                            .device = {CORRAL_DL_CPU, 0},
                                            .dimension_count = 2,
                                            .dtype = {CORRAL_DL_FLOAT, 32, 1},
                                            .shape = shape}};
    corral_tape_reset(tape, NULL, NULL);
    CU_ASSERT_PTR_EQUAL(corral_dl_import(tape, &managed)->data, values);
    managed.tensor.strides = across;
    const float *transposed = corral_dl_import(tape, &managed)->data;
    CU_ASSERT_TRUE(transposed[1] == 3 && transposed[2] == 5 && transposed[3] == 2);
    const uint16_t halves[6] = {0x3C00, 0x4000, 0xC000, 0, 0, 0x7C00};
    managed.tensor.strides = NULL;
    managed.tensor.data = (void *)(uintptr_t)halves;
    managed.tensor.dtype.bits = 16;
    const float *loaded = corral_dl_import(tape, &managed)->data;
    CU_ASSERT_TRUE(loaded[0] == 1 && loaded[2] == -2 && isinf(loaded[5]));
    TEST_OK(corral_tape_status(tape));
    managed.tensor.device.type = 2;
    corral_dl_import(tape, &managed);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_UNSUPPORTED, "not in this machine's memory");
}

int main(void)
{
    if (corral_tape_create(&tape) != CORRAL_OK) return 2;
    const int result = test_run(
        "precision",
        (test_case[]){{"every f16 comes back", every_f16_comes_back},
                      {"bf16 rounds to nearest", bf16_rounds_to_nearest},
                      {"autocast rounds operands", autocast_rounds_operands},
                      {"scaled losses train the same", scaled_losses_train_the_same},
                      {"skipped steps are counted, to a floor", skipped_steps_are_counted_to_a_floor},
                      {"integer layers are close and small", integer_layers_are_close_and_small},
                      {"tensors go out", tensors_go_out},
                      {"tensors come in", tensors_come_in},
                      {NULL, NULL}});
    corral_tape_destroy(tape);
    return result;
}
