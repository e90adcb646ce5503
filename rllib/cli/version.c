// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The plain form looks for nothing, so that it is there at once; the other one asks the machine.
#include "cli.h"

#include "corral/base/threads.h"
#include "corral/core/backend.h"
#include "corral/core/device.h"

#include <cjson/cJSON.h>

#include <stdlib.h>

/// `"name": "text", `, escaped as JSON wants it.
static void print_text(const char *name, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *printed = cJSON_PrintUnformatted(string);
    printf("\"%s\": %s, ", name, printed != NULL ? printed : "\"\"");
    cJSON_Delete(string);
    free(printed);
}

static int print_machine(void)
{
    corral_device_found found;
    corral_device_find(&found);
    putchar('{');
    print_text("version", CORRAL_VERSION);
    print_text("cpu", corral_backend_cpu()->name);
    print_text("gpu", found.name);
    print_text("cuda_library", found.library);
    print_text("no_gpu_because", found.reason);
    printf("\"cores\": %u, \"gpus\": %u}\n", corral_available_cores(), found.count);
    return CLI_OK;
}

static int run(const cli_command *self, int argc, char **argv)
{
    bool json = false, help;
    const cli_flag flags[] = {
        {"--json", NULL, "One JSON object, with the machine's instruction set, cores and GPUs", NULL, &json},
        {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    if (json) return print_machine();
    printf("corral %s\n", CORRAL_VERSION);
    return CLI_OK;
}

const cli_command cli_version = {"version", "[--json]", "Print the version", run};
