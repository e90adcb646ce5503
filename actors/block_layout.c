// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

#include "corral/actors/actor.h"

#include <unistd.h>

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t block_stride(size_t block_bytes)
{
    const size_t page = page_size();
    return block_bytes / page * page + (block_bytes % page != 0 ? page : 0);
}

size_t corral_actor_segment_size(size_t block_bytes, uint32_t block_count)
{
    size_t blocks = 0, size = 0;
    if (block_bytes > SIZE_MAX - page_size()) return 0;
    if (__builtin_mul_overflow(block_stride(block_bytes), (size_t)block_count, &blocks)) return 0;
    return __builtin_add_overflow(blocks, page_size(), &size) ? 0 : size;
}

size_t corral_actor_block_offset(size_t block_bytes, uint32_t block)
{
    return page_size() + block * block_stride(block_bytes);
}
