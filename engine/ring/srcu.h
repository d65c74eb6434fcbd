/* SPDX-License-Identifier: MIT */
/*
 * The grace period of the engine: the wait until no thread can hold what was unlinked. A reader
 * opens a section, follows pointers in it, and closes it. A writer unlinks, calls
 * synchronize_srcu(), and frees.
 *
 * A reader counts in a record of its own thread, with plain stores; the writer makes the barrier
 * for all of them (membarrier). A thread without a record counts in one that it shares with its
 * like, by atomic additions. Sections nest, in signal handlers too. They may run code of the
 * program (callbacks), which may leave them by longjmp(), fork, or go on in another thread.
 *
 * The wait is bounded. If a reader does not leave in time, the writer has to keep the memory, and
 * vestige_status gets a line.
 */
#ifndef VESTIGE_RING_SRCU_H
#define VESTIGE_RING_SRCU_H

#include <stdint.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"

enum srcu_domain {
	SRCU_RING,    /* the engine alone runs inside: short */
	SRCU_OPS,     /* callbacks at functions' entries, and probes' hits */
	SRCU_PROBES,  /* the program's probe functions of a tracepoint */
	SRCU_OUTSIDE, /* no grace period: other code than the engine's runs, for the engine */
	SRCU_NR
};

#ifndef SRCU_MAX_THREADS
#define SRCU_MAX_THREADS 16384u
#endif
#define SRCU_LEVELS 3u /* of nested sections, whose frames are known */

struct srcu_thread {
	int32_t tid; /* 0: free. Negative: its thread ended, and a coroutine is in a section */
	struct srcu_sections {
		/*
		 * the lower half: open sections. The upper half: how often the outermost was closed
		 */
		uint64_t count;
		uint32_t closed_elsewhere; /* by other threads: a coroutine has moved */
		uint64_t frame[SRCU_LEVELS];
	} of[SRCU_NR];
} __attribute__((aligned(64)));

/* NULL: the thread has none. */
extern __thread struct srcu_thread *srcu_self __attribute__((tls_model("initial-exec")));

struct srcu_thread *srcu_read_lock_slow(enum srcu_domain d, uint64_t frame);
void srcu_read_unlock_slow(enum srcu_domain d, struct srcu_thread *t);

/* Without the innermost section: the last one closes all. */
static inline uint64_t srcu_one_less(uint64_t count)
{
	return likely((uint32_t)count == 1) ? count + UINT32_MAX : count - 1;
}

/*
 * srcu_read_lock() - open a section. Any context; a thread's first one makes a system call
 * (gettid).
 * Return: the argument of srcu_read_unlock().
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
	 * towards handlers, which count above; towards other threads synchronize_srcu()'s
	 * membarrier
	 */
	barrier();
	if (likely(n < SRCU_LEVELS))
		s->frame[n] = frame;
	return t;
}

/* Close the innermost section, which @t was given for. Any context, and any thread. */
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
	/* behind srcu_jump() */
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
 * Sections that open later see all earlier stores. A second at most.
 * Return: 0; -ETIMEDOUT: a thread did not come out: it is stopped, or left in a way that is not
 * seen; -EDEADLK: the calling thread is in such a section. Normal context.
 */
int synchronize_srcu(enum srcu_domain d);

/*
 * Call back when a thread did not come out in time, once for each. One callback. Constructor
 * context.
 */
void srcu_on_timeout(void (*callback)(enum srcu_domain d, int tid));

/*
 * srcu_jump() - longjmp() or a throw leaves all frames from @lo to @hi, and with them their
 * sections.
 * srcu_any() - whether the calling thread has a section open. Any context.
 */
void srcu_jump(uint64_t lo, uint64_t hi);
int srcu_any(void);

/*
 * srcu_thread_end() - the calling thread ends, and gives its record back. @lo, @hi: its stack,
 * whose sections are left; 0, 0: it is not known.
 */
void srcu_thread_end(uint64_t lo, uint64_t hi);

/*
 * srcu_thread_share() - the calling thread has no record from now on, as it shares its thread-local
 * memory with another or may make no system call; or may have one again.
 */
void srcu_thread_share(int on);

/* In a fork's child: the calling thread is the only one. It is in the sections that it was in. */
void srcu_fork(void);

#endif
