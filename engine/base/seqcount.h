/* SPDX-License-Identifier: MIT */
/*
 * Protects data by a count that is odd while the data changes. There is one writer at a time, and
 * it never waits. A reader compares the count before and after it reads; if it changed, the data
 * may be mixed, and the reader reads again. A writer that never finishes (in a fork's child, or
 * after a longjmp()) leaves the count odd; the next writer corrects it. The fences cost nothing on
 * x86, which keeps the order of loads and of stores. A reader outside the process reads by pread().
 */
#ifndef VESTIGE_BASE_SEQCOUNT_H
#define VESTIGE_BASE_SEQCOUNT_H

#include <stdint.h>

static inline void write_seqcount_begin(uint32_t *count)
{
	__atomic_store_n(count, *count | 1, __ATOMIC_RELAXED);
	/* odd before the first change of the data */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void write_seqcount_end(uint32_t *count)
{
	__atomic_store_n(count, (*count | 1) + 1, __ATOMIC_RELEASE);
}

/* Return: the count. If it is odd, the data is changing now and must not be used. */
static inline uint32_t read_seqcount_begin(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* Whether the data has changed since read_seqcount_begin() returned @begun. */
static inline int read_seqcount_retry(const uint32_t *count, uint32_t begun)
{
	/* all data is read before the count */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(count, __ATOMIC_RELAXED) != begun;
}

#endif
