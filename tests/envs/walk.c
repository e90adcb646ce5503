// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The example environment, built with the very line that stands in its head comment, loads and plays.

#include "rig.h"

#include "corral/base/file.h"

#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/corral-walk-XXXXXX";

/// "cc -O2 ... -o walk.so", found in the comment. The caller frees it.
static char *build_line(void)
{
    char *text = NULL;
    size_t size;
    TEST_OK(corral_file_read(CORRAL_SOURCE_DIR "/examples/walk.c", 1 << 20, &text, &size));
    char *line = text != NULL ? strstr(text, " cc ") : NULL;
    if (line == NULL) {
        CU_FAIL_FATAL("no build line");
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    char *copy = strdup(line);
    free(text);
    return copy;
}

/// In a folder that looks like the root of the source tree, so that the library lands there and not in the
/// tree.
static void builds_as_it_says(void)
{
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(CORRAL_SOURCE_DIR "/envs", "envs"), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(CORRAL_SOURCE_DIR "/examples", "examples"), 0);
    char *line = build_line();
    const int status = system(line);
    CU_ASSERT_TRUE_FATAL(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    free(line);
}

/// Always to the right it gets out, soon; never moving it does not.
static void plays(void)
{
    static rig r;
    const corral_env_batch_config config = rig_config("./walk.so:Walk-v0", 16);
    rig_open(&r, &config);
    uint32_t episodes = 0;
    double sum = 0;
    for (int t = 0; t < 500; t++) {
        for (uint32_t i = 0; i < 16; i++)
            r.action[i] = 2;
        rig_step(&r);
        CU_ASSERT_EQUAL(r.step.failed_count, 0);
        for (uint32_t k = 0; k < r.step.ended_count; k++, episodes++) {
            sum += r.ended[k].episode_return;
            CU_ASSERT_TRUE(r.ended[k].terminated);
            CU_ASSERT_EQUAL(r.final[k][0], 1);
        }
    }
    CU_ASSERT_TRUE_FATAL(episodes > 16);
    CU_ASSERT_TRUE(sum / episodes > config.type->reward_threshold);
    CU_ASSERT_EQUAL(corral_env_batch_reset(r.batch, &r.observation_rows), CORRAL_OK);
    for (int t = 0; t < 100; t++) {
        for (uint32_t i = 0; i < 16; i++)
            r.action[i] = 1;
        rig_step(&r);
    }
    CU_ASSERT_EQUAL(r.step.ended_count, 16); // by time
    CU_ASSERT_EQUAL(r.ended[0].truncated, 1);
    rig_close(&r);
    TEST_OK(corral_folder_remove(folder));
}

int main(void)
{
    return test_run("walk",
                    (test_case[]){{"builds as it says", builds_as_it_says}, {"plays", plays}, {NULL, NULL}});
}
