// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "film_format.h"

#include <png.h>

#include <string.h>

corral_status png_write(const char *path, const canvas *picture)
{
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = picture->width;
    image.height = picture->height;
    image.format = PNG_FORMAT_RGB;
    if (png_image_write_to_file(&image, path, 0, picture->rgb, 0, NULL)) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_IO, "cannot write %s: %s", path, image.message);
}
