/* SPDX-License-Identifier: MIT */
/*
 * Writes the pages of a member to the spool: see recorder_impl.h. Tests:
 * tests/unit/reader/test_recorder.c, tests/cli/test_record.py.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/time_ns.h"
#include "tools/record/recorder_impl.h"

#define DRAIN_AT_ONCE 500 /* pages that are written before they are freed */

void member_put(const struct member *m, const void *from, size_t bytes, uint64_t at)
{
	if (pwrite(m->fd, from, bytes, (off_t)at) < 0)
		return;
}

void member_give_up(struct member *m)
{
	if (!m->damaged)
		note("%s", fail_text());
	m->damaged = true;
}

/* Read the numbers that change while the program runs: header, top buffer, CPUs. */
static int refresh(struct member *m)
{
	const struct area_header *h = &m->meta->head;
	const struct area_table *b = &h->tables[AREA_BUFFERS], *c = &h->tables[AREA_CPUS];
	const struct area_table *s = &h->tables[AREA_SNAPSHOTS];
	struct area_buffer *buffer = m->meta->buffers;
	struct area_buffer now;

	if (!m->meta->nr_buffers)
		return -ENODATA;
	if (pread(m->fd, &now, sizeof(now), (off_t)b->offset) != sizeof(now))
		return fail(EIO, "%s was cut", m->name);
	buffer->flags = now.flags;
	buffer->take_seq = now.take_seq;
	buffer->publish_seq = now.publish_seq;
	for (uint32_t i = buffer->first_cpu; i < buffer->first_cpu + buffer->nr_cpus; i++) {
		struct area_cpu row, *mine = &m->meta->cpus[i];
		uint64_t at = c->offset + (uint64_t)i * c->entry_bytes;

		if (pread(m->fd, &row, sizeof(row), (off_t)at) != sizeof(row))
			return fail(EIO, "%s was cut", m->name);
		/* Bounds were checked once and stay; only what is backed grows. */
		if ((uint64_t)mine->first_page + row.nr_backed <= m->meta->nr_pages)
			mine->nr_backed = row.nr_backed;
		mine->overrun = row.overrun;
		mine->dropped_events = row.dropped_events;
		mine->commit_overrun = row.commit_overrun;
		mine->no_memory = row.no_memory;
		mine->no_growth = row.no_growth;
		if (i < m->meta->nr_snapshots &&
		    pread(m->fd, &m->meta->snapshots[i], sizeof(*m->meta->snapshots),
			  (off_t)(s->offset + (uint64_t)i * s->entry_bytes)) !=
			    sizeof(*m->meta->snapshots))
			return fail(EIO, "%s was cut", m->name);
	}
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct published *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Find the published pages of one CPU, with @owned the owned ones too (seq 0, at the end). */
static size_t find_pages(struct recorder *r, struct member *m, uint32_t row, unsigned int which,
			 bool owned)
{
	const struct area_cpu *c = &m->meta->cpus[row];
	struct area_share s = area_share(m->meta, row, which);
	uint32_t stride = m->meta->head.tables[AREA_PAGES].entry_bytes;
	bool overwrite = meta_overwrites(m->meta);
	size_t nr = 0, nr_owned = 0;
	unsigned char *descs;
	ssize_t n;

	if (!s.nr)
		return 0;
	if (r->room_found < s.nr) {
		struct published *more = realloc(r->found, s.nr * sizeof(*more));

		if (!more)
			return 0;
		r->found = more;
		r->room_found = s.nr;
	}
	descs = malloc((size_t)s.nr * stride + 1);
	if (!descs)
		return 0;
	n = pread(m->fd, descs, (size_t)s.nr * stride,
		  (off_t)area_desc_offset(&m->meta->head, s.first));
	for (uint32_t i = 0; n > 0 && i < (size_t)n / stride; i++) {
		struct page_desc d;
		uint32_t index = s.first + i;

		memcpy(&d, descs + (size_t)i * stride, sizeof(d));
		if (d.state == PAGE_OWNED && owned) {
			/* From the far end, so that both kinds fit. */
			nr_owned++;
			r->found[r->room_found - nr_owned] = (struct published){0, index, c->cpu};
		}
		if (d.state != PAGE_PUBLISHED || !d.seq ||
		    (overwrite && area_done_has(&m->drained, index, d.seq)))
			continue;
		r->found[nr++] = (struct published){d.seq, index, c->cpu};
	}
	free(descs);
	if (nr)
		qsort(r->found, nr, sizeof(*r->found), by_seq);
	memmove(r->found + nr, r->found + r->room_found - nr_owned, nr_owned * sizeof(*r->found));
	return nr + nr_owned;
}

/* Set a run of descriptors to FREE. Published ones belong to the reader, so only we write them. */
static void free_pages(struct member *m, const struct published *found, size_t nr)
{
	const struct area_header *h = &m->meta->head;
	struct page_desc run[64];
	size_t i = 0;

	while (i < nr) {
		uint32_t first = found[i].index;
		size_t n = 0;

		do {
			run[n++] = (struct page_desc){.seq = found[i++].seq, .state = PAGE_FREE};
		} while (i < nr && n < 64 && found[i].index == first + n &&
			 h->tables[AREA_PAGES].entry_bytes == sizeof(*run));
		member_put(m, run, n * sizeof(*run), area_desc_offset(h, first));
	}
}

static void bump_reader_gen(struct member *m)
{
	uint64_t gen;
	off_t at = offsetof(struct area_header, reader_gen);

	if (pread(m->fd, &gen, sizeof(gen), at) == sizeof(gen)) {
		gen++;
		member_put(m, &gen, sizeof(gen), (uint64_t)at);
	}
}

/* Copy pages that do not change, run by run. Return: 0 or -EFAULT with fail() set. */
static int copy_runs(const struct member *m, const struct published *found, unsigned int nr,
		     unsigned char *copies)
{
	for (unsigned int i = 0, n; i < nr; i += n) {
		for (n = 1; i + n < nr && found[i + n].index == found[i].index + n;)
			n++;
		if (pread(m->fd, copies + (size_t)i * PAGE_BYTES, (size_t)n * PAGE_BYTES,
			  (off_t)area_page_offset(&m->meta->head, found[i].index)) !=
		    (ssize_t)((size_t)n * PAGE_BYTES))
			return fail(EFAULT, "%s shrank while it was read", m->name);
	}
	return 0;
}

/* Copy pages that may be overwritten meanwhile; those that were overwritten are left out. */
static unsigned int copy_stable(struct member *m, struct published *found, unsigned int nr,
				unsigned char *copies)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < nr; i++) {
		const struct area_header *h = &m->meta->head;
		unsigned char *to = copies + (size_t)kept * PAGE_BYTES;
		struct page_desc d;

		if (pread(m->fd, to, PAGE_BYTES, (off_t)area_page_offset(h, found[i].index)) !=
			    PAGE_BYTES ||
		    pread(m->fd, &d, sizeof(d), (off_t)area_desc_offset(h, found[i].index)) !=
			    sizeof(d))
			continue;
		if (found[i].seq && (d.state != PAGE_PUBLISHED || d.seq != found[i].seq))
			continue;
		found[kept++] = found[i];
	}
	return kept;
}

/* Hide records from before the buffer was cleared in copies of pages. @c: their CPU. */
static void hide_old(const struct member *m, const struct area_cpu *c,
		     const struct published *found, unsigned int nr, unsigned char *copies)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct page_desc d;

		if (pread(m->fd, &d, sizeof(d),
			  (off_t)area_desc_offset(&m->meta->head, found[i].index)) == sizeof(d))
			area_hide(c, &d, (uint64_t *)(copies + (size_t)i * PAGE_BYTES));
	}
}

static int write_pages(struct recorder *r, struct member *m, const struct area_cpu *c,
		       struct published *found, unsigned int nr, bool overwrite)
{
	/* write() may read the mapping: if the file shrinks, it fails, without a signal */
	bool copy = overwrite || m->is_named || !m->map || spool_reads_pages(r->spool);
	struct spool_page pages[DRAIN_AT_ONCE];

	if (copy && !r->copies)
		r->copies = malloc((size_t)DRAIN_AT_ONCE * PAGE_BYTES);
	if (copy && !r->copies)
		return fail(ENOMEM, "out of memory to read %s", m->name);
	if (overwrite)
		nr = copy_stable(m, found, nr, r->copies);
	else if (copy && copy_runs(m, found, nr, r->copies))
		return -EFAULT;
	if (m->is_named)
		hide_old(m, c, found, nr, r->copies);
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t at = area_page_offset(&m->meta->head, found[i].index);

		pages[i].page = copy ? r->copies + (size_t)i * PAGE_BYTES : m->map + at;
		pages[i].publish_seq = found[i].seq;
		area_done_put(&m->drained, found[i].index, found[i].seq);
	}
	return nr ? spool_put_pages(r->spool, m->id, found[0].cpu, pages, nr) : 0;
}

bool member_drain(struct recorder *r, struct member *m, bool last)
{
	const struct area_buffer *b;
	bool full = false, overwrite;
	int err;

	if (m->damaged || spool_failed(r->spool))
		return false;
	err = refresh(m);
	if (err == -ENODATA)
		return false;
	if (err) {
		member_give_up(m);
		return false;
	}
	b = m->meta->buffers;
	if (b->publish_seq == m->publish_seq && !last)
		return false;
	if (b->publish_seq != m->publish_seq)
		m->active_ns = time_ns(CLOCK_MONOTONIC);
	m->publish_seq = b->publish_seq;
	overwrite = meta_overwrites(m->meta);
	/* without this memory some pages may be written twice, which readers handle */
	if (overwrite)
		area_done_fit(&m->drained, m->meta);
	/* for each CPU one share, then the other */
	for (uint32_t c = 2 * b->first_cpu; c < 2 * (b->first_cpu + b->nr_cpus); c++) {
		const struct area_cpu *row = &m->meta->cpus[c / 2];
		size_t nr = find_pages(r, m, c / 2, c % 2, last);

		full |= nr > row->nr_pages / 4;
		for (size_t i = 0; i < nr; i += DRAIN_AT_ONCE) {
			unsigned int n =
				nr - i < DRAIN_AT_ONCE ? (unsigned int)(nr - i) : DRAIN_AT_ONCE;
			unsigned int p = n;

			err = write_pages(r, m, row, r->found + i, n, overwrite);
			if (err) {
				if (!spool_failed(r->spool))
					member_give_up(m);
				return false;
			}
			while (p && !r->found[i + p - 1].seq)
				p--;
			if (!overwrite && p) {
				free_pages(m, r->found + i, p);
				bump_reader_gen(m);
			}
		}
	}
	return full;
}
