// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Losses, recurrences and the optimizer of the device: losses and Adam against the CPU's own, recurrences
/// against loops backwards in time.
#include "rig.h"

#include "corral/core/ops.h"
#include "corral/core/optim.h"
#include "ops/kernels.h"

static double *partials(size_t rows)
{
    return device_bytes(8 * CORRAL_DEVICE_SUMS * (rows / CORRAL_DEVICE_LOSS_ROWS + 1));
}

/// One sum of a loss over the blocks of its rows.
static double partial_sum(const double *partial, size_t rows, int which)
{
    double sum = 0;
    for (size_t block = 0; block * CORRAL_DEVICE_LOSS_ROWS < rows; block++)
        sum += partial[block * CORRAL_DEVICE_SUMS + (size_t)which];
    return sum;
}

// --- PPO --------------------------------------------------------------------------------------------------

typedef struct ppo_case {
    size_t rows, actions;
    float value_clip, error_clip, kl;
    double scale;
} ppo_case;

static void check_ppo(const ppo_case *c)
{
    const size_t rows = c->rows, n = c->actions;
    float *logits = host_noise(rows * n, 1), *value = host_noise(rows, 2), *old_value = host_noise(rows, 3);
    float *advantage = host_noise(rows, 4), *target = host_noise(rows, 5), *old = host_noise(rows * n, 6);
    float *old_log_probs = host_bytes(FLOATS(rows * n)), *old_log_prob = host_bytes(FLOATS(rows));
    int32_t *action = host_bytes(4 * rows);
    for (size_t i = 0; i < rows * n; i++)
        if (i % 11 == 5 && n > 2) logits[i] = old[i] = -INFINITY;     // an action that is out of the question
    if (n > 2 && rows > 3) old[3 * n] = 0, logits[3 * n] = -INFINITY; // one that no longer is
    corral_categorical_log_probs(rows, n, old, old_log_probs);
    for (size_t r = 0; r < rows; r++) {
        action[r] = (int32_t)(r % n);
        while (old[r * n + (size_t)action[r]] == -INFINITY || logits[r * n + (size_t)action[r]] == -INFINITY)
            action[r] = (int32_t)(((size_t)action[r] + 1) % n);
        old_log_prob[r] = old_log_probs[r * n + (size_t)action[r]];
    }
    const corral_ppo_terms terms = {.action = action,
                                    .old_log_prob = old_log_prob,
                                    .old_value = old_value,
                                    .advantage = advantage,
                                    .value_target = target,
                                    .clip_range = 0.2f,
                                    .value_clip_range = c->value_clip,
                                    .value_error_clip = c->error_clip,
                                    .value_coefficient = 0.5f,
                                    .entropy_coefficient = 0.01f,
                                    .kl_coefficient = c->kl,
                                    .old_log_probs = old_log_probs,
                                    .total_rows = rows};
    corral_ppo_stats stats = {0};
    float *logits_grad = host_bytes(FLOATS(rows * n)), *value_grad = host_bytes(FLOATS(rows));
    const corral_ppo_rows run = {.rows = rows,
                                 .actions = n,
                                 .logits = logits,
                                 .value = value,
                                 .terms = &terms,
                                 .logits_grad = logits_grad,
                                 .value_grad = value_grad,
                                 .stats = &stats};
    corral_kernels_f32.ppo(&run);

    const corral_device_control control = {
        .clip_range = 0.2f, .entropy_coefficient = 0.01f, .kl_coefficient = c->kl, .scale = c->scale};
    const corral_device_ppo p = {.rows = rows,
                                 .actions = n,
                                 .logits = upload(logits, FLOATS(rows * n)),
                                 .value = upload(value, FLOATS(rows)),
                                 .action = upload(action, 4 * rows),
                                 .old_log_prob = upload(old_log_prob, FLOATS(rows)),
                                 .old_value = upload(old_value, FLOATS(rows)),
                                 .advantage = upload(advantage, FLOATS(rows)),
                                 .target = upload(target, FLOATS(rows)),
                                 .old_log_probs = upload(old_log_probs, FLOATS(rows * n)),
                                 .value_clip_range = c->value_clip,
                                 .value_error_clip = c->error_clip,
                                 .value_coefficient = 0.5f,
                                 .logits_grad = device_bytes(FLOATS(rows * n)),
                                 .value_grad = device_bytes(FLOATS(rows)),
                                 .partial = partials(rows)};
    table->ppo_loss(stream, &p, upload(&control, sizeof control));
    for (size_t i = 0; i < rows * n; i++)
        logits_grad[i] *= (float)c->scale;
    for (size_t r = 0; r < rows; r++)
        value_grad[r] *= (float)c->scale;
    const double loose = 2e-6 * c->scale / (double)rows;
    CU_ASSERT_EQUAL(
        differences(rows * n, logits_grad, download(p.logits_grad, FLOATS(rows * n)), 1e-5, loose), 0);
    CU_ASSERT_EQUAL(differences(rows, value_grad, download(p.value_grad, FLOATS(rows)), 1e-5, loose), 0);
    const double *sums = download(p.partial, 8 * CORRAL_DEVICE_SUMS * (rows / CORRAL_DEVICE_LOSS_ROWS + 1));
    const double expected[] = {stats.policy_loss, stats.value_loss, stats.entropy, stats.approx_kl};
    for (int k = 0; k < 4; k++)
        CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, k), expected[k], 1e-5 * (double)rows);
    CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, CORRAL_PPO_SUM_CLIPPED), stats.clip_fraction, 1);
    CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, CORRAL_PPO_SUM_KL), stats.kl, 1e-5 * (double)rows);
    CU_ASSERT_EQUAL(partial_sum(sums, rows, CORRAL_PPO_SUM_INFINITE_KL), (double)stats.infinite_kl);
    double largest = 0;
    for (size_t block = 0; block * CORRAL_DEVICE_LOSS_ROWS < rows; block++)
        largest = fmax(largest, sums[block * CORRAL_DEVICE_SUMS + CORRAL_PPO_SUM_LARGEST]);
    CU_ASSERT_DOUBLE_EQUAL(largest, stats.max_ratio_deviation, 1e-5 * (1 + largest));
    free_arrays();
}

static void ppo_losses(void)
{
    static const ppo_case cases[] = {
        {1, 2, 0, 0, 0, 1},      {127, 2, 0, 0, 0, 1},           {128, 3, 0.2f, 0, 0.3f, 1},
        {300, 6, 0, 0.5f, 0, 1}, {129, 18, 0.1f, 0.4f, 1, 1024}, {64, 1, 0, 0, 0.1f, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_ppo(&cases[i]);
}

// --- Q-learning -------------------------------------------------------------------------------------------

static void check_dqn(size_t rows, size_t n, float delta, bool weighted)
{
    float *q = host_noise(rows * n, 1), *target = host_noise(rows, 2), *weight = host_noise(rows, 3);
    int32_t *action = host_bytes(4 * rows);
    for (size_t r = 0; r < rows; r++) {
        action[r] = (int32_t)(r * 5 % n);
        target[r] *= 4;
        weight[r] = fabsf(weight[r]);
    }
    float *grad = host_bytes(FLOATS(rows * n)), *error = host_bytes(FLOATS(rows));
    memset(grad, 0, FLOATS(rows * n));
    const corral_dqn_terms terms = {.action = action,
                                    .target = target,
                                    .weight = weighted ? weight : NULL,
                                    .huber_delta = delta,
                                    .total_rows = rows};
    corral_dqn_stats stats = {0};
    corral_kernels_f32.dqn(&(corral_dqn_rows){.rows = rows,
                                              .actions = n,
                                              .q = q,
                                              .terms = &terms,
                                              .q_grad = grad,
                                              .error = error,
                                              .stats = &stats});
    const corral_device_control control = {.scale = 1};
    const corral_device_dqn d = {.rows = rows,
                                 .actions = n,
                                 .q = upload(q, FLOATS(rows * n)),
                                 .action = upload(action, 4 * rows),
                                 .target = upload(target, FLOATS(rows)),
                                 .weight = weighted ? upload(weight, FLOATS(rows)) : NULL,
                                 .huber_delta = delta,
                                 .q_grad = device_bytes(FLOATS(rows * n)),
                                 .error = device_bytes(FLOATS(rows)),
                                 .partial = partials(rows)};
    table->dqn_loss(stream, &d, upload(&control, sizeof control));
    CU_ASSERT_EQUAL(differences(rows * n, grad, download(d.q_grad, FLOATS(rows * n)), 1e-6, 1e-9), 0);
    CU_ASSERT_EQUAL(differences(rows, error, download(d.error, FLOATS(rows)), 1e-6, 1e-7), 0);
    const double *sums = download(d.partial, 8 * CORRAL_DEVICE_SUMS * (rows / CORRAL_DEVICE_LOSS_ROWS + 1));
    CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, CORRAL_DQN_SUM_LOSS), stats.loss, 1e-6 * (double)rows);
    CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, CORRAL_DQN_SUM_Q), stats.q, 1e-6 * (double)rows);
    CU_ASSERT_DOUBLE_EQUAL(partial_sum(sums, rows, CORRAL_DQN_SUM_ERROR), stats.error, 1e-6 * (double)rows);
    free_arrays();
}

static void dqn_losses(void)
{
    check_dqn(1, 2, 1, true);
    check_dqn(128, 4, 0, true);
    check_dqn(200, 3, 0.5f, false);
}

static void targets_of_dqn(void)
{
    enum { ROWS = 4, ACTIONS = 3 };
    static const float q_target[ROWS * ACTIONS] = {1, 5, 2, 7, 7, 0, NAN, 1, 2, 3, 2, 1};
    static const float q_online[ROWS * ACTIONS] = {9, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 4};
    static const float reward[ROWS] = {1, 1, 2, 0}, discount[ROWS] = {0.5f, 1, 0, 2};
    const float *r = upload(reward, sizeof reward), *d = upload(discount, sizeof discount);
    const float *t = upload(q_target, sizeof q_target), *o = upload(q_online, sizeof q_online);
    float *out = device_bytes(FLOATS(ROWS));
    table->dqn_targets(stream, ROWS, ACTIONS, r, d, t, NULL, out);
    const float *single = download(out, FLOATS(ROWS));
    CU_ASSERT_TRUE(single[0] == 3.5f && single[1] == 8 && single[2] == 2 && single[3] == 6);
    table->dqn_targets(stream, ROWS, ACTIONS, r, d, t, o, out);
    const float *twofold = download(out, FLOATS(ROWS));
    CU_ASSERT_TRUE(twofold[0] == 1.5f && twofold[1] == 8 && twofold[2] == 2 && twofold[3] == 2);
    free_arrays();
}

static void duels(void)
{
    const size_t rows = 90, n = 4;
    float *value = host_noise(rows, 1), *advantage = host_noise(rows * n, 2), *g = host_noise(rows * n, 3);
    float *q = host_bytes(FLOATS(rows * n)), *dv = host_bytes(FLOATS(rows)),
          *da = host_bytes(FLOATS(rows * n));
    float *found = device_bytes(FLOATS(rows * n)), *found_value = device_bytes(FLOATS(rows));
    memset(dv, 0, FLOATS(rows));
    memset(da, 0, FLOATS(rows * n));
    table->dueling(stream, rows, n, upload(value, FLOATS(rows)), upload(advantage, FLOATS(rows * n)), found);
    corral_dueling_forward(rows, n, 1, value, advantage, q);
    CU_ASSERT_EQUAL(differences(rows * n, q, download(found, FLOATS(rows * n)), 1e-6, 1e-7), 0);
    table->dueling_gradient(stream, rows, n, upload(g, FLOATS(rows * n)), found_value, found);
    corral_kernels_f32.dueling_grad(rows, n, 1, g, dv, da);
    CU_ASSERT_EQUAL(differences(rows, dv, download(found_value, FLOATS(rows)), 1e-6, 1e-7), 0);
    CU_ASSERT_EQUAL(differences(rows * n, da, download(found, FLOATS(rows * n)), 1e-6, 1e-7), 0);
    free_arrays();
}

// --- recurrences ------------------------------------------------------------------------------------------

typedef struct episode_data {
    size_t envs, steps;
    float *reward, *value, *last_value, *final_value, *log_ratio;
    uint8_t *terminated, *truncated;
} episode_data;

static episode_data make_episodes(size_t envs, size_t steps)
{
    const size_t rows = envs * steps;
    episode_data d = {.envs = envs,
                      .steps = steps,
                      .reward = host_noise(rows, 1),
                      .value = host_noise(rows, 2),
                      .last_value = host_noise(envs, 8),
                      .final_value = host_noise(rows, 3),
                      .log_ratio = host_noise(rows, 4),
                      .terminated = host_bytes(rows),
                      .truncated = host_bytes(rows)};
    for (size_t i = 0; i < rows; i++) {
        d.terminated[i] = i % 13 == 5;
        d.truncated[i] = i % 17 == 9 || i % 26 == 5; // sometimes both
    }
    return d;
}

static double future_of(const episode_data *d, size_t e, size_t t)
{
    const size_t i = e * d->steps + t;
    if (d->terminated[i]) return 0;
    if (d->truncated[i]) return (double)d->final_value[i];
    return (double)(t + 1 < d->steps ? d->value[i + 1] : d->last_value[e]);
}

static void check_gae(size_t envs, size_t steps)
{
    const size_t rows = envs * steps;
    const episode_data d = make_episodes(envs, steps);
    float *advantage = host_bytes(FLOATS(rows)), *target = host_bytes(FLOATS(rows));
    for (size_t e = 0; e < envs; e++) {
        double next = 0;
        for (size_t t = steps; t-- > 0;) {
            const size_t i = e * steps + t;
            const bool ended = d.terminated[i] || d.truncated[i];
            const double value = (double)d.value[i];
            next =
                (double)d.reward[i] + 0.99 * future_of(&d, e, t) - value + (ended ? 0 : 0.99 * 0.95 * next);
            advantage[i] = (float)next;
            target[i] = (float)(next + value);
        }
    }
    const corral_device_gae g = {.envs = envs,
                                 .steps = steps,
                                 .reward = upload(d.reward, FLOATS(rows)),
                                 .value = upload(d.value, FLOATS(rows)),
                                 .last_value = upload(d.last_value, FLOATS(envs)),
                                 .final_value = upload(d.final_value, FLOATS(rows)),
                                 .terminated = upload(d.terminated, rows),
                                 .truncated = upload(d.truncated, rows),
                                 .gamma = 0.99,
                                 .lambda = 0.95,
                                 .advantage = device_bytes(FLOATS(rows)),
                                 .target = device_bytes(FLOATS(rows))};
    table->gae(stream, &g);
    CU_ASSERT_EQUAL(differences(rows, advantage, download(g.advantage, FLOATS(rows)), 1e-6, 1e-6), 0);
    CU_ASSERT_EQUAL(differences(rows, target, download(g.target, FLOATS(rows)), 1e-6, 1e-6), 0);
    free_arrays();
}

static void advantages(void)
{
    static const size_t steps[] = {1, 2, 31, 32, 33, 256, 257, 1000};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        check_gae(3, steps[i]);
}

static void check_vtrace(size_t envs, size_t steps, double lambda, double clip_rho, double clip_c)
{
    const size_t rows = envs * steps;
    const episode_data d = make_episodes(envs, steps);
    float *advantage = host_bytes(FLOATS(rows)), *target = host_bytes(FLOATS(rows));
    for (size_t e = 0; e < envs; e++) {
        double excess = 0; // of the next step's target over its value
        for (size_t t = steps; t-- > 0;) {
            const size_t i = e * steps + t;
            const bool ended = d.terminated[i] || d.truncated[i];
            const double ratio = exp((double)d.log_ratio[i]), rho = fmin(clip_rho, ratio);
            const double c = lambda * fmin(clip_c, ratio), value = (double)d.value[i];
            const double next = future_of(&d, e, t) + (ended ? 0 : excess);
            advantage[i] = (float)(rho * ((double)d.reward[i] + 0.97 * next - value));
            const double delta = rho * ((double)d.reward[i] + 0.97 * future_of(&d, e, t) - value);
            excess = delta + (ended ? 0 : 0.97 * c * excess);
            target[i] = (float)(value + excess);
        }
    }
    const corral_device_vtrace v = {.envs = envs,
                                    .steps = steps,
                                    .reward = upload(d.reward, FLOATS(rows)),
                                    .value = upload(d.value, FLOATS(rows)),
                                    .last_value = upload(d.last_value, FLOATS(envs)),
                                    .final_value = upload(d.final_value, FLOATS(rows)),
                                    .terminated = upload(d.terminated, rows),
                                    .truncated = upload(d.truncated, rows),
                                    .log_ratio = upload(d.log_ratio, FLOATS(rows)),
                                    .gamma = 0.97,
                                    .lambda = lambda,
                                    .clip_rho = clip_rho,
                                    .clip_c = clip_c,
                                    .target = device_bytes(FLOATS(rows)),
                                    .advantage = device_bytes(FLOATS(rows))};
    table->vtrace(stream, &v);
    CU_ASSERT_EQUAL(differences(rows, target, download(v.target, FLOATS(rows)), 1e-6, 1e-6), 0);
    CU_ASSERT_EQUAL(differences(rows, advantage, download(v.advantage, FLOATS(rows)), 1e-6, 1e-6), 0);
    free_arrays();
}

static void vtraces(void)
{
    check_vtrace(2, 1, 1, 1, 1);
    check_vtrace(3, 50, 0.95, 1, 1);
    check_vtrace(2, 300, 1, 1.5, 0.8);
}

// --- the step ---------------------------------------------------------------------------------------------

/// The CPU's optimizer and the device's, side by side.
typedef struct twins {
    corral_params *params;
    corral_optimizer *optimizer;
    size_t weights, count; // without and with the padding of the block, whose gradient is 0
    corral_device_step step;
    corral_device_control *control;
    float *gradient;
} twins;

static void make_twins(twins *t, size_t weights, double max_norm, bool half)
{
    uint32_t index;
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = max_norm;
    TEST_OK(corral_params_create(CORRAL_F32, &t->params));
    TEST_OK(corral_params_add(t->params, "w", 1, &weights, &index));
    TEST_OK(corral_params_seal(t->params));
    TEST_OK(corral_optimizer_create(&config, t->params, &t->optimizer));
    t->weights = weights;
    t->count = corral_params_count(t->params);
    noise(corral_params_data(t->params), weights, 1);
    float *zeros = host_bytes(FLOATS(t->count));
    memset(zeros, 0, FLOATS(t->count));
    const corral_device_control control = {.learning_rate = 0.01, .scale = 1};
    t->control = upload(&control, sizeof control);
    t->gradient = device_bytes(FLOATS(t->count));
    t->step = (corral_device_step){.count = t->count,
                                   .weight = upload(corral_params_data(t->params), FLOATS(t->count)),
                                   .first = upload(zeros, FLOATS(t->count)),
                                   .second = upload(zeros, FLOATS(t->count)),
                                   .gradient = t->gradient,
                                   .weight_half = half ? device_bytes(2 * t->count) : NULL,
                                   .squares = device_bytes(8 * (t->count / CORRAL_DEVICE_CHUNK + 1)),
                                   .partial = upload(zeros, 64),
                                   .rows = 10,
                                   .beta1 = config.beta1,
                                   .beta2 = config.beta2,
                                   .epsilon = config.epsilon,
                                   .max_norm = max_norm};
}

static void end_twins(twins *t)
{
    corral_optimizer_destroy(t->optimizer);
    corral_params_destroy(t->params);
    free_arrays();
}

/// One step of both from the same gradient; what the CPU's says.
static corral_status step_twins(twins *t, uint32_t seed, float spoil, double *out_norm)
{
    float *lane = corral_optimizer_lane(t->optimizer, 0);
    noise(lane, t->weights, seed);
    if (spoil != 0) lane[t->weights / 2] = spoil;
    table->copy(stream, t->gradient, lane, FLOATS(t->count));
    table->step(stream, &t->step, t->control);
    rig_wait();
    return corral_optimizer_step(t->optimizer, 1, 0.01, NULL, out_norm);
}

static void check_steps(size_t weights, double max_norm)
{
    twins t;
    make_twins(&t, weights, max_norm, true);
    for (uint32_t i = 0; i < 6; i++) {
        double norm;
        TEST_OK(step_twins(&t, 10 + i, 0, &norm));
        const corral_device_control *c = download(t.control, sizeof *c);
        CU_ASSERT_DOUBLE_EQUAL(c->norm, norm, 1e-9 * norm);
        CU_ASSERT_EQUAL(c->steps, i + 1);
        CU_ASSERT_EQUAL(c->at, 10 * (i + 1));
    }
    const float *found = download(t.step.weight, FLOATS(t.count));
    CU_ASSERT_EQUAL(differences(t.count, corral_params_data(t.params), found, 2e-6, 1e-6), 0);
    CU_ASSERT_EQUAL(differences(t.count, corral_optimizer_state(t.optimizer, 0, NULL),
                                download(t.step.first, FLOATS(t.count)), 2e-6, 1e-7),
                    0);
    CU_ASSERT_EQUAL(differences(t.count, corral_optimizer_state(t.optimizer, 1, NULL),
                                download(t.step.second, FLOATS(t.count)), 2e-6, 1e-9),
                    0);
    const corral_bf16 *half = download(t.step.weight_half, 2 * t.count);
    for (size_t i = 0; i < t.count; i++)
        CU_ASSERT_TRUE(fabsf(from_bf16(half[i]) - found[i]) <= fabsf(found[i]) / 256);
    end_twins(&t);
}

static void steps_of_adam(void)
{
    check_steps(1, 0);
    check_steps(1000, 0);
    check_steps(5000, 0.5);
}

/// A gradient that is not finite changes nothing, on either side; and the next one goes on as if it had not
/// been.
static void steps_that_are_skipped(void)
{
    twins t;
    make_twins(&t, 100, 0, false);
    TEST_OK(step_twins(&t, 1, 0, NULL));
    CU_ASSERT_EQUAL((int)step_twins(&t, 2, INFINITY, NULL), (int)CORRAL_ERROR_NOT_FINITE);
    CU_ASSERT_EQUAL((int)step_twins(&t, 3, NAN, NULL), (int)CORRAL_ERROR_NOT_FINITE);
    TEST_OK(step_twins(&t, 4, 0, NULL));
    const corral_device_control *c = download(t.control, sizeof *c);
    CU_ASSERT_TRUE(c->steps == 2 && c->skipped == 2 && c->minibatches == 2 && c->at == 40);
    CU_ASSERT_EQUAL(differences(t.count, corral_params_data(t.params),
                                download(t.step.weight, FLOATS(t.count)), 2e-6, 1e-6),
                    0);
    end_twins(&t);
}

/// Steps of a scaled loss are those of the plain one; what overflows is skipped, counted, and halves the
/// scale, which never falls below 1.
static void loss_scale(void)
{
    twins t;
    make_twins(&t, 100, 0.5, false);
    corral_device_control control = {.learning_rate = 0.01, .scale = 4, .scaling = 1};
    table->copy(stream, t.control, &control, sizeof control);
    for (int i = 0; i < 5; i++) {
        const float wrong = INFINITY;
        table->copy(stream, t.gradient, &wrong, sizeof wrong);
        table->step(stream, &t.step, t.control);
        rig_wait();
    }
    const corral_device_control *c = download(t.control, sizeof *c);
    CU_ASSERT_TRUE(c->scale == 1 && c->overflows == 5 && c->skipped == 5 && c->steps == 0);

    control.scale = 256;
    table->copy(stream, t.control, &control, sizeof control);
    float *lane = corral_optimizer_lane(t.optimizer, 0), *scaled = host_bytes(FLOATS(t.count));
    noise(lane, t.weights, 9);
    for (size_t i = 0; i < t.count; i++)
        scaled[i] = lane[i] * 256;
    table->copy(stream, t.gradient, scaled, FLOATS(t.count));
    table->step(stream, &t.step, t.control);
    rig_wait();
    double norm;
    TEST_OK(corral_optimizer_step(t.optimizer, 1, 0.01, NULL, &norm));
    c = download(t.control, sizeof *c);
    CU_ASSERT_TRUE(c->scale == 256 && c->scale_age == 1);
    CU_ASSERT_DOUBLE_EQUAL(c->norm, norm, 1e-9);
    CU_ASSERT_EQUAL(differences(t.count, corral_params_data(t.params),
                                download(t.step.weight, FLOATS(t.count)), 2e-6, 1e-6),
                    0);
    end_twins(&t);
}

/// What a graph was given is played again as often as wanted; the step and the learning rate are not frozen
/// in it.
static void graphs_do_not_freeze(void)
{
    twins t;
    make_twins(&t, 200, 0.5, false);
    float *lane = host_bytes(FLOATS(t.count));
    memset(lane, 0, FLOATS(t.count));
    noise(lane, t.weights, 3);
    table->copy(stream, t.gradient, lane, FLOATS(t.count));
    rig_wait();
    table->capture_begin(stream);
    table->step(stream, &t.step, t.control);
    corral_graph *graph = table->capture_end(stream);
    CU_ASSERT_PTR_NOT_NULL_FATAL(graph);
    const corral_device_control *c = download(t.control, sizeof *c);
    CU_ASSERT_EQUAL(c->steps, 0); // recorded, not done
    for (int i = 0; i < 4; i++) {
        const double rate = 0.01 * (i + 1);
        table->copy(stream, &t.control->learning_rate, &rate, sizeof rate);
        table->graph_launch(graph, stream);
        rig_wait();
        memcpy(corral_optimizer_lane(t.optimizer, 0), lane, FLOATS(t.count));
        TEST_OK(corral_optimizer_step(t.optimizer, 1, rate, NULL, NULL));
    }
    c = download(t.control, sizeof *c);
    CU_ASSERT_EQUAL(c->steps, 4);
    CU_ASSERT_EQUAL(differences(t.count, corral_params_data(t.params),
                                download(t.step.weight, FLOATS(t.count)), 2e-6, 1e-6),
                    0);
    table->graph_destroy(graph);
    end_twins(&t);
}

int main(void)
{
    const int opened = rig_open();
    if (opened != 0) return opened;
    return rig_close(
        test_run("learning on the device", (test_case[]){{"losses of PPO", ppo_losses},
                                                         {"losses of DQN", dqn_losses},
                                                         {"targets of DQN", targets_of_dqn},
                                                         {"duels", duels},
                                                         {"advantages", advantages},
                                                         {"V-trace", vtraces},
                                                         {"steps of Adam", steps_of_adam},
                                                         {"steps that are skipped", steps_that_are_skipped},
                                                         {"loss scale", loss_scale},
                                                         {"graphs do not freeze", graphs_do_not_freeze},
                                                         {NULL, NULL}}));
}
