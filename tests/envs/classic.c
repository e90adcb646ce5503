// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The classic-control rules but CartPole's, below the host, against recorded episodes of Gymnasium on NumPy 1
// and 2: every state, observation, reward and flag equal to the last bit, alone and in the middle of a batch.
// The records go on after an end without a reset.

#include "golden.h"
#include "rules.h"

#include "corral/envs/batch.h"

enum { ROW = 65 }; // of 67: one block and a bit; the row under test is in the rest

typedef struct subject {
    const char *id, *file;
    int state, observation; // numbers of the recorded state and of an observation
    bool numpy2;            // this record is of NumPy 2
    int steps;              // recorded ones, all together
} subject;

static const subject subjects[] = {
    {"Acrobot-v1", "Acrobot-v1.json", 4, 6, false, 1020},
    {"MountainCar-v0", "MountainCar-v0.json", 2, 2, false, 970},
    {"MountainCarContinuous-v0", "MountainCarContinuous-v0.json", 2, 2, false, 1865},
    {"MountainCarContinuous-v0", "MountainCarContinuous-v0.numpy2.json", 2, 2, true, 1565},
    {"Pendulum-v1", "Pendulum-v1.json", 2, 3, false, 1025},
    {"Pendulum-v1", "Pendulum-v1.numpy2.json", 2, 3, true, 1025},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/// Actions of 64 bits. Ours have 32; neither NumPy 1 nor Pendulum's state tells the two apart, but on NumPy 2
/// the continuous car rounds in a third way with them, which nobody can ask for here.
static bool is_wide(const cJSON *episode)
{
    return strstr(episode->string, "f64_actions") != NULL;
}

static bool is_beyond_us(const subject *s, const cJSON *episode)
{
    return s->numpy2 && is_wide(episode) && strcmp(s->id, "MountainCarContinuous-v0") == 0;
}

/// As the record was made: its constructor's arguments, and its NumPy.
static void open_for(rules *r, const subject *s, const cJSON *episode, uint32_t count)
{
    rules_find(r, s->id);
    const cJSON *argument;
    if (episode != NULL)
        cJSON_ArrayForEach(argument, golden_at(episode, "kwargs"))
            rules_set(r, argument->string, argument->valuedouble);
    if (episode != NULL && strcmp(episode->string, "nips") == 0) rules_set(r, "nips", 1);
    if (r->type->spaces.action->kind == CORRAL_SPACE_BOX)
        rules_set(r, "numpy2", s->numpy2 && (episode == NULL || !is_wide(episode)));
    rules_open(r, count);
}

/// Recorded numbers come first in what is saved; the continuous car adds that they are not yet rounded.
static void set_state(rules *r, uint32_t row, const double *state, int width, bool is_double)
{
    double saved[8] = {0};
    CU_ASSERT_FATAL(rules_state(r)->state_size <= sizeof saved);
    memcpy(saved, state, (size_t)width * sizeof *state);
    if (strcmp(r->type->id, "MountainCarContinuous-v0") == 0) saved[2] = is_double;
    CU_ASSERT_EQUAL(rules_state(r)->load(r->batch, row, saved), 0);
}

static bool matches(const rules *r, const subject *s, uint32_t row, const cJSON *states, const cJSON *seen)
{
    double got[8], want[8];
    bool same = true;
    if (states != NULL) {
        rules_state(r)->save(r->batch, row, got);
        golden_numbers(states, want, s->state);
        same = same_bytes(got, want, (size_t)s->state * sizeof *want);
    }
    golden_numbers(seen, want, s->observation);
    for (int k = 0; k < s->observation; k++)
        same = same && same_double((double)r->box[row][k], want[k]);
    return same;
}

static double action_of(const cJSON *item)
{
    return golden_number(cJSON_IsArray(item) ? item->child : item);
}

static int replay(const subject *s, const cJSON *episode, uint32_t count, uint32_t row)
{
    static rules r;
    double state[8];
    open_for(&r, s, episode, count);
    golden_numbers(golden_at(episode, "initial_state"), state, s->state);
    set_state(&r, row, state, s->state,
              strcmp(golden_at(episode, "initial_state_dtype")->valuestring, "float64") == 0);

    int equal = 0, steps = 0;
    const cJSON *states = golden_at(episode, "state")->child, *seen = golden_at(episode, "obs")->child;
    const cJSON *reward = golden_at(episode, "reward")->child, *end = golden_at(episode, "terminated")->child;
    const cJSON *action;
    cJSON_ArrayForEach(action, golden_at(episode, "actions"))
    {
        rules_step(&r, row, action_of(action), (uint64_t)steps);
        equal += matches(&r, s, row, states, seen) && same_double(r.reward[row], golden_number(reward)) &&
                 r.terminated[row] == cJSON_IsTrue(end);
        states = states->next, seen = seen->next, reward = reward->next, end = end->next;
        steps++;
    }
    if (equal != steps)
        fprintf(stderr, "%s %s: %d of %d steps equal\n", s->file, episode->string, equal, steps);
    CU_ASSERT_EQUAL(equal, steps);
    rules_close(&r);
    return equal;
}

static void replay_all(uint32_t count, uint32_t row)
{
    for (int i = 0; i < SUBJECTS; i++) {
        cJSON *golden = golden_read(subjects[i].file);
        int steps = 0;
        const cJSON *episode;
        cJSON_ArrayForEach(episode, golden_at(golden, "cases")) steps +=
            is_beyond_us(&subjects[i], episode) ? 0 : replay(&subjects[i], episode, count, row);
        CU_ASSERT_EQUAL(steps, subjects[i].steps);
        cJSON_Delete(golden);
    }
}

static void replays_recorded_episodes(void)
{
    replay_all(1, 0);
}

static void replays_them_within_a_batch(void)
{
    replay_all(RULES_MAX, ROW);
}

static void judges_edges(void)
{
    int edges = 0;
    for (int i = 0; i < SUBJECTS; i++) {
        static rules r;
        cJSON *golden = golden_read(subjects[i].file);
        open_for(&r, &subjects[i], NULL, RULES_MAX);
        const cJSON *edge;
        cJSON_ArrayForEach(edge, cJSON_GetObjectItem(golden, "edges"))
        {
            double state[8];
            golden_numbers(golden_at(edge, "initial_state"), state, subjects[i].state);
            set_state(&r, ROW, state, subjects[i].state, true);
            rules_step(&r, ROW, action_of(golden_at(edge, "action")), 0);
            const cJSON *end = cJSON_GetObjectItem(edge, "terminated");
            const bool same =
                matches(&r, &subjects[i], ROW, cJSON_GetObjectItem(edge, "state"), golden_at(edge, "obs")) &&
                same_double(r.reward[ROW], golden_number(golden_at(edge, "reward"))) &&
                r.terminated[ROW] == (end != NULL && cJSON_IsTrue(end));
            if (!same)
                fprintf(stderr, "%s: edge %s differs\n", subjects[i].file,
                        golden_at(edge, "name")->valuestring);
            CU_ASSERT_TRUE(same);
            edges++;
        }
        rules_close(&r);
        cJSON_Delete(golden);
    }
    CU_ASSERT_EQUAL(edges, 6 + 4 + 4);
}

static void starts_where_gymnasium_starts(void)
{
    for (int i = 0; i < SUBJECTS; i++) {
        static rules r;
        cJSON *golden = golden_read(subjects[i].file);
        open_for(&r, &subjects[i], NULL, 3);
        int seeds = 0;
        const cJSON *entry;
        cJSON_ArrayForEach(entry, golden_at(golden, "seeds"))
        {
            double before[8] = {0}, after[8] = {0};
            rules_state(&r)->save(r.batch, 0, before);
            rules_reset_one(&r, 1, strtoull(golden_at(entry, "seed")->valuestring, NULL, 10));
            rules_state(&r)->save(r.batch, 0, after);
            CU_ASSERT_TRUE(matches(&r, &subjects[i], 1, golden_at(entry, "state"), golden_at(entry, "obs")));
            CU_ASSERT_TRUE(same_bytes(before, after, sizeof before)); // its neighbour
            seeds++;
        }
        CU_ASSERT_EQUAL(seeds, 13);
        rules_close(&r);
        cJSON_Delete(golden);
    }
}

/// What Gymnasium accepts by accident, such as Acrobot's -1, is refused here, and so is what poisons a state.
static void refuses_other_actions(void)
{
    static const struct {
        const char *id;
        double bad[3];
    } cases[] = {{"Acrobot-v1", {3, -1, -4}},
                 {"MountainCar-v0", {3, -1, 100}},
                 {"MountainCarContinuous-v0", {NAN, 1.5, -INFINITY}},
                 {"Pendulum-v1", {NAN, 2.5, INFINITY}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        corral_env_batch_config config = {
            .count = 1, .run_seed = 1, .role = CORRAL_STREAM_ENVIRONMENT, .max_episode_steps = -1};
        TEST_OK(corral_env_find(cases[i].id, &config.type));
        corral_env_batch *batch;
        TEST_OK(corral_env_batch_create(&config, &batch));
        float observation[RULES_WIDTH], box;
        int32_t discrete;
        const bool is_box = config.type->spaces.action->kind == CORRAL_SPACE_BOX;
        const corral_env_rows seen = {observation, sizeof observation};
        const corral_env_rows action = {is_box ? (void *)&box : (void *)&discrete, sizeof box};
        corral_env_batch_step step = {.observation = &seen};
        TEST_OK(corral_env_batch_reset(batch, &seen));
        for (int k = 0; k < 3; k++) {
            if (is_box)
                box = (float)cases[i].bad[k];
            else
                discrete = (int32_t)cases[i].bad[k];
            TEST_FAILS(corral_env_batch_step_all(batch, &action, &step), CORRAL_ERROR_INVALID, cases[i].id);
        }
        corral_env_batch_destroy(batch);
    }
}

static void refuses_states_out_of_bounds(void)
{
    static rules r;
    rules_find(&r, "Acrobot-v1");
    rules_open(&r, 1);
    const double wild[2][4] = {{1e300, 0, 0, 0}, {0, NAN, 0, 0}};
    for (int i = 0; i < 2; i++)
        CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, wild[i]), 0);
    CU_ASSERT_STRING_EQUAL(corral_env_host_take_error(), "an angle or a speed is out of all bounds");
    rules_close(&r);
}

static void draws_pictures(void)
{
    for (int i = 0; i < SUBJECTS; i++) {
        static rules r;
        corral_draw items[64];
        open_for(&r, &subjects[i], NULL, 2);
        for (uint64_t t = 0; t < 300; t++)
            rules_step(&r, 1, corral_stream_double(1, t) * 2, t);
        CU_ASSERT_TRUE(rules_draw(&r, 1, items, 64) >= 7);
        rules_close(&r);
    }
}

static void limits_are_gymnasiums(void)
{
    static const struct {
        const char *id;
        uint32_t steps;
        double threshold, fps;
    } limits[] = {{"Acrobot-v1", 500, -100, 15},
                  {"MountainCar-v0", 200, -110, 30},
                  {"MountainCarContinuous-v0", 999, 90, 30},
                  {"Pendulum-v1", 200, NAN, 30}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(limits[i].id, &type));
        CU_ASSERT_EQUAL(type->max_episode_steps, limits[i].steps);
        CU_ASSERT_TRUE(same_double(type->reward_threshold, limits[i].threshold));
        CU_ASSERT_EQUAL(type->render_fps, limits[i].fps);
    }
}

int main(void)
{
    return test_run("classic", (test_case[]){{"replays recorded episodes", replays_recorded_episodes},
                                             {"replays them within a batch", replays_them_within_a_batch},
                                             {"judges edges", judges_edges},
                                             {"starts where Gymnasium starts", starts_where_gymnasium_starts},
                                             {"refuses other actions", refuses_other_actions},
                                             {"refuses states out of bounds", refuses_states_out_of_bounds},
                                             {"draws pictures", draws_pictures},
                                             {"limits are Gymnasium's", limits_are_gymnasiums},
                                             {NULL, NULL}});
}
