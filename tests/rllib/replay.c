// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Transitions over n steps, the tree of priorities, and the ring with its evictions and its file.
#include "test.h"

#include "corral/base/file.h"
#include "corral/base/rng.h"
#include "replay/replay.h"
#include "replay/sum_tree.h"

#include <unistd.h>

// --- n steps ----------------------------------------------------------------------------------------------

enum { SEEN_MAX = 64 };

typedef struct seen {
    size_t count;
    struct {
        float from, to, reward, discount;
        int32_t action;
    } row[SEEN_MAX];
} seen;

static void note(void *context, const replay_transition *t)
{
    seen *s = context;
    CU_ASSERT_FATAL(s->count < SEEN_MAX);
    s->row[s->count].from = t->observation[0];
    s->row[s->count].to = t->next[0];
    s->row[s->count].reward = t->reward;
    s->row[s->count].discount = t->discount;
    s->row[s->count++].action = t->action;
}

/// Step `t` of an environment whose observation is its step's number; rewards 1, 10, 100, ...
static void push(n_step *s, uint32_t environment, int t, bool terminated, bool truncated, seen *out)
{
    const float observation = (float)t, next = (float)(t + 1);
    const replay_step step = {.observation = &observation,
                              .action = t,
                              .reward = (float)pow(10, t),
                              .terminated = terminated,
                              .truncated = truncated,
                              .next = &next};
    n_step_push(s, environment, &step, note, out);
}

static void the_last_steps_have_shorter_horizons(void)
{
    for (int terminated = 0; terminated < 2; terminated++) {
        n_step s;
        seen out = {0};
        TEST_OK(n_step_init(&s, 1, 3, 1, 0.5));
        for (int t = 0; t < 4; t++)
            push(&s, 0, t, t == 3 && terminated, t == 3, &out);
        const float rewards[] = {1 + 5 + 25, 10 + 50 + 250, 100 + 500, 1000};
        const float discounts[] = {0.125f, 0.125f, 0.25f, 0.5f}, last[] = {3, 4, 4, 4};
        CU_ASSERT_EQUAL_FATAL(out.count, 4);
        for (int i = 0; i < 4; i++) {
            CU_ASSERT_EQUAL(out.row[i].from, i);
            CU_ASSERT_EQUAL(out.row[i].action, i);
            CU_ASSERT_EQUAL(out.row[i].to, last[i]);
            CU_ASSERT_EQUAL(out.row[i].reward, rewards[i]);
            // A time limit keeps the worth of what follows; a true end drops it, also at the limit.
            CU_ASSERT_EQUAL(out.row[i].discount, i > 0 && terminated ? 0 : discounts[i]);
        }
        CU_ASSERT_EQUAL(s.count[0], 0);
        n_step_finish(&s);
    }
}

static void nothing_reaches_across_episodes_or_environments(void)
{
    n_step s;
    seen out = {0};
    TEST_OK(n_step_init(&s, 2, 3, 1, 1));
    push(&s, 0, 0, false, false, &out);
    push(&s, 1, 5, false, false, &out);
    push(&s, 0, 1, true, false, &out); // ends after two steps
    CU_ASSERT_EQUAL(out.count, 2);
    push(&s, 0, 0, false, false, &out);
    push(&s, 1, 6, false, false, &out);
    CU_ASSERT_EQUAL(out.count, 2);
    push(&s, 1, 7, false, false, &out);
    CU_ASSERT_EQUAL_FATAL(out.count, 3);
    CU_ASSERT_EQUAL(out.row[2].from, 5);
    CU_ASSERT_EQUAL(out.row[2].reward, 1e5 + 1e6 + 1e7);
    n_step_finish(&s);
}

static void a_break_forgets_what_waits(void)
{
    n_step s;
    seen out = {0};
    TEST_OK(n_step_init(&s, 1, 3, 1, 1));
    push(&s, 0, 0, false, false, &out);
    push(&s, 0, 1, false, false, &out);
    push(&s, 0, 7, true, false, &out); // not where step 1 led to
    CU_ASSERT_EQUAL_FATAL(out.count, 1);
    CU_ASSERT_EQUAL(out.row[0].from, 7);
    push(&s, 0, 0, false, false, &out);
    n_step_forget(&s, 0);
    push(&s, 0, 1, true, false, &out);
    CU_ASSERT_EQUAL_FATAL(out.count, 2);
    CU_ASSERT_EQUAL(out.row[1].from, 1);
    n_step_finish(&s);
}

static void one_step_is_the_plain_transition(void)
{
    n_step s;
    seen out = {0};
    TEST_OK(n_step_init(&s, 1, 1, 1, 0.9));
    for (int t = 0; t < 3; t++)
        push(&s, 0, t, t == 2, false, &out);
    CU_ASSERT_EQUAL_FATAL(out.count, 3);
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(out.row[i].to, i + 1);
        CU_ASSERT_EQUAL(out.row[i].discount, i == 2 ? 0 : 0.9f);
    }
    n_step_finish(&s);
}

// --- the tree ---------------------------------------------------------------------------------------------

static void a_number_of_zero_is_never_found(void)
{
    enum { COUNT = 777, DRAWS = 200000 };
    sum_tree tree;
    TEST_OK(sum_tree_init(&tree, COUNT));
    for (size_t i = 0; i < COUNT; i += 2)
        sum_tree_set(&tree, i, 1e-9 + 1e3 * corral_stream_double(3, i));
    const double total = sum_tree_total(&tree);
    size_t bad = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        bad += !(sum_tree_get(&tree, sum_tree_find(&tree, total * corral_stream_double(4, i))) > 0);
    for (size_t i = 0; i < COUNT; i++) { // the edges, and what rounding may make of them
        double edge = 0;
        for (size_t k = 0; k < i; k++)
            edge += sum_tree_get(&tree, k);
        const double masses[] = {edge, nextafter(edge, 0), nextafter(edge, INFINITY)};
        for (size_t m = 0; m < 3; m++)
            bad += !(sum_tree_get(&tree, sum_tree_find(&tree, masses[m])) > 0);
    }
    bad += !(sum_tree_get(&tree, sum_tree_find(&tree, total)) > 0);
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
    CU_ASSERT_EQUAL(sum_tree_total(&tree), 10);
    for (uint64_t i = 0; i < DRAWS; i++)
        found[sum_tree_find(&tree, 10 * corral_stream_double(9, i))]++;
    for (size_t i = 0; i < COUNT; i++)
        CU_ASSERT_DOUBLE_EQUAL((double)found[i] / DRAWS, numbers[i] / 10, 0.01);
    sum_tree_finish(&tree);
}

// --- the ring ---------------------------------------------------------------------------------------------

enum { WIDTH = 2 };

/// A step of one environment that ends at once, so that each push is one row; its number is in all parts.
static void push_row(replay *r, uint64_t number)
{
    const float value = (float)number, observation[WIDTH] = {value, -value};
    const replay_step step = {.observation = observation,
                              .action = (int32_t)(number % 7),
                              .reward = value,
                              .terminated = true,
                              .next = observation};
    replay_push(r, 0, &step);
}

static replay *create(size_t capacity, double alpha)
{
    const replay_config config = {.capacity = capacity,
                                  .observation_size = WIDTH,
                                  .envs = 3,
                                  .n_step = 2,
                                  .gamma = 0.9,
                                  .alpha = alpha};
    replay *r;
    TEST_OK(replay_create(&config, &r));
    return r;
}

/// Random lengths, draws and errors on the way: what is drawn is always one of the newest rows, and whole.
static void the_oldest_make_room(void)
{
    enum { CAPACITY = 100, INSERTS = 100000 };
    for (int prioritised = 0; prioritised < 2; prioritised++) {
        replay *r = create(CAPACITY, prioritised ? 0.6 : 0);
        size_t bad = 0;
        uint32_t rows[8];
        float weights[8], errors[8];
        for (uint64_t i = 0; i < INSERTS; i++) {
            push_row(r, i);
            if (i % 5 != 0) continue;
            replay_sample(r, corral_stream_key(1, CORRAL_STREAM_REPLAY, i), 8, 0.4, rows, weights);
            for (size_t k = 0; k < 8; k++) {
                const replay_transition t = replay_at(r, rows[k]);
                const uint64_t number = (uint64_t)t.reward;
                bad += number > i || i - number >= CAPACITY || t.action != (int32_t)(number % 7);
                bad += t.observation[0] != (float)number || t.next[1] != -(float)number;
                bad += !(weights[k] > 0 && weights[k] <= 1);
                errors[k] = 10 * corral_stream_float(2, 8 * i + k) - 5;
            }
            replay_tell_errors(r, rows, errors, 8);
        }
        CU_ASSERT_EQUAL(bad, 0);
        CU_ASSERT_EQUAL(replay_count(r), CAPACITY);
        replay_destroy(r);
    }
}

static void a_draw_is_the_streams(void)
{
    replay *r = create(50, 0);
    uint32_t first[16], again[16], seen_rows[50] = {0};
    float weights[16];
    for (uint64_t i = 0; i < 50; i++)
        push_row(r, i);
    replay_sample(r, 7, 16, 0, first, weights);
    replay_sample(r, 7, 16, 0, again, weights);
    CU_ASSERT_EQUAL(memcmp(first, again, sizeof first), 0);
    for (uint64_t k = 0; k < 5000; k++) {
        replay_sample(r, k, 16, 0, again, weights);
        for (size_t i = 0; i < 16; i++)
            seen_rows[again[i]]++;
    }
    for (size_t i = 0; i < 50; i++)
        CU_ASSERT_DOUBLE_EQUAL(seen_rows[i] / 80000.0, 0.02, 0.002);
    replay_destroy(r);
}

/// A new row is taken to be as surprising as the most surprising one so far; one told 0 is still drawn.
static void new_rows_come_with_the_largest_priority(void)
{
    replay *r = create(3, 1);
    push_row(r, 0);
    replay_tell_errors(r, (const uint32_t[]){0}, (const float[]){-50}, 1);
    push_row(r, 1);
    push_row(r, 2);
    replay_tell_errors(r, (const uint32_t[]){2}, (const float[]){0}, 1);
    replay_tell_errors(r, (const uint32_t[]){0}, (const float[]){NAN}, 1); // says nothing
    size_t drawn[3] = {0};
    uint32_t rows[1];
    float weights[1];
    for (uint64_t i = 0; i < 20000; i++) {
        replay_sample(r, corral_stream_key(3, CORRAL_STREAM_REPLAY, i), 1, 1, rows, weights);
        drawn[rows[0]]++;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)drawn[0] / 20000.0, 0.5, 0.02);
    CU_ASSERT_DOUBLE_EQUAL((double)drawn[1] / 20000.0, 0.5, 0.02);
    CU_ASSERT_TRUE(drawn[2] < 5);
    replay_destroy(r);
}

/// Weight times chance is the same for all rows at beta 1: the bias of drawing by priority is undone.
static void weights_undo_the_priorities(void)
{
    replay *r = create(4, 0.7);
    const float errors[4] = {1, 2, 4, 8};
    const uint32_t all[4] = {0, 1, 2, 3};
    for (uint64_t i = 0; i < 4; i++)
        push_row(r, i);
    replay_tell_errors(r, all, errors, 4);
    uint32_t rows[4096];
    float weights[4096];
    double mass[4] = {0};
    replay_sample(r, 5, 4096, 1, rows, weights);
    for (size_t i = 0; i < 4096; i++)
        mass[rows[i]] += (double)weights[i];
    for (size_t i = 1; i < 4; i++)
        CU_ASSERT_DOUBLE_EQUAL(mass[i] / mass[0], 1, 0.02);
    replay_sample(r, 5, 16, 0, rows, weights);
    for (size_t i = 0; i < 16; i++)
        CU_ASSERT_EQUAL(weights[i], 1);
    replay_destroy(r);
}

// --- the file ---------------------------------------------------------------------------------------------

static char path[64];

static void push_open(replay *r, uint32_t environment, float at)
{
    const float observation[WIDTH] = {at, 0}, next[WIDTH] = {at + 1, 0};
    const replay_step step = {.observation = observation, .reward = at, .next = next};
    replay_push(r, environment, &step);
}

static void check_file(size_t pushes, double alpha)
{
    replay *r = create(40, alpha), *back = create(40, alpha);
    uint32_t rows[8];
    float weights[8];
    for (uint64_t i = 0; i < pushes; i++) {
        push_row(r, i);
        replay_sample(r, i, 8, 0.5, rows, weights);
        replay_tell_errors(r, rows, (const float[]){1, -2, 0.3f, 4, 5, 6, 0, 8}, 8);
    }
    push_open(r, 1, 3); // waits for its second step
    TEST_OK(replay_write(r, path));
    TEST_OK(replay_read(back, path));
    push_open(r, 1, 4);
    push_open(back, 1, 4);
    push_row(r, 1000);
    push_row(back, 1000);
    CU_ASSERT_EQUAL(replay_count(back), replay_count(r));
    for (uint64_t key = 0; key < 20; key++) {
        uint32_t other_rows[8];
        float other_weights[8];
        replay_sample(r, key, 8, 0.5, rows, weights);
        replay_sample(back, key, 8, 0.5, other_rows, other_weights);
        CU_ASSERT_EQUAL(memcmp(rows, other_rows, sizeof rows), 0);
        CU_ASSERT_EQUAL(memcmp(weights, other_weights, sizeof weights), 0);
        for (size_t i = 0; i < 8; i++) {
            const replay_transition a = replay_at(r, rows[i]), b = replay_at(back, rows[i]);
            CU_ASSERT_EQUAL(memcmp(a.observation, b.observation, WIDTH * sizeof(float)), 0);
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
    check_file(95, 0.6); // past the ring's end
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
    replay_tell_errors(r, (const uint32_t[]){3}, (const float[]){1234}, 1);
    TEST_OK(replay_write(r, path));
    char *bytes;
    size_t size, at = 0;
    TEST_OK(corral_file_read(path, 1 << 20, &bytes, &size));
    const double priority = pow(1234 + 1e-6, 0.6), broken = -1;
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
    const replay_config config = {
        .capacity = UINT32_MAX, .observation_size = 100000, .envs = 1, .n_step = 1, .gamma = 1};
    TEST_FAILS(replay_create(&config, &r), CORRAL_ERROR_NO_MEMORY, "lower dqn.buffer_size");
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/corral-test-replay-%d.safetensors", (int)getpid());
    const int result = test_run(
        "replay", (test_case[]){
                      {"the last steps have shorter horizons", the_last_steps_have_shorter_horizons},
                      {"nothing reaches across episodes or environments",
                       nothing_reaches_across_episodes_or_environments},
                      {"a break forgets what waits", a_break_forgets_what_waits},
                      {"one step is the plain transition", one_step_is_the_plain_transition},
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
