/* SPDX-License-Identifier: MIT */
/*
 * See srcu.h. Owns the table of the threads' records, which are claimed by compare-and-store and
 * freed when their threads end.
 *
 * A reader has left if its count of open sections is zero, or if its outermost section was closed
 * since the writer's first look. So a reader that opens sections all the time does not delay the
 * writer. A handler that interrupts the change of a count closes what it opens, so at most one
 * close is not counted, and the writer waits for the next one. A thread that no longer exists has
 * left.
 * fork: srcu_fork(). A child of raw clone() has its parent's other threads in its table, and waits
 * for them in vain. Costs: bench "events", "instances".
 * Tests: tests/unit/test_srcu.c.
 */
#include "engine/ring/srcu.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <time.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"

#define STORED_BY_NS UINT64_C(1000000)
#define PATIENCE_NS  UINT64_C(1000000000)
#define SPINS	     200u
#define FIRST_NAP_NS UINT64_C(20000)
#define LAST_NAP_NS  UINT64_C(2000000)

static struct srcu_thread threads[SRCU_MAX_THREADS] BIG_ZEROS;
static uint32_t nr_used; /* records below it have been used once */
static uint32_t hint;

/* For threads without a record; its counts are changed atomically. */
static struct srcu_thread shared;

__thread struct srcu_thread *srcu_self __attribute__((tls_model("initial-exec")));
/* The part of `shared` of a thread without a record. */
static __thread uint32_t shared_nest[SRCU_NR] __attribute__((tls_model("initial-exec")));
static __thread uint32_t has_none __attribute__((tls_model("initial-exec")));

static void (*on_timeout)(enum srcu_domain d, int tid);
static void (*on_new_thread)(void);

void srcu_on_timeout(void (*callback)(enum srcu_domain d, int tid))
{
	on_timeout = callback;
}

void srcu_on_new_thread(void (*callback)(void))
{
	on_new_thread = callback;
}

static struct srcu_thread *claim(int tid)
{
	uint32_t i = load_relaxed(&hint), n;

	for (n = 0; n < SRCU_MAX_THREADS; n++, i++) {
		struct srcu_thread *t = &threads[i % SRCU_MAX_THREADS];

		if (load_relaxed(&t->tid) || !compare_and_store(&t->tid, 0, tid))
			continue;
		i %= SRCU_MAX_THREADS;
		store_relaxed(&hint, (i + 1) % SRCU_MAX_THREADS);
		n = load_relaxed(&nr_used);
		/*
		 * a full barrier: a writer that does not see the record has made its stores before
		 * this thread's loads
		 */
		while (n <= i && !compare_and_store(&nr_used, n, i + 1))
			n = load_relaxed(&nr_used);
		return t;
	}
	return NULL;
}

/*
 * Make a record for the calling thread, unless a handler made one meanwhile. NULL: there is none.
 */
static struct srcu_thread *make(void)
{
	struct srcu_thread *t;
	int tid;

	if (has_none || srcu_self)
		return srcu_self;
	tid = sys_own_tid();
	t = tid ? claim(tid) : NULL;
	if (t && !arch_local_compare_and_store((uint64_t *)&srcu_self, 0, (uint64_t)t))
		store_release(&t->tid, 0);
	if (on_new_thread)
		on_new_thread();
	return srcu_self;
}

void srcu_thread_start(void)
{
	make();
}

struct srcu_thread *srcu_read_lock_slow(enum srcu_domain d, uint64_t frame)
{
	struct srcu_thread *t = make();

	if (t) {
		srcu_read_lock(d);
		t->of[d].frame[0] = frame;
		return t;
	}
	shared_nest[d]++;
	__atomic_fetch_add(&shared.of[d].count, 1, __ATOMIC_SEQ_CST);
	return &shared;
}

static uint32_t nr_open(const struct srcu_sections *s)
{
	uint32_t n = (uint32_t)load_acquire(&s->count),
		 elsewhere = load_relaxed(&s->closed_elsewhere);

	return n > elsewhere ? n - elsewhere : 0;
}

/* Free a record whose thread has ended. */
static void free_if_closed(struct srcu_thread *t)
{
	uint32_t d;

	if (load_relaxed(&t->tid) >= 0)
		return;
	for (d = 0; d < SRCU_NR; d++)
		if (nr_open(&t->of[d]))
			return;
	memset(t->of, 0, sizeof(t->of));
	store_release(&t->tid, 0);
}

void srcu_read_unlock_slow(enum srcu_domain d, struct srcu_thread *t)
{
	uint64_t count;

	if (t != &shared) {
		/* a coroutine has moved to another thread */
		__atomic_fetch_add(&t->of[d].closed_elsewhere, 1, __ATOMIC_SEQ_CST);
		free_if_closed(t);
		return;
	}
	if (shared_nest[d])
		shared_nest[d]--;
	count = load_relaxed(&shared.of[d].count);
	while ((uint32_t)count &&
	       !__atomic_compare_exchange_n(&shared.of[d].count, &count, srcu_one_less(count), 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

uint32_t srcu_nest(enum srcu_domain d)
{
	return srcu_self ? nr_open(&srcu_self->of[d]) : shared_nest[d];
}

/* Without membarrier: wait until the readers' stores must have become visible. */
static void barrier_everywhere(void)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);

	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) < 0 &&
	    sys_membarrier(MEMBARRIER_CMD_GLOBAL) < 0)
		while (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns < STORED_BY_NS)
			arch_relax();
}

/* Whether its thread has ended unseen. */
static int is_gone(const struct srcu_thread *t)
{
	int tid = load_relaxed(&t->tid);

	return tid > 0 && arch_syscall(SYS_tgkill, sys_getpid(), tid, 0, 0, 0, 0) == -ESRCH;
}

/* Whether a section that was open at the first look is still open. */
static int stays(const struct srcu_sections *s, uint64_t first)
{
	return nr_open(s) && load_acquire(&s->count) >> 32 == first >> 32;
}

static int wait_for(struct srcu_thread *t, enum srcu_domain d, uint64_t begin_ns)
{
	const struct srcu_sections *s = &t->of[d];
	uint64_t first = load_acquire(&s->count), nap_ns = FIRST_NAP_NS;
	uint32_t i;

	for (i = 0; i < SPINS && stays(s, first); i++)
		arch_relax();
	while (stays(s, first)) {
		if (sys_clock_ns(CLOCK_MONOTONIC) - begin_ns > PATIENCE_NS) {
			if (on_timeout)
				on_timeout(d, load_relaxed(&t->tid));
			return -ETIMEDOUT;
		}
		if (nap_ns >= LAST_NAP_NS && is_gone(t)) {
			memset(t->of, 0, sizeof(t->of));
			store_release(&t->tid, 0);
			return 0;
		}
		sys_sleep_ns((long)nap_ns);
		if (nap_ns < LAST_NAP_NS)
			nap_ns *= 2;
	}
	return 0;
}

int synchronize_srcu(enum srcu_domain d)
{
	uint64_t begin_ns = sys_clock_ns(CLOCK_MONOTONIC);
	uint32_t i, n;
	int err;

	if (srcu_nest(d))
		return -EDEADLK;
	barrier_everywhere();
	n = load_acquire(&nr_used);
	err = wait_for(&shared, d, begin_ns);
	for (i = 0; i < n && !err; i++)
		if (load_relaxed(&threads[i].tid))
			err = wait_for(&threads[i], d, begin_ns);
	return err;
}

/*
 * The number of sections that remain when the sections with frames in @lo .. @hi are left; the
 * innermost ones are left.
 */
static uint32_t nr_kept(const struct srcu_sections *s, uint64_t lo, uint64_t hi)
{
	uint32_t n = (uint32_t)s->count, i = n < SRCU_LEVELS ? n : SRCU_LEVELS;

	while (i && s->frame[i - 1] >= lo && s->frame[i - 1] < hi)
		n = --i;
	return n;
}

void srcu_jump(uint64_t lo, uint64_t hi)
{
	struct srcu_thread *t = srcu_self;
	uint32_t d;

	for (d = 0; t && d < SRCU_NR; d++) {
		uint32_t n = nr_kept(&t->of[d], lo, hi);

		while ((uint32_t)t->of[d].count > n)
			srcu_read_unlock(d, t);
	}
}

int srcu_any(void)
{
	uint32_t d, any = 0;

	for (d = 0; d < SRCU_NR; d++)
		any |= srcu_nest(d);
	return any != 0;
}

void srcu_thread_end(uint64_t lo, uint64_t hi)
{
	struct srcu_thread *t = srcu_self;

	if (!t)
		return;
	srcu_jump(lo, hi);
	srcu_self = NULL;
	barrier();
	store_release(&t->tid, -1);
	free_if_closed(t);
}

void srcu_thread_share(int on)
{
	has_none = (uint32_t)on;
	if (on)
		srcu_thread_end(0, 0);
}

void srcu_fork(void)
{
	uint32_t i, d;

	for (i = 0; i < nr_used; i++)
		if (&threads[i] != srcu_self)
			memset(&threads[i], 0, sizeof(threads[i]));
	for (d = 0; d < SRCU_NR; d++)
		shared.of[d].count = srcu_self ? 0 : shared_nest[d];
	if (srcu_self)
		srcu_self->tid = sys_own_tid();
}
