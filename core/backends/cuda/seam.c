// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The seam on CUDA's runtime, which is linked into this library statically; a stream is a cudaStream_t and a
// graph a cudaGraphExec_t. The driver is found when the first call needs it, so that the library can be
// opened on any machine and then says that there is no device.

#include "seam.h"

#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// --- failures ---------------------------------------------------------------------------------------------

static char failure[512];

void corral_cuda_note_text(const char *what, const char *why)
{
    if (failure[0] == '\0') snprintf(failure, sizeof failure, "CUDA: %s: %s", what, why);
}

void corral_cuda_note(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) corral_cuda_note_text(what, cudaGetErrorString(error));
}

const char *corral_cuda_failure(void)
{
    return failure[0] != '\0' ? failure : NULL;
}

/// After each launch.
void corral_cuda_launched(void);
void corral_cuda_launched(void)
{
    corral_cuda_note(cudaGetLastError(), "starting a kernel");
}

void *corral_cuda_open_library(const char *const *names)
{
    for (const char *const *name = names; *name != NULL; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        if (library != NULL) return library;
    }
    corral_cuda_note_text(names[0], "this library cannot be opened; add its folder to LD_LIBRARY_PATH");
    return NULL;
}

// --- devices ----------------------------------------------------------------------------------------------

static uint32_t device_count(char *out_reason, size_t size)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (size > 0) out_reason[0] = '\0';
    if (error != cudaSuccess) {
        snprintf(out_reason, size, "%s", cudaGetErrorString(error));
        (void)cudaGetLastError();
        count = 0;
    }
    return (uint32_t)count;
}

static bool describe(uint32_t device, corral_device_info *out_info)
{
    struct cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, (int)device) != cudaSuccess) return false;
    *out_info = (corral_device_info){
        .major = properties.major, .minor = properties.minor, .memory = properties.totalGlobalMem};
    snprintf(out_info->name, sizeof out_info->name, "%s", properties.name);
    return true;
}

static bool use(uint32_t device)
{
    const cudaError_t error = cudaSetDevice((int)device);
    corral_cuda_note(error, "choosing a device");
    return error == cudaSuccess;
}

// --- memory -----------------------------------------------------------------------------------------------

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    if (cudaMalloc(&memory, bytes == 0 ? 1 : bytes) == cudaSuccess) return memory;
    (void)cudaGetLastError(); // whoever asked says so
    return NULL;
}

static void release(void *memory)
{
    if (memory != NULL) corral_cuda_note(cudaFree(memory), "giving memory back");
}

static bool pin(void *host, size_t bytes, bool read_only)
{
    const unsigned flags = cudaHostRegisterPortable | (read_only ? cudaHostRegisterReadOnly : 0u);
    if (cudaHostRegister(host, bytes, flags) == cudaSuccess) return true;
    (void)cudaGetLastError(); // copies from memory that is not pinned work, too
    return false;
}

static void unpin(void *host)
{
    if (cudaHostUnregister(host) != cudaSuccess) (void)cudaGetLastError();
}

// --- streams ----------------------------------------------------------------------------------------------

static cudaStream_t real(corral_stream *stream)
{
    return (cudaStream_t)(void *)stream;
}

static corral_stream *stream_create(void)
{
    cudaStream_t stream = NULL;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    corral_cuda_note(error, "making a stream");
    return error == cudaSuccess ? (corral_stream *)(void *)stream : NULL;
}

static void stream_destroy(corral_stream *stream)
{
    if (stream != NULL) corral_cuda_note(cudaStreamDestroy(real(stream)), "ending a stream");
}

static void copy(corral_stream *stream, void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        corral_cuda_note(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, real(stream)), "copying");
}

static void zero(corral_stream *stream, void *to, size_t bytes)
{
    if (bytes > 0) corral_cuda_note(cudaMemsetAsync(to, 0, bytes, real(stream)), "zeroing memory");
}

static void order(corral_stream *earlier, corral_stream *later)
{
    cudaEvent_t event;
    cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (error == cudaSuccess) {
        error = cudaEventRecord(event, real(earlier));
        if (error == cudaSuccess) error = cudaStreamWaitEvent(real(later), event, 0);
        (void)cudaEventDestroy(event); // it lives until it has happened
    }
    corral_cuda_note(error, "ordering two streams");
}

static const char *wait_for(corral_stream *stream)
{
    corral_cuda_note(cudaStreamSynchronize(real(stream)), "waiting for the device");
    return corral_cuda_failure();
}

// --- graphs -----------------------------------------------------------------------------------------------

static void capture_begin(corral_stream *stream)
{
    corral_cuda_note(cudaStreamBeginCapture(real(stream), cudaStreamCaptureModeThreadLocal),
                     "recording a graph");
}

static corral_graph *capture_end(corral_stream *stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    cudaError_t error = cudaStreamEndCapture(real(stream), &graph);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&ready, graph, 0);
    if (graph != NULL) (void)cudaGraphDestroy(graph);
    corral_cuda_note(error, "making a graph");
    return error == cudaSuccess ? (corral_graph *)(void *)ready : NULL;
}

static void graph_launch(corral_graph *graph, corral_stream *stream)
{
    corral_cuda_note(cudaGraphLaunch((cudaGraphExec_t)(void *)graph, real(stream)), "starting a graph");
}

static void graph_destroy(corral_graph *graph)
{
    if (graph != NULL)
        corral_cuda_note(cudaGraphExecDestroy((cudaGraphExec_t)(void *)graph), "ending a graph");
}

// --- the table --------------------------------------------------------------------------------------------

static corral_device_table table = {
    .abi = CORRAL_DEVICE_ABI,
    .size = sizeof(corral_device_table),
    .name = "CUDA",
    .device_count = device_count,
    .describe = describe,
    .use = use,
    .allocate = allocate,
    .release = release,
    .pin = pin,
    .unpin = unpin,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .copy = copy,
    .zero = zero,
    .order = order,
    .wait = wait_for,
    .capture_begin = capture_begin,
    .capture_end = capture_end,
    .graph_launch = graph_launch,
    .graph_destroy = graph_destroy,
    .product = corral_cuda_product,
    .reduce_id = corral_cuda_reduce_id,
    .reduce_create = corral_cuda_reduce_create,
    .reduce_destroy = corral_cuda_reduce_destroy,
    .all_reduce = corral_cuda_all_reduce,
};

const corral_device_table *corral_device_plugin(uint32_t abi)
{
    if (abi != CORRAL_DEVICE_ABI) return NULL;
    corral_cuda_fill_elements(&table);
    corral_cuda_fill_rows(&table);
    corral_cuda_fill_scans(&table);
    corral_cuda_fill_losses(&table);
    corral_cuda_fill_step(&table);
    return &table;
}
