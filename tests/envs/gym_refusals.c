// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// What is said where there is no Python that could play.

#include "corral/envs/registry.h"

#include "test.h"

#include <stdlib.h>

static void there_is_no_python(void)
{
    const corral_env_type *type;
    setenv("CORRAL_PYTHON", "/no/such/python", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_NOT_FOUND,
               "gym:CartPole-v1: there is no Python /no/such/python; install one with Gymnasium, or name it: "
               "CORRAL_PYTHON=/path/to/python");
    unsetenv("CORRAL_PYTHON");
    setenv("VIRTUAL_ENV", "/no/such/venv", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_NOT_FOUND, "/no/such/venv/bin/python");
    unsetenv("VIRTUAL_ENV");
    setenv("CONDA_PREFIX", "/no/such/conda", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_NOT_FOUND,
               "/no/such/conda/bin/python");
    unsetenv("CONDA_PREFIX");
    setenv("PATH", "/no/such/folder", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_NOT_FOUND,
               "there is no Python python3; ");
}

static void it_is_no_python(void)
{
    const corral_env_type *type;
    setenv("CORRAL_PYTHON", "/bin/true", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_LOST,
               "gym:CartPole-v1: its Python process ended with code 0");
    setenv("CORRAL_PYTHON", "/bin", 1);
    TEST_FAILS(corral_env_find("gym:CartPole-v1", &type), CORRAL_ERROR_NOT_FOUND, "there is no Python /bin");
}

static void it_has_no_name(void)
{
    const corral_env_type *type;
    TEST_FAILS(corral_env_find("gym:", &type), CORRAL_ERROR_INVALID, "for instance gym:CartPole-v1");
    CU_ASSERT_PTR_NULL(corral_env_library_path("gym:package.module:Env-v0"));
    CU_ASSERT_PTR_NULL(corral_env_library_path("gym:ALE/Pong-v5"));
}

int main(void)
{
    return test_run("gym refusals", (test_case[]){{"there is no Python", there_is_no_python},
                                                  {"it is no Python", it_is_no_python},
                                                  {"it has no name", it_has_no_name},
                                                  {NULL, NULL}});
}
