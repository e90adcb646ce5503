// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Blackjack: draw cards until you stick or have more than 21; then the dealer draws below 17. The deck is
// infinite. Sutton and Barto, "Reinforcement Learning", example 5.1, in the variant that Gymnasium registers:
// `sab` is their rule that a natural (an ace and a ten) beats any other 21, `natural` pays 1.5 for one.
//
// The observation has three leaves: the player's sum, the dealer's open card, and whether the player has a
// usable ace. Cards are drawn as Gymnasium draws them; after a deal it also draws the suit of the dealer's
// card, and for a ten whether it is a jack, queen or king. Only pictures show those, but the generator has to
// move on.

#include "blackjack.h"

#include "../builtin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STICK, HIT };
enum { NATURAL, SAB, SETTINGS };
enum { SUM, DEALER_CARD, USABLE_ACE, LEAVES };

// --- rules

static void draw_card(const blackjack_batch *batch, blackjack *game, blackjack_hand *hand)
{
    const int64_t card = batch->host->rng_integer(&game->rng, 13) + 1; // ten, jack, queen, king count 10
    hand->card[hand->count++] = (uint8_t)(card < 10 ? card : 10);
}

static void deal(const blackjack_batch *batch, blackjack *game, uint64_t seed)
{
    memset(game, 0, sizeof *game);
    batch->host->rng_seed(&game->rng, seed);
    for (int i = 0; i < 2; i++)
        draw_card(batch, game, &game->dealer);
    for (int i = 0; i < 2; i++)
        draw_card(batch, game, &game->player);
    batch->host->rng_integer(&game->rng, 4);                                 // the suit
    if (game->dealer.card[0] == 10) batch->host->rng_integer(&game->rng, 3); // the face
}

static bool is_natural(const blackjack_hand *hand)
{
    return hand->count == 2 && blackjack_sum(hand) == 21;
}

static int32_t score(const blackjack_hand *hand)
{
    const int32_t sum = blackjack_sum(hand);
    return sum > 21 ? 0 : sum;
}

/// The dealer plays, then hands are compared.
static double settle(const blackjack_batch *batch, blackjack *game)
{
    while (blackjack_sum(&game->dealer) < 17)
        draw_card(batch, game, &game->dealer);
    const int32_t player = score(&game->player), dealer = score(&game->dealer);
    const double reward = (player > dealer) - (player < dealer);
    if (batch->sab && is_natural(&game->player) && !is_natural(&game->dealer)) return 1;
    if (!batch->sab && batch->natural && is_natural(&game->player) && reward == 1) return 1.5;
    return reward;
}

static bool has_room(const blackjack_hand *hand)
{
    return hand->count < BLACKJACK_CARDS_MAX;
}

static double play(const blackjack_batch *batch, blackjack *game, int32_t action)
{
    if (action == HIT) {
        if (has_room(&game->player)) draw_card(batch, game, &game->player); // a bust hand has no end
        game->over = blackjack_sum(&game->player) > 21;
        return game->over ? -1 : 0;
    }
    game->over = 1;
    return settle(batch, game);
}

static void observe(const blackjack *game, uint32_t index, const corral_env_step *io)
{
    // A bust hand that is hit again can leave the space; nobody is told more than that it is bust.
    const int32_t sum = blackjack_sum(&game->player);
    const int32_t leaf[LEAVES] = {sum < 31 ? sum : 31, game->dealer.card[0],
                                  blackjack_usable_ace(&game->player)};
    for (int k = 0; k < LEAVES; k++)
        memcpy((char *)io->observation[k].data + index * io->observation[k].stride, &leaf[k], sizeof leaf[k]);
}

static int32_t step(void *handle, const corral_env_step *io)
{
    blackjack_batch *batch = handle;
    for (uint32_t i = 0; i < batch->count; i++) {
        blackjack *game = &batch->instance[i];
        int32_t action;
        memcpy(&action, (const char *)io->action->data + i * io->action->stride, sizeof action);
        io->reward[i] = play(batch, game, action);
        io->terminated[i] = game->over;
        observe(game, i, io);
    }
    return 0;
}

static int32_t reset(void *handle, const uint8_t *mask, const uint64_t *seed, const corral_env_step *out)
{
    blackjack_batch *batch = handle;
    for (uint32_t i = 0; i < batch->count; i++) {
        if (mask != NULL && !mask[i]) continue;
        deal(batch, &batch->instance[i], seed[i]);
        observe(&batch->instance[i], i, out);
    }
    return 0;
}

// --- life and state

static void destroy(void *handle)
{
    blackjack_batch *batch = handle;
    free(batch->instance);
    free(batch);
}

static int32_t create(const corral_env_host *host, uint32_t count, const double *values, void **out_batch)
{
    blackjack_batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) return 1;
    batch->host = host;
    batch->count = count;
    batch->natural = values[NATURAL] != 0;
    batch->sab = values[SAB] != 0;
    batch->instance = calloc(count, sizeof *batch->instance);
    if (batch->instance == NULL) {
        free(batch);
        return 1;
    }
    *out_batch = batch;
    return 0;
}

static void save(const void *handle, uint32_t index, void *out_state)
{
    const blackjack_batch *batch = handle;
    memcpy(out_state, &batch->instance[index], sizeof *batch->instance);
}

static bool is_hand(const blackjack_hand *hand)
{
    if (hand->count < 2 || hand->count > BLACKJACK_CARDS_MAX) return false;
    for (uint8_t i = 0; i < hand->count; i++)
        if (hand->card[i] < 1 || hand->card[i] > 10) return false;
    return true;
}

static int32_t load(void *handle, uint32_t index, const void *state)
{
    blackjack_batch *batch = handle;
    blackjack game;
    memcpy(&game, state, sizeof game);
    if (!is_hand(&game.dealer) || !is_hand(&game.player)) {
        batch->host->error("no hand of cards");
        return 1;
    }
    batch->instance[index] = game;
    return 0;
}

static const void *extension(const char *name)
{
    static const corral_env_state state = {sizeof state, sizeof(blackjack), save, load};
    if (strcmp(name, CORRAL_ENV_STATE) == 0) return &state;
    if (strcmp(name, CORRAL_ENV_RENDER) == 0) return &corral_blackjack_render;
    return NULL;
}

// --- description

static const corral_space observation[LEAVES] = {
    {.path = "0", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 32},
    {.path = "1", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 11},
    {.path = "2", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2},
};
static const corral_space action = {
    .path = "", .kind = CORRAL_SPACE_DISCRETE, .dtype = CORRAL_SPACE_I32, .n = 2};

static const corral_env_param params[SETTINGS] = {
    [NATURAL] = {"natural", 0, 0, 1, "1: winning with a natural pays 1.5 (where sab is 0)"},
    [SAB] = {"sab", 1, 0, 1, "1: the rules of Sutton and Barto: a natural beats any other 21"},
};
static const corral_env_batch_functions functions = {create, destroy, reset, step};

const corral_env_type corral_env_blackjack = {
    .size = sizeof(corral_env_type),
    .id = "Blackjack-v1",
    .summary = "draw cards up to 21 against a dealer who draws below 17",
    .spaces = {observation, LEAVES, &action, 1},
    .params = params,
    .param_count = SETTINGS,
    .reward_threshold = NAN,
    .render_fps = 4,
    .batch = &functions,
    .extension = extension,
};
