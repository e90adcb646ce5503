// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Hands of Blackjack, shared by its rules and its picture.
#ifndef CORRAL_ENVS_TOY_TEXT_BLACKJACK_H
#define CORRAL_ENVS_TOY_TEXT_BLACKJACK_H

#include "corral/env.h"

#include <stdbool.h>

enum { BLACKJACK_CARDS_MAX = 22 }; // 21 aces, and one more to go bust

typedef struct blackjack_hand {
    uint8_t card[BLACKJACK_CARDS_MAX]; // 1 .. 10
    uint8_t count;
} blackjack_hand;

/// One instance, and what is saved of it.
typedef struct blackjack {
    corral_env_rng rng;
    blackjack_hand dealer, player;
    uint8_t over; // the dealer's second card is open
    uint8_t padding;
} blackjack;

typedef struct blackjack_batch {
    const corral_env_host *host;
    uint32_t count;
    bool natural, sab;   // the two parameters
    blackjack *instance; // [count]
} blackjack_batch;

/// Cards with aces as 1.
static inline int32_t blackjack_hard_sum(const blackjack_hand *hand)
{
    int32_t sum = 0;
    for (uint8_t i = 0; i < hand->count; i++)
        sum += hand->card[i];
    return sum;
}

/// An ace that may count 11.
static inline bool blackjack_usable_ace(const blackjack_hand *hand)
{
    bool ace = false;
    for (uint8_t i = 0; i < hand->count; i++)
        ace |= hand->card[i] == 1;
    return ace && blackjack_hard_sum(hand) + 10 <= 21;
}

static inline int32_t blackjack_sum(const blackjack_hand *hand)
{
    return blackjack_hard_sum(hand) + (blackjack_usable_ace(hand) ? 10 : 0);
}

extern const corral_env_render corral_blackjack_render;

#endif
