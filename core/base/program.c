// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Where the other programs of an installation are, seen from any of its programs, and from a program of
/// somebody else that links libcorral.so:
///
///     PREFIX/bin/corral, corral-node, corral-worker      beside each other, as in a build folder
///     PREFIX/lib/corral/corral_box2d.so                  libraries that are opened where they are asked for
///     PREFIX/lib/libcorral.so                            or PREFIX/lib/x86_64-linux-gnu/libcorral.so
#include "corral/base/file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The folder of the file that holds this very code: the executable, or libcorral.so. NULL where it cannot be
/// told.
static char *code_folder(void)
{
    static const char in_this_file;
    Dl_info info;
    if (dladdr(&in_this_file, &info) == 0) return NULL;
    char *path = realpath(info.dli_fname, NULL);
    char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash != NULL) *slash = '\0';
    return path;
}

static char *if_readable(char *path)
{
    if (path != NULL && access(path, R_OK) == 0) return path;
    free(path);
    return NULL;
}

static char *if_executable(char *path)
{
    if (path != NULL && access(path, X_OK) == 0) return path;
    free(path);
    return NULL;
}

corral_status corral_program_find(const char *name, char **out_path)
{
    char *beside = NULL, *library = NULL;
    const corral_status status = corral_program_folder(&beside);
    if (status != CORRAL_OK) return status;

    char *path = if_executable(corral_format("%s/%s", beside, name));
    if (path == NULL) library = code_folder();
    if (library != NULL) path = if_executable(corral_format("%s/../bin/%s", library, name));
    if (library != NULL && path == NULL)
        path = if_executable(corral_format("%s/../../bin/%s", library, name));
    *out_path = path;
    const corral_status found =
        path != NULL ? CORRAL_OK
                     : corral_fail(CORRAL_ERROR_NOT_FOUND, "there is no program %s in %s%s%s", name, beside,
                                   library != NULL ? ", nor in the bin folder above " : "",
                                   library != NULL ? library : "");
    free(beside);
    free(library);
    return found;
}

char *corral_library_find(const char *name)
{
    char *beside = NULL, *code = code_folder(), *path = NULL;
    if (corral_program_folder(&beside) == CORRAL_OK)
        path = if_readable(corral_format("%s/../lib/corral/%s", beside, name));
    static const char *const ways[] = {"../lib/corral", "corral", "../corral"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways && code != NULL && path == NULL; i++)
        path = if_readable(corral_format("%s/%s/%s", code, ways[i], name));
    free(beside);
    free(code);
    return path;
}
