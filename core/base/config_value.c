// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "config_value.h"

#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void *corral_config_place(const corral_field *field, void *config)
{
    return (char *)config + field->offset;
}

const void *corral_config_const_place(const corral_field *field, const void *config)
{
    return (const char *)config + field->offset;
}

bool corral_scalar_is_null(const corral_scalar *scalar)
{
    if (!scalar->plain) return false;
    return scalar->length == 0 || strcmp(scalar->text, "~") == 0 || strcmp(scalar->text, "null") == 0 ||
           strcmp(scalar->text, "Null") == 0 || strcmp(scalar->text, "NULL") == 0;
}

// The bytes of the UTF-8 sequence at `bytes`, and its code point; 0 where there is none.
static size_t decode(const unsigned char *bytes, size_t left, uint32_t *out_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; // by length: shorter forms are not valid
    const unsigned char first = bytes[0];
    const size_t length = first < 0x80       ? 1
                          : first >> 5 == 6  ? 2
                          : first >> 4 == 14 ? 3
                          : first >> 3 == 30 ? 4
                                             : 0;
    if (length == 0 || length > left) return 0;
    uint32_t point = length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (bytes[i] >> 6 != 2) return 0;
        point = point << 6 | (bytes[i] & 0x3Fu);
    }
    *out_point = point;
    return point >= smallest[length] ? length : 0;
}

// What YAML prints, less the line breaks of all alphabets and the byte order mark.
static bool is_printable(uint32_t point)
{
    if (point < 0x20 || (point >= 0x7F && point < 0xA0)) return false; // controls, next line among them
    if (point == 0x2028 || point == 0x2029) return false;              // line and paragraph separator
    if (point >= 0xD800 && point < 0xE000) return false;               // halves of UTF-16
    return point != 0xFEFF && point != 0xFFFE && point != 0xFFFF && point <= 0x10FFFF;
}

bool corral_text_is_one_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t point = 0;
        const size_t taken = decode((const unsigned char *)text + i, length - i, &point);
        if (taken == 0 || !is_printable(point)) return false;
        i += taken;
    }
    return true;
}

const char *corral_config_expects(const corral_field *field)
{
    static const char *const words[] = {
        [CORRAL_FIELD_BOOL] = "true or false",
        [CORRAL_FIELD_INT] = "a whole number",
        [CORRAL_FIELD_FLOAT] = "a number",
        [CORRAL_FIELD_TEXT] = "text",
        [CORRAL_FIELD_CHOICE] = "one word",
        [CORRAL_FIELD_SIZES] = "a list of whole numbers such as [64, 64]",
        [CORRAL_FIELD_SCHEDULE] = "a number, linear(FROM) or linear(FROM, TO)",
        [CORRAL_FIELD_PAIRS] = "a map of names and values",
        [CORRAL_FIELD_WORDS] = "a list such as [grey, frame_stack: 4]",
    };
    return words[field->type];
}

static corral_status unexpected(const corral_field *field, const char *text)
{
    return corral_fail(CORRAL_ERROR_INVALID, "%s: expects %s, not \"%s\"", field->name,
                       corral_config_expects(field), text);
}

static bool has_range(const corral_field *field)
{
    return field->min != 0 || field->max != 0;
}

static corral_status out_of_range(const corral_field *field, const char *text, bool below)
{
    char bound[CORRAL_NUMBER_SIZE];
    corral_number_format(below ? field->min : field->max, bound);
    return corral_fail(CORRAL_ERROR_INVALID, "%s: %s is %s %s", field->name, text, below ? "below" : "above",
                       bound);
}

// Compares as integers, because a double cannot tell the largest 64-bit ones apart.
static corral_status check_whole(const corral_field *field, const char *text, int64_t value)
{
    if (!has_range(field)) return CORRAL_OK;
    const double lowest = ceil(field->min), highest = floor(field->max);
    if (lowest >= 0x1p63 || (lowest > -0x1p63 && value < (int64_t)lowest))
        return out_of_range(field, text, true);
    if (highest < -0x1p63 || (highest < 0x1p63 && value > (int64_t)highest))
        return out_of_range(field, text, false);
    return CORRAL_OK;
}

static corral_status parse_whole(const corral_field *field, const corral_scalar *scalar, int64_t *out_value)
{
    const corral_number_result result =
        scalar->plain ? corral_number_parse_whole(scalar->text, out_value) : CORRAL_NUMBER_NONE;
    if (result == CORRAL_NUMBER_OK) return check_whole(field, scalar->text, *out_value);
    if (result == CORRAL_NUMBER_TOO_LARGE)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %s is too large for a whole number", field->name,
                           scalar->text);
    return unexpected(field, scalar->text);
}

// Not a number never passes; infinity only where the range itself reaches it.
static corral_status check_number(const corral_field *field, const char *text, double value)
{
    const bool may_be_infinite = isinf(field->min) || isinf(field->max);
    if (isnan(value) || (isinf(value) && !may_be_infinite))
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %s is not finite", field->name, text);
    if (!has_range(field)) return CORRAL_OK;
    if (value < field->min) return out_of_range(field, text, true);
    if (value > field->max) return out_of_range(field, text, false);
    return CORRAL_OK;
}

static corral_status parse_number(const corral_field *field, const char *text, double *out_value)
{
    if (!corral_number_parse(text, out_value)) return unexpected(field, text);
    return check_number(field, text, *out_value);
}

static corral_status set_bool(const corral_field *field, const corral_scalar *scalar, bool *value)
{
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE"};
    for (size_t i = 0; scalar->plain && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(scalar->text, words[i]) == 0) {
            *value = i % 2 == 1;
            return CORRAL_OK;
        }
    }
    return unexpected(field, scalar->text);
}

static corral_status set_float(const corral_field *field, const corral_scalar *scalar, double *value)
{
    if (!scalar->plain) return unexpected(field, scalar->text);
    return parse_number(field, scalar->text, value);
}

static corral_status set_text(const corral_field *field, const corral_scalar *scalar, char *value)
{
    const size_t length = corral_scalar_is_null(scalar) ? 0 : scalar->length;
    if (length >= CORRAL_TEXT_SIZE)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: a text of %zu bytes; at most %d are kept", field->name,
                           length, CORRAL_TEXT_SIZE - 1);
    memset(value, 0, CORRAL_TEXT_SIZE);
    memcpy(value, scalar->text, length);
    return CORRAL_OK;
}

static corral_status unknown_choice(const corral_field *field, const char *text)
{
    size_t count = 0, length = 0;
    char list[256] = "";
    for (; field->choices[count] != NULL; count++) {
        const int added = snprintf(list + length, sizeof list - length, "%s%s", count > 0 ? ", " : "",
                                   field->choices[count]);
        if (added > 0) length += (size_t)added;
        if (length >= sizeof list) length = sizeof list - 1;
    }
    const char *nearest = corral_nearest(text, field->choices, count);
    if (nearest != NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: unknown value \"%s\"; did you mean \"%s\"? (%s)",
                           field->name, text, nearest, list);
    return corral_fail(CORRAL_ERROR_INVALID, "%s: unknown value \"%s\"; use one of %s", field->name, text,
                       list);
}

static corral_status set_choice(const corral_field *field, const corral_scalar *scalar, int32_t *value)
{
    for (int32_t i = 0; field->choices[i] != NULL; i++) {
        if (strcmp(field->choices[i], scalar->text) == 0) {
            *value = i;
            return CORRAL_OK;
        }
    }
    return unknown_choice(field, scalar->text);
}

// Copies a trimmed piece of `text` from `start` to before `end`; pieces of numbers are short.
static bool copy_trimmed(const char *start, const char *end, char *out_text, size_t size)
{
    while (start < end && *start == ' ')
        start++;
    while (end > start && end[-1] == ' ')
        end--;
    const size_t length = (size_t)(end - start);
    if (length >= size) return false;
    memcpy(out_text, start, length);
    out_text[length] = '\0';
    return true;
}

// "linear(FROM)" and "linear(FROM, TO)"; a single FROM runs to 0.
static corral_status set_linear(const corral_field *field, const char *text, corral_schedule *value)
{
    const char *start = text + strlen("linear(");
    const char *comma = strchr(start, ',');
    const char *end = strchr(start, ')');
    if (end == NULL || end[1] != '\0') return unexpected(field, text);

    char from[64], to[64] = "0";
    if (!copy_trimmed(start, comma != NULL ? comma : end, from, sizeof from)) return unexpected(field, text);
    if (comma != NULL && !copy_trimmed(comma + 1, end, to, sizeof to)) return unexpected(field, text);
    corral_status status = parse_number(field, from, &value->from);
    if (status == CORRAL_OK) status = parse_number(field, to, &value->to);
    return status;
}

static corral_status set_schedule(const corral_field *field, const corral_scalar *scalar,
                                  corral_schedule *value)
{
    if (!scalar->plain) return unexpected(field, scalar->text);
    if (strncmp(scalar->text, "linear(", strlen("linear(")) == 0)
        return set_linear(field, scalar->text, value);
    const corral_status status = parse_number(field, scalar->text, &value->from);
    value->to = value->from;
    return status;
}

static corral_status check_text(const corral_field *field, const corral_scalar *scalar)
{
    if (corral_text_is_one_line(scalar->text, scalar->length)) return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_INVALID, "%s: the value holds a line break or a control character",
                       field->name);
}

corral_status corral_config_set_scalar(const corral_field *field, void *config, const corral_scalar *scalar)
{
    const corral_status status = check_text(field, scalar);
    if (status != CORRAL_OK) return status;

    void *value = corral_config_place(field, config);
    switch (field->type) {
    case CORRAL_FIELD_BOOL:
        return set_bool(field, scalar, value);
    case CORRAL_FIELD_INT:
        return parse_whole(field, scalar, value);
    case CORRAL_FIELD_FLOAT:
        return set_float(field, scalar, value);
    case CORRAL_FIELD_TEXT:
        return set_text(field, scalar, value);
    case CORRAL_FIELD_CHOICE:
        return set_choice(field, scalar, value);
    case CORRAL_FIELD_SIZES: // a list of one may be written without brackets
        *(corral_sizes *)value = (corral_sizes){0};
        return corral_config_append_size(field, config, scalar);
    case CORRAL_FIELD_SCHEDULE:
        return set_schedule(field, scalar, value);
    case CORRAL_FIELD_PAIRS:
        if (!corral_scalar_is_null(scalar)) return unexpected(field, scalar->text);
        *(corral_pairs *)value = (corral_pairs){0};
        return CORRAL_OK;
    case CORRAL_FIELD_WORDS: // a list of one, or none
        *(corral_words *)value = (corral_words){0};
        return corral_scalar_is_null(scalar) ? CORRAL_OK
                                             : corral_config_append_word(field, config, scalar, false);
    }
    CORRAL_ASSERT(!"a field type that exists");
    return CORRAL_ERROR_INVALID;
}

corral_status corral_config_append_size(const corral_field *field, void *config, const corral_scalar *scalar)
{
    corral_sizes *sizes = corral_config_place(field, config);
    int64_t value = 0;
    corral_status status = check_text(field, scalar);
    if (status == CORRAL_OK) status = parse_whole(field, scalar, &value);
    if (status != CORRAL_OK) return status;
    if (value < 0 || value > UINT32_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: %" PRId64 " is outside 0 to %" PRIu32, field->name,
                           value, UINT32_MAX);
    if (sizes->count == CORRAL_SIZES_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: more than %d numbers", field->name, CORRAL_SIZES_MAX);
    sizes->value[sizes->count++] = (uint32_t)value;
    return CORRAL_OK;
}

corral_status corral_config_append_word(const corral_field *field, void *config, const corral_scalar *scalar,
                                        bool argument)
{
    corral_words *words = corral_config_place(field, config);
    const corral_status status = check_text(field, scalar);
    if (status != CORRAL_OK) return status;
    if (scalar->length == 0) return corral_fail(CORRAL_ERROR_INVALID, "%s: an empty word", field->name);
    if (!argument && words->count == CORRAL_WORDS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: more than %d words", field->name, CORRAL_WORDS_MAX);

    char *word = words->word[argument ? words->count - 1 : words->count];
    const char *gap = !argument ? "" : strchr(word, '=') != NULL ? ":" : "=";
    const size_t used = argument ? strlen(word) : 0;
    if (used + strlen(gap) + scalar->length >= sizeof words->word[0])
        return corral_fail(CORRAL_ERROR_INVALID, "%s: the word \"%.40s...\" is longer than %zu bytes",
                           field->name, argument ? word : scalar->text, sizeof words->word[0] - 1);
    if (!argument) memset(words->word[words->count++], 0, sizeof words->word[0]);
    strcat(strcat(word, gap), scalar->text);
    return CORRAL_OK;
}

corral_status corral_config_set_pair(const corral_field *field, void *config, const char *name,
                                     const corral_scalar *scalar)
{
    corral_pairs *pairs = corral_config_place(field, config);
    const corral_status status = check_text(field, scalar);
    if (status != CORRAL_OK) return status;

    uint32_t i = 0;
    while (i < pairs->count && strcmp(pairs->pair[i].name, name) != 0)
        i++;
    if (i == CORRAL_PAIRS_MAX)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: more than %d names", field->name, CORRAL_PAIRS_MAX);
    if (name[0] == '\0' || strlen(name) >= sizeof pairs->pair[i].name)
        return corral_fail(CORRAL_ERROR_INVALID, "%s: the name \"%s\" is empty or longer than %zu bytes",
                           field->name, name, sizeof pairs->pair[i].name - 1);
    if (scalar->length >= sizeof pairs->pair[i].value)
        return corral_fail(CORRAL_ERROR_INVALID, "%s.%s: the value is longer than %zu bytes", field->name,
                           name, sizeof pairs->pair[i].value - 1);
    memset(&pairs->pair[i], 0, sizeof pairs->pair[i]);
    memcpy(pairs->pair[i].name, name, strlen(name));
    memcpy(pairs->pair[i].value, scalar->text, scalar->length);
    if (i == pairs->count) pairs->count++;
    return CORRAL_OK;
}
