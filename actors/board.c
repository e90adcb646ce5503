// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The Corral authors

/// The board's layout: one page with a header, then CORRAL_BOARD_SLOTS slots of equal size, whole pages each.
///
///     header   newest: the generation of the newest publish, 0 before the first one
///              per slot: generation (0 while it is being written), version, length
///     slots    the payloads
///
/// Generations count publishes from 1, and generation g lies in slot (g - 1) mod 4. The sequence lock, as by
/// Boehm
/// ("Can seqlocks get along with programming language memory models?", 2012): the writer stores generation 0,
/// the words, then the generation; a reader loads the generation, the words, and the generation again. Words
/// are stored with release and loaded with acquire order, which costs nothing on x86-64 and keeps each side's
/// steps in order without fences; and they are atomics, so that overtaking is no data race.
#include "corral/actors/board.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

typedef _Atomic uint64_t shared_word;

typedef struct board_slot {
    shared_word generation, version, length;
} board_slot;

typedef struct board_header {
    shared_word newest;
    board_slot slots[CORRAL_BOARD_SLOTS];
} board_header;

enum { WORD = sizeof(uint64_t) };

_Static_assert(sizeof(shared_word) == WORD, "words are shared between processes");

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t slot_stride(const corral_segment *segment)
{
    return (segment->size - page_size()) / CORRAL_BOARD_SLOTS;
}

static uint64_t slot_offset(const corral_segment *segment, uint64_t generation)
{
    return page_size() + (generation - 1) % CORRAL_BOARD_SLOTS * slot_stride(segment);
}

static void store_words(shared_word *to, const unsigned char *from, size_t size)
{
    uint64_t word = 0;
    for (; size >= WORD; size -= WORD, from += WORD) {
        memcpy(&word, from, WORD);
        atomic_store_explicit(to++, word, memory_order_release);
    }
    if (size == 0) return;
    word = 0;
    memcpy(&word, from, size);
    atomic_store_explicit(to, word, memory_order_release);
}

static void load_words(unsigned char *to, const shared_word *from, size_t size)
{
    for (; size >= WORD; size -= WORD, to += WORD) {
        const uint64_t word = atomic_load_explicit(from++, memory_order_acquire);
        memcpy(to, &word, WORD);
    }
    if (size == 0) return;
    const uint64_t word = atomic_load_explicit(from, memory_order_acquire);
    memcpy(to, &word, size);
}

corral_status corral_board_create(size_t slot_capacity, corral_board *out_board)
{
    *out_board = (corral_board){.segment = {.fd = -1}, .slot_capacity = slot_capacity};
    const size_t page = page_size();
    if (slot_capacity == 0 || slot_capacity > SIZE_MAX / CORRAL_BOARD_SLOTS - 2 * page)
        return corral_fail(CORRAL_ERROR_INVALID, "weights board: slots of %zu bytes", slot_capacity);
    const size_t stride = (slot_capacity + page - 1) / page * page;
    return corral_fail_within(
        corral_segment_create("corral-weights", page + CORRAL_BOARD_SLOTS * stride, &out_board->segment),
        "weights board");
}

void corral_board_finish(corral_board *board)
{
    corral_segment_finish(&board->segment);
    *board = (corral_board){.segment = {.fd = -1}};
}

corral_status corral_board_publish(corral_board *board, uint64_t version, const void *bytes, size_t size)
{
    if (size > board->slot_capacity)
        return corral_fail(CORRAL_ERROR_FULL, "weights of %zu bytes do not fit into a board for %zu", size,
                           board->slot_capacity);
    board_header *header = board->segment.data;
    const uint64_t generation = board->published + 1;
    const uint64_t offset = slot_offset(&board->segment, generation);
    board_slot *slot = &header->slots[(generation - 1) % CORRAL_BOARD_SLOTS];

    atomic_store_explicit(&slot->generation, 0, memory_order_release);
    atomic_store_explicit(&slot->version, version, memory_order_release);
    atomic_store_explicit(&slot->length, size, memory_order_release);
    store_words((shared_word *)(void *)((char *)board->segment.data + offset), bytes, size);
    atomic_store_explicit(&slot->generation, generation, memory_order_release);
    atomic_store_explicit(&header->newest, generation, memory_order_release);

    board->published = board->generation = generation;
    board->version = version;
    board->offset = offset;
    board->length = size;
    return CORRAL_OK;
}

const void *corral_board_newest(const corral_board *board)
{
    return board->published == 0 ? NULL : (const char *)board->segment.data + board->offset;
}

static corral_status check_board(const corral_segment *board)
{
    if (board->data == NULL || board->size < page_size() * (1 + CORRAL_BOARD_SLOTS))
        return corral_fail(CORRAL_ERROR_INVALID, "shared memory of %zu bytes is no weights board",
                           board->size);
    return CORRAL_OK;
}

corral_status corral_board_find_newest(const corral_segment *board, corral_board_entry *out_entry)
{
    const corral_status status = check_board(board);
    if (status != CORRAL_OK) return status;
    const board_header *header = board->data;
    const uint64_t generation = atomic_load_explicit(&header->newest, memory_order_acquire);
    if (generation == 0) return corral_fail(CORRAL_ERROR_EMPTY, "no weights have been published yet");

    // Read without the lock: corral_board_copy() notices when these belong to a later publish.
    const board_slot *slot = &header->slots[(generation - 1) % CORRAL_BOARD_SLOTS];
    *out_entry = (corral_board_entry){
        .version = atomic_load_explicit(&slot->version, memory_order_acquire),
        .offset = slot_offset(board, generation),
        .length = atomic_load_explicit(&slot->length, memory_order_acquire),
        .generation = generation,
    };
    return CORRAL_OK;
}

corral_status corral_board_copy(const corral_segment *board, uint64_t offset, uint64_t length,
                                uint64_t generation, void *out_bytes)
{
    const corral_status status = check_board(board);
    if (status != CORRAL_OK) return status;
    if (generation == 0 || offset != slot_offset(board, generation) || length > slot_stride(board))
        return corral_fail(CORRAL_ERROR_INVALID, "no slot of the weights board holds %llu bytes at %llu",
                           (unsigned long long)length, (unsigned long long)offset);
    const board_header *header = board->data;
    const board_slot *slot = &header->slots[(generation - 1) % CORRAL_BOARD_SLOTS];
    const char *words = (const char *)board->data + offset;
    if (atomic_load_explicit(&slot->generation, memory_order_acquire) == generation) {
        load_words(out_bytes, (const shared_word *)(const void *)words, length);
        if (atomic_load_explicit(&slot->generation, memory_order_relaxed) == generation) return CORRAL_OK;
    }
    return corral_fail(CORRAL_ERROR_STALE, "these weights have been replaced by newer ones on the board");
}
