// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// corral-node: one node of a cluster, in the foreground. `corral node` becomes this program.
#include "corral/base/log.h"
#include "corral/net/node.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_BAD_INPUT = 2, EXIT_FAILED = 3 };

static const char usage[] =
    "usage: corral-node --head [--listen HOST:PORT]\n"
    "       corral-node --join HOST:PORT [--listen HOST:PORT]\n"
    "\n"
    "  --head               begin a cluster\n"
    "  --join HOST:PORT     take part in the cluster of this head\n"
    "  --listen HOST:PORT   where others reach this node; port 0 picks one (default 127.0.0.1:0)\n"
    "  --advertise HOST:PORT  what others dial, where it differs from --listen\n"
    "  --slots N            CPU slots offered (default: the cores that this process may use)\n"
    "  --gpus N             GPUs offered (default: those that the driver shows this process)\n"
    "  --resources LIST     more of what is offered to tasks and actors: licence=2,camera=1\n"
    "  --store MIB          shared memory for objects (default: 30 % of what is free)\n"
    "  --memory MIB         what workers may hold together (default: what host and control groups leave)\n"
    "  --worker PROGRAM     the worker program (default: corral-worker beside this one)\n"
    "  --tls DIR            speak TLS with this host's certificate, a folder of `corral certs` (CORRAL_TLS)\n"
    "  --insecure           allow an address that is not loopback without TLS\n"
    "  --faults TEXT        inject faults into messages: lose=0.1,duplicate=0.1,delay=5ms:0.1,seed=7\n"
    "  --embedded-fd N      of the run that starts this node\n";

// The run that embeds a node tells its user itself how its actors fare.
static void log_of_embedded(void *context, corral_log_level level, const char *line)
{
    if (level >= CORRAL_LOG_WARNING) corral_log_to_stderr(context, level, line);
}

static void log_of_node(void *context, corral_log_level level, const char *line)
{
    if (level >= CORRAL_LOG_INFO) corral_log_to_stderr(context, level, line);
}

static void print_line(void *context, const char *line)
{
    (void)context;
    printf("%s\n", line);
    fflush(stdout);
}

static int bad_input(const char *text, const char *what)
{
    fprintf(stderr, "corral-node: %s%s\n\n%s", text, what, usage);
    return EXIT_BAD_INPUT;
}

// Finds the number's end itself: "2x" is not 2.
static int parse_number(const char *text, double *out_number)
{
    char *rest = NULL;
    *out_number = strtod(text, &rest);
    return rest != text && *rest == '\0' && *out_number >= 0 && *out_number <= 1e6;
}

int main(int argc, char **argv)
{
    enum {
        HEAD = 1,
        JOIN,
        LISTEN,
        ADVERTISE,
        SLOTS,
        GPUS,
        RESOURCES,
        STORE,
        MEMORY,
        WORKER,
        TLS,
        INSECURE,
        FAULTS,
        EMBEDDED,
        HELP
    };
    static const struct option options[] = {
        {"head", no_argument, NULL, HEAD},
        {"join", required_argument, NULL, JOIN},
        {"listen", required_argument, NULL, LISTEN},
        {"advertise", required_argument, NULL, ADVERTISE},
        {"slots", required_argument, NULL, SLOTS},
        {"gpus", required_argument, NULL, GPUS},
        {"resources", required_argument, NULL, RESOURCES},
        {"store", required_argument, NULL, STORE},
        {"memory", required_argument, NULL, MEMORY},
        {"worker", required_argument, NULL, WORKER},
        {"tls", required_argument, NULL, TLS},
        {"insecure", no_argument, NULL, INSECURE},
        {"faults", required_argument, NULL, FAULTS},
        {"embedded-fd", required_argument, NULL, EMBEDDED},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    static char name[] = "corral-node";
    corral_log_set_sink(log_of_node, name);
    corral_node_config config = corral_node_config_default();
    int is_head = 0;
    double fd = -1;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        switch (option) {
        case HEAD:
            is_head = 1;
            break;
        case JOIN:
            config.join = optarg;
            break;
        case LISTEN:
            config.listen = optarg;
            break;
        case ADVERTISE:
            config.advertise = optarg;
            break;
        case WORKER:
            config.worker = optarg;
            break;
        case TLS:
            config.tls = optarg;
            break;
        case INSECURE:
            config.insecure = true;
            break;
        case FAULTS:
            config.faults = optarg;
            break;
        case SLOTS:
            if (!parse_number(optarg, &config.slots))
                return bad_input("--slots: not a number of slots: ", optarg);
            break;
        case GPUS:
            if (!parse_number(optarg, &config.gpus))
                return bad_input("--gpus: not a number of GPUs: ", optarg);
            break;
        case RESOURCES:
            config.resources = optarg;
            break;
        case STORE:
            if (!parse_number(optarg, &config.store_bytes))
                return bad_input("--store: not a number of MiB: ", optarg);
            config.store_bytes *= 1 << 20;
            break;
        case MEMORY:
            if (!parse_number(optarg, &config.memory_bytes))
                return bad_input("--memory: not a number of MiB: ", optarg);
            config.memory_bytes *= 1 << 20;
            break;
        case EMBEDDED:
            if (!parse_number(optarg, &fd)) return bad_input("--embedded-fd: not a descriptor: ", optarg);
            config.embedded_fd = (int)fd;
            break;
        case HELP:
            fputs(usage, stdout);
            return 0;
        default:
            return bad_input("the flags are", "");
        }
    if (optind < argc) return bad_input("unexpected word ", argv[optind]);
    if (is_head == (config.join != NULL)) return bad_input("say either --head or --join", "");

    if (config.embedded_fd >= 0) corral_log_set_sink(log_of_embedded, name);
    const corral_status status = corral_node_run(&config, print_line, NULL);
    if (status == CORRAL_OK) return 0;
    fprintf(stderr, "corral-node: %s\n", corral_last_error());
    return status == CORRAL_ERROR_LOST || status == CORRAL_ERROR_IO || status == CORRAL_ERROR_NO_MEMORY
               ? EXIT_FAILED
               : EXIT_BAD_INPUT;
}
