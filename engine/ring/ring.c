/* SPDX-License-Identifier: MIT */
/*
 * The ring's slow path: control blocks, and the change of pages. ring.h says how it works and what
 * fork does; pool.c decides which page is taken; ring_settings.c changes the settings that this
 * file reads. Everything that ring_new_page() calls may run in a signal handler that interrupted
 * any instruction, also of this file: a handler that finds the thread's block busy goes on with a
 * second block (enter_nested, ring_ctl_leave_nested). All of it is in one file, so that the
 * compiler can keep the slow path free of calls. ring_thread.c has the other uses of blocks: a
 * thread begins, ends, jumps.
 */
#include "engine/ring/ring_ctl.h"

#include <errno.h>

#include "abi/option.h"
#include "arch_barrier.h"
#include "arch_clock.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/proxy.h"
#include "engine/ring/pid_list.h"
#include "engine/ring/pool.h"
#include "engine/ring/task.h"

#define NR_CTLS 16384u

struct ring_ctl ring_null_ctl;
__thread struct ring_ctl *ring_ctl[RING_MAX]
	__attribute__((tls_model("initial-exec"))) = {[0 ... RING_MAX - 1] = &ring_null_ctl};

/*
 * The page of a block that has none. It is full, for a writer that chose the block before it lost
 * its page.
 */
static struct page_head no_page = {.commit = PAGE_BYTES};

__thread uint32_t ring_gen[RING_MAX] __attribute__((tls_model("initial-exec")));

/*
 * The block of threads that may not read the counter any more: the engine does not read it there
 * either.
 */
struct ring_ctl ring_forbidden_ctl = {.tid = -1};

ptrdiff_t ring_rseq_offset;

/* In memory that a fork's child finds zeroed, so everything is off there. */
static struct ring_private {
	uint32_t awake;
	uint32_t ctl_hint;
	uint32_t nr_used; /* blocks below it have been used once */
	struct ring_ctl ctls[NR_CTLS];
} * priv;

struct ring rings[RING_MAX];

int ring_is_awake(void)
{
	return priv && load_relaxed(&priv->awake);
}

/*
 * The calling thread is in fork(), and the child will have an area. The child's calls before that
 * are libc's, in fork() itself: no losses, unless it then gets none.
 */
static __thread uint32_t in_fork __attribute__((tls_model("initial-exec")));
static uint64_t nr_early; /* such calls, in the child */

void ring_fork_begins(void)
{
	in_fork = 1;
}

void ring_fork_ends(int without_area)
{
	if (without_area && ring_top->area)
		fetch_add(&ring_top->area->untraced_calls, nr_early);
	in_fork = 0;
	nr_early = 0;
}

static void count_untraced(struct ring *r)
{
	if (in_fork && !ring_is_awake())
		nr_early++;
	else if (r->area)
		fetch_add(&r->area->untraced_calls, 1);
}

/* Keep what the child inherits: set_ftrace_pid, tracing_cpumask, the gate and the clock. */
static void keep_lists(struct ring *r, const struct ring *to)
{
	const struct pid_list *pids = r->pids, *no_pids = r->no_pids;
	uint32_t off = r->some_cpus_off, stamps = r->stamps;
	uint32_t gate = r->gate, last_gate = r->last_gate, contexts = r->contexts;

	memcpy(r, to, offsetof(struct ring, some_cpus_off));
	r->some_cpus_off = off;
	r->stamps = stamps;
	r->pids = pids;
	r->no_pids = no_pids;
	r->contexts = contexts;
	r->gate = gate;
	r->last_gate = last_gate;
}

/* The child uses the parent's memory for blocks, which is zero now. */
int ring_is_forks_child(void)
{
	return ring_ctl[0] != &ring_null_ctl && !ring_ctl[0]->tid;
}

void ring_fork(const struct ring *r)
{
	uint32_t i;

	ring_null_ctl = (struct ring_ctl){0};
	ring_proxy_fork();
	for (i = 0; i < RING_MAX; i++)
		ring_ctl[i] = &ring_null_ctl;
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

uint64_t ring_clock_mono(void)
{
	/* in the vDSO: no lock, no vector register */
	return sys_clock_ns(CLOCK_MONOTONIC);
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

static struct area_cpu *cpu_row(const struct ring *r, uint32_t cpu)
{
	return &r->cpus[cpu < r->nr_cpus ? cpu : r->nr_cpus - 1];
}

/*
 * Claim a row in the table of tasks; UINT32_MAX: it is full, and the thread has no name. @comm: the
 * name of a thread that may make no system call.
 */
static uint32_t task_new(struct ring *r, int tid, const char *comm)
{
	uint32_t i = ring_task_row(r);
	struct area_task *t = &r->tasks[i];

	if (i == UINT32_MAX)
		return i;
	t->tgid = r->area->pid;
	t->start_stamp = ring_clock();
	if (ring_records_comm() && sys_is_forbidden())
		str_copy(t->comm, sizeof(t->comm), comm);
	else if (ring_records_comm())
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

/*
 * A free block has the index of ring_top: ring_close() may run between the claim and the clear.
 */
void ring_ctl_free(struct ring_ctl *ctl)
{
	ctl->ring = 0;
	store_release(&ctl->tid, 0);
}

/* Clear a claimed block for a new thread. Its tid stays, as blocks are claimed by it. */
static void ctl_clear(struct ring_ctl *ctl, uint32_t ring)
{
	memset(ctl, 0, offsetof(struct ring_ctl, tid));
	ctl->gate_open = 0;
	ctl->ring = ring;
	ctl->page_index = UINT32_MAX;
	ctl->failed_gen = UINT64_MAX;
}

/*
 * A handler that makes a record has interrupted the slow path of @ctl: give the thread another
 * block until the interrupted slow path calls ring_ctl_leave_nested(). If a handler leaves by a
 * jump that the engine does not see, the thread keeps this block, which does no harm. NULL: there
 * is none.
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
		if (ctl->nested) /* a handler that interrupted this one was faster */
			ring_ctl_free(nested);
		else
			ctl->nested = nested;
		barrier();
		nested = ctl->nested;
	}
	/* its page may have recorded a newer state than this thread knows */
	nested->last_state = ((nested->last_state >> 32) + 1) << 32;
	ring_ctl[ctl->ring] = nested;
	return nested;
}

/* Not busy any more. A handler between the first two stores sets ring_ctl again. */
void ring_ctl_leave_nested(struct ring_ctl *ctl)
{
	ring_ctl[ctl->ring] = ctl;
	barrier();
	ctl->busy = 0;
	barrier();
	ring_ctl[ctl->ring] = ctl;
}

struct ring_ctl *ring_ctl_attach(struct ring *r, const char *comm)
{
	struct ring_ctl *before = ring_ctl[r->index], *ctl = NULL;
	int tid = sys_own_tid();

	/*
	 * a handler that forked in the middle of an instance's record goes on without the instance
	 */
	if (priv && load_relaxed(&priv->awake) && r->area && tid)
		ctl = ctl_claim(tid);
	if (!ctl) {
		count_untraced(r);
		return NULL;
	}
	ctl_clear(ctl, r->index);
	ctl->task = task_new(r, ctl->tid, comm);
	if (!compare_and_store(&ring_ctl[r->index], before, ctl)) {
		ring_ctl_free(ctl);
		ctl = ring_ctl[r->index];
	}
	return ctl;
}

static struct ring_ctl *attach(struct ring *r)
{
	struct ring_ctl *ctl = ring_ctl_attach(r, "<...>");

	if (ctl)
		srcu_thread_start();
	return ctl;
}

/* Publish the held pages that have no unfinished writer below @level. */
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
 * All writers of the page's level and above in older pages have ended, since a writer of that level
 * came after them.
 */
void ring_ctl_retire(struct ring_ctl *ctl)
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
		/*
		 * too many to be of handlers: some have left by longjmp(), and their writers never
		 * end
		 */
		if (ctl->nr_held == RING_MAX_HELD) {
			publish_held(ctl, 0);
			ctl->nest = 0;
		}
		ctl->held[ctl->nr_held].page_index = index;
		ctl->held[ctl->nr_held].nest = ctl->page_nest;
		ctl->nr_held++;
	}
}

uint32_t (*ring_context)(void);

static uint32_t with_contexts; /* a bit for each ring */
static_assert(RING_MAX <= 32, "with_contexts");

void ring_set_contexts(struct ring *r, int on)
{
	uint32_t bit = UINT32_C(1) << r->index;

	store_relaxed(&r->contexts, (uint32_t)on);
	store_relaxed(&with_contexts, on ? with_contexts | bit : with_contexts & ~bit);
	ring_invalidate();
}

/* A handler between two blocks sees the current context. */
void ring_context_changed(void)
{
	uint32_t left;

	for (left = load_relaxed(&with_contexts); left; left &= left - 1) {
		struct ring_ctl *ctl = ring_ctl[__builtin_ctz(left)];

		if (ctl->tid <= 0)
			continue;
		for (ctl = ring_outermost(ctl); ctl; ctl = ctl->nested) {
			store_relaxed(&ctl->cpu_key, 0);
			store_relaxed(&ctl->event_key, 0);
		}
	}
}

/* There is room: see page_fits(). One store makes the record complete. */
static void note_context(struct ring *r, struct ring_ctl *ctl)
{
	uint32_t now = load_relaxed(&r->contexts) ? ring_context() : 0;
	struct page_head *head = ctl->page;
	uint64_t at, stamp;

	if (likely(now == ctl->context) || !head)
		return;
	at = arch_local_fetch_add(&head->commit, RECORD_GRAPH_BYTES);
	if (at + RECORD_GRAPH_BYTES > PAGE_BYTES)
		return;
	stamp = r->stamps == RING_STAMPS_NONE ? 0 : ring_now(r) - head->base_stamp;
	store_relaxed((uint64_t *)((uint8_t *)head + at),
		      (uint64_t)RECORD_CONTEXT << RECORD_KIND_SHIFT |
			      (uint64_t)now << RECORD_ID_SHIFT | (uint32_t)stamp);
	ctl->context = now;
}

static int page_fits(const struct ring_ctl *ctl, uint32_t cpu, uint32_t bytes)
{
	const struct page_head *head = ctl->page;

	/* a fork's child that continues here has neither a page nor a descriptor */
	return head && ctl->page_index != UINT32_MAX && head->cpu == cpu &&
	       head->commit + bytes + RECORD_GRAPH_BYTES * !!rings[ctl->ring].contexts <=
		       PAGE_BYTES &&
	       !((ring_now(&rings[ctl->ring]) - head->base_stamp) >> 32) &&
	       !pool_is_before_snapshot(&rings[ctl->ring], head, UINT64_MAX);
}

/* Whether set_ftrace_pid, set_ftrace_notrace_pid or the gate excludes the thread's calls. */
static int is_unwanted(const struct ring *r, const struct ring_ctl *ctl)
{
	const struct pid_list *pids = load_acquire(&r->pids), *no_pids = load_acquire(&r->no_pids);
	uint32_t gate = load_relaxed(&r->gate);
	int tid = ctl->tid;

	return (gate && load_relaxed(&ring_outermost(ctl)->gate_open) != gate) ||
	       (pids && !pid_list_has(pids, (uint32_t)tid)) ||
	       (no_pids && pid_list_has(no_pids, (uint32_t)tid));
}

#define MAX_FITS 1000u

/* Get a page for an event; for a call only if the thread is wanted. */
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
		 * A hook that was entered before trace_clock became counter has a stamp that fits
		 * no page any more, and would come here for ever.
		 */
		if (r->stamps == RING_STAMPS_COUNTER && ++ctl->nr_fits > MAX_FITS) {
			ctl->nr_fits = 0;
			fetch_add(&row->dropped_events, 1);
			return RING_SKIP;
		}
		goto out;
	}
	ctl->nr_fits = 0;
	ring_ctl_retire(ctl);
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
	/* do not use ctl->page: it is gone if a handler forked meanwhile and this is the child */
	head = pool_page(r, (uint32_t)index);
	head->tid = ctl->tid;
	head->cpu = cpu;
	head->task = ctl->task;
	head->base_stamp = ring_now(r);
	ctl->page = head;
	pool_own(r, (uint32_t)index);
	ctl->page_index = (uint32_t)index;
	ctl->page_nest = ctl->nest;
	ctl->context = 0;
out:
	if (unlikely(load_relaxed(&r->contexts) || ctl->context))
		note_context(r, ctl);
	store_relaxed(&ctl->event_key, key);
	store_relaxed(&ctl->cpu_key, event && is_unwanted(r, ctl) ? 0 : key);
	barrier();
	/*
	 * pairs with send_to_slow_path(), and with a handler's fork, after which the block is void
	 */
	if (unlikely(!load_relaxed(&r->running) || !load_relaxed(&ctl->tid) ||
		     ring_cpu_is_off(r, cpu))) {
		ctl->cpu_key = ctl->event_key = 0;
		return RING_SKIP;
	}
	if (unlikely(is_unwanted(r, ctl))) {
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
	if (unlikely(ctl == &ring_forbidden_ctl)) {
		fetch_add(&r->area->untraced_calls, 1);
		return RING_SKIP;
	}
	/* an unwanted thread's calls come here each time: see ring.h */
	if (!event && unlikely(is_unwanted(r, ctl)))
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
	ctl->last_state = ((ctl->last_state >> 32) + 1) << 32;
	barrier();
	if (unlikely(!load_relaxed(&r->running)))
		verdict = RING_SKIP;
	else
		verdict = change_page(r, ctl, bytes, event);
	barrier();
	ring_ctl_leave_nested(ctl);
	/*
	 * Without rseq (-1), and in a vfork's child on another CPU, where the rseq area has the
	 * parent's CPU: the hook would always find that the page is another CPU's.
	 */
	if (verdict == RING_RETRY && ring_rseq_offset &&
	    unlikely((uint32_t)arch_rseq_cpu(ring_rseq_offset) != arch_cpu()))
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

struct srcu_thread *ring_enter(void)
{
	const struct ring_ctl *ctl = ring_ctl[0];

	if (unlikely(ctl->tid <= 0) && (ctl->tid || !attach(ring_top)))
		return NULL;
	return srcu_read_lock(SRCU_RING);
}

struct ring *ring_open(const struct ring *ring)
{
	static uint32_t
		last; /* so that the same index is not used again at once: see graph_exit_all() */
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
	uint32_t i, n;
	int err;

	ring_set_on(r, 0);
	err = ring_synchronize();
	if (err)
		return err;
	/* read it now: a thread that was inside may have got a block meanwhile */
	n = load_acquire(&priv->nr_used);
	/* from here on the blocks' former owners do not use them */
	fetch_add(&r->gen, 1);
	for (i = 0; i < n; i++)
		if (priv->ctls[i].ring == r->index && load_relaxed(&priv->ctls[i].tid) > 0)
			ring_ctl_free(&priv->ctls[i]);
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
					     (uint64_t)&ring_null_ctl);
	barrier();
	ring_gen[r->index] = gen;
}

uint32_t ring_record_cpu(void)
{
	return unlikely(ring_as != NULL) ? ring_as->cpu : arch_cpu();
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
	count_untraced(ring_top);
}
