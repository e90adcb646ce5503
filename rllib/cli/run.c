// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral run app.so ENTRY [args]`: opens a library of tasks and actors, and runs one of its functions here,
/// as the driver; what it submits runs in workers. What the entry returns goes to standard output.
#include "cli.h"

#include "corral/net/client.h"

#include <stdlib.h>

static corral_status amount(const char *flag, const char *text, double *out_amount)
{
    char *end = NULL;
    if (text == NULL) return CORRAL_OK;
    *out_amount = strtod(text, &end);
    if (end == text || *end != '\0' || !(*out_amount >= 0 && *out_amount <= 1e6))
        return corral_fail(CORRAL_ERROR_INVALID, "%s: \"%s\" is not an amount", flag, text);
    return CORRAL_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    corral_client_config config = corral_client_config_default();
    const char *cpus = NULL, *gpus = NULL, *store = NULL, *tls = NULL;
    bool help;
    const cli_flag flags[] = {
        {"--local", NULL, "Everything in this process and thread, for a debugger", NULL, &config.local, NULL},
        {"--cluster", "HOST:PORT", "The head; without it an agent of its own", &config.address, NULL, NULL},
        CLI_TLS(&tls),
        {"--cpus", "N", "What an agent of its own offers (the cores)", &cpus, NULL, NULL},
        {"--gpus", "N", "The same, GPUs (0)", &gpus, NULL, NULL},
        {"--store", "MIB", "Its shared memory for objects (30 % of what is free)", &store, NULL, NULL},
        {0}};
    cli_words words;
    double mebibytes = 0;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) return CLI_OK;
    cli_use_tls(tls);
    if (status == CORRAL_OK) status = amount("--cpus", cpus, &config.cpus);
    if (status == CORRAL_OK) status = amount("--gpus", gpus, &config.gpus);
    if (status == CORRAL_OK) status = amount("--store", store, &mebibytes);
    if (status == CORRAL_OK && words.count < 2)
        status = corral_fail(CORRAL_ERROR_INVALID,
                             "say which library and which of its functions: corral run app.so main");
    config.store_bytes = (size_t)(mebibytes * (1 << 20));
    if (words.count > 0) config.library_path = words.word[0];
    corral_client *client = NULL;
    if (status == CORRAL_OK) status = corral_client_connect(&config, &client);
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    void *result = NULL;
    size_t size = 0;
    status = corral_client_run(client, words.word[1], words.word + 2, words.count - 2, &result, &size);
    const int code = status == CORRAL_OK ? CLI_OK : cli_fail(CLI_FAILED);
    if (size > 0) fwrite(result, 1, size, stdout);
    free(result);
    corral_client_close(client);
    return fflush(stdout) == 0 ? code : CLI_FAILED;
}

const cli_command cli_run = {"run", "app.so ENTRY [args] [--local]", "Run a program of tasks and actors",
                             run};
