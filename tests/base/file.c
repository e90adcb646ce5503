// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/base/file.h"

#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_entries(const char *folder)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) return -1;
    int count = 0;
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    return count;
}

static void check_content(const char *path, const char *expected)
{
    char *bytes = NULL;
    size_t size = 0;
    TEST_OK(corral_file_read(path, 1000, &bytes, &size));
    CU_ASSERT_EQUAL(size, strlen(expected));
    CU_ASSERT_STRING_EQUAL(bytes, expected);
    free(bytes);
}

static void what_is_written_is_read(void)
{
    temporary_begin();
    const char *path = temporary_path("a.txt");
    TEST_OK(corral_file_write(path, "one", 3));
    check_content(path, "one");
    TEST_OK(corral_file_write(path, "", 0));
    check_content(path, "");
    CU_ASSERT_EQUAL(count_entries(temporary_folder), 1);
    struct stat about;
    const mode_t mask = umask(022);
    umask(mask);
    CU_ASSERT_EQUAL_FATAL(stat(path, &about), 0);
    CU_ASSERT_EQUAL(about.st_mode & 0777, 0666 & ~mask);
    TEST_OK(corral_folder_sync(temporary_folder));
    temporary_end();
}

static void a_read_is_bounded(void)
{
    temporary_begin();
    const char *path = temporary_path("a.txt");
    char *bytes = NULL;
    size_t size = 0;
    TEST_FAILS(corral_file_read(path, 10, &bytes, &size), CORRAL_ERROR_NOT_FOUND, "a.txt: No such file");
    TEST_OK(corral_file_write(path, "0123456789", 10));
    TEST_FAILS(corral_file_read(path, 9, &bytes, &size), CORRAL_ERROR_INVALID, "has 10 bytes");
    TEST_OK(corral_file_read(path, 10, &bytes, &size));
    free(bytes);
    TEST_FAILS(corral_file_read(temporary_folder, 9, &bytes, &size), CORRAL_ERROR_INVALID,
               "not a regular file");
    const char *pipe_path = temporary_path("pipe"); // nobody writes to it: opening it must not wait
    CU_ASSERT_EQUAL_FATAL(mkfifo(pipe_path, 0600), 0);
    TEST_FAILS(corral_file_read(pipe_path, 9, &bytes, &size), CORRAL_ERROR_INVALID, "not a regular file");
    temporary_end();
}

// A limit on the size of files stands in for a full disk: the write fails half way.
static void a_failed_write_leaves_the_old_file(void)
{
    temporary_begin();
    const char *path = temporary_path("a.txt");
    TEST_OK(corral_file_write(path, "old", 3));

    struct rlimit before, small;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 5000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    char *large = calloc(1, 100000);
    const corral_status status = corral_file_write(path, large, 100000);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    free(large);

    TEST_FAILS(status, CORRAL_ERROR_IO, "cannot write");
    check_content(path, "old");
    CU_ASSERT_EQUAL(count_entries(temporary_folder), 1);
    temporary_end();
}

static void a_failed_rename_leaves_nothing(void)
{
    temporary_begin();
    // A rename onto a folder fails after everything has been written.
    TEST_OK(corral_folder_create(temporary_path("taken/inside")));
    CU_ASSERT_EQUAL(corral_file_write(temporary_path("taken"), "x", 1), CORRAL_ERROR_IO);
    CU_ASSERT_EQUAL(count_entries(temporary_folder), 1);
    TEST_FAILS(corral_file_write(temporary_path("none/a.txt"), "x", 1), CORRAL_ERROR_IO,
               "none/a.txt: No such file");
    temporary_end();
}

static void folders_are_made_and_removed(void)
{
    temporary_begin();
    TEST_OK(corral_folder_create(temporary_path("a/b//c/")));
    TEST_OK(corral_folder_create(temporary_path("a/b/c")));
    TEST_OK(corral_file_write(temporary_path("a/b/file"), "x", 1));
    TEST_OK(corral_file_write(temporary_path("keep"), "x", 1));
    TEST_FAILS(corral_folder_create(temporary_path("keep/below")), CORRAL_ERROR_IO, "keep");
    CU_ASSERT_EQUAL_FATAL(symlink(temporary_folder, temporary_path("a/link")), 0);
    TEST_OK(corral_folder_remove(temporary_path("a")));
    TEST_OK(corral_folder_remove(temporary_path("a"))); // not there is fine
    check_content(temporary_path("keep"), "x");         // the link was not followed
    CU_ASSERT_EQUAL_FATAL(symlink(temporary_folder, temporary_path("link")), 0);
    CU_ASSERT_EQUAL(corral_folder_remove(temporary_path("link")), CORRAL_ERROR_IO);
    check_content(temporary_path("keep"), "x");
    temporary_end();
}

static void texts_and_paths(void)
{
    char *text = corral_format("%s-%d", "run", 7);
    CU_ASSERT_STRING_EQUAL(text, "run-7");
    free(text);
    char *folder = NULL;
    TEST_OK(corral_program_folder(&folder));
    char *self = corral_format("%s/test_base_file", folder);
    CU_ASSERT_EQUAL(access(self, X_OK), 0);
    free(self);
    free(folder);
}

// Known values of XXH3: manifests written today must be readable tomorrow.
static void checksums_are_xxh3(void)
{
    CU_ASSERT_EQUAL(corral_checksum("", 0), UINT64_C(0x2D06800538D394C2));
    CU_ASSERT_NOT_EQUAL(corral_checksum("a", 1), corral_checksum("b", 1));
}

int main(void)
{
    return test_run("file",
                    (test_case[]){{"what is written is read", what_is_written_is_read},
                                  {"a read is bounded", a_read_is_bounded},
                                  {"a failed write leaves the old file", a_failed_write_leaves_the_old_file},
                                  {"a failed rename leaves nothing", a_failed_rename_leaves_nothing},
                                  {"folders are made and removed", folders_are_made_and_removed},
                                  {"texts and paths", texts_and_paths},
                                  {"checksums are XXH3", checksums_are_xxh3},
                                  {NULL, NULL}});
}
