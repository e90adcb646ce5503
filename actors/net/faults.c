// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "faults.h"

#include "corral/base/clock.h"

#include <stdlib.h>
#include <string.h>

// "5ms", "2s", "100us": the number and its unit; *out_rest is what follows.
static bool parse_time(const char *text, int64_t *out_ns, const char **out_rest)
{
    char *unit = NULL;
    const double number = strtod(text, &unit);
    if (unit == text || !(number >= 0 && number <= 3600)) return false;
    const struct {
        const char *name;
        double ns;
    } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const size_t length = strlen(units[i].name);
        if (strncmp(unit, units[i].name, length) != 0) continue;
        *out_ns = (int64_t)(number * units[i].ns);
        *out_rest = unit + length;
        return true;
    }
    return false;
}

static bool parse_chance(const char *text, double *out_chance)
{
    char *rest = NULL;
    *out_chance = strtod(text, &rest);
    return rest != text && *rest == '\0' && *out_chance >= 0 && *out_chance <= 1;
}

static bool parse_delay(const char *text, corral_faults *faults)
{
    const char *rest = NULL;
    return parse_time(text, &faults->delay_ns, &rest) && *rest == ':' &&
           parse_chance(rest + 1, &faults->delay_chance);
}

static bool parse_blackout(const char *text, corral_faults *faults)
{
    const char *rest = NULL;
    return parse_time(text, &faults->blackout_begin_ns, &rest) && *rest == ':' &&
           parse_time(rest + 1, &faults->blackout_length_ns, &rest) && *rest == '\0';
}

static bool parse_seed(const char *text, uint64_t *out_seed)
{
    char *rest = NULL;
    *out_seed = strtoull(text, &rest, 10);
    return rest != text && *rest == '\0';
}

static corral_status parse_setting(char *setting, corral_faults *faults)
{
    char *value = strchr(setting, '=');
    if (value == NULL)
        return corral_fail(CORRAL_ERROR_INVALID, "faults: \"%.100s\" is not NAME=VALUE", setting);
    *value++ = '\0';
    bool known = true, good = false;
    if (strcmp(setting, "lose") == 0)
        good = parse_chance(value, &faults->lose);
    else if (strcmp(setting, "duplicate") == 0)
        good = parse_chance(value, &faults->duplicate);
    else if (strcmp(setting, "delay") == 0)
        good = parse_delay(value, faults);
    else if (strcmp(setting, "blackout") == 0)
        good = parse_blackout(value, faults);
    else if (strcmp(setting, "seed") == 0)
        good = parse_seed(value, &faults->seed);
    else
        known = false;
    if (!known)
        return corral_fail(
            CORRAL_ERROR_INVALID,
            "faults: there is no \"%.100s\"; there are lose, duplicate, delay, blackout and seed", setting);
    if (!good)
        return corral_fail(CORRAL_ERROR_INVALID,
                           "faults: %s=%.100s is not understood; write lose=0.1,duplicate=0.1,delay=5ms:0.1,"
                           "blackout=2s:500ms,seed=7",
                           setting, value);
    return CORRAL_OK;
}

corral_status corral_faults_parse(const char *text, corral_faults *out_faults)
{
    *out_faults = (corral_faults){0};
    if (text == NULL || text[0] == '\0') return CORRAL_OK;
    char *copy = strdup(text), *position = NULL;
    if (copy == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "faults: no memory for their text");
    corral_status status = CORRAL_OK;
    for (char *setting = strtok_r(copy, ",", &position); setting != NULL && status == CORRAL_OK;
         setting = strtok_r(NULL, ",", &position))
        status = parse_setting(setting, out_faults);
    free(copy);
    out_faults->active = status == CORRAL_OK;
    return status;
}

corral_fate corral_faults_draw(const corral_faults *faults, corral_rng *rng, int64_t age_ns)
{
    if (!faults->active) return (corral_fate){0};
    const double lose = corral_rng_double(rng), twice = corral_rng_double(rng), late = corral_rng_double(rng);
    const bool black = age_ns >= faults->blackout_begin_ns &&
                       age_ns - faults->blackout_begin_ns < faults->blackout_length_ns;
    return (corral_fate){
        .lost = black || lose < faults->lose,
        .twice = twice < faults->duplicate,
        .delay_ns = late < faults->delay_chance ? faults->delay_ns : 0,
    };
}
