// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Films hold the frames that went in, at their pace, and never take another file's name.
#include "film.h"

#include "corral/base/file.h"

#include "test.h"

#include <gif_lib.h>
#include <libavformat/avformat.h>
#include <libavutil/rational.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/corral-film-XXXXXX";

static char *in_folder(const char *name)
{
    return corral_format("%s/%s", folder, name);
}

/// A square that moves over white paper.
static void paint(canvas *c, int at)
{
    canvas_clear(c, 0xffffffff);
    canvas_box(c, (box){(float)at, 4, (float)at + 8, 12}, 0, 0x3d7ea6ff);
}

static char *shoot(const char *name, int frames, double fps, uint32_t width)
{
    char *path = in_folder(name), *written = NULL;
    film *f = NULL;
    canvas c;
    TEST_OK(canvas_init(&c, width, 17));
    TEST_OK(film_open(path, width, 17, fps, &f));
    for (int i = 0; i < frames; i++) {
        paint(&c, i);
        TEST_OK(film_add(f, &c));
    }
    TEST_OK(film_close(f, &written));
    canvas_finish(&c);
    free(path);
    return written;
}

static void gif_holds_its_frames(void)
{
    char *path = shoot("a.gif", 7, 30, 33);
    int error, total = 0;
    GifFileType *gif = DGifOpenFileName(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gif);
    CU_ASSERT_EQUAL(DGifSlurp(gif), GIF_OK);
    CU_ASSERT_EQUAL(gif->ImageCount, 7);
    CU_ASSERT_EQUAL(gif->SWidth, 33);
    CU_ASSERT_EQUAL(gif->SHeight, 17);
    for (int i = 0; i < gif->ImageCount; i++) {
        GraphicsControlBlock control;
        CU_ASSERT_EQUAL(DGifSavedExtensionToGCB(gif, i, &control), GIF_OK);
        total += control.DelayTime;
    }
    CU_ASSERT_EQUAL(total, 23); // 7 / 30 s in hundredths: roundings do not add up
    // Of the second frame only what changed is there.
    CU_ASSERT_EQUAL(gif->SavedImages[1].ImageDesc.Width, 9);
    const SavedImage *first = &gif->SavedImages[0];
    const GifColorType color = first->ImageDesc.ColorMap->Colors[first->RasterBits[5 * 33 + 2]];
    CU_ASSERT_EQUAL(color.Red << 16 | color.Green << 8 | color.Blue, 0x3d7ea6);
    DGifCloseFile(gif, &error);
    free(path);
}

static void mp4_holds_its_frames(void)
{
    char *path = shoot("a.mp4", 12, 30000.0 / 1001, 33);
    AVFormatContext *container = NULL;
    CU_ASSERT_EQUAL_FATAL(avformat_open_input(&container, path, NULL, NULL), 0);
    CU_ASSERT(avformat_find_stream_info(container, NULL) >= 0);
    CU_ASSERT_EQUAL(container->nb_streams, 1);
    const AVStream *stream = container->streams[0];
    CU_ASSERT_EQUAL(stream->nb_frames, 12);
    CU_ASSERT_EQUAL(stream->codecpar->width, 34); // rounded up to even sides
    CU_ASSERT_EQUAL(stream->codecpar->height, 18);
    CU_ASSERT_DOUBLE_EQUAL(av_q2d(stream->r_frame_rate), 29.97, 0.01);
    avformat_close_input(&container);
    free(path);
}

static void folder_holds_pictures(void)
{
    char *path = shoot("frames/", 3, 30, 33);
    char *last = corral_format("%s/episode-000-frame-00002.png", path);
    png_image image = {.version = PNG_IMAGE_VERSION};
    CU_ASSERT_TRUE_FATAL(png_image_begin_read_from_file(&image, last));
    CU_ASSERT_EQUAL(image.width, 33);
    CU_ASSERT_EQUAL(image.height, 17);
    image.format = PNG_FORMAT_RGB;
    uint8_t pixels[17 * 33 * 3];
    CU_ASSERT_TRUE(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    CU_ASSERT_EQUAL(pixels[(5 * 33 + 9) * 3], 0x3d);
    CU_ASSERT_EQUAL(pixels[(5 * 33 + 1) * 3], 0xff);
    free(last);
    free(path);
}

static void names_are_never_taken(void)
{
    const char *const names[] = {"b.gif", "b.mp4", "b"};
    const char *const second[] = {"b-2.gif", "b-2.mp4", "b-2"};
    char *b = in_folder("b");
    CU_ASSERT_EQUAL(mkdir(b, 0700), 0);
    for (int i = 0; i < 3; i++) {
        char *first = i < 2 ? shoot(names[i], 2, 30, 16) : NULL;
        char *again = shoot(names[i], 2, 30, 16), *expected = in_folder(second[i]);
        CU_ASSERT_STRING_EQUAL(again, expected);
        struct stat info;
        CU_ASSERT_EQUAL(stat(again, &info), 0);
        free(first);
        free(again);
        free(expected);
    }
    free(b);
}

static void what_cannot_be_is_refused(void)
{
    film *f = NULL;
    char *path = in_folder("a.avi"), *nowhere = in_folder("a.mp4/b.gif");
    TEST_FAILS(film_open(path, 16, 16, 30, &f), CORRAL_ERROR_INVALID, ".mp4, .gif, or a slash");
    CU_ASSERT_NOT_EQUAL(film_open(nowhere, 16, 16, 30, &f), CORRAL_OK);
    free(path);
    free(nowhere);

    path = in_folder("gone.gif"); // abandoned: nothing is left
    TEST_OK(film_open(path, 16, 16, 30, &f));
    film_abandon(f);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    free(path);
}

static void many_colors_are_brought_down(void)
{
    char *path = in_folder("c.gif"), *written = NULL;
    film *f = NULL;
    canvas c;
    TEST_OK(canvas_init(&c, 64, 64));
    for (uint32_t i = 0; i < 64 * 64; i++) {
        c.rgb[i * 3] = (uint8_t)(i % 64 * 4);
        c.rgb[i * 3 + 1] = (uint8_t)(i / 64 * 4);
        c.rgb[i * 3 + 2] = (uint8_t)(i * 7);
    }
    TEST_OK(film_open(path, 64, 64, 30, &f));
    TEST_OK(film_add(f, &c));
    TEST_OK(film_add(f, &c)); // nothing changed: still a frame
    TEST_OK(film_close(f, &written));
    int error;
    GifFileType *gif = DGifOpenFileName(written, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(gif);
    CU_ASSERT_EQUAL(DGifSlurp(gif), GIF_OK);
    CU_ASSERT_EQUAL(gif->ImageCount, 2);
    DGifCloseFile(gif, &error);
    canvas_finish(&c);
    free(path);
    free(written);
}

int main(void)
{
    if (mkdtemp(folder) == NULL) return 2;
    const int result =
        test_run("film", (test_case[]){{"gif holds its frames", gif_holds_its_frames},
                                       {"mp4 holds its frames", mp4_holds_its_frames},
                                       {"folder holds pictures", folder_holds_pictures},
                                       {"names are never taken", names_are_never_taken},
                                       {"what cannot be is refused", what_cannot_be_is_refused},
                                       {"many colors are brought down", many_colors_are_brought_down},
                                       {NULL, NULL}});
    return corral_folder_remove(folder) == CORRAL_OK ? result : 2;
}
