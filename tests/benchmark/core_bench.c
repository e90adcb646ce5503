// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Times of the engine beside the machine's peak, measured in the same run: the best of many short rounds.
// Peak is what independent chains of fused multiply-adds reach in registers. A lane is what one thread of a
// PPO update does: two networks 4-64-64-{2,1} with tanh, loss, backward. Only the products are counted.

#include "corral/base/clock.h"
#include "corral/base/threads.h"
#include "corral/core/backend.h"
#include "corral/core/init.h"
#include "corral/core/ops.h"
#include "corral/core/optim.h"

#include <stdio.h>
#include <stdlib.h>

enum { IN = 4, HIDDEN = 64, ACTIONS = 2, MOST_ROWS = 256, ROUNDS = 60 };

// --- what is measured
// ---------------------------------------------------------------------------------------

typedef struct bench {
    corral_params *params;
    corral_optimizer *optimizer;
    corral_tape *tape;
    corral_team *team;
    size_t rows;
    float observation[MOST_ROWS * IN], old_log_prob[MOST_ROWS], old_value[MOST_ROWS], advantage[MOST_ROWS];
    float value_target[MOST_ROWS], hidden[2][MOST_ROWS * HIDDEN], out[MOST_ROWS * ACTIONS];
    int32_t action[MOST_ROWS];
} bench;

static void must(corral_status status)
{
    if (status == CORRAL_OK) return;
    fprintf(stderr, "corral_core_bench: %s\n", corral_last_error());
    exit(1);
}

/// Best time of one call in ns, over rounds of `calls` calls.
static double best_ns(void (*work)(bench *), bench *b, int calls)
{
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t start = corral_now_ns();
        for (int i = 0; i < calls; i++)
            work(b);
        const double ns = (double)(corral_now_ns() - start) / calls;
        if (ns < best) best = ns;
    }
    return best;
}

static void add_layer(corral_params *params, const char *name, size_t out, size_t in)
{
    char full[64];
    uint32_t index;
    snprintf(full, sizeof full, "%s.weight", name);
    must(corral_params_add(params, full, 2, (const size_t[]){out, in}, &index));
    snprintf(full, sizeof full, "%s.bias", name);
    must(corral_params_add(params, full, 1, (const size_t[]){out}, &index));
}

static void set_up(bench *b)
{
    must(corral_params_create(CORRAL_F32, &b->params));
    add_layer(b->params, "actor.0", HIDDEN, IN);
    add_layer(b->params, "actor.1", HIDDEN, HIDDEN);
    add_layer(b->params, "actor.2", ACTIONS, HIDDEN);
    add_layer(b->params, "critic.0", HIDDEN, IN);
    add_layer(b->params, "critic.1", HIDDEN, HIDDEN);
    add_layer(b->params, "critic.2", 1, HIDDEN);
    must(corral_params_seal(b->params));
    for (uint32_t i = 0; i < 12; i += 2)
        must(corral_init_orthogonal(b->params, i, i % 6 == 4 ? 0.1 : 1.4, 7 + i));
    corral_optimizer_config config = corral_optimizer_config_default();
    config.max_grad_norm = 0.5;
    must(corral_optimizer_create(&config, b->params, &b->optimizer));
    must(corral_tape_create(&b->tape));
    must(corral_team_create(corral_available_cores() < 2 ? 1 : 2, &b->team));
    for (size_t r = 0; r < MOST_ROWS; r++) {
        for (size_t i = 0; i < IN; i++)
            b->observation[r * IN + i] = (float)((r * 37 + i * 11) % 101) / 50.0f - 1.0f;
        b->action[r] = (int32_t)(r % ACTIONS);
        b->old_log_prob[r] = -0.7f;
        b->advantage[r] = (float)(r % 7) - 3.0f;
        b->value_target[r] = (float)(r % 5) - 2.0f;
    }
}

static corral_tensor *network(corral_tensor *x, uint32_t first)
{
    corral_tensor *h = corral_linear(x, first, first + 1, CORRAL_TANH);
    h = corral_linear(h, first + 2, first + 3, CORRAL_TANH);
    return corral_linear(h, first + 4, first + 5, CORRAL_LINEAR);
}

static void lane(bench *b)
{
    const corral_ppo_terms terms = {
        .action = b->action,
        .old_log_prob = b->old_log_prob,
        .old_value = b->old_value,
        .advantage = b->advantage,
        .value_target = b->value_target,
        .clip_range = 0.2f,
        .value_coefficient = 0.5f,
        .entropy_coefficient = 0.01f,
        .total_rows = 256,
    };
    corral_ppo_stats stats = {0};
    corral_tape_reset(b->tape, b->params, corral_optimizer_lane(b->optimizer, 0));
    corral_tensor *x = corral_input(b->tape, CORRAL_F32, 2, (const size_t[]){b->rows, IN}, b->observation);
    must(corral_backward(corral_ppo_loss(network(x, 0), network(x, 6), &terms, &stats)));
}

/// Floating-point operations of the products of one row: forward, weight gradients, and input gradients of
/// all layers but the first.
static double lane_operations(void)
{
    const double actor = IN * HIDDEN + HIDDEN * HIDDEN + HIDDEN * ACTIONS;
    const double critic = IN * HIDDEN + HIDDEN * HIDDEN + HIDDEN;
    const double inputs = 2.0 * HIDDEN * HIDDEN + HIDDEN * (ACTIONS + 1);
    return 2.0 * (2.0 * (actor + critic) + inputs);
}

static void forward_one(bench *b)
{
    corral_linear_forward(b->params, 0, 1, CORRAL_TANH, b->rows, b->observation, b->hidden[0]);
    corral_linear_forward(b->params, 2, 3, CORRAL_TANH, b->rows, b->hidden[0], b->hidden[1]);
    corral_linear_forward(b->params, 4, 5, CORRAL_LINEAR, b->rows, b->hidden[1], b->out);
}

enum { OVERHEAD_OPERATIONS = 100 };

static corral_tensor *small_graph(bench *b)
{
    static const float value = 0.5f;
    corral_tape_reset(b->tape, NULL, NULL);
    corral_tensor *x = corral_variable(b->tape, CORRAL_F32, 0, NULL, &value);
    corral_tensor *y = x;
    for (int i = 0; i < OVERHEAD_OPERATIONS; i++)
        y = corral_mul(y, x);
    return y;
}

static void record_only(bench *b)
{
    small_graph(b);
}

static void record_and_backward(bench *b)
{
    must(corral_backward(small_graph(b)));
}

static void step_alone(bench *b)
{
    must(corral_optimizer_step(b->optimizer, CORRAL_LANES, 1e-9, NULL, NULL));
}

static void step_with_team(bench *b)
{
    must(corral_optimizer_step(b->optimizer, CORRAL_LANES, 1e-9, b->team, NULL));
}

int main(void)
{
    static bench b;
    set_up(&b);
    printf("backend %s, %u threads\n", corral_backend_cpu()->name, corral_team_size(b.team));
    const size_t sizes[] = {32, 64, 256};
    for (size_t i = 0; i < 3; i++) {
        b.rows = sizes[i];
        const double peak = corral_cpu_peak_gflops(1, 8); // beside each measurement: the clock moves
        const double ns = best_ns(lane, &b, 200), rate = lane_operations() * (double)b.rows / ns;
        printf(
            "lane of %3zu rows, forward and backward: %8.2f us, %6.1f GFLOP/s, %4.1f %% of the peak %.1f\n",
            b.rows, ns / 1e3, rate, 100.0 * rate / peak, peak);
    }
    b.rows = 1;
    printf("forward of 1 row through 4-64-64-2:      %8.0f ns\n", best_ns(forward_one, &b, 1000));
    b.rows = 8;
    printf("forward of 8 rows through 4-64-64-2:     %8.0f ns\n", best_ns(forward_one, &b, 1000));
    printf("one-element operation, recording:        %8.1f ns\n",
           best_ns(record_only, &b, 100) / OVERHEAD_OPERATIONS);
    printf("one-element operation, and backward:     %8.1f ns\n",
           best_ns(record_and_backward, &b, 100) / OVERHEAD_OPERATIONS);
    printf("Adam step, %zu parameters, 8 lanes:     %8.2f us alone, %.2f us with the team\n",
           corral_params_count(b.params), best_ns(step_alone, &b, 200) / 1e3,
           best_ns(step_with_team, &b, 200) / 1e3);
    corral_team_destroy(b.team);
    corral_tape_destroy(b.tape);
    corral_optimizer_destroy(b.optimizer);
    corral_params_destroy(b.params);
    return 0;
}
