// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "client_private.h"

#include <dlfcn.h>
#include <string.h>

corral_function *library_function(const corral_library *library, const char *name)
{
    const corral_named_function *f = library != NULL ? library->functions : NULL;
    for (; f != NULL && f->name != NULL; f++)
        if (strcmp(f->name, name) == 0) return f->run;
    return NULL;
}

const corral_class *library_class(const corral_library *library, const char *name)
{
    const corral_class *const *c = library != NULL ? library->classes : NULL;
    for (; c != NULL && *c != NULL; c++)
        if (strcmp((*c)->name, name) == 0) return *c;
    return NULL;
}

corral_method *library_method(const corral_class *class, const char *name)
{
    for (const corral_named_method *m = class->methods; m != NULL && m->name != NULL; m++)
        if (strcmp(m->name, name) == 0) return m->run;
    return NULL;
}

corral_status corral_library_open(const char *path, const corral_library **out_library)
{
    // A name without a slash would be looked for in the system's folders.
    char here[4096];
    const char *slash = strchr(path, '/');
    if (slash == NULL && strlen(path) + 3 <= sizeof here) {
        memcpy(here, "./", 2);
        memcpy(here + 2, path, strlen(path) + 1);
        path = here;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *why = dlerror();
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "cannot open the library: %s", why != NULL ? why : path);
    }
    const corral_library *library = dlsym(handle, CORRAL_LIBRARY_SYMBOL);
    corral_status status = CORRAL_OK;
    if (library == NULL)
        status = corral_fail(CORRAL_ERROR_INVALID, "%s has no symbol %s: it is no library of tasks", path,
                             CORRAL_LIBRARY_SYMBOL);
    else if (library->abi != CORRAL_LIBRARY_ABI)
        status = corral_fail(CORRAL_ERROR_VERSION, "%s says ABI %u, this is %d; compile it again", path,
                             library->abi, CORRAL_LIBRARY_ABI);
    if (status != CORRAL_OK) {
        dlclose(handle);
        return status;
    }
    *out_library = library;
    return CORRAL_OK;
}
