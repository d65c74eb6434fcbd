/* SPDX-License-Identifier: MIT */
/*
 * Finds the time up to which the spool has all records, for a reader of the growing spool: see
 * recorder_turns(). Ten times a second, and more often at first, it reads the descriptors of the
 * pages in use and a few bytes of each owned page, and copies owned pages that began before the
 * last turn and have changed. Tests: tests/cli/test_record_live.py.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/machine.h"
#include "tools/base/time_ns.h"
#include "tools/record/recorder_impl.h"

void recorder_turns(struct recorder *r,
		    void (*turn)(void *arg, uint64_t spool_bytes, uint64_t stamp), void *arg)
{
	r->turn = turn;
	r->turn_arg = arg;
	r->turn_ns = r->turn_stamp = 0;
}

/*
 * Copy an owned page to the spool if it has changed, for its records before a turn's stamp. At most
 * an eighth of the spool are copies. Return: whether its present state is in the spool.
 */
static bool put_open(struct recorder *r, struct member *m, uint32_t index)
{
	off_t at = (off_t)area_page_offset(&m->meta->head, index);
	uint64_t page[PAGE_BYTES / 8], mark;
	struct page_head *copy = (struct page_head *)page, head;

	if (!spool_reads_pages(r->spool) || index >= m->meta->nr_pages ||
	    pread(m->fd, &head, sizeof(head), at) != sizeof(head))
		return false;
	if (head.commit > PAGE_BYTES)
		head.commit = PAGE_BYTES;
	/* a page without a record need not be copied */
	if (head.commit <= PAGE_HEAD_BYTES || head.buffer)
		return false;
	if (!m->open)
		m->open = calloc(m->meta->nr_pages, sizeof(*m->open));
	mark = head.seq * (2 * PAGE_BYTES) + head.commit;
	if (m->open && m->open[index] == mark)
		return true;
	if (!m->open || r->open_bytes > spool_bytes(r->spool) / 8 ||
	    pread(m->fd, page, sizeof(page), at) != sizeof(page) || copy->seq != head.seq)
		return false;
	*copy = head;
	if (spool_put_open(r->spool, m->id, page))
		return false;
	m->open[index] = mark;
	r->open_bytes += head.commit;
	return true;
}

/* The stamp with which the page begins; 0: it cannot be read. */
static uint64_t base_of(const struct member *m, uint32_t index)
{
	uint64_t base;
	off_t at = (off_t)(area_page_offset(&m->meta->head, index) +
			   offsetof(struct page_head, base_stamp));

	return pread(m->fd, &base, sizeof(base), at) == sizeof(base) ? base : 0;
}

/* The least stamp with which an owned page of a share begins, or @least. */
static uint64_t share_oldest(struct recorder *r, struct member *m, struct area_share s,
			     uint64_t stamp, uint64_t least)
{
	uint32_t stride = m->meta->head.tables[AREA_PAGES].entry_bytes;
	unsigned char *descs = malloc((size_t)s.nr * stride + 1);
	ssize_t n;

	if (!descs)
		return 0;
	n = pread(m->fd, descs, (size_t)s.nr * stride,
		  (off_t)area_desc_offset(&m->meta->head, s.first));
	if (n < 0)
		least = 0;
	for (uint32_t i = 0; n > 0 && i < (size_t)n / stride; i++) {
		struct page_desc d;
		uint64_t base;

		memcpy(&d, descs + (size_t)i * stride, sizeof(d));
		if (d.state != PAGE_OWNED && d.state != PAGE_TAKING)
			continue;
		base = d.state == PAGE_OWNED ? base_of(m, s.first + i) : 0;
		if (base && base < stamp && put_open(r, m, s.first + i))
			continue;
		least = base < least ? base : least;
	}
	free(descs);
	return least;
}

static uint64_t member_oldest(struct recorder *r, struct member *m, uint64_t stamp, uint64_t least)
{
	const struct area_buffer *b = m->meta->buffers;

	if (m->damaged || !m->meta->nr_buffers)
		return least;
	for (uint32_t c = 2 * b->first_cpu; c < 2 * (b->first_cpu + b->nr_cpus); c++) {
		struct area_share s = area_share(m->meta, c / 2, c % 2);

		if (s.nr)
			least = share_oldest(r, m, s, stamp, least);
	}
	return least;
}

bool turn_begins(struct recorder *r, uint64_t now, uint64_t *stamp)
{
	uint64_t here = r->counter ? machine_counter() : now;

	if (!r->turn || now - r->turn_ns < turn_every_ns(r, now))
		return false;
	/*
	 * the time of the last turn: a thread that took a stamp just now may not have marked its
	 * page yet
	 */
	*stamp = r->turn_counter == r->counter ? r->turn_stamp : 0;
	r->turn_counter = r->counter;
	r->turn_ns = now;
	r->turn_stamp = here;
	return true;
}

uint64_t turn_oldest(struct recorder *r, uint64_t stamp)
{
	uint64_t least = stamp;

	for (unsigned int i = 0; i < r->nr_members; i++)
		least = member_oldest(r, &r->members[i], stamp, least);
	return least;
}
