// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// TLS between nodes: who belongs together talks; who does not is refused, with a sentence on both sides.
#include "rig.h"

#include "link.h"
#include "tls.h"

#include "corral/base/file.h"
#include "corral/net/certs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *certs; // a folder with authorities a and b

static char *in(const char *name)
{
    static char paths[32][128]; // each good until 31 others have been asked for
    static unsigned next;
    char *path = paths[next++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", certs, name);
    return path;
}

static void begin(void)
{
    static char folder[] = "/tmp/corral-certs-XXXXXX";
    if (certs == NULL) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
        certs = folder;
        const char *const hosts[] = {"here,127.0.0.1", "driver", "elsewhere"};
        TEST_OK(corral_certs_create(in("a"), hosts, 3, 3600));
        TEST_OK(corral_certs_create(in("b"), hosts, 1, 3600));
    }
    rig_begin();
    setenv("CORRAL_TOKEN", "fixed", 1); // no socket of a head: what travels, travels over gRPC
}

static void finish(void)
{
    unsetenv("CORRAL_TLS");
    rig_end();
}

// A node whose words go to a file.
static pid_t start_node(const char *tls, const char *join, char line[256])
{
    const char *arguments[8] = {TEST_NODE, join != NULL ? "--join" : "--head"};
    size_t count = 2;
    if (join != NULL) arguments[count++] = join;
    arguments[count++] = "--slots";
    arguments[count++] = "1";
    if (tls != NULL) arguments[count++] = "--tls";
    if (tls != NULL) arguments[count++] = tls;
    const int before = dup(STDERR_FILENO);
    const int log = open(in("log"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(log, STDERR_FILENO);
    const pid_t pid = rig_start(arguments, line, 256);
    dup2(before, STDERR_FILENO);
    close(before);
    close(log);
    return pid;
}

static pid_t start_head(const char *tls, char address[64])
{
    char line[256];
    const pid_t pid = start_node(tls, NULL, line);
    CU_ASSERT_EQUAL_FATAL(sscanf(line, "head at %63[^,],", address), 1);
    return pid;
}

static bool log_says(const char *words)
{
    const int64_t deadline = corral_now_ns() + 3 * CORRAL_SECOND;
    bool found = false;
    while (!found && corral_now_ns() < deadline) {
        char *text = NULL;
        size_t size = 0;
        TEST_OK(corral_file_read(in("log"), 1 << 20, &text, &size));
        found = strstr(text, words) != NULL;
        free(text);
        if (!found) corral_sleep_ns(10 * CORRAL_MILLISECOND);
    }
    if (!found) fprintf(stderr, "the log does not say: %s\n", words);
    return found;
}

// What a driver with this folder is told; nothing may take as long as the timeout.
static void driver_is_refused(const char *tls, const char *address, corral_status status, const char *words)
{
    corral_cluster_config config = corral_cluster_config_default();
    corral_cluster *cluster = NULL;
    config.address = address;
    config.tls = tls;
    config.connect_timeout_ns = CORRAL_SECOND;
    TEST_FAILS(corral_cluster_connect(&config, &cluster), status, words);
}

// Nobody of this user's runtime folder may help: the head is somewhere else.
static void hide_runtime(void)
{
    char *other = in("runtime");
    mkdir(other, 0700);
    setenv("XDG_RUNTIME_DIR", other, 1);
}

static void show_runtime(char *runtime)
{
    rmdir(getenv("XDG_RUNTIME_DIR"));
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    free(runtime);
}

static void nodes_and_drivers_of_one_authority(void)
{
    begin();
    char *runtime = strdup(getenv("XDG_RUNTIME_DIR")), address[64], line[256];
    const pid_t head = start_head(in("a/here"), address);
    hide_runtime();
    const pid_t member = start_node(in("a/here"), address, line);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, address));
    rig_run run;
    corral_cluster_config cluster = corral_cluster_config_default();
    cluster.address = address;
    cluster.tls = in("a/driver");
    corral_group_config group = rig_group("fill", 2);
    group.transport = CORRAL_TRANSPORT_GRPC;
    rig_open(&run, &cluster, &group);
    rig_publish(&run, 1);
    CU_ASSERT_TRUE(rig_until(&run, &run.ready, 2, 10));
    CU_ASSERT_TRUE(rig_until(&run, &run.remote, 20, 20));
    char *json = NULL;
    TEST_FAILS(corral_cluster_status(address, NULL, &json), CORRAL_ERROR_LOST, address); // without TLS
    setenv("CORRAL_TLS", in("a/driver"), 1);
    TEST_OK(corral_cluster_status(address, NULL, &json));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"id\":2"));
    free(json);
    rig_close(&run);
    rig_stop(member);
    rig_stop(head);
    show_runtime(runtime);
    finish();
}

static void strangers_are_refused(void)
{
    begin();
    char *runtime = strdup(getenv("XDG_RUNTIME_DIR")), address[64];
    const pid_t head = start_head(in("a/here"), address);
    hide_runtime();
    driver_is_refused(in("b/here"), address, CORRAL_ERROR_REFUSED, "not of our authority");
    CU_ASSERT_TRUE(log_says("a connection was refused: TLS: "));
    driver_is_refused(NULL, address, CORRAL_ERROR_TIMEOUT, "a head with --tls wants it");
    CU_ASSERT_TRUE(log_says("speaks without TLS"));
    setenv("CORRAL_TOKEN", "another", 1);
    driver_is_refused(in("a/driver"), address, CORRAL_ERROR_REFUSED, "the token is not that of the node");
    CU_ASSERT_TRUE(log_says("a conversation was refused: the token is not that of the node"));
    setenv("CORRAL_TOKEN", "fixed", 1);
    char *const arguments[] = {(char[]){TEST_NODE}, (char[]){"--join"}, address,
                               (char[]){"--tls"},   in("b/here"),       NULL};
    const pid_t member = fork();
    if (member == 0) {
        const int log = open(in("log.member"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(log, STDERR_FILENO);
        execv(TEST_NODE, arguments);
        _exit(127);
    }
    CU_ASSERT_EQUAL(WEXITSTATUS(rig_wait(member)), 2);
    char *text = NULL;
    size_t size = 0;
    TEST_OK(corral_file_read(in("log.member"), 1 << 20, &text, &size));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "TLS: the other side's certificate is not of our authority"));
    free(text);
    rig_stop(head);
    show_runtime(runtime);
    finish();
}

// The head's certificate is for another host; and a head without TLS.
static void a_wrong_host_is_refused(void)
{
    begin();
    char *runtime = strdup(getenv("XDG_RUNTIME_DIR")), address[64], plain[64];
    const pid_t head = start_head(in("a/elsewhere"), address);
    const pid_t open_head = start_head(NULL, plain);
    hide_runtime();
    driver_is_refused(in("a/driver"), address, CORRAL_ERROR_REFUSED, "does not name the host");
    driver_is_refused(in("a/driver"), plain, CORRAL_ERROR_REFUSED, "speaks without TLS");
    rig_stop(open_head);
    rig_stop(head);
    show_runtime(runtime);
    finish();
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    TEST_OK(corral_file_read(path, 1 << 20, &text, &size));
    return text;
}

// Nobody can start with one; here it is as if it had expired since then, on either side.
static void an_expired_certificate_is_refused(void)
{
    begin();
    char *runtime = strdup(getenv("XDG_RUNTIME_DIR")), address[64];
    const char *const hosts[] = {"old,127.0.0.1"};
    corral_tls tls;
    TEST_OK(corral_certs_create(in("a"), hosts, 1, -60));
    TEST_FAILS(corral_tls_load(in("a/old"), &tls), CORRAL_ERROR_REFUSED, "has expired");
    driver_is_refused(in("a/old"), "127.0.0.1:1", CORRAL_ERROR_REFUSED, "has expired");
    tls = (corral_tls){read_text(in("a/old/ca.crt")), read_text(in("a/old/node.crt")),
                       read_text(in("a/old/node.key"))};
    const pid_t head = start_head(in("a/here"), address);
    hide_runtime();
    corral_mailbox *mailbox = NULL;
    corral_exchange *exchange = NULL;
    corral_link *link = NULL;
    corral_address listen, dial;
    TEST_OK(corral_address_parse("127.0.0.1:0", "test", &listen));
    TEST_OK(corral_address_parse(address, "test", &dial));
    TEST_OK(corral_mailbox_create(&mailbox));
    TEST_OK(corral_exchange_start(mailbox, &listen, &tls, &exchange));
    char ours[64];
    snprintf(ours, sizeof ours, "127.0.0.1:%u", corral_exchange_port(exchange));
    driver_is_refused(in("a/driver"), ours, CORRAL_ERROR_REFUSED, "or has expired");
    TEST_OK(corral_link_dial(exchange, &dial, NULL, NULL, &link));
    CU_ASSERT_TRUE(log_says("a connection was refused: TLS: "));
    corral_link_close(link, "");
    corral_exchange_stop(exchange);
    corral_mailbox_destroy(mailbox);
    corral_tls_finish(&tls);
    rig_stop(head);
    show_runtime(runtime);
    TEST_OK(corral_folder_remove(in("a/old")));
    finish();
}

static void folders_are_whole_and_private(void)
{
    begin();
    const char *const again[] = {"here"};
    const char *const bad[] = {"../up"};
    const char *const authority[] = {"ca"};
    struct stat found;
    corral_tls tls;
    CU_ASSERT_EQUAL(stat(in("a/here/node.key"), &found), 0);
    CU_ASSERT_EQUAL(found.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL(stat(in("a/ca"), &found), 0);
    CU_ASSERT_EQUAL(found.st_mode & 0777, 0700);
    TEST_FAILS(corral_certs_create(in("a"), again, 1, 3600), CORRAL_ERROR_EXISTS, "is there already");
    TEST_FAILS(corral_certs_create(in("a"), bad, 1, 3600), CORRAL_ERROR_INVALID, "no list of host names");
    TEST_FAILS(corral_certs_create(in("a"), authority, 1, 3600), CORRAL_ERROR_INVALID, "called ca");
    TEST_FAILS(corral_tls_load(in("nowhere"), &tls), CORRAL_ERROR_NOT_FOUND, "corral certs");
    CU_ASSERT_EQUAL(chmod(in("a/driver/node.key"), 0644), 0);
    TEST_FAILS(corral_tls_load(in("a/driver"), &tls), CORRAL_ERROR_REFUSED, "chmod 600");
    CU_ASSERT_EQUAL(chmod(in("a/driver/node.key"), 0600), 0);
    // Files that do not belong together.
    TEST_OK(corral_tls_load(in("a/driver"), &tls));
    corral_tls other;
    TEST_OK(corral_tls_load(in("b/here"), &other));
    corral_tls mixed = {tls.authority, other.certificate, other.key};
    TEST_FAILS(corral_tls_check(&mixed, "mixed"), CORRAL_ERROR_REFUSED, "not signed by ca.crt");
    mixed = (corral_tls){tls.authority, tls.certificate, other.key};
    TEST_FAILS(corral_tls_check(&mixed, "mixed"), CORRAL_ERROR_INVALID, "not the key of node.crt");
    mixed = (corral_tls){tls.authority, tls.key, tls.key};
    TEST_FAILS(corral_tls_check(&mixed, "mixed"), CORRAL_ERROR_CORRUPT, "node.crt is not a PEM file");
    corral_tls_finish(&other);
    corral_tls_finish(&tls);
    finish();
}

int main(void)
{
    const int code =
        test_run("net: TLS", (test_case[]){
                                 {"folders are whole and private", folders_are_whole_and_private},
                                 {"nodes and drivers of one authority", nodes_and_drivers_of_one_authority},
                                 {"strangers are refused", strangers_are_refused},
                                 {"a wrong host is refused", a_wrong_host_is_refused},
                                 {"an expired certificate is refused", an_expired_certificate_is_refused},
                                 {NULL, NULL},
                             });
    return certs == NULL || corral_folder_remove(certs) == CORRAL_OK ? code : 1;
}
