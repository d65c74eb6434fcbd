/* SPDX-License-Identifier: MIT */
/*
 * Data behind a count that is odd while the data changes. One writer at a time, which never waits.
 * Readers see by the count whether all they read belongs together. A writer that was interrupted
 * for good (in a fork's child, by a longjmp()) leaves the count odd; the next writer corrects it.
 * The fences cost nothing on x86, whose loads and stores keep their order; a reader outside the
 * process reads by pread().
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

/* Odd: the data is changing now, and a read would mix two states. */
static inline uint32_t read_seqcount_begin(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* Whether it has changed since read_seqcount_begin(), which gave @begun. */
static inline int read_seqcount_retry(const uint32_t *count, uint32_t begun)
{
	/* the last of the data before the count */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(count, __ATOMIC_RELAXED) != begun;
}

#endif
