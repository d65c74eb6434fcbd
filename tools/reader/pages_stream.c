/* SPDX-License-Identifier: MIT */
/*
 * The streams of pages.h: per CPU a heap of the pages that have begun.
 *
 * Costs per record a comparison and the conversion of its stamp while one page is open alone, a
 * step in the heap of open pages where threads take turns.
 */
#include "tools/reader/pages_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/reader/symbols.h"

struct open_page {
	uint64_t ts; /* of the next record */
	const struct page_ref *ref;
	const struct member *member;
	const struct clock_line *line;
	uint64_t base; /* clock units */
	int32_t tid;
	uint32_t task;
	uint32_t nr, pos;
	const unsigned char *page; /* a copy, where a record has text; behind the slots */
	struct open_page *done;	   /* the next one of those read to their end */
	struct slot slots[];
};

struct stream {
	size_t first, next, end; /* refs: all, and from where they are not opened yet */
	struct open_page **heap; /* the earliest record first */
	struct open_page *done;	 /* read to the end, but their text is still lent out */
	size_t nr, room;
	uint64_t last_ts;
	uint64_t lost; /* to be told with the next record */
	const struct map *map;
};

unsigned int page_decode(const void *page, struct slot *out, unsigned int *bytes,
			 unsigned int *kinds)
{
	const unsigned char *p = page;
	const struct page_head *head = page;
	size_t end = head->commit < PAGE_BYTES ? (size_t)head->commit & ~(size_t)7 : PAGE_BYTES;
	unsigned int nr = 0;

	*bytes = *kinds = 0;
	for (size_t at = PAGE_HEAD_BYTES; at + 8 <= end;) {
		uint64_t word;
		uint32_t n;

		memcpy(&word, p + at, sizeof(word));
		n = record_word_bytes(word);
		if (n < 8 || n > end - at)
			break;
		if (word && record_word_kind(word) != RECORD_UNCOMMITTED) {
			if (out) {
				out[nr].word = word;
				if (record_word_kind(word) == RECORD_PRINT)
					out[nr].payload = at;
				else if (n >= 16)
					memcpy(&out[nr].payload, p + at + 8, 8);
				else
					out[nr].payload = 0;
			}
			nr++;
			*bytes += n;
			*kinds |= 1u << record_word_kind(word);
		}
		at += n;
	}
	return nr;
}

/* Nearly sorted always: only a signal handler's records are out of order. */
static void sort_slots(struct slot *s, unsigned int nr)
{
	for (unsigned int i = 1; i < nr; i++) {
		struct slot x = s[i];
		unsigned int j = i;

		while (j && record_word_stamp(s[j - 1].word) > record_word_stamp(x.word)) {
			s[j] = s[j - 1];
			j--;
		}
		s[j] = x;
	}
}

static uint64_t slot_stamp(const struct open_page *o, const struct slot *s)
{
	return o->base + record_word_stamp(s->word);
}

static uint64_t slot_ts(const struct pages *p, struct open_page *o, const struct slot *s)
{
	uint64_t stamp = slot_stamp(o, s);

	if (o->line && stamp >= o->line->end)
		o->line = clock_line_find(&p->clock, stamp);
	return clock_line_ns(o->line, stamp);
}

/* Order of records of several pages; pages are apart by their place in refs. */
static bool before(const struct open_page *a, const struct open_page *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->ref < b->ref;
}

static void sift_down(struct stream *s)
{
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;
		struct open_page *x = s->heap[i];

		if (child >= s->nr)
			return;
		if (child + 1 < s->nr && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], x))
			return;
		s->heap[i] = s->heap[child];
		s->heap[child] = x;
		i = child;
	}
}

static int push(struct stream *s, struct open_page *o)
{
	size_t i;

	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 8;
		struct open_page **more = realloc(s->heap, room * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "no memory for %zu open pages", room);
		s->heap = more;
		s->room = room;
	}
	for (i = s->nr++; i && before(o, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = o;
	return 0;
}

static int open_next(struct pages *p, struct stream *s)
{
	const struct page_ref *ref = &p->refs[s->next++];
	struct slot slots[PAGE_MAX_SLOTS];
	uint64_t page[PAGE_BYTES / 8];
	const struct page_head *head = (const struct page_head *)page;
	unsigned int nr, bytes, kinds;
	struct open_page *o;
	bool text;
	int got;

	s->lost += ref->lost;
	got = p->source.fetch(p->source.arg, ref, page);
	if (got < 0)
		return got;
	if (!got || head->seq != ref->seq) {
		s->lost += ref->nr_records;
		return 0;
	}
	nr = page_decode(page, slots, &bytes, &kinds);
	if (!nr)
		return 0;
	text = kinds & 1u << RECORD_PRINT;
	o = malloc(sizeof(*o) + nr * sizeof(*slots) + (text ? PAGE_BYTES : 0));
	if (!o)
		return fail(ENOMEM, "no memory for a page");
	sort_slots(slots, nr);
	*o = (struct open_page){
		.ref = ref,
		.member = p->members[ref->member],
		.base = head->base_stamp,
		.tid = head->tid,
		.task = head->task,
		.nr = nr,
	};
	memcpy(o->slots, slots, nr * sizeof(*slots));
	if (text)
		o->page = memcpy(&o->slots[nr], page, PAGE_BYTES);
	if (o->member->meta->head.clock == AREA_CLOCK_TSC)
		o->line = clock_line_find(&p->clock, o->base);
	o->ts = slot_ts(p, o, &o->slots[0]);
	got = push(s, o);
	if (got)
		free(o);
	return got;
}

/*
 * The address in a trace.dat of a run-time address that a record of @stamp has. Of objects that lay
 * there one after the other it is in the first that was not unloaded yet: what loads an object is
 * seen a little after the fact, and so is what unloads it.
 */
static uint64_t canonical(struct stream *s, const struct member *m, uint64_t addr, uint64_t stamp)
{
	const struct map *map = s->map, *best = NULL;
	size_t lo = 0, hi = m->nr_maps;

	if (map && map->alone && addr >= map->lo && addr < map->hi && map >= m->maps &&
	    map < m->maps + m->nr_maps)
		return map->base + (uint32_t)(addr - map->bias);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->maps[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo && m->maps[lo - 1].reach > addr; lo--) {
		map = &m->maps[lo - 1];
		if (addr >= map->hi)
			continue;
		if (!best ||
		    (best->unload < stamp ? map->unload > best->unload
					  : map->unload >= stamp && map->unload < best->unload))
			best = map;
	}
	if (!best)
		return addr;
	s->map = best;
	return best->base + (uint32_t)(addr - best->bias);
}

/* The writer's address and the text of a record whose place page_decode() has checked. */
static bool take_print(struct stream *s, const struct open_page *o, const struct slot *slot,
		       struct record *rec)
{
	const unsigned char *p = o->page + slot->payload;
	uint32_t bytes = record_word_bytes(slot->word);
	const char *text = (const char *)p + 16;
	uint64_t ip;

	if (bytes < 16)
		return false;
	memcpy(&ip, p + 8, sizeof(ip));
	rec->ip = ip ? canonical(s, o->member, ip, slot_stamp(o, slot)) : SYMBOLS_MARK_ADDR;
	rec->data = text;
	rec->data_bytes = (uint32_t)strnlen(text, bytes - 16);
	if (rec->data_bytes && text[rec->data_bytes - 1] == '\n')
		rec->data_bytes--;
	return true;
}

/* How long a call took and how deep it was, of a record that tells both. */
static void take_return(const struct pages *p, const struct open_page *o, const struct slot *slot,
			struct record *rec)
{
	uint64_t took = slot->payload & ((UINT64_C(1) << RECORD_RETURN_DEPTH_SHIFT) - 1);
	uint64_t stamp = slot_stamp(o, slot), start = took < stamp ? stamp - took : 0;

	rec->kind = RECORD_EXIT;
	rec->graph = RECORD_GRAPH_TOLD | RECORD_GRAPH_ALONE;
	rec->depth = (uint32_t)(slot->payload >> RECORD_RETURN_DEPTH_SHIFT);
	rec->duration = took;
	if (o->line) {
		uint64_t from = clock_line_ns(clock_line_find(&p->clock, start), start);

		rec->duration = o->ts > from ? o->ts - from : 0;
	}
}

/* Make @rec of @slot; false when its id names nothing. */
static bool make_record(const struct pages *p, struct stream *s, const struct open_page *o,
			const struct slot *slot, struct record *rec)
{
	const struct member *m = o->member;
	uint32_t id = record_word_id(slot->word);

	memset(rec, 0, sizeof(*rec));
	rec->kind = (uint8_t)record_word_kind(slot->word);
	switch (rec->kind) {
	case RECORD_FUNCTION:
	case RECORD_ENTRY:
	case RECORD_TAIL:
	case RECORD_EXIT:
	case RECORD_RETURN:
		if (id >= m->meta->nr_functions || !m->functions[id])
			return false;
		rec->ip = m->functions[id];
		if (rec->kind == RECORD_FUNCTION)
			rec->parent_ip = canonical(s, m, slot->payload, slot_stamp(o, slot));
		else if (rec->kind == RECORD_RETURN)
			take_return(p, o, slot, rec);
		break;
	case RECORD_PRINT:
		if (!take_print(s, o, slot, rec))
			return false;
		break;
	default:
		rec->ip = id;
		break;
	}
	/* A page that lies about its stamps must not turn time back for the others. */
	if (o->ts > s->last_ts)
		s->last_ts = o->ts;
	rec->ts = s->last_ts;
	rec->pid = o->tid;
	if (!rec->graph) {
		rec->process = o->ref->member;
		rec->task = o->task;
	}
	rec->cpu = o->ref->cpu;
	rec->lost = s->lost;
	s->lost = 0;
	return true;
}

static void free_done(struct stream *s)
{
	while (s->done) {
		struct open_page *o = s->done;

		s->done = o->done;
		free(o);
	}
}

static int stream_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct pages *p = (struct pages *)r;
	struct stream *s;
	unsigned int nr = 0;

	if (cpu >= r->nr_cpus)
		return 0;
	s = &p->streams[cpu];
	free_done(s);
	while (nr < max) {
		uint64_t limit = UINT64_MAX;
		struct open_page *o;

		while (s->next < s->end && (!s->nr || p->refs[s->next].base <= s->heap[0]->ts)) {
			int err = open_next(p, s);

			if (err)
				return err;
		}
		if (!s->nr)
			break;
		o = s->heap[0];
		/* The records of this page up to where another one takes over. */
		if (s->next < s->end)
			limit = p->refs[s->next].base;
		for (size_t i = 1; i < 3 && i < s->nr; i++)
			if (s->heap[i]->ts < limit)
				limit = s->heap[i]->ts;
		do {
			nr += make_record(p, s, o, &o->slots[o->pos], &out[nr]) ? 1
										: (s->lost++, 0);
			if (++o->pos == o->nr)
				break;
			o->ts = slot_ts(p, o, &o->slots[o->pos]);
		} while (o->ts < limit && nr < max);
		if (o->pos == o->nr) {
			s->heap[0] = s->heap[--s->nr];
			o->done = s->done;
			s->done = o;
			if (!s->nr)
				continue;
		}
		sift_down(s);
	}
	return (int)nr;
}

static void stream_close(struct reader *r)
{
	pages_free((struct pages *)r);
}

/* What a stream holds of open pages. */
static void stream_drop(struct stream *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->heap[i]);
	s->nr = 0;
	free_done(s);
}

static int stream_rewind(struct reader *r)
{
	struct pages *p = (struct pages *)r;

	for (unsigned int c = 0; c < r->nr_cpus; c++) {
		struct stream *s = &p->streams[c];

		stream_drop(s);
		s->next = s->first;
		s->last_ts = s->lost = 0;
	}
	return 0;
}

const struct reader_ops pages_ops = {
	.read = stream_read, .close = stream_close, .rewind = stream_rewind};

struct pages *pages_of_reader(struct reader *r)
{
	return (struct pages *)r;
}

int pages_make_streams(struct pages *p)
{
	size_t at = 0;

	p->streams = calloc(p->reader.nr_cpus, sizeof(*p->streams));
	if (!p->streams)
		return fail(ENOMEM, "no memory for %u CPUs", p->reader.nr_cpus);
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		p->streams[c].first = p->streams[c].next = at;
		while (at < p->nr_refs && p->refs[at].cpu == c)
			at++;
		p->streams[c].end = at;
	}
	return 0;
}

void pages_free_streams(struct pages *p)
{
	for (unsigned int c = 0; p->streams && c < p->reader.nr_cpus; c++) {
		stream_drop(&p->streams[c]);
		free(p->streams[c].heap);
	}
	free(p->streams);
}
