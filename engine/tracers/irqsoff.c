/* SPDX-License-Identifier: MIT */
/*
 * The tracers irqsoff, preemptoff and preemptirqsoff: the longest stretch in which a thread had
 * signals blocked (irqsoff), held a lock (preemptoff), or either. A stretch begins with the first
 * of its reasons and ends with the last. Its name is the call that began it. Measuring costs two
 * stamps. A stretch is recorded only if it is longer than all before (or than tracing_thresh), and
 * only after the lock has been released. Its end with the stack, and a line of text, are in the
 * buffer too, so trace_pipe and `record` have all these stretches.
 *
 * One of the three can be current, in one instance. Any context. fork: the tracer goes on in the
 * child; a stretch around fork() counts in parent and child. Costs: bench "preemptoff", "irqsoff".
 * Tests:
 * tests/engine/events/preemptoff.
 */
#include <errno.h>
#include <stddef.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/context.h"
#include "engine/core/latency.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/process/clock.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/held.h"
#include "engine/sources/kmem_blocks.h"
#include "engine/sources/mask.h"

enum { REASON_LOCK = 1, REASON_SIGNALS = 2 };

/* The calling thread's stretch. */
static __thread struct {
	uint32_t gen; /* `gen` of the tracer when the stretch began */
	uint32_t reasons;
	uint32_t ended; /* `to` is set, the report is still to be made */
	uint32_t cpu, context;
	uint64_t from, to;
	uint64_t function, site; /* of the call that began it */
	const void *lock;
	uint32_t lock_sort;
	uint16_t nr_waiters, noted; /* of `ended`; its row in waiters[], + 1 */
} mine __attribute__((tls_model("initial-exec")));

#define MAX_NOTED 32u

/*
 * Threads that wait for a lock are noted before it is given back: then one of them may have it
 * before the thread that gives it back runs again. A row for each thread in between; the library's
 * thread-local memory is scarce.
 */
static struct noted {
	uint32_t taken;
	struct area_waiter waiters[AREA_LATENCY_WAITERS];
} noted[MAX_NOTED] BIG_ZEROS;

static struct trace_array *traced; /* NULL: none of the three is on */
static uint32_t wanted;		   /* reasons */
static uint32_t gen;
static uint64_t ns_per_unit; /* << 32 */

static inline void renew(void)
{
	uint32_t now = load_relaxed(&gen);

	if (likely(mine.gen == now))
		return;
	mine.reasons = mine.ended = 0;
	mine.noted = mine.nr_waiters = 0;
	barrier();
	mine.gen = now;
}

/*
 * The traced instance. The caller calls leave() after it; until then the instance is not freed (the
 * top one never is). NULL: there is none, and leave() must not be called.
 */
static inline struct trace_array *enter(struct srcu_thread **inside)
{
	struct trace_array *tr = load_acquire(&traced);

	*inside = NULL;
	if (likely(tr == &global_trace) || !tr)
		return tr;
	*inside = ring_enter();
	return *inside ? load_acquire(&traced) : NULL;
}

static inline void leave(struct srcu_thread *inside)
{
	if (inside)
		ring_leave(inside);
}

static void forget_waiters(void)
{
	if (mine.noted)
		store_release(&noted[mine.noted - 1].taken, 0);
	mine.noted = mine.nr_waiters = 0;
}

static void note_waiters(void)
{
	uint32_t i, n;

	forget_waiters();
	for (i = 0; i < MAX_NOTED; i++)
		if (!load_relaxed(&noted[i].taken) && compare_and_store(&noted[i].taken, 0, 1))
			break;
	if (i == MAX_NOTED)
		return;
	n = held_waiters(mine.lock, ring_clock(), ns_per_unit, noted[i].waiters,
			 AREA_LATENCY_WAITERS);
	mine.nr_waiters = (uint16_t)min_of(n, UINT16_MAX);
	mine.noted = (uint16_t)(i + 1);
}

/* A reason begins. @context: the thread's context with it. */
static void begin(uint32_t reason, uint32_t context, uint64_t function, uint64_t site,
		  const struct lock_call *c)
{
	struct srcu_thread *inside;
	struct trace_array *tr;

	renew();
	mine.reasons |= reason;
	if (mine.reasons != reason)
		return;
	tr = enter(&inside);
	if (tr && ring_is_on(tr->ring)) {
		mine.function = function;
		mine.site = site;
		mine.lock = c ? c->lock : NULL;
		mine.lock_sort = c ? (uint32_t)c->sort + AREA_LOCK_MUTEX : AREA_LOCK_NONE;
		mine.cpu = ring_cpu();
		mine.context = context;
		mine.ended = 0;
		if (unlikely(mine.noted))
			forget_waiters();
		ring_gate_open(tr->ring);
		barrier();
		mine.from = ring_now(tr->ring);
	} else {
		mine.from = 0;
	}
	leave(inside);
}

/* A reason ends now. report() follows. */
static void end(uint32_t reason)
{
	struct srcu_thread *inside;
	struct trace_array *tr;

	renew();
	if (!(mine.reasons & reason))
		return;
	mine.reasons &= ~reason;
	if (mine.reasons || !mine.from)
		return;
	tr = enter(&inside);
	if (tr) {
		mine.to = ring_now(tr->ring);
		ring_gate_close(tr->ring);
		mine.ended = latency_is_news(tr, mine.to - mine.from);
		if (mine.ended && mine.lock)
			note_waiters();
	}
	leave(inside);
}

static const char *const lock_names[] = {[AREA_LOCK_MUTEX] = "mutex",
					 [AREA_LOCK_READER] = "rwlock",
					 [AREA_LOCK_WRITER] = "rwlock",
					 [AREA_LOCK_SPIN] = "spinlock",
					 [AREA_LOCK_MTX] = "mtx"};

/*
 * Print `SITE: 20012 us, lock 0x1234 (mutex)` into the live buffer, for each stretch that is
 * reported.
 */
static void print(struct ring *r, const struct latency_stretch *s)
{
	char text[96];
	struct seq_buf b;
	struct ring_slot slot;
	uint32_t bytes;

	seq_init(&b, text, sizeof(text));
	seq_putu(&b, (uint64_t)((unsigned __int128)(s->to - s->from) * ns_per_unit >> 32) / 1000);
	seq_puts(&b, " us");
	if (s->lock) {
		seq_puts(&b, ", lock 0x");
		seq_putx(&b, s->lock);
		seq_puts(&b, " (");
		seq_puts(&b, lock_names[s->lock_sort]);
		seq_puts(&b, ")");
	}
	if (s->nr_waiters) {
		seq_puts(&b, ", waiting: ");
		seq_putu(&b, s->nr_waiters);
	}
	bytes = 16 + (((uint32_t)b.len + 1 + 7) & ~7u);
	if (!ring_reserve(r, &slot, bytes))
		return;
	slot.words[bytes / 8 - 1] = 0;
	slot.words[1] = s->started_at;
	memcpy(slot.words + 2, text, b.len);
	ring_commit(&slot, RECORD_PRINT, bytes);
}

static void record_end(struct ring *r, uint64_t now, uint64_t function, uint64_t site)
{
	struct ring_slot slot;

	if (ring_reserve_as(r, &slot, RECORD_CALL_BYTES, 1, now)) {
		slot.words[1] = function;
		slot.words[2] = site;
		ring_commit(&slot, RECORD_CALL, 0);
	}
	if (stack_started())
		stack_record(r);
}

/* Keep the stretch that end() found, if it is longer than the limit. */
static __attribute__((noinline)) void report_now(uint64_t function, uint64_t site)
{
	struct latency_stretch s = {0};
	struct srcu_thread *inside;
	struct trace_array *tr;

	mine.ended = 0;
	tr = enter(&inside);
	if (tr && latency_is_news(tr, mine.to - mine.from)) {
		s.from = mine.from;
		s.to = mine.to;
		s.from_cpu = mine.cpu;
		s.context = mine.context | (context_now(tr->ring) & CONTEXT_MIGRATE_DISABLED);
		s.tid = ring_thread_id();
		s.begin = (struct latency_call){mine.function, mine.site};
		s.started_at = mine.site;
		s.ended_at = site;
		s.lock = (uint64_t)mine.lock;
		s.lock_sort = mine.lock_sort;
		if (mine.lock) {
			s.nr_waiters = mine.nr_waiters;
			if (mine.noted)
				memcpy(s.waiters, noted[mine.noted - 1].waiters, sizeof(s.waiters));
			s.lock_site = kmem_block_site(mine.lock);
		}
		record_end(tr->ring, s.to, function, site);
		if (latency_report(tr, &s))
			print(tr->ring, &s);
	}
	forget_waiters();
	leave(inside);
}

static inline void report(uint64_t function, uint64_t site)
{
	if (unlikely(mine.ended))
		report_now(function, site);
}

static void note_held(const struct lock_call *c, uint32_t before, uint32_t after)
{
	if (after > before) {
		if (!before)
			begin(REASON_LOCK, 1u << CONTEXT_DEPTH_SHIFT, c->function, c->site, c);
	} else if (after < before) {
		if (!after)
			end(REASON_LOCK);
		if (mine.ended)
			held_want_released();
	} else {
		report(c->function, c->site);
	}
}

static struct held_listener held = {.call = note_held};

static void note_mask(uint32_t before, uint32_t after, uint64_t function, uint64_t site)
{
	if (!before) {
		begin(REASON_SIGNALS,
		      CONTEXT_IRQS_OFF | (after & MASK_HANDLER ? CONTEXT_HARDIRQ : 0), function,
		      site, NULL);
	} else if (!after) {
		end(REASON_SIGNALS);
		report(function, site);
	}
}

static struct mask_listener mask = {.call = note_mask};

static void ignore(uint32_t reasons)
{
	if (reasons & REASON_LOCK)
		source_ignore(&held_locks, &held.link);
	if (reasons & REASON_SIGNALS)
		source_ignore(&mask_changes, &mask.link);
}

static int listen_to(uint32_t reasons)
{
	int err = 0;

	if (reasons & REASON_LOCK)
		err = source_listen(&held_locks, &held.link);
	if (!err && reasons & REASON_SIGNALS) {
		err = source_listen(&mask_changes, &mask.link);
		if (err)
			ignore(reasons & REASON_LOCK);
	}
	return err;
}

static int init(struct trace_array *tr, uint32_t reasons)
{
	int err;

	if (wanted)
		return -EBUSY;
	ns_per_unit = clock_unit_ns();
	stack_start(); /* a program without an unwinder has no stacks */
	err = latency_init(tr);
	if (err)
		return err;
	memset(noted, 0, sizeof(noted)); /* of threads that have ended meanwhile, too */
	store_release(&gen, gen + 1);
	store_release(&traced, tr);
	wanted = reasons;
	err = listen_to(reasons);
	if (err) {
		store_release(&traced, NULL);
		wanted = 0;
		latency_reset(tr);
	}
	return err;
}

static int preemptoff_init(struct trace_array *tr)
{
	return init(tr, REASON_LOCK);
}

static int irqsoff_init(struct trace_array *tr)
{
	return init(tr, REASON_SIGNALS);
}

static int preemptirqsoff_init(struct trace_array *tr)
{
	return init(tr, REASON_LOCK | REASON_SIGNALS);
}

static void reset(struct trace_array *tr)
{
	ignore(wanted);
	wanted = 0;
	store_release(&traced, NULL);
	/*
	 * Nothing is freed here, so a thread that stays inside does no harm: it makes one more
	 * report, as a thread may in the top instance, for which it enters no section. The removal
	 * of an instance waits again, and keeps the ring if a thread is still inside.
	 */
	ring_synchronize();
	latency_reset(tr);
}

static const char *absent(void)
{
	return interpose_possible() ? NULL : "calls of libc cannot be seen in a static program";
}

LATENCY_TRACER(irqsoff, absent);
LATENCY_TRACER(preemptoff, absent);
LATENCY_TRACER(preemptirqsoff, absent);
