// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// CartPole's rules, below the host, against recorded episodes of Gymnasium: every state, observation, reward
// and flag equal to the last bit, alone and in the middle of a batch. The records go on after a fall without
// a reset.

#include "golden.h"

#include "corral/base/rng.h"
#include "corral/envs/registry.h"

enum { BATCH = 67, ROW = 65 }; // one block and a bit; the row under test is in the rest

typedef struct cart {
    const corral_env_type *type;
    void *batch;
    uint32_t count;
    int32_t action[BATCH];
    float observation[BATCH][4];
    double reward[BATCH];
    uint8_t terminated[BATCH], truncated[BATCH], failed[BATCH];
    corral_env_rows action_rows, observation_rows;
    corral_env_step io;
} cart;

static int param_index(const corral_env_type *type, const char *name)
{
    for (uint32_t i = 0; i < type->param_count; i++)
        if (strcmp(type->params[i].name, name) == 0) return (int)i;
    return -1;
}

static void set_value(const corral_env_type *type, double *values, const char *name, double value)
{
    const int index = param_index(type, name);
    CU_ASSERT_FATAL(index >= 0);
    values[index] = value;
}

static void defaults(const corral_env_type *type, double *out_values)
{
    for (uint32_t i = 0; i < type->param_count; i++)
        out_values[i] = type->params[i].default_value;
}

static const corral_env_type *cartpole(void)
{
    const corral_env_type *type;
    TEST_OK(corral_env_find("CartPole-v1", &type));
    return type;
}

static void cart_open(cart *c, uint32_t count, const double *values)
{
    memset(c, 0, sizeof *c);
    c->type = cartpole();
    c->count = count;
    CU_ASSERT_EQUAL_FATAL(c->type->batch->create(corral_env_host_default(), count, values, &c->batch), 0);
    c->action_rows = (corral_env_rows){c->action, sizeof c->action[0]};
    c->observation_rows = (corral_env_rows){c->observation, sizeof c->observation[0]};
    c->io = (corral_env_step){sizeof c->io, &c->action_rows, &c->observation_rows, c->reward, c->terminated,
                              c->truncated, c->failed};
    uint64_t seed[BATCH];
    for (uint32_t i = 0; i < count; i++)
        seed[i] = 1000 + i;
    CU_ASSERT_EQUAL_FATAL(c->type->batch->reset(c->batch, NULL, seed, &c->io), 0);
}

static void cart_close(cart *c)
{
    c->type->batch->destroy(c->batch);
}

/// Through the state extension: what it saves is four doubles, then a word that is 1 after a fall.
static void cart_set(cart *c, uint32_t row, const double state[4])
{
    const corral_env_state *extension = c->type->extension(CORRAL_ENV_STATE);
    CU_ASSERT_EQUAL_FATAL(extension->state_size, 4 * sizeof(double) + sizeof(uint64_t));
    struct {
        double state[4];
        uint64_t fallen;
    } saved = {{state[0], state[1], state[2], state[3]}, 0};
    CU_ASSERT_EQUAL(extension->load(c->batch, row, &saved), 0);
}

static void cart_get(const cart *c, uint32_t row, double out_state[4])
{
    const corral_env_state *extension = c->type->extension(CORRAL_ENV_STATE);
    double saved[5];
    extension->save(c->batch, row, saved);
    memcpy(out_state, saved, 4 * sizeof *out_state);
}

/// Others in the batch do something else.
static void cart_step(cart *c, uint32_t row, int32_t action, uint64_t step)
{
    for (uint32_t i = 0; i < c->count; i++)
        c->action[i] = (int32_t)(corral_stream_u64(i, step) & 1);
    c->action[row] = action;
    CU_ASSERT_EQUAL_FATAL(c->type->batch->step(c->batch, &c->io), 0);
}

static bool matches(const cart *c, uint32_t row, const double state[4], const double observation[4],
                    double reward, bool terminated)
{
    double got[4];
    cart_get(c, row, got);
    bool same = same_double(c->reward[row], reward) && c->terminated[row] == terminated;
    for (int k = 0; k < 4; k++)
        same = same && same_double(got[k], state[k]) && same_double(c->observation[row][k], observation[k]);
    return same;
}

static void values_of_case(const corral_env_type *type, const cJSON *name_and_case, double *out_values)
{
    defaults(type, out_values);
    if (strcmp(name_and_case->string, "sutton_barto") == 0)
        set_value(type, out_values, "sutton_barto_reward", 1);
    if (strcmp(name_and_case->string, "semi_implicit") == 0) set_value(type, out_values, "semi_implicit", 1);
}

/// Returns how many steps were equal.
static int replay(const cJSON *episode, uint32_t count, uint32_t row)
{
    cart c;
    double values[32], state[4], observation[4];
    values_of_case(cartpole(), episode, values);
    cart_open(&c, count, values);
    golden_numbers(golden_at(episode, "initial_state"), state, 4);
    cart_set(&c, row, state);

    int equal = 0, steps = 0;
    const cJSON *states = golden_at(episode, "state")->child, *seen = golden_at(episode, "obs")->child;
    const cJSON *reward = golden_at(episode, "reward")->child, *end = golden_at(episode, "terminated")->child;
    const cJSON *action;
    cJSON_ArrayForEach(action, golden_at(episode, "actions"))
    {
        cart_step(&c, row, (int32_t)action->valuedouble, (uint64_t)steps);
        golden_numbers(states, state, 4);
        golden_numbers(seen, observation, 4);
        equal += matches(&c, row, state, observation, golden_number(reward), cJSON_IsTrue(end));
        states = states->next, seen = seen->next, reward = reward->next, end = end->next;
        steps++;
    }
    if (equal != steps) fprintf(stderr, "%s: %d of %d steps equal\n", episode->string, equal, steps);
    CU_ASSERT_EQUAL(equal, steps);
    cart_close(&c);
    return equal;
}

static void replays_recorded_episodes(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    int steps = 0;
    const cJSON *episode;
    cJSON_ArrayForEach(episode, golden_at(golden, "cases")) steps += replay(episode, 1, 0);
    CU_ASSERT_EQUAL(steps, 505 + 200 + 14 + 200 + 300 + 60 + 14 + 60);
    cJSON_Delete(golden);
}

static void replays_them_within_a_batch(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    const cJSON *episode;
    cJSON_ArrayForEach(episode, golden_at(golden, "cases")) replay(episode, BATCH, ROW);
    cJSON_Delete(golden);
}

static void judges_edges_strictly(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    double values[32];
    defaults(cartpole(), values);
    cart c;
    cart_open(&c, BATCH, values);
    const cJSON *edge;
    cJSON_ArrayForEach(edge, golden_at(golden, "edges"))
    {
        double state[4], observation[4];
        golden_numbers(golden_at(edge, "initial_state"), state, 4);
        cart_set(&c, ROW, state);
        cart_step(&c, ROW, golden_at(edge, "action")->valueint, 0);
        golden_numbers(golden_at(edge, "state"), state, 4);
        golden_numbers(golden_at(edge, "obs"), observation, 4);
        const bool same = matches(&c, ROW, state, observation, golden_number(golden_at(edge, "reward")),
                                  cJSON_IsTrue(golden_at(edge, "terminated")));
        if (!same) fprintf(stderr, "edge %s differs\n", golden_at(edge, "name")->valuestring);
        CU_ASSERT_TRUE(same);
    }
    cart_close(&c);
    cJSON_Delete(golden);
}

static void starts_where_gymnasium_starts(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    double values[32];
    defaults(cartpole(), values);
    cart c;
    cart_open(&c, 3, values);
    int seeds = 0;
    const cJSON *entry;
    cJSON_ArrayForEach(entry, golden_at(golden, "seeds"))
    {
        const uint64_t seed = strtoull(golden_at(entry, "seed")->valuestring, NULL, 10);
        const uint64_t seed_of[3] = {7, seed, 7};
        const uint8_t mask[3] = {0, 1, 0};
        double untouched[4], state[4], want[4], again[4];
        cart_get(&c, 0, untouched);
        CU_ASSERT_EQUAL(c.type->batch->reset(c.batch, mask, seed_of, &c.io), 0);
        cart_get(&c, 1, state);
        cart_get(&c, 0, again);
        golden_numbers(golden_at(entry, "state"), want, 4);
        CU_ASSERT_TRUE(same_bytes(state, want, sizeof want));
        CU_ASSERT_TRUE(same_bytes(untouched, again, sizeof again));
        golden_numbers(golden_at(entry, "obs"), want, 4);
        for (int k = 0; k < 4; k++)
            CU_ASSERT_TRUE(same_double(c.observation[1][k], want[k]));
        seeds++;
    }
    CU_ASSERT_EQUAL(seeds, 13);
    cart_close(&c);
    cJSON_Delete(golden);
}

/// A second reset without a seed goes on with the same generator; ours is the host's.
static void the_generator_goes_on(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    const corral_env_host *host = corral_env_host_default();
    const cJSON *entry;
    cJSON_ArrayForEach(entry, golden_at(golden, "seeds"))
    {
        corral_env_rng rng;
        double first[4], second[4];
        host->rng_seed(&rng, strtoull(golden_at(entry, "seed")->valuestring, NULL, 10));
        golden_numbers(golden_at(entry, "state"), first, 4);
        golden_numbers(golden_at(entry, "second_reset_noseed_state"), second, 4);
        for (int k = 0; k < 4; k++)
            CU_ASSERT_TRUE(same_double(host->rng_uniform(&rng, -0.05, 0.05), first[k]));
        for (int k = 0; k < 4; k++)
            CU_ASSERT_TRUE(same_double(host->rng_uniform(&rng, -0.05, 0.05), second[k]));
    }
    cJSON_Delete(golden);
}

static void reset_bounds_are_parameters(void)
{
    cJSON *golden = golden_read("CartPole-v1.json");
    const cJSON *entry = golden_at(golden, "options_reset")->child;
    const corral_env_type *type = cartpole();
    double values[32], want[4];
    defaults(type, values);
    set_value(type, values, "reset_low", -0.1);
    set_value(type, values, "reset_high", 0.1);
    cart c;
    cart_open(&c, 1, values);
    const uint64_t seed = (uint64_t)golden_at(entry, "seed")->valuedouble;
    CU_ASSERT_EQUAL(type->batch->reset(c.batch, NULL, &seed, &c.io), 0);
    golden_numbers(golden_at(entry, "obs"), want, 4);
    for (int k = 0; k < 4; k++)
        CU_ASSERT_TRUE(same_double(c.observation[0][k], want[k]));
    cart_close(&c);

    void *batch;
    set_value(type, values, "reset_low", 0.2);
    CU_ASSERT_NOT_EQUAL(type->batch->create(corral_env_host_default(), 1, values, &batch), 0);
    CU_ASSERT_STRING_EQUAL(corral_env_host_take_error(), "reset_low is above reset_high");
    cJSON_Delete(golden);
}

static void draws_a_picture(void)
{
    double values[32];
    defaults(cartpole(), values);
    cart c;
    cart_open(&c, 2, values);
    const corral_env_render *render = c.type->extension(CORRAL_ENV_RENDER);
    corral_draw items[32];
    const uint32_t count = render->draw(c.batch, 1, items, 32);
    CU_ASSERT_FATAL(count >= 4 && count <= 32);
    for (uint32_t i = 0; i < count; i++) {
        CU_ASSERT_TRUE(items[i].kind >= CORRAL_DRAW_LINE && items[i].kind <= CORRAL_DRAW_TEXT);
        for (uint32_t p = 0; p < items[i].point_count; p++) {
            CU_ASSERT_TRUE(items[i].point[p][0] >= 0 && items[i].point[p][0] <= render->width);
            CU_ASSERT_TRUE(items[i].point[p][1] >= 0 && items[i].point[p][1] <= render->height);
        }
    }
    items[1].kind = 99; // beyond the limit nothing is written
    CU_ASSERT_EQUAL(render->draw(c.batch, 1, items, 1), count);
    CU_ASSERT_EQUAL(items[1].kind, 99);
    const double wild[4] = {NAN, INFINITY, NAN, -INFINITY};
    cart_set(&c, 1, wild);
    CU_ASSERT_EQUAL(render->draw(c.batch, 1, items, 32), count);
    cart_close(&c);
}

static void limits_are_gymnasiums(void)
{
    const corral_env_type *v0, *v1 = cartpole();
    TEST_OK(corral_env_find("CartPole-v0", &v0));
    CU_ASSERT_EQUAL(v0->max_episode_steps, 200);
    CU_ASSERT_EQUAL(v0->reward_threshold, 195);
    CU_ASSERT_EQUAL(v1->max_episode_steps, 500);
    CU_ASSERT_EQUAL(v1->reward_threshold, 475);
    cJSON *golden = golden_read("CartPole-v1.json");
    double low[4] = {0}, high[4] = {0};
    golden_numbers(golden_at(golden, "obs_low"), low, 4);
    golden_numbers(golden_at(golden, "obs_high"), high, 4);
    for (int k = 0; k < 4; k++) {
        CU_ASSERT_EQUAL((double)(float)v1->spaces.observation->low_each[k], low[k]);
        CU_ASSERT_EQUAL((double)(float)v1->spaces.observation->high_each[k], high[k]);
    }
    cJSON_Delete(golden);
}

int main(void)
{
    return test_run("cartpole",
                    (test_case[]){{"replays recorded episodes", replays_recorded_episodes},
                                  {"replays them within a batch", replays_them_within_a_batch},
                                  {"judges edges strictly", judges_edges_strictly},
                                  {"starts where Gymnasium starts", starts_where_gymnasium_starts},
                                  {"the generator goes on", the_generator_goes_on},
                                  {"reset bounds are parameters", reset_bounds_are_parameters},
                                  {"draws a picture", draws_a_picture},
                                  {"limits are Gymnasium's", limits_are_gymnasiums},
                                  {NULL, NULL}});
}
