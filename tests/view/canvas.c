// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Shapes cover the pixels that geometry says they cover, and nothing outside the canvas is touched.
#include "scene.h"

#include "test.h"

static canvas paper;

static void begin(uint32_t width, uint32_t height)
{
    TEST_OK(canvas_init(&paper, width, height));
}

static int red(uint32_t x, uint32_t y)
{
    return paper.rgb[((size_t)y * paper.width + x) * 3];
}

/// Of black ink on white paper, in pixels.
static double ink(void)
{
    double sum = 0;
    for (size_t i = 0; i < (size_t)paper.width * paper.height; i++)
        sum += 1 - paper.rgb[i * 3] / 255.0;
    return sum;
}

static void boxes_are_exact(void)
{
    begin(20, 10);
    canvas_box(&paper, (box){2, 3, 5, 7}, 0, 0x000000ff);
    CU_ASSERT_EQUAL(ink(), 12);
    CU_ASSERT_EQUAL(red(2, 3), 0);
    CU_ASSERT_EQUAL(red(5, 3), 255);
    canvas_finish(&paper);

    begin(20, 10);
    canvas_box(&paper, (box){2.25f, 3, 5.5f, 7.5f}, 0, 0x000000ff);
    CU_ASSERT_DOUBLE_EQUAL(ink(), 3.25 * 4.5, 0.05);
    CU_ASSERT_DOUBLE_EQUAL(red(2, 4), 64, 2); // three quarters of it
    canvas_finish(&paper);
}

static void shapes_have_their_areas(void)
{
    begin(100, 100);
    canvas_circle(&paper, 50.3f, 49.6f, 20, 0x000000ff);
    CU_ASSERT_DOUBLE_EQUAL(ink(), 3.14159265 * 400, 4);
    canvas_finish(&paper);

    begin(100, 100);
    const float triangle[3][2] = {{10, 10}, {90, 20}, {30, 80}};
    canvas_polygon(&paper, triangle, 3, 0x000000ff);
    CU_ASSERT_DOUBLE_EQUAL(ink(), 0.5 * fabs(80.0 * 70 - 20.0 * 10), 3);
    canvas_finish(&paper);

    begin(100, 100);
    canvas_line(&paper, 20, 30, 80, 60, 5, 0x000000ff); // a strip and two half discs
    CU_ASSERT_DOUBLE_EQUAL(ink(), sqrt(3600 + 900) * 5 + 3.14159265 * 6.25, 3);
    canvas_finish(&paper);
}

static void crossing_outlines_are_filled(void)
{
    begin(100, 100);
    const float star[5][2] = {{50, 5}, {77, 88}, {6, 36}, {94, 36}, {23, 88}};
    canvas_polygon(&paper, star, 5, 0x000000ff);
    CU_ASSERT_EQUAL(red(50, 50), 0); // wound twice, filled all the same
    canvas_finish(&paper);
}

static void alpha_mixes(void)
{
    begin(4, 4);
    canvas_box(&paper, (box){0, 0, 4, 4}, 0, 0x00000080);
    CU_ASSERT_DOUBLE_EQUAL(red(1, 1), 127, 1);
    canvas_box(&paper, (box){0, 0, 4, 4}, 0, 0xff000000);
    CU_ASSERT_DOUBLE_EQUAL(red(1, 1), 127, 1);
    canvas_finish(&paper);
}

static void top_is_up(void)
{
    begin(10, 10);
    canvas_box(&paper, (box){0, 0, 10, 2}, 0, 0x000000ff);
    CU_ASSERT_EQUAL(paper.rgb[0], 0);
    CU_ASSERT_EQUAL(paper.rgb[(9 * 10) * 3], 255);
    canvas_box(&paper, (box){0, 5, 1, 6}, 0, 0xff0080ff);
    CU_ASSERT_EQUAL(paper.rgb[5 * 10 * 3], 0xff);
    CU_ASSERT_EQUAL(paper.rgb[5 * 10 * 3 + 1], 0);
    CU_ASSERT_EQUAL(paper.rgb[5 * 10 * 3 + 2], 0x80);
    canvas_finish(&paper);
}

static void nothing_leaves_the_clip(void)
{
    begin(40, 40);
    const box clip = {10, 10, 20, 20};
    canvas_clip(&paper, &clip);
    canvas_box(&paper, (box){-100, -100, 100, 100}, 0, 0x000000ff);
    CU_ASSERT_EQUAL(ink(), 100);
    canvas_clip(&paper, NULL);
    canvas_clear(&paper, 0xffffffff);
    canvas_clip(&paper, &clip);
    canvas_circle(&paper, 15, 15, 1000, 0x000000ff);
    canvas_line(&paper, -1000, 3, 1000, 30, 50, 0x000000ff);
    for (uint32_t y = 0; y < 40; y++)
        for (uint32_t x = 0; x < 40; x++)
            if (x < 10 || x >= 20 || y < 10 || y >= 20) CU_ASSERT_EQUAL(red(x, y), 255);
    canvas_finish(&paper);
}

static void strange_numbers_paint_nothing(void)
{
    begin(16, 16);
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const float corner[3][2] = {{0, 0}, {bad[i], 3}, {5, bad[i]}};
        canvas_polygon(&paper, corner, 3, 0x000000ff);
        canvas_line(&paper, bad[i], 0, 3, bad[i], 2, 0x000000ff);
        canvas_circle(&paper, bad[i], 4, 3, 0x000000ff);
    }
    canvas_circle(&paper, 4, 4, NAN, 0x000000ff);
    canvas_box(&paper, (box){5, 5, 4, 4}, 2, 0x000000ff);
    canvas_polygon(&paper, NULL, 0, 0x000000ff);
    CU_ASSERT_EQUAL(ink(), 0);
    canvas_finish(&paper);
    TEST_FAILS(canvas_init(&paper, 0, 5), CORRAL_ERROR_INVALID, "0 x 5");
    TEST_FAILS(canvas_init(&paper, 5, 1 << 20), CORRAL_ERROR_INVALID, "8192");
}

static void images_keep_their_corners(void)
{
    begin(8, 4);
    const uint8_t image[2 * 2 * 3] = {10, 0, 0, 20, 0, 0, 30, 0, 0, 40, 0, 0};
    canvas_image(&paper, (box){0, 0, 8, 4}, image, 2, 2);
    CU_ASSERT_EQUAL(red(0, 0), 10);
    CU_ASSERT_EQUAL(red(7, 0), 20);
    CU_ASSERT_EQUAL(red(3, 3), 30);
    CU_ASSERT_EQUAL(red(4, 2), 40);
    canvas_image(&paper, (box){-4, -2, 4, 2}, image, 2, 2); // partly outside
    CU_ASSERT_EQUAL(red(0, 0), 40);
    canvas_finish(&paper);
}

// A display list of every kind, as an environment may draw it.

static const uint8_t pixels[3] = {0, 255, 0};

static uint32_t draw_all(const void *batch, uint32_t index, corral_draw *out, uint32_t limit)
{
    (void)batch;
    (void)index;
    const corral_draw items[] = {
        {.kind = CORRAL_DRAW_POLYGON,
         .color = 0xff0000ff,
         .point_count = 4,
         .point = {{0, 0}, {5, 0}, {5, 5}, {0, 5}}},
        {.kind = CORRAL_DRAW_IMAGE,
         .point_count = 2,
         .point = {{5, 5}, {10, 10}},
         .image = pixels,
         .image_width = 1,
         .image_height = 1},
        {.kind = CORRAL_DRAW_TEXT,
         .color = 0x000000ff,
         .size = 4,
         .point_count = 1,
         .point = {{1, 9}},
         .text = "M"},
        {.kind = CORRAL_DRAW_IMAGE, .point_count = 2, .point = {{0, 0}, {10, 10}}}, // without an image
        {.kind = 99, .point_count = 4000},
    };
    for (uint32_t i = 0; i < 5 && i < limit; i++)
        out[i] = items[i];
    return 5;
}

static const corral_env_render render = {sizeof render, 10, 10, 0xffffffff, draw_all};

static const void *extension(const char *name)
{
    return strcmp(name, CORRAL_ENV_RENDER) == 0 ? &render : NULL;
}

static void scenes_scale(void)
{
    const corral_env_type type = {.size = sizeof type, .id = "Drawn-v0", .extension = extension};
    scene drawn = {0};
    fonts *letters;
    TEST_OK(fonts_open(&letters));
    TEST_OK(scene_capture(&drawn, &type, NULL, 0));
    CU_ASSERT_EQUAL(drawn.count, 5);
    begin(60, 40);
    const box where = scene_fit(&drawn, (box){0, 0, 60, 40});
    CU_ASSERT_EQUAL(where.left, 10);
    CU_ASSERT_EQUAL(where.right, 50);
    canvas_clear(&paper, 0x808080ff);
    scene_paint(&drawn, &paper, letters, where);
    CU_ASSERT_EQUAL(red(9, 20), 0x80); // beside the frame
    CU_ASSERT_EQUAL(red(12, 2), 255);
    CU_ASSERT_EQUAL(paper.rgb[(2 * 60 + 12) * 3 + 1], 0); // the red square
    CU_ASSERT_EQUAL(red(45, 35), 0);                      // the green image
    int darkest = 255;
    for (uint32_t y = 22; y < 38; y++)
        for (uint32_t x = 12; x < 28; x++)
            darkest = red(x, y) < darkest ? red(x, y) : darkest;
    CU_ASSERT(darkest < 60); // the letter
    canvas_finish(&paper);
    scene_finish(&drawn);
    fonts_close(letters);
}

int main(void)
{
    return test_run("canvas", (test_case[]){{"boxes are exact", boxes_are_exact},
                                            {"shapes have their areas", shapes_have_their_areas},
                                            {"crossing outlines are filled", crossing_outlines_are_filled},
                                            {"alpha mixes", alpha_mixes},
                                            {"top is up", top_is_up},
                                            {"nothing leaves the clip", nothing_leaves_the_clip},
                                            {"strange numbers paint nothing", strange_numbers_paint_nothing},
                                            {"images keep their corners", images_keep_their_corners},
                                            {"scenes scale", scenes_scale},
                                            {NULL, NULL}});
}
