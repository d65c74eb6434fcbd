/* SPDX-License-Identifier: MIT */
/*
 * The area of a live or a dead process as a reader: see area.h and docs/formats/area.md.
 *
 * At opening, each page that is PUBLISHED or OWNED is read and put into the index. It is read again
 * when its turn comes. If a live process has reused it in the meantime (its state, its order of
 * publication or of taking has changed), its records count as lost.
 * Tests: tests/unit/reader/test_area.c.
 */
#include "tools/area/area.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tools/area/area_pages.h"
#include "tools/area/area_printks.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/time_ns.h"

#define DESC_CHUNK 4096u

struct area {
	int fd;
	struct area_header head;
	const char *path;	     /* for errors; owned */
	const struct area_cpu *cpus; /* of the top buffer, borrowed */
	uint32_t nr_cpus;
	uint32_t nr_printks;		   /* formats at the last printks_add_new() */
	const struct area_snapshot *snaps; /* the snapshot is read; NULL: the live buffer */
	bool kept;			   /* the trace that a latency tracer keeps is read */
};

int area_open(int dirfd, const char *path, int flags, uint64_t *bytes)
{
	struct stat st;
	int fd, err;

	fd = openat(dirfd, path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		err = errno;
		if (err == ELOOP)
			return fail(ELOOP, "%s is a symbolic link, an area never is", path);
		return fail_errno(err, "cannot open '%s'", path);
	}
	if (fstat(fd, &st)) {
		err = fail_errno(errno, "cannot stat '%s'", path);
	} else if (!S_ISREG(st.st_mode)) {
		err = fail(EINVAL, "'%s' is not a regular file", path);
	} else if (st.st_uid != geteuid() && geteuid() != 0) {
		err = fail(EPERM, "%s belongs to user %u: read it as that user or as root", path,
			   st.st_uid);
	} else {
		*bytes = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return err;
}

uint64_t area_desc_offset(const struct area_header *head, uint32_t index)
{
	const struct area_table *t = &head->tables[AREA_PAGES];

	return t->offset + (uint64_t)index * t->entry_bytes;
}

uint64_t area_page_offset(const struct area_header *head, uint32_t index)
{
	return head->pages_offset + (uint64_t)index * PAGE_BYTES;
}

int area_check(struct meta *m, uint64_t bytes, const char *what)
{
	uint64_t fit;

	if (m->head.pages_offset > bytes || m->head.pages_offset % PAGE_BYTES)
		return fail(EINVAL, "%s is damaged: its pages lie outside the file", what);
	fit = (bytes - m->head.pages_offset) / PAGE_BYTES;
	if (m->nr_pages > fit)
		m->nr_pages = (uint32_t)fit;
	for (uint32_t i = 0; i < m->nr_area_cpus; i++) {
		struct area_cpu *c = &m->cpus[i];
		uint32_t room = c->first_page < m->nr_pages ? m->nr_pages - c->first_page : 0;

		if (c->nr_backed > room)
			c->nr_backed = room;
	}
	return 0;
}

struct area_share area_share(const struct meta *m, uint32_t row, unsigned int which)
{
	struct area_share s = {0};

	if (!which)
		s = (struct area_share){m->cpus[row].first_page, m->cpus[row].nr_backed};
	else if (row < m->nr_snapshots && m->snapshots[row].first_page)
		s = (struct area_share){m->snapshots[row].first_page, m->snapshots[row].nr_backed};
	if (s.first >= m->nr_pages)
		s.nr = 0;
	else if (s.nr > m->nr_pages - s.first)
		s.nr = m->nr_pages - s.first;
	return s;
}

int area_done_fit(struct area_done *d, const struct meta *m)
{
	uint64_t *more;

	if (d->nr >= m->nr_pages)
		return 0;
	more = realloc(d->seq, (size_t)m->nr_pages * sizeof(*more));
	if (!more)
		return fail(ENOMEM, "out of memory for %u pages", m->nr_pages);
	memset(more + d->nr, 0, (m->nr_pages - d->nr) * sizeof(*more));
	d->seq = more;
	d->nr = m->nr_pages;
	return 0;
}

static int read_desc(int fd, const struct area_header *head, uint32_t index, struct page_desc *d)
{
	ssize_t n = pread(fd, d, sizeof(*d), (off_t)area_desc_offset(head, index));

	return n == (ssize_t)sizeof(*d) ? 0 : -EIO;
}

int area_read_page(int fd, const struct area_header *head, uint32_t index, void *page,
		   struct page_desc *d, const char *what)
{
	struct page_desc after;
	ssize_t n;

	if (read_desc(fd, head, index, d))
		return 0;
	if (d->state != PAGE_OWNED && d->state != PAGE_PUBLISHED && d->state != PAGE_KEPT)
		return 0;
	n = pread(fd, page, PAGE_BYTES, (off_t)area_page_offset(head, index));
	if (n < 0)
		return fail_errno(errno, "cannot read '%s'", what);
	if (n != PAGE_BYTES || read_desc(fd, head, index, &after))
		return 0;
	/* An OWNED page may have been published since; the copy is complete then. */
	if (after.seq == d->seq && after.state == d->state)
		return 1;
	return d->state == PAGE_OWNED && after.state == PAGE_PUBLISHED;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void area_hide(const struct area_cpu *c, const struct page_desc *d, uint64_t *page)
{
	struct page_head *head = (struct page_head *)page;
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES;
	uint32_t read = page_read_bytes(d->read, head->seq);
	uint64_t cleared = c ? c->cleared_stamp : 0;

	if (c && cleared) {
		head->overrun = less(head->overrun, c->cleared_overrun);
		head->dropped_events = less(head->dropped_events, c->cleared_dropped);
		head->commit_overrun = less(head->commit_overrun, c->cleared_commit);
	}
	if (!cleared && read <= PAGE_HEAD_BYTES)
		return;
	for (uint64_t at = PAGE_HEAD_BYTES; at + 8 <= end;) {
		uint64_t word = page[at / 8];
		uint32_t bytes = record_word_bytes(word);

		if (!bytes || bytes > end - at)
			break;
		/* a context belongs to the record behind it */
		if (record_word_kind(word) != RECORD_CONTEXT &&
		    (at < read || head->base_stamp + record_word_stamp(word) < cleared))
			memset(&page[at / 8], 0, bytes);
		at += bytes;
	}
}

static const struct area_cpu *row_of(const struct area *a, const uint64_t *page)
{
	const struct page_head *head = (const struct page_head *)page;

	return head->cpu < a->nr_cpus ? &a->cpus[head->cpu] : NULL;
}

void area_count_from_clear(struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_area_cpus; i++) {
		struct area_cpu *c = &m->cpus[i];

		c->overrun = less(c->overrun, c->cleared_overrun);
		c->dropped_events = less(c->dropped_events, c->cleared_dropped);
		c->commit_overrun = less(c->commit_overrun, c->cleared_commit);
	}
}

/* A snapshot ends where the live records begin. */
static void hide_later(const struct area_snapshot *s, uint64_t *page)
{
	const struct page_head *head = (const struct page_head *)page;
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES;

	for (uint64_t at = PAGE_HEAD_BYTES; at + 8 <= end;) {
		uint64_t word = page[at / 8];
		uint32_t bytes = record_word_bytes(word);

		if (!bytes || bytes > end - at)
			break;
		if (head->base_stamp + record_word_stamp(word) >= s->to_stamp)
			memset(&page[at / 8], 0, bytes);
		at += bytes;
	}
}

static void hide(const struct area *a, const struct page_desc *d, uint64_t *page)
{
	const struct page_head *head = (const struct page_head *)page;

	area_hide(row_of(a, page), d, page);
	if (a->snaps && head->cpu < a->nr_cpus)
		hide_later(&a->snaps[head->cpu], page);
}

/* The areas of one reader, one for each member. */
struct areas {
	unsigned int nr;
	struct area *of[];
};

int area_pages_fetch(const struct area *a, uint32_t index, void *page)
{
	struct page_desc d;
	int ret;

	/* Its order of taking shows whether it is still the page that was added: pages.c. */
	ret = area_read_page(a->fd, &a->head, index, page, &d, a->path);
	if (ret > 0)
		hide(a, &d, page);
	return ret;
}

static int area_fetch(void *arg, const struct page_ref *ref, void *page)
{
	const struct areas *all = arg;

	return area_pages_fetch(all->of[ref->member], ref->index, page);
}

static int areas_printks(void *arg, uint32_t member, struct printks *p)
{
	struct areas *all = arg;

	return member < all->nr
		       ? printks_add_new(p, all->of[member]->fd, &all->of[member]->nr_printks,
					 all->of[member]->path)
		       : 0;
}

void area_pages_close(struct area *a)
{
	if (!a)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free((void *)a->path);
	free(a);
}

static void areas_close(void *arg)
{
	struct areas *all = arg;

	for (unsigned int i = 0; i < all->nr; i++)
		area_pages_close(all->of[i]);
	free(all);
}

/* Is a page to be read: of the trace that a latency tracer keeps, or of the ring? */
static bool is_of_view(const struct area *a, uint32_t state)
{
	return a->kept ? state == PAGE_KEPT : state == PAGE_OWNED || state == PAGE_PUBLISHED;
}

/*
 * Add pages of one CPU of the top buffer to the index. @mark: a bit that is set in their
 * page_ref.index.
 */
static int add_share(struct pages *p, uint32_t member, const struct area *a,
		     const struct area_share *s, uint32_t mark)
{
	uint32_t stride = a->head.tables[AREA_PAGES].entry_bytes;
	unsigned char *descs = malloc((size_t)DESC_CHUNK * stride);
	uint64_t page[PAGE_BYTES / 8];
	int err = 0;

	if (!descs)
		return fail(ENOMEM, "%s: out of memory", a->path);
	for (uint32_t at = 0; at < s->nr && err >= 0; at += DESC_CHUNK) {
		uint32_t nr = s->nr - at < DESC_CHUNK ? s->nr - at : DESC_CHUNK;
		ssize_t n = pread(a->fd, descs, (size_t)nr * stride,
				  (off_t)area_desc_offset(&a->head, s->first + at));

		if (n < 0) {
			err = fail_errno(errno, "cannot read '%s'", a->path);
			break;
		}
		nr = (uint32_t)((size_t)n / stride);
		for (uint32_t i = 0; i < nr && err >= 0; i++) {
			uint32_t index = s->first + at + i;
			struct page_desc d;

			memcpy(&d, descs + (size_t)i * stride, sizeof(d));
			if (!is_of_view(a, d.state))
				continue;
			err = area_read_page(a->fd, &a->head, index, page, &d, a->path);
			if (err > 0) {
				hide(a, &d, page);
				err = pages_add_page(p, member, page,
						     area_page_offset(&a->head, index),
						     index | mark, d.state == PAGE_OWNED);
			}
		}
		if (nr < DESC_CHUNK)
			break;
	}
	free(descs);
	return err < 0 ? err : 0;
}

/* Change the rows of CPUs so that the snapshot looks like the whole buffer. */
static void count_snapshot(struct meta *m, uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < first + nr; i++) {
		struct area_cpu *c = &m->cpus[i];
		const struct area_snapshot *s = &m->snapshots[i];

		c->cleared_stamp = s->from_stamp;
		c->cleared_overrun = s->from_overrun;
		c->cleared_dropped = s->from_dropped;
		c->cleared_commit = s->from_commit;
		c->overrun = s->to_overrun;
		c->dropped_events = s->to_dropped;
		c->commit_overrun = s->to_commit;
		c->read_events = 0;
	}
}

/* Pages that are kept only for the snapshot have only records of the snapshot. */
static void open_up(struct meta *m, uint32_t first, uint32_t nr)
{
	for (uint32_t i = first; i < first + nr; i++) {
		uint32_t gen = m->snapshots[i].gen;

		m->snapshots[i] = (struct area_snapshot){.first_page = m->snapshots[i].first_page,
							 .nr_backed = m->snapshots[i].nr_backed,
							 .allocated = m->snapshots[i].allocated,
							 .gen = gen,
							 .to_stamp = UINT64_MAX};
	}
}

/* Has a snapshot been taken since the tables were read, or while they were? */
static bool is_swapped(const struct area *a, const struct meta *m)
{
	const struct area_table *t = &a->head.tables[AREA_SNAPSHOTS];

	for (uint32_t i = 0; i < m->nr_snapshots; i++) {
		uint64_t at = t->offset + (uint64_t)i * t->entry_bytes;
		uint32_t gen;

		at += offsetof(struct area_snapshot, gen);
		if (m->snapshots[i].gen & 1 ||
		    pread(a->fd, &gen, sizeof(gen), (off_t)at) != (ssize_t)sizeof(gen) ||
		    gen != m->snapshots[i].gen)
			return true;
	}
	return false;
}

/*
 * Open one area and its tables; with @snapshot its snapshot alone. Return: 0 or -errno with fail()
 * set.
 */
static int open_one(const char *path, bool snapshot, struct area **out, struct meta **meta)
{
	struct area *a;
	uint64_t bytes;
	int fd, err;

	fd = area_open(AT_FDCWD, path, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, path, meta);
	if (!err) {
		err = area_check(*meta, bytes, path);
		if (err)
			meta_free(*meta);
	}
	if (err) {
		close(fd);
		return err;
	}
	a = calloc(1, sizeof(*a));
	if (a)
		a->path = strdup(path);
	if (!a || !a->path) {
		free(a);
		meta_free(*meta);
		close(fd);
		return fail(ENOMEM, "%s: out of memory", path);
	}
	a->fd = fd;
	a->head = (*meta)->head;
	if ((*meta)->nr_buffers) {
		a->cpus = &(*meta)->cpus[(*meta)->buffers[0].first_cpu];
		a->nr_cpus = (*meta)->buffers[0].nr_cpus;
	}
	if (snapshot && a->nr_cpus) {
		uint32_t first = (*meta)->buffers[0].first_cpu;

		/* an older engine has no snapshots: all are empty */
		if ((*meta)->nr_snapshots < first + a->nr_cpus)
			a->nr_cpus = 0;
		else
			a->snaps = &(*meta)->snapshots[first];
		a->kept = (*meta)->buffers[0].flags & AREA_BUFFER_PRINT_MAX;
		if (a->kept)
			open_up(*meta, first, a->nr_cpus);
		count_snapshot(*meta, first, a->nr_cpus);
	}
	area_count_from_clear(*meta);
	*out = a;
	return 0;
}

int area_pages_open(const char *path, struct area **out, struct meta **meta)
{
	return open_one(path, false, out, meta);
}

int area_pages_add(struct pages *p, uint32_t member, const struct area *a, const struct meta *m,
		   uint32_t mark)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < a->nr_cpus; i++)
		for (unsigned int which = 0; which < 2 && !err; which++) {
			struct area_share s = area_share(m, m->buffers[0].first_cpu + i, which);

			err = add_share(p, member, a, &s, mark);
		}
	return err;
}

/* Add area number @all->nr. Return: 0 or -errno with fail() set. */
static int add_area(struct pages *p, struct areas *all, const char *path, bool snapshot,
		    bool *swapped)
{
	uint32_t member = all->nr;
	struct area *a = NULL;
	struct meta *m;
	int err = open_one(path, snapshot, &a, &m);

	if (err)
		return err;
	all->of[all->nr++] = a;
	err = pages_set_member(p, member, m);
	if (!err)
		err = area_pages_add(p, member, a, m, 0);
	*swapped |= !err && snapshot && is_swapped(a, m);
	return err;
}

/*
 * Read the tables of all areas, and the index of their pages. Return: 0 or -errno with fail() set.
 */
static int gather(const char *const *paths, unsigned int nr, bool snapshot, struct pages **out,
		  bool *swapped)
{
	struct pages_source source = {
		.fetch = area_fetch, .close = areas_close, .printks = areas_printks};
	struct areas *all = calloc(1, sizeof(*all) + nr * sizeof(all->of[0]));
	int err = 0;

	if (!all)
		return fail(ENOMEM, "out of memory for %u areas", nr);
	source.arg = all;
	*out = pages_new(&source);
	if (!*out)
		return -ENOMEM;
	for (unsigned int i = 0; i < nr && !err; i++) {
		err = add_area(*out, all, paths[i], snapshot, swapped);
		/* one of several areas may be removed, or not be filled in yet */
		if (nr > 1 && (err == -ENOENT || err == -EAGAIN))
			err = 0;
	}
	if (!err && !all->nr)
		err = fail(ENOENT, "none of %u areas can be read", nr);
	if (err)
		pages_free(*out);
	return err;
}

#define TRIES 20

static int open_views(const char *const *paths, unsigned int nr, bool snapshot, struct reader **out)
{
	struct pages_finish how = {.sample_clock = true, .note = note_line};
	char text[sizeof(struct utsname)];
	struct pages *p = NULL;
	struct utsname u;
	int err;

	for (int i = 0;; i++) {
		bool swapped = false;

		err = gather(paths, nr, snapshot, &p, &swapped);
		if (err)
			return err;
		/* another snapshot was taken during the read: read again, TRIES times at most */
		if (!swapped || i == TRIES)
			break;
		pages_free(p);
	}
	uname(&u);
	snprintf(text, sizeof(text), "%s %s %s %s", u.sysname, u.nodename, u.release, u.machine);
	how.uname = text;
	how.cmdline = pages_member(p, 0) ? pages_member(p, 0)->head.exe : "";
	how.latency = snapshot;
	how.nr_cpus_online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	how.now_ns = time_ns(CLOCK_MONOTONIC);
	*out = pages_finish(p, &how, &err);
	return *out ? 0 : err;
}

int reader_open_areas(const char *const *paths, unsigned int nr, struct reader **out)
{
	return open_views(paths, nr, false, out);
}

int reader_open_area(const char *path, struct reader **out)
{
	return open_views(&path, 1, false, out);
}

bool reader_keeps_latency(struct reader *r)
{
	const struct meta *m = pages_member(pages_of_reader(r), 0);

	return m && m->nr_buffers && (m->buffers[0].flags & AREA_BUFFER_PRINT_MAX);
}

int reader_open_snapshots(const char *const *paths, unsigned int nr, struct reader **out,
			  bool *allocated)
{
	const struct meta *m;
	int err = open_views(paths, nr, true, out);

	if (err)
		return err;
	*allocated = false;
	for (unsigned int i = 0; i < nr && !*allocated; i++) {
		m = pages_member(pages_of_reader(*out), i);
		*allocated = m && m->nr_snapshots && m->snapshots[0].allocated;
	}
	return 0;
}

int reader_open_taken_snapshots(const char *const *paths, unsigned int nr, struct reader **out)
{
	bool allocated;
	int err = reader_open_snapshots(paths, nr, out, &allocated);

	if (err || allocated)
		return err;
	reader_close(*out);
	*out = NULL;
	return fail(ENOENT, "no snapshot was taken: `vestige snapshot -s` takes one");
}

const struct reader_format reader_format_area = {
	.name = "an area",
	.magic = "VESTIGE",
	.magic_bytes = 8,
	.open = reader_open_area,
};
