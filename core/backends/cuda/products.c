// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Matrix products by cuBLASLt, which is opened when the first product is asked for: it is half a gigabyte.
//
// cuBLASLt counts in columns. A row-major C[m, n] = A B is, read by columns, C^T[n, m] = B^T A^T: the
// operands change places, and what is stored plainly is taken plainly. Sums are floats; TF32 is not used for
// floats. The algorithm is asked for once per shape and kept, so that a product that is recorded is the one
// that ran before. A workspace is shared by all streams that have one product at a time in flight: ours are
// ordered.

#include "seam.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WORKSPACE = 32 << 20, PLANS = 256 };

/// The functions that are used, by name.
static struct {
    bool tried, ready;
    cublasStatus_t (*create)(cublasLtHandle_t *);
    cublasStatus_t (*matmul)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,
                             cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t, const void *,
                             const void *, cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                             const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t);
    cublasStatus_t (*desc_create)(cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t);
    cublasStatus_t (*desc_set)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *, size_t);
    cublasStatus_t (*layout_create)(cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t, int64_t);
    cublasStatus_t (*preference_create)(cublasLtMatmulPreference_t *);
    cublasStatus_t (*preference_set)(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                     const void *, size_t);
    cublasStatus_t (*preference_destroy)(cublasLtMatmulPreference_t);
    cublasStatus_t (*heuristic)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t[], int *);
    cublasLtHandle_t handle;
    void *workspace;
} lt;

/// A shape with all that cuBLASLt wants for it.
typedef struct plan {
    uint64_t m, n, k;
    uint8_t transpose_a, transpose_b, half, add;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t first, second, result; // by columns: of B, A and C
    cublasLtMatmulAlgo_t algorithm;
} plan;

static plan plans[PLANS];
static uint32_t plan_count;

static bool noted(cublasStatus_t status, const char *what)
{
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    char why[64];
    snprintf(why, sizeof why, "cuBLASLt's status %d", (int)status);
    corral_cuda_note_text(what, why);
    return false;
}

/// Writes the address of a function through a pointer to where it is kept.
static bool find(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    if (address == NULL)
        corral_cuda_note_text(name, "this cuBLASLt lacks it");
    else
        memcpy(function, &address, size);
    return address != NULL;
}

#define FIND(member, name) find(library, name, &lt.member, sizeof lt.member)

static bool open_library(void)
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
    void *library = corral_cuda_open_library(names);
    if (library == NULL) return false;
    if (!FIND(create, "cublasLtCreate") || !FIND(matmul, "cublasLtMatmul") ||
        !FIND(desc_create, "cublasLtMatmulDescCreate") || !FIND(desc_set, "cublasLtMatmulDescSetAttribute") ||
        !FIND(layout_create, "cublasLtMatrixLayoutCreate") ||
        !FIND(preference_create, "cublasLtMatmulPreferenceCreate") ||
        !FIND(preference_set, "cublasLtMatmulPreferenceSetAttribute") ||
        !FIND(preference_destroy, "cublasLtMatmulPreferenceDestroy") ||
        !FIND(heuristic, "cublasLtMatmulAlgoGetHeuristic"))
        return false;
    if (!noted(lt.create(&lt.handle), "opening cuBLASLt")) return false;
    corral_cuda_note(cudaMalloc(&lt.workspace, WORKSPACE), "memory for products");
    return lt.workspace != NULL;
}

#undef FIND

static bool is_plan_of(const plan *p, const corral_product *q)
{
    return p->m == q->m && p->n == q->n && p->k == q->k && p->transpose_a == q->transpose_a &&
           p->transpose_b == q->transpose_b && p->half == q->half && p->add == q->add;
}

/// The layout of a row-major [rows, columns], read by columns.
static bool create_layout(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t columns)
{
    return noted(lt.layout_create(out, type, columns, rows, (int64_t)columns), "describing a matrix");
}

static bool choose_algorithm(plan *p)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t result;
    const size_t workspace = WORKSPACE;
    int found = 0;
    bool good = noted(lt.preference_create(&preference), "choosing a product");
    good = good && noted(lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                           sizeof workspace),
                         "choosing a product");
    good = good && noted(lt.heuristic(lt.handle, p->desc, p->first, p->second, p->result, p->result,
                                      preference, 1, &result, &found),
                         "choosing a product");
    if (preference != NULL) (void)lt.preference_destroy(preference);
    if (good && found == 0) corral_cuda_note_text("choosing a product", "cuBLASLt has none for this shape");
    if (good && found > 0) p->algorithm = result.algo;
    return good && found > 0;
}

static bool make_plan(plan *p, const corral_product *q)
{
    *p = (plan){.m = q->m, .n = q->n, .k = q->k};
    p->transpose_a = q->transpose_a;
    p->transpose_b = q->transpose_b;
    p->half = q->half;
    p->add = q->add;
    const cudaDataType type = q->half ? CUDA_R_16BF : CUDA_R_32F;
    const cublasOperation_t first = q->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = q->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    return noted(lt.desc_create(&p->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product") &&
           noted(lt.desc_set(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
                 "describing a product") &&
           noted(lt.desc_set(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second),
                 "describing a product") &&
           create_layout(&p->first, type, q->transpose_b ? q->n : q->k, q->transpose_b ? q->k : q->n) &&
           create_layout(&p->second, type, q->transpose_a ? q->k : q->m, q->transpose_a ? q->m : q->k) &&
           create_layout(&p->result, CUDA_R_32F, q->m, q->n) && choose_algorithm(p);
}

static const plan *find_plan(const corral_product *q)
{
    for (uint32_t i = 0; i < plan_count; i++)
        if (is_plan_of(&plans[i], q)) return &plans[i];
    if (plan_count == PLANS) {
        corral_cuda_note_text("products", "more shapes than are kept; use fewer sizes of minibatches");
        return NULL;
    }
    if (!make_plan(&plans[plan_count], q)) return NULL;
    return &plans[plan_count++];
}

void corral_cuda_product(corral_stream *stream, const corral_product *q)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (q->m == 0 || q->n == 0) return;
    pthread_mutex_lock(&lock);
    if (!lt.tried) lt.ready = open_library();
    lt.tried = true;
    const plan *p = lt.ready ? find_plan(q) : NULL;
    pthread_mutex_unlock(&lock);
    if (p == NULL) return;
    const float alpha = 1, beta = q->add ? 1 : 0;
    noted(lt.matmul(lt.handle, p->desc, &alpha, q->b, p->first, q->a, p->second, &beta, q->c, p->result, q->c,
                    p->result, &p->algorithm, lt.workspace, WORKSPACE, (cudaStream_t)(void *)stream),
          "a product");
}
