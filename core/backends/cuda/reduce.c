// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Sums over several GPUs or learners by NCCL, which is opened when a group is first made. Where its header
// was not there to compile with, groups cannot be made.

#include "seam.h"

#include <stdlib.h>

#if __has_include(<nccl.h>)

#include <dlfcn.h>
#include <nccl.h>
#include <string.h>

struct corral_reduce_group {
    ncclComm_t communicator;
};

_Static_assert(NCCL_UNIQUE_ID_BYTES <= (int)CORRAL_DEVICE_GROUP_ID, "a group's id must fit");

static struct {
    void *library;
    const char *(*error)(ncclResult_t);
    ncclResult_t (*id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*destroy)(ncclComm_t);
    ncclResult_t (*all_reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t);
} nccl;

static void find(const char *name, void *function, size_t size)
{
    void *address = dlsym(nccl.library, name);
    memcpy(function, &address, size);
}

static bool open_library(void)
{
    static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
    if (nccl.library != NULL) return true;
    nccl.library = corral_cuda_open_library(names);
    if (nccl.library == NULL) return false;
    find("ncclGetErrorString", &nccl.error, sizeof nccl.error);
    find("ncclGetUniqueId", &nccl.id, sizeof nccl.id);
    find("ncclCommInitRank", &nccl.init, sizeof nccl.init);
    find("ncclCommDestroy", &nccl.destroy, sizeof nccl.destroy);
    find("ncclAllReduce", &nccl.all_reduce, sizeof nccl.all_reduce);
    if (nccl.error != NULL && nccl.id != NULL && nccl.init != NULL && nccl.destroy != NULL &&
        nccl.all_reduce != NULL)
        return true;
    corral_cuda_note_text("NCCL", "this library lacks what is used of it");
    nccl.library = NULL;
    return false;
}

static bool noted(ncclResult_t result, const char *what)
{
    if (result != ncclSuccess) corral_cuda_note_text(what, nccl.error(result));
    return result == ncclSuccess;
}

bool corral_cuda_reduce_id(void *out_id)
{
    ncclUniqueId id;
    if (!open_library() || !noted(nccl.id(&id), "NCCL: making a group")) return false;
    memset(out_id, 0, CORRAL_DEVICE_GROUP_ID);
    memcpy(out_id, &id, sizeof id);
    return true;
}

corral_reduce_group *corral_cuda_reduce_create(const void *id, uint32_t rank, uint32_t count)
{
    corral_reduce_group *group = calloc(1, sizeof *group);
    ncclUniqueId unique;
    memcpy(&unique, id, sizeof unique);
    if (group != NULL && open_library() &&
        noted(nccl.init(&group->communicator, (int)count, unique, (int)rank), "NCCL: joining a group"))
        return group;
    free(group);
    return NULL;
}

void corral_cuda_reduce_destroy(corral_reduce_group *group)
{
    if (group == NULL) return;
    noted(nccl.destroy(group->communicator), "NCCL: leaving a group");
    free(group);
}

void corral_cuda_all_reduce(corral_reduce_group *group, corral_stream *stream, float *values, size_t count)
{
    noted(nccl.all_reduce(values, values, count, ncclFloat32, ncclSum, group->communicator,
                          (cudaStream_t)(void *)stream),
          "NCCL: a sum");
}

#else

bool corral_cuda_reduce_id(void *out_id)
{
    (void)out_id;
    corral_cuda_note_text("NCCL", "this build has none; have nccl.h where it is compiled");
    return false;
}

corral_reduce_group *corral_cuda_reduce_create(const void *id, uint32_t rank, uint32_t count)
{
    (void)id;
    (void)rank;
    (void)count;
    return NULL;
}

void corral_cuda_reduce_destroy(corral_reduce_group *group)
{
    (void)group;
}

void corral_cuda_all_reduce(corral_reduce_group *group, corral_stream *stream, float *values, size_t count)
{
    (void)group;
    (void)stream;
    (void)values;
    (void)count;
}

#endif
