// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// "Did you mean": the name that the fewest edits lead to. An edit inserts, drops or changes a letter, or
/// swaps two neighbours (the optimal string alignment distance). Three rows of the usual table are enough,
/// because a swap looks back two rows.
///
/// A word that is the last part of a dotted name ("epochs" for "ppo.epochs") counts as one edit away.
#include "corral/base/config.h"

#include <string.h>

enum { WORD_MAX = 96 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *older = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            const unsigned change = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smaller(change, 1 + smaller(above[j], row[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], older[j - 2] + 1);
        }
        unsigned *const oldest = older;
        older = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

static bool is_last_part(const char *word, size_t length, const char *name, size_t name_length)
{
    return name_length > length && name[name_length - length - 1] == '.' &&
           strcmp(name + name_length - length, word) == 0;
}

const char *corral_nearest(const char *word, const char *const *names, size_t count)
{
    const size_t length = strlen(word);
    if (length == 0 || length > WORD_MAX) return NULL;

    const char *nearest = NULL;
    unsigned fewest =
        (unsigned)(length / 3 > 1 ? length / 3 : 1) + 1; // farther than this is a guess, not help
    for (size_t i = 0; i < count; i++) {
        const size_t name_length = strlen(names[i]);
        if (name_length > WORD_MAX) continue;
        const unsigned edits = is_last_part(word, length, names[i], name_length)
                                   ? 1
                                   : edit_distance(word, length, names[i], name_length);
        if (edits < fewest) {
            fewest = edits;
            nearest = names[i];
        }
    }
    return nearest;
}
