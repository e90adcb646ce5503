// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// The seam answered by plain C: device memory is memory of its own, a stream does its work at once, and a
// graph is a list of what was submitted while the stream was recorded. New memory is full of NaN, as good as
// a device's, whose new memory holds anything.

#include "shim_private.h"

#include "../kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job job;
struct job {
    job *next;
    void (*run)(const void *argument);
    _Alignas(16) unsigned char argument[];
};

struct corral_graph {
    job *first, **last;
};

struct corral_stream {
    corral_graph *recording; // NULL: work is done at once
};

static uint32_t device_count(char *out_reason, size_t size)
{
    if (size > 0) out_reason[0] = '\0';
    return 1;
}

static bool describe(uint32_t device, corral_device_info *out_info)
{
    *out_info = (corral_device_info){.name = "the CPU, through the shim: for tests"};
    return device == 0;
}

static bool use(uint32_t device)
{
    return device == 0;
}

// --- memory -----------------------------------------------------------------------------------------------

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes == 0 ? 1 : bytes);
    if (memory != NULL) memset(memory, 0xff, bytes);
    return memory;
}

static void release(void *memory)
{
    free(memory);
}

static bool pin(void *host, size_t bytes, bool read_only)
{
    (void)bytes;
    (void)read_only;
    return host != NULL;
}

static void unpin(void *host)
{
    (void)host;
}

// --- streams ----------------------------------------------------------------------------------------------

static corral_stream *stream_create(void)
{
    return calloc(1, sizeof(corral_stream));
}

static void stream_destroy(corral_stream *stream)
{
    free(stream);
}

static void out_of_memory(void)
{
    fputs("shim: no memory to record a graph\n", stderr);
    abort();
}

void shim_submit(corral_stream *stream, void (*run)(const void *argument), const void *argument, size_t size)
{
    corral_graph *graph = stream->recording;
    if (graph == NULL) {
        run(argument);
        return;
    }
    job *j = malloc(sizeof *j + size);
    if (j == NULL) out_of_memory();
    j->next = NULL;
    j->run = run;
    memcpy(j->argument, argument, size);
    *graph->last = j;
    graph->last = &j->next;
}

typedef struct move {
    void *to;
    const void *from; // NULL: zeros
    size_t bytes;
} move;

static void run_move(const void *argument)
{
    const move *m = argument;
    if (m->bytes == 0) return;
    if (m->from == NULL)
        memset(m->to, 0, m->bytes);
    else
        memcpy(m->to, m->from, m->bytes);
}

static void copy(corral_stream *stream, void *to, const void *from, size_t bytes)
{
    const move m = {to, from, bytes};
    if (bytes > 0) shim_submit(stream, run_move, &m, sizeof m);
}

static void zero(corral_stream *stream, void *to, size_t bytes)
{
    copy(stream, to, NULL, bytes);
}

static void order(corral_stream *earlier, corral_stream *later)
{
    (void)earlier; // its work is done
    (void)later;
}

static const char *wait_for(corral_stream *stream)
{
    return stream->recording == NULL ? NULL : "a stream that is being recorded cannot be waited for";
}

// --- graphs -----------------------------------------------------------------------------------------------

static void capture_begin(corral_stream *stream)
{
    stream->recording = calloc(1, sizeof *stream->recording);
    if (stream->recording == NULL) out_of_memory();
    stream->recording->last = &stream->recording->first;
}

static corral_graph *capture_end(corral_stream *stream)
{
    corral_graph *graph = stream->recording;
    stream->recording = NULL;
    return graph;
}

static void graph_launch(corral_graph *graph, corral_stream *stream)
{
    (void)stream;
    for (const job *j = graph->first; j != NULL; j = j->next)
        j->run(j->argument);
}

static void graph_destroy(corral_graph *graph)
{
    for (job *next, *j = graph != NULL ? graph->first : NULL; j != NULL; j = next) {
        next = j->next;
        free(j);
    }
    free(graph);
}

// --- products ---------------------------------------------------------------------------------------------

static void run_product(const void *argument)
{
    shim_product(argument);
}

static void product(corral_stream *stream, const corral_product *p)
{
    shim_submit(stream, run_product, p, sizeof *p);
}

// --- the table --------------------------------------------------------------------------------------------

static corral_device_table table = {
    .abi = CORRAL_DEVICE_ABI,
    .size = sizeof(corral_device_table),
    .name = "shim",
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
    .product = product,
    .reduce_id = shim_reduce_id,
    .reduce_create = shim_reduce_create,
    .reduce_destroy = shim_reduce_destroy,
    .all_reduce = shim_all_reduce,
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

__attribute__((destructor)) static void finish(void)
{
    shim_grid_finish();
}
