/* SPDX-License-Identifier: MIT */
/*
 * See held.h. Each thread has a list of its own. A handler that takes a lock releases it before it
 * returns, and each change of the list is such that this may happen between any two stores. If
 * another thread releases a lock, the lock stays in the list of the thread that took it until the
 * next listener. Locks beyond MAX_HELD are only counted. A waiting thread has a row in a table of
 * all threads. A thread that is cancelled leaves its row in use until it waits again or the last
 * listener leaves.
 *
 * Any context. fork: the thread that forked holds in the child what it held. Costs: bench
 * "preemptoff". Tests: tests/engine/events/preemptoff.
 */
#include "engine/sources/held.h"

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/ring.h"

#define MAX_HELD    16u
#define MAX_WAITERS 64u
#define NO_ROW	    UINT32_MAX

static __thread struct {
	uint32_t gen; /* generation of listeners for which the other fields hold */
	uint32_t nr;  /* locks in `locks` */
	uint32_t more;
	uint32_t row; /* index of its row in waiters[], + 1 */
	uint32_t wants_released;
	const void *locks[MAX_HELD];
} mine __attribute__((tls_model("initial-exec")));

static uint32_t gen;

static struct {
	const void *lock; /* NULL: a free row */
	uint64_t since;
	uint32_t taken;
	int32_t tid;
	char comm[16];
} waiters[MAX_WAITERS] BIG_ZEROS;
static uint32_t nr_waiting;

static inline void renew(void)
{
	uint32_t now = load_relaxed(&gen);

	if (likely(mine.gen == now))
		return;
	mine.nr = mine.more = mine.row = 0;
	barrier();
	mine.gen = now;
}

void held_want_released(void)
{
	mine.wants_released = 1;
}

uint32_t held_depth(void)
{
	return mine.gen == load_relaxed(&gen) ? mine.nr + mine.more : 0;
}

static void notify(const struct lock_call *c, uint32_t before, uint32_t after)
{
	SOURCE_NOTIFY(struct held_listener, load_acquire(&held_locks.first), c, before, after);
}

static void taken(const struct lock_call *c)
{
	uint32_t before, at;

	renew();
	before = mine.nr + mine.more;
	if (likely(mine.nr < MAX_HELD)) {
		at = mine.nr++;
		barrier(); /* locks that a handler takes go behind this one */
		store_relaxed(&mine.locks[at], c->lock);
	} else {
		mine.more++;
	}
	notify(c, before, before + 1);
}

static void note_acquire(const struct lock_call *c)
{
	if (c->try)
		taken(c);
}

static void note_release(const struct lock_call *c)
{
	uint32_t before, i;

	renew();
	before = mine.nr + mine.more;
	if (c->err || !before)
		return; /* the call failed, or the lock was taken before there was a listener */
	for (i = mine.nr; i-- > 0 && mine.locks[i] != c->lock;)
		;
	if (i < mine.nr) {
		store_relaxed(&mine.locks[i], mine.locks[mine.nr - 1]);
		barrier();
		mine.nr--;
	} else if (mine.more) {
		mine.more--;
	} else {
		return;
	}
	notify(c, before, before - 1);
}

static void note_released(const struct lock_call *c)
{
	uint32_t depth;

	if (likely(!mine.wants_released))
		return;
	mine.wants_released = 0;
	depth = held_depth();
	notify(c, depth, depth);
}

/* The thread's own row, or a free one. Return: its index, or NO_ROW. */
static uint32_t claim_row(void)
{
	uint32_t i;

	if (mine.row)
		return mine.row - 1;
	for (i = 0; i < MAX_WAITERS; i++)
		if (!load_relaxed(&waiters[i].taken) &&
		    compare_and_store(&waiters[i].taken, 0, load_relaxed(&gen)))
			return i;
	return NO_ROW;
}

static void note_begin(const struct lock_call *c)
{
	uint32_t i;

	renew();
	i = claim_row();
	if (i == NO_ROW)
		return;
	if (mine.row)
		fetch_add(&nr_waiting, (uint32_t)-1); /* the wait before was cancelled */
	mine.row = i + 1;
	waiters[i].since = ring_clock();
	waiters[i].tid = ring_thread_id();
	str_copy(waiters[i].comm, sizeof(waiters[i].comm), ring_thread_comm());
	store_release(&waiters[i].lock, c->lock);
	fetch_add(&nr_waiting, 1);
}

static void note_end(const struct lock_call *c)
{
	(void)c;
	renew();
	if (!mine.row)
		return;
	store_release(&waiters[mine.row - 1].lock, NULL);
	store_release(&waiters[mine.row - 1].taken, 0);
	mine.row = 0;
	fetch_add(&nr_waiting, (uint32_t)-1);
}

static int is_held(const void *lock)
{
	uint32_t i;

	for (i = 0; i < mine.nr; i++)
		if (mine.locks[i] == lock)
			return 1;
	return 0;
}

int held_is_awaited(void)
{
	uint32_t i;

	if (!load_relaxed(&nr_waiting) || !held_depth())
		return 0;
	for (i = 0; i < MAX_WAITERS; i++) {
		const void *lock = load_acquire(&waiters[i].lock);

		if (lock && is_held(lock))
			return 1;
	}
	return 0;
}

uint32_t held_waiters(const void *lock, uint64_t now, uint64_t ns, struct area_waiter *to,
		      uint32_t room)
{
	uint32_t i, n = 0;

	for (i = 0; load_relaxed(&nr_waiting) && i < MAX_WAITERS; i++) {
		uint64_t since = load_relaxed(&waiters[i].since);

		if (load_acquire(&waiters[i].lock) != lock)
			continue;
		if (n < room) {
			to[n].tid = waiters[i].tid;
			memcpy(to[n].comm, waiters[i].comm, sizeof(to[n].comm));
			to[n].waited_ns =
				now > since
					? (uint64_t)((unsigned __int128)(now - since) * ns >> 32)
					: 0;
		}
		n++;
	}
	return n;
}

static struct lock_listener listeners[] = {
	{.call = note_release}, {.call = note_released}, {.call = note_acquire},
	{.call = taken},	{.call = note_begin},	 {.call = note_end},
};
static const uint8_t ids[] = {LOCK_RELEASE,  LOCK_RELEASED, LOCK_ACQUIRE,
			      LOCK_ACQUIRED, LOCK_BEGIN,    LOCK_END};

static int want(struct source *s, int on)
{
	uint32_t i;
	int err = 0;

	(void)s;
	if (on) {
		memset(waiters, 0, sizeof(waiters));
		nr_waiting = 0;
		store_release(&gen, gen + 1);
	}
	for (i = 0; i < ARRAY_SIZE(ids) && !err; i++)
		err = source_switch(&lock_sources[ids[i]], &listeners[i].link, on);
	while (err && --i)
		source_ignore(&lock_sources[ids[i - 1]], &listeners[i - 1].link);
	return err;
}

struct source held_locks = {.want = want};
