// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// `corral certs DIR HOST...`: who the hosts of a cluster are, as certificates of an authority of their own.
#include "cli.h"

#include "corral/net/certs.h"

enum { SECONDS_PER_DAY = 24 * 3600, DAYS_MAX = 3650 };

static int run(const cli_command *self, int argc, char **argv)
{
    const char *days_text = "365";
    bool help;
    const cli_flag flags[] = {
        {"--days", "N", "How long the hosts' certificates hold (365)", &days_text, NULL, NULL}, {0}};
    cli_words words;
    long long days = 0;
    corral_status status = cli_parse(self, argc, argv, flags, &words, &help);
    if (status == CORRAL_OK && help) {
        printf(
            "\nDIR/ca is the authority, made at the first call: it stays with you. DIR/HOST goes to that "
            "host, for\n"
            "`corral node --tls` or, where training is started, `corral train --cluster HOST:PORT --tls`.\n"
            "A HOST is all that others dial it by, with commas between: gpu1,10.0.0.7\n");
        return CLI_OK;
    }
    if (status == CORRAL_OK && words.count < 2)
        status = corral_fail(CORRAL_ERROR_INVALID,
                             "say where, and for which hosts: corral certs tls gpu1,10.0.0.7 laptop");
    if (status == CORRAL_OK) status = cli_number("--days", days_text, 1, DAYS_MAX, &days);
    if (status == CORRAL_OK)
        status = corral_certs_create(words.word[0], words.word + 1, words.count - 1, days * SECONDS_PER_DAY);
    if (status != CORRAL_OK) return cli_fail(CLI_BAD_INPUT);
    for (size_t i = 1; i < words.count; i++) {
        int length = 0;
        while (words.word[i][length] != '\0' && words.word[i][length] != ',')
            length++;
        printf("%s/%.*s\n", words.word[0], length, words.word[i]);
    }
    return CLI_OK;
}

const cli_command cli_certs = {"certs", "DIR HOST[,NAME...]... [--days N]",
                               "Make a cluster's certificates, for --tls", run};
