// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What keys and time do, without a window; and every stage can be painted at any size.
#include "show.h"

#include "corral/base/clock.h"
#include "corral/envs/registry.h"

#include "test.h"

static fonts *letters;
static exhibit exhibits[2];
static show shown;
static int64_t now = 1;

static void begin(const char *id, uint32_t count, bool human)
{
    for (uint32_t i = 0; i < count; i++)
        TEST_OK(exhibit_open(&exhibits[i], NULL, &(exhibit_options){.env = id, .seed = i}));
    show_init(&shown, exhibits, count, letters, human);
    show_pass(&shown, now, NULL); // whatever is due
}

static void end(void)
{
    show_finish(&shown);
    for (uint32_t i = 0; i < 2; i++)
        exhibit_close(&exhibits[i]);
}

static const moment *at(uint32_t i)
{
    return player_moment(exhibits[i].player);
}

static void pass(int64_t duration)
{
    for (int64_t until = now + duration; now < until;) {
        now += CORRAL_MILLISECOND;
        show_pass(&shown, now, NULL);
    }
}

static void time_is_the_environments(void)
{
    begin("CartPole-v1", 1, false);
    const uint32_t before = at(0)->step;
    pass(100 * CORRAL_MILLISECOND); // 50 frames per second
    const uint32_t steps = at(0)->step - before;
    CU_ASSERT(steps >= 4 && steps <= 6);
    show_wish(&shown, WISH_PLAY, now);
    const uint32_t paused = at(0)->step;
    pass(CORRAL_SECOND);
    CU_ASSERT_EQUAL(at(0)->step, paused);
    end();
}

static void steps_go_both_ways(void)
{
    begin("CartPole-v1", 1, false);
    show_wish(&shown, WISH_AGAIN, now);
    CU_ASSERT_EQUAL(at(0)->step, 0);
    show_wish(&shown, WISH_FORWARD, now);
    show_wish(&shown, WISH_FORWARD, now);
    CU_ASSERT_FALSE(shown.stage.playing);
    CU_ASSERT_EQUAL(at(0)->step, 2);
    show_wish(&shown, WISH_BACK, now);
    CU_ASSERT_EQUAL(at(0)->step, 1);
    show_wish(&shown, WISH_NEXT, now);
    CU_ASSERT_EQUAL(at(0)->episode, 1);
    show_wish(&shown, WISH_SEED, now);
    CU_ASSERT_EQUAL(player_get_config(exhibits[0].player)->seed, 1);
    for (int i = 0; i < 20; i++)
        show_wish(&shown, WISH_FASTER, now);
    CU_ASSERT_EQUAL(shown.stage.speed, 64);
    end();
}

static void several_stay_together(void)
{
    begin("CartPole-v1", 2, false);
    show_wish(&shown, WISH_PLAY, now);
    show_wish(&shown, WISH_AGAIN, now);
    for (int i = 0; i < 600 && at(0)->episode + at(1)->episode < 6; i++) {
        show_wish(&shown, WISH_FORWARD, now);
        CU_ASSERT_EQUAL(at(0)->episode, at(1)->episode);
    }
    for (int i = 0; i < 40; i++)
        show_wish(&shown, WISH_BACK, now);
    CU_ASSERT_EQUAL(at(0)->episode, at(1)->episode);
    end();
}

static void a_person_is_waited_for(void)
{
    begin("CartPole-v1", 1, true);
    pass(CORRAL_SECOND);
    CU_ASSERT_EQUAL(at(0)->step, 0);
    const person right = {.choice = 1};
    now += CORRAL_SECOND;
    CU_ASSERT_TRUE(show_pass(&shown, now, &right));
    CU_ASSERT_EQUAL(at(0)->step, 1);
    CU_ASSERT_EQUAL(at(0)->action, 1);
    end();
}

/// One that reads keys itself does not wait: to hold none is to stay.
static void keys_are_read_by_the_game(void)
{
    begin("Chase-v0", 1, true);
    CU_ASSERT_PTR_NOT_NULL(player_keys(exhibits[0].player));
    static const struct {
        uint32_t keys;
        int32_t action;
    } held[] = {{0, 0},
                {CORRAL_KEY_UP, 1},
                {CORRAL_KEY_RIGHT | CORRAL_KEY_SHIFT, 2},
                {CORRAL_KEY_DOWN, 3},
                {CORRAL_KEY_LEFT, 4}};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        const person who = {.keys = held[i].keys};
        now += CORRAL_SECOND;
        CU_ASSERT_TRUE(show_pass(&shown, now, &who));
        CU_ASSERT_EQUAL(at(0)->action, held[i].action);
    }
    end();
}

static void every_stage_can_be_painted(void)
{
    static const uint32_t sizes[][2] = {{STAGE_WIDTH, STAGE_HEIGHT}, {480, 320}, {90, 700}, {7, 5}};
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        for (uint32_t count = 1; count <= 2; count++) {
            begin(corral_env_builtin_at(i)->id, count, false);
            shown.stage.help = i % 2;
            shown.stage.recording = true;
            shown.stage.message = "a message";
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s += i == 0 ? 1 : 2) {
                canvas c;
                TEST_OK(canvas_init(&c, sizes[s][0], sizes[s][1]));
                shown.stage.scale = (float)sizes[s][0] / STAGE_WIDTH;
                stage_paint(&shown.stage, &c, letters);
                canvas_finish(&c);
            }
            end();
        }
    }
}

int main(void)
{
    if (fonts_open(&letters) != CORRAL_OK) return 77; // no font here
    const int result =
        test_run("show", (test_case[]){{"time is the environment's", time_is_the_environments},
                                       {"steps go both ways", steps_go_both_ways},
                                       {"several stay together", several_stay_together},
                                       {"a person is waited for", a_person_is_waited_for},
                                       {"keys are read by the game", keys_are_read_by_the_game},
                                       {"every stage can be painted", every_stage_can_be_painted},
                                       {NULL, NULL}});
    fonts_close(letters);
    return result;
}
