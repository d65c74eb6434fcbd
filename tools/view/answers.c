/* SPDX-License-Identifier: MIT */
/* See answers.h. Tests: tests/cli/test_view.py. */
#include "tools/view/answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/text/json.h"
#include "tools/text/number.h"
#include "tools/view/function_sums.h"
#include "tools/view/list.h"

static void put_lost(const struct columns *c, struct out *o)
{
	out_text(o, "\"lost\":[");
	for (size_t i = 0; i < c->nr_lost; i++) {
		const struct column_lost *l = &c->lost[i];

		out_printf(o, "%s[%" PRIu64 ",%u,", i ? "," : "",
			   l->ts > c->first ? l->ts - c->first : 0, l->cpu);
		if (l->nr == RECORD_LOST_UNKNOWN)
			out_text(o, "-1]");
		else
			out_printf(o, "%" PRIu64 "]", l->nr);
	}
	out_text(o, "]");
}

static void put_names(const struct columns *c, struct out *o)
{
	out_text(o, "\"names\":[");
	for (size_t i = 0; i < c->nr_names; i++) {
		if (i)
			out_text(o, ",\n");
		json_put(o, c->names[i].text);
	}
	out_text(o, "],\n\"objects\":[");
	for (size_t i = 0; i < c->nr_names; i++) {
		if (i)
			out_text(o, ",");
		json_put(o, c->names[i].object);
	}
	out_text(o, "],\n\"places\":[");
	for (size_t i = 0; c->v->lines && i < c->nr_names; i++) {
		if (i)
			out_text(o, ",");
		json_put(o, c->names[i].place);
	}
	out_text(o, "]");
}

static void put_files(const struct columns *c, struct out *o)
{
	out_text(o, ",\"files\":[");
	for (uint32_t i = 0; i < c->nr_files; i++) {
		out_text(o, i ? "," : "");
		json_put(o, c->files[i].path);
	}
	out_text(o, "],\"offsets\":[");
	for (uint32_t i = 0; i < c->nr_files; i++)
		out_printf(o, "%s%" PRId64, i ? "," : "", c->files[i].offset);
	out_text(o, "],\"hosts\":[");
	for (uint32_t i = 0; i < c->nr_files; i++) {
		const struct column_file *f = &c->files[i];

		out_text(o, i ? "," : "");
		if (!f->host) {
			out_text(o, "null");
			continue;
		}
		out_printf(o, "[%u,[", f->host - 1);
		for (uint32_t k = 0; k < f->nr_vcpus; k++)
			out_printf(o, "%s[%u,%d]", k ? "," : "", f->vcpus[k].cpu, f->vcpus[k].tid);
		out_text(o, "]]");
	}
	out_text(o, "]");
}

static void put_track(const struct track *t, struct out *o)
{
	out_printf(o, "{\"kind\":\"%s\",\"file\":%u,\"id\":%d,\"pid\":%d,\"stack\":%u,\"name\":",
		   columns_kind_names[t->kind], t->file, (int)t->id, (int)t->pid, t->stack);
	json_put(o, t->name);
	if (*t->buffer) {
		out_text(o, ",\"buffer\":");
		json_put(o, t->buffer);
	}
	out_text(o, ",\"rows\":[");
	for (uint32_t row = 0; row < t->nr_rows; row++)
		out_printf(o, "%s%zu", row ? "," : "", t->rows[row].nr);
	out_text(o, "]}");
}

void answer_info(const struct columns *c, struct out *o, const struct answer_about *about)
{
	const struct answer_cut *left = &about->cut;
	const struct reader *r = c->v->r;

	out_text(o, "{\"version\":1,\"path\":");
	json_put(o, c->v->path);
	put_files(c, o);
	out_printf(o, ",\"live\":%s,\"reading\":%s,\"session\":%s", about->live ? "true" : "false",
		   c->outline ? "true" : "false", about->session ? "true" : "false");
	out_text(o, ",\"command\":");
	json_put(o, r->cmdline);
	out_text(o, ",\"uname\":");
	json_put(o, r->uname);
	out_text(o, ",\"clock\":");
	json_put(o, r->clock);
	out_printf(o,
		   ",\"ns\":%s,\"first\":\"%" PRIu64 "\",\"duration\":%" PRIu64
		   ",\"calls\":%" PRIu64 ",\"events\":%" PRIu64 ",\"list\":%" PRIu64
		   ",\"tooDeep\":%" PRIu64 ",\"leftOut\":%" PRIu64 ",\"shortest\":%" PRIu64
		   ",\"leftEvents\":%" PRIu64 ",\n",
		   r->ts_is_ns ? "true" : "false", c->first, c->last - c->first,
		   c->nr_calls - left->calls, c->events.nr - left->events,
		   list_length(c) - left->calls - left->events, c->too_deep, left->calls,
		   left->shortest, left->events);
	put_lost(c, o);
	out_text(o, ",\n");
	put_names(c, o);
	out_text(o, ",\n\"tracks\":[");
	for (size_t i = 0; i < c->nr_tracks; i++) {
		if (i)
			out_text(o, ",\n");
		put_track(&c->tracks[i], o);
	}
	out_text(o, "]}");
}

struct spans {
	const struct columns *c;
	const struct span_row *row;
	struct out *o;
	bool any;
};

/* A picture has some ten thousand blocks. */
static int put_block(void *arg, const struct span_block *b)
{
	struct spans *s = arg;
	const uint64_t numbers[] = {b->start - s->c->first,
				    b->end - b->start,
				    b->name,
				    b->count,
				    b->busy,
				    b->which,
				    b->extra};
	char *p = out_room(s->o, sizeof(numbers) / sizeof(*numbers) * (NUMBER_DIGITS + 1));

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		if (i || s->any)
			*p++ = ',';
		p = number_put(p, numbers[i]);
	}
	out_done(s->o, p);
	s->any = true;
	return s->o->err;
}

/* A time of the trace's clock, from ns since the first. */
static uint64_t clock_of(const struct columns *c, uint64_t ns)
{
	return ns > UINT64_MAX - c->first ? UINT64_MAX : c->first + ns;
}

void answer_spans(const struct columns *c, struct out *o, const uint32_t (*rows)[2], size_t nr,
		  uint64_t from, uint64_t to, uint64_t pixel)
{
	struct spans s = {.c = c, .o = o};

	out_text(o, "[");
	for (size_t i = 0; i < nr; i++) {
		const struct track *t = rows[i][0] < c->nr_tracks ? &c->tracks[rows[i][0]] : NULL;

		out_text(o, i ? ",\n[" : "[");
		s.any = false;
		if (t && rows[i][1] < t->nr_rows) {
			s.row = &t->rows[rows[i][1]];
			span_row_query(s.row, clock_of(c, from), clock_of(c, to), pixel, put_block,
				       &s);
		}
		out_text(o, "]");
	}
	out_text(o, "]");
}

int answer_table(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to)
{
	struct function_sum *sums;
	bool any = false;
	int ret = function_sums(c, tracks, nr, clock_of(c, from), clock_of(c, to), &sums);

	out_text(o, "[");
	for (size_t i = 0; !ret && i < c->nr_names; i++) {
		const struct function_sum *f = &sums[i];

		if (!f->calls)
			continue;
		out_printf(o, "%s[%zu,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			   any ? "," : "", i, f->calls, f->total, f->self, f->shortest, f->longest);
		any = true;
	}
	out_text(o, "]");
	free(sums);
	return ret;
}

/* A function on one path of callers. */
struct flame_node {
	uint32_t name, parent;
	uint32_t child, next; /* its first child; the next child of its parent; 0: none */
	uint64_t calls, total, self;
};

struct flame {
	struct flame_node *nodes; /* [0]: the root, no function */
	size_t nr, room;
	uint32_t at; /* the node of the innermost open call */
	/* the thread's states, if only time off the CPU counts; NULL: all time counts */
	const struct span_row *states;
	uint64_t *off; /* ns off the CPU before each state */
	int err;
};

static uint64_t off_before(const struct flame *f, uint64_t ts)
{
	size_t i = span_row_from(f->states, ts);
	uint64_t start = i < f->states->nr ? f->states->start[i] : ts;

	return f->off[i] + (ts > start && f->off[i + 1] > f->off[i] ? ts - start : 0);
}

/* The time of a call that counts, ns. */
static uint64_t weight(const struct flame *f, const struct walk_call *call)
{
	if (!f->states)
		return call->length;
	return off_before(f, call->start + call->length) - off_before(f, call->start);
}

static void flame_enter(void *arg, const struct walk_call *call)
{
	struct flame *f = arg;
	uint32_t i = f->nodes[f->at].child;

	while (i && f->nodes[i].name != call->name)
		i = f->nodes[i].next;
	if (!i && !f->err && ARRAY_ROOM(f->nodes, f->nr, f->room, 64))
		f->err = fail(ENOMEM, "out of memory");
	if (f->err)
		return;
	if (!i) {
		i = (uint32_t)f->nr++;
		f->nodes[i] = (struct flame_node){
			.name = call->name, .parent = f->at, .next = f->nodes[f->at].child};
		f->nodes[f->at].child = i;
	}
	f->at = i;
}

static void flame_leave(void *arg, const struct walk_call *call)
{
	struct flame *f = arg;
	struct flame_node *node = &f->nodes[f->at];

	if (f->err)
		return;
	node->calls++;
	node->total += weight(f, call);
	f->at = node->parent;
}

/* Find the states of the thread of @calls, and sum up its time off the CPU before each of them. */
static int sum_states(const struct columns *c, const struct track *calls, struct flame *f)
{
	const struct span_row *row = NULL;

	free(f->off);
	f->off = NULL;
	f->states = NULL;
	for (size_t i = 0; i < c->nr_tracks && !row; i++)
		if (c->tracks[i].kind == TRACK_STATES && c->tracks[i].id == calls->id &&
		    c->tracks[i].process == calls->process)
			row = c->tracks[i].rows;
	if (!row)
		return 0;
	f->off = calloc(row->nr + 1, sizeof(*f->off));
	if (!f->off)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < row->nr; i++)
		f->off[i + 1] = f->off[i] + (strcmp(c->names[row->name[i]].text,
						    columns_state_names[STATE_RUNNING])
						     ? row->length[i]
						     : 0);
	f->states = row;
	return 0;
}

/* Walk the calls of each thread whose states are known; its time off the CPU counts. */
static int walk_off_cpu(const struct columns *c, const uint32_t *tracks, size_t nr, uint64_t from,
			uint64_t to, const struct walk_ops *ops, struct flame *f)
{
	int err = 0;

	for (size_t i = 0; i < (nr ? nr : c->nr_tracks) && !err; i++) {
		uint32_t track = nr ? tracks[i] : (uint32_t)i;

		if (track >= c->nr_tracks || c->tracks[track].kind != TRACK_CALLS)
			continue;
		err = sum_states(c, &c->tracks[track], f);
		if (!err && f->states)
			err = walk_tracks(c, &track, 1, from, to, ops, f);
	}
	return err;
}

int answer_flame(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to, bool off_cpu)
{
	static const struct walk_ops ops = {flame_enter, flame_leave};
	struct flame f = {.nodes = calloc(64, sizeof(*f.nodes)), .nr = 1, .room = 64};
	int ret;

	if (!f.nodes)
		return fail(ENOMEM, "out of memory");
	from = clock_of(c, from);
	to = clock_of(c, to);
	ret = off_cpu ? walk_off_cpu(c, tracks, nr, from, to, &ops, &f)
		      : walk_tracks(c, tracks, nr, from, to, &ops, &f);
	free(f.off);
	ret = ret ? ret : f.err;
	for (size_t i = 1; i < f.nr; i++) {
		f.nodes[i].self += f.nodes[i].total;
		f.nodes[f.nodes[i].parent].self -= f.nodes[i].total;
	}
	out_text(o, "[");
	for (size_t i = 1; !ret && i < f.nr; i++) {
		const struct flame_node *n = &f.nodes[i];

		out_printf(o, "%s[%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i > 1 ? "," : "",
			   n->parent, n->name, n->calls, n->total, n->self);
	}
	out_text(o, "]");
	free(f.nodes);
	return ret;
}

struct one_call {
	uint64_t start, length;
	uint32_t track, row;
	size_t nr;
};

static int longest_first(const void *a_, const void *b_)
{
	const struct one_call *a = a_, *b = b_;

	if (a->length != b->length)
		return a->length < b->length ? 1 : -1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* All calls of the function that begin in a range. Return: how many; -ENOMEM with fail() set. */
static ssize_t gather(const struct columns *c, uint64_t name, uint64_t from, uint64_t to,
		      struct one_call **out)
{
	size_t nr = 0, room = 0;

	for (uint32_t i = 0; i < c->nr_tracks; i++)
		for (uint32_t row = 0;
		     c->tracks[i].kind == TRACK_CALLS && row < c->tracks[i].nr_rows; row++) {
			const struct span_row *r = &c->tracks[i].rows[row];

			for (size_t k = span_row_begins(r, from); k < r->nr; k++) {
				if (r->start[k] >= to)
					break;
				if (r->name[k] != name)
					continue;
				if (ARRAY_ROOM(*out, nr, room, 256))
					return fail(ENOMEM, "out of memory");
				(*out)[nr++] =
					(struct one_call){r->start[k], r->length[k], i, row, k};
			}
		}
	return (ssize_t)nr;
}

int answer_function(const struct columns *c, struct out *o, uint64_t name, uint64_t from,
		    uint64_t to)
{
	static const unsigned int percents[] = {50, 90, 99};
	struct one_call *calls = NULL;
	uint64_t buckets[64] = {0}, total = 0;
	ssize_t nr = gather(c, name, clock_of(c, from), clock_of(c, to), &calls);
	unsigned int last = 0;

	if (nr > 0)
		qsort(calls, (size_t)nr, sizeof(*calls), longest_first);
	for (ssize_t i = 0; i < nr; i++) {
		unsigned int bucket =
			calls[i].length ? 63u - (unsigned int)__builtin_clzll(calls[i].length) : 0;

		buckets[bucket]++;
		last = bucket > last ? bucket : last;
		total += calls[i].length;
	}
	out_printf(o, "{\"calls\":%zd,\"total\":%" PRIu64, nr < 0 ? 0 : nr, total);
	for (unsigned int i = 0; i < 3; i++)
		out_printf(o, ",\"p%u\":%" PRIu64, percents[i],
			   nr > 0 ? calls[nr - (nr * (ssize_t)percents[i] + 99) / 100].length : 0);
	out_text(o, ",\"buckets\":[");
	for (unsigned int i = 0; nr > 0 && i <= last; i++)
		out_printf(o, "%s%" PRIu64, i ? "," : "", buckets[i]);
	out_text(o, "],\"longest\":[");
	for (ssize_t i = 0; i < nr && i < 10; i++)
		out_printf(o, "%s[%" PRIu64 ",%" PRIu64 ",%u,%u,%zu]", i ? "," : "",
			   calls[i].start - c->first, calls[i].length, calls[i].track, calls[i].row,
			   calls[i].nr);
	out_text(o, "]}");
	free(calls);
	return nr < 0 ? -ENOMEM : 0;
}

static void put_entry(const struct columns *c, struct out *o, const struct list_entry *e)
{
	const struct column_events *ev = &c->events;

	out_printf(o, "[%" PRIu64 ",%" PRIu64 ",%u,%u,%u,%zu,%d", e->start - c->first, e->length,
		   e->name, e->track, e->row, e->nr, (int)e->cpu);
	if (e->is_event) {
		out_text(o, ",");
		json_put(o, c->texts[ev->latency[e->nr]]);
		out_text(o, ",");
		json_put(o, c->texts[ev->text[e->nr]]);
	}
	out_text(o, "]");
}

int answer_list(const struct columns *c, struct out *o, uint64_t at, unsigned int nr)
{
	struct list *l = list_new(c);
	struct list_entry e;

	if (!l)
		return -ENOMEM;
	out_text(o, "[");
	list_seek(l, at);
	for (unsigned int i = 0; i < nr && list_next(l, &e); i++) {
		if (i)
			out_text(o, ",\n");
		put_entry(c, o, &e);
	}
	out_text(o, "]");
	list_free(l);
	return 0;
}

int answer_number(const struct columns *c, struct out *o, uint64_t ts)
{
	struct list *l = list_new(c);

	if (!l)
		return -ENOMEM;
	out_printf(o, "%" PRIu64, list_number(l, clock_of(c, ts)));
	list_free(l);
	return 0;
}

int answer_find(const struct columns *c, struct out *o, const struct match *m, uint64_t from,
		uint64_t to)
{
	struct list *l = list_new(c);
	uint64_t nr = 0;
	int64_t first = -1, last = -1;
	struct list_entry e;

	if (!l)
		return -ENOMEM;
	list_seek(l, from);
	for (uint64_t i = from; i < to && list_next(l, &e); i++) {
		if ((e.is_event ? match_event(m, e.nr) : match_item(m, e.track, e.row, e.nr)) !=
		    MATCH_YES)
			continue;
		first = first < 0 ? (int64_t)i : first;
		last = (int64_t)i;
		nr++;
	}
	out_printf(o, "[%" PRIu64 ",%" PRId64 ",%" PRId64 "]", nr, first, last);
	list_free(l);
	return 0;
}
