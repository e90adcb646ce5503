// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

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

static void print_tables(const char *json)
{
    cJSON *root = cJSON_Parse(json);
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes"), *item;
    printf("%-18s %-22s %8s %10s %s\n", "NODE", "ADDRESS", "PID", "SLOTS", "STATE");
    cJSON_ArrayForEach(item, nodes)
    {
        char slots[32];
        snprintf(slots, sizeof slots, "%g/%g", number_of(item, "used"), number_of(item, "slots"));
        printf("%-18.18s %-22s %8.0f %10s %s\n", text_of(item, "id"), text_of(item, "address"),
               number_of(item, "pid"), slots,
               cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "alive")) ? "alive" : "lost");
    }
    const cJSON *actors = cJSON_GetObjectItemCaseSensitive(root, "actors");
    if (cJSON_GetArraySize(actors) > 0)
        printf("\n%-18s %-10s %-18s %8s %-10s %s\n", "ACTOR", "CLASS", "NODE", "PID", "STATE", "RESTARTS");
    cJSON_ArrayForEach(item, actors)
    {
        printf("%-18.18s %-10s %-18.18s %8.0f %-10s %.0f\n", text_of(item, "id"), text_of(item, "class"),
               text_of(item, "node"), number_of(item, "pid"), text_of(item, "state"),
               number_of(item, "restarts"));
    }
    printf("\n%.0f fragments between nodes\n", number_of(root, "fragments_remote"));
    cJSON_Delete(root);
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *cluster = NULL;
    bool json = false, help;
    const cli_flag flags[] = {
        {"--cluster", "HOST:PORT", "The head; without it the one that runs on this host", &cluster, NULL},
        {"--json", NULL, "One JSON object", NULL, &json},
        {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    char *text;
    if (corral_cluster_status(cluster, NULL, &text) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (json)
        printf("%s\n", text);
    else
        print_tables(text);
    free(text);
    return CLI_OK;
}

const cli_command cli_status = {"status", "[--cluster HOST:PORT] [--json]",
                                "Show a cluster's nodes and actors", run};
