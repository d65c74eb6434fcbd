/* SPDX-License-Identifier: MIT */
/*
 * See proxy.h. A table has the pages that are being written, by ring, thread and CPU. If a new page
 * needs a row that is in use, the page in that row is published first. A page's base_stamp is the
 * stamp of its first record, not the time of the take: for each thread and CPU records come in
 * order of time.
 * fork: the table is emptied. Tests: tests/engine/events/sched.
 */
#include "engine/ring/proxy.h"

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/pool.h"
#include "engine/ring/task.h"

#define NR_OPEN 512u

struct open_page {
	struct page_head *page; /* NULL: the row is free */
	uint32_t index;
	uint32_t ring, gen;
	int tid;
	uint32_t cpu;
};

__thread const struct ring_as *ring_as __attribute__((tls_model("initial-exec")));

static struct open_page open_pages[NR_OPEN] BIG_ZEROS;
static uint32_t any_open;      /* a page was open since the start or fork */
static struct ring_ctl no_ctl; /* for ring_end_writer(): no nesting here */

static struct open_page *place_of(const struct ring *r)
{
	uint32_t key = (uint32_t)ring_as->tid * 31 + ring_as->cpu * 7 + r->index;

	return &open_pages[key * 2654435761u >> 23];
}
_Static_assert(NR_OPEN == 1u << (32 - 23), "the place is the hash's upper bits");

/* The pages of a removed instance are gone with it. */
static void publish(struct open_page *o)
{
	struct ring *r = &rings[o->ring];

	if (o->page && r->area && r->gen == o->gen)
		pool_publish(r, o->index);
	o->page = NULL;
}

static uint32_t task_of(struct ring *r)
{
	uint32_t i = load_acquire(&r->task_table->count);
	struct area_task *t;

	/*
	 * threads of other processes: the last ones are kept; the idle thread has a name of its own
	 */
	if (ring_as->tgid != r->area->pid) {
		if (ring_as->tid > 0)
			ring_task_elsewhere(r, ring_as->tid, ring_as->tgid, ring_as->comm);
		return UINT32_MAX;
	}
	for (; i > 0; i--)
		if (r->tasks[i - 1].tid == ring_as->tid && !r->tasks[i - 1].end_stamp)
			return i - 1;
	i = ring_task_row(r);
	if (i == UINT32_MAX)
		return i;
	t = &r->tasks[i];
	t->tgid = ring_as->tgid;
	memcpy(t->comm, ring_as->comm, sizeof(t->comm));
	t->start_stamp = ring_as->stamp;
	store_release(&t->tid, ring_as->tid);
	return i;
}

static struct area_cpu *row_of(const struct ring *r, uint32_t cpu)
{
	return &r->cpus[cpu < r->nr_cpus ? cpu : r->nr_cpus - 1];
}

static int take(struct ring *r, struct open_page *o, uint64_t stamp)
{
	struct area_cpu *row = row_of(r, ring_as->cpu);
	struct page_head *head;
	int index = pool_take(r, row);

	if (index < 0) {
		fetch_add(&row->dropped_events, 1);
		return 0;
	}
	head = pool_page(r, (uint32_t)index);
	head->tid = ring_as->tid;
	head->cpu = ring_as->cpu;
	head->task = task_of(r);
	head->base_stamp = stamp;
	pool_own(r, (uint32_t)index);
	any_open = 1;
	*o = (struct open_page){head,	(uint32_t)index, r->index,
				r->gen, ring_as->tid,	 ring_as->cpu};
	return 1;
}

static int fits(const struct ring *r, const struct open_page *o, uint32_t bytes, uint64_t stamp)
{
	return o->page && o->ring == r->index && o->gen == r->gen && o->tid == ring_as->tid &&
	       o->cpu == ring_as->cpu && o->page->commit + bytes <= PAGE_BYTES &&
	       stamp >= o->page->base_stamp && !((stamp - o->page->base_stamp) >> 32) &&
	       !pool_is_before_snapshot(r, o->page, stamp);
}

int ring_reserve_as_other(struct ring *r, struct ring_slot *slot, uint32_t bytes)
{
	struct open_page *o = place_of(r);
	uint64_t stamp = ring_as->stamp, at;

	if (!load_relaxed(&r->running) || ring_cpu_is_off(r, ring_as->cpu))
		return 0;
	if (r->stamps == RING_STAMPS_COUNTER)
		stamp = ring_next_number(r);
	if (!fits(r, o, bytes, stamp)) {
		publish(o);
		if (!take(r, o, stamp))
			return 0;
	}
	at = o->page->commit;
	slot->words = (uint64_t *)((uint8_t *)o->page + at);
	slot->words[0] = (uint64_t)RECORD_UNCOMMITTED << RECORD_KIND_SHIFT |
			 (uint64_t)bytes << RECORD_ID_SHIFT;
	slot->stamp = r->stamps == RING_STAMPS_NONE ? 0 : stamp - o->page->base_stamp;
	slot->ctl = &no_ctl;
	store_release(&o->page->commit, at + bytes);
	return 1;
}

void ring_count_proxy_lost(struct ring *r, uint32_t cpu, uint64_t n)
{
	fetch_add(&row_of(r, cpu)->dropped_events, n);
}

void ring_proxy_flush(void)
{
	uint32_t i;

	for (i = 0; i < NR_OPEN; i++)
		publish(&open_pages[i]);
}

void ring_proxy_fork(void)
{
	/* otherwise each page of them would be copied, to be zero again */
	if (any_open)
		memset(open_pages, 0, sizeof(open_pages));
	any_open = 0;
}
