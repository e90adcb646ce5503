// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The loss of Q-learning and the dueling head: gradients against central differences in f64, and what the
/// loss is composed of.
#include "gradient_check.h"

enum { ROWS = 5, ACTIONS = 3 };

static const int32_t actions[ROWS] = {0, 2, 1, 1, 2};
static const float targets[ROWS] = {0.5f, -3.0f, 0.1f, 4.0f, 0.2f};
static const float weights[ROWS] = {1.0f, 0.4f, 0.7f, 0.1f, 0.9f};
static const double values[ROWS * ACTIONS] = {0.1,  0.7, -0.4, 1.2, 0.3, 0.9, -0.8, 0.45,
                                              -1.1, 0.6, -0.2, 0.8, 1.5, 0.0, 0.35};

static corral_dqn_terms terms_of(float delta)
{
    return (corral_dqn_terms){.action = actions,
                              .target = targets,
                              .weight = weights,
                              .huber_delta = delta,
                              .total_rows = 2 * ROWS};
}

static corral_tensor *use_squared(corral_tensor *const *v)
{
    const corral_dqn_terms terms = terms_of(0);
    return corral_dqn_loss(v[0], &terms, NULL, NULL);
}

static corral_tensor *use_huber(corral_tensor *const *v)
{
    const corral_dqn_terms terms = terms_of(0.5f);
    return corral_dqn_loss(v[0], &terms, NULL, NULL);
}

static corral_tensor *use_dueling(corral_tensor *const *v)
{
    return corral_dueling(v[0], v[1]);
}

static void gradients_follow_differences(void)
{
    gradient_check loss = {.variable_count = 1, .variables = {{2, {ROWS, ACTIONS}, {0}}}};
    memcpy(loss.variables[0].values, values, sizeof values);
    loss.name = "squared";
    loss.build = use_squared;
    run_gradient_check(&loss, 1e-8);
    loss.name = "huber";
    loss.build = use_huber;
    run_gradient_check(&loss, 1e-8);

    gradient_check head = {.name = "dueling",
                           .build = use_dueling,
                           .variable_count = 2,
                           .variables = {{2, {ROWS, 1}, {0.3, -1, 2, 0.1, 0.7}}, {2, {ROWS, ACTIONS}, {0}}}};
    memcpy(head.variables[1].values, values, sizeof values);
    run_gradient_check(&head, 1e-8);
}

/// weight, mean and error against plain arithmetic; the others' gradient is exactly 0.
static void check_loss_of(float delta)
{
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    const corral_dqn_terms terms = terms_of(delta);
    corral_dqn_stats stats = {0};
    float error[ROWS];
    corral_tensor *q = corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS}, values);
    corral_tensor *loss = corral_dqn_loss(q, &terms, error, &stats);
    TEST_OK(corral_backward(loss));
    double expected = 0;
    for (size_t r = 0; r < ROWS; r++) {
        const double d = values[r * ACTIONS + (size_t)actions[r]] - (double)targets[r], limit = (double)delta;
        const bool far = delta > 0 && fabs(d) > limit;
        expected += (double)weights[r] * (far ? limit * (fabs(d) - 0.5 * limit) : 0.5 * d * d);
        CU_ASSERT_DOUBLE_EQUAL(error[r], d, 1e-6);
        for (size_t a = 0; a < ACTIONS; a++)
            CU_ASSERT_EQUAL(((const double *)q->grad)[r * ACTIONS + a] != 0, a == (size_t)actions[r]);
    }
    CU_ASSERT_DOUBLE_EQUAL(*(const double *)loss->data, expected / (2 * ROWS), 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(stats.loss, expected, 1e-12);
    CU_ASSERT_EQUAL(stats.rows, ROWS);
    corral_tape_destroy(tape);
}

static void the_loss_is_what_it_says(void)
{
    check_loss_of(0);
    check_loss_of(0.5f);
    check_loss_of(100);
}

/// In the loss and in the gradient, also where the loss is linear: such an update must not be made.
static void a_row_that_is_not_finite_shows(void)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        corral_tape_reset(tape, NULL, NULL);
        float broken[ROWS * ACTIONS] = {0};
        broken[(size_t)actions[0]] = bad[i];
        const corral_dqn_terms terms = terms_of(0.5f);
        corral_tensor *q = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ACTIONS}, broken);
        corral_tensor *loss = corral_dqn_loss(q, &terms, NULL, NULL);
        TEST_OK(corral_backward(loss));
        CU_ASSERT_FALSE(isfinite(*(const float *)loss->data));
        CU_ASSERT_FALSE(isfinite(((const float *)q->grad)[(size_t)actions[0]]));
    }
    corral_tape_destroy(tape);
}

static void the_forms_with_and_without_a_tape_agree(void)
{
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    float value[ROWS], advantage[ROWS * ACTIONS], q[ROWS * ACTIONS];
    for (size_t i = 0; i < ROWS * ACTIONS; i++)
        advantage[i] = (float)values[i];
    for (size_t r = 0; r < ROWS; r++)
        value[r] = (float)sin(1.0 + (double)r);
    const corral_tensor *recorded =
        corral_dueling(corral_variable(tape, CORRAL_F32, 1, (const size_t[]){ROWS}, value),
                       corral_variable(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ACTIONS}, advantage));
    TEST_OK(corral_tape_status(tape));
    corral_dueling_forward(ROWS, ACTIONS, 1, value, advantage, q);
    CU_ASSERT_EQUAL(memcmp(recorded->data, q, sizeof q), 0);
    for (size_t r = 0; r < ROWS; r++)
        CU_ASSERT_DOUBLE_EQUAL((q[r * ACTIONS] + q[r * ACTIONS + 1] + q[r * ACTIONS + 2]) / 3, value[r],
                               1e-6);
    corral_tape_destroy(tape);
}

/// With several atoms each is a head of its own: the same as that atom's values and advantages alone.
static void atoms_are_heads_of_their_own(void)
{
    enum { ATOMS = 4 };
    float value[ROWS * ATOMS], advantage[ROWS * ACTIONS * ATOMS], one_value[ROWS], one[ROWS * ACTIONS];
    for (size_t i = 0; i < ROWS * ACTIONS * ATOMS; i++)
        advantage[i] = (float)sin(3.0 * (double)i);
    for (size_t i = 0; i < ROWS * ATOMS; i++)
        value[i] = (float)cos(5.0 * (double)i);
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_tensor *v = corral_variable(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ATOMS}, value);
    corral_tensor *a =
        corral_variable(tape, CORRAL_F32, 2, (const size_t[]){ROWS, ACTIONS * ATOMS}, advantage);
    corral_tensor *q = corral_dueling(v, a);
    TEST_OK(corral_backward(corral_sum(corral_square(q))));
    for (size_t i = 0; i < ATOMS; i++) {
        for (size_t r = 0; r < ROWS; r++) {
            one_value[r] = value[r * ATOMS + i];
            for (size_t k = 0; k < ACTIONS; k++)
                one[r * ACTIONS + k] = advantage[(r * ACTIONS + k) * ATOMS + i];
        }
        corral_dueling_forward(ROWS, ACTIONS, 1, one_value, one, one);
        for (size_t r = 0; r < ROWS; r++) {
            double sum = 0;
            for (size_t k = 0; k < ACTIONS; k++) {
                CU_ASSERT_EQUAL(((const float *)q->data)[(r * ACTIONS + k) * ATOMS + i],
                                one[r * ACTIONS + k]);
                sum += 2 * (double)one[r * ACTIONS + k];
            }
            CU_ASSERT_DOUBLE_EQUAL(((const float *)v->grad)[r * ATOMS + i], sum, 1e-4);
            for (size_t k = 0; k < ACTIONS; k++)
                CU_ASSERT_DOUBLE_EQUAL(((const float *)a->grad)[(r * ACTIONS + k) * ATOMS + i],
                                       2 * (double)one[r * ACTIONS + k] - sum / ACTIONS, 1e-4);
        }
    }
    corral_tape_destroy(tape);
}

static void mistakes_are_named(void)
{
    corral_tape *tape;
    TEST_OK(corral_tape_create(&tape));
    corral_tape_reset(tape, NULL, NULL);
    corral_dqn_terms terms = terms_of(0);
    terms.action = (const int32_t[ROWS]){0, 0, 0, 3, 0};
    corral_dqn_loss(corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS}, values), &terms,
                    NULL, NULL);
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "action 3 of row 3 is not one of 3");
    corral_tape_reset(tape, NULL, NULL);
    corral_dueling(corral_variable(tape, CORRAL_F64, 1, (const size_t[]){ROWS - 1}, values),
                   corral_variable(tape, CORRAL_F64, 2, (const size_t[]){ROWS, ACTIONS}, values));
    TEST_FAILS(corral_tape_status(tape), CORRAL_ERROR_INVALID, "dueling: needs a value");
    corral_tape_destroy(tape);
}

int main(void)
{
    return test_run("dqn loss",
                    (test_case[]){
                        {"gradients follow differences", gradients_follow_differences},
                        {"the loss is what it says", the_loss_is_what_it_says},
                        {"a row that is not finite shows", a_row_that_is_not_finite_shows},
                        {"the forms with and without a tape agree", the_forms_with_and_without_a_tape_agree},
                        {"atoms are heads of their own", atoms_are_heads_of_their_own},
                        {"mistakes are named", mistakes_are_named},
                        {NULL, NULL},
                    });
}
