// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Finding environments by name: libraries that are right, and each way in which one can be wrong with the
// sentence that says so.

#include "corral/base/file.h"
#include "corral/envs/registry.h"

#include "test.h"

#include <unistd.h>

#define PLUGIN(name) PLUGIN_DIR "/" name ".so"

static const corral_env_type *type;

static void finds_the_built_in(void)
{
    TEST_OK(corral_env_find("CartPole-v1", &type));
    CU_ASSERT_STRING_EQUAL(type->id, "CartPole-v1");
    for (size_t i = 0; i < corral_env_builtin_count(); i++) {
        const corral_env_type *builtin = corral_env_builtin_at(i);
        const corral_env_plugin_descriptor alone = {CORRAL_ENV_ABI_MAJOR, CORRAL_ENV_ABI_MINOR, sizeof alone,
                                                    1, builtin};
        TEST_OK(corral_env_check_descriptor("built in", &alone));
        if (i > 0) CU_ASSERT_TRUE(strcmp(corral_env_builtin_at(i - 1)->id, builtin->id) < 0);
    }
    TEST_FAILS(corral_env_find("CartPol-v1", &type), CORRAL_ERROR_NOT_FOUND,
               "no environment CartPol-v1; did you mean CartPole-v1?");
    TEST_FAILS(corral_env_find("Chess", &type), CORRAL_ERROR_NOT_FOUND, "no environment Chess; there are ");
    TEST_FAILS(corral_env_find("", &type), CORRAL_ERROR_NOT_FOUND, "no environment");
}

static void finds_those_of_libraries(void)
{
    const corral_env_type *again;
    TEST_OK(corral_env_find(PLUGIN("right") ":Right-v0", &type));
    CU_ASSERT_STRING_EQUAL(type->id, "Right-v0");
    TEST_OK(corral_env_find(PLUGIN("right") ":Right-v0", &again));
    CU_ASSERT_PTR_EQUAL(type, again);
    TEST_OK(corral_env_find(PLUGIN_DIR "/../plugins/right.so:Other-v0", &again)); // the same file
    CU_ASSERT_PTR_EQUAL(again, type + 1);
    TEST_OK(corral_env_find(PLUGIN("leaves"), &type)); // the only one
    CU_ASSERT_STRING_EQUAL(type->id, "Leaves-v0");

    TEST_FAILS(corral_env_find(PLUGIN("right"), &type), CORRAL_ERROR_INVALID,
               "it has 2 environments; say which");
    TEST_FAILS(corral_env_find(PLUGIN("right") ":Rihgt-v0", &type), CORRAL_ERROR_NOT_FOUND,
               "no environment Rihgt-v0; did you mean Right-v0?");
    TEST_FAILS(corral_env_find(PLUGIN("right") ":", &type), CORRAL_ERROR_NOT_FOUND, "no environment");
}

static void names_a_file_as_given(void)
{
    CU_ASSERT_EQUAL_FATAL(chdir(PLUGIN_DIR), 0);
    TEST_OK(corral_env_find("./leaves.so:Leaves-v0", &type));
    TEST_OK(corral_env_find("leaves.so", &type));

    char *path = corral_env_library_path("./leaves.so:Leaves-v0");
    char *resolved = realpath("leaves.so", NULL);
    CU_ASSERT_STRING_EQUAL(path, resolved);
    free(path);
    free(resolved);
    path = corral_env_library_path("nowhere/there.so:X");
    CU_ASSERT_EQUAL(path[0], '/');
    CU_ASSERT_PTR_NOT_NULL(strstr(path, "/nowhere/there.so"));
    CU_ASSERT_PTR_NULL(strstr(path, ":X"));
    free(path);
    CU_ASSERT_PTR_NULL(corral_env_library_path("CartPole-v1"));
}

static void wrong_descriptors(void)
{
    static const struct {
        const char *name;
        corral_status status;
        const char *text;
    } wrong[] = {
        {"abi", CORRAL_ERROR_VERSION,
         "made for version 2 of corral/env.h, this program has 1: build it again"},
        {"no_symbol", CORRAL_ERROR_INVALID,
         "it does not export corral_env_plugin; end it with CORRAL_ENV_EXPORT"},
        {"no_types", CORRAL_ERROR_INVALID, "it lists no environment"},
        {"type_size", CORRAL_ERROR_INVALID, "environment 0: size is 16; set .size = sizeof(corral_env_type)"},
        {"twice", CORRAL_ERROR_INVALID, "two environments have the id Right-v0"},
        {"id", CORRAL_ERROR_INVALID, "environment 1: id needs 1 to 127 letters"},
        {"neither", CORRAL_ERROR_INVALID, "Right-v0: neither `single` nor `batch` is set"},
        {"both", CORRAL_ERROR_INVALID, "Right-v0: both `single` and `batch` are set"},
        {"no_batch_functions", CORRAL_ERROR_INVALID, "batch needs create, destroy, reset and step"},
        {"no_step", CORRAL_ERROR_INVALID, "single needs reset and step"},
        {"instance_size", CORRAL_ERROR_INVALID, "single.instance_size is 0"},
        {"no_action", CORRAL_ERROR_INVALID, "the action space is missing"},
        {"action_dtype", CORRAL_ERROR_INVALID, "action space, leaf 0: a DISCRETE space has dtype I32"},
        {"bounds", CORRAL_ERROR_INVALID, "observation space, leaf 0: bounds [2, 1] of element 0 are empty"},
        {"bounds_nan", CORRAL_ERROR_INVALID,
         "observation space, leaf 0: bounds [nan, 1] of element 0 are empty"},
        {"param", CORRAL_ERROR_INVALID, "parameter gravity: the default 12 is outside [0, 10]"},
        {"state", CORRAL_ERROR_INVALID, "corral.state needs save and load"},
        {"undefined", CORRAL_ERROR_INVALID, "somebody_elses_function"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/wrong_%s.so", PLUGIN_DIR, wrong[i].name);
        type = NULL;
        TEST_FAILS(corral_env_find(path, &type), wrong[i].status, wrong[i].text);
        CU_ASSERT_PTR_NOT_NULL(strstr(corral_last_error(), path)); // names the file
    }
}

static void wrong_files(void)
{
    char folder[] = "/tmp/corral-loading-XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.so", folder);

    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_NOT_FOUND, "cannot open the environment library");
    TEST_FAILS(corral_env_find(folder, &type), CORRAL_ERROR_INVALID, "not a file");

    TEST_OK(corral_file_write(path, "int main;", 9));
    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_CORRUPT, "not a shared library");
    TEST_OK(corral_file_write(path, "", 0));
    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_CORRUPT, "not a shared library");

    char *bytes;
    size_t size;
    TEST_OK(corral_file_read(PLUGIN("right"), 16 << 20, &bytes, &size));
    bytes[18] = 22, bytes[19] = 0; // e_machine: an IBM mainframe
    TEST_OK(corral_file_write(path, bytes, size));
    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_VERSION, "made for another processor");
    free(bytes);

    TEST_OK(corral_file_read(PLUGIN("right"), 16 << 20, &bytes, &size));
    TEST_OK(corral_file_write(path, bytes, 100)); // cut off
    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_CORRUPT, "a part of the library is missing");
    bytes[16] = 1; // e_type: an object file
    TEST_OK(corral_file_write(path, bytes, size));
    TEST_FAILS(corral_env_find(path, &type), CORRAL_ERROR_CORRUPT, "an object file or program");
    free(bytes);
    TEST_OK(corral_folder_remove(folder));
}

static void describes(const corral_space *space, const char *text, size_t count, size_t bytes)
{
    char *got = corral_space_describe(space);
    CU_ASSERT_STRING_EQUAL(got, text);
    CU_ASSERT_EQUAL(corral_space_count(space), count);
    CU_ASSERT_EQUAL(corral_space_bytes(space), bytes);
    free(got);
}

static void describes_spaces(void)
{
    TEST_OK(corral_env_find(PLUGIN("leaves"), &type));
    const corral_space *leaf = type->spaces.action;
    describes(&leaf[0], "Box(3) f64 [-inf, inf]", 3, 24);
    describes(&leaf[1], "Discrete(3, start 5)", 1, 4);
    describes(&leaf[2], "MultiDiscrete(3, 4)", 2, 8);
    describes(&leaf[3], "MultiBinary(2x2)", 4, 4);
    TEST_OK(corral_env_find("CartPole-v1", &type));
    describes(type->spaces.observation, "Box(4) f32 [-inf, inf]", 4, 16);
    describes(type->spaces.action, "Discrete(2)", 1, 4);
    const corral_space image = {.path = "",
                                .kind = CORRAL_SPACE_BOX,
                                .dtype = CORRAL_SPACE_U8,
                                .dimension_count = 3,
                                .shape = {84, 84, 3},
                                .high = 255};
    describes(&image, "Box(84x84x3) u8 [0, 255]", 84 * 84 * 3, 84 * 84 * 3);
}

int main(void)
{
    return test_run("loading", (test_case[]){{"finds the built-in", finds_the_built_in},
                                             {"finds those of libraries", finds_those_of_libraries},
                                             {"names a file as given", names_a_file_as_given},
                                             {"wrong descriptors", wrong_descriptors},
                                             {"wrong files", wrong_files},
                                             {"describes spaces", describes_spaces},
                                             {NULL, NULL}});
}
