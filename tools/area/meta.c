/* SPDX-License-Identifier: MIT */
/*
 * Loading, checking and packing the tables of an area: see meta.h.
 *
 * Each table has a row in `kinds`: the place of its copy, and its largest number of entries. The
 * limits are far above the numbers of any engine; they bound memory if a file is damaged or
 * hostile. An area may grow while it is read: each table is copied once, with the count that the
 * header had at that moment. Tests: tests/unit/reader/test_area.c.
 */
#include "tools/area/meta.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/page.h"
#include "tools/base/fail.h"
#include "tools/base/read_at.h"

#define MAX_CPUS	8192u
#define MAX_ENTRY_BYTES 4096u

/*
 * The most bytes of tables that may lie in holes of the file. An engine writes each row that it
 * counts, but a copied area may have holes in place of zeros.
 */
#define MAX_HOLES (UINT64_C(16) << 20)

struct kind {
	const char *name;
	uint32_t bytes; /* of our struct */
	uint32_t max;	/* entries */
	size_t ptr;	/* offsetof in struct meta; 0: not copied */
	size_t count;
};

#define ROW(id, text, type, limit, field, nr)                                                      \
	[id] = {text, sizeof(type), limit, offsetof(struct meta, field), offsetof(struct meta, nr)}

static const struct kind kinds[AREA_NR_TABLES] = {
	ROW(AREA_OBJECTS, "objects", struct area_object, 1u << 16, objects, nr_objects),
	ROW(AREA_FUNCTIONS, "functions", struct area_function, 1u << 23, functions, nr_functions),
	ROW(AREA_REFUSED, "refused functions", struct area_refused, 1u << 23, refused, nr_refused),
	ROW(AREA_TASKS, "tasks", struct area_task, 1u << 20, tasks, nr_tasks),
	ROW(AREA_CLOCKS, "clock pairs", struct area_clock, 1u << 20, clocks, nr_clocks),
	ROW(AREA_BUFFERS, "buffers", struct area_buffer, 1u << 10, buffers, nr_buffers),
	ROW(AREA_CPUS, "CPUs", struct area_cpu, 1u << 16, cpus, nr_area_cpus),
	[AREA_STRINGS] = {"strings", 1, 1u << 26, offsetof(struct meta, strings), 0},
	[AREA_STATUS] = {"status", 1, 1u << 20, offsetof(struct meta, status), 0},
	ROW(AREA_EVENTS, "events", struct area_event, 1u << 16, events, nr_events),
	[AREA_FORMATS] = {"formats", 1, 1u << 26, offsetof(struct meta, formats), 0},
	ROW(AREA_PROBES, "probes", struct area_probe, 1u << 23, probes, nr_probes),
	ROW(AREA_SNAPSHOTS, "snapshots", struct area_snapshot, 1u << 16, snapshots, nr_snapshots),
	ROW(AREA_PENDING, "pending words", struct area_pending, 64, pending, nr_pending),
	ROW(AREA_HISTS, "histograms", struct area_hist, 1u << 16, hists, nr_hists),
	[AREA_HIST_ROOM] = {"memory of histograms", AREA_HIST_PIECE, 1u << 24, 0, 0},
	ROW(AREA_PRINTKS, "printed formats", struct area_printk, 1u << 16, printks, nr_printks),
	ROW(AREA_LATENCIES, "latencies", struct area_latency, 64, latencies, nr_latencies),
	[AREA_PROFILE] = {"profiled functions", sizeof(struct area_profile), 1u << 22, 0, 0},
	[AREA_TIMES] = {"times of functions", sizeof(struct area_times), 1u << 22, 0, 0},
	[AREA_PAGES] = {"pages", sizeof(struct page_desc), 1u << 26, 0,
			offsetof(struct meta, nr_pages)},
	[AREA_FILES] = {"control files", 1, 1u << 22, 0, 0},
};

/* The number of bytes at @offset that lie in holes. A hostile file can be large at no cost. */
static uint64_t holes_in(int fd, uint64_t offset, uint64_t bytes)
{
	const off_t end = (off_t)(offset + bytes), before = lseek(fd, 0, SEEK_CUR);
	uint64_t sum = 0;

	for (off_t at = (off_t)offset; at < end;) {
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			break; /* a file system without SEEK_DATA */
		if (data < 0 || data > end)
			data = end;
		sum += (uint64_t)(data - at);
		hole = data < end ? lseek(fd, data, SEEK_HOLE) : end;
		if (hole <= data)
			break;
		at = hole;
	}
	if (before >= 0)
		lseek(fd, before, SEEK_SET);
	return sum;
}

static int check_table(const struct area_header *head, int id, uint64_t bytes, const char *what)
{
	const struct area_table *t = AREA_TABLE(head, id);
	const struct kind *k = &kinds[id];

	if (!t->count)
		return 0;
	if (t->entry_bytes < k->bytes || t->entry_bytes > MAX_ENTRY_BYTES)
		return fail(EINVAL, "%s is damaged: its table of %s has entries of %u bytes", what,
			    k->name, t->entry_bytes);
	if (t->count > k->max || t->count > t->capacity)
		return fail(EINVAL, "%s is damaged: its table of %s has %u entries", what, k->name,
			    t->count);
	if (t->offset < sizeof(uint64_t) || t->offset > bytes ||
	    (uint64_t)t->count * t->entry_bytes > bytes - t->offset)
		return fail(EINVAL, "%s is damaged: its table of %s lies outside the file", what,
			    k->name);
	return 0;
}

/* A header before version 1.2 ends before these tables. */
static uint32_t nr_more_tables(const struct area_header *head)
{
	return head->header_bytes < offsetof(struct area_header, stack_offset)
		       ? 0
		       : head->nr_more_tables;
}

bool meta_has_table(const struct area_header *head, int id)
{
	return id < AREA_MAX_TABLES ? id < (int)head->nr_tables
				    : id - AREA_MAX_TABLES < (int)nr_more_tables(head);
}

int meta_check_head(const struct area_header *head, uint64_t bytes, const char *what)
{
	int err;

	if (head->magic == 0)
		return fail(EAGAIN, "%s is not filled in: its engine has not started", what);
	if (head->magic != AREA_MAGIC)
		return fail(EINVAL, "'%s' is not an area", what);
	if (head->major != AREA_MAJOR)
		return fail(EPROTO,
			    "%s has version %u.%u of the area's format, this vestige reads %d.%d: "
			    "use the vestige that recorded it",
			    what, head->major, head->minor, AREA_MAJOR, AREA_MINOR);
	if (head->header_bytes < AREA_HEADER_BYTES_1_0 || head->header_bytes > bytes)
		return fail(EINVAL, "%s is damaged: its header has %u bytes", what,
			    head->header_bytes);
	if (head->page_bytes != PAGE_BYTES)
		return fail(EINVAL, "%s is damaged: its pages have %u bytes", what,
			    head->page_bytes);
	if (head->nr_tables < AREA_MIN_TABLES || head->nr_tables > AREA_MAX_TABLES)
		return fail(EINVAL, "%s is damaged: it has %u tables", what, head->nr_tables);
	if (head->nr_cpus == 0 || head->nr_cpus > MAX_CPUS)
		return fail(EINVAL, "%s is damaged: it has %u CPUs", what, head->nr_cpus);
	if (head->clock > AREA_CLOCK_MONO)
		return fail(EINVAL, "%s is damaged: it has clock %u", what, head->clock);
	if (nr_more_tables(head) > AREA_MAX_MORE_TABLES)
		return fail(EINVAL, "%s is damaged: it has %u more tables", what,
			    nr_more_tables(head));
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		if (!meta_has_table(head, i))
			continue;
		err = check_table(head, i, bytes, what);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Copy one table; entries that are longer than ours are cut. @holes: sum of the bytes in holes;
 * increased.
 */
static int load_table(struct meta *m, int fd, uint64_t base, int id, const char *what,
		      uint64_t *holes)
{
	const struct area_table *t = AREA_TABLE(&m->head, id);
	const struct kind *k = &kinds[id];
	char **ptr = (char **)((char *)m + k->ptr);
	size_t stride = t->count ? t->entry_bytes : k->bytes;
	char *buf;
	int err;

	*holes += holes_in(fd, base + t->offset, t->count * stride);
	if (*holes > MAX_HOLES)
		return fail(EINVAL,
			    "%s is damaged: its table of %s has %u entries, of which it holds few",
			    what, k->name, t->count);
	/* One byte more than needed: tables of bytes end with NUL. */
	buf = calloc(1, (size_t)t->count * stride + 1);
	if (!buf)
		return fail(ENOMEM, "%s: out of memory for %u %s", what, t->count, k->name);
	if (t->count) {
		err = read_at_or_fail(fd, buf, (size_t)t->count * stride, base + t->offset, what);
		if (err) {
			free(buf);
			return err;
		}
	}
	if (stride != k->bytes)
		for (uint32_t i = 1; i < t->count; i++)
			memmove(buf + (size_t)i * k->bytes, buf + i * stride, k->bytes);
	*ptr = buf;
	return 0;
}

static int check_rows(struct meta *m, const char *what)
{
	for (uint32_t i = 0; i < m->nr_tasks; i++)
		m->tasks[i].comm[sizeof(m->tasks[i].comm) - 1] = '\0';
	for (uint32_t i = 0; i < m->nr_buffers; i++) {
		struct area_buffer *b = &m->buffers[i];

		b->name[sizeof(b->name) - 1] = '\0';
		b->tracer[sizeof(b->tracer) - 1] = '\0';
		if (b->first_cpu > m->nr_area_cpus || b->nr_cpus > m->nr_area_cpus - b->first_cpu)
			return fail(EINVAL, "%s is damaged: buffer %u has CPUs that do not exist",
				    what, i);
	}
	for (uint32_t i = 0; i < m->nr_area_cpus; i++) {
		struct area_cpu *c = &m->cpus[i];

		if (c->cpu >= m->head.nr_cpus)
			return fail(EINVAL, "%s is damaged: it counts for CPU %u of %u", what,
				    c->cpu, m->head.nr_cpus);
		/* A spool has no descriptors, and they are not needed. */
		if (m->nr_pages &&
		    (c->first_page > m->nr_pages || c->nr_pages > m->nr_pages - c->first_page))
			return fail(EINVAL, "%s is damaged: CPU %u has pages that do not exist",
				    what, c->cpu);
		/* after the quota was reduced, more pages may be in use */
		if (m->nr_pages && c->nr_backed > m->nr_pages - c->first_page)
			c->nr_backed = m->nr_pages - c->first_page;
	}
	return 0;
}

int meta_load(int fd, uint64_t base, uint64_t bytes, const char *what, struct meta **out)
{
	uint64_t holes = 0;
	struct meta *m;
	int err;

	if (bytes < AREA_HEADER_BYTES_1_0)
		return bytes ? fail(EINVAL, "'%s' is too short to be an area", what)
			     : fail(EAGAIN, "'%s' is empty: its engine has not started", what);
	m = calloc(1, sizeof(*m));
	if (!m)
		return fail(ENOMEM, "%s: out of memory", what);
	err = read_at_or_fail(fd, &m->head, bytes < sizeof(m->head) ? bytes : sizeof(m->head), base,
			      what);
	if (!err)
		err = meta_check_head(&m->head, bytes, what);
	if (err)
		goto out_free;
	if (m->head.header_bytes < sizeof(m->head))
		memset((char *)&m->head + m->head.header_bytes, 0,
		       sizeof(m->head) - m->head.header_bytes);
	m->head.instance[sizeof(m->head.instance) - 1] = '\0';
	/* an older minor version has fewer tables */
	for (int i = 0; i < AREA_NR_TABLES; i++)
		if (!meta_has_table(&m->head, i))
			*AREA_TABLE(&m->head, i) = (struct area_table){0};
	m->head.session[sizeof(m->head.session) - 1] = '\0';
	m->head.exe[sizeof(m->head.exe) - 1] = '\0';
	/* the area was found below the root of its process */
	if (sscanf(what, "/proc/%d/root/", &m->root_of) != 1)
		m->root_of = 0;
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		if (kinds[i].count)
			*(uint32_t *)((char *)m + kinds[i].count) = AREA_TABLE(&m->head, i)->count;
		if (!kinds[i].ptr)
			continue;
		err = load_table(m, fd, base, i, what, &holes);
		if (err)
			goto out_free;
	}
	m->string_bytes = (size_t)m->head.tables[AREA_STRINGS].count;
	m->status_bytes = strlen(m->status);
	m->format_bytes = (size_t)m->head.tables[AREA_FORMATS].count;
	err = check_rows(m, what);
	if (err)
		goto out_free;
	*out = m;
	return 0;
out_free:
	meta_free(m);
	return err;
}

void meta_free(struct meta *m)
{
	if (!m)
		return;
	for (int i = 0; i < AREA_NR_TABLES; i++)
		if (kinds[i].ptr)
			free(*(void **)((char *)m + kinds[i].ptr));
	free(m);
}

bool meta_waits(const struct meta *m)
{
	for (uint32_t i = 0; i < m->nr_objects; i++)
		if (m->objects[i].status == AREA_OBJECT_WAITING)
			return true;
	return false;
}

const char *meta_string(const struct meta *m, uint32_t offset)
{
	return offset < m->string_bytes ? m->strings + offset : "";
}

int meta_pack(const struct meta *m, void **out, size_t *bytes)
{
	struct area_header head = m->head;
	size_t size = sizeof(head);
	char *buf;

	head.header_bytes = sizeof(head);
	head.nr_tables = AREA_NR_FIRST_TABLES;
	head.nr_more_tables = AREA_NR_MORE_TABLES;
	memset(head.tables, 0, sizeof(head.tables));
	memset(head.more_tables, 0, sizeof(head.more_tables));
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		struct area_table *t = AREA_TABLE(&head, i);

		if (!kinds[i].ptr)
			continue;
		t->offset = size;
		t->entry_bytes = kinds[i].bytes;
		t->count = AREA_TABLE(&m->head, i)->count;
		t->capacity = t->count;
		size += ((size_t)t->count * t->entry_bytes + 7) & ~(size_t)7;
	}
	head.file_bytes = size;
	head.pages_offset = 0;
	buf = calloc(1, size);
	if (!buf)
		return fail(ENOMEM, "out of memory for %zu bytes of tables", size);
	memcpy(buf, &head, sizeof(head));
	for (int i = 0; i < AREA_NR_TABLES; i++) {
		const struct area_table *t = AREA_TABLE(&head, i);

		if (kinds[i].ptr && t->count)
			memcpy(buf + t->offset, *(char *const *)((const char *)m + kinds[i].ptr),
			       (size_t)t->count * t->entry_bytes);
	}
	*out = buf;
	*bytes = size;
	return 0;
}

struct meta_losses meta_losses(const struct meta *m)
{
	struct meta_losses sum = {0};
	const struct area_buffer *b = m->buffers;

	if (!m->nr_buffers)
		return sum;
	for (uint32_t i = b->first_cpu; i < b->first_cpu + b->nr_cpus; i++) {
		sum.overrun += m->cpus[i].overrun;
		sum.dropped_events += m->cpus[i].dropped_events;
		sum.commit_overrun += m->cpus[i].commit_overrun;
		sum.no_memory += m->cpus[i].no_memory;
		sum.no_growth += m->cpus[i].no_growth;
	}
	return sum;
}
