// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

// Transposes by blocks of 4 x 4, which every instruction set here holds in registers.

typedef float quad __attribute__((vector_size(16)));
typedef float quad_in_memory __attribute__((vector_size(16), aligned(4), may_alias));

/// The transpose of 4 x 4 elements, in registers.
ALWAYS_INLINE void transpose_quad(const float *from, size_t from_row, float *to, size_t to_row)
{
    quad r[4];
    for (size_t i = 0; i < 4; i++)
        r[i] = *(const quad_in_memory *)(from + i * from_row);
    const quad low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    const quad high01 = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    const quad low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    const quad high23 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    *(quad_in_memory *)to = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
    *(quad_in_memory *)(to + to_row) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
    *(quad_in_memory *)(to + 2 * to_row) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
    *(quad_in_memory *)(to + 3 * to_row) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

enum { TRANSPOSE_BLOCK = 16 }; // floats of a cache line

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/// to[c, r] = from[r, c]
static void transpose(size_t rows, size_t columns, const float *from, size_t from_row, float *to,
                      size_t to_row)
{
    const size_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
    // Block by block, so that each line of either side is read or written at once: the lines of a column lie
    // to_row apart, which may be few sets of a cache.
    for (size_t r0 = 0; r0 < whole_rows; r0 += TRANSPOSE_BLOCK) {
        for (size_t c0 = 0; c0 < whole_columns; c0 += TRANSPOSE_BLOCK) {
            const size_t r_end = least(whole_rows, r0 + TRANSPOSE_BLOCK);
            const size_t c_end = least(whole_columns, c0 + TRANSPOSE_BLOCK);
            for (size_t c = c0; c < c_end; c += 4) {
                for (size_t r = r0; r < r_end; r += 4)
                    transpose_quad(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
            }
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = r < whole_rows ? whole_columns : 0; c < columns; c++) {
            to[c * to_row + r] = from[r * from_row + c];
        }
    }
}
