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

// Of tasks and actors: what they use, and what has to wait, for what, behind whom.
static void print_runtime(const cJSON *runtime)
{
    const cJSON *resources = cJSON_GetObjectItemCaseSensitive(runtime, "resources"), *item, *holder;
    if (cJSON_GetArraySize(resources) == 0) return; // nobody has run any
    printf("\ntasks and actors: %d processes, %d actors, %.0f objects; in use:",
           cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(runtime, "workers")),
           cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(runtime, "actors")),
           number_of(runtime, "object_count"));
    const char *separator = "";
    cJSON_ArrayForEach(item, resources)
    {
        if (number_of(item, "total") == 0) continue;
        printf("%s %g/%g %s", separator, number_of(item, "used"), number_of(item, "total"),
               text_of(item, "name"));
        separator = ",";
    }
    printf("\n");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(runtime, "demands"))
    {
        printf("%.0f wait for %s, the first is %s\n", number_of(item, "count"), text_of(item, "demand"),
               text_of(item, "first"));
        cJSON_ArrayForEach(holder, cJSON_GetObjectItemCaseSensitive(item, "held_by"))
            printf("    held by %s\n", cJSON_GetStringValue(holder));
    }
}

static void print_tables(const cJSON *root)
{
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes"), *item;
    printf("%-18s %-22s %8s %10s %s\n", "NODE", "ADDRESS", "PID", "SLOTS", "STATE");
    cJSON_ArrayForEach(item, nodes)
    {
        char slots[32];
        snprintf(slots, sizeof slots, "%g/%g", number_of(item, "used"), number_of(item, "slots"));
        printf("%-18.0f %-22s %8.0f %10s %s\n", number_of(item, "id"), text_of(item, "address"),
               number_of(item, "pid"), slots,
               cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "alive")) ? "alive" : "lost");
    }
    const cJSON *actors = cJSON_GetObjectItemCaseSensitive(root, "actors");
    if (cJSON_GetArraySize(actors) > 0)
        printf("\n%-18s %-10s %-18s %8s %-10s %s\n", "ACTOR", "CLASS", "NODE", "PID", "STATE", "RESTARTS");
    cJSON_ArrayForEach(item, actors)
    {
        printf("%-18.18s %-10s %-18.0f %8.0f %-10s %.0f\n", text_of(item, "id"), text_of(item, "class"),
               number_of(item, "node"), number_of(item, "pid"), text_of(item, "state"),
               number_of(item, "restarts"));
    }
    printf("\n%.0f fragments between nodes\n", number_of(root, "fragments_remote"));
    print_runtime(cJSON_GetObjectItemCaseSensitive(root, "runtime"));
}

// The cluster, and under "runtime" what its head's hub has.
static corral_status ask(const char *cluster, cJSON **out_root)
{
    char *text = NULL, *runtime = NULL;
    corral_status status = corral_cluster_status(cluster, NULL, &text);
    if (status == CORRAL_OK) status = corral_cluster_runtime_status(cluster, NULL, &runtime);
    *out_root = status == CORRAL_OK ? cJSON_Parse(text) : NULL;
    if (status == CORRAL_OK && *out_root == NULL)
        status = corral_fail(CORRAL_ERROR_CORRUPT, "the head's answer is no JSON");
    if (status == CORRAL_OK) cJSON_AddItemToObject(*out_root, "runtime", cJSON_Parse(runtime));
    free(text);
    free(runtime);
    return status;
}

static int run(const cli_command *self, int argc, char **argv)
{
    const char *cluster = NULL, *tls = NULL;
    bool json = false, help;
    const cli_flag flags[] = {
        {"--cluster", "HOST:PORT", "The head; without it the one that runs on this host", &cluster, NULL},
        CLI_TLS(&tls),
        {"--json", NULL, "One JSON object", NULL, &json},
        {0}};
    cli_words words;
    if (cli_parse(self, argc, argv, flags, &words, &help) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    if (help) return CLI_OK;
    cli_use_tls(tls);
    cJSON *root;
    if (ask(cluster, &root) != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    char *text = json ? cJSON_PrintUnformatted(root) : NULL;
    if (text != NULL)
        printf("%s\n", text);
    else
        print_tables(root);
    free(text);
    cJSON_Delete(root);
    return CLI_OK;
}

const cli_command cli_status = {"status", "[--cluster HOST:PORT] [--json]",
                                "Show a cluster's nodes and actors", run};
