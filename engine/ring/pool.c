/* SPDX-License-Identifier: MIT */
/*
 * The pool: each CPU has a share of the pages. A hand (area_cpu.hand) goes round the share, so
 * pages are taken in turn, and the page at the hand was taken longest ago. A share gets memory step
 * by step, when all pages with memory are in use: an idle CPU costs nothing, and a program that
 * records little starts fast. A page changes its owner by one compare-and-store on its descriptor.
 * There are no lists, so a thread that is suspended or killed at any point delays no other.
 *
 * A discarding buffer searches the whole share for a free page before it drops a record. It
 * searches again only after the reader has freed pages (ring_ctl.failed_gen). An overwriting buffer
 * takes the page at the hand; a page that was published late, because its thread is slow, gets a
 * second chance.
 *
 * With a snapshot a CPU has two shares, and writers take pages of one of them; see snapshot.c.
 * Tests: tests/unit/test_pool.c, tests/engine/.
 */
#include "engine/ring/pool.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"

#define GROW_PAGES 64u

/* One of the two shares of a CPU. */
struct share {
	struct area_cpu *row;
	uint32_t first;
	uint32_t *nr_backed;
	uint64_t *hand;
	uint32_t quota;
};

static struct share share_at(const struct ring *r, struct area_cpu *row, uint32_t which)
{
	struct area_snapshot *snap = pool_snapshot(r, row);
	uint32_t live = snap ? load_relaxed(&snap->live) : 0;
	struct share s;

	if (snap && which)
		s = (struct share){row, snap->first_page, &snap->nr_backed, &snap->hand, 0};
	else
		s = (struct share){row, row->first_page, &row->nr_backed, &row->hand, 0};
	if (which == live || (snap && load_relaxed(&snap->allocated)))
		s.quota = load_relaxed(&row->nr_pages);
	return s;
}

/* The share from which writers take pages. */
static struct share live_share(const struct ring *r, struct area_cpu *row)
{
	const struct area_snapshot *snap = pool_snapshot(r, row);

	return share_at(r, row, snap ? load_relaxed(&snap->live) : 0);
}

static struct share share_of(const struct ring *r, struct area_cpu *row, uint32_t index)
{
	const struct area_snapshot *snap = pool_snapshot(r, row);

	return share_at(r, row, snap && index >= snap->first_page);
}

static uint32_t nr_shares(const struct ring *r, const struct area_cpu *row)
{
	return pool_snapshot(r, row) ? 2 : 1;
}

/*
 * Whether a published page has records of the snapshot: it was begun before this snapshot was
 * taken, and published after the previous snapshot.
 */
static int is_kept(const struct ring *r, const struct area_cpu *row, uint32_t index)
{
	const struct area_snapshot *snap = pool_snapshot(r, row);

	return snap && pool_page(r, index)->base_stamp < load_relaxed(&snap->to_stamp) &&
	       load_relaxed(&r->descs[index].seq) > load_relaxed(&snap->from_publish);
}

/* Give memory to the descriptors of the share's pages from @n to @to; those before @n have it. */
static int back_descs(struct ring *r, const struct share *s, uint32_t n, uint32_t to)
{
	uintptr_t lo = (uintptr_t)&r->descs[s->first + n];
	uintptr_t hi = (uintptr_t)&r->descs[s->first + to];

	if (n)
		lo = (lo + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
	return hi > lo ? sys_back((void *)lo, hi - lo) : 0;
}

static int share_back(struct ring *r, const struct share *s, uint32_t pages)
{
	uint32_t n = load_acquire(s->nr_backed);
	uint32_t to = n + pages;
	int err;

	if (to > s->quota)
		to = s->quota;
	if (to > n && sys_is_forbidden())
		fetch_add(&s->row->no_growth, 1);
	if (to <= n || sys_is_forbidden())
		return -ENOSPC;
	err = back_descs(r, s, n, to);
	if (!err)
		err = sys_back(pool_page(r, s->first + n), (size_t)(to - n) * PAGE_BYTES);
	if (err < 0) {
		fetch_add(&s->row->no_memory, 1);
		return err;
	}
	/* if another thread has added the same pages meanwhile, that is enough */
	compare_and_store(s->nr_backed, n, to);
	return 0;
}

void pool_back_ahead(struct ring *r, struct area_cpu *row, uint32_t pages)
{
	struct share s = live_share(r, row);
	uint32_t n = load_relaxed(s.nr_backed);

	if (n < pages)
		share_back(r, &s, pages - n);
}

#define AT_ONCE 8u
static_assert(RECORD_ENTRY == 2 && RECORD_CONTEXT == 7, "all_graph()");

static uint64_t out_of_graph(uint64_t word)
{
	return word | (word - ((uint64_t)RECORD_ENTRY << RECORD_KIND_SHIFT)) |
	       (word + ((uint64_t)1 << RECORD_KIND_SHIFT));
}

/*
 * Whether the next eight words are records of eight bytes, that is of kinds 2 to 6: the highest bit
 * of the kind is clear, and stays clear when 2 is subtracted or 1 is added. A RECORD_CONTEXT does
 * not count as a record. The code runs for each page that is taken again, and is not a loop because
 * compilers do not unroll it fully; a loop takes half as long again.
 */
static int all_graph(const uint64_t *words)
{
	uint64_t low = out_of_graph(words[0]) | out_of_graph(words[1]) | out_of_graph(words[2]) |
		       out_of_graph(words[3]);
	uint64_t high = out_of_graph(words[4]) | out_of_graph(words[5]) | out_of_graph(words[6]) |
			out_of_graph(words[7]);

	return !((low | high) >> 63);
}

static uint64_t not_function(uint64_t word)
{
	return word ^ (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT;
}

/* Whether the words from here on are RECORD_FUNCTIONs, of two words each. */
static int all_functions(const uint64_t *words)
{
	static_assert(RECORD_FUNCTION_BYTES == 16 && AT_ONCE == 8, "every other word is a head");
	return !((not_function(words[0]) | not_function(words[2]) | not_function(words[4]) |
		  not_function(words[6])) >>
		 RECORD_KIND_SHIFT);
}

/* Records since the buffer was last cleared that no consuming reader has taken. */
static uint32_t count_records(const struct page_head *head, uint32_t read, uint64_t cleared)
{
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES;
	uint64_t pos = page_read_bytes(read, head->seq);
	int all = head->base_stamp >= cleared;
	uint32_t n = 0, one_by_one = 0;

	if (pos < PAGE_HEAD_BYTES)
		pos = PAGE_HEAD_BYTES;
	while (pos < end) {
		const uint64_t *at = (const uint64_t *)((const uint8_t *)head + pos);
		uint64_t word = *at;
		uint32_t bytes = record_word_bytes(word);

		if (one_by_one) {
			one_by_one--;
		} else if (all && end - pos >= AT_ONCE * 8) {
			int graph = all_graph(at);

			if (graph || all_functions(at)) {
				n += graph ? AT_ONCE : AT_ONCE * 8 / RECORD_FUNCTION_BYTES;
				pos += AT_ONCE * 8;
				continue;
			}
			one_by_one = AT_ONCE;
		}
		if (!bytes)
			break;
		n += word && record_word_kind(word) != RECORD_UNCOMMITTED &&
		     record_word_kind(word) != RECORD_CONTEXT &&
		     head->base_stamp + record_word_stamp(word) >= cleared;
		pos += bytes;
	}
	return n;
}

/*
 * Count the records of a page as overwritten. @cleared: the CPU's cleared_stamp from before the
 * caller took the page. A thread may lose its CPU here, and return when the buffer was cleared:
 * then the clearing removed these records. The check is a few instructions before the addition, and
 * a clearing between them is not seen.
 */
static void count_overrun(struct ring *r, struct area_cpu *row, uint32_t index, uint64_t cleared)
{
	uint32_t n =
		count_records(pool_page(r, index), load_relaxed(&r->descs[index].read), cleared);

	if (likely(load_relaxed(&row->cleared_stamp) == cleared))
		fetch_add(&row->overrun, n);
}

/* Take page @i of the share if its state is @from. Return: its index in the pool, or -EAGAIN. */
static int take_as(struct ring *r, const struct share *s, uint32_t i, uint32_t from)
{
	struct area_cpu *row = s->row;
	uint32_t index = s->first + i;
	struct page_desc *desc = &r->descs[index];
	struct page_head *head = pool_page(r, index);
	uint64_t cleared = load_acquire(&row->cleared_stamp);

	if (!compare_and_store(&desc->state, from, PAGE_TAKING))
		return -EAGAIN;
	/* read after the take, when no other thread can change it */
	if (from == PAGE_PUBLISHED && unlikely(is_kept(r, row, index))) {
		store_release(&desc->state, PAGE_PUBLISHED);
		return -EAGAIN;
	}
	if (from == PAGE_PUBLISHED)
		count_overrun(r, row, index, cleared);
	store_relaxed(&desc->read, 0);
	arch_clear(head, PAGE_BYTES / 8);
	head->commit = PAGE_HEAD_BYTES;
	head->buffer = r->buffer_index;
	head->overrun = load_relaxed(&row->overrun);
	head->dropped_events = load_relaxed(&row->dropped_events);
	head->commit_overrun = load_relaxed(&row->commit_overrun);
	head->seq = fetch_add(&r->buffer->take_seq, 1) + 1;
	return (int)index;
}

#define AT_END UINT32_MAX

/*
 * Move the hand to the next page. Return: the page that it left. Behind the last page the hand goes
 * to the first one, or with @stop stays there: AT_END.
 */
static uint32_t hand_step(const struct share *s, uint32_t nr_backed, int stop)
{
	for (;;) {
		uint64_t hand = load_relaxed(s->hand);
		uint64_t at = hand < nr_backed ? hand : 0;

		if (stop && hand >= nr_backed)
			return AT_END;
		if (compare_and_store(s->hand, hand, at + 1))
			return (uint32_t)at;
	}
}

/* The number of pages, from the first one on, that may be taken: with memory, within the quota. */
static uint32_t nr_usable(const struct share *s)
{
	uint32_t n = load_acquire(s->nr_backed);

	return n < s->quota ? n : s->quota;
}

static int take_discard(struct ring *r, struct area_cpu *row)
{
	for (;;) {
		struct share s = live_share(r, row);
		uint32_t n = nr_usable(&s), i;

		for (i = 0; i < n; i++) {
			uint32_t at = hand_step(&s, n, 0);

			if (load_relaxed(&r->descs[s.first + at].state) == PAGE_FREE) {
				int index = take_as(r, &s, at, PAGE_FREE);

				if (index >= 0)
					return index;
			}
		}
		if (share_back(r, &s, GROW_PAGES) < 0)
			return -ENOBUFS;
		store_relaxed(s.hand, n);
	}
}

static int take_overwrite(struct ring *r, struct area_cpu *row)
{
	uint32_t tries;
	int may_grow = 1;

	for (tries = 0;; tries++) {
		struct share s = live_share(r, row);
		uint32_t n = nr_usable(&s), at, state;
		const struct page_desc *desc;
		int index;

		at = n || may_grow ? hand_step(&s, n, may_grow) : AT_END;
		/* give more pages memory rather than lose records */
		if (at == AT_END && may_grow) {
			may_grow = !share_back(r, &s, GROW_PAGES);
			continue;
		}
		if (at == AT_END || tries > 3 * n)
			return -ENOBUFS;
		desc = &r->descs[s.first + at];
		state = load_relaxed(&desc->state);
		if (state == PAGE_PUBLISHED && tries < n &&
		    load_relaxed(&r->buffer->publish_seq) - desc->seq < n / 2)
			continue;
		if (state != PAGE_FREE && state != PAGE_PUBLISHED)
			continue;
		index = take_as(r, &s, at, state);
		if (index >= 0)
			return index;
	}
}

int pool_take(struct ring *r, struct area_cpu *row)
{
	return r->buffer->flags & AREA_BUFFER_OVERWRITE ? take_overwrite(r, row)
							: take_discard(r, row);
}

void pool_own(struct ring *r, uint32_t index)
{
	store_release(&r->descs[index].state, PAGE_OWNED);
}

/*
 * Find a page below the quota for the records of a page published as @seq: a free page, or an older
 * one.
 */
static int find_place(struct ring *r, const struct share *s, uint64_t seq)
{
	struct area_cpu *row = s->row;

	for (;;) {
		uint64_t cleared = load_acquire(&row->cleared_stamp);
		uint32_t n = nr_usable(s), i, oldest = UINT32_MAX;
		uint64_t oldest_seq = seq;

		for (i = 0; i < n; i++) {
			struct page_desc *d = &r->descs[s->first + i];
			uint32_t state = load_relaxed(&d->state);

			if (state == PAGE_FREE && compare_and_store(&d->state, state, PAGE_TAKING))
				return (int)(s->first + i);
			if (state == PAGE_PUBLISHED && load_relaxed(&d->seq) < oldest_seq) {
				oldest = s->first + i;
				oldest_seq = load_relaxed(&d->seq);
			}
		}
		if (oldest == UINT32_MAX)
			return -ENOBUFS;
		if (compare_and_store(&r->descs[oldest].state, PAGE_PUBLISHED, PAGE_TAKING)) {
			count_overrun(r, row, oldest, cleared);
			return (int)oldest;
		}
	}
}

/* Whether no record of a published page is needed any more. */
static int is_garbage(const struct ring *r, const struct area_cpu *row, uint32_t index)
{
	const struct area_snapshot *snap = pool_snapshot(r, row);

	return snap && r->descs[index].seq <= load_relaxed(&snap->to_publish) &&
	       !is_kept(r, row, index);
}

/*
 * Page @from is beyond the quota, has records, and is owned by the caller (TAKING). Copy it to a
 * page below the quota, or else drop its records. Pages of a share that is being freed go to the
 * live one. @cleared: see count_overrun().
 */
static void move_page(struct ring *r, const struct share *s, uint32_t from, uint64_t cleared)
{
	struct share live = live_share(r, s->row);
	const volatile uint64_t *old = (const volatile uint64_t *)pool_page(r, from);
	volatile uint64_t *new;
	uint32_t k;
	int to;

	if (is_garbage(r, s->row, from))
		return;
	to = find_place(r, s->quota ? s : &live, r->descs[from].seq);
	if (to < 0) {
		count_overrun(r, s->row, from, cleared);
		return;
	}
	new = (volatile uint64_t *)pool_page(r, (uint32_t)to);
	for (k = 0; k < PAGE_BYTES / 8; k++)
		new[k] = old[k];
	r->descs[to].seq = r->descs[from].seq;
	store_relaxed(&r->descs[to].read, load_relaxed(&r->descs[from].read));
	store_release(&r->descs[to].state, PAGE_PUBLISHED);
}

/* Remove page @i, which is beyond the quota, unless a thread owns it (PAGE_GONE). */
static void withdraw(struct ring *r, const struct share *s, uint32_t i)
{
	struct page_desc *d = &r->descs[s->first + i];
	uint64_t cleared = load_acquire(&s->row->cleared_stamp);

	if (compare_and_store(&d->state, PAGE_FREE, PAGE_TAKING) ||
	    compare_and_store(&d->state, PAGE_KEPT, PAGE_TAKING)) {
		store_release(&d->state, PAGE_GONE);
	} else if (compare_and_store(&d->state, PAGE_PUBLISHED, PAGE_TAKING)) {
		move_page(r, s, s->first + i, cleared);
		store_release(&d->state, PAGE_GONE);
	}
}

static void give_back(struct ring *r, const struct share *s, uint32_t from, uint32_t to)
{
	uint32_t i, start = from;

	for (i = from; i <= to; i++) {
		if (i < to && load_acquire(&r->descs[s->first + i].state) == PAGE_GONE)
			continue;
		if (i > start)
			sys_madvise(pool_page(r, s->first + start),
				    (size_t)(i - start) * PAGE_BYTES, MADV_REMOVE);
		start = i + 1;
	}
}

static void shrink(struct ring *r, const struct share *s)
{
	uint32_t backed = load_acquire(s->nr_backed), i;

	for (i = s->quota; i < backed; i++)
		withdraw(r, s, i);
	give_back(r, s, s->quota, backed);
}

/* Bring back the removed pages among the first @pages. */
static int revive(struct ring *r, const struct share *s, uint32_t from, uint32_t pages)
{
	uint32_t backed = load_acquire(s->nr_backed), i;
	uint32_t top = pages < backed ? pages : backed;

	if (from >= top)
		return 0;
	if (sys_back(pool_page(r, s->first + from), (size_t)(top - from) * PAGE_BYTES) < 0)
		return -ENOSPC;
	for (i = from; i < top; i++)
		compare_and_store(&r->descs[s->first + i].state, PAGE_GONE, PAGE_FREE);
	return 0;
}

int pool_resize(struct ring *r, struct area_cpu *row, uint32_t pages)
{
	uint32_t old = load_relaxed(&row->nr_pages), which;
	struct share s;
	int err;

	if (pages < old)
		store_release(&row->nr_pages, pages);
	for (which = 0; which < nr_shares(r, row); which++) {
		s = share_at(r, row, which);
		if (!s.quota)
			continue;
		if (pages < old) {
			shrink(r, &s);
			continue;
		}
		err = revive(r, &s, old, pages);
		if (err)
			return err;
	}
	store_release(&row->nr_pages, pages);
	return 0;
}

int pool_spare_alloc(struct ring *r, struct area_cpu *row)
{
	struct area_snapshot *snap = pool_snapshot(r, row);
	struct share s;
	int err;

	if (!snap)
		return -ENOSPC;
	s = share_at(r, row, !snap->live);
	err = revive(r, &s, 0, load_relaxed(&row->nr_pages));
	if (!err)
		store_release(&snap->allocated, 1);
	return err;
}

void pool_spare_free(struct ring *r, struct area_cpu *row)
{
	struct area_snapshot *snap = pool_snapshot(r, row);
	struct share s;

	if (!snap)
		return;
	store_release(&snap->allocated, 0);
	s = share_at(r, row, !snap->live);
	shrink(r, &s);
}

/* Whether it is published, not in the snapshot, and older than the last clearing of the buffer. */
static int is_old(const struct ring *r, const struct area_cpu *row, uint32_t index)
{
	return !is_kept(r, row, index) &&
	       pool_page(r, index)->base_stamp < load_relaxed(&row->cleared_stamp);
}

void pool_clear(struct ring *r, struct area_cpu *row)
{
	uint32_t which, i, n;

	for (which = 0; which < nr_shares(r, row); which++) {
		struct share s = share_at(r, row, which);

		n = load_acquire(s.nr_backed);
		for (i = 0; i < n; i++) {
			uint32_t index = s.first + i, *state = &r->descs[index].state;

			if (load_relaxed(state) != PAGE_PUBLISHED || !is_old(r, row, index) ||
			    !compare_and_store(state, PAGE_PUBLISHED, PAGE_TAKING))
				continue;
			/* it may have been taken and published again since the check */
			store_release(state, is_old(r, row, index) ? PAGE_FREE : PAGE_PUBLISHED);
		}
	}
}

/* The share that writers do not use. */
static struct share other_share(const struct ring *r, struct area_cpu *row)
{
	const struct area_snapshot *snap = pool_snapshot(r, row);

	return share_at(r, row, !(snap && load_relaxed(&snap->live)));
}

int pool_take_kept(struct ring *r, struct area_cpu *row)
{
	struct share s = other_share(r, row);
	uint32_t i = 0;

	if (!pool_snapshot(r, row))
		return -ENOBUFS;
	for (;;) {
		uint32_t n = nr_usable(&s);

		for (; i < n; i++)
			if (compare_and_store(&r->descs[s.first + i].state, PAGE_FREE, PAGE_TAKING))
				return (int)(s.first + i);
		if (share_back(r, &s, GROW_PAGES) < 0)
			return -ENOBUFS;
	}
}

void pool_keep(struct ring *r, uint32_t index)
{
	struct page_head *head = pool_page(r, index);

	head->seq = fetch_add(&r->buffer->take_seq, 1) + 1;
	r->descs[index].seq = head->seq;
	store_relaxed(&r->descs[index].read, 0);
	store_release(&r->descs[index].state, PAGE_KEPT);
}

void pool_leave_kept(struct ring *r, uint32_t index)
{
	store_release(&r->descs[index].state, PAGE_FREE);
}

void pool_drop_kept(struct ring *r, struct area_cpu *row)
{
	uint32_t which, i, n;

	for (which = 0; which < nr_shares(r, row); which++) {
		struct share s = share_at(r, row, which);

		n = load_acquire(s.nr_backed);
		for (i = 0; i < n; i++)
			compare_and_store(&r->descs[s.first + i].state, PAGE_KEPT, PAGE_FREE);
	}
}

void pool_publish(struct ring *r, uint32_t index)
{
	struct page_head *head = pool_page(r, index);
	struct page_desc *desc = &r->descs[index];
	struct area_cpu *row;
	struct share s;

	/* checked before the page is published: after that another thread may take it */
	row = &r->cpus[head->cpu < r->nr_cpus ? head->cpu : r->nr_cpus - 1];
	if (head->commit > PAGE_BYTES)
		head->commit = PAGE_BYTES;
	if (head->commit == PAGE_HEAD_BYTES) {
		store_release(&desc->state, PAGE_FREE);
		return;
	}
	desc->seq = fetch_add(&r->buffer->publish_seq, 1) + 1;
	store_release(&desc->state, PAGE_PUBLISHED);
	s = share_of(r, row, index);
	if (unlikely(index - s.first >= s.quota))
		withdraw(r, &s, index - s.first);
}
