/* SPDX-License-Identifier: MIT */
/*
 * The streams of pages.h: for each CPU a heap of the pages that have begun.
 *
 * A record costs a comparison and the conversion of its stamp, and a step in the heap if several
 * pages are open.
 */
#include "tools/area/pages_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"

struct stream {
	size_t first, next, end; /* refs: from first to end; next is opened next */
	struct open_page **heap; /* the earliest record first */
	struct open_page *done;	 /* read to the end, but their records are still lent */
	size_t nr, room;
	uint64_t last_ts;
	uint64_t lost; /* to be reported with the next record */
	const struct map *map;
	struct record *recs; /* RUN_RECORDS records, for runs without columns */
};

#define RUN_RECORDS 256u
#define AHEAD_PAGES 256u /* with fewer a thread does not pay */

/* Is the next record of @a before the next one of @b? At equal times the order of refs decides. */
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

	if (ARRAY_ROOM(s->heap, s->nr, s->room, 8))
		return fail(ENOMEM, "out of memory for more than %zu open pages", s->nr);
	for (i = s->nr++; i && before(o, s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = o;
	return 0;
}

size_t pages_nr_open(const struct pages *p, unsigned int cpu)
{
	return p->streams[cpu].nr;
}

const struct page_ref *pages_open_ref(const struct pages *p, unsigned int cpu, size_t i,
				      uint32_t *pos)
{
	*pos = p->streams[cpu].heap[i]->pos;
	return p->streams[cpu].heap[i]->ref;
}

bool pages_is_read(const struct pages *p, unsigned int cpu)
{
	const struct stream *s = &p->streams[cpu];

	return s->next == s->end && (!s->nr || s->heap[0]->ts > p->horizon);
}

int pages_reopen(struct pages *p, unsigned int cpu, const struct page_ref *ref, uint32_t pos,
		 uint64_t after)
{
	struct open_page *o;
	uint32_t gone;
	int err = page_load(p, ref, &o, &gone);

	if (err)
		return err;
	if (!o || !o->run_ts || pos >= o->nr || o->run_ts[pos] <= after) {
		free(o);
		return fail(ESTALE, "a page of CPU %u has changed", cpu);
	}
	o->pos = pos;
	o->ts = o->run_ts[pos];
	err = push(&p->streams[cpu], o);
	if (err)
		free(o);
	return err;
}

static int open_next(struct pages *p, struct stream *s, unsigned int cpu)
{
	const struct page_ref *ref = &p->refs[s->next++];
	struct open_page *o;
	uint32_t gone;
	int err;

	s->lost += ref->lost;
	err = p->ahead ? ahead_take(p->ahead, cpu, &o, &gone) : page_load(p, ref, &o, &gone);
	if (err)
		return err;
	s->lost += gone;
	if (!o)
		return 0;
	err = push(s, o);
	if (err)
		free(o);
	return err;
}

/*
 * The address in a trace.dat of a run-time address in a record of @stamp. If several objects were
 * there one after another, it is the first one that was not unloaded yet: loading and unloading are
 * both noticed a little late.
 */
static uint64_t canonical(struct stream *s, const struct member *m, uint64_t addr, uint64_t stamp)
{
	const struct map *map = s->map, *best = NULL;
	size_t lo;

	if (map && map->alone && addr >= map->lo && addr < map->hi && map >= m->maps &&
	    map < m->maps + m->nr_maps)
		return map->base + (uint32_t)(addr - map->bias);
	lo = LOWER_BOUND(i, 0, m->nr_maps, m->maps[i].lo <= addr);
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

uint64_t pages_canonical(const struct member *m, uint64_t addr, uint64_t stamp)
{
	struct stream s = {0};

	return canonical(&s, m, addr, stamp);
}

/* Fill in a call of a function without an id. */
static void take_call(struct stream *s, const struct open_page *o, const struct slot *slot,
		      struct record *rec)
{
	uint64_t ip[2];

	memcpy(ip, o->page + slot->payload + 8, sizeof(ip));
	rec->kind = RECORD_FUNCTION;
	rec->ip = canonical(s, o->member, ip[0], slot_stamp(o, slot));
	rec->parent_ip = canonical(s, o->member, ip[1], slot_stamp(o, slot));
}

/* Fill in the address and text of a print record; page_decode() has checked its place. */
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
	rec->ip = ip < RECORD_MAX_TID ? SYMBOLS_MARK_ADDR
				      : canonical(s, o->member, ip, slot_stamp(o, slot));
	if (ip && ip < RECORD_MAX_TID)
		rec->pid = (int32_t)ip;
	rec->data = text;
	rec->data_bytes = (uint32_t)strnlen(text, bytes - 16);
	if (rec->data_bytes && text[rec->data_bytes - 1] == '\n')
		rec->data_bytes--;
	return true;
}

/*
 * The "address" of a probe of a built-in event is the event's id, here converted to the reader's.
 */
static uint64_t event_place(const struct open_page *o, uint64_t addr)
{
	uint16_t id = addr && o->member->events ? o->member->events[addr] : 0;

	return id ? id : addr;
}

/* Translate the addresses in @bytes of a record. */
static void translate(struct stream *s, const struct open_page *o, const struct slot *slot,
		      unsigned char *data, uint32_t bytes)
{
	for (uint32_t at = 0; at + 8 <= bytes; at += 8) {
		uint64_t addr;

		memcpy(&addr, data + at, 8);
		addr = addr <= UINT16_MAX ? event_place(o, addr)
					  : canonical(s, o->member, addr, slot_stamp(o, slot));
		memcpy(data + at, &addr, 8);
	}
}

/*
 * Fill in the payload of an event: the kernel's common fields replace the head word; addresses of
 * code are converted to a trace.dat's.
 */
static bool take_event(const struct pages *p, struct stream *s, const struct open_page *o,
		       const struct slot *slot, struct record *rec)
{
	unsigned char *data = o->page + slot->payload;
	uint32_t bytes = record_word_bytes(slot->word);
	uint16_t id =
		o->member->events ? o->member->events[slot->word >> RECORD_ID_SHIFT & 0xffff] : 0;
	uint64_t common = id | (uint64_t)slot->context << 16 | (uint64_t)(uint32_t)o->tid << 32;
	const struct event_codes *codes;

	if (!id)
		return false;
	codes = &p->codes[id];
	memcpy(data, &common, sizeof(common));
	for (uint32_t i = 0; i < codes->nr; i++)
		if ((uint32_t)codes->offset[i] + 8 <= bytes)
			translate(s, o, slot, data + codes->offset[i], 8);
	if (codes->stack && bytes > STACK_OFFSET)
		translate(s, o, slot, data + STACK_OFFSET, bytes - STACK_OFFSET);
	for (uint32_t i = 0; i < codes->nr_located; i++) {
		uint32_t word, at;

		if ((uint32_t)codes->located[i] + sizeof(word) > bytes)
			continue;
		memcpy(&word, data + codes->located[i], sizeof(word));
		at = word & 0xffff;
		if (at >= STACK_OFFSET && at + (word >> 16) <= bytes)
			translate(s, o, slot, data + at, word >> 16);
	}
	rec->event = id;
	rec->data = data;
	rec->data_bytes = bytes - (slot->word >> RECORD_ID_SHIFT & RECORD_EVENT_HALF ? 4 : 0);
	return true;
}

/* Fill in the duration and depth of a call, from a record that has both. */
static void take_return(const struct pages *p, const struct open_page *o, const struct slot *slot,
			struct record *rec)
{
	uint64_t took = slot->payload & ((UINT64_C(1) << RECORD_RETURN_DEPTH_SHIFT) - 1);
	uint64_t stamp = slot_stamp(o, slot), start = took < stamp ? stamp - took : 0;

	rec->kind = RECORD_EXIT;
	rec->graph = RECORD_GRAPH_DEPTH | RECORD_GRAPH_ALONE;
	rec->depth = (uint32_t)(slot->payload >> RECORD_RETURN_DEPTH_SHIFT);
	rec->duration = took;
	if (o->line) {
		uint64_t from = clock_line_ns(clock_line_find(&p->clock, start), start);

		rec->duration = o->ts > from ? o->ts - from : 0;
	}
}

/* Take the arguments or the result off a record. Return: its kind without them. */
static void take_values(const struct open_page *o, const struct slot *slot, struct record *rec)
{
	switch (rec->kind) {
	case RECORD_ENTRY_ARGS:
		rec->kind = RECORD_ENTRY;
		rec->graph = RECORD_GRAPH_ARGS;
		rec->args = o->page + slot->payload + RECORD_GRAPH_BYTES;
		break;
	case RECORD_FUNCTION_ARGS:
		rec->kind = RECORD_FUNCTION;
		rec->graph = RECORD_GRAPH_ARGS;
		rec->args = o->page + slot->payload + RECORD_FUNCTION_BYTES;
		break;
	default:
		rec->kind = RECORD_EXIT;
		rec->graph = RECORD_GRAPH_RETVAL;
		rec->retval = slot->payload;
		break;
	}
}

/* The first word of the payload of a record. */
static uint64_t payload_of(const struct open_page *o, const struct slot *slot)
{
	uint64_t v;

	if (record_word_kind(slot->word) != RECORD_FUNCTION_ARGS)
		return slot->payload;
	memcpy(&v, o->page + slot->payload + 8, sizeof(v));
	return v;
}

/* Make @rec from @slot; false: its id is unknown. */
static bool make_record(const struct pages *p, struct stream *s, const struct open_page *o,
			const struct slot *slot, struct record *rec)
{
	const struct member *m = o->member;
	uint32_t id = record_word_id(slot->word);

	memset(rec, 0, sizeof(*rec));
	rec->pid = o->tid;
	rec->kind = (uint8_t)record_word_kind(slot->word);
	rec->flags = (uint8_t)slot->context;
	rec->preempt_count = (uint8_t)(slot->context >> 8);
	switch (rec->kind) {
	case RECORD_FUNCTION:
	case RECORD_ENTRY:
	case RECORD_TAIL:
	case RECORD_EXIT:
	case RECORD_RETURN:
	case RECORD_ENTRY_ARGS:
	case RECORD_EXIT_VALUE:
	case RECORD_FUNCTION_ARGS:
		if (id >= m->nr_functions || !m->functions[id])
			return false;
		rec->ip = m->functions[id];
		if (PAGE_VALUE_KINDS >> rec->kind & 1)
			take_values(o, slot, rec);
		if (rec->kind == RECORD_FUNCTION)
			rec->parent_ip = canonical(s, m, payload_of(o, slot), slot_stamp(o, slot));
		else if (rec->kind == RECORD_RETURN)
			take_return(p, o, slot, rec);
		break;
	case RECORD_CALL:
		take_call(s, o, slot, rec);
		break;
	case RECORD_PRINT:
		if (!take_print(s, o, slot, rec))
			return false;
		break;
	case RECORD_EVENT:
		if (!take_event(p, s, o, slot, rec))
			return false;
		break;
	default:
		rec->ip = id;
		break;
	}
	/* A page with wrong stamps must not make the time of other pages go back. */
	if (o->ts > s->last_ts)
		s->last_ts = o->ts;
	rec->ts = s->last_ts;
	if (!(rec->graph & RECORD_GRAPH_DEPTH)) {
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

/* make_record() for a record of a plain page. */
static void make_plain(struct stream *s, const struct open_page *o, struct record *rec)
{
	uint32_t word = o->run_words[o->pos], id = RECORD_RUN_ID(word);
	uint8_t kind = (uint8_t)RECORD_RUN_KIND(word);

	if (o->ts > s->last_ts)
		s->last_ts = o->ts;
	*rec = (struct record){
		.ts = s->last_ts,
		.ip = kind <= RECORD_EXIT ? o->member->functions[id] : id,
		.lost = s->lost,
		.pid = o->tid,
		.cpu = o->ref->cpu,
		.kind = kind,
		.process = o->ref->member,
		.task = o->task,
	};
	s->lost = 0;
}

/* Take up to @max records of the first page before @limit, at least one; some may be left out. */
static unsigned int take_records(const struct pages *p, struct stream *s, struct open_page *o,
				 uint64_t limit, struct record *out, unsigned int max)
{
	unsigned int nr = 0;
	bool made;

	do {
		if (o->run_ts) {
			make_plain(s, o, &out[nr++]);
			if (++o->pos == o->nr)
				break;
			o->ts = o->run_ts[o->pos];
			continue;
		}
		made = make_record(p, s, o, &o->slots[o->pos], &out[nr]);
		if (p->follow)
			follow_emitted(p, o->ref, &o->slots[o->pos], !made);
		nr += made;
		s->lost += !made;
		if (++o->pos == o->nr)
			break;
		o->ts = slot_ts(p, o, &o->slots[o->pos]);
	} while (o->ts < limit && nr < max);
	return nr;
}

/* Take the records of a plain page before @limit, at least one. */
static void take_run(struct stream *s, struct open_page *o, uint64_t limit, struct run *run)
{
	uint32_t end = o->nr;

	if (o->run_ts[end - 1] >= limit)
		end = (uint32_t)LOWER_BOUND(i, o->pos + 1, end, o->run_ts[i] < limit);
	*run = (struct run){
		.nr = end - o->pos,
		.ts = o->run_ts + o->pos,
		.words = o->run_words + o->pos,
		.functions = o->member->functions,
		.head = {.pid = o->tid,
			 .cpu = o->ref->cpu,
			 .process = o->ref->member,
			 .task = o->task,
			 .lost = s->lost},
	};
	for (uint32_t i = o->pos; i < end && o->run_ts[i] < s->last_ts; i++)
		o->run_ts[i] = s->last_ts;
	s->last_ts = o->run_ts[end - 1];
	s->lost = 0;
	o->pos = end;
	if (end < o->nr)
		o->ts = o->run_ts[end];
}

/*
 * *@first: gets the page with the next record. *@limit: gets the time of the next record of another
 * page. Return: 1, 0 at the end, -errno with fail() set.
 */
static int first_page(struct pages *p, struct stream *s, unsigned int cpu, struct open_page **first,
		      uint64_t *limit)
{
	while (s->next < s->end && (!s->nr || p->refs[s->next].base <= s->heap[0]->ts)) {
		int err = open_next(p, s, cpu);

		if (err)
			return err;
	}
	if (!s->nr || s->heap[0]->ts > p->horizon)
		return 0;
	*first = s->heap[0];
	*limit = s->next < s->end ? p->refs[s->next].base : UINT64_MAX;
	if (*limit > p->horizon && p->horizon < UINT64_MAX)
		*limit = p->horizon + 1;
	for (size_t i = 1; i < 3 && i < s->nr; i++)
		if (s->heap[i]->ts < *limit)
			*limit = s->heap[i]->ts;
	return 1;
}

/* Records of the first page were taken: restore the heap. */
static void first_page_used(struct stream *s)
{
	struct open_page *o = s->heap[0];

	if (o->pos == o->nr) {
		s->heap[0] = s->heap[--s->nr];
		o->done = s->done;
		s->done = o;
	}
	if (s->nr > 1)
		sift_down(s);
}

static int stream_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct pages *p = (struct pages *)r;
	struct open_page *o;
	struct stream *s;
	unsigned int nr = 0;
	uint64_t limit;
	int ret;

	if (cpu >= r->nr_cpus)
		return 0;
	s = &p->streams[cpu];
	free_done(s);
	while (nr < max) {
		ret = first_page(p, s, cpu, &o, &limit);
		if (ret < 0)
			return ret;
		if (!ret)
			break;
		nr += take_records(p, s, o, limit, out + nr, max - nr);
		first_page_used(s);
	}
	return (int)nr;
}

static int stream_read_run(struct reader *r, unsigned int cpu, struct run *run)
{
	struct pages *p = (struct pages *)r;
	struct open_page *o;
	struct stream *s;
	uint64_t limit;
	int ret;

	if (cpu >= r->nr_cpus)
		return 0;
	s = &p->streams[cpu];
	free_done(s);
	while ((ret = first_page(p, s, cpu, &o, &limit)) > 0) {
		if (o->run_ts) {
			take_run(s, o, limit, run);
			first_page_used(s);
			return 1;
		}
		if (!s->recs)
			s->recs = malloc(RUN_RECORDS * sizeof(*s->recs));
		if (!s->recs)
			return fail(ENOMEM, "out of memory for the records of CPU %u", cpu);
		*run = (struct run){.recs = s->recs};
		run->nr = take_records(p, s, o, limit, s->recs, RUN_RECORDS);
		first_page_used(s);
		if (run->nr)
			return 1;
	}
	return ret;
}

static void stream_close(struct reader *r)
{
	pages_free((struct pages *)r);
}

/* Drop the open pages of a stream. */
static void stream_drop(struct stream *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->heap[i]);
	s->nr = 0;
	free_done(s);
}

void pages_stream_set(struct pages *p, unsigned int cpu, size_t first, size_t next, size_t end)
{
	struct stream *s = &p->streams[cpu];

	stream_drop(s);
	s->first = first;
	s->next = next;
	s->end = end;
}

void pages_stream_take_over(struct pages *p, const struct pages *from, unsigned int cpu,
			    size_t next)
{
	const struct stream *was = &from->streams[cpu];
	struct stream *s = &p->streams[cpu];

	stream_drop(s);
	s->next = next;
	s->last_ts = was->last_ts;
	s->lost = was->lost;
	if (p->ahead)
		ahead_begin_at(p->ahead, cpu, next);
}

static int stream_rewind(struct reader *r)
{
	struct pages *p = (struct pages *)r;

	if (p->ahead)
		ahead_rewind(p->ahead);
	for (unsigned int c = 0; c < r->nr_cpus; c++) {
		struct stream *s = &p->streams[c];

		stream_drop(s);
		s->next = s->first;
		s->last_ts = s->lost = 0;
	}
	return 0;
}

/* A follower cannot rewind. */
const struct reader_ops pages_follow_ops = {.read = stream_read,
					    .close = stream_close,
					    .learn_printks = pages_learn_printks,
					    .process_key = pages_process_key};

const struct reader_ops pages_ops = {.read = stream_read,
				     .learn_printks = pages_learn_printks,
				     .close = stream_close,
				     .rewind = stream_rewind,
				     .read_run = stream_read_run,
				     .process_key = pages_process_key};

struct pages *pages_of_reader(struct reader *r)
{
	return r->ops == &pages_ops || r->ops == &pages_follow_ops ? (struct pages *)r : NULL;
}

int pages_make_streams(struct pages *p)
{
	size_t at = 0;

	p->streams = calloc(p->reader.nr_cpus, sizeof(*p->streams));
	if (!p->streams)
		return fail(ENOMEM, "out of memory for %u CPUs", p->reader.nr_cpus);
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		const struct carried *carried = follow_carried(p, c);

		if (carried) {
			p->streams[c].last_ts = carried->last_ts;
			p->streams[c].lost = carried->lost;
		}
		p->streams[c].first = p->streams[c].next = at;
		while (at < p->nr_refs && p->refs[at].cpu == c)
			at++;
		p->streams[c].end = at;
	}
	return p->nr_refs >= AHEAD_PAGES && !p->follow ? ahead_new(p, &p->ahead) : 0;
}

void pages_cpu_refs(const struct pages *p, unsigned int cpu, size_t *first, size_t *end)
{
	*first = p->streams[cpu].first;
	*end = p->streams[cpu].end;
}

void pages_free_streams(struct pages *p)
{
	ahead_free(p->ahead);
	p->ahead = NULL;
	for (unsigned int c = 0; p->streams && c < p->reader.nr_cpus; c++) {
		struct carried *carried = follow_carried(p, c);
		struct stream *s = &p->streams[c];

		if (carried) {
			carried->last_ts = s->last_ts;
			carried->lost = s->lost;
			for (size_t i = s->next; i < s->end; i++)
				carried->lost += p->refs[i].lost;
		}
		stream_drop(s);
		free(s->heap);
		free(s->recs);
	}
	free(p->streams);
	p->streams = NULL;
}
