/* SPDX-License-Identifier: MIT */
/*
 * The ring's slow path: control blocks, and the change of pages. ring.h says how it works and what
 * fork does; pool.c decides which page is taken. Everything reachable from ring_new_page() may run
 * in a signal handler that interrupted any instruction, this file's own included: a handler that
 * finds the thread's block busy goes on with a second one (enter_nested, leave_nested).
 */
#include "engine/ring/ring.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <time.h>

#include "abi/option.h"
#include "arch_barrier.h"
#include "arch_clock.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/pool.h"

#define NR_CTLS 16384u

/* Shared by all threads that have no block: its cpu_key of 0 sends them here. */
static struct ring_ctl null_ctl;
__thread struct ring_ctl *ring_ctl __attribute__((tls_model("initial-exec"))) = &null_ctl;

/* Of threads that may no longer read the counter: neither do we. */
static struct ring_ctl forbidden_ctl = {.tid = -1};

ptrdiff_t ring_rseq_offset;

/* In memory that a fork's child finds zeroed: there nothing is awake. */
static struct ring_private {
	uint32_t awake;
	uint32_t ctl_hint;
	uint32_t nr_used; /* blocks below this were used once */
	struct ring_ctl ctls[NR_CTLS];
} * priv;

static struct ring ring;
static int (*mono_clock)(clockid_t, struct timespec *);

/* The zeroed memory of the parent's blocks serves the child. */
void ring_fork(const struct ring *r)
{
	ring = *r;
	null_ctl = (struct ring_ctl){0};
	ring_ctl = &null_ctl;
	store_release(&priv->awake, 1);
}

int ring_start(const struct ring *r, ptrdiff_t rseq_offset)
{
	long p = sys_mmap(NULL, sizeof(*priv), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (sys_failed(p))
		return (int)p;
	if (sys_madvise((void *)p, sizeof(*priv), MADV_WIPEONFORK) < 0) {
		sys_munmap((void *)p, sizeof(*priv));
		return -EINVAL;
	}
	priv = (void *)p;
	ring = *r;
	ring_rseq_offset = rseq_offset;
	mono_clock = clock_gettime;
	store_release(&priv->awake, 1);
	return 0;
}

/*
 * Off is off at once: each thread is sent to the slow path. A thread that is there now either sees
 * that we are off, or has stored its cpu_key before the barrier, and we clear it behind it.
 */
static void send_to_slow_path(void)
{
	uint32_t i, n = load_acquire(&priv->nr_used);

	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) < 0)
		sys_membarrier(MEMBARRIER_CMD_GLOBAL);
	for (i = 0; i < n; i++)
		store_relaxed(&priv->ctls[i].cpu_key, 0);
}

void ring_set_on(int on)
{
	store_relaxed(&ring.on, (uint32_t)on);
	store_relaxed(&ring.area->tracing_on, (uint32_t)on);
	if (!on)
		send_to_slow_path();
}

int ring_is_on(void)
{
	return (int)load_relaxed(&ring.on);
}

/*
 * Pages that are in nobody's hands are free at once. Those that a thread has stay with it: readers
 * leave out the records that are older than cleared_stamp.
 */
static void clear_cpu(struct area_cpu *row)
{
	uint32_t i, n = load_acquire(&row->nr_backed);

	row->cleared_overrun = load_relaxed(&row->overrun);
	row->cleared_dropped = load_relaxed(&row->dropped_events);
	row->cleared_commit = load_relaxed(&row->commit_overrun);
	store_release(&row->cleared_stamp, ring_clock());
	for (i = 0; i < n; i++)
		compare_and_store(&ring.descs[row->first_page + i].state, PAGE_PUBLISHED,
				  PAGE_FREE);
}

void ring_clear(uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < ring.nr_cpus; i++)
		if (cpu == UINT32_MAX || cpu == i)
			clear_cpu(&ring.cpus[i]);
	/* a thread that found no free page may look again */
	fetch_add(&ring.area->reader_gen, 1);
}

int ring_resize(uint32_t cpu, uint32_t pages)
{
	int err = pool_resize(&ring, &ring.cpus[cpu], pages);

	fetch_add(&ring.area->reader_gen, 1);
	return err;
}

uint64_t ring_clock_mono(void)
{
	struct timespec t;

	/* The vdso's code: no lock, no vector register. */
	mono_clock(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ring_clock(void)
{
	return ring.area->clock == AREA_CLOCK_TSC ? arch_clock_read() : ring_clock_mono();
}

static struct area_cpu *cpu_row(uint32_t cpu)
{
	return &ring.cpus[cpu < ring.nr_cpus ? cpu : ring.nr_cpus - 1];
}

static int records_comm(void)
{
	return area_option_on(ring.buffer->options, AREA_OPTION_RECORD_CMD);
}

/* A row in the table of tasks; UINT32_MAX if it is full: the thread then has no name. */
static uint32_t task_new(int tid)
{
	uint32_t i = fetch_add(&ring.task_table->count, 1);
	struct area_task *t = &ring.tasks[i];

	if (i >= ring.task_table->capacity || sys_back(t, sizeof(*t)) < 0) {
		__atomic_fetch_sub(&ring.task_table->count, 1, __ATOMIC_RELAXED);
		return UINT32_MAX;
	}
	t->tgid = ring.area->pid;
	t->start_stamp = ring_clock();
	if (records_comm())
		sys_get_comm(t->comm);
	store_release(&t->tid, tid);
	return i;
}

static struct ring_ctl *ctl_claim(int tid)
{
	uint32_t i = load_relaxed(&priv->ctl_hint);
	uint32_t n;

	for (n = 0; n < NR_CTLS; n++, i++) {
		struct ring_ctl *ctl = &priv->ctls[i % NR_CTLS];

		if (!load_relaxed(&ctl->tid) && compare_and_store(&ctl->tid, 0, tid)) {
			i %= NR_CTLS;
			store_relaxed(&priv->ctl_hint, (i + 1) % NR_CTLS);
			n = load_relaxed(&priv->nr_used);
			while (n <= i && !compare_and_store(&priv->nr_used, n, i + 1))
				n = load_relaxed(&priv->nr_used);
			return ctl;
		}
	}
	return NULL;
}

/* A claimed block as a thread begins with it; its tid is what others claim it by, and stays. */
static void ctl_clear(struct ring_ctl *ctl)
{
	memset(ctl, 0, offsetof(struct ring_ctl, tid));
	ctl->page_index = UINT32_MAX;
	ctl->failed_gen = UINT64_MAX;
}

/*
 * The slow path of @ctl was interrupted by a handler that records: give the thread another block
 * until leave_nested() by the one that was interrupted. A handler that leaves by longjmp() leaves
 * the thread with this one, which is as good. NULL: none to be had.
 */
static struct ring_ctl *enter_nested(struct ring_ctl *ctl)
{
	struct ring_ctl *nested = ctl->nested;

	if (!nested) {
		nested = ctl_claim(ctl->tid);
		if (!nested)
			return NULL;
		ctl_clear(nested);
		nested->task = ctl->task;
		barrier();
		if (ctl->nested) /* a handler on top of this one was faster */
			store_release(&nested->tid, 0);
		else
			ctl->nested = nested;
		barrier();
		nested = ctl->nested;
	}
	ring_ctl = nested;
	return nested;
}

/* Not busy any more. A handler that comes between the first two lines sets ring_ctl once more. */
static void leave_nested(struct ring_ctl *ctl)
{
	ring_ctl = ctl;
	barrier();
	ctl->busy = 0;
	barrier();
	ring_ctl = ctl;
}

/*
 * The thread's first record, or ring_thread_start(). A handler that comes meanwhile makes a block
 * too; the first one that is put into ring_ctl stays. NULL: none to be had, counted.
 */
static struct ring_ctl *attach(void)
{
	struct ring_ctl *before = ring_ctl, *ctl = NULL;

	if (priv && load_relaxed(&priv->awake))
		ctl = ctl_claim(sys_gettid());
	if (!ctl) {
		if (ring.area)
			fetch_add(&ring.area->untraced_calls, 1);
		return NULL;
	}
	ctl_clear(ctl);
	ctl->task = task_new(ctl->tid);
	if (!compare_and_store(&ring_ctl, before, ctl)) {
		store_release(&ctl->tid, 0);
		ctl = ring_ctl;
	}
	return ctl;
}

/* Publish what no unfinished writer can still write to; hold back what one can. */
static int retire_page(struct ring_ctl *ctl)
{
	uint32_t level = ctl->nest, kept = 0, i;

	for (i = 0; i < ctl->nr_held; i++) {
		if (ctl->held[i].nest >= level)
			pool_publish(&ring, ctl->held[i].page_index);
		else
			ctl->held[kept++] = ctl->held[i];
	}
	ctl->nr_held = kept;
	if (ctl->page_index == UINT32_MAX)
		return 0;
	if (ctl->page_nest >= level) {
		pool_publish(&ring, ctl->page_index);
	} else {
		if (kept == RING_MAX_HELD)
			return -EBUSY;
		ctl->held[kept].page_index = ctl->page_index;
		ctl->held[kept].nest = ctl->page_nest;
		ctl->nr_held = kept + 1;
	}
	ctl->page_index = UINT32_MAX;
	return 0;
}

static int page_fits(const struct ring_ctl *ctl, uint32_t cpu, uint32_t bytes)
{
	const struct page_head *head = ctl->page;

	return ctl->page_index != UINT32_MAX && head->cpu == cpu &&
	       head->commit + bytes <= PAGE_BYTES && !((ring_clock() - head->base_stamp) >> 32);
}

static enum ring_verdict change_page(struct ring_ctl *ctl, uint32_t bytes)
{
	uint32_t cpu = arch_cpu();
	struct area_cpu *row = cpu_row(cpu);
	uint64_t gen;
	int index;

	if (page_fits(ctl, cpu, bytes))
		goto out;
	if (retire_page(ctl) < 0) {
		fetch_add(&row->commit_overrun, 1);
		return RING_SKIP;
	}
	gen = load_relaxed(&ring.area->reader_gen);
	if (ctl->failed_gen == gen && !(ring.buffer->flags & AREA_BUFFER_OVERWRITE)) {
		fetch_add(&row->dropped_events, 1);
		return RING_SKIP;
	}
	index = pool_take(&ring, row);
	if (index < 0) {
		ctl->failed_gen = gen;
		fetch_add(&row->dropped_events, 1);
		return RING_SKIP;
	}
	ctl->failed_gen = UINT64_MAX;
	ctl->page = pool_page(&ring, (uint32_t)index);
	ctl->page->tid = ctl->tid;
	ctl->page->cpu = cpu;
	ctl->page->task = ctl->task;
	ctl->page->base_stamp = ring_clock();
	pool_own(&ring, (uint32_t)index);
	ctl->page_index = (uint32_t)index;
	ctl->page_nest = ctl->nest;
out:
	store_relaxed(&ctl->cpu_key, cpu ^ RING_CPU_KEY);
	barrier();
	/* the other side of send_to_slow_path() */
	if (unlikely(!load_relaxed(&ring.on))) {
		ctl->cpu_key = 0;
		return RING_SKIP;
	}
	return RING_RETRY;
}

enum ring_verdict ring_new_page(uint32_t bytes)
{
	struct ring_ctl *ctl = ring_ctl;
	enum ring_verdict verdict;

	if (unlikely(!ctl->tid)) {
		ctl = attach();
		if (!ctl)
			return RING_SKIP;
	}
	if (unlikely(ctl == &forbidden_ctl)) {
		fetch_add(&ring.area->untraced_calls, 1);
		return RING_SKIP;
	}
	while (unlikely(ctl->busy)) {
		ctl = enter_nested(ctl);
		if (!ctl) {
			fetch_add(&cpu_row(arch_cpu())->commit_overrun, 1);
			return RING_SKIP;
		}
	}
	ctl->busy = 1;
	ctl->cpu_key = 0;
	barrier();
	if (unlikely(!load_relaxed(&ring.on)))
		verdict = RING_SKIP;
	else
		verdict = change_page(ctl, bytes);
	barrier();
	leave_nested(ctl);
	if (verdict == RING_RETRY && ring_rseq_offset && arch_rseq_cpu(ring_rseq_offset) < 0)
		verdict = RING_XADD;
	return verdict;
}

void ring_thread_start(void)
{
	if (!ring_ctl->tid)
		attach();
}

void ring_thread_rename(void)
{
	struct ring_ctl *ctl = ring_ctl;

	if (ctl->tid > 0 && ctl->task != UINT32_MAX && records_comm())
		sys_get_comm(ring.tasks[ctl->task].comm);
}

/* Give back a block and those for handlers above it. */
static void release(struct ring_ctl *ctl)
{
	while (ctl) {
		struct ring_ctl *nested = ctl->nested;

		ctl->nest = 0; /* whoever had not finished never will */
		retire_page(ctl);
		store_release(&ctl->tid, 0);
		ctl = nested;
	}
}

void ring_thread_forbid(void)
{
	struct ring_ctl *ctl = ring_ctl;

	ring_ctl = &forbidden_ctl;
	barrier();
	if (ctl->tid > 0)
		release(ctl);
}

void ring_thread_allow(void)
{
	if (ring_ctl == &forbidden_ctl)
		ring_ctl = &null_ctl;
}

void ring_forbid_growth(void)
{
	store_relaxed(&ring.no_growth, 1);
}

int ring_growth_forbidden(void)
{
	return (int)load_relaxed(&ring.no_growth);
}

void ring_count_nested(void)
{
	if (ring.cpus)
		fetch_add(&cpu_row(arch_cpu())->commit_overrun, 1);
}

void ring_count_untraced(void)
{
	if (ring.area)
		fetch_add(&ring.area->untraced_calls, 1);
}

void ring_thread_end(void)
{
	struct ring_ctl *ctl = ring_ctl;

	if (ctl->tid <= 0)
		return;
	ring_thread_rename();
	if (ctl->task != UINT32_MAX)
		ring.tasks[ctl->task].end_stamp = ring_clock();
	/* a handler that records from here on makes the thread a new block, which stays */
	ring_ctl = &null_ctl;
	barrier();
	release(ctl);
}
