// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What is learned from steps over n of them, the tree of priorities, the rings with their evictions and
/// their file, and the rate limiter.
#include "test.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "replay/replay.h"
#include "replay/sum_tree.h"

#include <unistd.h>

// --- n steps ----------------------------------------------------------------------------------------------

static replay *create_steps(uint32_t envs, uint32_t least, uint32_t most, double gamma, size_t capacity)
{
    const replay_config config = {.capacity = capacity,
                                  .observation_bytes = sizeof(float),
                                  .envs = envs,
                                  .n_step_min = least,
                                  .n_step_max = most,
                                  .gamma = gamma};
    replay *r;
    TEST_OK(replay_create(&config, &r));
    return r;
}

/// Step `t` of an environment whose observation is its step's number; rewards 1, 10, 100, ...
static void push(replay *r, uint32_t environment, int t, bool terminated, bool truncated)
{
    const float observation = (float)t, next = (float)(t + 1);
    const replay_step step = {.observation = &observation,
                              .action = t,
                              .reward = (float)pow(10, t),
                              .terminated = terminated,
                              .truncated = truncated,
                              .next = &next};
    replay_push(r, environment, &step);
}

enum { ACTIONS = 10 };

/// What is learned from each step that can be drawn, by its action; discount -1 where there is none.
typedef struct learned {
    float from, to, reward, discount;
    bool steps[8]; // the horizons that it was drawn with
} learned;

static void draw_all(replay *r, learned out[ACTIONS])
{
    replay_draw draws[64];
    for (int i = 0; i < ACTIONS; i++)
        out[i] = (learned){.discount = -1};
    for (uint64_t key = 0; key < 20 && replay_count(r) > 0; key++) {
        replay_sample(r, key, 64, 0, draws);
        for (int i = 0; i < 64; i++) {
            const replay_transition t = replay_at(r, &draws[i]);
            learned *l = &out[t.action];
            l->from = *(const float *)t.observation;
            l->to = *(const float *)t.next;
            l->reward = t.reward;
            l->discount = t.discount;
            l->steps[draws[i].steps] = true;
        }
    }
}

static void the_last_steps_have_shorter_horizons(void)
{
    for (int terminated = 0; terminated < 2; terminated++) {
        replay *r = create_steps(1, 3, 3, 0.5, 20);
        learned out[ACTIONS];
        for (int t = 0; t < 4; t++)
            push(r, 0, t, t == 3 && terminated, t == 3);
        draw_all(r, out);
        const float rewards[] = {1 + 5 + 25, 10 + 50 + 250, 100 + 500, 1000};
        const float discounts[] = {0.125f, 0.125f, 0.25f, 0.5f}, last[] = {3, 4, 4, 4};
        CU_ASSERT_EQUAL(replay_count(r), 4);
        for (int i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL(out[i].from, i);
            CU_ASSERT_EQUAL(out[i].to, last[i]);
            CU_ASSERT_EQUAL(out[i].reward, rewards[i]);
            // A time limit keeps the worth of what follows; a true end drops it, also at the limit.
            CU_ASSERT_EQUAL(out[i].discount, i > 0 && terminated ? 0 : discounts[i]);
        }
        replay_destroy(r);
    }
}

static void nothing_reaches_across_episodes_or_environments(void)
{
    replay *r = create_steps(2, 3, 3, 1, 20);
    learned out[ACTIONS];
    push(r, 0, 0, false, false);
    push(r, 1, 5, false, false);
    push(r, 0, 1, true, false); // ends after two steps
    CU_ASSERT_EQUAL(replay_count(r), 2);
    push(r, 0, 2, false, false); // goes on with the very observation: another episode all the same
    push(r, 1, 6, false, false);
    CU_ASSERT_EQUAL(replay_count(r), 2);
    push(r, 1, 7, false, false);
    CU_ASSERT_EQUAL(replay_count(r), 3);
    draw_all(r, out);
    CU_ASSERT_EQUAL(out[0].reward, 11);
    CU_ASSERT_EQUAL(out[0].discount, 0);
    CU_ASSERT_EQUAL(out[5].reward, 1e5 + 1e6 + 1e7);
    CU_ASSERT_EQUAL(out[5].to, 8);
    CU_ASSERT_EQUAL(out[2].discount, -1); // waits
    replay_destroy(r);
}

static void a_break_forgets_what_waits(void)
{
    replay *r = create_steps(1, 3, 3, 1, 20);
    learned out[ACTIONS];
    push(r, 0, 0, false, false);
    push(r, 0, 1, false, false);
    push(r, 0, 7, true, false); // not where step 1 led to
    CU_ASSERT_EQUAL(replay_count(r), 1);
    push(r, 0, 2, false, false);
    replay_forget(r, 0);
    push(r, 0, 3, true, false);
    CU_ASSERT_EQUAL(replay_count(r), 2);
    draw_all(r, out);
    CU_ASSERT_EQUAL(out[7].from, 7);
    CU_ASSERT_EQUAL(out[3].reward, 1000);
    CU_ASSERT_EQUAL(out[2].discount, -1);
    replay_destroy(r);
}

static void one_step_is_the_plain_transition(void)
{
    replay *r = create_steps(1, 1, 1, 0.9, 20);
    learned out[ACTIONS];
    for (int t = 0; t < 3; t++)
        push(r, 0, t, t == 2, false);
    draw_all(r, out);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(out[i].to, i + 1);
        CU_ASSERT_EQUAL(out[i].discount, i == 2 ? 0 : 0.9f);
    }
    replay_destroy(r);
}

/// A range gives each horizon of it to each step, and a step waits for the longest.
static void a_range_draws_a_horizon_for_each_row(void)
{
    replay *r = create_steps(1, 2, 4, 1, 20);
    learned out[ACTIONS];
    for (int t = 0; t < 5; t++)
        push(r, 0, t, false, false);
    CU_ASSERT_EQUAL(replay_count(r), 2); // steps 0 and 1 have four successors
    draw_all(r, out);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 8; k++)
            CU_ASSERT_EQUAL(out[i].steps[k], k >= 2 && k <= 4);
    CU_ASSERT_EQUAL(out[2].discount, -1);
    const replay_draw two = {.row = 0, .steps = 2}, four = {.row = 0, .steps = 4};
    CU_ASSERT_EQUAL(replay_at(r, &two).reward, 11);
    CU_ASSERT_EQUAL(replay_at(r, &four).reward, 1111);
    replay_destroy(r);
}

/// The observation that a step led to and the one that the next step acted on are one piece of memory.
static void observations_are_kept_once(void)
{
    replay *r = create_steps(1, 2, 2, 1, 20);
    for (int t = 0; t < 4; t++)
        push(r, 0, t, false, false);
    const replay_draw first = {.row = 0, .steps = 2}, third = {.row = 2, .steps = 1};
    CU_ASSERT_PTR_EQUAL(replay_at(r, &first).next, replay_at(r, &third).observation);
    replay_destroy(r);
}

// --- the tree ---------------------------------------------------------------------------------------------

static size_t find(const sum_tree *tree, double mass)
{
    uint32_t index;
    sum_tree_find(tree, 1, &mass, &index);
    return index;
}

static void a_number_of_zero_is_never_found(void)
{
    enum { COUNT = 777, DRAWS = 200000 };
    sum_tree tree;
    TEST_OK(sum_tree_init(&tree, COUNT));
    for (size_t i = 0; i < COUNT; i += 2)
        sum_tree_set(&tree, i, 1e-9 + 1e3 * corral_stream_double(3, i));
    sum_tree_settle(&tree);
    const double total = sum_tree_total(&tree);
    size_t bad = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        bad += !(sum_tree_get(&tree, find(&tree, total * corral_stream_double(4, i))) > 0);
    for (size_t i = 0; i < COUNT; i++) { // the edges, and what rounding may make of them
        double edge = 0;
        for (size_t k = 0; k < i; k++)
            edge += sum_tree_get(&tree, k);
        const double masses[] = {edge, nextafter(edge, 0), nextafter(edge, INFINITY)};
        for (size_t m = 0; m < 3; m++)
            bad += !(sum_tree_get(&tree, find(&tree, masses[m])) > 0);
    }
    bad += !(sum_tree_get(&tree, find(&tree, total)) > 0);
    CU_ASSERT_EQUAL(bad, 0);
    sum_tree_finish(&tree);
}

static void numbers_are_found_in_proportion(void)
{
    enum { COUNT = 5, DRAWS = 100000 };
    const double numbers[COUNT] = {1, 0, 3, 0.5, 5.5};
    size_t found[COUNT] = {0};
    sum_tree tree;
    TEST_OK(sum_tree_init(&tree, COUNT));
    for (size_t i = 0; i < COUNT; i++)
        sum_tree_set(&tree, i, numbers[i]);
    sum_tree_settle(&tree);
    CU_ASSERT_EQUAL(sum_tree_total(&tree), 10);
    for (uint64_t i = 0; i < DRAWS; i++)
        found[find(&tree, 10 * corral_stream_double(9, i))]++;
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)found[i] / DRAWS, numbers[i] / 10, 0.01);
    sum_tree_finish(&tree);
}

/// The same numbers make the same sums, in whatever order they come and however often they are settled.
static void the_order_of_writes_does_not_matter(void)
{
    enum { COUNT = 5000 };
    sum_tree forwards, backwards;
    TEST_OK(sum_tree_init(&forwards, COUNT));
    TEST_OK(sum_tree_init(&backwards, COUNT));
    for (size_t i = 0; i < COUNT; i++) {
        sum_tree_set(&forwards, i, corral_stream_double(1, i));
        if (i % 7 == 0) sum_tree_settle(&forwards);
        sum_tree_set(&backwards, COUNT - 1 - i, 3);
    }
    for (size_t i = COUNT; i-- > 0;)
        sum_tree_set(&backwards, i, corral_stream_double(1, i));
    sum_tree_settle(&forwards);
    sum_tree_settle(&backwards);
    CU_ASSERT_EQUAL(sum_tree_total(&forwards), sum_tree_total(&backwards));
    CU_ASSERT_EQUAL(memcmp(forwards.memory, backwards.memory, sum_tree_bytes(COUNT)), 0);
    sum_tree_finish(&forwards);
    sum_tree_finish(&backwards);
}

// --- the ring ---------------------------------------------------------------------------------------------

enum { WIDTH = 2 };

/// A step that goes on from the one before; its number is in all parts.
static void push_row(replay *r, uint64_t number)
{
    const float value = (float)number, observation[WIDTH] = {value, -value},
                next[WIDTH] = {value + 1, -value - 1};
    const replay_step step = {.observation = observation,
                              .action = (int32_t)(number % 7),
                              .reward = value,
                              .terminated = false,
                              .next = next};
    replay_push(r, 0, &step);
}

static replay *create(size_t capacity, double alpha)
{
    const replay_config config = {.capacity = capacity,
                                  .observation_bytes = WIDTH * sizeof(float),
                                  .envs = 1,
                                  .n_step_min = 1,
                                  .n_step_max = 1,
                                  .gamma = 0.9,
                                  .alpha = alpha};
    replay *r;
    TEST_OK(replay_create(&config, &r));
    return r;
}

/// Episodes of random lengths in two environments, draws and errors on the way: what is drawn is always one
/// of the newest rows, whole, and never the row of an episode's last observation.
static void the_oldest_make_room(void)
{
    enum { CAPACITY = 100, INSERTS = 100000 };
    for (int prioritised = 0; prioritised < 2; prioritised++) {
        const replay_config config = {.capacity = CAPACITY,
                                      .observation_bytes = WIDTH * sizeof(float),
                                      .envs = 2,
                                      .n_step_min = 1,
                                      .n_step_max = 3,
                                      .gamma = 1,
                                      .alpha = prioritised ? 0.6 : 0};
        replay *r;
        TEST_OK(replay_create(&config, &r));
        size_t bad = 0;
        replay_draw draws[8];
        float errors[8];
        for (uint64_t i = 0; i < INSERTS; i++) {
            const float value = (float)i, observation[WIDTH] = {value, -value},
                        next[WIDTH] = {value + 2, -value - 2};
            const bool ends = corral_stream_double(5, i) < 0.1;
            const replay_step step = {.observation = observation,
                                      .action = (int32_t)(i % 7),
                                      .reward = 1,
                                      .terminated = ends && i % 3 != 0,
                                      .truncated = ends && i % 3 == 0,
                                      .next = next};
            replay_push(r, i % 2, &step);
            if (i % 5 != 0 || replay_count(r) == 0) continue;
            replay_sample(r, corral_stream_key(1, CORRAL_STREAM_REPLAY, i), 8, 0.4, draws);
            for (size_t k = 0; k < 8; k++) {
                const replay_transition t = replay_at(r, &draws[k]);
                const float *from = t.observation, *to = t.next;
                const uint64_t number = (uint64_t)from[0];
                bad += number > i || i - number > CAPACITY || t.action != (int32_t)(number % 7);
                bad += from[1] != -from[0] || to[0] != from[0] + 2 * t.reward; // two numbers a step
                bad += t.reward < 1 || t.reward > 3;
                bad += !(draws[k].weight > 0 && draws[k].weight <= 1);
                errors[k] = 10 * corral_stream_float(2, 8 * i + k) - 5;
            }
            replay_tell_errors(r, draws, errors, 8);
        }
        CU_ASSERT_EQUAL(bad, 0);
        CU_ASSERT_TRUE(replay_count(r) > CAPACITY * 8 / 10 && replay_count(r) <= CAPACITY);
        replay_destroy(r);
    }
}

static void a_draw_is_the_streams(void)
{
    replay *r = create(50, 0);
    replay_draw first[16], again[16];
    uint32_t seen_rows[51] = {0};
    for (uint64_t i = 0; i < 50; i++)
        push_row(r, i);
    replay_sample(r, 7, 16, 0, first);
    replay_sample(r, 7, 16, 0, again);
    CU_ASSERT_EQUAL(memcmp(first, again, sizeof first), 0);
    for (uint64_t k = 0; k < 5000; k++) {
        replay_sample(r, k, 16, 0, again);
        for (size_t i = 0; i < 16; i++)
            seen_rows[again[i].row]++;
    }
    for (size_t i = 0; i < 50; i++)
        CU_ASSERT_DOUBLE_EQUAL(seen_rows[i] / 80000.0, 0.02, 0.002);
    CU_ASSERT_EQUAL(seen_rows[50], 0); // no step goes on from there yet
    replay_destroy(r);
}

/// A new row is taken to be as surprising as the most surprising one so far; one told 0 is still drawn.
static void new_rows_come_with_the_largest_priority(void)
{
    replay *r = create(3, 1);
    const replay_draw zero = {.row = 0}, two = {.row = 2};
    push_row(r, 0);
    replay_tell_errors(r, &zero, (const float[]){-50}, 1);
    push_row(r, 1);
    push_row(r, 2);
    replay_tell_errors(r, &two, (const float[]){0}, 1);
    replay_tell_errors(r, &zero, (const float[]){NAN}, 1); // says nothing
    size_t drawn[4] = {0};
    replay_draw draw;
    for (uint64_t i = 0; i < 20000; i++) {
        replay_sample(r, corral_stream_key(3, CORRAL_STREAM_REPLAY, i), 1, 1, &draw);
        drawn[draw.row]++;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)drawn[0] / 20000.0, 0.5, 0.02);
    CU_ASSERT_DOUBLE_EQUAL((double)drawn[1] / 20000.0, 0.5, 0.02);
    CU_ASSERT_TRUE(drawn[2] < 5);
    CU_ASSERT_EQUAL(drawn[3], 0);
    replay_destroy(r);
}

/// Weight times chance is the same for all rows at beta 1: the bias of drawing by priority is undone.
static void weights_undo_the_priorities(void)
{
    replay *r = create(4, 0.7);
    const float errors[4] = {1, 2, 4, 8};
    const replay_draw all[4] = {{.row = 0}, {.row = 1}, {.row = 2}, {.row = 3}};
    for (uint64_t i = 0; i < 4; i++)
        push_row(r, i);
    replay_tell_errors(r, all, errors, 4);
    static replay_draw draws[4096];
    double mass[4] = {0};
    replay_sample(r, 5, 4096, 1, draws);
    for (size_t i = 0; i < 4096; i++)
        mass[draws[i].row] += (double)draws[i].weight;
    for (size_t i = 1; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(mass[i] / mass[0], 1, 0.02);
    replay_sample(r, 5, 16, 0, draws);
    for (size_t i = 0; i < 16; i++)
        CU_ASSERT_EQUAL(draws[i].weight, 1);
    replay_destroy(r);
}

static void bytes_bound_the_rows(void)
{
    replay_config config = {.capacity = 1000000,
                            .observation_bytes = 100,
                            .envs = 8,
                            .n_step_min = 1,
                            .n_step_max = 3,
                            .gamma = 1,
                            .alpha = 0.5};
    const size_t rows = replay_rows_within(&config, 1000000);
    CU_ASSERT_TRUE(rows > 7000 && rows < 10000);
    config.capacity = rows;
    CU_ASSERT_TRUE(replay_bytes(&config) <= 1000000);
    config.capacity = rows + 8;
    CU_ASSERT_TRUE(replay_bytes(&config) > 1000000);
    CU_ASSERT_EQUAL(replay_rows_within(&config, 100), 0);
}

// --- the rate limiter -------------------------------------------------------------------------------------

/// Rows come in as long as they may, and are drawn as long as they may: the ratio settles on what was asked
/// for, and at no moment is it off by more than the tolerance.
static void rows_are_drawn_at_the_rate_that_is_asked_for(void)
{
    rate_limiter l = {.samples_per_insert = 3.5, .tolerance = 100, .min_size = 50};
    TEST_OK(rate_limiter_check(&l, 8, 32));
    CU_ASSERT_FALSE(rate_limiter_may_sample(&l, 32));
    double worst = 0;
    for (int i = 0; i < 10000; i++) {
        const bool insert = corral_stream_double(1, (uint64_t)i) < 0.5;
        if (insert && rate_limiter_may_insert(&l, 8)) l.inserts += 8;
        if (!insert && rate_limiter_may_sample(&l, 32)) l.samples += 32;
        CU_ASSERT_TRUE(rate_limiter_may_insert(&l, 8) || rate_limiter_may_sample(&l, 32));
        if (l.inserts > 60) worst = fmax(worst, fabs(3.5 * (double)(l.inserts - 50) - (double)l.samples));
    }
    CU_ASSERT_TRUE(worst <= 100);
    CU_ASSERT_DOUBLE_EQUAL((double)l.samples / (double)(l.inserts - 50), 3.5, 0.05);
}

static void limits_that_cannot_move_are_refused(void)
{
    rate_limiter l = {.samples_per_insert = 4, .tolerance = 31};
    TEST_FAILS(rate_limiter_check(&l, 8, 32), CORRAL_ERROR_INVALID, "both would wait for ever");
    l.tolerance = rate_limiter_least_tolerance(4, 8, 32);
    TEST_OK(rate_limiter_check(&l, 8, 32));
    for (int i = 0; i < 1000; i++) {
        while (rate_limiter_may_sample(&l, 32))
            l.samples += 32;
        CU_ASSERT_TRUE_FATAL(rate_limiter_may_insert(&l, 8));
        l.inserts += 8;
    }
}

// --- the file ---------------------------------------------------------------------------------------------

static char path[64];

static replay *create_three(double alpha)
{
    const replay_config config = {.capacity = 42,
                                  .observation_bytes = WIDTH * sizeof(float),
                                  .envs = 3,
                                  .n_step_min = 1,
                                  .n_step_max = 2,
                                  .gamma = 0.9,
                                  .alpha = alpha};
    replay *r;
    TEST_OK(replay_create(&config, &r));
    return r;
}

static void push_to(replay *r, uint32_t environment, uint64_t at)
{
    const float observation[WIDTH] = {(float)at, 0}, next[WIDTH] = {(float)at + 1, 0};
    const replay_step step = {
        .observation = observation, .reward = (float)at, .truncated = at % 5 == 4, .next = next};
    replay_push(r, environment, &step);
}

/// Environments stand at different places, some of them in the middle of an episode: both go on alike.
static void check_file(size_t pushes, double alpha)
{
    replay *r = create_three(alpha), *back = create_three(alpha);
    replay_draw draws[8], other[8];
    const float errors[8] = {1, -2, 0.3f, 4, 5, 6, 0, 8};
    for (uint64_t i = 0; i < pushes; i++) {
        push_to(r, i % 4 == 3 ? 0 : (uint32_t)(i % 3), i / 3);
        if (replay_count(r) == 0) continue;
        replay_sample(r, i, 8, 0.5, draws);
        replay_tell_errors(r, draws, errors, 8);
    }
    TEST_OK(replay_write(r, path));
    TEST_OK(replay_read(back, path));
    CU_ASSERT_EQUAL(replay_limiter(back)->inserts, replay_limiter(r)->inserts);
    CU_ASSERT_EQUAL(replay_limiter(back)->samples, replay_limiter(r)->samples);
    for (uint64_t i = 0; i < 30; i++) {
        push_to(r, (uint32_t)(i % 3), 1000 + i / 3);
        push_to(back, (uint32_t)(i % 3), 1000 + i / 3);
        CU_ASSERT_EQUAL(replay_count(back), replay_count(r));
        if (replay_count(r) == 0) continue;
        replay_sample(r, i, 8, 0.5, draws);
        replay_sample(back, i, 8, 0.5, other);
        CU_ASSERT_EQUAL(memcmp(draws, other, sizeof draws), 0);
        for (size_t k = 0; k < 8; k++) {
            const replay_transition a = replay_at(r, &draws[k]), b = replay_at(back, &draws[k]);
            CU_ASSERT_EQUAL(memcmp(a.observation, b.observation, WIDTH * sizeof(float)), 0);
            CU_ASSERT_EQUAL(memcmp(a.next, b.next, WIDTH * sizeof(float)), 0);
            CU_ASSERT_TRUE(a.reward == b.reward && a.discount == b.discount && a.action == b.action);
        }
    }
    replay_destroy(r);
    replay_destroy(back);
}

static void the_file_keeps_everything(void)
{
    check_file(0, 0);
    check_file(17, 0);
    check_file(17, 0.6);
    check_file(195, 0);
    check_file(195, 0.6); // past the rings' ends
}

static void another_replays_file_is_refused(void)
{
    replay *r = create(40, 0), *smaller = create(39, 0), *prioritised = create(40, 0.6);
    push_row(r, 0);
    TEST_OK(replay_write(r, path));
    TEST_FAILS(replay_read(smaller, path), CORRAL_ERROR_INVALID, "a replay of 40 rows");
    TEST_FAILS(replay_read(prioritised, path), CORRAL_ERROR_INVALID, "the configured one differs");
    replay_destroy(r);
    replay_destroy(smaller);
    replay_destroy(prioritised);
}

static void a_damaged_file_is_refused(void)
{
    replay *r = create(40, 0.6), *back = create(40, 0.6);
    for (uint64_t i = 0; i < 5; i++)
        push_row(r, i);
    const replay_draw third = {.row = 3};
    replay_tell_errors(r, &third, (const float[]){1234}, 1);
    TEST_OK(replay_write(r, path));
    char *bytes;
    size_t size, at = 0;
    TEST_OK(corral_file_read(path, 1 << 20, &bytes, &size));
    const double priority = (double)powf(1234 + 1e-6f, 0.6f), broken = -1;
    while (at + 8 <= size && memcmp(bytes + at, &priority, 8) != 0)
        at += 8;
    CU_ASSERT_FATAL(at + 8 <= size);
    memcpy(bytes + at, &broken, 8);
    TEST_OK(corral_file_write(path, bytes, size));
    TEST_FAILS(replay_read(back, path), CORRAL_ERROR_CORRUPT, "the priority of row 3 is damaged");
    TEST_OK(corral_file_write(path, bytes, size / 2));
    CU_ASSERT_NOT_EQUAL(replay_read(back, path), CORRAL_OK);
    free(bytes);
    replay_destroy(r);
    replay_destroy(back);
}

static void too_much_is_refused_at_the_start(void)
{
    replay *r;
    const replay_config config = {.capacity = UINT32_MAX / 2,
                                  .observation_bytes = 400000,
                                  .envs = 1,
                                  .n_step_min = 1,
                                  .n_step_max = 1,
                                  .gamma = 1};
    TEST_FAILS(replay_create(&config, &r), CORRAL_ERROR_NO_MEMORY, "lower dqn.buffer_size");
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/corral-test-replay-%d.safetensors", (int)getpid());
    const int result = test_run(
        "replay",
        (test_case[]){
            {"the last steps have shorter horizons", the_last_steps_have_shorter_horizons},
            {"nothing reaches across episodes or environments",
             nothing_reaches_across_episodes_or_environments},
            {"a break forgets what waits", a_break_forgets_what_waits},
            {"one step is the plain transition", one_step_is_the_plain_transition},
            {"a range draws a horizon for each row", a_range_draws_a_horizon_for_each_row},
            {"observations are kept once", observations_are_kept_once},
            {"the order of writes does not matter", the_order_of_writes_does_not_matter},
            {"bytes bound the rows", bytes_bound_the_rows},
            {"rows are drawn at the rate that is asked for", rows_are_drawn_at_the_rate_that_is_asked_for},
            {"limits that cannot move are refused", limits_that_cannot_move_are_refused},
            {"a number of zero is never found", a_number_of_zero_is_never_found},
            {"numbers are found in proportion", numbers_are_found_in_proportion},
            {"the oldest make room", the_oldest_make_room},
            {"a draw is the stream's", a_draw_is_the_streams},
            {"new rows come with the largest priority", new_rows_come_with_the_largest_priority},
            {"weights undo the priorities", weights_undo_the_priorities},
            {"the file keeps everything", the_file_keeps_everything},
            {"another replay's file is refused", another_replays_file_is_refused},
            {"a damaged file is refused", a_damaged_file_is_refused},
            {"too much is refused at the start", too_much_is_refused_at_the_start},
            {NULL, NULL},
        });
    unlink(path);
    return result;
}
