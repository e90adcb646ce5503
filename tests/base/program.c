// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Programs of an installation find each other. What a library finds is tested with an installed one, in
/// tests/structure/install.sh.
#include "test.h"

#include "corral/base/file.h"

static void finds_a_neighbour(void)
{
    char *path = NULL;
    TEST_OK(corral_program_find("test_base_program", &path));
    CU_ASSERT_PTR_NOT_NULL_FATAL(path);
    CU_ASSERT_EQUAL(path[0], '/');
    free(path);
}

static void says_what_is_missing_and_where(void)
{
    char *path = NULL;
    TEST_FAILS(corral_program_find("corral-nothing", &path), CORRAL_ERROR_NOT_FOUND, "corral-nothing");
    CU_ASSERT_PTR_NULL(path);
}

int main(void)
{
    return test_run("programs",
                    (test_case[]){{"finds a neighbour", finds_a_neighbour},
                                  {"says what is missing and where", says_what_is_missing_and_where},
                                  {NULL, NULL}});
}
