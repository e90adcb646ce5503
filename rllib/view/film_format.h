// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What film.c asks of a file format. Not for others.
#ifndef CORRAL_VIEW_FILM_FORMAT_H
#define CORRAL_VIEW_FILM_FORMAT_H

#include "canvas.h"

typedef struct film_format {
    const char *suffix;
    double fps_max;
    corral_status (*open)(const char *path, uint32_t width, uint32_t height, double fps, void **out_writer);
    corral_status (*add)(void *writer, const canvas *frame);
    /// Finishes the file where `keep`, and frees the writer in any case.
    corral_status (*close)(void *writer, bool keep);
} film_format;

extern const film_format film_gif, film_mp4;

CORRAL_MUST_USE corral_status png_write(const char *path, const canvas *picture);

#endif
