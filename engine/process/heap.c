/* SPDX-License-Identifier: MIT */
/*
 * Size classes of powers of two, each with a list of free blocks, carved from chunks that are
 * mapped when needed and never unmapped; larger blocks are mapped one by one. Each block begins
 * with its class. One lock: this is for control paths, which are rare. fork: the child has a copy,
 * made while no thread was changing the heap. Tests: tests/unit/test_heap.c.
 */
#include "engine/process/heap.h"

#include <stdint.h>

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/process/lock.h"

#define HEAD_BYTES  16u
#define MIN_SHIFT   5u
#define MAX_SHIFT   16u
#define CHUNK_BYTES (256u * 1024)

struct block {
	uint32_t shift; /* 0: the block is mapped by itself */
	uint32_t reserved;
	uint64_t bytes;	    /* size of a block that is mapped by itself */
	struct block *next; /* while the block is free; overlaps the memory that users get */
};

static struct block *free_blocks[MAX_SHIFT + 1];
static uint8_t *chunk;
static size_t chunk_left;
static struct lock heap_lock;

int heap_fork_prepare(uint64_t ns)
{
	return lock_take_within(&heap_lock, ns);
}

void heap_fork_parent(void)
{
	lock_release(&heap_lock);
}

void heap_fork_child(void)
{
	lock_fork(&heap_lock, 0);
}

static struct block *carve(uint32_t shift)
{
	size_t bytes = (size_t)1 << shift;
	struct block *b;

	if (chunk_left < bytes) {
		uint8_t *p = sys_map_anon(CHUNK_BYTES);

		if (!p)
			return NULL;
		chunk = p;
		chunk_left = CHUNK_BYTES;
	}
	b = (struct block *)chunk;
	chunk += bytes;
	chunk_left -= bytes;
	return b;
}

void *heap_alloc(size_t bytes)
{
	uint32_t shift = MIN_SHIFT;
	struct block *b;

	if (bytes > (size_t)1 << 46)
		return NULL;
	bytes += HEAD_BYTES;
	while (shift <= MAX_SHIFT && (size_t)1 << shift < bytes)
		shift++;
	if (shift > MAX_SHIFT) {
		b = sys_map_anon(bytes);
		if (!b)
			return NULL;
		b->bytes = bytes;
		return (uint8_t *)b + HEAD_BYTES;
	}
	lock_take(&heap_lock);
	b = free_blocks[shift];
	if (b)
		free_blocks[shift] = b->next;
	else
		b = carve(shift);
	lock_release(&heap_lock);
	if (!b)
		return NULL;
	memset(b, 0, (size_t)1 << shift);
	b->shift = shift;
	return (uint8_t *)b + HEAD_BYTES;
}

void heap_free(void *p)
{
	struct block *b;

	if (!p)
		return;
	b = (struct block *)((uint8_t *)p - HEAD_BYTES);
	if (!b->shift) {
		sys_munmap(b, b->bytes);
		return;
	}
	lock_take(&heap_lock);
	b->next = free_blocks[b->shift];
	free_blocks[b->shift] = b;
	lock_release(&heap_lock);
}

void *heap_grow(void *array, uint32_t nr, uint32_t *room, size_t each)
{
	uint32_t more = *room * 2 + 64;
	void *to;

	if (nr < *room)
		return array;
	to = heap_alloc(more * each);
	if (!to)
		return NULL;
	memcpy(to, array, nr * each);
	heap_free(array);
	*room = more;
	return to;
}

char *heap_copy(const char *s, size_t n)
{
	char *copy = heap_alloc(n + 1);

	if (copy)
		memcpy(copy, s, n);
	return copy;
}
