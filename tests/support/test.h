// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A test program is a table of cases and one call:
///
///     static void adds(void) { CU_ASSERT_EQUAL(1 + 1, 2); }
///     int main(void) { return test_run("arithmetic", (test_case[]){{"adds", adds}, {NULL, NULL}}); }
#ifndef CORRAL_TEST_H
#define CORRAL_TEST_H

#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_case {
    const char *name;
    void (*run)(void);
} test_case;

/// Runs the cases and returns the exit status: 0 when all passed and at least one ran.
static inline int test_run(const char *suite_name, const test_case *cases)
{
    if (CU_initialize_registry() != CUE_SUCCESS) return 2;
    CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
    for (const test_case *c = cases; suite != NULL && c->name != NULL; c++)
        CU_add_test(suite, c->name, c->run);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    const unsigned failed = CU_get_number_of_failures(), run = CU_get_number_of_tests_run();
    CU_cleanup_registry();
    return failed == 0 && run > 0 ? 0 : 1;
}

/// A call of ours succeeds; otherwise its sentence is printed and the case ends.
#define TEST_OK(call)                                                                                        \
    do {                                                                                                     \
        const int test_status_ = (int)(call);                                                                \
        if (test_status_ != 0)                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, corral_last_error());              \
        CU_ASSERT_EQUAL_FATAL(test_status_, 0);                                                              \
    } while (0)

/// A call fails with this status, and its sentence holds this text.
#define TEST_FAILS(call, status, text)                                                                       \
    do {                                                                                                     \
        CU_ASSERT_EQUAL((int)(call), (int)(status));                                                         \
        const int test_found_ = strstr(corral_last_error(), text) != NULL;                                   \
        if (!test_found_)                                                                                    \
            fprintf(stderr, "%s:%d: \"%s\" lacks \"%s\"\n", __FILE__, __LINE__, corral_last_error(), text);  \
        CU_ASSERT_TRUE(test_found_);                                                                         \
    } while (0)

#endif
