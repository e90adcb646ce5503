// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Frames into a file: MP4, GIF, or a folder of PNGs, one frame after the other, so that a long film needs no
/// more memory than a short one.
///
/// A film is written under a hidden name beside its own and gets its name at the end; a name that is taken
/// becomes NAME-2, NAME-3, and so on. Nothing is ever overwritten.
#ifndef CORRAL_VIEW_FILM_H
#define CORRAL_VIEW_FILM_H

#include "canvas.h"

#include <stddef.h>

typedef struct film film;

/// What the name's end says: ".mp4", ".gif", or "/" (or an existing folder's name) for PNGs. Anything else is
/// CORRAL_ERROR_INVALID. `fps` above what the format can hold is brought down to it.
CORRAL_MUST_USE corral_status film_open(const char *path, uint32_t width, uint32_t height, double fps,
                                        film **out_film);
/// Every frame has the film's size.
CORRAL_MUST_USE corral_status film_add(film *film, const canvas *frame);
/// The next frames of a folder are named after this episode; files do not care.
void film_episode(film *film, uint32_t episode);
/// Finishes the file under its name, which the caller frees. The film is gone, also after a failure.
CORRAL_MUST_USE corral_status film_close(film *film, char **out_path);
/// Removes what was written. NULL is fine.
void film_abandon(film *film);

/// One picture, as PNG, under a name that was free; the caller frees it.
CORRAL_MUST_USE corral_status film_picture(const char *path, const canvas *picture, char **out_path);

/// The same for a text.
CORRAL_MUST_USE corral_status film_text(const char *path, const char *text, size_t size, char **out_path);

#endif
