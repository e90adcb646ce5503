// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Settings as text: one value, a whole file, the help of a program; and which of them differ.
///
/// Each value is written so that the reader takes it for the same value again: text is put in quotes where
/// the bare word would be null, a number or a flag, or holds a character that YAML gives a meaning.
#include "corral/base/config.h"

#include "config_value.h"
#include "number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- one value

static bool is_plain_word(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./";
    static const char *const flags[] = {"true", "True", "TRUE", "false", "False", "FALSE", NULL};
    const size_t length = strlen(text);
    // A first letter from the list, and then also signs: "-" or "+" in front could begin a list or a number.
    if (length == 0 || strspn(text, letters) == 0) return false;
    for (size_t i = 0; i < length; i++)
        if (strchr(letters, text[i]) == NULL && strchr("-+", text[i]) == NULL) return false;

    const corral_scalar scalar = {.text = text, .length = length, .plain = true};
    double number = 0;
    if (corral_scalar_is_null(&scalar) || corral_number_parse(text, &number)) return false;
    for (size_t i = 0; flags[i] != NULL; i++)
        if (strcmp(text, flags[i]) == 0) return false;
    // "..." ends a document.
    return strspn(text, ".") != length;
}

static void write_text(const char *text, FILE *out)
{
    if (is_plain_word(text)) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') fputc('\\', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

// Values of free keys are kept as text, so that a bare number stays the same text.
static void write_pair_value(const char *text, FILE *out)
{
    double number = 0;
    if (corral_number_parse(text, &number) || strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        fputs(text, out);
    else
        write_text(text, out);
}

static void write_pairs(const corral_pairs *pairs, FILE *out)
{
    fputc('{', out);
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (i > 0) fputs(", ", out);
        write_text(pairs->pair[i].name, out);
        fputs(": ", out);
        write_pair_value(pairs->pair[i].value, out);
    }
    fputc('}', out);
}

static void write_sizes(const corral_sizes *sizes, FILE *out)
{
    fputc('[', out);
    for (uint32_t i = 0; i < sizes->count; i++)
        fprintf(out, "%s%" PRIu32, i > 0 ? ", " : "", sizes->value[i]);
    fputc(']', out);
}

static void write_words(const corral_words *words, FILE *out)
{
    fputc('[', out);
    for (uint32_t i = 0; i < words->count; i++) {
        if (i > 0) fputs(", ", out);
        write_text(words->word[i], out);
    }
    fputc(']', out);
}

static void write_number(double value, FILE *out)
{
    char text[CORRAL_NUMBER_SIZE];
    corral_number_format(value, text);
    fputs(text, out);
}

static void write_schedule(const corral_schedule *schedule, FILE *out)
{
    if (schedule->from == schedule->to) {
        write_number(schedule->from, out);
        return;
    }
    fputs("linear(", out);
    write_number(schedule->from, out);
    if (schedule->to != 0) {
        fputs(", ", out);
        write_number(schedule->to, out);
    }
    fputc(')', out);
}

static void write_value(const corral_field *field, const void *config, FILE *out)
{
    const void *value = corral_config_const_place(field, config);
    switch (field->type) {
    case CORRAL_FIELD_BOOL:
        fputs(*(const bool *)value ? "true" : "false", out);
        break;
    case CORRAL_FIELD_INT:
        fprintf(out, "%" PRId64, *(const int64_t *)value);
        break;
    case CORRAL_FIELD_FLOAT:
        write_number(*(const double *)value, out);
        break;
    case CORRAL_FIELD_TEXT:
        write_text(value, out);
        break;
    case CORRAL_FIELD_CHOICE:
        write_text(field->choices[*(const int32_t *)value], out);
        break;
    case CORRAL_FIELD_SIZES:
        write_sizes(value, out);
        break;
    case CORRAL_FIELD_SCHEDULE:
        write_schedule(value, out);
        break;
    case CORRAL_FIELD_PAIRS:
        write_pairs(value, out);
        break;
    case CORRAL_FIELD_WORDS:
        write_words(value, out);
        break;
    }
}

char *corral_config_value(const corral_field *field, const void *config)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    write_value(field, config, out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

// --- a file

// What a program has put into the struct by itself may be text that no reader takes back.
static corral_status check_texts(const corral_field *fields, const void *config)
{
    for (const corral_field *field = fields; field->name != NULL; field++) {
        const void *value = corral_config_const_place(field, config);
        bool fine = true;
        if (field->type == CORRAL_FIELD_TEXT) fine = corral_text_is_one_line(value, strlen(value));
        if (field->type == CORRAL_FIELD_PAIRS) {
            const corral_pairs *pairs = value;
            for (uint32_t i = 0; i < pairs->count; i++)
                fine = fine && corral_text_is_one_line(pairs->pair[i].name, strlen(pairs->pair[i].name)) &&
                       corral_text_is_one_line(pairs->pair[i].value, strlen(pairs->pair[i].value));
        }
        if (field->type == CORRAL_FIELD_WORDS) {
            const corral_words *words = value;
            for (uint32_t i = 0; i < words->count; i++)
                fine = fine && corral_text_is_one_line(words->word[i], strlen(words->word[i]));
        }
        if (!fine)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "%s: the value holds a line break or a control character", field->name);
    }
    return CORRAL_OK;
}

static bool starts_with(const char *name, const char *prefix, size_t prefix_length)
{
    return strncmp(name, prefix, prefix_length) == 0;
}

static bool is_first_of_section(const corral_field *fields, const corral_field *field, size_t section_length)
{
    for (const corral_field *earlier = fields; earlier < field; earlier++)
        if (starts_with(earlier->name, field->name, section_length)) return false;
    return true;
}

// Writes the keys whose name begins with the first `prefix_length` bytes of `prefix` ("" or "ppo."). A
// section is written whole where its first key stands, even when the table has its keys in several places.
static void write_section(const corral_field *fields, const void *config, const char *prefix,
                          size_t prefix_length, int depth, FILE *out)
{
    for (const corral_field *field = fields; field->name != NULL; field++) {
        if (!starts_with(field->name, prefix, prefix_length)) continue;
        const char *rest = field->name + prefix_length;
        const char *dot = strchr(rest, '.');
        if (dot == NULL) {
            fprintf(out, "%*s%s: ", 2 * depth, "", rest);
            write_value(field, config, out);
            fputc('\n', out);
            continue;
        }
        const size_t section_length = (size_t)(dot - field->name) + 1;
        if (!is_first_of_section(fields, field, section_length)) continue;
        fprintf(out, "%*s%.*s:\n", 2 * depth, "", (int)(dot - rest), rest);
        write_section(fields, config, field->name, section_length, depth + 1, out);
    }
}

corral_status corral_config_write(const corral_field *fields, const void *config, char **out_text)
{
    const corral_status status = check_texts(fields, config);
    if (status != CORRAL_OK) return status;

    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write the configuration");
    write_section(fields, config, "", 0, 0, out);
    if (fclose(out) != 0) {
        free(text);
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write the configuration");
    }
    *out_text = text;
    return CORRAL_OK;
}

// --- help

static void write_range(const corral_field *field, FILE *out)
{
    if (field->type == CORRAL_FIELD_CHOICE) {
        for (size_t i = 0; field->choices[i] != NULL; i++)
            fprintf(out, "%s%s", i > 0 ? ", " : " (", field->choices[i]);
        fputc(')', out);
        return;
    }
    if (field->min == 0 && field->max == 0) return;
    fputs(" (", out);
    write_number(field->min, out);
    fputs(" to ", out);
    write_number(field->max, out);
    fputc(')', out);
}

void corral_config_help(const corral_field *fields, const void *defaults, FILE *out)
{
    int width = 0;
    for (const corral_field *field = fields; field->name != NULL; field++) {
        const int length = (int)strlen(field->name);
        if (length > width) width = length;
    }
    for (const corral_field *field = fields; field->name != NULL; field++) {
        char *value = corral_config_value(field, defaults);
        fprintf(out, "  %-*s  %-12s  %s", width, field->name, value != NULL ? value : "?", field->help);
        write_range(field, out);
        fputc('\n', out);
        free(value);
    }
}

// --- differences

static bool sizes_equal(const corral_sizes *a, const corral_sizes *b)
{
    return a->count == b->count && memcmp(a->value, b->value, a->count * sizeof a->value[0]) == 0;
}

static bool pairs_equal(const corral_pairs *a, const corral_pairs *b)
{
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->pair[i].name, b->pair[i].name) != 0 || strcmp(a->pair[i].value, b->pair[i].value) != 0)
            return false;
    return true;
}

static bool words_equal(const corral_words *a, const corral_words *b)
{
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->word[i], b->word[i]) != 0) return false;
    return true;
}

static bool values_equal(const corral_field *field, const void *a, const void *b)
{
    switch (field->type) {
    case CORRAL_FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case CORRAL_FIELD_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case CORRAL_FIELD_FLOAT:
        return *(const double *)a == *(const double *)b;
    case CORRAL_FIELD_TEXT:
        return strcmp(a, b) == 0;
    case CORRAL_FIELD_CHOICE:
        return *(const int32_t *)a == *(const int32_t *)b;
    case CORRAL_FIELD_SIZES:
        return sizes_equal(a, b);
    case CORRAL_FIELD_SCHEDULE:
        return ((const corral_schedule *)a)->from == ((const corral_schedule *)b)->from &&
               ((const corral_schedule *)a)->to == ((const corral_schedule *)b)->to;
    case CORRAL_FIELD_PAIRS:
        return pairs_equal(a, b);
    case CORRAL_FIELD_WORDS:
        return words_equal(a, b);
    }
    return false;
}

size_t corral_config_diff(const corral_field *fields, const void *a, const void *b, const char **out_names,
                          size_t limit)
{
    size_t count = 0;
    for (const corral_field *field = fields; field->name != NULL; field++) {
        if (values_equal(field, corral_config_const_place(field, a), corral_config_const_place(field, b)))
            continue;
        if (count < limit) out_names[count] = field->name;
        count++;
    }
    return count;
}
