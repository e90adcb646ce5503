// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// A file is a sequence of records: u64 length, masked CRC of those 8 bytes, the data, masked CRC of the
/// data; all little endian. The data is a protobuf message,
///   Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
///   Summary { repeated Value value = 1; }   Value { string tag = 1; float simple_value = 2; }
/// small enough to be written by hand.
#include "tfevents.h"

#include <stdlib.h>
#include <string.h>

enum { RECORD_LIMIT = 1 << 20 }; // far above what is written here

// --- records ---------------------------------------------------------------------------------------------

uint32_t tfevents_crc32c(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & (0u - (crc & 1)));
    }
    return ~crc;
}

static uint32_t masked_crc(const void *bytes, size_t size)
{
    const uint32_t crc = tfevents_crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void write_record(FILE *file, const unsigned char *data, size_t size)
{
    const uint64_t length = size;
    const uint32_t length_crc = masked_crc(&length, sizeof length), data_crc = masked_crc(data, size);
    fwrite(&length, sizeof length, 1, file);
    fwrite(&length_crc, sizeof length_crc, 1, file);
    fwrite(data, size, 1, file);
    fwrite(&data_crc, sizeof data_crc, 1, file);
}

/// The data of the next record in fresh memory; NULL at the end and for a damaged record.
static unsigned char *read_record(FILE *file, size_t *out_size)
{
    uint64_t length;
    uint32_t crc;
    if (fread(&length, sizeof length, 1, file) != 1 || fread(&crc, sizeof crc, 1, file) != 1) return NULL;
    if (crc != masked_crc(&length, sizeof length) || length > RECORD_LIMIT) return NULL;
    const size_t size = (size_t)length;
    unsigned char *data = malloc(size + 1);
    if (data != NULL && fread(data, 1, size, file) == size && fread(&crc, sizeof crc, 1, file) == 1 &&
        crc == masked_crc(data, size)) {
        *out_size = size;
        return data;
    }
    free(data);
    return NULL;
}

// --- writing ---------------------------------------------------------------------------------------------

static unsigned char *put_tag(unsigned char *at, int field, int wire_type)
{
    *at++ = (unsigned char)(field << 3 | wire_type);
    return at;
}

static unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static unsigned char *put_bytes(unsigned char *at, int field, const void *bytes, size_t size)
{
    at = put_varint(put_tag(at, field, 2), size);
    memcpy(at, bytes, size);
    return at + size;
}

static unsigned char *put_double(unsigned char *at, int field, double value)
{
    at = put_tag(at, field, 1);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static unsigned char *put_float(unsigned char *at, int field, float value)
{
    at = put_tag(at, field, 5);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

void tfevents_write_header(FILE *file, double wall_seconds)
{
    static const char version[] = "brain.Event:2";
    unsigned char event[64], *at = put_double(event, 1, wall_seconds);
    at = put_bytes(at, 3, version, sizeof version - 1);
    write_record(file, event, (size_t)(at - event));
}

void tfevents_write_scalar(FILE *file, double wall_seconds, uint64_t step, const char *tag, double value)
{
    unsigned char one[160], summary[176], event[224];
    unsigned char *at = put_bytes(one, 1, tag, strnlen(tag, 100));
    at = put_float(at, 2, (float)value);
    unsigned char *end = put_bytes(summary, 1, one, (size_t)(at - one));
    at = put_double(event, 1, wall_seconds);
    if (step > 0) at = put_varint(put_tag(at, 2, 0), step); // 0 is what a missing one means
    at = put_bytes(at, 5, summary, (size_t)(end - summary));
    write_record(file, event, (size_t)(at - event));
}

// --- reading ---------------------------------------------------------------------------------------------

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *out_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80) continue;
        *out_value = value;
        return true;
    }
    return false;
}

static bool skip_field(const unsigned char **at, const unsigned char *end, unsigned wire_type)
{
    uint64_t size = wire_type == 1 ? 8 : 4; // 5: four bytes
    if (wire_type == 0) return get_varint(at, end, &size);
    if (wire_type == 2 && !get_varint(at, end, &size)) return false;
    if ((wire_type != 1 && wire_type != 2 && wire_type != 5) || size > (uint64_t)(end - *at)) return false;
    *at += size;
    return true;
}

static bool find_step(const unsigned char *at, const unsigned char *end, uint64_t *out_step)
{
    *out_step = 0;
    while (at < end) {
        uint64_t key;
        if (!get_varint(&at, end, &key)) return false;
        const bool is_step = key == (2 << 3 | 0);
        if (!(is_step ? get_varint(&at, end, out_step) : skip_field(&at, end, key & 7))) return false;
    }
    return true;
}

bool tfevents_read_step(FILE *file, uint64_t *out_step)
{
    size_t size;
    unsigned char *data = read_record(file, &size);
    const bool found = data != NULL && find_step(data, data + size, out_step);
    free(data);
    return found;
}
