/* SPDX-License-Identifier: MIT */
/*
 * Ordering towards the thread's own signal handlers (barrier) and towards other threads. x86 keeps
 * stores in order, so a release store is a plain one.
 */
#ifndef VESTIGE_ARCH_BARRIER_H
#define VESTIGE_ARCH_BARRIER_H

#include <stdint.h>

#define barrier() __asm__ volatile("" ::: "memory")

#define load_acquire(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define load_relaxed(p)	    __atomic_load_n((p), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define fetch_add(p, v)	    __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)

/* In a loop that waits for another CPU's store. */
static inline void arch_relax(void)
{
	__asm__ volatile("pause");
}

/*
 * Add @v. Return: the value before. One instruction without a lock prefix: atomic only towards the
 * thread's own signal handlers.
 */
static inline uint64_t arch_local_fetch_add(uint64_t *p, uint64_t v)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(v), "+m"(*p)::"memory", "cc");
	return v;
}

/*
 * Store @to if *@p is @from. Atomic only towards the thread's own signal handlers. Return: whether
 * it was stored.
 */
static inline int arch_local_compare_and_store(uint64_t *p, uint64_t from, uint64_t to)
{
	uint8_t was;

	__asm__ volatile("cmpxchgq %3, %1; sete %0"
			 : "=q"(was), "+m"(*p), "+a"(from)
			 : "r"(to)
			 : "memory", "cc");
	return was;
}

/* Store @to if *@p is @from. Return: whether it was stored. */
#define compare_and_store(p, from, to)                                                             \
	({                                                                                         \
		__typeof__(*(p)) cas_expected = (from);                                            \
		__atomic_compare_exchange_n((p), &cas_expected, (to), 0, __ATOMIC_ACQ_REL,         \
					    __ATOMIC_RELAXED);                                     \
	})

/* Store @to if it is greater than *@p. Return: whether it was stored. No ordering. */
#define store_greater(p, to)                                                                       \
	({                                                                                         \
		__typeof__(*(p)) greater_to = (to), greater_was = load_relaxed(p);                 \
                                                                                                   \
		while (greater_was < greater_to &&                                                 \
		       !__atomic_compare_exchange_n((p), &greater_was, greater_to, 1,              \
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))           \
			;                                                                          \
		greater_was < greater_to;                                                          \
	})

#endif
