// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The parts that need no process: addresses, faults, placement, envelopes, the runtime folder.
#include "test.h"

#include "address.h"
#include "faults.h"
#include "placement.h"
#include "runtime.h"
#include "wire.h"

#include "corral/base/clock.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void addresses(void)
{
    corral_address address;
    TEST_OK(corral_address_parse("127.0.0.1:7000", "x", &address));
    CU_ASSERT_STRING_EQUAL(address.target, "ipv4:127.0.0.1:7000");
    CU_ASSERT_TRUE(address.loopback);
    TEST_OK(corral_address_parse("[::1]:80", "x", &address));
    CU_ASSERT_STRING_EQUAL(address.bare, "[::1]:80");
    CU_ASSERT_TRUE(address.loopback);
    corral_address_set_port(&address, 12345);
    CU_ASSERT_STRING_EQUAL(address.target, "ipv6:[::1]:12345");
    TEST_OK(corral_address_parse("10.1.2.3:1", "x", &address));
    CU_ASSERT_FALSE(address.loopback);
    const char *const bad[] = {"",           ":",      "host", ":80",  "host:", "host:x",
                               "host:70000", "::1:80", "[]:1", "a:-1", "a: 1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TEST_FAILS(corral_address_parse(bad[i], "--listen", &address), CORRAL_ERROR_INVALID, "--listen");
}

static void faults_parse(void)
{
    corral_faults faults;
    TEST_OK(corral_faults_parse("lose=0.1,duplicate=0.2,delay=5ms:0.3,blackout=2s:500ms,seed=7", &faults));
    CU_ASSERT_TRUE(faults.active);
    CU_ASSERT_EQUAL(faults.delay_ns, 5 * CORRAL_MILLISECOND);
    CU_ASSERT_EQUAL(faults.blackout_begin_ns, 2 * CORRAL_SECOND);
    CU_ASSERT_EQUAL(faults.blackout_length_ns, 500 * CORRAL_MILLISECOND);
    CU_ASSERT_EQUAL(faults.seed, 7);
    TEST_OK(corral_faults_parse("", &faults));
    CU_ASSERT_FALSE(faults.active);
    const char *const bad[] = {"lose",    "lose=",   "lose=1.1",  "lose=nan",
                               "loose=1", "delay=5", "delay=5ms", "seed=x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        TEST_FAILS(corral_faults_parse(bad[i], &faults), CORRAL_ERROR_INVALID, "faults:");
}

static void faults_come_as_often_as_asked(void)
{
    corral_faults faults;
    TEST_OK(corral_faults_parse("lose=0.1,duplicate=0.2,delay=1ms:0.3,blackout=1s:1s", &faults));
    corral_rng rng, again;
    corral_rng_seed(&rng, 3);
    corral_rng_seed(&again, 3);
    unsigned lost = 0, twice = 0, late = 0;
    for (int i = 0; i < 10000; i++) {
        const corral_fate fate = corral_faults_draw(&faults, &rng, 0);
        const corral_fate same = corral_faults_draw(&faults, &again, 0);
        CU_ASSERT_TRUE(fate.lost == same.lost && fate.twice == same.twice && fate.delay_ns == same.delay_ns);
        lost += fate.lost;
        twice += fate.twice;
        late += fate.delay_ns > 0;
    }
    CU_ASSERT_TRUE(lost > 800 && lost < 1200);
    CU_ASSERT_TRUE(twice > 1700 && twice < 2300);
    CU_ASSERT_TRUE(late > 2700 && late < 3300);
    CU_ASSERT_TRUE(corral_faults_draw(&faults, &rng, 1500 * CORRAL_MILLISECOND).lost);
}

static void actors_are_spread(void)
{
    corral_place_node nodes[] = {{.id = 1, .cpus = 4}, {.id = 2, .cpus = 2}, {.id = 3, .cpus = 0}};
    uint32_t where[6];
    TEST_OK(corral_place(&(corral_place_request){"w", 6, 1, 0}, nodes, 3, "", where));
    unsigned counts[4] = {0};
    for (int i = 0; i < 6; i++)
        counts[where[i]]++;
    CU_ASSERT_EQUAL(counts[1], 4);
    CU_ASSERT_EQUAL(counts[2], 2);
    corral_place_node equal[] = {{.id = 1, .cpus = 2}, {.id = 2, .cpus = 2}};
    TEST_OK(corral_place(&(corral_place_request){"w", 2, 1, 0}, equal, 2, "", where));
    CU_ASSERT_TRUE(where[0] == 1 && where[1] == 2);
    corral_place_node tenths[] = {{.id = 1, .cpus = 1}};
    uint32_t ten[10];
    TEST_OK(corral_place(&(corral_place_request){"w", 10, 0.1, 0}, tenths, 1, "", ten));
    TEST_FAILS(corral_place(&(corral_place_request){"w", 1, 0.1, 0}, tenths, 1, "train (pid 7) holds 1", ten),
               CORRAL_ERROR_REFUSED, "train (pid 7) holds 1");
}

static void the_impossible_is_named(void)
{
    corral_place_node nodes[] = {{.id = 1, .cpus = 2, .gpus = 1}, {.id = 2, .cpus = 2}};
    uint32_t where[8];
    TEST_FAILS(corral_place(&(corral_place_request){"r", 1, 1, 99}, nodes, 2, "", where),
               CORRAL_ERROR_INFEASIBLE, "group \"r\": 99 GPUs asked for, the cluster has 1");
    TEST_FAILS(corral_place(&(corral_place_request){"r", 1, 3, 0}, nodes, 2, "", where),
               CORRAL_ERROR_INFEASIBLE, "3 CPUs asked for on one node, the largest has 2");
    TEST_FAILS(corral_place(&(corral_place_request){"r", 3, 1.2, 0}, nodes, 2, "", where),
               CORRAL_ERROR_INFEASIBLE, "room for 2");
    TEST_FAILS(corral_place(&(corral_place_request){"r", 2, 1, 0.6}, nodes, 2, "", where),
               CORRAL_ERROR_INFEASIBLE, "GPUs");
    TEST_FAILS(corral_place(&(corral_place_request){"r", 1, -1, 0}, nodes, 2, "", where),
               CORRAL_ERROR_INVALID, "-1");
}

// --- envelopes
// ------------------------------------------------------------------------------------------------------------

static void envelopes_come_through(void)
{
    Corral__V1__Hello hello = CORRAL__V1__HELLO__INIT;
    char token[] = "t\xc3\xb6ken";
    hello.token = token;
    hello.protocol = 7;
    const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_HELLO, &hello);
    uint8_t *bytes = NULL;
    size_t size = 0;
    corral_envelope *found = NULL;
    TEST_OK(corral_wire_pack(&envelope, &bytes, &size));
    TEST_OK(corral_wire_unpack(bytes, size, &found));
    CU_ASSERT_EQUAL(found->hello->protocol, 7);
    CU_ASSERT_STRING_EQUAL(found->hello->token, token);
    corral_wire_free(found);
    free(bytes);
}

static void dirty_texts_are_refused(void)
{
    char bad[][8] = {"\xff",  "\xc3",    "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                     "a\x01", "\x1b[2J", "\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        Corral__V1__Refused refused = CORRAL__V1__REFUSED__INIT;
        refused.text = bad[i];
        const corral_envelope envelope = corral_envelope_of(CORRAL__V1__ENVELOPE__BODY_REFUSED, &refused);
        uint8_t *bytes = NULL;
        size_t size = 0;
        corral_envelope *found = NULL;
        TEST_OK(corral_wire_pack(&envelope, &bytes, &size));
        TEST_FAILS(corral_wire_unpack(bytes, size, &found), CORRAL_ERROR_CORRUPT, "UTF-8");
        free(bytes);
        corral_wire_clean(bad[i]);
        TEST_OK(corral_wire_pack(&envelope, &bytes, &size));
        TEST_OK(corral_wire_unpack(bytes, size, &found));
        corral_wire_free(found);
        free(bytes);
    }
}

// Unknown fields, two bytes each, cost an allocation each: the budget ends that.
static void memory_is_bounded(void)
{
    const size_t size = 200000;
    uint8_t *bytes = malloc(size);
    for (size_t i = 0; i < size; i += 2) {
        bytes[i] = 15 << 3;
        bytes[i + 1] = 1;
    }
    corral_envelope *found = NULL;
    TEST_FAILS(corral_wire_unpack(bytes, size, &found), CORRAL_ERROR_CORRUPT, "no message");
    free(bytes);
    TEST_FAILS(corral_wire_unpack((const uint8_t *)"", 0, &found), CORRAL_ERROR_CORRUPT, "body");
}

static void prefixes(void)
{
    uint8_t bytes[CORRAL_WIRE_PREFIX], head[CORRAL_WIRE_CHUNK_HEAD_MAX];
    corral_wire_prefix prefix = {CORRAL_WIRE_CHUNK_MAX, 1, UINT64_MAX}, found;
    corral_wire_prefix_write(&prefix, bytes);
    TEST_OK(corral_wire_prefix_read(bytes, &found));
    CU_ASSERT_TRUE(found.chunk_size == prefix.chunk_size && found.seq == 1 && found.ack == UINT64_MAX);
    prefix.chunk_size++;
    corral_wire_prefix_write(&prefix, bytes);
    TEST_FAILS(corral_wire_prefix_read(bytes, &found), CORRAL_ERROR_CORRUPT, "chunk");
    bytes[0] = 0;
    TEST_FAILS(corral_wire_prefix_read(bytes, &found), CORRAL_ERROR_CORRUPT, "begin");
    // What we write by hand is what a protobuf library reads.
    const size_t head_size = corral_wire_chunk_head(300, head);
    uint8_t whole[CORRAL_WIRE_PREFIX + CORRAL_WIRE_CHUNK_HEAD_MAX + 300] = {0};
    corral_wire_prefix_write(&(corral_wire_prefix){300, 5, 6}, whole);
    memcpy(whole + CORRAL_WIRE_PREFIX, head, head_size);
    Corral__V1__Envelope *read =
        corral__v1__envelope__unpack(NULL, CORRAL_WIRE_PREFIX + head_size + 300, whole);
    CU_ASSERT_PTR_NOT_NULL_FATAL(read);
    CU_ASSERT_TRUE(read->chunk_size == 300 && read->seq == 5 && read->ack == 6 && read->chunk.len == 300);
    corral__v1__envelope__free_unpacked(read, NULL);
}

// --- the runtime folder
// -----------------------------------------------------------------------------------------------------

static void folders_come_and_go(void)
{
    char base[] = "/tmp/corral-test-XXXXXX", path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
    corral_runtime *first = NULL, *second = NULL;
    corral_runtime_entry entry;
    TEST_FAILS(corral_runtime_find(0, &entry), CORRAL_ERROR_NOT_FOUND, "no head of yours");
    TEST_OK(corral_runtime_open(&first));
    int listener = -1, socket = -1;
    TEST_OK(corral_runtime_listen(first, &listener));
    TEST_OK(corral_runtime_announce(first, true, "127.0.0.1:7000", 7000, "abc"));
    TEST_OK(corral_runtime_find(7000, &entry));
    CU_ASSERT_STRING_EQUAL(entry.token, "abc");
    CU_ASSERT_EQUAL(entry.pid, getpid());
    TEST_OK(corral_runtime_attach(entry.socket, &socket));
    close(socket);
    TEST_OK(corral_runtime_find(0, &entry));
    CU_ASSERT_STRING_EQUAL(entry.address, "127.0.0.1:7000");
    struct stat info;
    snprintf(path, sizeof path, "%s/corral-%u", base, (unsigned)geteuid());
    CU_ASSERT_TRUE(stat(path, &info) == 0 && (info.st_mode & 0777) == 0700);
    CU_ASSERT_TRUE(stat(entry.socket, &info) == 0 && (info.st_mode & 0777) == 0600);

    TEST_OK(corral_runtime_open(&second));
    TEST_OK(corral_runtime_announce(second, true, "127.0.0.1:7001", 7001, "def"));
    TEST_FAILS(corral_runtime_find(0, &entry), CORRAL_ERROR_INVALID, "2 heads");
    corral_runtime_close(second);
    TEST_FAILS(corral_runtime_find(7001, &entry), CORRAL_ERROR_NOT_FOUND, "7001");
    close(listener);
    corral_runtime_close(first);
    CU_ASSERT_EQUAL(rmdir(base), 0);
}

static void what_the_dead_left_is_removed(void)
{
    char base[] = "/tmp/corral-test-XXXXXX";
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
    const pid_t pid = fork();
    if (pid == 0) {
        corral_runtime *dying = NULL;
        int listener = -1;
        const bool good = corral_runtime_open(&dying) == CORRAL_OK &&
                          corral_runtime_listen(dying, &listener) == CORRAL_OK &&
                          corral_runtime_announce(dying, true, "127.0.0.1:7000", 7000, "abc") == CORRAL_OK;
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    CU_ASSERT_EQUAL(status, 0);
    corral_runtime_entry entry;
    TEST_FAILS(corral_runtime_find(7000, &entry), CORRAL_ERROR_NOT_FOUND, "7000"); // its lock is free
    corral_runtime *next = NULL;
    TEST_OK(corral_runtime_open(&next));
    corral_runtime_close(next);
    CU_ASSERT_EQUAL(rmdir(base), 0); // all of the dead one's files went
}

static void a_foreign_folder_is_refused(void)
{
    char base[] = "/tmp/corral-test-XXXXXX", path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(base));
    setenv("XDG_RUNTIME_DIR", base, 1);
    snprintf(path, sizeof path, "%s/corral-%u", base, (unsigned)geteuid());
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    CU_ASSERT_EQUAL(chmod(path, 0755), 0);
    corral_runtime *runtime = NULL;
    TEST_FAILS(corral_runtime_open(&runtime), CORRAL_ERROR_REFUSED, path);
    rmdir(path);
    CU_ASSERT_EQUAL(symlink("/tmp", path), 0);
    TEST_FAILS(corral_runtime_open(&runtime), CORRAL_ERROR_REFUSED, path);
    unlink(path);
    rmdir(base);
}

int main(void)
{
    return test_run("net: parts", (test_case[]){
                                      {"addresses", addresses},
                                      {"faults parse", faults_parse},
                                      {"faults come as often as asked", faults_come_as_often_as_asked},
                                      {"actors are spread", actors_are_spread},
                                      {"the impossible is named", the_impossible_is_named},
                                      {"envelopes come through", envelopes_come_through},
                                      {"dirty texts are refused", dirty_texts_are_refused},
                                      {"memory is bounded", memory_is_bounded},
                                      {"prefixes", prefixes},
                                      {"folders come and go", folders_come_and_go},
                                      {"what the dead left is removed", what_the_dead_left_is_removed},
                                      {"a foreign folder is refused", a_foreign_folder_is_refused},
                                      {NULL, NULL},
                                  });
}
