// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "onnx_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IR_VERSION = 8, OPERATION_SET = 17 };

// --- protocol buffers -------------------------------------------------------------------------------------

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void onnx_bytes_finish(onnx_bytes *bytes)
{
    free(bytes->data);
    *bytes = (onnx_bytes){0};
}

static void put(onnx_bytes *bytes, const void *data, size_t size)
{
    if (bytes->failed || size == 0) return;
    if (bytes->capacity - bytes->size < size) {
        const size_t capacity = 2 * bytes->capacity + size + 64;
        unsigned char *grown = realloc(bytes->data, capacity);
        if (grown == NULL) {
            bytes->failed = true;
            return;
        }
        bytes->data = grown;
        bytes->capacity = capacity;
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void put_varint(onnx_bytes *bytes, uint64_t value)
{
    unsigned char text[10];
    size_t count = 0;
    do {
        text[count] = (unsigned char)(value & 0x7F);
        value >>= 7;
        if (value != 0) text[count] |= 0x80;
        count++;
    } while (value != 0);
    put(bytes, text, count);
}

static void put_number(onnx_bytes *bytes, unsigned field, int64_t value)
{
    put_varint(bytes, field << 3 | WIRE_VARINT);
    put_varint(bytes, (uint64_t)value);
}

static void put_bytes(onnx_bytes *bytes, unsigned field, const void *data, size_t size)
{
    put_varint(bytes, field << 3 | WIRE_BYTES);
    put_varint(bytes, size);
    put(bytes, data, size);
}

static void put_text(onnx_bytes *bytes, unsigned field, const char *text)
{
    put_bytes(bytes, field, text, strlen(text));
}

/// Puts a message and lets go of it.
static void put_message(onnx_bytes *bytes, unsigned field, onnx_bytes *message)
{
    put_bytes(bytes, field, message->data, message->size);
    bytes->failed = bytes->failed || message->failed;
    onnx_bytes_finish(message);
}

// --- the graph --------------------------------------------------------------------------------------------

/// Field numbers of onnx.proto.
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OPERATION = 4,
    NODE_ATTRIBUTE = 5,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_IS_INT = 2,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_ELEMENT = 1,
    TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    DIM_NAME = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_TENSOR = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    MODEL_IR = 1,
    MODEL_PRODUCER = 2,
    MODEL_DESCRIPTION = 6,
    MODEL_GRAPH = 7,
    MODEL_SETS = 8,
    SET_VERSION = 2,
};

static onnx_value name_value(onnx_graph *graph, const char *name)
{
    onnx_value value;
    if (name != NULL)
        snprintf(value.name, sizeof value.name, "%s", name);
    else
        snprintf(value.name, sizeof value.name, "value_%u", graph->next++);
    return value;
}

onnx_value onnx_tensor(onnx_graph *graph, const char *name, onnx_type type, size_t dimension_count,
                       const int64_t *shape, const void *data, size_t size)
{
    const onnx_value value = name_value(graph, name);
    onnx_bytes tensor = {0};
    for (size_t i = 0; i < dimension_count; i++)
        put_number(&tensor, TENSOR_DIMS, shape[i]);
    put_number(&tensor, TENSOR_TYPE, type);
    put_text(&tensor, TENSOR_NAME, value.name);
    put_bytes(&tensor, TENSOR_RAW, data, size); // little endian, as everything here
    put_message(&graph->tensors, GRAPH_TENSOR, &tensor);
    return value;
}

onnx_value onnx_node(onnx_graph *graph, const char *operation, const char *name, const onnx_value *inputs,
                     size_t input_count, const onnx_attribute *attributes)
{
    const onnx_value value = name_value(graph, name);
    onnx_bytes node = {0};
    for (size_t i = 0; i < input_count; i++)
        put_text(&node, NODE_INPUT, inputs[i].name);
    put_text(&node, NODE_OUTPUT, value.name);
    put_text(&node, NODE_OPERATION, operation);
    for (; attributes != NULL && attributes->name != NULL; attributes++) {
        onnx_bytes attribute = {0};
        put_text(&attribute, ATTRIBUTE_NAME, attributes->name);
        put_number(&attribute, ATTRIBUTE_INT, attributes->value);
        put_number(&attribute, ATTRIBUTE_TYPE, ATTRIBUTE_IS_INT);
        put_message(&node, NODE_ATTRIBUTE, &attribute);
    }
    put_message(&graph->nodes, GRAPH_NODE, &node);
    return value;
}

static void put_value(onnx_bytes *bytes, unsigned field, const char *name, onnx_type type, size_t width)
{
    onnx_bytes value = {0}, value_type = {0}, tensor = {0}, shape = {0}, dimension = {0};
    put_text(&dimension, DIM_NAME, "batch");
    put_message(&shape, SHAPE_DIM, &dimension);
    if (width > 0) {
        put_number(&dimension, DIM_VALUE, (int64_t)width);
        put_message(&shape, SHAPE_DIM, &dimension);
    }
    put_number(&tensor, TYPE_ELEMENT, type);
    put_message(&tensor, TYPE_SHAPE, &shape);
    put_message(&value_type, TYPE_TENSOR, &tensor);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &value_type);
    put_message(bytes, field, &value);
}

void onnx_input(onnx_graph *graph, const char *name, onnx_type type, size_t width)
{
    put_value(&graph->inputs, GRAPH_INPUT, name, type, width);
}

void onnx_output(onnx_graph *graph, const char *name, onnx_type type, size_t width)
{
    put_value(&graph->outputs, GRAPH_OUTPUT, name, type, width);
}

corral_status onnx_model(onnx_graph *graph, const char *description, onnx_bytes *out_bytes)
{
    onnx_bytes whole = {0}, set = {0};
    const onnx_bytes *const parts[] = {&graph->nodes, &graph->tensors, &graph->inputs, &graph->outputs};
    for (size_t i = 0; i < 4; i++) {
        put(&whole, parts[i]->data, parts[i]->size);
        whole.failed = whole.failed || parts[i]->failed;
    }
    put_text(&whole, GRAPH_NAME, "policy");
    *out_bytes = (onnx_bytes){0};
    put_number(out_bytes, MODEL_IR, IR_VERSION);
    put_text(out_bytes, MODEL_PRODUCER, "corral");
    put_text(out_bytes, MODEL_DESCRIPTION, description);
    put_message(out_bytes, MODEL_GRAPH, &whole);
    put_number(&set, SET_VERSION, OPERATION_SET);
    put_message(out_bytes, MODEL_SETS, &set);
    if (!out_bytes->failed) return CORRAL_OK;
    onnx_bytes_finish(out_bytes);
    return corral_fail(CORRAL_ERROR_NO_MEMORY, "no memory to write a network as ONNX");
}

void onnx_graph_finish(onnx_graph *graph)
{
    onnx_bytes_finish(&graph->nodes);
    onnx_bytes_finish(&graph->tensors);
    onnx_bytes_finish(&graph->inputs);
    onnx_bytes_finish(&graph->outputs);
}
