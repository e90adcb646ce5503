// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The weights board: what is read is what was published, whole, or it is said to be stale.
#include "test.h"

#include "corral/actors/board.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WORDS = 1000, SIZE = WORDS * sizeof(uint64_t) };

static void fill_words(uint64_t *words, uint64_t value)
{
    for (size_t i = 0; i < WORDS; i++)
        words[i] = value;
}

static void map_reader(const corral_board *board, corral_segment *out_reader)
{
    int fd = -1;
    TEST_OK(corral_segment_share(&board->segment, &fd));
    TEST_OK(corral_segment_map(fd, false, out_reader));
}

static void readers_copy_what_was_published(void)
{
    corral_board board;
    corral_segment reader;
    corral_board_entry newest;
    TEST_OK(corral_board_create(SIZE, &board));
    map_reader(&board, &reader);
    CU_ASSERT_PTR_NULL(corral_board_newest(&board));
    CU_ASSERT_EQUAL(corral_board_find_newest(&reader, &newest), CORRAL_ERROR_EMPTY);

    const char text[] = "eleven bytes"; // not a whole number of words
    char copy[sizeof text] = {0};
    TEST_OK(corral_board_publish(&board, 40, text, sizeof text));
    TEST_OK(corral_board_copy(&reader, board.offset, board.length, board.generation, copy));
    CU_ASSERT_STRING_EQUAL(copy, text);
    CU_ASSERT_STRING_EQUAL((const char *)corral_board_newest(&board), text);
    TEST_OK(corral_board_find_newest(&reader, &newest));
    CU_ASSERT_EQUAL(newest.version, 40);
    CU_ASSERT_EQUAL(newest.offset, board.offset);
    CU_ASSERT_EQUAL(newest.length, sizeof text);
    CU_ASSERT_EQUAL(newest.generation, board.generation);
    corral_segment_finish(&reader);
    corral_board_finish(&board);
}

static void an_overtaken_slot_is_stale(void)
{
    corral_board board;
    corral_segment reader;
    uint64_t words[WORDS], copy[WORDS];
    TEST_OK(corral_board_create(SIZE, &board));
    map_reader(&board, &reader);
    fill_words(words, 1);
    TEST_OK(corral_board_publish(&board, 1, words, SIZE));
    const corral_board first = board;
    for (uint64_t version = 2; version <= CORRAL_BOARD_SLOTS; version++) {
        fill_words(words, version);
        TEST_OK(corral_board_publish(&board, version, words, SIZE));
    }
    TEST_OK(corral_board_copy(&reader, first.offset, first.length, first.generation, copy));
    CU_ASSERT_EQUAL(copy[WORDS - 1], 1);
    TEST_OK(corral_board_publish(&board, 5, words, SIZE));
    CU_ASSERT_EQUAL(board.offset, first.offset);
    TEST_FAILS(corral_board_copy(&reader, first.offset, first.length, first.generation, copy),
               CORRAL_ERROR_STALE, "replaced");
    corral_segment_finish(&reader);
    corral_board_finish(&board);
}

static void sizes_and_places_are_checked(void)
{
    corral_board board;
    char copy[64];
    TEST_FAILS(corral_board_create(0, &board), CORRAL_ERROR_INVALID, "0 bytes");
    TEST_FAILS(corral_board_create(SIZE_MAX / 2, &board), CORRAL_ERROR_INVALID, "weights board");
    TEST_FAILS(corral_board_create((size_t)1 << 48, &board), CORRAL_ERROR_FULL, "weights board");
    TEST_OK(corral_board_create(64, &board));
    TEST_FAILS(corral_board_publish(&board, 1, copy, 65), CORRAL_ERROR_FULL, "65 bytes");
    memset(copy, 1, sizeof copy);
    TEST_OK(corral_board_publish(&board, 1, copy, 64));
    TEST_FAILS(corral_board_copy(&board.segment, board.offset + 8, 8, 1, copy), CORRAL_ERROR_INVALID,
               "no slot");
    TEST_FAILS(corral_board_copy(&board.segment, board.offset, 8, 0, copy), CORRAL_ERROR_INVALID, "no slot");
    TEST_FAILS(corral_board_copy(&board.segment, board.offset, 1 << 20, 1, copy), CORRAL_ERROR_INVALID,
               "no slot");
    corral_board_finish(&board);
    const corral_segment nothing = {.fd = -1};
    TEST_FAILS(corral_board_copy(&nothing, 0, 0, 1, copy), CORRAL_ERROR_INVALID, "no weights board");
}

// --- a writer that does not wait --------------------------------------------------------------------------

typedef struct board_race {
    corral_board board;
    atomic_bool stop;
} board_race;

static void *publish_until_stopped(void *context)
{
    board_race *race = context;
    uint64_t words[WORDS];
    for (uint64_t version = 2; !atomic_load(&race->stop); version++) {
        fill_words(words, version);
        if (corral_board_publish(&race->board, version, words, SIZE) != CORRAL_OK) return race;
    }
    return NULL;
}

static void no_reader_sees_torn_weights(void)
{
    static board_race race;
    corral_segment reader;
    uint64_t words[WORDS], newest_seen = 0, copies = 0, torn = 0, backwards = 0;
    TEST_OK(corral_board_create(SIZE, &race.board));
    map_reader(&race.board, &reader);
    fill_words(words, 1);
    TEST_OK(corral_board_publish(&race.board, 1, words, SIZE));
    pthread_t writer;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&writer, NULL, publish_until_stopped, &race), 0);
    for (int attempt = 0; attempt < 20000; attempt++) {
        corral_board_entry newest;
        if (corral_board_find_newest(&reader, &newest) != CORRAL_OK || newest.length != SIZE) continue;
        if (corral_board_copy(&reader, newest.offset, newest.length, newest.generation, words) != CORRAL_OK)
            continue;
        copies++;
        for (size_t i = 1; i < WORDS; i++)
            torn += words[i] != words[0];
        backwards += words[0] < newest_seen;
        newest_seen = words[0];
    }
    atomic_store(&race.stop, true);
    void *failure = NULL;
    pthread_join(writer, &failure);
    CU_ASSERT_PTR_NULL(failure);
    CU_ASSERT_TRUE(copies > 0);
    CU_ASSERT_EQUAL(torn, 0);
    CU_ASSERT_EQUAL(backwards, 0);
    corral_segment_finish(&reader);
    corral_board_finish(&race.board);
}

int main(void)
{
    return test_run("board",
                    (test_case[]){{"readers copy what was published", readers_copy_what_was_published},
                                  {"an overtaken slot is stale", an_overtaken_slot_is_stale},
                                  {"sizes and places are checked", sizes_and_places_are_checked},
                                  {"no reader sees torn weights", no_reader_sees_torn_weights},
                                  {NULL, NULL}});
}
