// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The toy-text rules, below the host, against Gymnasium's tables and recorded episodes. The records seed once
// and then reset without a seed, so that their generator runs through all episodes. Ours begins anew with
// each seed; here it is carried over through the saved state, and the test itself draws how an episode
// begins.

#include "golden.h"
#include "rules.h"

enum { ROW = 3, COUNT = 5 };

/// As a table's instance and a hand of Blackjack are saved: the generator comes first.
typedef struct table_state {
    corral_env_rng rng;
    int32_t state;
    uint8_t action, mark, padding[2];
} table_state;

typedef struct hand {
    uint8_t card[22], count;
} hand;

typedef struct blackjack_state {
    corral_env_rng rng;
    hand dealer, player;
    uint8_t over, padding;
} blackjack_state;

/// "Taxi-v4 {"is_rainy": true}" is Taxi-v4 with that argument.
static void open_named(rules *r, const cJSON *env, uint32_t count)
{
    char id[64];
    snprintf(id, sizeof id, "%s", env->string);
    id[strcspn(id, " ")] = '\0';
    rules_find(r, id);
    const cJSON *argument;
    cJSON_ArrayForEach(argument, golden_at(env, "kwargs"))
        rules_set(r, argument->string, cJSON_IsTrue(argument) ? 1 : 0);
    rules_open(r, count);
}

static table_state get_state(const rules *r, uint32_t row)
{
    table_state saved;
    CU_ASSERT_EQUAL_FATAL(rules_state(r)->state_size, sizeof saved);
    rules_state(r)->save(r->batch, row, &saved);
    return saved;
}

/// Which outcome of recorded ones [probability, next, reward, terminated] the number u takes.
static const cJSON *outcome_of(const cJSON *outcomes, double u)
{
    double sum = 0;
    const cJSON *outcome;
    cJSON_ArrayForEach(outcome, outcomes)
    {
        sum += outcome->child->valuedouble;
        if (sum > u) return outcome;
    }
    return outcomes->child;
}

static bool took(const rules *r, const cJSON *outcome)
{
    const cJSON *next = outcome->child->next, *reward = next->next, *end = reward->next;
    return r->discrete[0][ROW] == next->valueint && same_double(r->reward[ROW], reward->valuedouble) &&
           r->terminated[ROW] == cJSON_IsTrue(end) && get_state(r, ROW).state == next->valueint;
}

/// Every state and action, often enough to see each outcome.
static void check_table(const cJSON *env)
{
    static rules r;
    open_named(&r, env, COUNT);
    const corral_env_host *host = corral_env_host_default();
    int32_t state = 0;
    int wrong = 0;
    const cJSON *actions;
    cJSON_ArrayForEach(actions, golden_at(env, "P"))
    {
        int32_t action = 0;
        const cJSON *outcomes;
        cJSON_ArrayForEach(outcomes, actions)
        {
            for (uint64_t seed = 0; seed < (cJSON_GetArraySize(outcomes) > 1 ? 12 : 1); seed++) {
                table_state at = {.state = state};
                host->rng_seed(&at.rng, seed);
                corral_env_rng rng = at.rng;
                CU_ASSERT_EQUAL_FATAL(rules_state(&r)->load(r.batch, ROW, &at), 0);
                rules_step(&r, ROW, action, seed);
                wrong += !took(&r, outcome_of(outcomes, host->rng_double(&rng)));
            }
            action++;
        }
        CU_ASSERT_EQUAL(action, r.type->spaces.action->n);
        state++;
    }
    CU_ASSERT_EQUAL(state, r.type->spaces.observation->n);
    if (wrong > 0) fprintf(stderr, "%s: %d outcomes differ\n", env->string, wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    rules_close(&r);
}

static void tables_are_gymnasiums(void)
{
    cJSON *golden = golden_read("toy_text.json");
    int tables = 0;
    const cJSON *env;
    cJSON_ArrayForEach(env, golden_at(golden, "envs"))
    {
        if (cJSON_GetObjectItem(env, "P") == NULL) continue;
        check_table(env);
        tables++;
    }
    CU_ASSERT_EQUAL(tables, 8);
    cJSON_Delete(golden);
}

// --- recorded episodes

/// The beginning of the next episode, drawn from the generator of the one before.
static table_state begin(const rules *r, const cJSON *env)
{
    const corral_env_host *host = corral_env_host_default();
    table_state next = {.rng = get_state(r, ROW).rng};
    const double u = host->rng_double(&next.rng);
    double sum = 0;
    const cJSON *start;
    cJSON_ArrayForEach(start, golden_at(env, "initial_state_distrib_nonzero"))
    {
        sum += start->child->next->valuedouble;
        next.state = start->child->valueint;
        if (sum > u) break;
    }
    if (strstr(env->string, "fickle") != NULL) next.mark = host->rng_double(&next.rng) < 0.3;
    return next;
}

static bool mask_matches(const rules *r, const cJSON *info)
{
    const cJSON *recorded = cJSON_GetObjectItem(info, "action_mask");
    if (recorded == NULL) return true;
    const corral_env_action_mask *extension = r->type->extension(CORRAL_ENV_ACTION_MASK);
    uint8_t got[6];
    double want[6];
    extension->mask(r->batch, ROW, got);
    golden_numbers(recorded, want, 6);
    bool same = true;
    for (int k = 0; k < 6; k++)
        same = same && got[k] == want[k];
    return same;
}

/// A row is [action, observation, reward, terminated, truncated, info, {reset_obs}].
static bool step_matches(rules *r, const cJSON *env, const cJSON *row, uint64_t step)
{
    const cJSON *action = row->child, *seen = action->next, *reward = seen->next, *end = reward->next,
                *cut = end->next, *info = cut->next, *again = info->next;
    rules_step(r, ROW, action->valuedouble, step);
    bool same = r->discrete[0][ROW] == seen->valueint && same_double(r->reward[ROW], reward->valuedouble) &&
                r->terminated[ROW] == cJSON_IsTrue(end) && mask_matches(r, info);
    CU_ASSERT_TRUE((again != NULL) == (cJSON_IsTrue(end) || cJSON_IsTrue(cut)));
    if (again == NULL) return same;
    const table_state next = begin(r, env);
    same = same && next.state == golden_at(again, "reset_obs")->valueint;
    CU_ASSERT_EQUAL(rules_state(r)->load(r->batch, ROW, &next), 0);
    return same;
}

static void replays_tables(void)
{
    cJSON *golden = golden_read("toy_text.json");
    const cJSON *env;
    cJSON_ArrayForEach(env, golden_at(golden, "envs"))
    {
        static rules r;
        if (cJSON_GetObjectItem(env, "P") == NULL) continue;
        open_named(&r, env, COUNT);
        rules_reset_one(&r, ROW, 42);
        CU_ASSERT_EQUAL(r.discrete[0][ROW], golden_at(env, "reset_obs")->valueint);
        CU_ASSERT_TRUE(mask_matches(&r, golden_at(env, "reset_info")));
        int equal = 0, steps = 0;
        const cJSON *row;
        cJSON_ArrayForEach(row, golden_at(env, "steps")) equal +=
            step_matches(&r, env, row, (uint64_t)steps++);
        if (equal != steps) fprintf(stderr, "%s: %d of %d steps equal\n", env->string, equal, steps);
        CU_ASSERT_EQUAL(equal, steps);
        const cJSON *limit = golden_at(env, "max_episode_steps");
        CU_ASSERT_EQUAL(r.type->max_episode_steps, cJSON_IsNull(limit) ? 0 : (uint32_t)limit->valueint);
        rules_close(&r);
    }
    cJSON_Delete(golden);
}

// --- Blackjack

static uint8_t draw(corral_env_rng *rng)
{
    const int64_t card = corral_env_host_default()->rng_integer(rng, 13) + 1;
    return (uint8_t)(card < 10 ? card : 10);
}

static blackjack_state deal(corral_env_rng rng)
{
    const corral_env_host *host = corral_env_host_default();
    blackjack_state game = {.rng = rng, .dealer.count = 2, .player.count = 2};
    for (int i = 0; i < 2; i++)
        game.dealer.card[i] = draw(&game.rng);
    for (int i = 0; i < 2; i++)
        game.player.card[i] = draw(&game.rng);
    host->rng_integer(&game.rng, 4);
    if (game.dealer.card[0] == 10) host->rng_integer(&game.rng, 3);
    return game;
}

static bool observed(const rules *r, const cJSON *leaves)
{
    double want[3];
    golden_numbers(leaves, want, 3);
    return r->discrete[0][ROW] == want[0] && r->discrete[1][ROW] == want[1] && r->discrete[2][ROW] == want[2];
}

static bool begins_as_recorded(const blackjack_state *game, const cJSON *leaves)
{
    double want[3];
    golden_numbers(leaves, want, 3);
    int sum = game->player.card[0] + game->player.card[1];
    const bool ace = game->player.card[0] == 1 || game->player.card[1] == 1;
    if (ace) sum += 10;
    return sum == want[0] && game->dealer.card[0] == want[1] && ace == want[2];
}

static void replays_blackjack(void)
{
    static rules r;
    cJSON *golden = golden_read("toy_text.json");
    const cJSON *env = golden_at(golden_at(golden, "envs"), "Blackjack-v1");
    open_named(&r, env, COUNT);
    CU_ASSERT_EQUAL_FATAL(rules_state(&r)->state_size, sizeof(blackjack_state));
    rules_reset_one(&r, ROW, 42);
    CU_ASSERT_TRUE(observed(&r, golden_at(env, "reset_obs")));
    int equal = 0, steps = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, golden_at(env, "steps"))
    {
        const cJSON *action = row->child, *seen = action->next, *reward = seen->next, *end = reward->next;
        const cJSON *again = end->next->next->next;
        rules_step(&r, ROW, action->valuedouble, (uint64_t)steps++);
        bool same = observed(&r, seen) && same_double(r.reward[ROW], reward->valuedouble) &&
                    r.terminated[ROW] == cJSON_IsTrue(end);
        if (again != NULL) {
            blackjack_state game;
            rules_state(&r)->save(r.batch, ROW, &game);
            game = deal(game.rng);
            same = same && begins_as_recorded(&game, golden_at(again, "reset_obs"));
            CU_ASSERT_EQUAL(rules_state(&r)->load(r.batch, ROW, &game), 0);
        }
        equal += same;
    }
    CU_ASSERT_EQUAL(equal, steps);
    CU_ASSERT_EQUAL(steps, 60);
    rules_close(&r);
    cJSON_Delete(golden);
}

/// An ace and a ten against 21 of three cards or more: a draw, unless Sutton and Barto's rule is on; and 1.5
/// for a win where `natural` is on and that rule is off.
static void naturals(void)
{
    static const struct {
        double natural, sab;
        hand dealer;
        double reward;
    } cases[] = {{0, 1, {{7, 7, 7}, 3}, 1}, {0, 0, {{7, 7, 7}, 3}, 0}, {1, 0, {{7, 7, 7}, 3}, 0},
                 {1, 0, {{10, 9}, 2}, 1.5}, {0, 0, {{10, 9}, 2}, 1},   {0, 1, {{1, 10}, 2}, 0},
                 {1, 1, {{10, 9}, 2}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static rules r;
        rules_find(&r, "Blackjack-v1");
        rules_set(&r, "natural", cases[i].natural);
        rules_set(&r, "sab", cases[i].sab);
        rules_open(&r, COUNT);
        const blackjack_state game = {.dealer = cases[i].dealer, .player = {{10, 1}, 2}};
        CU_ASSERT_EQUAL(rules_state(&r)->load(r.batch, ROW, &game), 0);
        rules_step(&r, ROW, 0, i);
        CU_ASSERT_EQUAL(r.reward[ROW], cases[i].reward);
        CU_ASSERT_EQUAL(r.terminated[ROW], 1);
        rules_close(&r);
    }
}

// --- parameters, states, pictures

static void the_lake_has_parameters(void)
{
    static rules r;
    rules_find(&r, "FrozenLake-v1");
    rules_set(&r, "success_rate", 1);
    rules_set(&r, "reward_hole", -2);
    rules_set(&r, "reward_ice", -0.5);
    rules_open(&r, COUNT);
    rules_step(&r, ROW, 2, 0); // to the right, never anywhere else
    CU_ASSERT_EQUAL(r.discrete[0][ROW], 1);
    CU_ASSERT_EQUAL(r.reward[ROW], -0.5);
    rules_step(&r, ROW, 1, 1); // into the hole
    CU_ASSERT_EQUAL(r.discrete[0][ROW], 5);
    CU_ASSERT_EQUAL(r.reward[ROW], -2);
    CU_ASSERT_EQUAL(r.terminated[ROW], 1);
    rules_close(&r);
}

static void refuses_damaged_states(void)
{
    static rules r;
    rules_find(&r, "Taxi-v4");
    rules_open(&r, COUNT);
    CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, &(table_state){.state = 500}), 0);
    CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, &(table_state){.state = -1}), 0);
    CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, &(table_state){.action = 6}), 0);
    rules_close(&r);
    rules_find(&r, "Blackjack-v1");
    rules_open(&r, COUNT);
    const blackjack_state none = {.dealer.count = 2}, long_hand = {.player.count = 23};
    CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, &none), 0);
    CU_ASSERT_NOT_EQUAL(rules_state(&r)->load(r.batch, 0, &long_hand), 0);
    rules_close(&r);
    corral_env_host_take_error();
}

static void draws_pictures(void)
{
    static const char *const ids[] = {"Blackjack-v1",  "CliffWalking-v1",  "CliffWalkingSlippery-v1",
                                      "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        static rules r;
        static corral_draw items[256];
        rules_find(&r, ids[i]);
        rules_open(&r, COUNT);
        for (uint64_t t = 0; t < 30; t++) {
            rules_draw(&r, ROW, items, 256);
            rules_step(&r, ROW, (double)(t % 2), t);
        }
        rules_close(&r);
    }
}

static void thresholds_are_gymnasiums(void)
{
    static const struct {
        const char *id;
        double threshold;
    } all[] = {{"Blackjack-v1", NAN},  {"CliffWalking-v1", NAN},   {"CliffWalkingSlippery-v1", NAN},
               {"FrozenLake-v1", 0.7}, {"FrozenLake8x8-v1", 0.85}, {"Taxi-v4", 8}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const corral_env_type *type;
        TEST_OK(corral_env_find(all[i].id, &type));
        CU_ASSERT_TRUE(same_double(type->reward_threshold, all[i].threshold));
        CU_ASSERT_EQUAL(type->render_fps, 4);
    }
}

int main(void)
{
    return test_run("toy text", (test_case[]){{"tables are Gymnasium's", tables_are_gymnasiums},
                                              {"replays tables", replays_tables},
                                              {"replays Blackjack", replays_blackjack},
                                              {"naturals", naturals},
                                              {"the lake has parameters", the_lake_has_parameters},
                                              {"refuses damaged states", refuses_damaged_states},
                                              {"draws pictures", draws_pictures},
                                              {"thresholds are Gymnasium's", thresholds_are_gymnasiums},
                                              {NULL, NULL}});
}
