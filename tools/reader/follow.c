/* SPDX-License-Identifier: MIT */
/*
 * See follow.h. What was taken of a page is told in its descriptor (page_desc.read), and a page of a
 * discarding buffer that was taken whole is given back: so readers that come and go, and `trace`,
 * agree on what is left. A writer that reuses a page meanwhile makes its mark void (page_read_mark).
 * Per turn the descriptors of the pages in use are read, and the pages that have something new twice.
 * The area is untrusted: bounds are checked as area.h says. One thread at a time.
 * Tests: tests/tracefs/.
 */
#include "tools/reader/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/reader/area.h"
#include "tools/reader/pages.h"

#define DESC_CHUNK 4096u

struct follow {
	char *path;
	int fd;
	struct meta *meta; /* of the reader; its counts are refreshed */
	struct pages *pages;
	struct reader *r;
	bool dead;
	bool names;
	unsigned int nr_cpus; /* never changes: who reads has arrays of so many */
	bool freed;	      /* pages were given back */
	/* by page: as which it was last published with nothing left to take */
	uint64_t *done;
	uint32_t nr_done;
};

static struct area_cpu *row_of(const struct follow *f, unsigned int cpu)
{
	const struct area_buffer *b = f->meta->buffers;

	return f->meta->nr_buffers && cpu < b->nr_cpus ? &f->meta->cpus[b->first_cpu + cpu] : NULL;
}

/* A page of whose records only those not taken are left; one that is being written ends at a gap. */
static int read_rest(const struct follow *f, uint32_t index, uint64_t *page, struct page_desc *d)
{
	struct page_head *head = (struct page_head *)page;
	uint32_t read;
	int ret = area_read_page(f->fd, &f->meta->head, index, page, d, f->path);

	if (ret <= 0)
		return ret;
	read = page_read_bytes(d->read, head->seq);
	if (read < PAGE_HEAD_BYTES)
		read = PAGE_HEAD_BYTES;
	if (d->state == PAGE_OWNED && !f->dead) {
		uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES, at = read;

		while (at + 8 <= end && page[at / 8] && record_word_bytes(page[at / 8]))
			at += record_word_bytes(page[at / 8]);
		head->commit = at < end ? at : end;
	}
	area_hide(row_of(f, head->cpu), d, page);
	return 1;
}

static int follow_fetch(void *arg, const struct page_ref *ref, void *page)
{
	struct page_desc d;

	return read_rest(arg, ref->index, page, &d);
}

/* The source is the follow itself, which outlives its readers. */
static void keep(void *arg)
{
	(void)arg;
}

static int load_meta(struct follow *f, struct meta **out)
{
	struct stat st;
	int err;

	if (fstat(f->fd, &st))
		return fail_errno(errno, "cannot stat %s", f->path);
	err = meta_load(f->fd, 0, (uint64_t)st.st_size, f->path, out);
	if (!err) {
		err = area_check(*out, (uint64_t)st.st_size, f->path);
		if (err)
			meta_free(*out);
	}
	if (!err)
		area_count_from_clear(*out);
	return err;
}

static void tell_from(struct follow *f)
{
	for (unsigned int c = 0; c < f->r->nr_cpus; c++) {
		const struct area_cpu *row = row_of(f, c);

		if (row)
			pages_set_told(f->pages, c, row->told_lost, row->told_overrun);
	}
}

static int make_reader(struct follow *f)
{
	const struct pages_source source = {.fetch = follow_fetch, .close = keep, .arg = f};
	struct pages_finish how = {.sample_clock = true, .note = note_line};
	struct meta *m;
	int err = load_meta(f, &m);

	if (err)
		return err;
	if (f->r)
		reader_close(f->r);
	f->r = NULL;
	f->meta = NULL;
	if (f->nr_cpus && m->head.nr_cpus != f->nr_cpus) {
		meta_free(m);
		return fail(EINVAL, "%s is damaged: it has other CPUs than before", f->path);
	}
	f->pages = pages_new(&source);
	if (!f->pages) {
		meta_free(m);
		return -ENOMEM;
	}
	err = pages_follow(f->pages);
	if (err)
		meta_free(m);
	else
		err = pages_set_member(f->pages, 0, m);
	if (err) {
		pages_free(f->pages);
		return err;
	}
	how.no_names = !f->names;
	how.cmdline = m->head.exe;
	how.nr_cpus_online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	f->r = pages_finish(f->pages, &how, &err);
	if (!f->r)
		return err;
	f->meta = m;
	f->nr_cpus = f->r->nr_cpus;
	if (f->nr_done < m->nr_pages) {
		uint64_t *more = realloc(f->done, (size_t)m->nr_pages * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "no memory for %u pages", m->nr_pages);
		memset(more + f->nr_done, 0, (m->nr_pages - f->nr_done) * sizeof(*more));
		f->done = more;
		f->nr_done = m->nr_pages;
	}
	tell_from(f);
	return 0;
}

int follow_open(const char *path, bool names, struct follow **out)
{
	struct follow *f = calloc(1, sizeof(*f));
	uint64_t bytes;
	int err;

	if (!f)
		return fail(ENOMEM, "no memory to follow %s", path);
	f->names = names;
	f->path = strdup(path);
	f->fd = f->path ? area_open(AT_FDCWD, path, O_RDWR, &bytes) : fail(ENOMEM, "no memory");
	err = f->fd < 0 ? f->fd : make_reader(f);
	if (err) {
		follow_close(f);
		return err;
	}
	*out = f;
	return 0;
}

void follow_close(struct follow *f)
{
	reader_close(f->r);
	if (f->fd >= 0)
		close(f->fd);
	free(f->done);
	free(f->path);
	free(f);
}

struct reader *follow_reader(struct follow *f)
{
	return f->r;
}

/* Threads have come: the tables anew, while objects and functions are as they were. */
static int renew_meta(struct follow *f)
{
	struct meta *m;
	int err = load_meta(f, &m);

	if (err)
		return err;
	if (m->head.nr_cpus != f->nr_cpus || m->nr_objects != f->meta->nr_objects ||
	    m->nr_functions != f->meta->nr_functions || m->nr_buffers < f->meta->nr_buffers ||
	    m->nr_area_cpus != f->meta->nr_area_cpus) {
		meta_free(m);
		return 1;
	}
	f->meta = m;
	return pages_set_member(f->pages, 0, m);
}

/*
 * The numbers that move. Return: 0; 1 when tables have grown that the reader was made of, or another
 * tracer records; -errno.
 */
static int refresh(struct follow *f)
{
	static const int grow[] = {AREA_OBJECTS, AREA_FUNCTIONS};
	struct area_header head;
	struct area_buffer now, *b = f->meta->buffers;
	struct area_cpu row;
	int err;

	if (!f->meta->nr_buffers)
		return 1;
	if (pread(f->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    pread(f->fd, &now, sizeof(now), (off_t)head.tables[AREA_BUFFERS].offset) !=
		    (ssize_t)sizeof(now))
		return fail(EIO, "%s was cut", f->path);
	for (size_t i = 0; i < sizeof(grow) / sizeof(*grow); i++)
		if (head.tables[grow[i]].count != f->meta->head.tables[grow[i]].count)
			return 1;
	now.tracer[sizeof(now.tracer) - 1] = '\0';
	if (strcmp(now.tracer, b->tracer) || now.options != b->options ||
	    now.trace_clock != b->trace_clock)
		return 1;
	if (head.tables[AREA_TASKS].count != f->meta->head.tables[AREA_TASKS].count) {
		err = renew_meta(f);
		if (err)
			return err;
		b = f->meta->buffers;
	}
	b->flags = now.flags;
	for (uint32_t i = 0; i < f->meta->nr_snapshots; i++) {
		const struct area_table *t = &f->meta->head.tables[AREA_SNAPSHOTS];

		if (pread(f->fd, &f->meta->snapshots[i], sizeof(*f->meta->snapshots),
			  (off_t)(t->offset + (uint64_t)i * t->entry_bytes)) !=
		    (ssize_t)sizeof(*f->meta->snapshots))
			return fail(EIO, "%s was cut", f->path);
	}
	for (uint32_t i = b->first_cpu; i < b->first_cpu + b->nr_cpus; i++) {
		const struct area_table *t = &f->meta->head.tables[AREA_CPUS];
		struct area_cpu *mine = &f->meta->cpus[i];
		uint32_t backed = mine->nr_backed, first = mine->first_page;

		if (pread(f->fd, &row, sizeof(row),
			  (off_t)(t->offset + (uint64_t)i * t->entry_bytes)) !=
		    (ssize_t)sizeof(row))
			return fail(EIO, "%s was cut", f->path);
		*mine = row;
		/* bounds were checked once and stay; only what is backed grows */
		mine->first_page = first;
		mine->cpu = i - b->first_cpu;
		if ((uint64_t)first + row.nr_backed > f->meta->nr_pages)
			mine->nr_backed = backed;
	}
	area_count_from_clear(f->meta);
	return 0;
}

/* Call @each for the descriptors of pages that have an owner or records. */
static int each_of_share(const struct follow *f, const struct area_share *s,
			 int (*each)(void *arg, uint32_t index, const struct page_desc *d),
			 void *arg)
{
	uint32_t stride = f->meta->head.tables[AREA_PAGES].entry_bytes;
	unsigned char *descs;
	int ret = 0;

	if (!s->nr)
		return 0;
	descs = malloc((size_t)DESC_CHUNK * stride);
	if (!descs)
		return fail(ENOMEM, "%s: no memory", f->path);
	for (uint32_t at = 0; at < s->nr && ret >= 0; at += DESC_CHUNK) {
		uint32_t nr = s->nr - at < DESC_CHUNK ? s->nr - at : DESC_CHUNK;
		ssize_t n = pread(f->fd, descs, (size_t)nr * stride,
				  (off_t)area_desc_offset(&f->meta->head, s->first + at));

		nr = n > 0 ? (uint32_t)((size_t)n / stride) : 0;
		for (uint32_t i = 0; i < nr && ret >= 0; i++) {
			struct page_desc d;

			memcpy(&d, descs + (size_t)i * stride, sizeof(d));
			if (d.state == PAGE_OWNED || d.state == PAGE_PUBLISHED)
				ret = each(arg, s->first + at + i, &d);
		}
	}
	free(descs);
	return ret < 0 ? ret : 0;
}

/* Of all of a CPU's pages. */
static int each_page(const struct follow *f, unsigned int cpu,
		     int (*each)(void *arg, uint32_t index, const struct page_desc *d), void *arg)
{
	int ret = 0;

	for (unsigned int which = 0; row_of(f, cpu) && which < 2 && !ret; which++) {
		struct area_share s = area_share(f->meta, f->meta->buffers->first_cpu + cpu, which);

		ret = each_of_share(f, &s, each, arg);
	}
	return ret;
}

struct looking {
	struct follow *f;
	unsigned int nr; /* pages added, or counted */
};

/* Head and mark alone tell whether there is something: most pages are not read for nothing. */
static bool has_rest(struct follow *f, uint32_t index, const struct page_desc *d)
{
	struct page_head head;
	bool rest;

	if (index < f->nr_done && d->state == PAGE_PUBLISHED && f->done[index] == d->seq)
		return false;
	if (pread(f->fd, &head, sizeof(head), (off_t)area_page_offset(&f->meta->head, index)) !=
	    (ssize_t)sizeof(head))
		return false;
	if (head.commit > PAGE_BYTES)
		head.commit = PAGE_BYTES;
	rest = head.commit > PAGE_HEAD_BYTES && head.commit > page_read_bytes(d->read, head.seq);
	if (!rest && index < f->nr_done && d->state == PAGE_PUBLISHED)
		f->done[index] = d->seq;
	return rest;
}

static int add_page(void *arg, uint32_t index, const struct page_desc *d)
{
	struct looking *l = arg;
	uint64_t page[PAGE_BYTES / 8];
	struct page_desc now;
	int ret;

	if (!has_rest(l->f, index, d))
		return 0;
	ret = read_rest(l->f, index, page, &now);
	if (ret > 0)
		ret = pages_add_page(l->f->pages, 0, page,
				     area_page_offset(&l->f->meta->head, index), index,
				     now.state == PAGE_OWNED);
	if (ret > 0)
		l->nr++;
	return ret < 0 ? ret : 0;
}

int follow_turn(struct follow *f, const bool *cpus, bool dead)
{
	struct looking l = {.f = f};
	int err;

	if (!f->r)
		return -ESTALE;
	pages_again(f->pages); /* before the tables change beneath it */
	err = refresh(f);
	if (err)
		return err < 0 ? err : -ESTALE;
	f->dead = dead;
	for (unsigned int c = 0; c < f->r->nr_cpus; c++) {
		err = !cpus || cpus[c] ? each_page(f, c, add_page, &l) : 0;
		if (err)
			return err;
	}
	err = l.nr ? pages_refresh(f->pages) : 0;
	if (!err)
		err = pages_ready(f->pages);
	return err ? err : l.nr != 0;
}

int follow_renew(struct follow *f)
{
	return make_reader(f);
}

static void mark_page(void *arg, const struct page_ref *ref, uint32_t bytes, bool end)
{
	struct follow *f = arg;
	const struct area_header *h = &f->meta->head;
	uint64_t at = area_desc_offset(h, ref->index);
	uint32_t mark = page_read_mark(ref->seq, bytes);
	uint8_t free_state = PAGE_FREE;
	struct page_desc d;

	if (pwrite(f->fd, &mark, sizeof(mark), (off_t)(at + offsetof(struct page_desc, read))) < 0)
		return;
	/* nobody but the reader takes a published page of a discarding buffer */
	if (!end || meta_overwrites(f->meta) ||
	    pread(f->fd, &d, sizeof(d), (off_t)at) != (ssize_t)sizeof(d) ||
	    d.state != PAGE_PUBLISHED || d.read != mark || has_rest(f, ref->index, &d))
		return;
	if (pwrite(f->fd, &free_state, 1, (off_t)(at + offsetof(struct page_desc, state))) == 1)
		f->freed = true;
}

void follow_take(struct follow *f, unsigned int cpu, uint64_t n)
{
	struct area_cpu *row = f->meta ? row_of(f, cpu) : NULL;
	const struct area_table *t;
	uint64_t at, gen, told[3];

	if (!n || !row)
		return;
	t = &f->meta->head.tables[AREA_CPUS];
	pages_take(f->pages, cpu, n, mark_page, f);
	row->read_events += n;
	told[0] = row->read_events;
	pages_get_told(f->pages, cpu, &told[1], &told[2]);
	at = t->offset + (uint64_t)(f->meta->buffers->first_cpu + cpu) * t->entry_bytes +
	     offsetof(struct area_cpu, read_events);
	if (pwrite(f->fd, told, sizeof(told), (off_t)at) < 0)
		return;
	if (!f->freed)
		return;
	f->freed = false;
	at = offsetof(struct area_header, reader_gen);
	if (pread(f->fd, &gen, sizeof(gen), (off_t)at) == (ssize_t)sizeof(gen)) {
		gen++;
		if (pwrite(f->fd, &gen, sizeof(gen), (off_t)at) < 0)
			return;
	}
}

static int stop_at_rest(void *arg, uint32_t index, const struct page_desc *d)
{
	struct looking *l = arg;
	uint64_t page[PAGE_BYTES / 8];
	const struct page_head *head = (const struct page_head *)page;
	struct page_desc now;

	if (!has_rest(l->f, index, d) || read_rest(l->f, index, page, &now) <= 0)
		return 0;
	for (uint64_t at = PAGE_HEAD_BYTES; at < head->commit && at < PAGE_BYTES; at += 8)
		if (page[at / 8])
			return -EEXIST;
	return 0;
}

bool follow_any(struct follow *f, const bool *cpus)
{
	struct looking l = {.f = f};

	if (!f->r || refresh(f) < 0)
		return false;
	for (unsigned int c = 0; c < f->r->nr_cpus; c++)
		if ((!cpus || cpus[c]) && each_page(f, c, stop_at_rest, &l) == -EEXIST)
			return true;
	return false;
}

bool follow_tracing_on(const struct follow *f)
{
	uint32_t on = 0;

	return pread(f->fd, &on, sizeof(on), offsetof(struct area_header, tracing_on)) ==
		       (ssize_t)sizeof(on) &&
	       on;
}
