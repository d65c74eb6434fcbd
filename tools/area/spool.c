/* SPDX-License-Identifier: MIT */
/*
 * The spool as a reader: see spool_format.h and docs/formats/spool.md.
 *
 * One pass over the file adds every page to the index. A chunk that is cut off by the end of the
 * file ends the pass: of the spool of a killed recorder all complete pages are read.
 * Tests: tests/unit/reader/test_spool.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/area/pages.h"
#include "tools/area/spool_format.h"
#include "tools/area/spool_grow.h"
#include "tools/area/spool_pack.h"
#include "tools/area/spool_rest.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/open_regular.h"
#include "tools/base/read_at.h"
#include "tools/reader/reader.h"

#define SLOTS_AT_ONCE 256u
#define MAX_CLOCKS    (1u << 20)

/* Bytes that one read takes for a CPU's pages. */
#define WINDOW_MIN (16u << 10)
#define WINDOW_MAX (32u << 10)
static_assert(WINDOW_MIN >= SPOOL_PACKED_MAX && WINDOW_MIN >= PAGE_BYTES, "a page fits a window");

/*
 * A part of the file, read at once, from which pages of one CPU are taken: most pages then need no
 * system call. If few pages in it were of that CPU, the next window is smaller. One thread at a
 * time fetches a CPU's pages (pages_ahead.c).
 */
struct window {
	unsigned char *data; /* WINDOW_MAX; NULL: not used yet */
	uint64_t offset;
	uint32_t bytes, size; /* in it; bytes of the next read */
	uint32_t used;	      /* bytes of pages that were taken */
};

struct spool {
	int fd;
	char *path;
	uint64_t bytes;
	bool tables_only;
	const char *cut;			   /* what the file's end cuts; NULL: nothing */
	bool has_end; /* the file has SPOOL_END */ /* chunks of pages are passed over */
	struct spool_head head;
	struct spool_slot *slots; /* SLOTS_AT_ONCE, while the file is scanned */
	char *names;		  /* the same; NULL: there are none */
	size_t names_bytes;
	struct window *windows; /* by CPU; NULL: each page is read by itself */
	unsigned int nr_windows;
	uint64_t at; /* scanned so far */
	uint32_t nr_clocks;
	bool has_meta; /* a SPOOL_META was scanned since this was cleared */
	struct spool_rest rest;
};

struct spool_grow {
	struct spool *s; /* the pages' */
	struct pages *p;
	bool begun;
};

/* Read up to @bytes. Return: the number of bytes, or -errno with fail() set. */
static long read_some(const struct spool *s, void *buf, size_t bytes, uint64_t offset)
{
	if (offset >= s->bytes)
		return 0;
	if (bytes > s->bytes - offset)
		bytes = s->bytes - offset;
	return read_at_or_fail(s->fd, buf, bytes, offset, s->path) ?: (long)bytes;
}

/* @bytes at @offset, for a page of @cpu. Return: 0 and *@at, or -errno with fail() set. */
static int window_at(struct spool *s, unsigned int cpu, uint64_t offset, uint32_t bytes, void *buf,
		     const void **at)
{
	struct window *w = cpu < s->nr_windows ? &s->windows[cpu] : NULL;
	long n;

	if (w && !w->data)
		w->data = malloc(WINDOW_MAX);
	if (!w || !w->data) {
		*at = buf;
		return read_at_or_fail(s->fd, buf, bytes, offset, s->path);
	}
	if (offset < w->offset || offset - w->offset + bytes > w->bytes) {
		if (w->used < w->size / 4)
			w->size = w->size / 2 < WINDOW_MIN ? WINDOW_MIN : w->size / 2;
		else if (w->size < WINDOW_MAX)
			w->size *= 2;
		w->bytes = w->used = 0;
		n = read_some(s, w->data, w->size, offset);
		if (n < 0)
			return (int)n;
		if (n < (long)bytes)
			return fail(EINVAL, "%s is cut short", s->path);
		w->offset = offset;
		w->bytes = (uint32_t)n;
	}
	w->used += bytes;
	*at = w->data + (offset - w->offset);
	return 0;
}

/* page_ref.index is the length of the packed page; 0: the page is in a slot. */
static int spool_fetch(void *arg, const struct page_ref *ref, void *page)
{
	uint64_t packed[SPOOL_PACKED_MAX / 8];
	const void *at = NULL;
	int err;

	if (ref->index & SPOOL_REST_MARK)
		return spool_rest_fetch(&((struct spool *)arg)->rest, ref, page);
	if (ref->index > sizeof(packed))
		return 0;
	err = window_at(arg, ref->cpu, ref->offset, ref->index ? ref->index : PAGE_BYTES,
			ref->index ? (void *)packed : page, &at);
	if (err)
		return err;
	if (ref->index)
		return spool_unpack(at, ref->index, page) > 0;
	if (at != page)
		memcpy(page, at, PAGE_BYTES);
	return 1;
}

static int spool_calls(void *arg, const struct page_ref *ref, struct page_calls *out)
{
	const void *at = NULL;
	uint32_t last;
	int err;

	static_assert(sizeof(out->room) >= SPOOL_PACKED_MAX, "a packed page has room");
	/* a mark makes the index large, too */
	if (!ref->index || ref->index > sizeof(out->room))
		return 0;
	err = window_at(arg, ref->cpu, ref->offset, ref->index, out->room, &at);
	return err ? err : spool_look(at, ref->index, out, &last) > 0;
}

static void spool_close(void *arg)
{
	struct spool *s = arg;

	close(s->fd);
	for (unsigned int i = 0; i < s->nr_windows; i++)
		free(s->windows[i].data);
	free(s->windows);
	spool_rest_close(&s->rest);
	free(s->path);
	free(s->slots);
	free(s->names);
	free(s);
}

static int add_meta(struct spool *s, struct pages *p, const struct spool_chunk *c, uint64_t at)
{
	struct meta *m;
	int err = meta_load(s->fd, at, c->used, s->path, &m);

	if (err)
		return err;
	/* There are no descriptors in a spool. */
	m->nr_pages = 0;
	s->has_meta = true;
	return pages_set_member(p, c->member, m);
}

static int add_pages(struct spool *s, struct pages *p, const struct spool_chunk *c, uint64_t at)
{
	uint64_t left = c->used / sizeof(struct spool_slot);

	while (left) {
		uint32_t nr = left < SLOTS_AT_ONCE ? (uint32_t)left : SLOTS_AT_ONCE;
		int err = read_at_or_fail(s->fd, s->slots, nr * sizeof(*s->slots), at, s->path);

		for (uint32_t i = 0; i < nr && err >= 0; i++) {
			const struct spool_slot *slot = &s->slots[i];
			uint64_t offset =
				at + i * sizeof(*slot) + offsetof(struct spool_slot, page);

			err = pages_add_page(p, slot->member, slot->page, offset, 0,
					     !slot->publish_seq);
		}
		if (err < 0)
			return err;
		at += nr * sizeof(*s->slots);
		left -= nr;
	}
	return 0;
}

/* Add packed pages, one after another; pages behind a damaged one are not found. */
static int add_packed(struct spool *s, struct pages *p, const struct spool_chunk *c, uint64_t at)
{
	uint64_t end = at + c->used, page[PAGE_BYTES / 8];
	size_t room = SLOTS_AT_ONCE * sizeof(*s->slots), have = 0, pos = 0;

	while (at < end) {
		const unsigned char *here = (const unsigned char *)s->slots + pos;
		struct spool_packed head;
		struct page_calls page_calls;
		uint32_t last;
		bool calls;
		long n;
		int err;

		if (have - pos < SPOOL_PACKED_MAX && at + (have - pos) < end) {
			n = read_some(s, s->slots, end - at < room ? end - at : room, at);
			if (n < 0)
				return (int)n;
			have = (size_t)n;
			pos = 0;
			here = (const unsigned char *)s->slots;
		}
		n = spool_look(here, have - pos, &page_calls, &last);
		calls = n > 0;
		if (!calls)
			n = spool_unpack(here, have - pos, page);
		/* the last page of a cut chunk */
		if (n < 0 && s->cut && end - at < SPOOL_PACKED_MAX)
			return 0;
		if (n < 0) {
			note("%s is damaged at offset %llu: the rest of its chunk is left out",
			     s->path, (unsigned long long)at);
			return 0;
		}
		memcpy(&head, here, sizeof(head));
		err = calls ? pages_add_calls(p, head.member, &page_calls.head, page_calls.nr, last,
					      at, (uint32_t)n, !head.publish_seq)
			    : pages_add_page(p, head.member, page, at, (uint32_t)n,
					     !head.publish_seq);
		if (err < 0)
			return err;
		at += (uint64_t)n;
		pos += (size_t)n;
	}
	return 0;
}

static int add_clocks(struct spool *s, struct pages *p, const struct spool_chunk *c, uint64_t at)
{
	uint64_t nr = c->used / sizeof(struct area_clock);

	for (uint64_t i = 0; i < nr; i++) {
		struct area_clock pair;
		int err =
			read_at_or_fail(s->fd, &pair, sizeof(pair), at + i * sizeof(pair), s->path);

		if (!err && ++s->nr_clocks > MAX_CLOCKS)
			err = fail(EINVAL, "%s is damaged: it has too many clock pairs", s->path);
		if (!err)
			err = pages_add_clock(p, &pair);
		if (err)
			return err;
	}
	return 0;
}

static int take_names(struct spool *s, const struct spool_chunk *c, uint64_t at)
{
	char *names = malloc(c->used + 1);
	int err;

	if (!names)
		return fail(ENOMEM, "%s: out of memory for its symbols", s->path);
	err = read_at_or_fail(s->fd, names, c->used, at, s->path);
	if (err) {
		free(names);
		return err;
	}
	free(s->names);
	s->names = names;
	s->names_bytes = c->used;
	return 0;
}

/* The contents of a chunk, for messages. */
static const char *chunk_name(uint32_t type)
{
	static const char *const names[] = {
		[SPOOL_META] = "a process's tables", [SPOOL_PAGES] = "pages of records",
		[SPOOL_CLOCK] = "clock pairs",	     [SPOOL_END] = "its end",
		[SPOOL_PACKED] = "pages of records", [SPOOL_NAMES] = "its symbols"};

	return type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "a chunk";
}

/* The file's end cuts @c off: add its complete pages. */
static int add_cut(struct spool *s, struct pages *p, struct spool_chunk *c, uint64_t body)
{
	uint64_t left = s->bytes - body;

	s->cut = chunk_name(c->type);
	if (s->tables_only)
		return 0;
	if (c->used > left)
		c->used = left;
	return c->type == SPOOL_PAGES	 ? add_pages(s, p, c, body)
	       : c->type == SPOOL_PACKED ? add_packed(s, p, c, body)
					 : 0;
}

/*
 * Note to the user what the file lacks. @looked: the areas of its processes were searched. Return:
 * 0; -EINVAL with fail() set: it has no records.
 */
static int tell_cut(const struct spool *s, const struct reader *r, const struct spool_end *end,
		    bool looked)
{
	uint64_t nr = 0;
	char more[96] = "";

	for (unsigned int cpu = 0; r->stats && cpu < r->nr_cpus; cpu++)
		nr += r->stats[cpu].entries;
	if (looked && s->rest.nr_areas)
		snprintf(more, sizeof(more), ", with those that the areas of %u %s still had",
			 s->rest.nr_areas, s->rest.nr_areas > 1 ? "processes" : "process");
	else if (!looked)
		snprintf(more, sizeof(more),
			 " (`vestige recover` takes those that are left in its processes' areas, "
			 "too)");
	if (s->cut && !nr)
		return fail(EINVAL, "%s ends in the middle of %s: no record of it can be read",
			    s->path, s->cut);
	if (s->cut)
		note("%s ends in the middle of %s: %llu records are read%s", s->path, s->cut,
		     (unsigned long long)nr, more);
	else if (!s->has_end)
		note("%s has no end, as its recorder was stopped or still runs: %llu records are "
		     "read%s",
		     s->path, (unsigned long long)nr, more);
	else if (end->flags & SPOOL_END_INCOMPLETE)
		note("%s lacks records, as the disk was full: %llu records are read", s->path,
		     (unsigned long long)nr);
	return 0;
}

static int scan(struct spool *s, struct pages *p, struct spool_end *end)
{
	int err = 0;

	while (!err && s->bytes - s->at >= sizeof(struct spool_chunk)) {
		struct spool_chunk c;
		uint64_t body = s->at + sizeof(c);

		err = read_at_or_fail(s->fd, &c, sizeof(c), s->at, s->path);
		if (err)
			break;
		if (c.magic != SPOOL_CHUNK_MAGIC || c.length % 8 || c.used > c.length) {
			note("%s is damaged at offset %llu: what comes before it is read", s->path,
			     (unsigned long long)s->at);
			break;
		}
		if (c.length > s->bytes - body)
			return add_cut(s, p, &c, body);
		switch (c.type) {
		case SPOOL_META:
			err = add_meta(s, p, &c, body);
			break;
		case SPOOL_PAGES:
			err = s->tables_only ? 0 : add_pages(s, p, &c, body);
			break;
		case SPOOL_PACKED:
			err = s->tables_only ? 0 : add_packed(s, p, &c, body);
			break;
		case SPOOL_OPEN:
			err = pages_grow_opens(p, true) ? add_packed(s, p, &c, body) : 0;
			pages_grow_opens(p, false);
			break;
		case SPOOL_CLOCK:
			err = add_clocks(s, p, &c, body);
			break;
		case SPOOL_NAMES:
			err = take_names(s, &c, body);
			break;
		case SPOOL_END:
			s->has_end = true;
			if (c.used >= sizeof(*end))
				err = read_at_or_fail(s->fd, end, sizeof(*end), body, s->path);
			break;
		}
		s->at = body + c.length;
	}
	if (!err && s->at < s->bytes && s->bytes - s->at < sizeof(struct spool_chunk))
		s->cut = chunk_name(0);
	return err;
}

static int check_head(struct spool *s)
{
	struct spool_head *h = &s->head;
	int err;

	if (s->bytes < sizeof(*h))
		return fail(EINVAL, "'%s' is too short to be a spool", s->path);
	err = read_at_or_fail(s->fd, h, sizeof(*h), 0, s->path);
	if (err)
		return err;
	if (h->magic != SPOOL_MAGIC)
		return fail(EINVAL, "'%s' is not a spool", s->path);
	if (h->major != SPOOL_MAJOR)
		return fail(EPROTO,
			    "%s has version %u.%u of the spool's format, this vestige reads %d.%d: "
			    "use the vestige that recorded it",
			    s->path, h->major, h->minor, SPOOL_MAJOR, SPOOL_MINOR);
	if (h->head_bytes < sizeof(*h) || h->head_bytes > s->bytes ||
	    h->slot_bytes != sizeof(struct spool_slot))
		return fail(EINVAL, "%s is damaged: its header is not valid", s->path);
	h->uname[sizeof(h->uname) - 1] = '\0';
	h->cmdline[sizeof(h->cmdline) - 1] = '\0';
	return 0;
}

/*
 * Open the file, read its head, and make an empty index of pages. Return: 0 or -errno with fail()
 * set.
 */
static int open_file(const char *path, bool tables_only, struct spool **of, struct pages **out)
{
	struct pages_source source = {
		.fetch = spool_fetch, .calls = spool_calls, .close = spool_close};
	struct spool *s;
	struct stat st;
	int err = 0;

	s = calloc(1, sizeof(*s));
	if (!s)
		return fail(ENOMEM, "%s: out of memory", path);
	s->fd = open_regular(path, &st);
	if (s->fd < 0) {
		err = s->fd;
		free(s);
		return err;
	}
	s->tables_only = tables_only;
	s->path = strdup(path);
	s->slots = malloc(SLOTS_AT_ONCE * sizeof(*s->slots));
	if (!s->path || !s->slots)
		err = fail(ENOMEM, "%s: out of memory", path);
	if (!err) {
		s->bytes = (uint64_t)st.st_size;
		err = check_head(s);
		s->at = s->head.head_bytes;
	}
	if (err) {
		spool_close(s);
		return err;
	}
	source.arg = s;
	*of = s;
	*out = pages_new(&source);
	return *out ? 0 : -ENOMEM;
}

/* Make a window for each CPU. */
static void make_windows(struct spool *s, unsigned int nr_cpus)
{
	s->windows = calloc(nr_cpus, sizeof(*s->windows));
	for (unsigned int c = 0; s->windows && c < nr_cpus; c++)
		s->windows[s->nr_windows++].size = WINDOW_MAX / 2;
}

/* The same file, with windows of its own. */
static void *spool_part(void *arg)
{
	const struct spool *s = arg;
	struct spool *part = s->rest.nr_areas || !s->nr_windows ? NULL : malloc(sizeof(*part));

	if (!part)
		return NULL;
	*part = *s;
	part->nr_windows = 0;
	make_windows(part, s->nr_windows);
	if (part->windows)
		return part;
	free(part);
	return NULL;
}

static void spool_part_close(void *arg)
{
	struct spool *part = arg;

	for (unsigned int i = 0; i < part->nr_windows; i++)
		free(part->windows[i].data);
	free(part->windows);
	free(part);
}

/* @areas: files that may have the rest of a spool without an end. */
static int open_spool(const char *path, bool tables_only, const struct spool_areas *areas,
		      struct reader **out)
{
	struct pages_finish how = {.note = note_line};
	struct spool_end end = {0};
	struct spool *s;
	struct pages *p;
	int err = open_file(path, tables_only, &s, &p);

	if (err)
		return err;
	pages_can_part(p, spool_part, spool_part_close);
	err = scan(s, p, &end);
	if (!err && areas && !s->has_end)
		err = spool_rest_add(&s->rest, p, areas->paths, areas->nr, areas->recorder);
	if (err) {
		pages_free(p);
		return err;
	}
	free(s->slots);
	s->slots = NULL;
	how.names = s->names;
	how.names_bytes = s->names_bytes;
	how.uname = s->head.uname;
	how.cmdline = s->head.cmdline;
	how.nr_cpus_online = s->head.nr_cpus_online;
	how.now_ns = end.end_mono_ns;
	how.sample_clock = s->rest.nr_areas;
	*out = pages_finish(p, &how, &err);
	if (!*out)
		return err;
	(*out)->lacks_end = s->cut || !s->has_end;
	(*out)->lacks_records = end.flags & SPOOL_END_INCOMPLETE;
	(*out)->end_mono_ns = end.end_mono_ns;
	free(s->names);
	s->names = NULL;
	err = tables_only ? 0 : tell_cut(s, *out, &end, areas);
	if (err) {
		reader_close(*out);
		*out = NULL;
		return err;
	}
	make_windows(s, (*out)->nr_cpus);
	/* All pages of a spool were read from a ring. */
	for (unsigned int c = 0; c < (*out)->nr_cpus; c++)
		(*out)->stats[c].read_events = (*out)->stats[c].entries;
	return 0;
}

int spool_grow_open(const char *path, struct spool_grow **out)
{
	struct spool_grow *g = calloc(1, sizeof(*g));
	int err =
		g ? open_file(path, false, &g->s, &g->p) : fail(ENOMEM, "%s: out of memory", path);

	if (err) {
		free(g);
		return err;
	}
	err = pages_grow(g->p);
	if (err) {
		spool_grow_close(g);
		return err;
	}
	*out = g;
	return 0;
}

void spool_grow_close(struct spool_grow *g)
{
	if (!g)
		return;
	pages_free(g->p);
	free(g);
}

int spool_grow_turn(struct spool_grow *g, uint64_t end, uint64_t stamp)
{
	struct spool_end over;
	int err;

	g->s->bytes = end;
	err = scan(g->s, g->p, &over);
	if (err || (!g->begun && !g->s->has_meta))
		return err;
	if (pages_nr_members(g->p) > SPOOL_GROW_MEMBERS)
		return fail(ESTALE, "%s has too many processes", g->s->path);
	if (!g->begun) {
		err = pages_grow_begin(g->p);
		if (!err)
			make_windows(g->s, pages_reader(g->p)->nr_cpus);
	} else if (g->s->has_meta) {
		err = pages_grow_tables(g->p);
	}
	g->begun = true;
	g->s->has_meta = false;
	return err ? err : pages_grow_turn(g->p, stamp);
}

struct reader *spool_grow_reader(struct spool_grow *g)
{
	return pages_reader(g->p);
}

const struct reader_format reader_format_spool = {
	.name = "a spool",
	.magic = "VESPOOL",
	.magic_bytes = 8,
	.open = reader_open_spool,
};

int reader_open_spool(const char *path, struct reader **out)
{
	return open_spool(path, false, NULL, out);
}

int reader_open_spool_areas(const char *path, const struct spool_areas *areas, struct reader **out)
{
	return open_spool(path, false, areas, out);
}

int reader_open_spool_tables(const char *path, struct reader **out)
{
	return open_spool(path, true, NULL, out);
}
