/* SPDX-License-Identifier: MIT */
/*
 * The native block as a source of pages: see native.h. A block is not used if the file was cut or
 * appended to, if its tables are damaged or if it has another version; the file has the same
 * records in the kernel's format. A chunk is unpacked when it is first needed; if zstd's checksum
 * shows damage, that is an error. Data with valid checksums is still untrusted: each count, offset
 * and size is checked.
 *
 * One unpacked chunk is kept for each CPU, 128 KB. Tests: tests/unit/reader/test_native.c, fuzz
 * target dat.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "tools/area/page_pack.h"
#include "tools/area/pages_impl.h"
#include "tools/base/fail.h"
#include "tools/base/read_at.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/native.h"

#define MAX_SHIFT 63u

#define CHUNK_HEAD 8u
#define CHUNK_MAX  (CHUNK_HEAD + ZSTD_COMPRESSBOUND(PACK_MAX_BYTES))

/* Members that have events: each has a table of 128 KB. */
#define MAX_EVENT_MEMBERS 1024u

struct unpacked {
	uint64_t chunk; /* number + 1; 0 none */
	ZSTD_DCtx *zstd;
	unsigned char *pages;
};

struct native {
	int fd;
	char *path;
	uint64_t *offsets; /* of the chunks */
	const struct native_chunk *chunks;
	size_t nr_chunks;
	void *tables; /* chunks lie in it */
	struct unpacked *cpus;
	unsigned int nr_cpus;
};

static void native_close(void *arg)
{
	struct native *n = arg;

	for (unsigned int i = 0; n->cpus && i < n->nr_cpus; i++) {
		ZSTD_freeDCtx(n->cpus[i].zstd);
		free(n->cpus[i].pages);
	}
	free(n->cpus);
	free(n->offsets);
	free(n->tables);
	free(n->path);
	free(n);
}

static int damaged(const struct native *n, uint64_t number)
{
	return fail(EINVAL,
		    "'%s' is damaged at offset %llu; it has its records twice: after "
		    "`truncate -s -1 '%s'` the others are read",
		    n->path, (unsigned long long)n->offsets[number], n->path);
}

/* @raw, @packed: freed by the caller, also on failure. */
static int read_chunk(const struct native *n, uint64_t number, struct unpacked *u, void **packed,
		      void **raw)
{
	const struct native_chunk *c = &n->chunks[number];
	uint32_t sizes[2];
	size_t got;
	int ret;

	*packed = malloc(c->packed);
	if (!*packed)
		return fail(ENOMEM, "out of memory for a chunk of '%s'", n->path);
	ret = read_at(n->fd, *packed, c->packed, n->offsets[number]);
	if (ret)
		return fail_errno(-ret, "cannot read '%s'", n->path);
	memcpy(sizes, *packed, sizeof(sizes));
	if (sizes[0] != c->packed - sizeof(sizes) || sizes[1] > PACK_MAX_BYTES)
		return damaged(n, number);
	*raw = malloc((size_t)sizes[1] + 1);
	if (!*raw)
		return fail(ENOMEM, "out of memory for a chunk of '%s'", n->path);
	got = ZSTD_decompressDCtx(u->zstd, *raw, sizes[1], (char *)*packed + sizeof(sizes),
				  sizes[0]);
	if (ZSTD_isError(got) || got != sizes[1])
		return damaged(n, number);
	ret = page_unpack(*raw, got, c->nr_pages, u->pages);
	if (ret == -ENOMEM)
		return fail(ENOMEM, "out of memory for a chunk of '%s'", n->path);
	return ret ? damaged(n, number) : 0;
}

static int load_chunk(const struct native *n, uint64_t number, struct unpacked *u)
{
	void *packed = NULL, *raw = NULL;
	int ret;

	u->chunk = 0;
	if (!u->zstd)
		u->zstd = ZSTD_createDCtx();
	if (!u->pages)
		u->pages = malloc((size_t)PACK_PAGES * PAGE_BYTES);
	if (!u->zstd || !u->pages)
		return fail(ENOMEM, "out of memory for a chunk of '%s'", n->path);
	ret = read_chunk(n, number, u, &packed, &raw);
	free(packed);
	free(raw);
	if (!ret)
		u->chunk = number + 1;
	return ret;
}

static int native_fetch(void *arg, const struct page_ref *ref, void *page)
{
	const struct native *n = arg;
	struct unpacked *u = &n->cpus[ref->cpu];
	uint64_t number = ref->offset / PACK_PAGES;
	int ret;

	if (u->chunk != number + 1) {
		ret = load_chunk(n, number, u);
		if (ret)
			return ret;
	}
	memcpy(page, u->pages + ref->offset % PACK_PAGES * PAGE_BYTES, PAGE_BYTES);
	return 1;
}

static bool find_tail(int fd, struct native_tail *t)
{
	struct stat st;
	uint64_t bytes, end;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*t))
		return false;
	bytes = (uint64_t)st.st_size;
	end = bytes - sizeof(*t);
	if (read_at(fd, t, sizeof(*t), end) || t->magic != NATIVE_MAGIC ||
	    t->major != NATIVE_MAJOR || t->tail_bytes != sizeof(*t) || t->file_bytes != bytes)
		return false;
	return t->chunks_offset <= t->tables_offset && t->tables_offset <= end &&
	       t->tables_packed == end - t->tables_offset &&
	       t->tables_packed <= native_tables_max(bytes) &&
	       t->tables_bytes <= native_tables_max(bytes);
}

/* The tables, unpacked; NULL: they do not match the tail, or there is no memory for them. */
static void *load_tables(int fd, const struct native_tail *t)
{
	void *packed = malloc(t->tables_packed + 1), *raw = NULL;
	bool good = packed && !read_at(fd, packed, t->tables_packed, t->tables_offset) &&
		    cursor_zstd_agrees(packed, t->tables_packed, t->tables_bytes);
	size_t got = 0;

	if (good)
		raw = malloc(t->tables_bytes + 1);
	if (raw)
		got = ZSTD_decompress(raw, t->tables_bytes, packed, t->tables_packed);
	free(packed);
	if (raw && (ZSTD_isError(got) || got != t->tables_bytes)) {
		free(raw);
		raw = NULL;
	}
	return raw;
}

/* The rest of the tables. */
struct rest {
	const char *at;
	size_t bytes;
};

/* The next @nr rows; NULL if there are fewer. */
static const void *rows(struct rest *r, uint64_t nr, size_t bytes)
{
	const char *at = r->at;

	if (nr > r->bytes / bytes)
		return NULL;
	r->at += nr * bytes;
	r->bytes -= nr * bytes;
	return at;
}

static bool take_lines(struct pages *p, struct rest *rest, uint32_t nr)
{
	const struct native_line *line = rows(rest, nr, sizeof(*line));

	if (!line)
		return false;
	p->clock.identity = !nr;
	p->clock.lines = calloc((size_t)nr + 1, sizeof(*p->clock.lines));
	if (!p->clock.lines)
		return false;
	p->clock.nr_lines = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (line[i].shift > MAX_SHIFT || (i && line[i].stamp < line[i - 1].stamp))
			return false;
		p->clock.lines[i] = (struct clock_line){.stamp = line[i].stamp,
							.ns = line[i].ns,
							.end = line[i].end,
							.mult = line[i].mult,
							.shift = (unsigned int)line[i].shift};
	}
	return true;
}

static bool take_maps(struct member *m, struct rest *rest, uint32_t nr)
{
	const struct native_map *row = rows(rest, nr, sizeof(*row));

	if (!row)
		return false;
	m->maps = calloc((size_t)nr + 1, sizeof(*m->maps));
	if (!m->maps)
		return false;
	m->nr_maps = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (i && row[i].lo < row[i - 1].lo)
			return false;
		m->maps[i] = (struct map){.lo = row[i].lo,
					  .hi = row[i].hi,
					  .bias = row[i].bias,
					  .base = row[i].base,
					  .unload = row[i].unload};
	}
	pages_settle_maps(m);
	return true;
}

static bool take_members(struct pages *p, struct rest *rest, const struct native_head *head)
{
	const struct native_member *row = rows(rest, head->nr_members, sizeof(*row));

	p->members = row ? calloc((size_t)head->nr_members + 1, sizeof(struct member *)) : NULL;
	if (!p->members)
		return false;
	p->nr_members = head->nr_members;
	for (uint32_t i = 0; i < head->nr_members; i++) {
		const uint64_t *functions = rows(rest, row[i].nr_functions, sizeof(*functions));
		struct member *m = functions ? calloc(1, sizeof(*m)) : NULL;

		p->members[i] = m;
		if (!m)
			return false;
		m->functions = malloc(((size_t)row[i].nr_functions + 1) * sizeof(*functions));
		if (!m->functions)
			return false;
		memcpy(m->functions, functions, row[i].nr_functions * sizeof(*functions));
		m->nr_functions = row[i].nr_functions;
		m->counter = row[i].counter;
		m->key = row[i].process & ~NATIVE_ENDED;
		m->ended = row[i].process & NATIVE_ENDED;
	}
	for (uint32_t i = 0; i < head->nr_members; i++)
		if (!take_maps(p->members[i], rest, row[i].nr_maps))
			return false;
	return true;
}

static bool take_events(struct pages *p, struct rest *rest, uint32_t nr, const struct formats *fs)
{
	const struct native_event *row = rows(rest, nr, sizeof(*row));
	unsigned int nr_members = 0;

	if (!row || (nr && pages_find_codes(p, fs)))
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		struct member *m = row[i].member < p->nr_members ? p->members[row[i].member] : NULL;

		if (!m)
			return false;
		if (!m->events && ++nr_members <= MAX_EVENT_MEMBERS)
			m->events = calloc(UINT16_MAX + 1u, sizeof(*m->events));
		if (!m->events)
			return false;
		m->events[row[i].from] = row[i].to;
	}
	return true;
}

/* The chunks, which must fill their part of the file, and the pages, which must fill them. */
static bool take_pages(struct pages *p, struct native *n, struct rest *rest,
		       const struct native_head *head, const struct native_tail *tail)
{
	const struct native_page *page;
	uint64_t offset = tail->chunks_offset, i = 0;

	n->chunks = rows(rest, head->nr_chunks, sizeof(*n->chunks));
	page = n->chunks ? rows(rest, head->nr_pages, sizeof(*page)) : NULL;
	if (!page || rest->bytes)
		return false;
	n->nr_chunks = head->nr_chunks;
	n->offsets = malloc((head->nr_chunks + 1) * sizeof(*n->offsets));
	p->refs = malloc((head->nr_pages + 1) * sizeof(*p->refs));
	if (!n->offsets || !p->refs)
		return false;
	for (uint64_t c = 0; c < head->nr_chunks; c++) {
		uint32_t nr = n->chunks[c].nr_pages, packed = n->chunks[c].packed;

		if (packed < CHUNK_HEAD || packed > CHUNK_MAX ||
		    packed > tail->tables_offset - offset || nr > PACK_PAGES ||
		    nr > head->nr_pages - i)
			return false;
		n->offsets[c] = offset;
		offset += packed;
		for (uint32_t k = 0; k < nr; k++, i++) {
			const struct native_page *at = &page[i], *last = i ? at - 1 : at;

			if (at->cpu >= head->nr_cpus || at->member >= head->nr_members ||
			    at->cpu < last->cpu || (k && at->cpu != last->cpu) ||
			    (at->cpu == last->cpu && at->base < last->base))
				return false;
			p->refs[i] = (struct page_ref){.base = at->base,
						       .offset = c * PACK_PAGES + k,
						       .seq = at->seq,
						       .lost = at->lost,
						       .member = at->member,
						       .cpu = at->cpu,
						       .nr_records = at->nr_records};
		}
	}
	p->nr_refs = head->nr_pages;
	return i == head->nr_pages && offset == tail->tables_offset;
}

static bool take_bases(struct pages *p, struct rest *rest, uint32_t nr)
{
	const struct record_base *row = rows(rest, nr, sizeof(*row));

	p->reader.bases = row ? malloc(((size_t)nr + 1) * sizeof(*row)) : NULL;
	if (!p->reader.bases)
		return false;
	memcpy(p->reader.bases, row, (size_t)nr * sizeof(*row));
	p->reader.nr_bases = nr;
	p->reader.bases_known = true;
	return true;
}

static bool take_tables(struct pages *p, struct native *n, const struct native_tail *tail,
			unsigned int nr_cpus, const struct formats *fs)
{
	struct rest rest = {n->tables, tail->tables_bytes};
	const struct native_head *head = rows(&rest, 1, sizeof(*head));

	if (!head || head->nr_cpus != nr_cpus)
		return false;
	n->cpus = calloc((size_t)nr_cpus + 1, sizeof(*n->cpus));
	n->nr_cpus = nr_cpus;
	p->reader.nr_cpus = nr_cpus;
	p->reader.leaves_unknown = head->flags & NATIVE_LEAVES_UNKNOWN;
	return n->cpus && take_lines(p, &rest, head->nr_lines) && take_members(p, &rest, head) &&
	       take_events(p, &rest, head->nr_events, fs) && take_bases(p, &rest, head->nr_bases) &&
	       take_pages(p, n, &rest, head, tail);
}

int native_open(int fd, const char *path, unsigned int nr_cpus, const struct formats *fs,
		struct pages **out)
{
	struct pages_source source = {.fetch = native_fetch, .close = native_close};
	struct native_tail tail;
	struct native *n;
	struct pages *p;

	*out = NULL;
	if (!find_tail(fd, &tail))
		return 0;
	n = calloc(1, sizeof(*n));
	if (!n)
		return fail(ENOMEM, "out of memory");
	n->fd = fd;
	n->path = strdup(path);
	n->tables = load_tables(fd, &tail);
	if (!n->path || !n->tables) {
		native_close(n);
		return 0;
	}
	source.arg = n;
	p = pages_new(&source);
	if (!p)
		return -ENOMEM;
	p->reader.ops = &pages_ops;
	if (!take_tables(p, n, &tail, nr_cpus, fs) || pages_make_streams(p)) {
		pages_free(p);
		return 0;
	}
	*out = p;
	return 0;
}
