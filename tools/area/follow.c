/* SPDX-License-Identifier: MIT */
/*
 * See follow.h. The read position of a page is in its descriptor (page_desc.read). A page of a
 * discarding buffer whose records were all taken is freed. So other readers, and `trace`, see the
 * same rest of the records. If a writer has reused the page, its read position is not valid
 * (page_read_mark). A turn reads the descriptors of the pages in use, and twice each page with new
 * records. A process that has ended and was read to its end costs nothing more. Of several
 * processes, one whose area cannot be read is left out; if there is only one, this is an error. The
 * area is untrusted: bounds are checked as area.h says. One thread at a time. Tests:
 * tests/tracefs/.
 */
#include "tools/area/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/area/area_printks.h"
#include "tools/area/follow_member.h"
#include "tools/area/pages.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/time_ns.h"

/*
 * Attempts to make a reader while the tables grow. After that, with a clock that has a time, only
 * records from before the tables were read are given.
 */
#define MAX_RENEWALS	   16
#define MAX_RENEWALS_TIMED 2

struct follow {
	struct member **members;
	uint32_t nr_members;
	struct pages *pages;
	struct reader *r;
	bool names;
	bool joined;	      /* members came since the reader was made */
	uint64_t made_ns;     /* CLOCK_MONOTONIC before the reader's tables were read */
	uint64_t known_ns;    /* of follow_known(); 0: no more will come */
	unsigned int nr_cpus; /* never changes: readers have arrays of this size */
};

/* All records of the member are read, or it cannot be read. */
static void member_over(struct member *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
	m->meta = NULL;
	free(m->done.seq);
	m->done = (struct area_done){0};
}

static int follow_fetch(void *arg, const struct page_ref *ref, void *page)
{
	const struct follow *f = arg;
	struct page_desc d;

	return f->members[ref->member]->meta
		       ? member_read_rest(f->members[ref->member], ref->index, page, &d)
		       : 0;
}

static int follow_printks(void *arg, uint32_t member, struct printks *p)
{
	const struct follow *f = arg;
	struct member *m = member < f->nr_members ? f->members[member] : NULL;

	return m && m->meta ? printks_add_new(p, m->fd, &m->nr_printks, m->path) : 0;
}

/* The source is the struct follow, which lives longer than its readers. */
static void keep(void *arg)
{
	(void)arg;
}

static int load_meta(const struct member *m, struct meta **out)
{
	struct stat st;
	int err;

	if (fstat(m->fd, &st))
		return fail_errno(errno, "cannot stat %s", m->path);
	err = meta_load(m->fd, 0, (uint64_t)st.st_size, m->path, out);
	if (!err) {
		err = area_check(*out, (uint64_t)st.st_size, m->path);
		if (err)
			meta_free(*out);
	}
	if (!err)
		area_count_from_clear(*out);
	return err;
}

/* Read the tables of a member for a new reader. Return: 0 or -errno with fail() set. */
static int set_member(struct follow *f, struct member *m)
{
	struct meta *meta;
	int err;

	m->meta = NULL;
	err = load_meta(m, &meta);
	if (err)
		return err;
	if (f->nr_cpus && meta->head.nr_cpus != f->nr_cpus) {
		meta_free(meta);
		return fail(EINVAL, "%s is damaged: it has other CPUs than before", m->path);
	}
	f->nr_cpus = meta->head.nr_cpus;
	err = pages_set_member(f->pages, m->number, meta);
	if (err)
		return err;
	m->meta = meta;
	return area_done_fit(&m->done, meta);
}

static void report_from(struct follow *f, const struct member *m)
{
	for (unsigned int c = 0; c < f->r->nr_cpus; c++) {
		const struct area_cpu *row = member_row(m, c);

		if (row)
			pages_set_reported(f->pages, m->number, c, row->told_lost,
					   row->told_overrun);
	}
}

static int set_members(struct follow *f)
{
	int err = pages_follow(f->pages);

	for (uint32_t i = 0; i < f->nr_members && !err; i++) {
		struct member *m = f->members[i];

		if (m->fd < 0)
			continue;
		err = set_member(f, m);
		if (err && f->nr_members > 1) {
			member_over(m);
			err = 0;
		}
	}
	return err;
}

static int make_reader(struct follow *f)
{
	const struct pages_source source = {
		.fetch = follow_fetch, .close = keep, .arg = f, .printks = follow_printks};
	struct pages_finish how = {.sample_clock = true, .note = note_line};
	int err;

	if (f->r)
		reader_close(f->r);
	f->r = NULL;
	f->joined = false;
	f->made_ns = time_ns(CLOCK_MONOTONIC);
	f->pages = pages_new(&source);
	if (!f->pages)
		return -ENOMEM;
	err = set_members(f);
	if (err) {
		pages_free(f->pages);
		return err;
	}
	how.no_names = !f->names;
	for (uint32_t i = f->nr_members; i--;)
		if (f->members[i]->meta)
			how.cmdline = f->members[i]->meta->head.exe;
	how.nr_cpus_online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	f->r = pages_finish(f->pages, &how, &err);
	if (!f->r)
		return err;
	for (uint32_t i = 0; i < f->nr_members; i++)
		if (f->members[i]->meta)
			report_from(f, f->members[i]);
	return 0;
}

/* Open the area of a process, note its file. Return: the descriptor or -errno with fail() set. */
static int open_area(struct followed *what)
{
	uint64_t bytes;
	struct stat st;
	int fd = area_open(AT_FDCWD, what->path, O_RDWR, &bytes);

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && (!what->ino || (st.st_dev == what->dev && st.st_ino == what->ino))) {
		what->dev = st.st_dev;
		what->ino = st.st_ino;
		return fd;
	}
	close(fd);
	return fail(ESTALE, "%s is another program's by now", what->path);
}

int follow_add(struct follow *f, const struct followed *what)
{
	struct member **more = realloc(f->members, (f->nr_members + 1) * sizeof(struct member *));
	struct member *m = calloc(1, sizeof(*m));

	if (more)
		f->members = more;
	if (m)
		m->path = strdup(what->path);
	if (!more || !m || !m->path) {
		free(m);
		return fail(ENOMEM, "out of memory to follow %s", what->path);
	}
	m->what = *what;
	m->what.path = m->path;
	m->number = f->nr_members;
	m->fd = open_area(&m->what);
	for (uint32_t i = 0; i < f->nr_members && m->fd >= 0; i++)
		f->members[i]->replaced |= !strcmp(f->members[i]->path, m->path);
	f->members[f->nr_members++] = m;
	f->joined = true;
	return m->fd < 0 ? m->fd : 0;
}

int follow_open(const struct followed *what, bool names, struct follow **out)
{
	struct follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return fail(ENOMEM, "out of memory to follow %s", what->path);
	f->names = names;
	err = follow_add(f, what);
	if (!err)
		err = make_reader(f);
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
	for (uint32_t i = 0; i < f->nr_members; i++) {
		member_over(f->members[i]);
		free(f->members[i]->path);
		free(f->members[i]);
	}
	free(f->members);
	free(f);
}

struct reader *follow_reader(struct follow *f)
{
	return f->r;
}

/* New threads: read the tables again. Objects and functions have not changed. */
static int renew_meta(struct follow *f, struct member *m)
{
	struct meta *meta;
	int err = load_meta(m, &meta);

	if (err)
		return err;
	if (meta->head.nr_cpus != f->nr_cpus || meta->nr_objects != m->meta->nr_objects ||
	    meta->nr_functions != m->meta->nr_functions || meta->nr_buffers < m->meta->nr_buffers ||
	    meta->nr_area_cpus != m->meta->nr_area_cpus) {
		meta_free(meta);
		return 1;
	}
	m->meta = meta;
	return pages_set_member(f->pages, m->number, meta);
}

/* Of several processes, the first one's options, tracer and clock are shown. */
static bool is_first(const struct follow *f, const struct member *m)
{
	uint32_t i = 0;

	while (i < m->number && !f->members[i]->meta)
		i++;
	return i == m->number;
}

static int refresh_cpus(struct member *m)
{
	const struct area_table *t = &m->meta->head.tables[AREA_CPUS];
	struct area_buffer *b = m->meta->buffers;
	struct area_cpu row;

	for (uint32_t i = b->first_cpu; i < b->first_cpu + b->nr_cpus; i++) {
		struct area_cpu *mine = &m->meta->cpus[i];
		uint32_t backed = mine->nr_backed, first = mine->first_page;

		if (pread(m->fd, &row, sizeof(row),
			  (off_t)(t->offset + (uint64_t)i * t->entry_bytes)) !=
		    (ssize_t)sizeof(row))
			return fail(EIO, "%s was cut", m->path);
		*mine = row;
		/* bounds do not change after the check; only nr_backed grows */
		mine->first_page = first;
		mine->cpu = i - b->first_cpu;
		if ((uint64_t)first + row.nr_backed > m->meta->nr_pages)
			mine->nr_backed = backed;
	}
	return 0;
}

/*
 * Read again the counts that change. Return: 0; 1: tables of the reader have grown, or another
 * tracer is set; -errno.
 */
static int refresh(struct follow *f, struct member *m)
{
	/* without printed formats: follow_printks() reads new ones */
	static const int grow[] = {AREA_OBJECTS, AREA_FUNCTIONS, AREA_EVENTS};
	struct area_header head;
	struct area_buffer now, *b = m->meta->buffers;
	int err;

	if (!m->meta->nr_buffers)
		return 1;
	if (pread(m->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    pread(m->fd, &now, sizeof(now), (off_t)head.tables[AREA_BUFFERS].offset) !=
		    (ssize_t)sizeof(now))
		return fail(EIO, "%s was cut", m->path);
	for (size_t i = 0; i < sizeof(grow) / sizeof(*grow); i++)
		if (meta_has_table(&m->meta->head, grow[i]) &&
		    AREA_TABLE(&head, grow[i])->count != AREA_TABLE(&m->meta->head, grow[i])->count)
			return 1;
	now.tracer[sizeof(now.tracer) - 1] = '\0';
	if (is_first(f, m) && (strcmp(now.tracer, b->tracer) || now.options != b->options ||
			       now.trace_clock != b->trace_clock))
		return 1;
	if (head.tables[AREA_TASKS].count != m->meta->head.tables[AREA_TASKS].count) {
		err = renew_meta(f, m);
		if (err)
			return err;
		b = m->meta->buffers;
	}
	b->flags = now.flags;
	for (uint32_t i = 0; i < m->meta->nr_snapshots; i++) {
		const struct area_table *t = &m->meta->head.tables[AREA_SNAPSHOTS];

		if (pread(m->fd, &m->meta->snapshots[i], sizeof(*m->meta->snapshots),
			  (off_t)(t->offset + (uint64_t)i * t->entry_bytes)) !=
		    (ssize_t)sizeof(*m->meta->snapshots))
			return fail(EIO, "%s was cut", m->path);
	}
	err = refresh_cpus(m);
	if (!err)
		area_count_from_clear(m->meta);
	return err;
}

struct looking {
	struct follow *f;
	struct member *m;
	unsigned int nr; /* pages added, or counted */
};

static int add_page(void *arg, uint32_t index, const struct page_desc *d)
{
	struct looking *l = arg;
	uint64_t page[PAGE_BYTES / 8];
	struct page_desc now;
	int ret;

	if (!member_has_rest(l->m, index, d))
		return 0;
	ret = member_read_rest(l->m, index, page, &now);
	if (ret > 0)
		ret = pages_add_page(l->f->pages, l->m->number, page,
				     area_page_offset(&l->m->meta->head, index), index,
				     now.state == PAGE_OWNED);
	if (ret > 0)
		l->nr++;
	return ret < 0 ? ret : 0;
}

/* Add the pages of a member. Return: their number, or -errno. */
static int add_member(struct follow *f, struct member *m, const bool *cpus)
{
	struct looking l = {.f = f, .m = m};
	int err = 0;

	for (unsigned int c = 0; c < f->r->nr_cpus && !err; c++)
		err = !cpus || cpus[c] ? member_each_page(m, c, add_page, &l) : 0;
	return err ? err : (int)l.nr;
}

/*
 * Can its area get more records? No if the process has ended or has become another program. Of a
 * session, that program's area has to be a member first: until then, more records may come.
 */
static bool lives(const struct follow *f, const struct member *m)
{
	return m->what.lives(m->what.arg) && !m->replaced && (f->known_ns || member_has_name(m));
}

static void look_for_the_dead(struct follow *f)
{
	for (uint32_t i = 0; i < f->nr_members; i++) {
		struct member *m = f->members[i];

		if (m->meta && !m->dead)
			m->dead = !lives(f, m);
	}
}

/* Check which processes have ended and which tables have changed. Return: as refresh(). */
static int refresh_all(struct follow *f)
{
	look_for_the_dead(f);
	for (uint32_t i = 0; i < f->nr_members; i++) {
		struct member *m = f->members[i];
		int err;

		if (!m->meta)
			continue;
		err = refresh(f, m);
		if (err < 0 && f->nr_members > 1) {
			member_over(m);
			err = 1;
		}
		if (err)
			return err;
	}
	return 0;
}

/* Read the pages that there are now, with the reader's present tables. Return: as follow_turn(). */
static int read_pages(struct follow *f, const bool *cpus)
{
	bool some = false;
	int err;

	for (uint32_t i = 0; i < f->nr_members; i++) {
		struct member *m = f->members[i];
		int nr = m->meta ? add_member(f, m, cpus) : 0;

		if (nr < 0)
			return nr;
		some |= nr > 0;
		/*
		 * keep the first member, whose options the reader shows; with @cpus, other CPUs may
		 * have records
		 */
		if (!nr && m->meta && m->dead && !cpus && !is_first(f, m))
			member_over(m);
	}
	err = some ? pages_refresh(f->pages) : 0;
	if (!err)
		err = pages_ready(f->pages);
	return err ? err : some;
}

void follow_known(struct follow *f, uint64_t known_ns)
{
	f->known_ns = known_ns;
}

int follow_turn(struct follow *f, const bool *cpus, uint64_t hold_ns)
{
	int err;

	if (!f->r || f->joined)
		return -ESTALE;
	pages_again(f->pages); /* before the tables change beneath it */
	/* older records are readable in all processes */
	pages_hold(f->pages, hold_ns, hold_ns ? f->known_ns : 0);
	err = refresh_all(f);
	if (err)
		return err < 0 ? err : -ESTALE;
	return read_pages(f, cpus);
}

/*
 * A turn of a new reader whose tables have grown since: gives the records from before they were
 * read.
 */
static int turn_up_to_the_tables(struct follow *f, const bool *cpus, uint64_t hold_ns)
{
	uint64_t known_ns = f->made_ns - 1;

	if (hold_ns && f->known_ns && f->known_ns < known_ns)
		known_ns = f->known_ns;
	pages_again(f->pages);
	pages_hold(f->pages, hold_ns, known_ns);
	look_for_the_dead(f);
	return read_pages(f, cpus);
}

int follow_renew(struct follow *f)
{
	return make_reader(f);
}

int follow_look(struct follow *f, const bool *cpus, uint64_t hold_ns, bool *renewed)
{
	int ret = follow_turn(f, cpus, hold_ns), limit = MAX_RENEWALS;

	for (int i = 0; ret == -ESTALE && i < limit; i++) {
		*renewed = true;
		ret = follow_renew(f);
		if (ret)
			return ret;
		limit = f->r->ts_is_ns ? MAX_RENEWALS_TIMED : MAX_RENEWALS;
		ret = follow_turn(f, cpus, hold_ns);
	}
	return ret == -ESTALE ? turn_up_to_the_tables(f, cpus, hold_ns) : ret;
}

bool follow_lives(const struct follow *f)
{
	for (uint32_t i = 0; i < f->nr_members; i++) {
		const struct member *m = f->members[i];

		if (m->fd >= 0 && !m->dead && lives(f, m))
			return true;
	}
	return false;
}

static void mark_page(void *arg, const struct page_ref *ref, const struct page_taken *taken)
{
	struct follow *f = arg;
	struct member *m = f->members[ref->member];
	struct area_cpu *row = m->meta ? member_row(m, ref->cpu) : NULL;
	uint32_t mark = page_read_mark(ref->seq, taken->bytes);
	uint8_t free_state = PAGE_FREE;
	struct page_desc d;
	uint64_t at;

	if (!row)
		return;
	row->read_events += taken->records;
	m->taken = true;
	at = area_desc_offset(&m->meta->head, ref->index);
	if (pwrite(m->fd, &mark, sizeof(mark), (off_t)(at + offsetof(struct page_desc, read))) < 0)
		return;
	/* only the reader takes a published page of a discarding buffer */
	if (!taken->whole || meta_overwrites(m->meta) ||
	    pread(m->fd, &d, sizeof(d), (off_t)at) != (ssize_t)sizeof(d) ||
	    d.state != PAGE_PUBLISHED || d.read != mark || member_has_rest(m, ref->index, &d))
		return;
	if (pwrite(m->fd, &free_state, 1, (off_t)(at + offsetof(struct page_desc, state))) == 1)
		m->freed = true;
}

/* Write the counts of a CPU into the area, and tell the writers that pages are free. */
static void report(const struct follow *f, struct member *m, unsigned int cpu)
{
	struct area_cpu *row = m->meta ? member_row(m, cpu) : NULL;
	const struct area_table *t;
	uint64_t at, gen, reported[3];

	if (!row || !m->taken)
		return;
	m->taken = false;
	t = &m->meta->head.tables[AREA_CPUS];
	reported[0] = row->read_events;
	pages_get_reported(f->pages, m->number, cpu, &reported[1], &reported[2]);
	at = t->offset + (uint64_t)(m->meta->buffers->first_cpu + cpu) * t->entry_bytes +
	     offsetof(struct area_cpu, read_events);
	if (pwrite(m->fd, reported, sizeof(reported), (off_t)at) < 0 || !m->freed)
		return;
	m->freed = false;
	at = offsetof(struct area_header, reader_gen);
	if (pread(m->fd, &gen, sizeof(gen), (off_t)at) == (ssize_t)sizeof(gen)) {
		gen++;
		if (pwrite(m->fd, &gen, sizeof(gen), (off_t)at) < 0)
			return;
	}
}

void follow_take(struct follow *f, unsigned int cpu, uint64_t n)
{
	if (!n || !f->r)
		return;
	pages_take(f->pages, cpu, n, mark_page, f);
	for (uint32_t i = 0; i < f->nr_members; i++)
		report(f, f->members[i], cpu);
}

static int stop_at_rest(void *arg, uint32_t index, const struct page_desc *d)
{
	struct looking *l = arg;
	uint64_t page[PAGE_BYTES / 8];
	const struct page_head *head = (const struct page_head *)page;
	struct page_desc now;

	if (!member_has_rest(l->m, index, d) || member_read_rest(l->m, index, page, &now) <= 0)
		return 0;
	for (uint64_t at = PAGE_HEAD_BYTES; at < head->commit && at < PAGE_BYTES; at += 8)
		if (page[at / 8])
			return -EEXIST;
	return 0;
}

bool follow_any(struct follow *f, const bool *cpus)
{
	if (f->joined)
		return true;
	if (!f->r || refresh_all(f) < 0)
		return false;
	for (uint32_t i = 0; i < f->nr_members; i++) {
		struct looking l = {.f = f, .m = f->members[i]};

		for (unsigned int c = 0; l.m->meta && c < f->r->nr_cpus; c++)
			if ((!cpus || cpus[c]) &&
			    member_each_page(l.m, c, stop_at_rest, &l) == -EEXIST)
				return true;
	}
	return false;
}

static int count_rest(void *arg, uint32_t index, const struct page_desc *d)
{
	struct looking *l = arg;

	l->nr += member_has_rest(l->m, index, d);
	return 0;
}

bool follow_is_full(struct follow *f, unsigned int cpu, uint64_t queued_bytes)
{
	uint64_t used = (queued_bytes + PAGE_BYTES - 1) / PAGE_BYTES, quota = 0;

	if (!f->r || refresh_all(f) < 0)
		return f->joined;
	for (uint32_t i = 0; i < f->nr_members; i++) {
		struct looking l = {.f = f, .m = f->members[i]};
		const struct area_cpu *row = l.m->meta ? member_row(l.m, cpu) : NULL;

		if (!row)
			continue;
		member_each_page(l.m, cpu, count_rest, &l);
		used += l.nr;
		quota = row->nr_pages > quota ? row->nr_pages : quota;
	}
	return used && (used * 100 >= follow_percent(f) * quota || !follow_tracing_on(f));
}

/* Read a word of a live process's area. */
static bool ask(const struct member *m, uint64_t at, uint32_t *word)
{
	return m->fd >= 0 && !m->dead &&
	       pread(m->fd, word, sizeof(*word), (off_t)at) == (ssize_t)sizeof(*word);
}

uint32_t follow_percent(const struct follow *f)
{
	const uint64_t at = offsetof(struct area_buffer, buffer_percent);
	uint32_t percent;

	for (uint32_t i = 0; i < f->nr_members; i++) {
		const struct member *m = f->members[i];

		if (m->meta && ask(m, m->meta->head.tables[AREA_BUFFERS].offset + at, &percent))
			return percent;
	}
	return 0;
}

bool follow_tracing_on(const struct follow *f)
{
	uint32_t on;

	for (uint32_t i = 0; i < f->nr_members; i++)
		if (ask(f->members[i], offsetof(struct area_header, tracing_on), &on) && on)
			return true;
	return false;
}
