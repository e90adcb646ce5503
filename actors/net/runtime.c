// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "runtime.h"

#include "corral/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ID_SIZE = 9, ATTEMPTS = 16, ENTRY_MAX = 4096, BACKLOG = 32 };

struct corral_runtime {
    char folder[PATH_MAX];
    char id[ID_SIZE];
    int lock;
    char socket_path[sizeof((struct sockaddr_un *)0)->sun_path];
    char entry_path[PATH_MAX + 32];
};

corral_status corral_runtime_random(char *out_hex, size_t size)
{
    unsigned char bytes[64];
    const size_t count = size / 2;
    if (count > sizeof bytes || getrandom(bytes, count, 0) != (ssize_t)count)
        return corral_fail(CORRAL_ERROR_IO, "the system gives no random numbers");
    for (size_t i = 0; i < count; i++)
        snprintf(out_hex + 2 * i, 3, "%02x", bytes[i]);
    return CORRAL_OK;
}

static bool is_our_folder(const char *path, mode_t forbidden)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & forbidden) == 0;
}

static void folder_path(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    const char *base = runtime != NULL && is_our_folder(runtime, 077) ? runtime
                       : temporary != NULL && temporary[0] == '/'     ? temporary
                                                                      : "/tmp";
    snprintf(path, size, "%s/corral-%u", base, (unsigned)geteuid());
}

static corral_status make_folder(const char *path)
{
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make the runtime folder %s", path);
    if (is_our_folder(path, 077)) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_REFUSED, "%s is not a folder of ours alone (mode 0700); remove it", path);
}

// --- locks: who lives
// -------------------------------------------------------------------------------------------------

static int open_in(const char *folder, const char *name, const char *suffix, int flags)
{
    char path[PATH_MAX + 320];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void remove_in(const char *folder, const char *name, const char *suffix)
{
    char path[PATH_MAX + 320];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    unlink(path);
}

static bool is_alive(const char *folder, const char *id)
{
    const int lock = open_in(folder, id, ".lock", O_RDONLY);
    if (lock < 0) return false;
    const bool alive = flock(lock, LOCK_SH | LOCK_NB) != 0; // the node holds it exclusively
    close(lock);
    return alive;
}

// The id of the node that wrote an entry: its first line.
static bool read_entry(const char *folder, const char *name, char id[ID_SIZE],
                       corral_runtime_entry *out_entry)
{
    char path[PATH_MAX + 320], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (corral_file_read(path, ENTRY_MAX, &text, &size) != CORRAL_OK) return false;
    long pid = 0;
    *out_entry = (corral_runtime_entry){0};
    const int found = sscanf(text, "%8s\n%ld\n%127s\n%32s\n%127[^\n]", id, &pid, out_entry->address,
                             out_entry->token, out_entry->socket);
    out_entry->pid = (pid_t)pid;
    free(text);
    return found >= 4;
}

static bool is_entry(const char *name)
{
    return strncmp(name, "head-", 5) == 0 || strncmp(name, "node-", 5) == 0;
}

static void remove_entries_of(const char *folder, const char *id)
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *file = NULL; open_folder != NULL && (file = readdir(open_folder)) != NULL;) {
        char owner[ID_SIZE];
        corral_runtime_entry entry;
        if (is_entry(file->d_name) && read_entry(folder, file->d_name, owner, &entry) &&
            strcmp(owner, id) == 0)
            remove_in(folder, file->d_name, "");
    }
    if (open_folder != NULL) closedir(open_folder);
}

// What killed nodes left: their locks are free.
static void remove_stale(const char *folder)
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *file = NULL; open_folder != NULL && (file = readdir(open_folder)) != NULL;) {
        const size_t length = strlen(file->d_name);
        if (length != ID_SIZE - 1 + 5 || strcmp(file->d_name + ID_SIZE - 1, ".lock") != 0) continue;
        char id[ID_SIZE] = {0};
        memcpy(id, file->d_name, ID_SIZE - 1);
        const int lock = open_in(folder, id, ".lock", O_RDWR);
        if (lock < 0) continue;
        if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
            remove_entries_of(folder, id);
            remove_in(folder, id, ".sock");
            remove_in(folder, id, ".lock");
        }
        close(lock);
    }
    if (open_folder != NULL) closedir(open_folder);
}

// One attempt: another node may clean our fresh file away before we have locked it.
static bool take_lock(corral_runtime *runtime)
{
    struct stat info;
    runtime->lock = open_in(runtime->folder, runtime->id, ".lock", O_RDWR | O_CREAT | O_EXCL);
    if (runtime->lock < 0) return false;
    if (flock(runtime->lock, LOCK_EX | LOCK_NB) == 0 && fstat(runtime->lock, &info) == 0 && info.st_nlink > 0)
        return true;
    close(runtime->lock);
    runtime->lock = -1;
    return false;
}

corral_status corral_runtime_open(corral_runtime **out_runtime)
{
    corral_runtime *runtime = calloc(1, sizeof *runtime);
    if (runtime == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for the runtime folder");
    runtime->lock = -1;
    folder_path(runtime->folder, sizeof runtime->folder);
    corral_status status = CORRAL_OK;
    // The folder may go between our making it and our using it, when another node was its last.
    for (int i = 0; i < ATTEMPTS && runtime->lock < 0 && status == CORRAL_OK; i++) {
        status = make_folder(runtime->folder);
        if (status == CORRAL_OK) status = corral_runtime_random(runtime->id, sizeof runtime->id);
        if (status == CORRAL_OK) take_lock(runtime);
    }
    if (status == CORRAL_OK && runtime->lock < 0)
        status = corral_fail(CORRAL_ERROR_IO, "cannot make a file in the runtime folder %s", runtime->folder);
    if (status != CORRAL_OK) {
        free(runtime);
        return status;
    }
    remove_stale(runtime->folder);
    *out_runtime = runtime;
    return CORRAL_OK;
}

void corral_runtime_close(corral_runtime *runtime)
{
    if (runtime == NULL) return;
    if (runtime->entry_path[0] != '\0') unlink(runtime->entry_path);
    if (runtime->socket_path[0] != '\0') unlink(runtime->socket_path);
    remove_in(runtime->folder, runtime->id, ".lock");
    close(runtime->lock);
    remove_stale(runtime->folder); // what a killed one left shall not keep the folder
    rmdir(runtime->folder);        // fails while others are in it
    free(runtime);
}

void corral_runtime_sweep(void)
{
    char folder[PATH_MAX];
    folder_path(folder, sizeof folder);
    if (!is_our_folder(folder, 077)) return;
    remove_stale(folder);
    rmdir(folder); // fails while others are in it
}

// --- sockets
// ------------------------------------------------------------------------------------------------------------

static bool socket_address(const char *path, struct sockaddr_un *out_address)
{
    *out_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out_address->sun_path) return false;
    memcpy(out_address->sun_path, path, strlen(path));
    return true;
}

corral_status corral_runtime_listen(corral_runtime *runtime, int *out_socket)
{
    char path[PATH_MAX + 32];
    struct sockaddr_un address;
    snprintf(path, sizeof path, "%s/%s.sock", runtime->folder, runtime->id);
    if (!socket_address(path, &address))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "%s is too long for a socket (107 bytes); set TMPDIR to a shorter one", path);
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make a socket");
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || chmod(path, 0600) != 0 ||
        listen(listener, BACKLOG) != 0) {
        const int error = errno;
        close(listener);
        return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot listen at %s", path);
    }
    memcpy(runtime->socket_path, address.sun_path, sizeof runtime->socket_path);
    *out_socket = listener;
    return CORRAL_OK;
}

const char *corral_runtime_socket_path(const corral_runtime *runtime)
{
    return runtime->socket_path;
}

bool corral_runtime_peer_is_ours(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

corral_status corral_runtime_attach(const char *socket_path, int *out_socket)
{
    struct sockaddr_un address;
    if (!socket_address(socket_path, &address))
        return corral_fail(CORRAL_ERROR_INVALID, "%s is too long for a socket", socket_path);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0) return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        const int error = errno;
        close(fd);
        return corral_fail_errno(CORRAL_ERROR_LOST, error, "no node answers at %s", socket_path);
    }
    if (!corral_runtime_peer_is_ours(fd)) {
        close(fd);
        return corral_fail(CORRAL_ERROR_REFUSED, "the node at %s belongs to another user", socket_path);
    }
    *out_socket = fd;
    return CORRAL_OK;
}

// --- entries
// ------------------------------------------------------------------------------------------------------------

corral_status corral_runtime_announce(corral_runtime *runtime, bool head, const char *address, uint16_t port,
                                      const char *token)
{
    char name[32], text[ENTRY_MAX];
    snprintf(name, sizeof name, "%s-%u", head ? "head" : "node", port);
    snprintf(runtime->entry_path, sizeof runtime->entry_path, "%s/%s", runtime->folder, name);
    const int length = snprintf(text, sizeof text, "%s\n%ld\n%s\n%s\n%s\n", runtime->id, (long)getpid(),
                                address, token, runtime->socket_path);
    unlink(runtime->entry_path); // the port is ours now, so an older entry is a dead node's
    const int fd = open_in(runtime->folder, name, "", O_WRONLY | O_CREAT | O_EXCL);
    const bool written = fd >= 0 && write(fd, text, (size_t)length) == length;
    const int error = errno;
    if (fd >= 0) close(fd);
    return written ? CORRAL_OK
                   : corral_fail_errno(CORRAL_ERROR_IO, error, "cannot write %s", runtime->entry_path);
}

static corral_status find_only_head(const char *folder, corral_runtime_entry *out_entry)
{
    char found[256] = "";
    unsigned count = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *file = NULL; open_folder != NULL && (file = readdir(open_folder)) != NULL;) {
        char id[ID_SIZE];
        corral_runtime_entry entry;
        if (strncmp(file->d_name, "head-", 5) != 0 || !read_entry(folder, file->d_name, id, &entry) ||
            !is_alive(folder, id))
            continue;
        const size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%s", count > 0 ? ", " : "", entry.address);
        *out_entry = entry;
        count++;
    }
    if (open_folder != NULL) closedir(open_folder);
    if (count == 1) return CORRAL_OK;
    if (count == 0)
        return corral_fail(CORRAL_ERROR_NOT_FOUND,
                           "no head of yours runs on this host; name one with --cluster "
                           "HOST:PORT, or start one with `corral node --head`");
    return corral_fail(CORRAL_ERROR_INVALID,
                       "%u heads run on this host, at %s; name one with --cluster HOST:PORT", count, found);
}

corral_status corral_runtime_find(uint16_t port, corral_runtime_entry *out_entry)
{
    char folder[PATH_MAX], name[32], id[ID_SIZE];
    folder_path(folder, sizeof folder);
    const bool safe = is_our_folder(folder, 077);
    if (port == 0) return find_only_head(safe ? folder : "", out_entry);
    for (int head = 1; safe && head >= 0; head--) {
        snprintf(name, sizeof name, "%s-%u", head ? "head" : "node", port);
        if (read_entry(folder, name, id, out_entry) && is_alive(folder, id)) return CORRAL_OK;
    }
    return corral_fail(CORRAL_ERROR_NOT_FOUND, "no node of yours on this host listens at port %u", port);
}
