// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Settings: what is accepted as a file is written and read back to equal values; what is refused has a
/// sentence. The same bytes are tried as a key=value word.
#include "fuzz.h"

#include "corral/base/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    corral_schedule rate;
    int64_t count, seed;
    double clip, limit;
    char name[CORRAL_TEXT_SIZE];
    corral_sizes hidden;
    corral_pairs params;
    int32_t choice;
    bool flag;
} settings;

static const char *const choices[] = {"ppo", "dqn", "null", "a b", NULL};

static const corral_field fields[] = {
    {"a.choice", CORRAL_FIELD_CHOICE, offsetof(settings, choice), 0, 0, choices, ""},
    {"a.rate", CORRAL_FIELD_SCHEDULE, offsetof(settings, rate), 0, 1, NULL, ""},
    {"a.b.count", CORRAL_FIELD_INT, offsetof(settings, count), 1, 1000, NULL, ""},
    {"seed", CORRAL_FIELD_INT, offsetof(settings, seed), 0, 0, NULL, ""},
    {"a.clip", CORRAL_FIELD_FLOAT, offsetof(settings, clip), 0, 0, NULL, ""},
    {"limit", CORRAL_FIELD_FLOAT, offsetof(settings, limit), 0, INFINITY, NULL, ""},
    {"name", CORRAL_FIELD_TEXT, offsetof(settings, name), 0, 0, NULL, ""},
    {"a.b.hidden", CORRAL_FIELD_SIZES, offsetof(settings, hidden), 0, 0, NULL, ""},
    {"env.params", CORRAL_FIELD_PAIRS, offsetof(settings, params), 0, 0, NULL, ""},
    {"env.flag", CORRAL_FIELD_BOOL, offsetof(settings, flag), 0, 0, NULL, ""},
    {NULL},
};

static void check_round_trip(const settings *s)
{
    char *text = NULL;
    if (corral_config_write(fields, s, &text) != CORRAL_OK) abort();
    settings again = {0};
    const char *names[1];
    if (corral_config_parse(fields, &again, "again", text, strlen(text)) != CORRAL_OK) abort();
    if (corral_config_diff(fields, s, &again, names, 1) != 0) abort();
    free(text);
}

static void check_outcome(corral_status status, const settings *s)
{
    if (status == CORRAL_OK)
        check_round_trip(s);
    else if (corral_last_error()[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    settings s = {.count = 1};
    check_outcome(corral_config_parse(fields, &s, "fuzz.yaml", (const char *)bytes, size), &s);

    char *word = malloc(size + 1);
    if (word == NULL) abort();
    memcpy(word, bytes, size);
    word[size] = '\0';
    s = (settings){.count = 1};
    check_outcome(corral_config_set(fields, &s, word), &s);
    free(word);
    return 0;
}
