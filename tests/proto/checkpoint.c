// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "folder.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

static void it_appears_whole(void)
{
    scratch_make();
    const char *path = in_scratch("100");
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(path, &writer));
    add_file(writer, "policy.safetensors", "weights");
    CU_ASSERT_FALSE(is_there(path)); // not before the end
    TEST_OK(corral_checkpoint_commit(writer));
    TEST_OK(corral_checkpoint_verify(path));
    CU_ASSERT_EQUAL(entry_count(path), 2); // the file and the manifest
    CU_ASSERT_EQUAL(entry_count(scratch), 1);
    scratch_remove();
}

static void equal_files_give_equal_manifests(void)
{
    scratch_make();
    make_checkpoint(in_scratch("1"), "{}");
    make_checkpoint(in_scratch("2"), "{}");
    char *a, *b;
    size_t a_size, b_size;
    TEST_OK(corral_file_read(in_scratch("1/manifest.json"), 4096, &a, &a_size));
    TEST_OK(corral_file_read(in_scratch("2/manifest.json"), 4096, &b, &b_size));
    CU_ASSERT_EQUAL(a_size, b_size);
    CU_ASSERT_STRING_EQUAL(a, b);
    free(a);
    free(b);
    scratch_remove();
}

static void an_older_one_is_replaced(void)
{
    scratch_make();
    const char *path = in_scratch("100");
    make_checkpoint(path, "old");
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(in_scratch("100/"), &writer)); // the slash makes no difference
    add_file(writer, "state.json", "new");
    TEST_OK(corral_checkpoint_verify(path)); // still the old one
    TEST_OK(corral_checkpoint_commit(writer));
    TEST_OK(corral_checkpoint_verify(path));
    CU_ASSERT_FALSE(is_there(in_scratch("100/policy.safetensors")));
    CU_ASSERT_EQUAL(entry_count(scratch), 1);
    scratch_remove();
}

static void an_abandoned_one_leaves_nothing(void)
{
    scratch_make();
    make_checkpoint(in_scratch("100"), "old");
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(in_scratch("100"), &writer));
    add_file(writer, "state.json", "new");
    corral_checkpoint_abandon(writer);
    corral_checkpoint_abandon(NULL);
    CU_ASSERT_EQUAL(entry_count(scratch), 1);
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    scratch_remove();
}

static void what_cannot_be_one_is_refused(void)
{
    scratch_make();
    corral_checkpoint_writer *writer = NULL;
    TEST_FAILS(corral_checkpoint_begin(in_scratch("no/such/100"), &writer), CORRAL_ERROR_IO, "cannot create");
    TEST_OK(corral_checkpoint_begin(in_scratch("100"), &writer));
    TEST_FAILS(corral_checkpoint_commit(writer), CORRAL_ERROR_INVALID, "holds no files");
    TEST_OK(corral_checkpoint_begin(in_scratch("100"), &writer));
    char *inside = corral_checkpoint_file(writer, "folder");
    TEST_OK(corral_folder_create(inside));
    free(inside);
    TEST_FAILS(corral_checkpoint_commit(writer), CORRAL_ERROR_CORRUPT, "not a regular file");
    CU_ASSERT_EQUAL(entry_count(scratch), 0);
    scratch_remove();
}

// A child is killed again and again while it replaces one checkpoint by the next: whatever the moment, what
// stands under the name is whole.
static void a_kill_at_any_moment_leaves_a_whole_one(void)
{
    scratch_make();
    make_checkpoint(in_scratch("100"), "first");
    for (int round = 0; round < 30; round++) {
        const pid_t child = fork();
        CU_ASSERT_FATAL(child >= 0);
        if (child == 0) {
            for (int i = 0;; i++)
                make_checkpoint(in_scratch("100"), i % 2 == 0 ? "even" : "odd, and longer");
        }
        usleep(500 + (useconds_t)(round * 700));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    }
    scratch_remove();
}

// --- runs
// ------------------------------------------------------------------------------------------------------------

static void make_run(void)
{
    scratch_make();
    TEST_OK(corral_folder_create(in_scratch("run/checkpoints")));
    make_checkpoint(in_scratch("run/checkpoints/900"), "{}");
    make_checkpoint(in_scratch("run/checkpoints/1000"), "{}"); // not last by name
    make_checkpoint(in_scratch("run/checkpoints/20"), "{}");
}

static void expect_found(const char *from, int best, const char *name)
{
    char *found = NULL;
    TEST_OK(corral_checkpoint_find(in_scratch(from), best, &found));
    CU_ASSERT_STRING_EQUAL(found, in_scratch(name));
    free(found);
}

static void a_run_gives_its_last_and_its_best(void)
{
    make_run();
    TEST_OK(corral_folder_create(in_scratch("run/checkpoints/5000x")));
    TEST_OK(corral_folder_create(in_scratch("run/checkpoints/09999")));
    TEST_OK(corral_folder_create(in_scratch("run/checkpoints/99999999999999999999999")));
    expect_found("run", 0, "run/checkpoints/1000");
    expect_found("run/checkpoints/20", 0, "run/checkpoints/20");
    char *found = NULL;
    TEST_FAILS(corral_checkpoint_find(in_scratch("run"), 1, &found), CORRAL_ERROR_NOT_FOUND,
               "no best checkpoint");
    TEST_OK(corral_checkpoint_set_best(in_scratch("run"), 900));
    expect_found("run", 1, "run/checkpoints/900");
    TEST_OK(corral_checkpoint_set_best(in_scratch("run"), 20));
    expect_found("run", 1, "run/checkpoints/20");
    write_file(in_scratch("run/checkpoints/best.json"), "{\"step\": -1}");
    TEST_FAILS(corral_checkpoint_find(in_scratch("run"), 1, &found), CORRAL_ERROR_CORRUPT, "best.json");
    TEST_FAILS(corral_checkpoint_find(in_scratch("nowhere"), 0, &found), CORRAL_ERROR_NOT_FOUND, "nowhere");
    TEST_OK(corral_folder_create(in_scratch("empty")));
    TEST_FAILS(corral_checkpoint_find(in_scratch("empty"), 0, &found), CORRAL_ERROR_NOT_FOUND,
               "no checkpoint");
    scratch_remove();
}

static void pruning_keeps_what_it_must(void)
{
    make_run();
    make_checkpoint(in_scratch("run/checkpoints/30"), "{}");
    make_checkpoint(in_scratch("run/checkpoints/40"), "{}");
    TEST_OK(corral_folder_create(in_scratch("run/checkpoints/50.tmp-1-1"))); // of a killed process
    TEST_OK(corral_checkpoint_set_best(in_scratch("run"), 20));
    TEST_OK(corral_checkpoint_prune(in_scratch("run"), 2, (const char *const[]){"40", NULL}));
    CU_ASSERT(is_there(in_scratch("run/checkpoints/1000")));
    CU_ASSERT(is_there(in_scratch("run/checkpoints/900")));
    CU_ASSERT(is_there(in_scratch("run/checkpoints/20")));
    CU_ASSERT(is_there(in_scratch("run/checkpoints/40")));
    CU_ASSERT_EQUAL(entry_count(in_scratch("run/checkpoints")), 5); // those and best.json
    TEST_OK(corral_checkpoint_prune(in_scratch("run"), 0, NULL));
    CU_ASSERT(is_there(in_scratch("run/checkpoints/1000"))); // never without the newest
    CU_ASSERT_EQUAL(entry_count(in_scratch("run/checkpoints")), 3);
    scratch_remove();
}

// --- a full disk
// -----------------------------------------------------------------------------------------------------

static void write_until_full(void)
{
    make_checkpoint(in_scratch("100"), "old");
    static char large[256 * 1024];
    memset(large, 'x', sizeof large - 1);
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(in_scratch("100"), &writer));
    corral_status status = CORRAL_OK;
    for (int i = 0; i < 8 && status == CORRAL_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "part-%d", i);
        char *path = corral_checkpoint_file(writer, name);
        status = corral_file_write(path, large, sizeof large - 1);
        free(path);
    }
    CU_ASSERT_EQUAL(status, CORRAL_ERROR_FULL);
    corral_checkpoint_abandon(writer);
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    CU_ASSERT_EQUAL(entry_count(scratch), 1);
}

// The files fit, the manifest does not.
static void fill_before_the_manifest(void)
{
    static char large[1024 * 1024];
    corral_checkpoint_writer *writer = NULL;
    TEST_OK(corral_checkpoint_begin(in_scratch("100"), &writer));
    char *path = corral_checkpoint_file(writer, "state.json");
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    setvbuf(file, NULL, _IONBF, 0);
    fwrite(large, 1, sizeof large, file); // as much as there is room for
    fclose(file);
    free(path);
    TEST_FAILS(corral_checkpoint_commit(writer), CORRAL_ERROR_FULL, "manifest.json");
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    CU_ASSERT_EQUAL(entry_count(scratch), 1);
}

static void a_full_disk_leaves_the_older_one(void)
{
    scratch_make();
    if (mount("none", scratch, "tmpfs", 0, "size=1m") != 0) {
        printf("skipped, no file system can be mounted here: %s ... ", strerror(errno));
    } else {
        write_until_full();
        fill_before_the_manifest();
        CU_ASSERT_EQUAL(umount(scratch), 0);
    }
    scratch_remove();
}

int main(void)
{
    return test_run("checkpoint",
                    (test_case[]){
                        {"it appears whole", it_appears_whole},
                        {"equal files give equal manifests", equal_files_give_equal_manifests},
                        {"an older one is replaced", an_older_one_is_replaced},
                        {"an abandoned one leaves nothing", an_abandoned_one_leaves_nothing},
                        {"what cannot be one is refused", what_cannot_be_one_is_refused},
                        {"a kill at any moment leaves a whole one", a_kill_at_any_moment_leaves_a_whole_one},
                        {"a run gives its last and its best", a_run_gives_its_last_and_its_best},
                        {"pruning keeps what it must", pruning_keeps_what_it_must},
                        {"a full disk leaves the older one", a_full_disk_leaves_the_older_one},
                        {NULL, NULL},
                    });
}
