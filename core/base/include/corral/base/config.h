// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Settings: one table of fields per configuration struct gives files, flags, --help and saved runs.
///
/// A table lists every key once: its dotted name, its type, where it lies in the struct, its range and one
/// line of help. Values come in order: the struct's defaults, then a YAML file, then `key=value` words.
/// Scalars follow YAML 1.2's core schema (1e-4 is a number, `no` is text). An unknown key is an error that
/// names the line and the nearest known key; so are a wrong type, a value out of range and a repeated key.
#ifndef CORRAL_BASE_CONFIG_H
#define CORRAL_BASE_CONFIG_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum corral_field_type {
    CORRAL_FIELD_BOOL,     // bool
    CORRAL_FIELD_INT,      // int64_t, min..max
    CORRAL_FIELD_FLOAT,    // double, min..max, finite unless the range is not
    CORRAL_FIELD_TEXT,     // char[CORRAL_TEXT_SIZE]
    CORRAL_FIELD_CHOICE,   // int32_t, an index into `choices`
    CORRAL_FIELD_SIZES,    // corral_sizes, each element min..max
    CORRAL_FIELD_SCHEDULE, // corral_schedule, both ends min..max
    CORRAL_FIELD_PAIRS,    // corral_pairs: free keys below this name, for environment parameters
    CORRAL_FIELD_WORDS,    // corral_words: a list of words, each with or without arguments
} corral_field_type;

enum { CORRAL_TEXT_SIZE = 256, CORRAL_SIZES_MAX = 8, CORRAL_PAIRS_MAX = 16, CORRAL_WORDS_MAX = 16 };

/// A short list of whole numbers: `[64, 64]`.
typedef struct corral_sizes {
    uint32_t count;
    uint32_t value[CORRAL_SIZES_MAX];
} corral_sizes;

/// A value over the course of a run: a number (constant), or `linear(FROM)` (to 0), or `linear(FROM, TO)`.
/// Progress is steps done over the budget of steps, 0 to 1.
typedef struct corral_schedule {
    double from, to;
} corral_schedule;

double corral_schedule_at(const corral_schedule *schedule, double progress);

/// Name and value as text, as given: `env.params: {gravity: 9.8}`.
typedef struct corral_pairs {
    uint32_t count;
    struct {
        char name[64];
        char value[64];
    } pair[CORRAL_PAIRS_MAX];
} corral_pairs;

/// A list in which the order counts: `[grey, resize: [42, 42], frame_stack: 4]` is kept as "grey",
/// "resize=42:42", "frame_stack=4", and may be written so too.
typedef struct corral_words {
    uint32_t count;
    char word[CORRAL_WORDS_MAX][64];
} corral_words;

typedef struct corral_field {
    const char *name; // "ppo.learning_rate"; NULL ends the table
    corral_field_type type;
    size_t offset;              // offsetof in the struct
    double min, max;            // for numbers, sizes and schedules; both 0: no range
    const char *const *choices; // NULL-terminated, for CORRAL_FIELD_CHOICE
    const char *help;           // one line, no full stop at the end
} corral_field;

/// Reads a YAML file of at most 1 MiB into `config`; `path` is what messages call it. Aliases are refused
/// (a YAML bomb costs nothing). On failure `config` may be partly filled and must not be used.
CORRAL_MUST_USE corral_status corral_config_read(const corral_field *fields, void *config, const char *path);

/// The same from memory. `name` is what messages call it.
CORRAL_MUST_USE corral_status corral_config_parse(const corral_field *fields, void *config, const char *name,
                                                  const char *text, size_t size);

/// One `key=value` word; the value may be any YAML flow text: `network.hidden=[64,64]`.
CORRAL_MUST_USE corral_status corral_config_set(const corral_field *fields, void *config,
                                                const char *assignment);

/// Sets one key to a text value, as if the file had held `key: value`.
CORRAL_MUST_USE corral_status corral_config_set_value(const corral_field *fields, void *config,
                                                      const char *key, const char *value);

/// Writes every key, nested, as YAML that corral_config_parse() reads back to equal values (doubles with
/// 17 digits where 15 do not round-trip). The caller frees `*out_text`.
CORRAL_MUST_USE corral_status corral_config_write(const corral_field *fields, const void *config,
                                                  char **out_text);

/// One value as text ("0.0003", "linear(0.001)", "[64, 64]"). The caller frees it; NULL without memory.
char *corral_config_value(const corral_field *field, const void *config);

/// The table as help text: one line per key with its default (taken from `defaults`), range and help.
void corral_config_help(const corral_field *fields, const void *defaults, FILE *out);

/// The names of keys whose values differ between two configs, at most `limit`. Returns how many differ.
size_t corral_config_diff(const corral_field *fields, const void *a, const void *b, const char **out_names,
                          size_t limit);

/// Of `count` names, the one nearest to `word` by edits, or NULL when none is near. For "did you mean".
const char *corral_nearest(const char *word, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif
#endif
