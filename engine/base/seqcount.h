/* SPDX-License-Identifier: MIT */
/*
 * Data behind a count that is odd while it changes: one writer at a time, who never waits, and
 * readers who see by the count that what they read is of one state. A writer that was interrupted
 * for good (a fork's child, a longjmp()) leaves the count odd; the next one makes it right. The
 * fences cost nothing on x86, whose loads and stores keep their order; a reader outside the process
 * reads by pread().
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

/* Odd: it changes at this moment, what is read now is of no state. */
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
