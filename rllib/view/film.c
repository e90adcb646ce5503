// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "film.h"

#include "film_format.h"

#include "corral/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 10000 };

struct film {
    const film_format *format; // NULL: a folder of pictures
    void *writer;
    char *path;   // as asked for, less a slash at the end
    char *hidden; // where the file is written; of a folder: the folder itself
    uint32_t episode, frame;
    uint32_t width, height;
};

static const film_format *const formats[] = {&film_mp4, &film_gif};

// --- names ------------------------------------------------------------------------------------------------

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/// "a.gif" is "a-2.gif" for attempt 2; a folder's name is lengthened at its end.
static char *numbered(const char *path, int attempt)
{
    if (attempt == 1) return corral_format("%s", path);
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (dot == NULL || (slash != NULL && dot < slash)) return corral_format("%s-%d", path, attempt);
    return corral_format("%.*s-%d%s", (int)(dot - path), path, attempt, dot);
}

/// Gives a finished file the first free name.
static corral_status publish(const char *hidden, const char *path, char **out_path)
{
    for (int attempt = 1; attempt < NAMES_MAX; attempt++) {
        char *name = numbered(path, attempt);
        if (name == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
        if (link(hidden, name) == 0) {
            unlink(hidden);
            *out_path = name;
            return CORRAL_OK;
        }
        const int error = errno;
        // Some file systems know no links.
        if (error != EEXIST && access(name, F_OK) != 0 && rename(hidden, name) == 0) {
            *out_path = name;
            return CORRAL_OK;
        }
        free(name);
        if (error != EEXIST)
            return corral_fail_errno(CORRAL_ERROR_IO, error, "cannot name the file %s", path);
    }
    return corral_fail(CORRAL_ERROR_EXISTS, "%s and every name like it is taken", path);
}

static char *hidden_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    return corral_format("%.*s.%s.%ld", (int)(base - path), path, base, (long)getpid());
}

static corral_status make_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) return CORRAL_OK;
    char *parent = corral_format("%.*s", (int)(slash - path), path);
    if (parent == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const corral_status status = corral_folder_create(parent);
    free(parent);
    return status;
}

// --- films ------------------------------------------------------------------------------------------------

static corral_status make_folder(film *f)
{
    for (int attempt = 1; attempt < NAMES_MAX; attempt++) {
        free(f->hidden);
        f->hidden = numbered(f->path, attempt);
        if (f->hidden == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
        if (mkdir(f->hidden, 0777) == 0) return CORRAL_OK;
        if (errno != EEXIST)
            return corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot create the folder %s", f->hidden);
    }
    return corral_fail(CORRAL_ERROR_EXISTS, "%s and every name like it is taken", f->path);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return ends_with(path, "/") || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

static corral_status choose_format(film *f, const char *path)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (ends_with(path, formats[i]->suffix)) f->format = formats[i];
    if (f->format == NULL && !is_folder(path))
        return corral_fail(CORRAL_ERROR_INVALID,
                           "%s: a recording's name ends with .mp4, .gif, or a slash for a folder of PNGs",
                           path);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    f->path = corral_format("%.*s", (int)length, path);
    return f->path != NULL ? make_parent(f->path)
                           : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
}

static corral_status open_file(film *f, double fps)
{
    f->hidden = hidden_name(f->path);
    if (f->hidden == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    if (fps > f->format->fps_max) fps = f->format->fps_max;
    return f->format->open(f->hidden, f->width, f->height, fps, &f->writer);
}

corral_status film_open(const char *path, uint32_t width, uint32_t height, double fps, film **out_film)
{
    film *f = calloc(1, sizeof *f);
    if (f == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a recording");
    f->width = width;
    f->height = height;
    corral_status status = choose_format(f, path);
    if (status == CORRAL_OK) status = f->format != NULL ? open_file(f, fps) : make_folder(f);
    if (status != CORRAL_OK) {
        film_abandon(f);
        return status;
    }
    *out_film = f;
    return CORRAL_OK;
}

void film_episode(film *f, uint32_t episode)
{
    f->episode = episode;
    f->frame = 0;
}

corral_status film_add(film *f, const canvas *frame)
{
    CORRAL_ASSERT(frame->width == f->width && frame->height == f->height);
    if (f->format != NULL) return f->format->add(f->writer, frame);
    char *path = corral_format("%s/episode-%03u-frame-%05u.png", f->hidden, f->episode, f->frame++);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const corral_status status = png_write(path, frame);
    free(path);
    return status;
}

static void film_free(film *f)
{
    free(f->path);
    free(f->hidden);
    free(f);
}

corral_status film_close(film *f, char **out_path)
{
    corral_status status = CORRAL_OK;
    *out_path = NULL;
    if (f->format == NULL) {
        *out_path = f->hidden;
        f->hidden = NULL;
    } else {
        status = f->format->close(f->writer, true);
        if (status == CORRAL_OK) status = publish(f->hidden, f->path, out_path);
        if (status != CORRAL_OK) unlink(f->hidden);
    }
    film_free(f);
    return status;
}

void film_abandon(film *f)
{
    if (f == NULL) return;
    if (f->writer != NULL) (void)f->format->close(f->writer, false);
    if (f->format != NULL && f->hidden != NULL) unlink(f->hidden);
    film_free(f);
}

corral_status film_picture(const char *path, const canvas *picture, char **out_path)
{
    corral_status status = make_parent(path);
    if (status != CORRAL_OK) return status;
    char *hidden = hidden_name(path);
    if (hidden == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    status = png_write(hidden, picture);
    if (status == CORRAL_OK) status = publish(hidden, path, out_path);
    if (status != CORRAL_OK) unlink(hidden);
    free(hidden);
    return status;
}

corral_status film_text(const char *path, const char *text, size_t size, char **out_path)
{
    corral_status status = make_parent(path);
    if (status != CORRAL_OK) return status;
    char *hidden = hidden_name(path);
    if (hidden == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    status = corral_file_write(hidden, text, size);
    if (status == CORRAL_OK) status = publish(hidden, path, out_path);
    if (status != CORRAL_OK) unlink(hidden);
    free(hidden);
    return status;
}
