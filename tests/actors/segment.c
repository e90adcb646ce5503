// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Shared memory: one writer, readers that cannot write, and sizes that cannot be had.
#include "test.h"

#include "corral/actors/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void shows_the_writers_bytes_to_readers(void)
{
    corral_segment writer, reader;
    int fd = -1;
    TEST_OK(corral_segment_create("test", 3 * PAGE + 1, &writer));
    CU_ASSERT_EQUAL(writer.size, 4 * PAGE);
    CU_ASSERT_TRUE(writer.writable);
    TEST_OK(corral_segment_share(&writer, &fd));
    CU_ASSERT_TRUE((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    CU_ASSERT_TRUE((fcntl(writer.fd, F_GETFD) & FD_CLOEXEC) != 0);
    TEST_OK(corral_segment_map(fd, false, &reader));
    CU_ASSERT_EQUAL(reader.size, writer.size);
    memset(writer.data, 0x5a, writer.size);
    CU_ASSERT_EQUAL(memcmp(reader.data, writer.data, writer.size), 0);
    corral_segment_finish(&writer); // what a reader has mapped stays
    CU_ASSERT_EQUAL(((const unsigned char *)reader.data)[4 * PAGE - 1], 0x5a);
    corral_segment_finish(&reader);
    corral_segment_finish(&reader);
    CU_ASSERT_EQUAL(reader.fd, -1);
}

static void readers_cannot_write(void)
{
    corral_segment writer, reader;
    int fd = -1, other = -1;
    TEST_OK(corral_segment_create("test", PAGE, &writer));
    TEST_OK(corral_segment_share(&writer, &fd));
    TEST_OK(corral_segment_share(&writer, &other));
    TEST_FAILS(corral_segment_map(other, true, &reader), CORRAL_ERROR_REFUSED, "reading only");
    CU_ASSERT_EQUAL(fcntl(other, F_GETFD), -1); // taken over on failure too

    CU_ASSERT_PTR_EQUAL(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    TEST_OK(corral_segment_map(fd, false, &reader));
    CU_ASSERT_NOT_EQUAL(mprotect(reader.data, PAGE, PROT_READ | PROT_WRITE), 0);
    CU_ASSERT_NOT_EQUAL(write(fd, "x", 1), 1);
    corral_segment_finish(&reader);
    corral_segment_finish(&writer);
}

static void nobody_can_change_the_size(void)
{
    corral_segment writer;
    TEST_OK(corral_segment_create("test", 2 * PAGE, &writer));
    CU_ASSERT_EQUAL(ftruncate(writer.fd, PAGE), -1);
    CU_ASSERT_EQUAL(errno, EPERM);
    CU_ASSERT_EQUAL(ftruncate(writer.fd, 3 * PAGE), -1);
    CU_ASSERT_NOT_EQUAL(fallocate(writer.fd, FALLOC_FL_PUNCH_HOLE, 0, PAGE), 0);
    corral_segment_finish(&writer);
}

static void a_size_that_cannot_be_had_is_an_error(void)
{
    corral_segment segment;
    TEST_FAILS(corral_segment_create("huge", (size_t)1 << 50, &segment), CORRAL_ERROR_FULL,
               "1073741824 MiB asked for");
    CU_ASSERT_EQUAL(segment.fd, -1);
    TEST_FAILS(corral_segment_create("huge", SIZE_MAX, &segment), CORRAL_ERROR_FULL, "huge");
    TEST_FAILS(corral_segment_create("none", 0, &segment), CORRAL_ERROR_INVALID, "size of 0");
}

// SIGXFSZ would end this test.
static void a_file_size_limit_is_an_error(void)
{
    struct rlimit before;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {.rlim_cur = 8 * PAGE, .rlim_max = before.rlim_max};
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    corral_segment segment;
    TEST_FAILS(corral_segment_create("limited", 9 * PAGE, &segment), CORRAL_ERROR_FULL, "file size limit");
    TEST_OK(corral_segment_create("limited", 8 * PAGE, &segment));
    corral_segment_finish(&segment);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void only_sealed_memory_is_mapped(void)
{
    corral_segment segment;
    int pipes[2];
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    TEST_FAILS(corral_segment_map(pipes[0], false, &segment), CORRAL_ERROR_INVALID, "not shared memory");
    close(pipes[1]);
    const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL_FATAL(ftruncate(unsealed, PAGE), 0);
    TEST_FAILS(corral_segment_map(unsealed, false, &segment), CORRAL_ERROR_INVALID, "sealed size");
    CU_ASSERT_EQUAL(fcntl(unsealed, F_GETFD), -1);
    const int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL_FATAL(fcntl(empty, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    TEST_FAILS(corral_segment_map(empty, false, &segment), CORRAL_ERROR_INVALID, "less than one page");
    TEST_FAILS(corral_segment_map(-1, false, &segment), CORRAL_ERROR_INVALID, "descriptor -1");
}

int main(void)
{
    return test_run(
        "segment",
        (test_case[]){{"shows the writer's bytes to readers", shows_the_writers_bytes_to_readers},
                      {"readers cannot write", readers_cannot_write},
                      {"nobody can change the size", nobody_can_change_the_size},
                      {"a size that cannot be had is an error", a_size_that_cannot_be_had_is_an_error},
                      {"a file size limit is an error", a_file_size_limit_is_an_error},
                      {"only sealed memory is mapped", only_sealed_memory_is_mapped},
                      {NULL, NULL}});
}
