// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The table, 600 x 500: the dealer's cards above, the second one face down until the hand is over, the
// player's below, and both sums.

#include "blackjack.h"

#include "../picture.h"

#define WIDTH       600.0f
#define HEIGHT      500.0f
#define CARD_WIDTH  84.0f
#define CARD_HEIGHT 120.0f

static void draw_card(picture *p, float left, float top, int card, bool open)
{
    const float right = left + CARD_WIDTH, bottom = top + CARD_HEIGHT;
    picture_rectangle(p, left, top, right, bottom, 0x1f3d2cff);
    picture_rectangle(p, left + 2, top + 2, right - 2, bottom - 2, open ? PICTURE_PAPER : PICTURE_BLUE);
    if (!open) {
        picture_rectangle(p, left + 10, top + 10, right - 10, bottom - 10, 0x2f6485ff);
        return;
    }
    if (card == 1)
        picture_text(p, left + 30, top + 76, 44, PICTURE_RED, "A");
    else
        picture_text(p, left + (card == 10 ? 17 : 30), top + 76, 44, PICTURE_INK, "%d", card);
}

/// Side by side while there is room, then closer.
static void draw_hand(picture *p, const blackjack_hand *hand, float top, bool open)
{
    const float room = WIDTH - 2 * 30 - CARD_WIDTH;
    const float wished = CARD_WIDTH + 14;
    const float step = (float)(hand->count - 1) * wished > room ? room / (float)(hand->count - 1) : wished;
    for (uint8_t i = 0; i < hand->count; i++)
        draw_card(p, 30 + (float)i * step, top, hand->card[i], open || i == 0);
}

static uint32_t draw(const void *handle, uint32_t index, corral_draw *out_items, uint32_t limit)
{
    const blackjack_batch *batch = handle;
    const blackjack *game = &batch->instance[index];
    picture p = {out_items, limit, 0};
    if (game->over)
        picture_text(&p, 30, 44, 22, PICTURE_PAPER, "Dealer: %d", blackjack_sum(&game->dealer));
    else
        picture_text(&p, 30, 44, 22, PICTURE_PAPER, "Dealer");
    draw_hand(&p, &game->dealer, 64, game->over != 0);
    picture_text(&p, 30, 282, 22, PICTURE_PAPER, "Player: %d%s", blackjack_sum(&game->player),
                 blackjack_usable_ace(&game->player) ? ", with a usable ace" : "");
    draw_hand(&p, &game->player, 302, true);
    return p.count;
}

const corral_env_render corral_blackjack_render = {sizeof(corral_env_render), WIDTH, HEIGHT, 0x2f6b4aff,
                                                   draw};
