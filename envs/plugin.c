// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Opens environment libraries. dlopen() says little about a file that it cannot use, so the first bytes are
// read before: what is no ELF library, or was built for another processor, is said in words. A library is
// never closed: types, help texts and function pointers of it live as long as the program.

#include "plugin.h"

#include "corral/envs/registry.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { OUR_MACHINE = EM_RISCV };
#else
enum { OUR_MACHINE = EM_NONE }; // not known: dlopen() decides
#endif

static const char *machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_386, "i386"},
                 {EM_X86_64, "x86-64"},
                 {EM_ARM, "arm"},
                 {EM_AARCH64, "aarch64"},
                 {EM_RISCV, "riscv"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].machine == machine) return names[i].name;
    return "another processor";
}

/// Whether all that will be mapped is in the file. dlopen() does not ask, and what lies behind the end of a
/// file raises SIGBUS when it is touched.
static bool is_whole(int file, uint64_t size, const Elf64_Ehdr *head)
{
    bool any = false;
    for (unsigned i = 0; i < head->e_phnum; i++) {
        Elf64_Phdr part;
        if (head->e_phoff > size) return false;
        const off_t at = (off_t)(head->e_phoff + i * sizeof part);
        if (pread(file, &part, sizeof part, at) != (ssize_t)sizeof part) return false;
        if (part.p_type != PT_LOAD) continue;
        if (part.p_offset > size || part.p_filesz > size - part.p_offset) return false;
        any = true;
    }
    return any;
}

static corral_status check_head(const char *path, int file)
{
    struct stat info;
    Elf64_Ehdr head;
    if (fstat(file, &info) != 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "%s", path);
    if (!S_ISREG(info.st_mode)) return corral_fail(CORRAL_ERROR_INVALID, "%s: not a file", path);

    const ssize_t size = pread(file, &head, sizeof head, 0);
    if (size < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "%s", path);
    if (size < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: not a shared library; build it with cc -shared -fPIC",
                           path);
    if (OUR_MACHINE != EM_NONE && head.e_machine != OUR_MACHINE)
        return corral_fail(CORRAL_ERROR_VERSION,
                           "%s: made for %s, this program runs on %s: build it on this machine", path,
                           machine_name(head.e_machine), machine_name(OUR_MACHINE));
    if (head.e_type != ET_DYN)
        return corral_fail(CORRAL_ERROR_CORRUPT,
                           "%s: an object file or program, not a shared library; link it with "
                           "cc -shared -fPIC",
                           path);
    if (head.e_ident[EI_CLASS] == ELFCLASS64 &&
        (size < (ssize_t)sizeof head || !is_whole(file, (uint64_t)info.st_size, &head)))
        return corral_fail(CORRAL_ERROR_CORRUPT, "%s: a part of the library is missing; build it again",
                           path);
    return CORRAL_OK;
}

static corral_status check_file(const char *path)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // a pipe shall not make us wait
    if (file < 0)
        return corral_fail_errno(errno == ENOENT ? CORRAL_ERROR_NOT_FOUND : CORRAL_ERROR_IO, errno,
                                 "%s: cannot open the environment library", path);
    const corral_status status = check_head(path, file);
    close(file);
    return status;
}

static corral_status find_descriptor(const char *path, void *library,
                                     const corral_env_plugin_descriptor **out)
{
    const corral_env_plugin_descriptor *descriptor = dlsym(library, "corral_env_plugin");
    if (descriptor == NULL)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "%s: it does not export corral_env_plugin; end it with "
                           "CORRAL_ENV_EXPORT(types, count)",
                           path);
    *out = descriptor;
    return corral_env_check_descriptor(path, descriptor);
}

static corral_status load(const char *path, const corral_env_plugin_descriptor **out_descriptor)
{
    corral_status status = check_file(path);
    if (status != CORRAL_OK) return status;

    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror(); // begins with the path as a rule
        return corral_fail(CORRAL_ERROR_INVALID, "cannot load the environment library %s",
                           reason ? reason : path);
    }
    status = find_descriptor(path, library, out_descriptor);
    if (status != CORRAL_OK) dlclose(library);
    return status;
}

typedef struct plugin {
    struct plugin *next;
    const corral_env_plugin_descriptor *descriptor;
    char path[]; // resolved
} plugin;

static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER;
static plugin *plugins; // only grows

static corral_status open_resolved(const char *path, const corral_env_plugin_descriptor **out_descriptor)
{
    for (const plugin *p = plugins; p != NULL; p = p->next) {
        if (strcmp(p->path, path) != 0) continue;
        *out_descriptor = p->descriptor;
        return CORRAL_OK;
    }
    const size_t length = strlen(path) + 1;
    plugin *added = calloc(1, sizeof *added + length);
    if (added == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to load it", path);

    const corral_status status = load(path, &added->descriptor);
    if (status != CORRAL_OK) {
        free(added);
        return status;
    }
    memcpy(added->path, path, length);
    added->next = plugins;
    plugins = added;
    *out_descriptor = added->descriptor;
    return CORRAL_OK;
}

corral_status corral_plugin_open(const char *path, const corral_env_plugin_descriptor **out_descriptor)
{
    char *resolved = realpath(path, NULL);
    if (resolved == NULL)
        return corral_fail_errno(errno == ENOENT ? CORRAL_ERROR_NOT_FOUND : CORRAL_ERROR_IO, errno,
                                 "%s: cannot open the environment library", path);
    pthread_mutex_lock(&plugins_lock);
    const corral_status status = open_resolved(resolved, out_descriptor);
    pthread_mutex_unlock(&plugins_lock);
    free(resolved);
    return status;
}

typedef struct made {
    struct made *next;
    const corral_env_plugin_descriptor *descriptor;
    const corral_env_type *type;
    char what[];
} made;

static made *all_made; // only grows

static corral_status make(const corral_env_plugin_descriptor *descriptor, const char *what,
                          const corral_env_type **out_type)
{
    for (const made *m = all_made; m != NULL; m = m->next) {
        if (m->descriptor != descriptor || strcmp(m->what, what) != 0) continue;
        *out_type = m->type;
        return CORRAL_OK;
    }
    made *added = calloc(1, sizeof *added + strlen(what) + 1);
    if (added == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to open it", what);
    corral_env_host_take_error();
    added->type = descriptor->open(corral_env_host_default(), what);
    corral_status status = CORRAL_OK;
    if (added->type == NULL) {
        const char *said = corral_env_host_take_error();
        status =
            corral_fail(CORRAL_ERROR_INVALID, "%s: %s", what, said[0] != '\0' ? said : "it cannot be opened");
    } else {
        status = corral_env_check_made(added->type);
    }
    if (status != CORRAL_OK) {
        free(added);
        return status;
    }
    added->descriptor = descriptor;
    strcpy(added->what, what);
    added->next = all_made;
    all_made = added;
    *out_type = added->type;
    return CORRAL_OK;
}

corral_status corral_plugin_make(const corral_env_plugin_descriptor *descriptor, const char *what,
                                 const corral_env_type **out_type)
{
    if (descriptor->size < sizeof *descriptor || descriptor->open == NULL)
        return corral_fail(CORRAL_ERROR_NOT_FOUND, "it makes no environments of names");
    pthread_mutex_lock(&plugins_lock);
    const corral_status status = make(descriptor, what, out_type);
    pthread_mutex_unlock(&plugins_lock);
    return status;
}
