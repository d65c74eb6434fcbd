/* SPDX-License-Identifier: MIT */
/*
 * The pool: each CPU has a share of the pages, walked by a hand, so that pages are taken in turn
 * and the one under the hand is the one taken longest ago. A share is backed by memory bit by bit,
 * when its backed part is in use: an idle CPU costs nothing, and a program that records little
 * starts fast. Pages change hands by compare-and-store on their descriptor alone: no lists, so a
 * thread that is suspended or killed anywhere holds up nobody.
 *
 * Discarding buffers look through the whole share for a free page before they refuse (once for
 * each time that the reader freed some, see ring_ctl.failed_gen). Overwriting ones take what is
 * under the hand; a page that was published lately, because its thread is slow, gets a second
 * chance. Tests: tests/unit/test_pool.c, tests/engine/.
 */
#include "engine/ring/pool.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"

#define GROW_PAGES 64u

static uint32_t no_growth; /* a fork's child has its parent's filter too */

void ring_forbid_growth(void)
{
	store_relaxed(&no_growth, 1);
}

int ring_growth_forbidden(void)
{
	return (int)load_relaxed(&no_growth);
}

int pool_back(struct ring *r, struct area_cpu *row, uint32_t pages)
{
	uint32_t n = load_acquire(&row->nr_backed);
	uint32_t to = n + pages;
	int err;

	if (to > load_relaxed(&row->nr_pages))
		to = load_relaxed(&row->nr_pages);
	if (to <= n || ring_growth_forbidden())
		return -ENOSPC;
	err = sys_back(pool_page(r, row->first_page + n), (size_t)(to - n) * PAGE_BYTES);
	if (err < 0) {
		fetch_add(&row->no_memory, 1);
		return err;
	}
	/* somebody else may have added the same pages meanwhile: that is as good */
	compare_and_store(&row->nr_backed, n, to);
	return 0;
}

#define AT_ONCE 8u
static_assert(RECORD_ENTRY == 2 && RECORD_CONTEXT == 7, "all_graph()");

/*
 * Whether so many words from here on are records of eight bytes, the kinds 2 to 7: those whose upper
 * bit is clear, and still is when 2 is taken off.
 */
static int all_graph(const uint64_t *words)
{
	uint64_t bits = 0;
	unsigned int i;

	for (i = 0; i < AT_ONCE; i++) {
		bits |= words[i];
		bits |= words[i] - ((uint64_t)RECORD_ENTRY << RECORD_KIND_SHIFT);
	}
	return !(bits >> 63);
}

/* Those since the buffer was last cleared that no consuming reader has taken. */
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
			if (all_graph(at)) {
				n += AT_ONCE;
				pos += AT_ONCE * 8;
				continue;
			}
			one_by_one = AT_ONCE;
		}
		if (!bytes)
			break;
		n += word && record_word_kind(word) != RECORD_UNCOMMITTED &&
		     head->base_stamp + record_word_stamp(word) >= cleared;
		pos += bytes;
	}
	return n;
}

/* Take page @i of the share in state @from. Return: its index in the pool, or -EAGAIN. */
static int take_as(struct ring *r, struct area_cpu *row, uint32_t i, uint32_t from)
{
	uint32_t index = row->first_page + i;
	struct page_desc *desc = &r->descs[index];
	struct page_head *head = pool_page(r, index);

	if (!compare_and_store(&desc->state, from, PAGE_TAKING))
		return -EAGAIN;
	if (from == PAGE_PUBLISHED)
		fetch_add(&row->overrun, count_records(head, load_relaxed(&desc->read),
						       load_relaxed(&row->cleared_stamp)));
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
 * Move the hand one page on. Return: which page it left; where it is behind the last one it begins
 * again, or with @stop stays there: AT_END.
 */
static uint32_t hand_step(struct area_cpu *row, uint32_t nr_backed, int stop)
{
	for (;;) {
		uint64_t hand = load_relaxed(&row->hand);
		uint64_t at = hand < nr_backed ? hand : 0;

		if (stop && hand >= nr_backed)
			return AT_END;
		if (compare_and_store(&row->hand, hand, at + 1))
			return (uint32_t)at;
	}
}

/* The first so many pages may be taken: backed, and not beyond the quota. */
static uint32_t nr_usable(const struct area_cpu *row)
{
	uint32_t n = load_acquire(&row->nr_backed), quota = load_relaxed(&row->nr_pages);

	return n < quota ? n : quota;
}

static int take_discard(struct ring *r, struct area_cpu *row)
{
	for (;;) {
		uint32_t n = nr_usable(row), i;

		for (i = 0; i < n; i++) {
			uint32_t at = hand_step(row, n, 0);

			if (load_relaxed(&r->descs[row->first_page + at].state) == PAGE_FREE) {
				int index = take_as(r, row, at, PAGE_FREE);

				if (index >= 0)
					return index;
			}
		}
		if (pool_back(r, row, GROW_PAGES) < 0)
			return -ENOBUFS;
		store_relaxed(&row->hand, n);
	}
}

static int take_overwrite(struct ring *r, struct area_cpu *row)
{
	uint32_t tries;
	int may_grow = 1;

	for (tries = 0;; tries++) {
		uint32_t n = nr_usable(row), at, state;
		int index;

		at = n || may_grow ? hand_step(row, n, may_grow) : AT_END;
		/* add to it rather than lose something */
		if (at == AT_END && may_grow) {
			may_grow = !pool_back(r, row, GROW_PAGES);
			continue;
		}
		if (at == AT_END || tries > 3 * n)
			return -ENOBUFS;
		state = load_relaxed(&r->descs[row->first_page + at].state);
		if (state == PAGE_PUBLISHED && tries < n &&
		    load_relaxed(&r->buffer->publish_seq) - r->descs[row->first_page + at].seq <
			    n / 2)
			continue;
		if (state != PAGE_FREE && state != PAGE_PUBLISHED)
			continue;
		index = take_as(r, row, at, state);
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

/* A place below the quota for a page published as @seq: a free one, or that of an older page. */
static int find_place(struct ring *r, struct area_cpu *row, uint64_t seq)
{
	for (;;) {
		uint32_t n = nr_usable(row), i, oldest = UINT32_MAX;
		uint64_t oldest_seq = seq;

		for (i = 0; i < n; i++) {
			struct page_desc *d = &r->descs[row->first_page + i];
			uint32_t state = load_relaxed(&d->state);

			if (state == PAGE_FREE && compare_and_store(&d->state, state, PAGE_TAKING))
				return (int)i;
			if (state == PAGE_PUBLISHED && load_relaxed(&d->seq) < oldest_seq) {
				oldest = i;
				oldest_seq = load_relaxed(&d->seq);
			}
		}
		if (oldest == UINT32_MAX)
			return -ENOBUFS;
		if (compare_and_store(&r->descs[row->first_page + oldest].state, PAGE_PUBLISHED,
				      PAGE_TAKING)) {
			fetch_add(&row->overrun,
				  count_records(
					  pool_page(r, row->first_page + oldest),
					  load_relaxed(&r->descs[row->first_page + oldest].read),
					  load_relaxed(&row->cleared_stamp)));
			return (int)oldest;
		}
	}
}

/* Page @i beyond the quota, in our hands (TAKING), with records: to a place below, or overwritten. */
static void move_page(struct ring *r, struct area_cpu *row, uint32_t i)
{
	uint32_t from = row->first_page + i, to;
	int place = find_place(r, row, r->descs[from].seq);
	const volatile uint64_t *old = (const volatile uint64_t *)pool_page(r, from);
	volatile uint64_t *new;
	uint32_t k;

	if (place < 0) {
		fetch_add(&row->overrun,
			  count_records(pool_page(r, from), load_relaxed(&r->descs[from].read),
					load_relaxed(&row->cleared_stamp)));
		return;
	}
	to = row->first_page + (uint32_t)place;
	new = (volatile uint64_t *)pool_page(r, to);
	for (k = 0; k < PAGE_BYTES / 8; k++)
		new[k] = old[k];
	r->descs[to].seq = r->descs[from].seq;
	store_relaxed(&r->descs[to].read, load_relaxed(&r->descs[from].read));
	store_release(&r->descs[to].state, PAGE_PUBLISHED);
}

/* A page beyond the quota that nobody owns: it goes. */
static void withdraw(struct ring *r, struct area_cpu *row, uint32_t i)
{
	struct page_desc *d = &r->descs[row->first_page + i];

	if (compare_and_store(&d->state, PAGE_FREE, PAGE_TAKING)) {
		store_release(&d->state, PAGE_GONE);
	} else if (compare_and_store(&d->state, PAGE_PUBLISHED, PAGE_TAKING)) {
		move_page(r, row, i);
		store_release(&d->state, PAGE_GONE);
	}
}

static void give_back(struct ring *r, struct area_cpu *row, uint32_t from, uint32_t to)
{
	uint32_t i, start = from;

	for (i = from; i <= to; i++) {
		if (i < to && load_acquire(&r->descs[row->first_page + i].state) == PAGE_GONE)
			continue;
		if (i > start)
			sys_madvise(pool_page(r, row->first_page + start),
				    (size_t)(i - start) * PAGE_BYTES, MADV_REMOVE);
		start = i + 1;
	}
}

int pool_resize(struct ring *r, struct area_cpu *row, uint32_t pages)
{
	uint32_t old = load_relaxed(&row->nr_pages), backed = load_acquire(&row->nr_backed), i;
	uint32_t top = pages < backed ? pages : backed;

	if (pages < old) {
		store_release(&row->nr_pages, pages);
		for (i = pages; i < backed; i++)
			withdraw(r, row, i);
		give_back(r, row, pages, backed);
		return 0;
	}
	if (old < top) {
		if (sys_back(pool_page(r, row->first_page + old),
			     (size_t)(top - old) * PAGE_BYTES) < 0)
			return -ENOSPC;
		for (i = old; i < top; i++)
			compare_and_store(&r->descs[row->first_page + i].state, PAGE_GONE,
					  PAGE_FREE);
	}
	store_release(&row->nr_pages, pages);
	return 0;
}

void pool_publish(struct ring *r, uint32_t index)
{
	struct page_head *head = pool_page(r, index);
	struct page_desc *desc = &r->descs[index];
	struct area_cpu *row;

	if (head->commit > PAGE_BYTES)
		head->commit = PAGE_BYTES;
	if (head->commit == PAGE_HEAD_BYTES) {
		store_release(&desc->state, PAGE_FREE);
		return;
	}
	desc->seq = fetch_add(&r->buffer->publish_seq, 1) + 1;
	store_release(&desc->state, PAGE_PUBLISHED);
	row = &r->cpus[head->cpu < r->nr_cpus ? head->cpu : r->nr_cpus - 1];
	if (unlikely(index - row->first_page >= load_relaxed(&row->nr_pages)))
		withdraw(r, row, index - row->first_page);
}
