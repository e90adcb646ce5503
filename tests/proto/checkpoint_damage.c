// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Checkpoints that something happened to: each is refused, with a sentence that names the file.

#include "folder.h"

#define POLICY   "100/policy.safetensors"
#define MANIFEST "100/manifest.json"

static void begin(void)
{
    scratch_make();
    make_checkpoint(in_scratch("100"), "{\"env_steps\": 100}");
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
}

static void refused(corral_status status, const char *text)
{
    TEST_FAILS(corral_checkpoint_verify(in_scratch("100")), status, text);
    scratch_remove();
}

static void any_flipped_bit_is_seen(void)
{
    begin();
    char *bytes;
    size_t size;
    TEST_OK(corral_file_read(in_scratch(POLICY), 4096, &bytes, &size));
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= (char)(1 << i % 8);
        TEST_OK(corral_file_write(in_scratch(POLICY), bytes, size));
        TEST_FAILS(corral_checkpoint_verify(in_scratch("100")), CORRAL_ERROR_CORRUPT,
                   "policy.safetensors: checksum differs from manifest.json; the file is damaged");
        bytes[i] ^= (char)(1 << i % 8);
    }
    TEST_OK(corral_file_write(in_scratch(POLICY), bytes, size));
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    free(bytes);
    scratch_remove();
}

static void any_flipped_bit_of_the_manifest_is_survived(void)
{
    begin();
    char *bytes;
    size_t size;
    TEST_OK(corral_file_read(in_scratch(MANIFEST), 4096, &bytes, &size));
    for (size_t i = 0; i < 8 * size; i++) {
        bytes[i / 8] ^= (char)(1 << i % 8);
        TEST_OK(corral_file_write(in_scratch(MANIFEST), bytes, size));
        // Changed white space is no damage; all else is refused.
        const char was = (char)(bytes[i / 8] ^ (char)(1 << i % 8));
        if (was != ' ' && was != '\t' && was != '\n')
            CU_ASSERT_NOT_EQUAL(corral_checkpoint_verify(in_scratch("100")), CORRAL_OK);
        bytes[i / 8] ^= (char)(1 << i % 8);
    }
    for (size_t cut = 0; cut < size - 1; cut++) {
        TEST_OK(corral_file_write(in_scratch(MANIFEST), bytes, cut));
        CU_ASSERT_EQUAL(corral_checkpoint_verify(in_scratch("100")), CORRAL_ERROR_CORRUPT);
    }
    free(bytes);
    scratch_remove();
}

static void a_cut_file_is_refused(void)
{
    begin();
    CU_ASSERT_EQUAL(truncate(in_scratch(POLICY), 10), 0);
    refused(CORRAL_ERROR_CORRUPT, "policy.safetensors: 10 bytes instead of the 38");
}

static void an_oversized_file_is_refused_unread(void)
{
    begin();
    // A terabyte that takes no room: reading it would take minutes.
    CU_ASSERT_EQUAL(truncate(in_scratch(POLICY), (off_t)1 << 40), 0);
    refused(CORRAL_ERROR_CORRUPT, "policy.safetensors: 1099511627776 bytes");
}

static void an_oversized_manifest_is_refused_unread(void)
{
    begin();
    CU_ASSERT_EQUAL(truncate(in_scratch(MANIFEST), (off_t)1 << 40), 0);
    refused(CORRAL_ERROR_INVALID, "manifest.json");
}

static void a_missing_file_is_refused(void)
{
    begin();
    CU_ASSERT_EQUAL(unlink(in_scratch(POLICY)), 0);
    refused(CORRAL_ERROR_CORRUPT, "policy.safetensors is in manifest.json and cannot be found");
}

static void a_missing_manifest_is_refused(void)
{
    begin();
    CU_ASSERT_EQUAL(unlink(in_scratch(MANIFEST)), 0);
    refused(CORRAL_ERROR_NOT_FOUND, "is not a checkpoint: it has no manifest.json");
}

static void a_file_from_elsewhere_is_refused(void)
{
    begin();
    write_file(in_scratch("100/.hidden"), "of a file manager"); // which is nobody's input
    TEST_OK(corral_checkpoint_verify(in_scratch("100")));
    write_file(in_scratch("100/optimizer.safetensors"), "from elsewhere");
    refused(CORRAL_ERROR_CORRUPT, "optimizer.safetensors is not in manifest.json");
}

static void a_link_is_refused(void)
{
    begin();
    CU_ASSERT_EQUAL(rename(in_scratch(POLICY), in_scratch("elsewhere")), 0);
    CU_ASSERT_EQUAL(symlink("../elsewhere", in_scratch(POLICY)), 0);
    refused(CORRAL_ERROR_CORRUPT, "policy.safetensors is a link");
}

static void a_pipe_does_not_hold_us(void)
{
    begin();
    CU_ASSERT_EQUAL(unlink(in_scratch(POLICY)), 0);
    CU_ASSERT_EQUAL(mkfifo(in_scratch(POLICY), 0600), 0);
    refused(CORRAL_ERROR_CORRUPT, "policy.safetensors");
}

#define HEAD "{\"format\": \"corral-checkpoint\", \"version\": 1, \"files\": "
#define SUM  "\"size\": 5, \"xxh3\": \"0123456789abcdef\""

static void hostile_manifests_are_refused(void)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "not JSON"},
        {"[]", "not the manifest"},
        {"{}", "not the manifest"},
        {"{\"format\": \"other\", \"version\": 1, \"files\": {\"a\": {" SUM "}}}", "not the manifest"},
        {"{\"format\": \"corral-checkpoint\", \"version\": 1}", "lists no files"},
        {HEAD "{}}", "lists no files"},
        {HEAD "[1]}", "lists no files"},
        {HEAD "{\"../../etc/passwd\": {" SUM "}}}", "not a name of a file in this folder"},
        {HEAD "{\"/etc/passwd\": {" SUM "}}}", "not a name"},
        {HEAD "{\"..\": {" SUM "}}}", "not a name"},
        {HEAD "{\"\": {" SUM "}}}", "not a name"},
        {HEAD "{\"manifest.json\": {" SUM "}}}", "not a name"},
        {HEAD "{\"a\": 5}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": -1, \"xxh3\": \"0123456789abcdef\"}}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": 1.5, \"xxh3\": \"0123456789abcdef\"}}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": 1e300, \"xxh3\": \"0123456789abcdef\"}}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": 5, \"xxh3\": \"0123456789ABCDEF\"}}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": 5, \"xxh3\": \"0\"}}}", "no proper size"},
        {HEAD "{\"a\": {\"size\": 5}}}", "no proper size"},
        {HEAD "{\"a\": {" SUM "}, \"a\": {" SUM "}}}", "listed twice"},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(in_scratch(MANIFEST), cases[i].text);
        TEST_FAILS(corral_checkpoint_verify(in_scratch("100")), CORRAL_ERROR_CORRUPT, cases[i].sentence);
    }
    write_file(in_scratch(MANIFEST), "{\"format\": \"corral-checkpoint\", \"version\": 2, \"files\": {}}");
    TEST_FAILS(corral_checkpoint_verify(in_scratch("100")), CORRAL_ERROR_VERSION, "version 2");
    scratch_remove();
}

static void a_deep_manifest_is_refused(void)
{
    begin();
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, '[', DEPTH);
    text[DEPTH] = '\0';
    write_file(in_scratch(MANIFEST), text);
    free(text);
    refused(CORRAL_ERROR_CORRUPT, "not JSON");
}

int main(void)
{
    return test_run(
        "damaged checkpoints",
        (test_case[]){
            {"any flipped bit is seen", any_flipped_bit_is_seen},
            {"any flipped bit of the manifest is survived", any_flipped_bit_of_the_manifest_is_survived},
            {"a cut file is refused", a_cut_file_is_refused},
            {"an oversized file is refused unread", an_oversized_file_is_refused_unread},
            {"an oversized manifest is refused unread", an_oversized_manifest_is_refused_unread},
            {"a missing file is refused", a_missing_file_is_refused},
            {"a missing manifest is refused", a_missing_manifest_is_refused},
            {"a file from elsewhere is refused", a_file_from_elsewhere_is_refused},
            {"a link is refused", a_link_is_refused},
            {"a pipe does not hold us", a_pipe_does_not_hold_us},
            {"hostile manifests are refused", hostile_manifests_are_refused},
            {"a deep manifest is refused", a_deep_manifest_is_refused},
            {NULL, NULL},
        });
}
