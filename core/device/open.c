// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Finds and opens the plug-in. The driver is looked for first: without it nothing of CUDA is touched, which
// keeps `corral version` quick. A library that was opened stays: CUDA's does not like to be closed.

#include "device/device.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char library_name[] = "libcorral_cuda.so";

// --- where the plug-in is ---------------------------------------------------------------------------------

/// The folder of the file that holds this code: the program, or libcorral.so.
static bool code_folder(char out[PATH_MAX])
{
    static const char in_this_file;
    Dl_info info;
    if (dladdr(&in_this_file, &info) == 0 || realpath(info.dli_fname, out) == NULL) return false;
    char *slash = strrchr(out, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return true;
}

/// Installed, the plug-in is beside libcorral.so, and the programs are in the bin folder beside that; a build
/// folder is laid out alike.
static bool find_library(char *out_path, size_t size)
{
    const char *named = getenv("CORRAL_CUDA_LIBRARY");
    if (named != NULL && named[0] != '\0') {
        snprintf(out_path, size, "%s", named);
        return access(out_path, R_OK) == 0;
    }
    char folder[PATH_MAX];
    static const char *const places[] = {".", "../lib", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu",
                                         "../lib64"};
    for (size_t i = 0; code_folder(folder) && i < sizeof places / sizeof places[0]; i++) {
        const int length = snprintf(out_path, size, "%s/%s/%s", folder, places[i], library_name);
        if (length > 0 && (size_t)length < size && access(out_path, R_OK) == 0) return true;
    }
    out_path[0] = '\0';
    return false;
}

// --- opening it -------------------------------------------------------------------------------------------

/// A library that was named by hand may do without NVIDIA's driver.
static bool driver_is_there(void)
{
    const char *named = getenv("CORRAL_CUDA_LIBRARY");
    if (named != NULL && named[0] != '\0') return true;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return driver != NULL; // it stays open: the plug-in is about to use it
}

static const corral_device_table *open_library(const char *path, char *out_reason, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(out_reason, size, "%s", dlerror());
        return NULL;
    }
    void *address = dlsym(library, "corral_device_plugin");
    corral_device_plugin_function *plugin;
    memcpy(&plugin, &address, sizeof plugin); // ISO C knows no cast between the two kinds of pointers
    const corral_device_table *table = plugin != NULL ? plugin(CORRAL_DEVICE_ABI) : NULL;
    if (table != NULL && table->abi == CORRAL_DEVICE_ABI && table->size == sizeof *table) return table;
    snprintf(out_reason, size, "%s is of another version of Corral; install both anew", path);
    return NULL;
}

static void describe_first(const corral_device_table *table, char out_name[CORRAL_DEVICE_NAME])
{
    corral_device_info info;
    if (!table->describe(0, &info)) memset(&info, 0, sizeof info);
    if (info.memory > 0)
        snprintf(out_name, CORRAL_DEVICE_NAME, "%s, %.0f GiB", info.name, (double)info.memory / 1073741824.0);
    else
        snprintf(out_name, CORRAL_DEVICE_NAME, "%s", info.name);
}

static const corral_device_table *find_table(corral_device_found *out)
{
    *out = (corral_device_found){0};
    if (!find_library(out->library, sizeof out->library)) {
        out->library[0] = '\0';
        snprintf(out->reason, sizeof out->reason, "there is no %s beside this program", library_name);
        return NULL;
    }
    if (!driver_is_there()) {
        snprintf(out->reason, sizeof out->reason, "this machine has no NVIDIA driver (libcuda.so.1)");
        return NULL;
    }
    const corral_device_table *table = open_library(out->library, out->reason, sizeof out->reason);
    if (table == NULL) return NULL;
    out->count = table->device_count(out->reason, sizeof out->reason);
    if (out->count > 0) {
        describe_first(table, out->name);
    } else if (out->reason[0] == '\0') {
        snprintf(out->reason, sizeof out->reason, "the driver shows no GPU; look at CUDA_VISIBLE_DEVICES");
    }
    return out->count > 0 ? table : NULL;
}

void corral_device_find(corral_device_found *out_found)
{
    (void)find_table(out_found);
}

corral_status corral_device_open(corral_device **out_device)
{
    corral_device_found found;
    const corral_device_table *table = find_table(&found);
    if (table == NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "no GPU can be used: %s; device=cpu needs none",
                           found.reason);
    corral_device *device = calloc(1, sizeof *device);
    if (device == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to open a GPU");
    device->table = table;
    snprintf(device->name, sizeof device->name, "%s", found.name);
    if (!table->use(0)) {
        free(device);
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "%s cannot be used: the driver refuses it", found.name);
    }
    *out_device = device;
    return CORRAL_OK;
}

void corral_device_close(corral_device *device)
{
    free(device);
}

const char *corral_device_name(const corral_device *device)
{
    return device->name;
}

bool corral_device_pin(corral_device *device, void *host, size_t bytes, bool read_only)
{
    return bytes > 0 && device->table->pin(host, bytes, read_only);
}

void corral_device_unpin(corral_device *device, void *host)
{
    device->table->unpin(host);
}

corral_status corral_device_allocate(const corral_device *device, size_t bytes, const char *what,
                                     void **out_memory)
{
    *out_memory = device->table->allocate(bytes);
    if (*out_memory != NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s has no room for %s of %zu bytes", device->name, what,
                       bytes);
}

corral_status corral_device_wait(const corral_device *device, corral_stream *stream)
{
    const char *failure = device->table->wait(stream);
    if (failure == NULL) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_LOST, "%s: %s", device->name, failure);
}
