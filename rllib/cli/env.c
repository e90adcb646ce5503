// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral env check: examines environments. corral env new: writes one to begin with.
#include "cli.h"

#include "corral/base/config.h"
#include "corral/base/file.h"
#include "corral/envs/examine.h"
#include "corral/envs/registry.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- check

typedef struct check_state {
    corral_examine_config config; // but for its type
    uint32_t examined, broken;
    corral_status status; // of the examiner itself
} check_state;

static void print_report(const corral_env_type *type, const corral_examine_report *report)
{
    static const char *const words[] = {[CORRAL_VERDICT_PASSED] = "passed",
                                        [CORRAL_VERDICT_FAILED] = "FAILED",
                                        [CORRAL_VERDICT_SKIPPED] = "-"};
    uint32_t skipped = 0;
    printf("%s: %s\n", type->id, type->summary);
    for (uint32_t i = 0; i < report->count; i++) {
        const corral_examine_result *r = &report->result[i];
        skipped += r->verdict == CORRAL_VERDICT_SKIPPED;
        if (r->verdict == CORRAL_VERDICT_FAILED)
            printf("  %-7s %-14s %s\n  %-7s %-14s %s\n", words[r->verdict], r->rule, r->means, "", "",
                   r->sentence);
        else
            printf("  %-7s %-14s %s\n", words[r->verdict], r->rule,
                   r->verdict == CORRAL_VERDICT_SKIPPED ? r->sentence : r->means);
    }
    printf("%u rules passed, %u failed, %u not applicable", report->count - report->failed - skipped,
           report->failed, skipped);
    char speed[32];
    if (report->steps_per_second > 0)
        printf("; %s steps/s on one core, with the examiner watching",
               cli_count((unsigned long long)report->steps_per_second, speed, sizeof speed));
    printf("\n");
}

static void examine(void *context, const corral_env_type *type)
{
    check_state *state = context;
    corral_examine_report report;
    if (state->status != CORRAL_OK) return;
    state->config.type = type;
    state->status = corral_env_examine(&state->config, &report);
    if (state->status != CORRAL_OK) return;
    if (state->examined > 0) printf("\n");
    print_report(type, &report);
    fflush(stdout);
    state->examined++;
    state->broken += report.failed > 0;
}

static corral_status read_number(const char *flag, const char *text, long long low, uint64_t *out_value)
{
    long long value;
    if (text == NULL) return CORRAL_OK;
    const corral_status status = cli_number(flag, text, low, INT64_MAX, &value);
    if (status == CORRAL_OK) *out_value = (uint64_t)value;
    return status;
}

static int check(const cli_words *words, const char *seed, const char *steps)
{
    check_state state = {.config = corral_examine_config_default(NULL)};
    if (words->count < 2) {
        (void)corral_fail(CORRAL_ERROR_INVALID,
                          "env check: of which environment? For instance: corral env check ./walk.so");
        return cli_fail(CLI_BAD_INPUT);
    }
    if (read_number("--seed", seed, 0, &state.config.seed) != CORRAL_OK ||
        read_number("--steps", steps, 1, &state.config.leak_steps) != CORRAL_OK)
        return cli_fail(CLI_BAD_INPUT);
    for (size_t i = 1; i < words->count; i++)
        if (corral_env_find_all(words->word[i], examine, &state) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (state.status != CORRAL_OK) return cli_fail(CLI_FAILED);
    if (state.examined > 1) printf("\n%u environments, %u with failures\n", state.examined, state.broken);
    return state.broken > 0 ? CLI_NOT_REACHED : CLI_OK;
}

// --- new

static const char template_text[] = {
#include "env_template.inc"
    , '\0'};

/// The template's own head of two lines stays here.
static const char *template_body(void)
{
    const char *gap = strstr(template_text, "\n\n");
    CORRAL_ASSERT(gap != NULL);
    return gap + 2;
}

/// Letters, digits and '_', since it becomes a file's name, an id and a word of the C file.
static bool is_name(const char *name)
{
    if (!isalpha((unsigned char)name[0]) || strlen(name) > 64) return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    return true;
}

/// Where corral/env.h is: installed beside the programs, or in the source tree.
static char *include_folder(void)
{
    char *programs = NULL;
    if (corral_program_folder(&programs) != CORRAL_OK) return NULL;
    char *installed = corral_format("%s/../include/corral/env.h", programs);
    char *header = installed != NULL ? realpath(installed, NULL) : NULL;
    free(installed);
    free(programs);
    if (header == NULL) return strdup(CORRAL_ENV_INCLUDE);
    *strstr(header, "/corral/env.h") = '\0';
    return header;
}

/// Copies the body with every `from` replaced. NULL without memory.
static char *replaced(const char *text, const char *from, const char *to)
{
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);
    if (out == NULL) return NULL;
    for (const char *next; (next = strstr(text, from)) != NULL; text = next + strlen(from)) {
        fwrite(text, 1, (size_t)(next - text), out);
        fputs(to, out);
    }
    fputs(text, out);
    if (fclose(out) == 0) return result;
    free(result);
    return NULL;
}

static corral_status write_template(const char *name, const char *include, const char *path)
{
    if (access(path, F_OK) == 0)
        return corral_fail(CORRAL_ERROR_EXISTS, "%s is already there; choose another name", path);
    char *named = replaced(template_body(), "Template", name);
    char *text = named != NULL ? replaced(named, "INCLUDE_FOLDER", include) : NULL;
    const corral_status status = text != NULL
                                     ? corral_file_write(path, text, strlen(text))
                                     : corral_fail(CORRAL_ERROR_NO_MEMORY, "%s: no memory to write it", path);
    free(named);
    free(text);
    return status;
}

static int new_env(const cli_words *words)
{
    const char *name = words->count == 2 ? words->word[1] : "";
    if (!is_name(name)) {
        (void)corral_fail(CORRAL_ERROR_INVALID,
                          "env new needs one name that begins with a letter and has letters, digits and '_' "
                          "only, for instance: corral env new maze");
        return cli_fail(CLI_BAD_INPUT);
    }
    char *path = corral_format("%s.c", name), *include = include_folder();
    corral_status status = path != NULL && include != NULL ? write_template(name, include, path)
                                                           : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory");
    if (status == CORRAL_OK)
        printf("%s is a whole environment: a small game to change into yours.\n\n"
               "  cc -O2 -shared -fPIC -I %s %s -o %s.so\n"
               "  corral env check ./%s.so\n"
               "  corral train --algo ppo --env ./%s.so\n",
               path, include, path, name, name, name);
    free(path);
    free(include);
    return status == CORRAL_OK ? CLI_OK : cli_fail(CLI_BAD_INPUT);
}

// --- the command

static int run(const cli_command *self, int argc, char **argv)
{
    const char *seed = NULL, *steps = NULL;
    bool help;
    const cli_flag flags[] = {{"--seed", "N", "check: of all episodes and actions (1)", &seed, NULL},
                              {"--steps", "N", "check: how long leaks are looked for (100000)", &steps, NULL},
                              {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    const char *verb = words.count > 0 ? words.word[0] : "";
    if (strcmp(verb, "check") == 0) return check(&words, seed, steps);
    if (strcmp(verb, "new") == 0) return new_env(&words);
    (void)corral_fail(CORRAL_ERROR_INVALID, "env does one of two things: corral env check FILE.so|ID, or "
                                            "corral env new NAME");
    return cli_fail(CLI_BAD_INPUT);
}

const cli_command cli_env = {"env", "check FILE.so|FILE.so:ID|ID ... | new NAME",
                             "Examine environments, or begin a new one", run};
