// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// What the commands share: flags, exit codes, and how a failure is told.
#ifndef CORRAL_RLLIB_CLI_H
#define CORRAL_RLLIB_CLI_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum cli_exit {
    CLI_OK = 0,          // a criterion was reached, or there was none to reach
    CLI_NOT_REACHED = 1, // a budget ended before the goal
    CLI_BAD_INPUT = 2,   // nothing was started
    CLI_FAILED = 3,      // it was started and failed
    CLI_INTERRUPTED = 130,
};

/// One flag of a command. Flags with a value take it as the next word or after "=".
typedef struct cli_flag {
    const char *name;       // "--workers"; NULL ends the table
    const char *value_name; // "N", or NULL for a switch
    const char *help;
    const char **out_value; // for flags with a value
    bool *out_switch;       // for switches
    const char *key;        // the flag is another word for this setting: it is kept among the words
} cli_flag;

typedef struct cli_command {
    const char *name;
    const char *usage;   // what follows the name
    const char *summary; // one line
    int (*run)(const struct cli_command *self, int argc, char **argv);
} cli_command;

enum { CLI_WORDS_MAX = 256 };

/// The words of a command line that are no flags, and the settings, in order: the last one wins.
typedef struct cli_words {
    const char *word[CLI_WORDS_MAX];
    const char *key[CLI_WORDS_MAX]; // NULL, or of a setting whose value is the word
    size_t count;
} cli_words;

/// Reads the words after the command's name. With --help the help is printed and `*out_help` set. An unknown
/// flag is CORRAL_ERROR_INVALID with the nearest name.
CORRAL_MUST_USE corral_status cli_parse(const cli_command *command, int argc, char **argv,
                                        const cli_flag *flags, cli_words *out_words, bool *out_help);
/// A whole number within low..high from a flag's value.
CORRAL_MUST_USE corral_status cli_number(const char *flag, const char *text, long long low, long long high,
                                         long long *out_value);
/// The flag --tls of what talks to a cluster; `variable` gets the folder.
#define CLI_TLS(variable)                                                                                    \
    {                                                                                                        \
        "--tls", "DIR", "A folder of `corral certs`, where the cluster speaks TLS (CORRAL_TLS)", (variable), \
            NULL, NULL                                                                                       \
    }
/// What it said, for all that this process dials: it becomes CORRAL_TLS. NULL is fine.
void cli_use_tls(const char *folder);
/// "corral: SENTENCE" on standard error; returns `code`.
int cli_fail(int code);
/// Seconds as people say them: "0.8 s", "3 min 12 s". Writes into `text`.
const char *cli_duration(double seconds, char *text, size_t size);
/// A count with separators: "100,000". Writes into `text`.
const char *cli_count(unsigned long long count, char *text, size_t size);

extern const cli_command cli_train, cli_eval, cli_export, cli_env, cli_envs, cli_node, cli_run, cli_objects,
    cli_status, cli_compare, cli_view, cli_record, cli_plot, cli_bench, cli_benchmark, cli_certs, cli_version;

#endif
