// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The table of one dtype, made of the functions of real_elements.h, real_rows.h, real_ppo.h and real_dqn.h
// and of the including file's products. KERNELS names it.

#define BINARY(NAME, name) [CORRAL_BINARY_##NAME] = name
#define UNARY(NAME, name)  [CORRAL_UNARY_##NAME] = name

const corral_kernels KERNELS = {
    .binary = {BINARY(ADD, add_run), BINARY(SUB, sub_run), BINARY(MUL, mul_run), BINARY(DIV, div_run),
               BINARY(MINIMUM, minimum_run), BINARY(MAXIMUM, maximum_run)},
    .binary_grad = {BINARY(ADD, add_run_grad), BINARY(SUB, sub_run_grad), BINARY(MUL, mul_run_grad),
                    BINARY(DIV, div_run_grad), BINARY(MINIMUM, minimum_run_grad),
                    BINARY(MAXIMUM, maximum_run_grad)},
    .unary = {UNARY(SCALE, scale_run), UNARY(EXP, exp_run), UNARY(LOG, log_run), UNARY(TANH, tanh_run),
              UNARY(SIGMOID, sigmoid_run), UNARY(RELU, relu_run), UNARY(SQUARE, square_run),
              UNARY(SQRT, sqrt_run), UNARY(ABS, abs_run), UNARY(CLAMP, clamp_run),
              UNARY(SMOOTH_L1, smooth_l1_run)},
    .unary_grad = {UNARY(SCALE, scale_run_grad), UNARY(EXP, exp_run_grad), UNARY(LOG, log_run_grad),
                   UNARY(TANH, tanh_run_grad), UNARY(SIGMOID, sigmoid_run_grad), UNARY(RELU, relu_run_grad),
                   UNARY(SQUARE, square_run_grad), UNARY(SQRT, sqrt_run_grad), UNARY(ABS, abs_run_grad),
                   UNARY(CLAMP, clamp_run_grad), UNARY(SMOOTH_L1, smooth_l1_run_grad)},
    .sum = sum_all,
    .sum_grad = sum_all_grad,
    .sum_rows = sum_rows,
    .sum_rows_grad = sum_rows_grad,
    .log_softmax = log_softmax,
    .log_softmax_grad = log_softmax_grad,
    .gather = gather,
    .gather_grad = gather_grad,
    .add = add_all,
    .add_scaled = add_scaled,
    .transpose = transpose,
    .linear = linear,
    .activation_grad = activation_grad,
    .linear_grad_input = linear_grad_input,
    .linear_grad_weight = linear_grad_weight,
    .ppo = ppo,
    .dqn = dqn,
    .dueling = dueling,
    .dueling_grad = dueling_grad,
};

#undef BINARY
#undef UNARY
