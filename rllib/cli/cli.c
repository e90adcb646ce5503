// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "cli.h"

#include "corral/base/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const cli_command *command, const cli_flag *flags)
{
    printf("Usage: corral %s %s\n\n%s.\n", command->name, command->usage, command->summary);
    if (flags->name != NULL) printf("\nFlags:\n");
    for (; flags->name != NULL; flags++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", flags->name, flags->value_name != NULL ? flags->value_name : "");
        printf("  %-26s %s\n", left, flags->help);
    }
}

static corral_status unknown_flag(const cli_command *command, const cli_flag *flags, const char *word)
{
    const char *names[32];
    size_t count = 0;
    for (; flags->name != NULL && count < 32; flags++)
        names[count++] = flags->name;
    const char *near = corral_nearest(word, names, count);
    if (near != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "unknown flag %s; did you mean %s?", word, near);
    return corral_fail(CORRAL_ERROR_INVALID, "unknown flag %s; `corral %s --help` lists them", word,
                       command->name);
}

static const cli_flag *find_flag(const cli_flag *flags, const char *word)
{
    const size_t length = strcspn(word, "=");
    for (; flags->name != NULL; flags++)
        if (strlen(flags->name) == length && strncmp(flags->name, word, length) == 0) return flags;
    return NULL;
}

static corral_status add_word(cli_words *words, const char *key, const char *word)
{
    if (words->count == CLI_WORDS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "more than %d words", CLI_WORDS_MAX);
    words->key[words->count] = key;
    words->word[words->count++] = word;
    return CORRAL_OK;
}

/// Takes one flag; `*at` moves over a value that is a word of its own.
static corral_status take_flag(const cli_flag *flag, int argc, char **argv, int *at, cli_words *words)
{
    const char *equals = strchr(argv[*at], '=');
    if (flag->value_name == NULL) {
        if (equals != NULL) return corral_fail(CORRAL_ERROR_INVALID, "%s takes no value", flag->name);
        *flag->out_switch = true;
        return CORRAL_OK;
    }
    if (equals == NULL && *at + 1 >= argc)
        return corral_fail(CORRAL_ERROR_INVALID, "%s needs a value: %s %s", flag->name, flag->name,
                           flag->value_name);
    const char *value = equals != NULL ? equals + 1 : argv[++*at];
    if (flag->key != NULL) return add_word(words, flag->key, value);
    *flag->out_value = value;
    return CORRAL_OK;
}

corral_status cli_parse(const cli_command *command, int argc, char **argv, const cli_flag *flags,
                        cli_words *out_words, bool *out_help)
{
    out_words->count = 0;
    *out_help = false;
    corral_status status = CORRAL_OK;
    for (int i = 0; i < argc && status == CORRAL_OK; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(command, flags);
            *out_help = true;
            return CORRAL_OK;
        }
        const bool is_flag = argv[i][0] == '-' && argv[i][1] != '\0';
        const cli_flag *flag = is_flag ? find_flag(flags, argv[i]) : NULL;
        if (!is_flag)
            status = add_word(out_words, NULL, argv[i]);
        else if (flag == NULL)
            status = unknown_flag(command, flags, argv[i]);
        else
            status = take_flag(flag, argc, argv, &i, out_words);
    }
    return status;
}

corral_status cli_number(const char *flag, const char *text, long long low, long long high,
                         long long *out_value)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: \"%s\" is not a whole number", flag, text);
    if (value < low || value > high)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %s is outside %lld to %lld", flag, text, low, high);
    *out_value = value;
    return CORRAL_OK;
}

void cli_use_tls(const char *folder)
{
    if (folder != NULL) setenv("CORRAL_TLS", folder, 1);
}

int cli_fail(int code)
{
    fprintf(stderr, "corral: %s\n", corral_last_error());
    return code;
}

const char *cli_duration(double seconds, char *text, size_t size)
{
    const long long whole = (long long)seconds;
    if (seconds < 10)
        snprintf(text, size, "%.2f s", seconds);
    else if (seconds < 60)
        snprintf(text, size, "%.1f s", seconds);
    else if (seconds < 3600)
        snprintf(text, size, "%lld min %02lld s", whole / 60, whole % 60);
    else
        snprintf(text, size, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
    return text;
}

const char *cli_count(unsigned long long count, char *text, size_t size)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%llu", count);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}
