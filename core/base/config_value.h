// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Private to core/base: one value of a configuration, from the text of a YAML scalar and back.
#ifndef CORRAL_BASE_CONFIG_VALUE_H
#define CORRAL_BASE_CONFIG_VALUE_H

#include "corral/base/config.h"

/// A scalar of the file. Only a plain one can be a number, true, false or null; a quoted one is text.
typedef struct corral_scalar {
    const char *text; // ends with a zero byte; may hold others, which are refused
    size_t length;
    bool plain;
} corral_scalar;

/// Where the field's value lies in the struct.
void *corral_config_place(const corral_field *field, void *config);
const void *corral_config_const_place(const corral_field *field, const void *config);

/// Nothing, `~` or `null`.
bool corral_scalar_is_null(const corral_scalar *scalar);

/// True for text that a line of YAML can hold in double quotes and a terminal can show: valid UTF-8 without
/// control characters and without line breaks of any alphabet.
bool corral_text_is_one_line(const char *text, size_t length);

/// "a whole number", "one of ppo, dqn": what a message says that the field expects. Static text.
const char *corral_config_expects(const corral_field *field);

/// Errors name the field, not the file.
CORRAL_MUST_USE corral_status corral_config_set_scalar(const corral_field *field, void *config,
                                                       const corral_scalar *scalar);
CORRAL_MUST_USE corral_status corral_config_append_size(const corral_field *field, void *config,
                                                        const corral_scalar *scalar);
/// Appends to a list of words. With `argument` the words are a word's arguments: the first one is put behind
/// it with '=', the others with ':'.
CORRAL_MUST_USE corral_status corral_config_append_word(const corral_field *field, void *config,
                                                        const corral_scalar *scalar, bool argument);
/// Replaces the pair of this name or adds one.
CORRAL_MUST_USE corral_status corral_config_set_pair(const corral_field *field, void *config,
                                                     const char *name, const corral_scalar *scalar);

#endif
