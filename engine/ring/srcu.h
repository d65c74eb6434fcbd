/* SPDX-License-Identifier: MIT */
/*
 * The grace period of the engine: the wait until no thread can hold what was unlinked. A reader
 * opens a section, follows pointers in it, and closes it. A writer unlinks, calls
 * synchronize_srcu(), and frees.
 *
 * A reader counts its sections in a record of its own thread, with plain stores; the writer makes
 * the barrier for all of them (membarrier). Threads without a record share one, which they change
 * by atomic additions. Sections nest, in signal handlers too. Code of the program (callbacks) may
 * run in them, and may leave them by longjmp(), fork, or continue in another thread.
 *
 * The wait is bounded. If a reader does not leave in time, the writer must not free, and
 * vestige_status gets a line.
 */
#ifndef VESTIGE_RING_SRCU_H
#define VESTIGE_RING_SRCU_H

#include <stdint.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"

enum srcu_domain {
	SRCU_RING,    /* only the engine runs in it: short */
	SRCU_OPS,     /* callbacks at functions' entries, and probes' hits */
	SRCU_PROBES,  /* the program's probe functions of a tracepoint */
	SRCU_OUTSIDE, /* without a grace period: code that is not the engine's runs on its behalf */
	SRCU_NR
};

#ifndef SRCU_MAX_THREADS
#define SRCU_MAX_THREADS 16384u
#endif
#define SRCU_LEVELS 3u /* nested sections whose frames are known */

struct srcu_thread {
	/* 0: free. Negative: its thread has ended, and a coroutine is still in a section */
	int32_t tid;
	struct srcu_sections {
		/*
		 * lower half: open sections. Upper half: how often the outermost section was closed
		 */
		uint64_t count;
		/* sections closed by other threads, into which a coroutine has moved */
		uint32_t closed_elsewhere;
		uint64_t frame[SRCU_LEVELS];
	} of[SRCU_NR];
} __attribute__((aligned(64)));

/* NULL: the thread has none. */
extern __thread struct srcu_thread *srcu_self __attribute__((tls_model("initial-exec")));

struct srcu_thread *srcu_read_lock_slow(enum srcu_domain d, uint64_t frame);
void srcu_read_unlock_slow(enum srcu_domain d, struct srcu_thread *t);

/* The count after the innermost section is closed; closing the last one adds to the upper half. */
static inline uint64_t srcu_one_less(uint64_t count)
{
	return likely((uint32_t)count == 1) ? count + UINT32_MAX : count - 1;
}

/*
 * srcu_read_lock() - open a section. Any context; a thread's first section makes a system call
 * (gettid). Return: the argument for srcu_read_unlock().
 */
static inline struct srcu_thread *srcu_read_lock(enum srcu_domain d)
{
	struct srcu_thread *t = srcu_self;
	uint64_t frame = (uint64_t)__builtin_frame_address(0);
	struct srcu_sections *s;
	uint32_t n;

	if (unlikely(!t))
		return srcu_read_lock_slow(d, frame);
	s = &t->of[d];
	n = (uint32_t)s->count;
	s->count++;
	/*
	 * orders towards handlers, which nest; towards other threads the membarrier of
	 * synchronize_srcu() does it
	 */
	barrier();
	if (likely(n < SRCU_LEVELS))
		s->frame[n] = frame;
	return t;
}

/* Close the innermost section. @t: from srcu_read_lock(). Any context, and any thread. */
static inline void srcu_read_unlock(enum srcu_domain d, struct srcu_thread *t)
{
	struct srcu_sections *s = &t->of[d];
	uint32_t n;

	barrier();
	if (unlikely(t != srcu_self)) {
		srcu_read_unlock_slow(d, t);
		return;
	}
	n = (uint32_t)s->count;
	/* after srcu_jump() */
	if (unlikely(!n))
		return;
	if (likely(n <= SRCU_LEVELS))
		s->frame[n - 1] = 0;
	barrier();
	store_release(&s->count, srcu_one_less(s->count));
}

/* How many sections the calling thread has open. Any context. */
uint32_t srcu_nest(enum srcu_domain d);

/*
 * synchronize_srcu() - wait until each section of the domain that is open now has been closed.
 * Sections that are opened later see all earlier stores. Waits at most a second. Return: 0;
 * -ETIMEDOUT: a thread is still inside: it is stopped, or left in an unseen way; -EDEADLK: the
 * calling thread is in such a section. Normal context.
 */
int synchronize_srcu(enum srcu_domain d);

/*
 * Call @callback when a thread did not leave in time, once for each thread. One callback.
 * Constructor context.
 */
void srcu_on_timeout(void (*callback)(enum srcu_domain d, int tid));

/*
 * srcu_on_new_thread() - call @callback in each thread at its first section, or at its first record
 * in a ring; in any context. One callback. Constructor context.
 */
void srcu_on_new_thread(void (*callback)(void));

/* The calling thread makes its first record in a ring. Any context. */
void srcu_thread_start(void);

/*
 * srcu_jump() - longjmp() or a throw leaves all frames from @lo to @hi, and their sections with
 * them. srcu_any() - whether the calling thread has an open section. Any context.
 */
void srcu_jump(uint64_t lo, uint64_t hi);
int srcu_any(void);

/*
 * srcu_thread_end() - the calling thread ends: free its record. @lo, @hi: its stack, whose sections
 * are left; 0, 0: not known.
 */
void srcu_thread_end(uint64_t lo, uint64_t hi);

/*
 * srcu_thread_share() - @on: 1: the calling thread uses the shared record from now on, as it shares
 * its thread-local memory with another thread or may make no system call; 0: it may have its own
 * again.
 */
void srcu_thread_share(int on);

/* In a fork's child: the calling thread is the only one, and is in the same sections as before. */
void srcu_fork(void);

#endif
