// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// Just as much of ONNX as networks of linear layers need: tensors, nodes, inputs and outputs of a graph,
/// written as protocol buffers by hand (field number and wire type, then a varint, or a length and bytes).
#ifndef CORRAL_POLICY_ONNX_WRITER_H
#define CORRAL_POLICY_ONNX_WRITER_H

#include "corral/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Grows; without memory it stays as it is and remembers that. Zeroed is empty.
typedef struct onnx_bytes {
    unsigned char *data;
    size_t size, capacity;
    bool failed;
} onnx_bytes;

void onnx_bytes_finish(onnx_bytes *bytes);

typedef enum onnx_type {
    ONNX_FLOAT = 1,
    ONNX_INT64 = 7,
    ONNX_DOUBLE = 11,
} onnx_type;

typedef struct onnx_graph {
    onnx_bytes nodes, tensors, inputs, outputs; // fields of a GraphProto
    unsigned next;                              // of values without a name of their own
} onnx_graph;

enum { ONNX_NAME = 96 };
typedef struct onnx_value {
    char name[ONNX_NAME];
} onnx_value;

typedef struct onnx_attribute {
    const char *name; // NULL ends a list
    int64_t value;
} onnx_attribute;

/// A constant; `shape` may be NULL where there are no dimensions.
onnx_value onnx_tensor(onnx_graph *graph, const char *name, onnx_type type, size_t dimension_count,
                       const int64_t *shape, const void *data, size_t size);
/// An operation of the default set, with one result. `name` NULL makes one up; inputs end with one that is
/// "".
onnx_value onnx_node(onnx_graph *graph, const char *operation, const char *name, const onnx_value *inputs,
                     size_t input_count, const onnx_attribute *attributes);
/// The graph's own: [batch] or [batch, width].
void onnx_input(onnx_graph *graph, const char *name, onnx_type type, size_t width);
void onnx_output(onnx_graph *graph, const char *name, onnx_type type, size_t width);

/// The whole model as bytes; CORRAL_ERROR_NO_MEMORY where any of it did not fit.
CORRAL_MUST_USE corral_status onnx_model(onnx_graph *graph, const char *description, onnx_bytes *out_bytes);
void onnx_graph_finish(onnx_graph *graph);

#endif
