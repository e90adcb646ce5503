// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The little of CUnit that tests/core/device uses, so that tests/gpu/check needs no package. One program,
/// one suite, in its one translation unit.
#ifndef CORRAL_GPU_CUNIT_H
#define CORRAL_GPU_CUNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { CUE_SUCCESS = 0, CU_BRM_VERBOSE = 0, CU_MOST_TESTS = 64 };
typedef int *CU_pSuite;

static struct {
    const char *name[CU_MOST_TESTS];
    void (*run[CU_MOST_TESTS])(void);
    unsigned count, ran, failures, failed_here;
    int suite;
    jmp_buf fatal;
} cu;

static inline int CU_initialize_registry(void)
{
    return CUE_SUCCESS;
}

static inline CU_pSuite CU_add_suite(const char *name, int (*begin)(void), int (*end)(void))
{
    (void)begin;
    (void)end;
    printf("%s\n", name);
    return &cu.suite;
}

static inline void CU_add_test(CU_pSuite suite, const char *name, void (*run)(void))
{
    (void)suite;
    if (cu.count == CU_MOST_TESTS) return;
    cu.name[cu.count] = name;
    cu.run[cu.count++] = run;
}

static inline void CU_basic_set_mode(int mode)
{
    (void)mode;
}

static inline void CU_basic_run_tests(void)
{
    for (unsigned i = 0; i < cu.count; i++) {
        cu.failed_here = 0;
        if (setjmp(cu.fatal) == 0) cu.run[i]();
        printf("  %-32s %s\n", cu.name[i], cu.failed_here == 0 ? "passed" : "FAILED");
        cu.ran++;
    }
}

static inline unsigned CU_get_number_of_failures(void)
{
    return cu.failures;
}

static inline unsigned CU_get_number_of_tests_run(void)
{
    return cu.ran;
}

static inline void CU_cleanup_registry(void)
{
}

static inline void cu_check(int holds, int fatal, const char *text, const char *file, int line)
{
    if (holds) return;
    if (cu.failed_here++ < 10) fprintf(stderr, "%s:%d: %s\n", file, line, text);
    cu.failures++;
    if (fatal) longjmp(cu.fatal, 1);
}

#define CU_CHECK(holds, fatal)               cu_check((holds) ? 1 : 0, fatal, #holds, __FILE__, __LINE__)
#define CU_ASSERT_TRUE(x)                    CU_CHECK(x, 0)
#define CU_ASSERT_TRUE_FATAL(x)              CU_CHECK(x, 1)
#define CU_ASSERT_FALSE(x)                   CU_CHECK(!(x), 0)
#define CU_ASSERT_EQUAL(a, b)                CU_CHECK((a) == (b), 0)
#define CU_ASSERT_EQUAL_FATAL(a, b)          CU_CHECK((a) == (b), 1)
#define CU_ASSERT_PTR_NULL_FATAL(p)          CU_CHECK((p) == NULL, 1)
#define CU_ASSERT_PTR_NOT_NULL_FATAL(p)      CU_CHECK((p) != NULL, 1)
#define CU_ASSERT_DOUBLE_EQUAL(a, b, within) CU_CHECK(fabs((double)(a) - (double)(b)) <= (double)(within), 0)

#endif
