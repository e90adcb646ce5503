// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral objects`: what lies in a node's object store, who made it, and who holds it.
#include "cli.h"

#include "corral/net/cluster.h"

#include <cjson/cJSON.h>

#include <stdlib.h>

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text != NULL ? text : "";
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void print_holders(const cJSON *object)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(object, "holders"))
        printf(" %.0f", item->valuedouble);
    if (number_of(object, "pins") > 0) printf(" (and %.0f tasks)", number_of(object, "pins"));
    printf("\n");
}

static void print_table(const char *json)
{
    cJSON *root = cJSON_Parse(json);
    const cJSON *objects = cJSON_GetObjectItemCaseSensitive(root, "objects"), *item;
    printf("%-14s %12s %-8s %-28s %s\n", "OBJECT", "BYTES", "STATE", "MADE BY", "HELD BY PROCESS");
    cJSON_ArrayForEach(item, objects)
    {
        printf("%-14s %12.0f %-8s %-28s", text_of(item, "id"), number_of(item, "size"),
               text_of(item, "state"), text_of(item, "made_by"));
        print_holders(item);
    }
    const cJSON *store = cJSON_GetObjectItemCaseSensitive(root, "store");
    printf("\n%.0f objects, %.0f bytes; shared memory: %.1f of %.1f MiB\n", number_of(root, "object_count"),
           number_of(root, "object_bytes"), number_of(store, "used") / (1 << 20),
           number_of(store, "limit") / (1 << 20));
    cJSON_Delete(root);
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *cluster = NULL, *tls = NULL;
    bool json = false, help;
    const cli_flag flags[] = {{"--cluster", "HOST:PORT",
                               "The node; without it the head that runs on this host", &cluster, NULL, NULL},
                              CLI_TLS(&tls),
                              {"--json", NULL, "One JSON object, with tasks and actors", NULL, &json, NULL},
                              {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    cli_use_tls(tls);
    char *text;
    if (corral_cluster_runtime_status(cluster, NULL, &text) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (json)
        printf("%s\n", text);
    else
        print_table(text);
    free(text);
    return CLI_OK;
}

const cli_command cli_objects = {"objects", "[--cluster HOST:PORT] [--json]",
                                 "Show a node's objects and who holds them", run};
