// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Twelve networks against PyTorch: results, losses, gradients, and the weights after five steps of Adam, in
// f64 to the last digits and in f32 within the engine's tolerances.

#include "corral/core/distributions.h"
#include "corral/core/elements.h"
#include "corral/core/layers.h"
#include "corral/core/losses.h"
#include "corral/core/optim.h"
#include "corral/core/shapes.h"

#include "golden_networks.h"

enum { ROWS = 6, STEPS = 5 };

static const char *network; // whose turn it is

static const golden_line *data_of(const char *name)
{
    const golden_line *line = golden_find(network, "input", name, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    return line;
}

static corral_dtype current_dtype;

static corral_tensor *input(corral_tape *tape, const char *name)
{
    const golden_line *line = data_of(name);
    const void *data = current_dtype == CORRAL_F64 ? (const void *)line->numbers : line->floats;
    return corral_input(tape, current_dtype, line->dimension_count, line->shape, data);
}

static corral_tensor *dense(corral_tensor *x, uint32_t entry, corral_activation activation)
{
    return corral_linear(x, entry, entry + 1, activation);
}

// --- the networks: the result, and the loss through `out_loss` --------------------------------------------

static corral_tensor *mlp(corral_tape *tape, corral_tensor **out_loss)
{
    corral_tensor *h = dense(dense(input(tape, "x"), 0, CORRAL_TANH), 2, CORRAL_RELU);
    corral_tensor *out = dense(h, 4, CORRAL_LINEAR);
    *out_loss = corral_mse_loss(out, input(tape, "y"));
    return out;
}

static corral_tensor *cnn(corral_tape *tape, corral_tensor **out_loss)
{
    corral_tensor *h = corral_conv2d(input(tape, "x"), 0, 1, &(corral_window){3, 3, 2, 0}, CORRAL_RELU);
    h = corral_conv2d(h, 2, 3, &(corral_window){2, 2, 1, 1}, CORRAL_RELU);
    h = corral_max_pool2d(h, &(corral_window){2, 2, 2, 0});
    corral_tensor *out = dense(corral_reshape(h, 2, (const size_t[]){2, 36}), 4, CORRAL_LINEAR);
    *out_loss = corral_mse_loss(out, input(tape, "y"));
    return out;
}

static corral_tensor *recurrent(corral_tape *tape, corral_tensor **out_loss)
{
    static uint8_t reset[12];
    for (size_t i = 0; i < 12; i++)
        reset[i] = data_of("reset")->indices[i] != 0;
    const corral_recurrent entries = {0, 1, 2, 3};
    const corral_sequences s = {
        .steps = 4, .reset = reset, .hidden = input(tape, "first"), .cell = input(tape, "first")};
    corral_tensor *x = input(tape, "x");
    corral_tensor *out =
        strcmp(network, "lstm") == 0 ? corral_lstm(x, &entries, &s, NULL) : corral_gru(x, &entries, &s);
    *out_loss = corral_mse_loss(out, input(tape, "y"));
    return out;
}

/// [5, 6] as two heads of [5, 3].
static corral_tensor *heads(corral_tensor *x)
{
    return corral_permute(corral_reshape(x, 3, (const size_t[]){5, 2, 3}), (const uint32_t[]){1, 0, 2});
}

static corral_tensor *attention(corral_tape *tape, corral_tensor **out_loss)
{
    static uint8_t allowed[2 * 5 * 5];
    for (size_t i = 0; i < sizeof allowed; i++)
        allowed[i] = i % 5 <= i / 5 % 5;
    corral_tensor *x = input(tape, "x");
    corral_tensor *seen =
        corral_attention(heads(dense(x, 0, CORRAL_LINEAR)), heads(dense(x, 2, CORRAL_LINEAR)),
                         heads(dense(x, 4, CORRAL_LINEAR)), allowed);
    seen = corral_reshape(corral_permute(seen, (const uint32_t[]){1, 0, 2}), 2, (const size_t[]){5, 6});
    corral_tensor *out = dense(seen, 6, CORRAL_LINEAR);
    *out_loss = corral_mse_loss(out, input(tape, "y"));
    return out;
}

static corral_tensor *layer_norm(corral_tape *tape, corral_tensor **out_loss)
{
    corral_tensor *h = corral_tanh(corral_layer_norm(dense(input(tape, "x"), 0, CORRAL_LINEAR), 2, 3, 1e-5));
    corral_tensor *out = dense(h, 4, CORRAL_LINEAR);
    *out_loss = corral_smooth_l1_loss(out, input(tape, "y"), 1.0);
    return out;
}

static corral_tensor *noisy(corral_tape *tape, corral_tensor **out_loss)
{
    const corral_noisy entries = {0, 1, 2, 3};
    corral_tensor *out =
        corral_noisy_linear(input(tape, "x"), &entries, input(tape, "in"), input(tape, "out"), CORRAL_TANH);
    *out_loss = corral_mse_loss(out, input(tape, "y"));
    return out;
}

static corral_tensor *dueling(corral_tape *tape, corral_tensor **out_loss)
{
    const corral_dqn_terms terms = {.action = data_of("action")->indices,
                                    .target = data_of("target")->floats,
                                    .weight = data_of("weight")->floats,
                                    .huber_delta = 0.75f,
                                    .total_rows = ROWS};
    corral_tensor *h = dense(input(tape, "x"), 0, CORRAL_TANH);
    corral_tensor *q = corral_dueling(dense(h, 2, CORRAL_LINEAR), dense(h, 4, CORRAL_LINEAR));
    *out_loss = corral_dqn_loss(q, &terms, NULL, NULL);
    return q;
}

static corral_tensor *c51(corral_tape *tape, corral_tensor **out_loss)
{
    static float target[ROWS * 7];
    const corral_c51_terms terms = {.support = {3, 7, -2.0f, 2.0f},
                                    .action = data_of("action")->indices,
                                    .target = target,
                                    .total_rows = ROWS};
    corral_c51_target(ROWS, &terms.support, data_of("next")->floats, terms.action, data_of("reward")->floats,
                      data_of("discount")->floats, target);
    corral_tensor *logits = dense(dense(input(tape, "x"), 0, CORRAL_TANH), 2, CORRAL_LINEAR);
    *out_loss = corral_c51_loss(logits, &terms, NULL, NULL);
    return logits;
}

static corral_tensor *ppo(corral_tape *tape, corral_tensor **out_loss)
{
    const corral_ppo_terms terms = {.action = data_of("action")->indices,
                                    .old_log_prob = data_of("old")->floats,
                                    .old_value = data_of("old_value")->floats,
                                    .advantage = data_of("advantage")->floats,
                                    .value_target = data_of("target")->floats,
                                    .clip_range = 0.25f,
                                    .value_clip_range = 0.5f,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.125f,
                                    .total_rows = ROWS};
    corral_tensor *h = dense(input(tape, "x"), 0, CORRAL_TANH), *logits = dense(h, 2, CORRAL_LINEAR);
    *out_loss = corral_ppo_loss(logits, dense(h, 4, CORRAL_LINEAR), &terms, NULL);
    return logits;
}

static float number_at(const corral_tensor *x, size_t i)
{
    return x->dtype == CORRAL_F64 ? (float)((const double *)x->data)[i] : ((const float *)x->data)[i];
}

/// Ratios and values go through V-trace, which is no part of the graph; what comes out are inputs.
static corral_tensor *vtrace(corral_tape *tape, corral_tensor **out_loss)
{
    static float ratio[ROWS], value[ROWS], next[ROWS], target[ROWS], advantage[ROWS];
    static double wide[2][ROWS];
    static const size_t classes = 3, rows = ROWS;
    static const uint8_t cut[ROWS] = {0, 1, 0, 0, 0, 0};
    corral_tensor *h = dense(input(tape, "x"), 0, CORRAL_TANH);
    corral_tensor *log_p =
        corral_categorical_log_prob(dense(h, 2, CORRAL_LINEAR), 1, &classes, data_of("action")->indices);
    corral_tensor *v = corral_squeeze(dense(h, 4, CORRAL_LINEAR), 1);
    for (size_t r = 0; r < ROWS; r++) {
        ratio[r] = number_at(log_p, r) - data_of("old")->floats[r];
        value[r] = number_at(v, r);
        if (r % 3 > 0) next[r - 1] = value[r];
        if (r % 3 == 2) next[r] = data_of("last")->floats[r / 3];
    }
    corral_vtrace(ROWS,
                  &(corral_vtrace_terms){.steps = 3,
                                         .log_ratio = ratio,
                                         .reward = data_of("reward")->floats,
                                         .discount = data_of("discount")->floats,
                                         .value = value,
                                         .next_value = next,
                                         .cut = cut,
                                         .rho_clip = 1.0f,
                                         .c_clip = 1.0f,
                                         .policy_rho_clip = 1.0f,
                                         .lambda = 1.0f},
                  target, advantage);
    for (size_t r = 0; r < ROWS; r++) {
        wide[0][r] = (double)target[r];
        wide[1][r] = (double)advantage[r];
    }
    const bool is_wide = current_dtype == CORRAL_F64;
    corral_tensor *goal =
        corral_input(tape, current_dtype, 1, &rows, is_wide ? (const void *)wide[0] : target);
    corral_tensor *push =
        corral_input(tape, current_dtype, 1, &rows, is_wide ? (const void *)wide[1] : advantage);
    *out_loss = corral_sub(corral_scale(corral_mse_loss(v, goal), 0.5), corral_mean(corral_mul(log_p, push)));
    return goal;
}

static corral_tensor *squashed_normal(corral_tape *tape, corral_tensor **out_loss)
{
    corral_tensor *h = dense(input(tape, "x"), 0, CORRAL_RELU);
    corral_tensor *mean = dense(h, 2, CORRAL_LINEAR), *log_std = dense(h, 4, CORRAL_LINEAR);
    corral_tensor *u = corral_normal_rsample(mean, log_std, input(tape, "noise"));
    corral_tensor *log_p = corral_squashed_normal_log_prob(mean, log_std, u);
    corral_tensor *far = corral_sum_last(corral_square(corral_sub(corral_tanh(u), input(tape, "goal"))));
    *out_loss = corral_mean(corral_add(corral_scale(log_p, 0.2), far));
    return log_p;
}

// --- comparing --------------------------------------------------------------------------------------------

/// How far a network's numbers may be away: in f64, and in f32 as a share of the largest.
typedef struct network_case {
    const char *name;
    corral_tensor *(*build)(corral_tape *, corral_tensor **);
    double max_norm, wide, narrow;
} network_case;

static const network_case cases[] = {
    {"mlp", mlp, 0, 1e-11, 1e-5},
    {"cnn", cnn, 0, 1e-11, 5e-5},
    {"lstm", recurrent, 0, 1e-11, 1e-5},
    {"gru", recurrent, 0, 1e-11, 1e-5},
    {"attention", attention, 0, 1e-11, 1e-5},
    {"layer_norm", layer_norm, 0, 1e-11, 1e-5},
    {"noisy", noisy, 0, 1e-11, 1e-5},
    {"dueling", dueling, 0, 1e-11, 1e-5},
    {"c51", c51, 0, 1e-6, 1e-5}, // its target is f32
    {"ppo", ppo, 0.5, 1e-11, 1e-5},
    {"vtrace", vtrace, 0, 1e-6, 1e-5}, // so are these
    {"squashed_normal", squashed_normal, 0, 1e-11, 1e-5},
};

static double element(const void *data, size_t i)
{
    return current_dtype == CORRAL_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static double largest_of(const golden_line *line)
{
    double largest = 0.0;
    for (size_t i = 0; i < line->count; i++)
        largest = fmax(largest, fabs(line->numbers[i]));
    return largest;
}

/// What a line is measured against: its largest number, a gradient against the network's largest.
static double scale_of(const char *kind, const golden_line *line)
{
    double largest = largest_of(line);
    if (strcmp(kind, "grad") != 0) return fmax(1e-3, largest);
    for (size_t i = 0; (line = golden_find(network, kind, NULL, i)) != NULL; i++)
        largest = fmax(largest, largest_of(line));
    return largest;
}

static void compare(const char *kind, const char *name, const void *found, double tolerance)
{
    const golden_line *line = golden_find(network, kind, name, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    const double largest = scale_of(kind, line);
    double worst = 0.0;
    for (size_t i = 0; i < line->count; i++) {
        worst = fmax(worst, fabs(line->numbers[i] - element(found, i)));
    }
    const int close = worst <= tolerance * largest;
    if (!close)
        fprintf(stderr, "%s in f%d: %s %s is %g away, of at most %g\n", network,
                current_dtype == CORRAL_F64 ? 64 : 32, kind, name, worst, largest);
    CU_ASSERT_TRUE(close);
}

static corral_params *make_params(void)
{
    corral_params *params = NULL;
    const golden_line *line;
    TEST_OK(corral_params_create(current_dtype, &params));
    for (uint32_t i = 0, index; (line = golden_find(network, "param", NULL, i)) != NULL; i++)
        TEST_OK(corral_params_add(params, line->name, line->dimension_count, line->shape, &index));
    TEST_OK(corral_params_seal(params));
    for (uint32_t e = 0; e < corral_params_entry_count(params); e++) {
        const corral_param *entry = corral_params_entry(params, e);
        line = golden_find(network, "param", entry->name, 0);
        for (size_t i = 0; i < entry->count; i++) {
            if (current_dtype == CORRAL_F64)
                ((double *)corral_params_data(params))[entry->offset + i] = line->numbers[i];
            else
                ((float *)corral_params_data(params))[entry->offset + i] = line->floats[i];
        }
    }
    corral_params_refresh(params);
    return params;
}

static void compare_entries(const char *kind, const corral_params *params, const void *block,
                            double tolerance)
{
    for (uint32_t e = 0; e < corral_params_entry_count(params); e++) {
        const corral_param *entry = corral_params_entry(params, e);
        // Where the exact gradient is 0 (a bias of keys moves no softmax), Adam follows the rounding's sign.
        if (strcmp(kind, "after") == 0 && largest_of(golden_find(network, "grad", entry->name, 0)) < 1e-12)
            continue;
        compare(kind, entry->name, (const char *)block + entry->offset * corral_dtype_size(current_dtype),
                tolerance);
    }
}

static void run_network(const network_case *c, double tolerance, double after)
{
    network = c->name;
    corral_params *params = make_params();
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = c->max_norm;
    corral_optimizer *optimizer = NULL;
    corral_tape *tape = NULL;
    TEST_OK(corral_optimizer_create(&config, params, &optimizer));
    TEST_OK(corral_tape_create(&tape));
    for (int step = 0; step < STEPS; step++) {
        void *gradients = corral_optimizer_lane(optimizer, 0);
        corral_tensor *loss;
        corral_tape_reset(tape, params, gradients);
        const corral_tensor *result = c->build(tape, &loss);
        TEST_OK(corral_backward(loss));
        if (step == 0) {
            compare("result", "result", result->data, tolerance);
            compare("loss", "loss", loss->data, tolerance);
            compare_entries("grad", params, gradients, tolerance);
        }
        TEST_OK(corral_optimizer_step(optimizer, 1, 1e-2, NULL, NULL));
    }
    compare_entries("after", params, corral_params_data_const(params), after);
    corral_tape_destroy(tape);
    corral_optimizer_destroy(optimizer);
    corral_params_destroy(params);
}

static void in_f64(void)
{
    current_dtype = CORRAL_F64;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_network(&cases[i], cases[i].wide, 100.0 * cases[i].wide);
}

/// Adam divides by the gradient's size, so that a gradient which is nearly 0 may move its weight a little.
static void in_f32(void)
{
    current_dtype = CORRAL_F32;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_network(&cases[i], cases[i].narrow, 1e-3);
}

int main(void)
{
    return test_run("networks", (test_case[]){{"the file", golden_load},
                                              {"in f64", in_f64},
                                              {"in f32", in_f32},
                                              {"the end", golden_free},
                                              {NULL, NULL}});
}
