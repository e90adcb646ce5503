// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "tls.h"

#include "corral/base/file.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PEM_LIMIT = 64 << 10 };

static corral_status read_pem(const char *folder, const char *name, char **out_text)
{
    char *path = corral_format("%s/%s", folder, name);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    size_t size = 0;
    const corral_status status = corral_file_read(path, PEM_LIMIT, out_text, &size);
    free(path);
    return corral_fail_within(status, "--tls %s (`corral certs` makes such folders)", folder);
}

static corral_status check_mode(const char *folder)
{
    char *path = corral_format("%s/node.key", folder);
    if (path == NULL) return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory for a path");
    struct stat found;
    const bool open_to_others = stat(path, &found) == 0 && (found.st_mode & 077) != 0;
    const corral_status status =
        open_to_others ? corral_fail(CORRAL_ERROR_REFUSED,
                                     "%s may be read by others than its owner; run chmod 600 %s", path, path)
                       : CORRAL_OK;
    free(path);
    return status;
}

static int no_password(char *text, int size, int writing, void *context)
{
    (void)text, (void)size, (void)writing, (void)context;
    return -1; // else OpenSSL would ask at the terminal
}

static X509 *read_certificate(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *certificate = bio != NULL ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
    BIO_free(bio);
    return certificate;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
    BIO_free(bio);
    return key;
}

// X509_V_OK, or OpenSSL's code for what is wrong.
static int verify(X509 *authority, X509 *certificate)
{
    int code = X509_V_ERR_OUT_OF_MEM;
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    if (store != NULL && context != NULL && X509_STORE_add_cert(store, authority) == 1 &&
        X509_STORE_CTX_init(context, store, certificate, NULL) == 1)
        code = X509_verify_cert(context) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return code;
}

static corral_status judge(X509 *authority, X509 *certificate, EVP_PKEY *key, const char *name)
{
    if (authority == NULL || certificate == NULL || key == NULL)
        return corral_fail(CORRAL_ERROR_CORRUPT, "--tls %s: %s is not a PEM file of what its name says", name,
                           authority == NULL     ? "ca.crt"
                           : certificate == NULL ? "node.crt"
                                                 : "node.key");
    if (X509_check_private_key(certificate, key) != 1)
        return corral_fail(CORRAL_ERROR_INVALID, "--tls %s: node.key is not the key of node.crt", name);
    const int code = verify(authority, certificate);
    if (code == X509_V_OK) return CORRAL_OK;
    if (code == X509_V_ERR_CERT_HAS_EXPIRED)
        return corral_fail(CORRAL_ERROR_REFUSED,
                           "--tls %s: node.crt or ca.crt has expired; make another with `corral certs`",
                           name);
    return corral_fail(CORRAL_ERROR_REFUSED, "--tls %s: node.crt is not signed by ca.crt (%s)", name,
                       X509_verify_cert_error_string(code));
}

corral_status corral_tls_check(const corral_tls *tls, const char *name)
{
    X509 *authority = read_certificate(tls->authority), *certificate = read_certificate(tls->certificate);
    EVP_PKEY *key = read_key(tls->key);
    const corral_status status = judge(authority, certificate, key, name);
    EVP_PKEY_free(key);
    X509_free(certificate);
    X509_free(authority);
    ERR_clear_error(); // gRPC would take what is left there for its own
    return status;
}

corral_status corral_tls_load(const char *folder, corral_tls *out_tls)
{
    *out_tls = (corral_tls){0};
    if (folder == NULL || folder[0] == '\0') return CORRAL_OK;
    corral_status status = read_pem(folder, "ca.crt", &out_tls->authority);
    if (status == CORRAL_OK) status = read_pem(folder, "node.crt", &out_tls->certificate);
    if (status == CORRAL_OK) status = read_pem(folder, "node.key", &out_tls->key);
    if (status == CORRAL_OK) status = check_mode(folder);
    if (status == CORRAL_OK) status = corral_tls_check(out_tls, folder);
    if (status != CORRAL_OK) corral_tls_finish(out_tls);
    return status;
}

void corral_tls_finish(corral_tls *tls)
{
    if (tls->key != NULL) OPENSSL_cleanse(tls->key, strlen(tls->key));
    free(tls->authority);
    free(tls->certificate);
    free(tls->key);
    *tls = (corral_tls){0};
}

// --- what went wrong
// ----------------------------------------------------------------------------------------------------------

static const struct {
    const char *sign, *sentence;
} meanings[] = {
    {"certificate has expired", "TLS: a certificate has expired; make another with `corral certs`"},
    {"certificate expired", "TLS: our certificate has expired; make another with `corral certs`"},
    {"is not in peer certificate",
     "TLS: the other side's certificate does not name the host that was dialled; dial a name that it has, or "
     "make another with `corral certs`"},
    {"ertificate verify failed", "TLS: the other side's certificate is not of our authority, or has expired; "
                                 "both folders given with --tls have to come "
                                 "from one `corral certs`"},
    {"CERTIFICATE_VERIFY_FAILED", "TLS: the other side's certificate is not of our authority, or has "
                                  "expired; both folders given with --tls have to come "
                                  "from one `corral certs`"},
    {"unknown ca",
     "TLS: our certificate is not of the other side's authority; both folders given with --tls have to come "
     "from one `corral certs`"},
    {"did not return a certificate", "TLS: the other side shows no certificate; start it with --tls"},
    {"certificate required", "TLS: the other side asks for a certificate; give --tls"},
    {"wrong version number", "TLS: the other side speaks without TLS; start both with --tls, or neither"},
    {"Handshake read failed", "TLS: the other side left the handshake; it does not take our certificate, or "
                              "says what is wrong itself"},
    {"http request", "TLS: the other side speaks without TLS; start both with --tls, or neither"},
};

static const char any_handshake[] = "TLS: the handshake failed";

bool corral_tls_explain(const char *details, char *out_sentence, size_t size)
{
    if (strcasestr(details, "handshake failed") == NULL &&
        strcasestr(details, "is not in peer certificate") == NULL)
        return false;
    const char *sentence = any_handshake;
    for (size_t i = sizeof meanings / sizeof meanings[0]; i-- > 0;)
        if (strcasestr(details, meanings[i].sign) != NULL) sentence = meanings[i].sentence;
    if (sentence == any_handshake)
        snprintf(out_sentence, size, "%s (%.160s)", any_handshake, details);
    else
        snprintf(out_sentence, size, "%s", sentence);
    return true;
}

bool corral_tls_is_at_fault(const char *sentence)
{
    return strncmp(sentence, "TLS: ", 5) == 0;
}
