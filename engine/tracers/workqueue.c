/* SPDX-License-Identifier: MIT */
/*
 * The workqueue tracer: the items that thread pools got and executed, the threads that executed
 * them, and the waiting times (sources/work.h). Like the kernel's (2.6.29) it makes no records: the
 * table is trace_stat/workqueues, and counts from the time at which the tracer became current,
 * whether tracing_on is set or not. In the top instance alone. fork: the child counts from 0.
 * Costs: some 100 ns an item. Tests: tests/engine/tracers/workqueue.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/sort.h"
#include "engine/core/symbol_names.h"
#include "engine/core/trace_stat.h"
#include "engine/core/tracer.h"
#include "engine/sources/work.h"

#define THREADS 1024u

/* The counts of a pool, or of a thread in a pool. */
struct counts {
	uint64_t inserted, executed, cancelled;
	uint64_t waits, wait_sum, wait_max; /* ns, of the items whose wait is known */
};

static struct counts pools[WORK_POOLS] BIG_ZEROS;
static struct {
	uint64_t who; /* pool + 1, and the thread's id in the upper half; 0: free */
	struct counts counts;
} threads[THREADS] BIG_ZEROS;
static uint32_t counted;   /* 1: the tables below are not empty */
static uint64_t uncounted; /* items of threads for which there was no row */

static struct counts *thread_counts(uint32_t pool, int tid)
{
	const uint64_t who = (uint64_t)(uint32_t)tid << 32 | (pool + 1);
	uint32_t i = (uint32_t)(hash_u64(who) >> 32) % THREADS, n;

	for (n = 0; n < THREADS; n++, i = (i + 1) % THREADS)
		if (load_acquire(&threads[i].who) == who ||
		    compare_and_store(&threads[i].who, 0, who) ||
		    load_acquire(&threads[i].who) == who)
			return &threads[i].counts;
	fetch_add(&uncounted, 1);
	return NULL;
}

static void note_start(struct counts *c, uint64_t waited_ns)
{
	fetch_add(&c->executed, 1);
	if (waited_ns == UINT64_MAX)
		return;
	fetch_add(&c->waits, 1);
	fetch_add(&c->wait_sum, waited_ns);
	store_greater(&c->wait_max, waited_ns);
}

static void note(const struct work *w)
{
	struct counts *of_thread;

	if (!load_relaxed(&counted))
		store_relaxed(&counted, 1);
	switch (w->what) {
	case WORK_QUEUE:
		fetch_add(&pools[w->pool].inserted, 1);
		break;
	case WORK_START:
		note_start(&pools[w->pool], w->waited_ns);
		of_thread = thread_counts(w->pool, sys_own_tid());
		if (of_thread)
			note_start(of_thread, w->waited_ns);
		break;
	case WORK_CANCEL:
		fetch_add(&pools[w->pool].cancelled, 1);
		break;
	case WORK_END:
		break;
	}
}

static struct work_listener listener = {.call = note};

/*
 * Clear the tables only if needed: they have many pages, and a fork's child that counts nothing
 * then copies none of them.
 */
static void forget(void)
{
	if (!load_relaxed(&counted))
		return;
	store_relaxed(&counted, 0);
	memset(pools, 0, sizeof(pools));
	memset(threads, 0, sizeof(threads));
	uncounted = 0;
}

static int workqueue_init(struct trace_array *tr)
{
	(void)tr;
	forget();
	return source_listen(&works, &listener.link);
}

static void workqueue_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&works, &listener.link);
}

static const struct tracer workqueue = {
	.name = "workqueue",
	.init = workqueue_init,
	.reset = workqueue_reset,
};
TRACER_REGISTER(workqueue);

static void put_counts(struct seq_buf *s, const struct counts *c, int of_thread)
{
	if (of_thread)
		seq_puts(s, "           ");
	else
		seq_putu_right(s, c->inserted, 11);
	seq_putu_right(s, c->executed, 10);
	if (of_thread)
		seq_puts(s, "           ");
	else
		seq_putu_right(s, c->cancelled, 11);
	seq_putu_right(s, c->waits ? c->wait_sum / c->waits / 1000 : 0, 12);
	seq_putu_right(s, c->wait_max / 1000, 12);
	seq_puts(s, "  ");
}

static void put_pool(struct seq_buf *s, const char *name, uint64_t function)
{
	/* a function's entry is looked up as if it were a return address */
	struct symbol_name row = {.address = function + 1};

	if (!function) {
		seq_puts(s, name);
		return;
	}
	seq_puts(s, "GLib ");
	symbol_names(&row, 1);
	if (row.start == function)
		seq_puts(s, row.name);
	else
		symbol_name_put(s, &row);
}

static int by_thread(const void *a, const void *b)
{
	return *(const uint32_t *)a > *(const uint32_t *)b;
}

static void put_threads(struct seq_buf *s, uint32_t pool)
{
	uint32_t of[THREADS], n = 0, i;

	for (i = 0; i < THREADS; i++)
		if ((uint32_t)load_acquire(&threads[i].who) == pool + 1)
			of[n++] = (uint32_t)(threads[i].who >> 32);
	sort(of, n, sizeof(*of), by_thread);
	for (i = 0; i < n; i++) {
		put_counts(s, thread_counts(pool, (int)of[i]), 1);
		seq_puts(s, "  thread ");
		seq_putu(s, of[i]);
		seq_putc(s, '\n');
	}
}

static int workqueues_show(struct seq_buf *s)
{
	uint64_t function;
	const char *name;
	uint32_t i;

	seq_puts(s, "#  INSERTED  EXECUTED  CANCELLED  WAIT AVG us  WAIT MAX us  NAME\n");
	for (i = 0; work_pool(i, &name, &function); i++) {
		if (!pools[i].inserted && !pools[i].executed)
			continue;
		put_counts(s, &pools[i], 0);
		put_pool(s, name, function);
		seq_putc(s, '\n');
		put_threads(s, i);
	}
	if (work_unknown() + uncounted) {
		seq_puts(s, "# not counted for want of room: ");
		seq_putu(s, work_unknown() + uncounted);
		seq_putc(s, '\n');
	}
	return 0;
}

static const struct trace_stat workqueues = {"workqueues", workqueues_show};
TRACE_STAT_REGISTER(workqueues);

static void fork_workqueue(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		forget();
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_workqueue, NULL);
