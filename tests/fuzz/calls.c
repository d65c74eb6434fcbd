/* SPDX-License-Identifier: MIT */
/*
 * Any sequence of records through the builder of calls and into function_graph's events. Promises:
 * each entered call is left once, inside the call around it; memory stays below the limits; each
 * event comes from a record that was read. Eight bytes of the input are a record.
 */
#include "fuzz.h"

#include <string.h>

#include "tools/analysis/calls.h"
#include "tools/analysis/graph_events.h"
#include "tools/analysis/merge.h"

#define NR_CPUS	    3
#define MAX_RECORDS 4096u

struct wire {
	uint8_t kind; /* 0..5 of the ring, 6..8 of a trace.dat, 9 alone, else another */
	uint8_t cpu;
	uint8_t pid; /* low bits: thread; high ones: process */
	uint8_t ip;
	uint8_t number; /* of UNWOUND and STACK; the depth of records that have one */
	uint8_t step;	/* of time */
	uint8_t lost;
	uint8_t stack; /* of records that have one */
};

struct memory {
	struct reader head;
	struct record rec[NR_CPUS][MAX_RECORDS];
	unsigned int nr[NR_CPUS], at[NR_CPUS];
};

static int memory_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct memory *m = (struct memory *)r;
	unsigned int n = 0;

	/* few at a time: the seams between two reads are of interest */
	for (; n < max && n < 7 && m->at[cpu] < m->nr[cpu]; n++)
		out[n] = m->rec[cpu][m->at[cpu]++];
	return (int)n;
}

static int memory_rewind(struct reader *r)
{
	memset(((struct memory *)r)->at, 0, sizeof(((struct memory *)r)->at));
	return 0;
}

static void memory_close(struct reader *r)
{
	(void)r;
}

static void take(struct memory *m, const uint8_t *data, uint64_t *ts)
{
	static const uint8_t kinds[] = {RECORD_ENTRY,	RECORD_ENTRY, RECORD_EXIT,  RECORD_TAIL,
					RECORD_UNWOUND, RECORD_STACK, RECORD_ENTRY, RECORD_TAIL,
					RECORD_EXIT,	RECORD_EXIT};
	unsigned int cpu = data[offsetof(struct wire, cpu)] % NR_CPUS;
	struct record *rec = &m->rec[cpu][m->nr[cpu]];
	struct wire w;

	memcpy(&w, data, sizeof(w));
	if (m->nr[cpu] == MAX_RECORDS)
		return;
	m->nr[cpu]++;
	*ts += w.step;
	*rec = (struct record){
		.ts = *ts,
		.cpu = (uint16_t)cpu,
		.pid = w.pid & 15,
		.kind = w.kind < sizeof(kinds) ? kinds[w.kind] : RECORD_FUNCTION,
		.ip = w.kind == 4 || w.kind == 5 ? w.number * (w.number > 250 ? 1000000u : 1u)
						 : w.ip,
		.lost = w.lost > 240 ? (w.lost == 255 ? RECORD_LOST_UNKNOWN : w.lost) : 0,
	};
	if (w.kind < 6) {
		rec->process = w.pid >> 6;
		rec->task = w.pid >> 4 & 3;
	} else if (w.kind < sizeof(kinds)) {
		rec->graph = RECORD_GRAPH_DEPTH | (w.kind == 9 ? RECORD_GRAPH_ALONE : 0) |
			     (w.lost & 1 ? RECORD_GRAPH_NO_START : 0);
		rec->depth = w.number > 250 ? UINT32_MAX - w.number : w.number;
		rec->duration = w.ip * (w.lost & 2 ? UINT64_C(1) << 60 : 1);
		rec->task = w.kind == 9 ? 0 : w.stack;
	}
}

struct balance {
	uint64_t entered, left, open;
	bool cutting;
};

static const struct calls_limits limits = {.max_depth = 9, .max_open = 24, .max_stacks = 6};

static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct balance *b = arg;

	PROMISE(!rec == b->cutting && call->data == 0);
	call->data = ++b->entered;
	/* a call of which only the return is known is not kept */
	PROMISE(++b->open <= limits.max_open + 1);
	PROMISE(!parent || parent->data);
	PROMISE(!parent || parent->depth < call->depth);
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct balance *b = arg;

	PROMISE(call->data && b->open);
	PROMISE(call->start <= call->end);
	PROMISE(!rec == !!(call->flags & (CALL_UNFINISHED | CALL_CUT_END)) || !rec);
	PROMISE(!parent || parent->data);
	call->data = 0;
	b->left++;
	b->open--;
}

static void nothing_open(void *arg)
{
	PROMISE(!((struct balance *)arg)->open);
}

static void cut(struct calls *c, struct balance *b, uint64_t ts)
{
	b->cutting = true;
	calls_cut(c, ts, nothing_open, b);
	b->cutting = false;
}

static void through_calls(struct memory *m)
{
	static const struct calls_ops ops = {on_enter, on_leave, NULL};
	struct balance b = {0};
	struct calls *c = calls_new(&ops, &b, &limits);
	struct merge *merge;
	const struct record *rec;

	PROMISE(c);
	PROMISE(calls_learn(c, &m->head, NULL) == 0);
	memory_rewind(&m->head);
	merge = merge_new(&m->head);
	PROMISE(merge);
	while (merge_next(merge, &rec) > 0) {
		calls_would_leave(c, rec);
		PROMISE(calls_record(c, rec) == 0);
		if (++fuzz_file_records % 16 == 0)
			cut(c, &b, rec->ts + rec->ip % 3);
	}
	calls_finish(c);
	PROMISE(b.entered == b.left && !b.open);
	merge_free(merge);
	calls_free(c);
}

static void through_events(struct memory *m, bool fold)
{
	const struct graph_event *ev;
	struct graph_events *g;
	uint64_t nr = 0;
	int ret;

	memory_rewind(&m->head);
	g = graph_events_new(&m->head, NULL, fold, &ret);
	PROMISE(g);
	while ((ret = graph_events_next(g, &ev)) > 0) {
		PROMISE(ev->rec->cpu < NR_CPUS && ev->type <= GRAPH_LEAF);
		PROMISE(fold || ev->type != GRAPH_LEAF);
		/* an exit needs an entry, and there are no more of those than records */
		PROMISE(++nr <= 2 * NR_CPUS * MAX_RECORDS);
	}
	PROMISE(!ret);
	graph_events_free(g);
}

static void run(const uint8_t *data, size_t n)
{
	static const struct reader_ops ops = {
		.read = memory_read, .close = memory_close, .rewind = memory_rewind};
	static struct memory m;
	uint64_t ts = 1000;

	memset(m.nr, 0, sizeof(m.nr));
	m.head = (struct reader){.ops = &ops, .nr_cpus = NR_CPUS, .graph = true};
	for (size_t at = 0; at + sizeof(struct wire) <= n; at += sizeof(struct wire))
		take(&m, data + at, &ts);
	memory_rewind(&m.head);
	through_calls(&m);
	through_events(&m, false);
	through_events(&m, true);
	/* no file changes here: replay's test of itself asks for one */
	fuzz_file_changes++;
}

static void mutate(struct mangle *m)
{
	size_t nr = m->n / sizeof(struct wire), at;
	struct wire w;

	if (!nr || mangle_random(m, 8) == 0) {
		mangle_any(m);
		return;
	}
	at = mangle_random(m, nr) * sizeof(struct wire);
	switch (mangle_random(m, 4)) {
	case 0:
		mangle_cut(m, at, sizeof(struct wire) * (1 + mangle_random(m, 20)));
		break;
	case 1: {
		size_t len = sizeof(struct wire) * (1 + mangle_random(m, 40));
		uint8_t copy[41 * sizeof(struct wire)];

		len = len < m->n - at ? len : m->n - at;
		memcpy(copy, m->p + at, len);
		mangle_insert(m, mangle_random(m, nr) * sizeof(struct wire), copy, len);
		break;
	}
	case 2:
		w = (struct wire){
			.kind = (uint8_t)mangle_random(m, 11),
			.cpu = (uint8_t)mangle_random(m, 3),
			.pid = (uint8_t)(mangle_random(m, 4) ? mangle_random(m, 3)
							     : mangle_random(m, 256)),
			.ip = (uint8_t)mangle_random(m, 4),
			.number = (uint8_t)(mangle_random(m, 4) ? mangle_random(m, 4)
								: mangle_random(m, 256)),
			.step = (uint8_t)mangle_random(m, 9),
			.lost = (uint8_t)mangle_random(m, 256),
			.stack = (uint8_t)mangle_random(m, 3),
		};
		mangle_insert(m, at, &w, sizeof(w));
		break;
	default:
		mangle_set(m, at + mangle_random(m, sizeof(struct wire)), 1, mangle_random(m, 0));
		break;
	}
}

const struct fuzz_target fuzz_calls = {"calls", run, mutate};
