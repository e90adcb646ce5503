// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Which episodes are filmed, and the notes that films are made from. The films themselves:
// tests/view/record.sh.

#include "record/recorder.h"
#include "record/replay_note.h"

#include "corral/base/file.h"

#include "test.h"

#include <unistd.h>

static void the_schedule_is_respected(void)
{
    uint64_t wanted[16], count = 0;
    for (uint64_t number = 0; number < 30; number++)
        if (recorder_wants("cubic", number)) wanted[count++] = number;
    CU_ASSERT_EQUAL_FATAL(count, 4);
    CU_ASSERT_EQUAL(wanted[0], 0);
    CU_ASSERT_EQUAL(wanted[1], 1);
    CU_ASSERT_EQUAL(wanted[2], 8);
    CU_ASSERT_EQUAL(wanted[3], 27);
    for (uint64_t number = 30; number < 5500; number++)
        count += recorder_wants("cubic", number);
    CU_ASSERT_EQUAL(count, 4 + 6 + 5); // 64, 125, ... 729, and each thousandth
    CU_ASSERT_TRUE(recorder_wants("50", 100));
    CU_ASSERT_FALSE(recorder_wants("50", 99));
    CU_ASSERT_FALSE(recorder_wants("off", 0));
    TEST_OK(recorder_check_schedule("off"));
    TEST_OK(recorder_check_schedule("cubic"));
    TEST_OK(recorder_check_schedule("7"));
    static const char *const wrong[] = {"", "0", "-1", "1.5", "quadratic", "7 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        TEST_FAILS(recorder_check_schedule(wrong[i]), CORRAL_ERROR_INVALID, "record.every");
}

static replay_note sample(void)
{
    static unsigned char actions[] = {0, 0, 128, 63, 255, 1, 2, 3};
    replay_note note = {.max_episode_steps = 500,
                        .seed = 9007199254740991,
                        .environment = 3,
                        .number = 27,
                        .actions = actions,
                        .action_bytes = 4,
                        .count = 2};
    snprintf(note.env, sizeof note.env, "./walk.so:Walk-v0+time_limit(20)");
    note.params.count = 1;
    snprintf(note.params.pair[0].name, sizeof note.params.pair[0].name, "gravity");
    snprintf(note.params.pair[0].value, sizeof note.params.pair[0].value, "9.8");
    return note;
}

static void a_note_comes_back(void)
{
    char path[] = "/tmp/corral-note-XXXXXX";
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    const replay_note note = sample();
    replay_note read;
    TEST_OK(replay_note_write(path, &note));
    TEST_OK(replay_note_read(path, &read));
    CU_ASSERT_STRING_EQUAL(read.env, note.env);
    CU_ASSERT_STRING_EQUAL(read.params.pair[0].value, "9.8");
    CU_ASSERT_EQUAL(read.seed, note.seed);
    CU_ASSERT_EQUAL(read.environment, 3);
    CU_ASSERT_EQUAL(read.number, 27);
    CU_ASSERT_EQUAL(read.max_episode_steps, 500);
    CU_ASSERT_EQUAL_FATAL(read.count, 2);
    CU_ASSERT_EQUAL(memcmp(read.actions, note.actions, 8), 0);
    replay_note_finish(&read);
    unlink(path);
}

static void what_is_no_note_is_refused(void)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"env\": 3}",
        "{\"env\":\"CartPole-v1\",\"seed\":\"1\",\"environment\":0,\"number\":0,\"action_bytes\":4,"
        "\"actions\":"
        "\"\"}",
        "{\"env\":\"CartPole-v1\",\"seed\":\"1\",\"environment\":0,\"number\":0,\"action_bytes\":4,"
        "\"actions\":"
        "\"0g00000000000000\"}",
        "{\"env\":\"CartPole-v1\",\"seed\":\"1\",\"environment\":0,\"number\":0,\"action_bytes\":4,"
        "\"actions\":"
        "\"000000\"}",
        "{\"env\":\"CartPole-v1\",\"seed\":\"-1\",\"environment\":0,\"number\":0,\"action_bytes\":4,"
        "\"actions\":"
        "\"00000000\"}",
    };
    char path[] = "/tmp/corral-note-XXXXXX";
    const int file = mkstemp(path);
    CU_ASSERT_TRUE_FATAL(file >= 0);
    close(file);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        replay_note note;
        TEST_OK(corral_file_write(path, texts[i], strlen(texts[i])));
        TEST_FAILS(replay_note_read(path, &note), CORRAL_ERROR_CORRUPT, "not an episode");
        replay_note_finish(&note);
    }
    unlink(path);
}

int main(void)
{
    return test_run("recorder", (test_case[]){{"the schedule is respected", the_schedule_is_respected},
                                              {"a note comes back", a_note_comes_back},
                                              {"what is no note is refused", what_is_no_note_is_refused},
                                              {NULL, NULL}});
}
