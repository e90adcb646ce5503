// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A run that is watched, from its packets to the picture.
#include "live_stage.h"
#include "stage.h"

#include "test.h"

static fonts *letters;
static watch seen;
static live_list sent;

static void greet(uint32_t cells)
{
    live_hello hello = {.head = {LIVE_VERSION, LIVE_HELLO, sizeof hello},
                        .cells = cells,
                        .workers = 2,
                        .envs = 8,
                        .width = 60,
                        .height = 40,
                        .background = 0xffffffff,
                        .fps = 50,
                        .step_budget = 1000};
    memset(hello.env, 'x', sizeof hello.env); // without an end
    CU_ASSERT_TRUE(watch_take(&seen, (const uint8_t *)&hello, sizeof hello));
}

static void point(uint64_t steps, double value)
{
    const live_point p = {.head = {LIVE_VERSION, LIVE_POINT, sizeof p},
                          .env_steps = steps,
                          .return_mean = value,
                          .eval_mean = steps % 100 == 0 ? value : NAN,
                          .loss = NAN};
    CU_ASSERT_TRUE(watch_take(&seen, (const uint8_t *)&p, sizeof p));
}

static bool frame(uint32_t cell, bool whole)
{
    static uint8_t packet[LIVE_PACKET_MAX];
    const corral_draw item = {.kind = CORRAL_DRAW_POLYGON,
                              .color = 0xff0000ff,
                              .point_count = 4,
                              .point = {{10, 10}, {50, 10}, {50, 30}, {10, 30}}};
    live_frame f = {.cell = cell, .whole = whole};
    return watch_take(&seen, packet, live_frame_write(&f, &item, 1, &sent, packet));
}

static void begin(void)
{
    TEST_OK(watch_init(&seen));
    TEST_OK(live_list_init(&sent));
}

static void end(void)
{
    watch_finish(&seen);
    live_list_finish(&sent);
}

static void frames_are_put_together(void)
{
    begin();
    CU_ASSERT_FALSE(frame(0, true)); // before the greeting
    greet(2);
    CU_ASSERT_EQUAL(strlen(seen.hello.env), sizeof seen.hello.env - 1);
    CU_ASSERT_FALSE(frame(0, false)); // nothing to build on
    CU_ASSERT_FALSE(frame(3, true));  // there are two
    CU_ASSERT_TRUE(frame(0, true));
    CU_ASSERT_TRUE(seen.cells[0].filled);
    CU_ASSERT_EQUAL(seen.cells[0].scene.count, 1);
    CU_ASSERT_TRUE(frame(0, false)); // as before
    CU_ASSERT_EQUAL(seen.cells[0].scene.items[0].color, 0xff0000ff);
    CU_ASSERT_FALSE(seen.cells[1].filled);
    end();
}

static void points_stay_in_order_and_are_bounded(void)
{
    begin();
    greet(1);
    for (uint64_t i = 1; i <= 20000; i++)
        point(i * 10, (double)i);
    point(5, 1); // of before
    CU_ASSERT_TRUE(seen.point_count > 1000 && seen.point_count <= 4096);
    for (uint32_t i = 1; i < seen.point_count; i++)
        CU_ASSERT_TRUE(seen.points[i].env_steps > seen.points[i - 1].env_steps);
    CU_ASSERT_EQUAL(seen.points[seen.point_count - 1].env_steps, 200000);
    end();
}

static canvas painted(live_stage *g, uint32_t width, uint32_t height)
{
    canvas c;
    TEST_OK(canvas_init(&c, width, height));
    g->scale = (float)width / STAGE_WIDTH;
    live_stage_paint(g, &c, letters);
    return c;
}

static void every_state_can_be_painted(void)
{
    static const uint32_t sizes[][2] = {{STAGE_WIDTH, STAGE_HEIGHT}, {480, 320}, {90, 700}, {7, 5}};
    for (uint32_t cells = 0; cells <= LIVE_CELLS_MAX; cells++) {
        begin();
        live_stage g = {
            .watch = &seen, .panel = cells % 2 == 0, .controls = true, .alone = (int32_t)cells - 2};
        for (int state = 0; state < 5; state++) {
            if (state == 1) greet(cells);
            if (state == 2) point(100, NAN);
            if (state == 3) point(200, 17), point(300, 170);
            if (state == 3 && cells > 0) frame(cells - 1, true);
            if (state == 4) watch_lost(&seen);
            g.help = state == 4;
            g.message = state == 3 ? "a message" : NULL;
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
                canvas c = painted(&g, sizes[s][0], sizes[s][1]);
                canvas_finish(&c);
            }
        }
        end();
    }
}

static void the_picture_is_the_workers(void)
{
    begin();
    greet(1);
    frame(0, true);
    live_stage g = {.watch = &seen, .panel = true, .alone = -1};
    canvas c = painted(&g, STAGE_WIDTH, STAGE_HEIGHT);
    const uint8_t *middle = &c.rgb[((size_t)STAGE_HEIGHT / 2 * STAGE_WIDTH + (STAGE_WIDTH - 348) / 2) * 3];
    CU_ASSERT_EQUAL(middle[0], 255);
    CU_ASSERT_EQUAL(middle[1], 0);
    canvas_finish(&c);
    end();
}

int main(void)
{
    if (fonts_open(&letters) != CORRAL_OK) return 77; // no font here
    const int result = test_run(
        "watch", (test_case[]){{"frames are put together", frames_are_put_together},
                               {"points stay in order and are bounded", points_stay_in_order_and_are_bounded},
                               {"every state can be painted", every_state_can_be_painted},
                               {"the picture is the workers'", the_picture_is_the_workers},
                               {NULL, NULL}});
    fonts_close(letters);
    return result;
}
