// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "number.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

static const char *skip_digits(const char *text)
{
    return text + strspn(text, "0123456789");
}

// [-+]? ( [0-9]+ ( . [0-9]* )? | . [0-9]+ ) ( [eE] [-+]? [0-9]+ )?
static bool is_decimal(const char *text)
{
    const char *start = skip_sign(text);
    const char *end = skip_digits(start);
    bool has_digits = end > start;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        has_digits = has_digits || end > fraction;
    }
    if (!has_digits) return false;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = skip_sign(end + 1);
        end = skip_digits(exponent);
        if (end == exponent) return false;
    }
    return *end == '\0';
}

static bool is_whole_decimal(const char *text)
{
    const char *start = skip_sign(text);
    const char *end = skip_digits(start);
    return end > start && *end == '\0';
}

// "0x1F" and "0o17"; the schema gives them no sign. 0 when it is neither.
static int base_of(const char *text)
{
    if (text[0] != '0') return 0;
    if (text[1] == 'x' && text[2] != '\0' && text[2 + strspn(text + 2, "0123456789abcdefABCDEF")] == '\0')
        return 16;
    if (text[1] == 'o' && text[2] != '\0' && text[2 + strspn(text + 2, "01234567")] == '\0') return 8;
    return 0;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(text, *words) == 0) return true;
    return false;
}

static bool parse_not_finite(const char *text, double *out_value)
{
    static const char *const infinities[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    if (is_one_of(text, nans))
        *out_value = NAN;
    else if (is_one_of(skip_sign(text), infinities))
        *out_value = *text == '-' ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

// A host program may have chosen a locale whose decimal point is a comma.
static double decimal_to_double(const char *text)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const double value = plain != (locale_t)0 ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain != (locale_t)0) freelocale(plain);
    return value;
}

bool corral_number_parse(const char *text, double *out_value)
{
    if (parse_not_finite(text, out_value)) return true;
    const int base = base_of(text);
    if (base != 0) {
        int64_t whole = 0;
        const bool fits = corral_number_parse_whole(text, &whole) == CORRAL_NUMBER_OK;
        *out_value = fits ? (double)whole : INFINITY;
        return true;
    }
    if (!is_decimal(text)) return false;
    *out_value = decimal_to_double(text);
    return true;
}

static corral_number_result parse_integer(const char *digits, int base, int64_t *out_value)
{
    errno = 0;
    const long long value = strtoll(digits, NULL, base);
    if (errno == ERANGE) return CORRAL_NUMBER_TOO_LARGE;
    *out_value = value;
    return CORRAL_NUMBER_OK;
}

corral_number_result corral_number_parse_whole(const char *text, int64_t *out_value)
{
    const int base = base_of(text);
    if (base != 0) return parse_integer(text + 2, base, out_value);
    if (is_whole_decimal(text)) return parse_integer(text, 10, out_value);

    double value = 0;
    if (!corral_number_parse(text, &value)) return CORRAL_NUMBER_NONE;
    if (isnan(value) || (isfinite(value) && value != trunc(value))) return CORRAL_NUMBER_NOT_WHOLE;
    if (fabs(value) > 0x1p53) return CORRAL_NUMBER_TOO_LARGE;
    *out_value = (int64_t)value;
    return CORRAL_NUMBER_OK;
}

static void format_finite(double value, char out_text[CORRAL_NUMBER_SIZE])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out_text, CORRAL_NUMBER_SIZE, "%.*g", digits, value);
        if (decimal_to_double(out_text) == value) return;
    }
}

void corral_number_format(double value, char out_text[CORRAL_NUMBER_SIZE])
{
    if (!isfinite(value)) {
        snprintf(out_text, CORRAL_NUMBER_SIZE, "%s", isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf");
        return;
    }
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    format_finite(value, out_text);
    if (before != (locale_t)0) uselocale(before);
    if (plain != (locale_t)0) freelocale(plain);
}
