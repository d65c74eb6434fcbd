/* SPDX-License-Identifier: MIT */
/*
 * Two levels: a table of pages, and in each page the bits of 32,768 ids. The table has addresses
 * for all pages but memory only where it is used; a page is made with the first id in it. A bit or
 * a page is added by one store, and pages stay until pid_list_free(), so that the ring's slow path
 * can read without a lock. fork: the child has its own copy. Costs: for the ids of one process 4
 * KiB, and 4 KiB of the table. Tests: tests/unit/test_pid_list.c.
 */
#include "engine/ring/pid_list.h"

#include <errno.h>
#include <stddef.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"

#define CHUNK_SHIFT 15
#define CHUNK_BITS  (1u << CHUNK_SHIFT)
#define CHUNK_BYTES (CHUNK_BITS / 8)
#define NR_CHUNKS   (PID_LIST_MAX / CHUNK_BITS)
#define TABLE_BYTES (NR_CHUNKS * sizeof(uint64_t *))

/* The chunk's bits, or NULL. */
static uint64_t *chunk_at(const struct pid_list *l, uint32_t i)
{
	uint64_t **chunks = load_acquire(&l->chunks);

	return chunks ? load_acquire(&chunks[i]) : NULL;
}

int pid_list_has(const struct pid_list *l, uint32_t pid)
{
	const uint64_t *bits = pid < PID_LIST_MAX ? chunk_at(l, pid >> CHUNK_SHIFT) : NULL;
	uint32_t bit = pid % CHUNK_BITS;

	return bits && (load_relaxed(&bits[bit / 64]) >> (bit % 64) & 1);
}

/*
 * The chunk's bits, made if there are none. If two threads make them at once, the second frees its.
 */
static uint64_t *chunk_make(struct pid_list *l, uint32_t i)
{
	uint64_t **chunks = load_acquire(&l->chunks), *bits;

	if (!chunks) {
		chunks = sys_map_table(TABLE_BYTES);
		if (!chunks)
			return NULL;
		if (!compare_and_store(&l->chunks, NULL, chunks)) {
			sys_munmap(chunks, TABLE_BYTES);
			chunks = load_acquire(&l->chunks);
		}
	}
	bits = load_acquire(&chunks[i]);
	if (bits)
		return bits;
	bits = sys_map_table(CHUNK_BYTES);
	if (bits && !compare_and_store(&chunks[i], NULL, bits)) {
		sys_munmap(bits, CHUNK_BYTES);
		bits = load_acquire(&chunks[i]);
	}
	return bits;
}

int pid_list_set(struct pid_list *l, uint32_t pid)
{
	uint32_t bit = pid % CHUNK_BITS;
	uint64_t *bits;

	if (pid >= PID_LIST_MAX)
		return -EINVAL;
	bits = chunk_make(l, pid >> CHUNK_SHIFT);
	if (!bits)
		return -ENOMEM;
	__atomic_fetch_or(&bits[bit / 64], UINT64_C(1) << (bit % 64), __ATOMIC_RELAXED);
	return 0;
}

void pid_list_unset(struct pid_list *l, uint32_t pid)
{
	uint64_t *bits = pid < PID_LIST_MAX ? chunk_at(l, pid >> CHUNK_SHIFT) : NULL;
	uint32_t bit = pid % CHUNK_BITS;

	if (bits)
		__atomic_fetch_and(&bits[bit / 64], ~(UINT64_C(1) << (bit % 64)), __ATOMIC_RELAXED);
}

uint32_t pid_list_next(const struct pid_list *l, uint32_t from)
{
	while (from < PID_LIST_MAX) {
		const uint64_t *bits = chunk_at(l, from >> CHUNK_SHIFT);
		uint32_t bit = from % CHUNK_BITS;
		uint64_t word;

		if (!bits) {
			from = ((from >> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
			continue;
		}
		word = load_relaxed(&bits[bit / 64]) >> (bit % 64);
		if (word)
			return from + (uint32_t)__builtin_ctzll(word);
		from = (from / 64 + 1) * 64;
	}
	return PID_LIST_MAX;
}

void pid_list_clear(struct pid_list *l)
{
	uint32_t i;

	for (i = 0; l->chunks && i < NR_CHUNKS; i++)
		if (l->chunks[i])
			memset(l->chunks[i], 0, CHUNK_BYTES);
}

void pid_list_free(struct pid_list *l)
{
	uint32_t i;

	if (!l->chunks)
		return;
	for (i = 0; i < NR_CHUNKS; i++)
		if (l->chunks[i])
			sys_munmap(l->chunks[i], CHUNK_BYTES);
	sys_munmap(l->chunks, TABLE_BYTES);
	l->chunks = NULL;
}
