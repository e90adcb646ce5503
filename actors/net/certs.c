// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Certificates of a cluster: an authority that signs nothing but them, and one per host, which is its
/// server's and its client's at once, since every node dials and is dialled. Keys are on P-256; a certificate
/// names the host's names and addresses as alternative subjects, which is all that TLS looks at.
#include "corral/net/certs.h"

#include "corral/base/file.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_SIZE = 1024,
    DAY = 24 * 3600,
    AUTHORITY_DAYS = 3650,
    CLOCKS_DIFFER = 3600, // hosts' clocks do: a certificate holds a little longer than it is there
};

typedef struct identity {
    X509 *certificate;
    EVP_PKEY *key;
} identity;

static void finish_identity(identity *one)
{
    X509_free(one->certificate);
    EVP_PKEY_free(one->key);
    *one = (identity){0};
}

// --- making
// ---------------------------------------------------------------------------------------------------------------

static bool add_extension(X509 *certificate, X509 *issuer, int kind, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    const bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool set_serial(X509 *certificate)
{
    uint64_t number = 0;
    return RAND_bytes((unsigned char *)&number, sizeof number) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number | 1) == 1;
}

// An identity without extensions, not signed yet.
static bool begin_identity(identity *one, const char *name, int64_t valid_seconds)
{
    one->key = EVP_EC_gen("P-256");
    one->certificate = X509_new();
    return one->key != NULL && one->certificate != NULL && X509_set_version(one->certificate, 2) == 1 &&
           set_serial(one->certificate) &&
           X509_gmtime_adj(X509_getm_notBefore(one->certificate), -CLOCKS_DIFFER) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(one->certificate), (long)valid_seconds) != NULL &&
           X509_set_pubkey(one->certificate, one->key) == 1 &&
           X509_NAME_add_entry_by_txt(X509_get_subject_name(one->certificate), "CN", MBSTRING_ASC,
                                      (const unsigned char *)name, -1, -1, 0) == 1;
}

static bool sign(identity *one, const identity *by)
{
    return X509_set_issuer_name(one->certificate, X509_get_subject_name(by->certificate)) == 1 &&
           X509_sign(one->certificate, by->key, EVP_sha256()) > 0;
}

// With a name of its own: of two authorities with one name, OpenSSL would say that a signature is broken.
static bool make_authority(identity *out)
{
    uint32_t number = 0;
    char name[64];
    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1) return false;
    snprintf(name, sizeof name, "Corral cluster authority %08x", number);
    return begin_identity(out, name, (int64_t)AUTHORITY_DAYS * DAY) &&
           add_extension(out->certificate, out->certificate, NID_basic_constraints,
                         "critical,CA:TRUE,pathlen:0") &&
           add_extension(out->certificate, out->certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_extension(out->certificate, out->certificate, NID_subject_key_identifier, "hash") &&
           sign(out, out);
}

static bool make_host(const identity *authority, const char *name, const char *subjects,
                      int64_t valid_seconds, identity *out)
{
    return begin_identity(out, name, valid_seconds) &&
           add_extension(out->certificate, authority->certificate, NID_basic_constraints,
                         "critical,CA:FALSE") &&
           add_extension(out->certificate, authority->certificate, NID_key_usage,
                         "critical,digitalSignature") &&
           add_extension(out->certificate, authority->certificate, NID_ext_key_usage,
                         "serverAuth,clientAuth") &&
           add_extension(out->certificate, authority->certificate, NID_subject_alt_name, subjects) &&
           sign(out, authority);
}

// --- names
// ----------------------------------------------------------------------------------------------------------------

// Also what a folder may be called, and nothing that OpenSSL's own syntax would take for more than a name.
static bool is_host(const char *name, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
    return length > 0 && length < 64 && name[0] != '.' && name[0] != '-' && strspn(name, allowed) >= length;
}

static bool is_address(const char *name)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

// "gpu1,10.0.0.7" to the folder's name and "DNS:gpu1,IP:10.0.0.7".
static corral_status read_host(const char *text, char name[64], char subjects[NAMES_SIZE])
{
    size_t used = 0;
    name[0] = '\0';
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        char one[64];
        if (!is_host(at, length) || used + length + 8 > NAMES_SIZE)
            return corral_fail(CORRAL_ERROR_INVALID,
                               "\"%.200s\" is no list of host names and addresses, like gpu1,10.0.0.7", text);
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (name[0] == '\0') snprintf(name, 64, "%s", one);
        used += (size_t)snprintf(subjects + used, NAMES_SIZE - used, "%s%s:%s", used > 0 ? "," : "",
                                 is_address(one) ? "IP" : "DNS", one);
        at += length;
        if (*at == '\0') break;
    }
    return strcmp(name, "ca") != 0
               ? CORRAL_OK
               : corral_fail(CORRAL_ERROR_INVALID, "a host cannot be called ca: the authority's folder is");
}

// --- files
// ----------------------------------------------------------------------------------------------------------------

static corral_status write_bio(const char *folder, const char *name, BIO *bio, bool good)
{
    char *bytes = NULL;
    const long size = bio != NULL ? BIO_get_mem_data(bio, &bytes) : 0;
    char *path = corral_format("%s/%s", folder, name);
    corral_status status = good && size > 0 && path != NULL
                               ? corral_file_write(path, bytes, (size_t)size)
                               : corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for %s", name);
    if (status == CORRAL_OK && chmod(path, 0600) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot keep %s from others", path);
    free(path);
    BIO_free(bio);
    return status;
}

static corral_status write_certificate(const char *folder, const char *name, X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    return write_bio(folder, name, bio, bio != NULL && PEM_write_bio_X509(bio, certificate) == 1);
}

static corral_status write_key(const char *folder, const char *name, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    return write_bio(folder, name, bio,
                     bio != NULL && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
}

// A folder of three files (two for the authority itself) that nobody else may enter, made beside its place
// and then moved there.
static corral_status write_folder(const char *folder, const char *name, const identity *authority,
                                  const identity *one)
{
    char *made = corral_format("%s/.%s.%d", folder, name, (int)getpid());
    char *place = corral_format("%s/%s", folder, name);
    corral_status status = CORRAL_OK;
    if (made == NULL || place == NULL)
        status = corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    else if (access(place, F_OK) == 0)
        status =
            corral_fail(CORRAL_ERROR_EXISTS,
                        "%s is there already; remove it if another certificate shall take its place", place);
    else if (mkdir(made, 0700) != 0)
        status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make %s", made);
    if (status == CORRAL_OK) {
        const bool itself = one == authority;
        status = write_certificate(made, "ca.crt", authority->certificate);
        if (status == CORRAL_OK && !itself) status = write_certificate(made, "node.crt", one->certificate);
        if (status == CORRAL_OK) status = write_key(made, itself ? "ca.key" : "node.key", one->key);
        if (status == CORRAL_OK && rename(made, place) != 0)
            status = corral_fail_errno(CORRAL_ERROR_IO, errno, "cannot make %s", place);
        if (status != CORRAL_OK) {
            char sentence[512]; // of the failure, not of the clean-up's
            snprintf(sentence, sizeof sentence, "%s", corral_last_error());
            const corral_status removed = corral_folder_remove(made);
            (void)removed; // what could not be written may not be removable either
            status = corral_fail(status, "%s", sentence);
        }
    }
    free(made);
    free(place);
    return status;
}

static BIO *open_file(const char *folder, const char *name)
{
    char *path = corral_format("%s/ca/%s", folder, name);
    BIO *bio = path != NULL ? BIO_new_file(path, "r") : NULL;
    free(path);
    return bio;
}

static int no_password(char *text, int size, int writing, void *context)
{
    (void)text, (void)size, (void)writing, (void)context;
    return -1; // else OpenSSL would ask at the terminal
}

static corral_status read_authority(const char *folder, identity *out)
{
    BIO *certificate = open_file(folder, "ca.crt"), *key = open_file(folder, "ca.key");
    if (certificate != NULL) out->certificate = PEM_read_bio_X509(certificate, NULL, no_password, NULL);
    if (key != NULL) out->key = PEM_read_bio_PrivateKey(key, NULL, no_password, NULL);
    BIO_free(certificate);
    BIO_free(key);
    if (out->certificate != NULL && out->key != NULL &&
        X509_check_private_key(out->certificate, out->key) == 1)
        return CORRAL_OK;
    return corral_fail(CORRAL_ERROR_CORRUPT,
                       "%s/ca does not hold an authority's ca.crt and its ca.key; give another folder",
                       folder);
}

static corral_status open_authority(const char *folder, identity *out)
{
    char *path = corral_format("%s/ca", folder);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    const bool there = access(path, F_OK) == 0;
    free(path);
    if (there) return read_authority(folder, out);
    if (!make_authority(out))
        return corral_fail(CORRAL_ERROR_NO_MEMORY, "OpenSSL cannot make a certificate authority");
    return write_folder(folder, "ca", out, out);
}

corral_status corral_certs_create(const char *folder, const char *const *hosts, size_t count,
                                  int64_t valid_seconds)
{
    char name[64], subjects[NAMES_SIZE];
    corral_status status = CORRAL_OK;
    for (size_t i = 0; i < count && status == CORRAL_OK; i++)
        status = read_host(hosts[i], name, subjects);
    identity authority = {0};
    if (status == CORRAL_OK) status = corral_folder_create(folder);
    if (status == CORRAL_OK) status = open_authority(folder, &authority);
    for (size_t i = 0; i < count && status == CORRAL_OK; i++) {
        identity host = {0};
        status = read_host(hosts[i], name, subjects);
        if (status == CORRAL_OK && !make_host(&authority, name, subjects, valid_seconds, &host))
            status = corral_fail(CORRAL_ERROR_INVALID, "OpenSSL cannot make a certificate for %s", hosts[i]);
        if (status == CORRAL_OK) status = write_folder(folder, name, &authority, &host);
        finish_identity(&host);
    }
    finish_identity(&authority);
    ERR_clear_error();
    return status;
}
