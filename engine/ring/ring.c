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
#include "engine/ring/foreign.h"
#include "engine/ring/pid_list.h"
#include "engine/ring/pool.h"
#include "engine/ring/task.h"

#define NR_CTLS		16384u
#define MAX_STACK_BYTES (UINT64_C(1) << 30)

/* Shared by all threads that have no block: its cpu_key of 0 sends them here. */
static struct ring_ctl null_ctl;
__thread struct ring_ctl *ring_ctl[RING_MAX]
	__attribute__((tls_model("initial-exec"))) = {[0 ... RING_MAX - 1] = &null_ctl};

/* Of a block that has none: full, for a writer that chose the block before it lost its page. */
static struct page_head no_page = {.commit = PAGE_BYTES};

__thread uint32_t ring_gen[RING_MAX] __attribute__((tls_model("initial-exec")));

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

struct ring rings[RING_MAX];
static int (*mono_clock)(clockid_t, struct timespec *);

/* The parent's set_ftrace_pid, its tracing_cpumask and its clock hold on. */
static void keep_lists(struct ring *r, const struct ring *to)
{
	const struct pid_list *pids = r->pids, *no_pids = r->no_pids;
	uint32_t off = r->some_cpus_off, stamps = r->stamps;

	memcpy(r, to, offsetof(struct ring, some_cpus_off));
	r->some_cpus_off = off;
	r->stamps = stamps;
	r->pids = pids;
	r->no_pids = no_pids;
}

/* The zeroed memory of the parent's blocks serves the child. */
int ring_is_forks_child(void)
{
	return ring_ctl[0] != &null_ctl && !ring_ctl[0]->tid;
}

void ring_fork(const struct ring *r)
{
	uint32_t i;

	null_ctl = (struct ring_ctl){0};
	ring_foreign_fork();
	for (i = 0; i < RING_MAX; i++)
		ring_ctl[i] = &null_ctl;
	keep_lists(ring_top, r);
	store_release(&priv->awake, 1);
}

void ring_fork_instance(struct ring *r, const struct ring *to)
{
	const uint32_t index = r->index, gen = r->gen;

	if (to)
		keep_lists(r, to);
	else
		*r = (struct ring){0};
	r->index = index;
	r->gen = gen + 1;
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
	*ring_top = *r;
	ring_rseq_offset = rseq_offset;
	mono_clock = clock_gettime;
	store_release(&priv->awake, 1);
	return 0;
}

void ring_change_pages(void)
{
	uint32_t i, n = load_acquire(&priv->nr_used);

	for (i = 0; i < n; i++) {
		store_relaxed(&priv->ctls[i].cpu_key, 0);
		store_relaxed(&priv->ctls[i].event_key, 0);
	}
}

/*
 * Off is off at once: each thread is sent to the slow path. A thread that is there now either sees
 * that we are off, or has stored its cpu_key before the barrier, and we clear it behind it.
 */
static void send_to_slow_path(void)
{
	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) < 0)
		sys_membarrier(MEMBARRIER_CMD_GLOBAL);
	ring_change_pages();
}

static void run_or_not(struct ring *r)
{
	uint32_t running = load_relaxed(&r->on) && !load_relaxed(&r->paused);

	store_relaxed(&r->running, running);
	if (!running)
		send_to_slow_path();
}

void ring_set_on(struct ring *r, int on)
{
	store_relaxed(&r->on, (uint32_t)on);
	store_relaxed(&r->area->tracing_on, (uint32_t)on);
	run_or_not(r);
}

void ring_pause(struct ring *r, int more)
{
	uint32_t paused = load_relaxed(&r->paused);

	if (!more && !paused)
		return;
	store_relaxed(&r->paused, more ? paused + 1 : paused - 1);
	run_or_not(r);
}

void ring_set_cpumask(struct ring *r, const uint64_t *off)
{
	uint32_t i, any = 0;

	for (i = 0; i < RING_MAX_CPUS / 64; i++) {
		store_relaxed(&r->cpus_off[i], off[i]);
		any |= off[i] != 0;
	}
	store_relaxed(&r->some_cpus_off, any);
	send_to_slow_path();
}

void ring_rethink(void)
{
	send_to_slow_path();
}

/*
 * Pages that are in nobody's hands are free at once. Those that a thread has stay with it: readers
 * leave out the records that are older than cleared_stamp.
 */
static void clear_cpu(struct ring *r, struct area_cpu *row)
{
	row->cleared_overrun = load_relaxed(&row->overrun);
	row->cleared_dropped = load_relaxed(&row->dropped_events);
	row->cleared_commit = load_relaxed(&row->commit_overrun);
	/* the next number: the last one is of a record that goes */
	store_release(&row->cleared_stamp, ring_now(r) + (r->stamps == RING_STAMPS_COUNTER));
	pool_clear(r, row);
}

void ring_clear(struct ring *r, uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < r->nr_cpus; i++)
		if (cpu == UINT32_MAX || cpu == i)
			clear_cpu(r, &r->cpus[i]);
	/* a thread that found no free page may look again */
	fetch_add(&r->area->reader_gen, 1);
}

int ring_resize(struct ring *r, uint32_t cpu, uint32_t pages)
{
	int err = pool_resize(r, &r->cpus[cpu], pages);

	fetch_add(&r->area->reader_gen, 1);
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
	return ring_top->area->clock == AREA_CLOCK_TSC ? arch_clock_read() : ring_clock_mono();
}

uint64_t __attribute__((noinline)) ring_next_number(struct ring *r)
{
	return fetch_add(&r->counter, 1) + 1;
}

uint64_t ring_stamp_top(void)
{
	return ring_stamp(ring_top);
}

/*
 * Times are greater than numbers, so the pages that threads have now would stay behind ring_clear():
 * they count as read.
 */
static void forget_owned(struct ring *r)
{
	uint32_t cpu, i;

	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct area_cpu *row = &r->cpus[cpu];

		for (i = row->first_page; i < row->first_page + load_acquire(&row->nr_backed); i++)
			if (load_acquire(&r->descs[i].state) == PAGE_OWNED)
				store_relaxed(&r->descs[i].read,
					      page_read_mark(pool_page(r, i)->seq, PAGE_BYTES));
	}
}

void ring_use_stamps(struct ring *r, enum ring_stamps stamps)
{
	int was_on = ring_is_on(r);

	ring_set_on(r, 0);
	if (stamps == RING_STAMPS_COUNTER && r->stamps != RING_STAMPS_COUNTER)
		forget_owned(r);
	r->counter = 0;
	store_relaxed(&r->stamps, (uint32_t)stamps);
	ring_clear(r, UINT32_MAX);
	ring_set_on(r, was_on);
}

static struct area_cpu *cpu_row(const struct ring *r, uint32_t cpu)
{
	return &r->cpus[cpu < r->nr_cpus ? cpu : r->nr_cpus - 1];
}

/* A row in the table of tasks; UINT32_MAX if it is full: the thread then has no name. */
static uint32_t task_new(const struct ring *r, int tid)
{
	uint32_t i = ring_task_row(r);
	struct area_task *t = &r->tasks[i];

	if (i == UINT32_MAX)
		return i;
	t->tgid = r->area->pid;
	t->start_stamp = ring_clock();
	if (ring_records_comm())
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

/* One that is free says so of ring_top: see ring_close(), which may come between claim and clear. */
static void ctl_free(struct ring_ctl *ctl)
{
	ctl->ring = 0;
	store_release(&ctl->tid, 0);
}

/* A claimed block as a thread begins with it; its tid is what others claim it by, and stays. */
static void ctl_clear(struct ring_ctl *ctl, uint32_t ring)
{
	memset(ctl, 0, offsetof(struct ring_ctl, tid));
	ctl->ring = ring;
	ctl->page_index = UINT32_MAX;
	ctl->failed_gen = UINT64_MAX;
}

/*
 * The slow path of @ctl was interrupted by a handler that records: give the thread another block
 * until leave_nested() by the one that was interrupted. A handler that leaves by a jump which we do
 * not see leaves the thread with this one, which is as good. NULL: none to be had.
 */
static struct ring_ctl *enter_nested(struct ring_ctl *ctl)
{
	struct ring_ctl *nested = ctl->nested;

	if (!nested) {
		nested = ctl_claim(ctl->tid);
		if (!nested)
			return NULL;
		ctl_clear(nested, ctl->ring);
		nested->task = ctl->task;
		nested->below = ctl;
		barrier();
		if (ctl->nested) /* a handler on top of this one was faster */
			ctl_free(nested);
		else
			ctl->nested = nested;
		barrier();
		nested = ctl->nested;
	}
	/* what its page was told last is older than what ours was */
	nested->told = ((nested->told >> 32) + 1) << 32;
	ring_ctl[ctl->ring] = nested;
	return nested;
}

/* Not busy any more. A handler that comes between the first two lines sets ring_ctl once more. */
static void leave_nested(struct ring_ctl *ctl)
{
	ring_ctl[ctl->ring] = ctl;
	barrier();
	ctl->busy = 0;
	barrier();
	ring_ctl[ctl->ring] = ctl;
}

/*
 * The thread's first record, or ring_thread_start(). A handler that comes meanwhile makes a block
 * too; the first one that is put into ring_ctl stays. NULL: none to be had, counted.
 */
static struct ring_ctl *attach(struct ring *r)
{
	struct ring_ctl *before = ring_ctl[r->index], *ctl = NULL;

	/* a handler that forked amid a record of an instance goes on without it */
	if (priv && load_relaxed(&priv->awake) && r->area)
		ctl = ctl_claim(sys_gettid());
	if (!ctl) {
		if (r->area)
			fetch_add(&r->area->untraced_calls, 1);
		return NULL;
	}
	ctl_clear(ctl, r->index);
	ctl->task = task_new(r, ctl->tid);
	if (!compare_and_store(&ring_ctl[r->index], before, ctl)) {
		ctl_free(ctl);
		ctl = ring_ctl[r->index];
	}
	return ctl;
}

/* Publish those held pages that have no unfinished writer below @level. */
static void publish_held(struct ring_ctl *ctl, uint32_t level)
{
	struct ring *r = &rings[ctl->ring];
	uint32_t keep, i, n = ctl->nr_held;

	for (keep = 0; keep < n && ctl->held[keep].nest < level; keep++)
		;
	ctl->nr_held = keep;
	barrier();
	for (i = keep; i < n; i++)
		pool_publish(r, ctl->held[i].page_index);
}

/*
 * Publish what no unfinished writer can still write to; hold back what one can. All writers of the
 * page's level and above that were in older pages have ended: one of that level came after them.
 */
static void retire_page(struct ring_ctl *ctl)
{
	uint32_t level = ctl->nest, index;

	publish_held(ctl, level);
	if (ctl->page_index == UINT32_MAX)
		return;
	publish_held(ctl, ctl->page_nest);
	index = ctl->page_index;
	ctl->page_index = UINT32_MAX;
	ctl->page = &no_page;
	barrier();
	if (ctl->page_nest >= level) {
		pool_publish(&rings[ctl->ring], index);
	} else {
		/* not so many handlers: some have left by longjmp(), and their writers never end */
		if (ctl->nr_held == RING_MAX_HELD) {
			publish_held(ctl, 0);
			ctl->nest = 0;
		}
		ctl->held[ctl->nr_held].page_index = index;
		ctl->held[ctl->nr_held].nest = ctl->page_nest;
		ctl->nr_held++;
	}
}

static int page_fits(const struct ring_ctl *ctl, uint32_t cpu, uint32_t bytes)
{
	const struct page_head *head = ctl->page;

	/* a fork's child that goes on here has neither */
	return head && ctl->page_index != UINT32_MAX && head->cpu == cpu &&
	       head->commit + bytes <= PAGE_BYTES &&
	       !((ring_now(&rings[ctl->ring]) - head->base_stamp) >> 32) &&
	       !pool_is_before_snapshot(&rings[ctl->ring], head, UINT64_MAX);
}

/* Whether set_ftrace_pid and set_ftrace_notrace_pid leave the thread's calls out. */
static int is_unwanted(const struct ring *r, int tid)
{
	const struct pid_list *pids = load_acquire(&r->pids), *no_pids = load_acquire(&r->no_pids);

	return (pids && !pid_list_has(pids, (uint32_t)tid)) ||
	       (no_pids && pid_list_has(no_pids, (uint32_t)tid));
}

#define MAX_FITS 1000u

/* A page for an event, or else for a call of a thread that is wanted. */
static enum ring_verdict change_page(struct ring *r, struct ring_ctl *ctl, uint32_t bytes,
				     int event)
{
	uint32_t cpu = arch_cpu(), key = cpu ^ RING_CPU_KEY;
	struct area_cpu *row = cpu_row(r, cpu);
	struct page_head *head;
	uint64_t gen;
	int index;

	if (unlikely(ring_cpu_is_off(r, cpu)))
		return RING_SKIP;
	if (page_fits(ctl, cpu, bytes)) {
		/*
		 * A hook that was entered before trace_clock became counter has stamps that fit no page any
		 * more: it would ask for ever.
		 */
		if (r->stamps == RING_STAMPS_COUNTER && ++ctl->nr_fits > MAX_FITS) {
			ctl->nr_fits = 0;
			fetch_add(&row->dropped_events, 1);
			return RING_SKIP;
		}
		goto out;
	}
	ctl->nr_fits = 0;
	retire_page(ctl);
	gen = load_relaxed(&r->area->reader_gen);
	if (ctl->failed_gen == gen && !(r->buffer->flags & AREA_BUFFER_OVERWRITE)) {
		fetch_add(&row->dropped_events, 1);
		return RING_SKIP;
	}
	index = pool_take(r, row);
	if (index < 0) {
		ctl->failed_gen = gen;
		fetch_add(&row->dropped_events, 1);
		return RING_SKIP;
	}
	ctl->failed_gen = UINT64_MAX;
	/* not by ctl->page: it is gone when a handler forked meanwhile and this is the child */
	head = pool_page(r, (uint32_t)index);
	head->tid = ctl->tid;
	head->cpu = cpu;
	head->task = ctl->task;
	head->base_stamp = ring_now(r);
	ctl->page = head;
	pool_own(r, (uint32_t)index);
	ctl->page_index = (uint32_t)index;
	ctl->page_nest = ctl->nest;
out:
	store_relaxed(&ctl->event_key, key);
	store_relaxed(&ctl->cpu_key, event && is_unwanted(r, ctl->tid) ? 0 : key);
	barrier();
	/* the other side of send_to_slow_path(); and of a fork by a handler: then the block is void */
	if (unlikely(!load_relaxed(&r->running) || !load_relaxed(&ctl->tid) ||
		     ring_cpu_is_off(r, cpu))) {
		ctl->cpu_key = ctl->event_key = 0;
		return RING_SKIP;
	}
	if (unlikely(is_unwanted(r, ctl->tid))) {
		ctl->cpu_key = 0;
		return event ? RING_RETRY : RING_SKIP;
	}
	return RING_RETRY;
}

static enum ring_verdict new_page(struct ring *r, uint32_t bytes, int event)
{
	struct ring_ctl *ctl = ring_ctl[r->index];
	enum ring_verdict verdict;

	if (unlikely(!ctl->tid)) {
		ctl = attach(r);
		if (!ctl)
			return RING_SKIP;
	}
	if (unlikely(ctl == &forbidden_ctl)) {
		fetch_add(&r->area->untraced_calls, 1);
		return RING_SKIP;
	}
	/* an unwanted thread's calls come here each time: see ring.h */
	if (!event && unlikely(is_unwanted(r, ctl->tid)))
		return RING_SKIP;
	while (unlikely(ctl->busy)) {
		ctl = enter_nested(ctl);
		if (!ctl) {
			fetch_add(&cpu_row(r, arch_cpu())->commit_overrun, 1);
			return RING_SKIP;
		}
	}
	ctl->busy_at = (uint64_t)__builtin_frame_address(0);
	barrier();
	ctl->busy = 1;
	barrier();
	ctl->cpu_key = ctl->event_key = 0;
	ctl->told = ((ctl->told >> 32) + 1) << 32;
	barrier();
	if (unlikely(!load_relaxed(&r->running)))
		verdict = RING_SKIP;
	else
		verdict = change_page(r, ctl, bytes, event);
	barrier();
	leave_nested(ctl);
	if (verdict == RING_RETRY && ring_rseq_offset && arch_rseq_cpu(ring_rseq_offset) < 0)
		verdict = RING_XADD;
	return verdict;
}

enum ring_verdict ring_new_page_in(struct ring *r, uint32_t bytes)
{
	return new_page(r, bytes, 0);
}

enum ring_verdict ring_new_event_page(struct ring *r, uint32_t bytes)
{
	return new_page(r, bytes, 1);
}

enum ring_verdict ring_new_page(uint32_t bytes)
{
	return new_page(ring_top, bytes, 0);
}

/* The thread's block in a ring, or NULL: it has none. Of an instance between ring_enter() and _leave. */
static struct ring_ctl *own_block(uint32_t i)
{
	struct ring_ctl *ctl = ring_ctl[i];

	if (ctl->tid <= 0 || (i && ring_gen[i] != load_relaxed(&rings[i].gen)))
		return NULL;
	return ctl;
}

/*
 * Where the slow path was is not known: its page is complete, or lost to everybody but readers. No
 * stack is so large that a frame far below @sp could be on the same one.
 */
void ring_jump(uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		struct ring_ctl *ctl, *left = NULL;

		if (i && !own_block(i))
			continue;
		ctl = ring_ctl[i];
		if (ctl->tid > 0 && rings[i].swapping == (uint32_t)ctl->tid &&
		    sp - rings[i].swapping_at < MAX_STACK_BYTES)
			rings[i].swapping = 0;
		if (ctl->inside && sp - ctl->inside_at < MAX_STACK_BYTES)
			ctl->inside = 0;
		for (ctl = ctl->below; ctl; ctl = ctl->below)
			if (ctl->busy && sp - ctl->busy_at < MAX_STACK_BYTES)
				left = ctl;
		if (!left)
			continue;
		left->cpu_key = left->event_key = 0;
		leave_nested(left);
	}
}

enum ring_interrupted ring_interrupted(void)
{
	enum ring_interrupted what = RING_NOTHING;
	const struct ring_ctl *ctl;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		for (ctl = own_block(i); ctl; ctl = ctl->below) {
			if (ctl->busy)
				return RING_SLOW_PATH;
			if (ctl->nest || ctl->inside)
				what = RING_WRITER;
		}
	}
	return what;
}

struct ring_ctl *ring_enter(void)
{
	struct ring_ctl *ctl = ring_ctl[0];

	if (unlikely(ctl->tid <= 0)) {
		ctl = ctl->tid ? NULL : attach(ring_top);
		if (!ctl)
			return NULL;
	}
	if (!ctl->inside++)
		ctl->inside_at = (uint64_t)__builtin_frame_address(0);
	barrier(); /* the other half is ring_synchronize()'s membarrier */
	return ctl;
}

#define PATIENCE_NS UINT64_C(1000000000)

int ring_synchronize(void)
{
	uint64_t begin = ring_clock_mono();
	uint32_t i, n;

	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) < 0)
		sys_membarrier(MEMBARRIER_CMD_GLOBAL);
	n = load_acquire(&priv->nr_used);
	for (i = 0; i < n; i++) {
		while (load_acquire(&priv->ctls[i].tid) && load_acquire(&priv->ctls[i].inside)) {
			if (ring_clock_mono() - begin > PATIENCE_NS)
				return -ETIMEDOUT;
			arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		}
	}
	return 0;
}

struct ring *ring_open(const struct ring *ring)
{
	static uint32_t last; /* not the same index again at once: see graph_exit_all() */
	uint32_t i, n;

	for (n = 0; n < RING_MAX - 1; n++) {
		uint32_t gen;

		i = last % (RING_MAX - 1) + 1;
		last = i;
		if (rings[i].area)
			continue;
		gen = rings[i].gen;
		rings[i] = *ring;
		rings[i].index = i;
		store_release(&rings[i].gen, gen + 1);
		return &rings[i];
	}
	return NULL;
}

int ring_close(struct ring *r)
{
	uint32_t i, n = load_acquire(&priv->nr_used);
	int err;

	ring_set_on(r, 0);
	err = ring_synchronize();
	if (err)
		return err;
	/* from here on their owners do not take them for theirs */
	fetch_add(&r->gen, 1);
	for (i = 0; i < n; i++)
		if (priv->ctls[i].ring == r->index && load_relaxed(&priv->ctls[i].tid) > 0)
			ctl_free(&priv->ctls[i]);
	r->area = NULL;
	return 0;
}

void ring_renew(const struct ring *r)
{
	struct ring_ctl *before = ring_ctl[r->index];
	uint32_t gen = load_acquire(&r->gen);

	/* a handler may have been faster, and have a block of the new ring */
	if (ring_gen[r->index] == gen)
		return;
	if (before->tid >= 0)
		arch_local_compare_and_store((uint64_t *)&ring_ctl[r->index], (uint64_t)before,
					     (uint64_t)&null_ctl);
	barrier();
	ring_gen[r->index] = gen;
}

void ring_thread_start(void)
{
	if (!ring_ctl[0]->tid)
		attach(ring_top);
}

const char *ring_thread_comm(void)
{
	const struct ring_ctl *ctl = ring_ctl[0];

	if (unlikely(ring_as != NULL))
		return ring_as->comm;
	return ctl->tid > 0 && ctl->task != UINT32_MAX ? ring_top->tasks[ctl->task].comm : "";
}

int ring_thread_id(void)
{
	if (unlikely(ring_as != NULL))
		return ring_as->tid;
	return ring_ctl[0]->tid > 0 ? ring_ctl[0]->tid : sys_gettid();
}

uint32_t ring_record_cpu(void)
{
	return unlikely(ring_as != NULL) ? ring_as->cpu : arch_cpu();
}

void ring_thread_rename(void)
{
	struct ring_ctl *inside = ring_records_comm() ? ring_enter() : NULL;
	uint32_t i;

	for (i = 0; inside && i < RING_MAX; i++) {
		const struct ring_ctl *ctl = own_block(i);

		if (ctl && ctl->task != UINT32_MAX)
			sys_get_comm(rings[i].tasks[ctl->task].comm);
	}
	if (inside)
		ring_leave(inside);
}

/* Give back a block and those for handlers above it. */
static void release(struct ring_ctl *ctl)
{
	while (ctl) {
		struct ring_ctl *nested = ctl->nested;

		ctl->nest = 0; /* whoever had not finished never will */
		retire_page(ctl);
		ctl_free(ctl);
		ctl = nested;
	}
}

/* The thread leaves its blocks, and goes on with @next, which is none. That of ring_top last. */
static void leave_blocks(struct ring_ctl *next)
{
	struct ring_ctl *inside = ring_ctl[0]->tid > 0 ? ring_enter() : NULL, *ctl;
	uint32_t i;

	for (i = RING_MAX; i-- > 0;) {
		ctl = own_block(i);
		/* a handler that records from here on makes the thread a new block, which stays */
		ring_ctl[i] = next;
		barrier();
		if (!i && inside)
			ring_leave(inside);
		if (ctl && next->tid >= 0 && ctl->task != UINT32_MAX)
			rings[i].tasks[ctl->task].end_stamp = ring_clock();
		if (ctl)
			release(ctl);
	}
}

void ring_thread_forbid(void)
{
	leave_blocks(&forbidden_ctl);
}

void ring_thread_allow(void)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		if (ring_ctl[i] == &forbidden_ctl)
			ring_ctl[i] = &null_ctl;
}

void ring_count_nested(struct ring *r)
{
	if (r->cpus)
		fetch_add(&cpu_row(r, arch_cpu())->commit_overrun, 1);
}

void ring_count_dropped(struct ring *r)
{
	fetch_add(&cpu_row(r, arch_cpu())->dropped_events, 1);
}

void ring_count_untraced(void)
{
	if (ring_top->area)
		fetch_add(&ring_top->area->untraced_calls, 1);
}

void ring_thread_end(void)
{
	if (ring_ctl[0]->tid < 0)
		return;
	ring_thread_rename();
	leave_blocks(&null_ctl);
}
