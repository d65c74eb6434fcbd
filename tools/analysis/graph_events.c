/* SPDX-License-Identifier: MIT */
/*
 * See graph_events.h. Records of the ring go through calls.h, whose callbacks queue the events of a
 * record. Records of a trace.dat are events already. For a run by columns the events of many
 * records are queued at once, for other records the events of one.
 *
 * A leaf is what the kernel calls so: an entry whose exit is the next record of the same CPU. The
 * exit then makes no event. Costs about 10 ns a record of a run, 20 of another; bench: `report`.
 * Tests: tests/unit/test_dat_graph.c, tests/cli/test_report.py.
 */
#include "tools/analysis/graph_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/calls_impl.h"
#include "tools/analysis/runs.h"
#include "tools/analysis/stack_numbers.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"

#define RUN_RECORDS 64u

struct queued {
	struct graph_event ev;
	struct record rec; /* ev.rec */
};

struct graph_events {
	struct reader *r;
	struct runs *runs;
	struct calls *calls;
	bool fold;
	bool on_another;	 /* the last taken record is a RECORD_STACK */
	int err;		 /* of a callback */
	struct run run;		 /* the rest of the run */
	const struct run *ahead; /* the run by columns that is being taken */
	struct queued *queue;
	size_t nr, at, room;
	uint64_t *taken; /* records, by CPU */
	uint64_t *lost;	 /* not reported yet, by CPU */
	bool *folded;	 /* by CPU: the next exit is part of a leaf that was given */
	/* by CPU: the last event as it would be folded; GRAPH_OTHER: no entry. NULL: not wanted */
	struct queued *foreseen;
	bool missed;
	uint64_t args[RECORD_NR_ARGS]; /* copy of rec's, which may be freed too early */
	struct stack_numbers numbers;
};

/* The number of stack @id, 0 of the thread's own. */
static uint32_t number_of(struct graph_events *g, uint32_t process, uint32_t id)
{
	uint32_t number = id ? stack_number(&g->numbers, process, id) : 0;

	if (id && !number)
		g->err = -ENOMEM;
	return number;
}

/* Room for an event of @rec; NULL when memory is short. */
static inline struct graph_event *queue_event(struct graph_events *g, enum graph_event_type type,
					      const struct record *rec)
{
	size_t room = g->room;
	struct queued *q;

	if (ARRAY_ROOM(g->queue, g->nr, g->room, RUN_RECORDS)) {
		g->err = fail(ENOMEM, "out of memory for more than %zu events", g->nr);
		return NULL;
	}
	for (size_t i = 0; room != g->room && i < g->nr; i++)
		g->queue[i].ev.rec = &g->queue[i].rec;
	q = &g->queue[g->nr++];
	q->ev = (struct graph_event){.type = type, .rec = &q->rec, .lost = g->lost[rec->cpu]};
	q->rec = *rec;
	g->lost[rec->cpu] = 0;
	return &q->ev;
}

static void take_args(struct graph_events *g, struct graph_event *ev, const struct record *rec)
{
	if (!(rec->graph & RECORD_GRAPH_ARGS))
		return;
	memcpy(g->args, rec->args, sizeof(g->args));
	ev->args = g->args;
	ev->flags |= GRAPH_ARGS;
}

/*
 * The result of a call that ends with @rec. A call that it jumped to ends with it and has the same
 * result.
 */
static void take_retval(struct graph_event *ev, const struct record *rec)
{
	if (!(rec->graph & RECORD_GRAPH_RETVAL))
		return;
	ev->retval = rec->retval;
	ev->flags |= GRAPH_RETVAL;
}

/* The entry @ev is a leaf, whose end is @next. */
static inline void make_leaf(struct graph_events *g, struct graph_event *ev,
			     const struct record *next)
{
	ev->type = GRAPH_LEAF;
	ev->end = next->ts;
	ev->flags |= next->kind == RECORD_UNWOUND ? GRAPH_UNWOUND : 0;
	g->folded[next->cpu] = g->fold;
}

/* fold() for an entry within a run by columns; fold() itself is for the last entry. */
static inline void fold_ahead(struct graph_events *g, struct graph_event *ev,
			      const struct call *call)
{
	unsigned int next_at = g->calls->run_at + 1;
	struct record next;

	if (next_at == g->ahead->nr)
		return;
	next = run_plain(g->ahead, next_at);
	if (call->flags & CALL_BARE    ? calls_would_leave(g->calls, &next)
	    : next.kind == RECORD_EXIT ? next.ip == call->ip
				       : next.kind == RECORD_UNWOUND && record_unwinds(&next))
		make_leaf(g, ev, &next);
}

static inline void take_enter(struct graph_events *g, const struct call *call,
			      const struct record *rec)
{
	struct graph_event *ev = queue_event(g, GRAPH_ENTRY, rec);

	if (!ev)
		return;
	ev->ip = call->ip;
	ev->start = call->start;
	ev->depth = call->depth;
	ev->flags = call->flags & CALL_TAIL ? GRAPH_TAIL : 0;
	ev->stack = number_of(g, rec->process, call->stack);
	take_args(g, ev, rec);
	if (g->ahead) {
		g->folded[rec->cpu] = false;
		fold_ahead(g, ev, call);
	}
}

static inline void take_leave(struct graph_events *g, const struct call *call,
			      const struct record *rec)
{
	struct graph_event *ev;

	if (!rec || call->flags & CALL_NO_EXIT)
		return;
	if (g->folded[rec->cpu]) {
		g->folded[rec->cpu] = false;
		return;
	}
	ev = queue_event(g, GRAPH_EXIT, rec);
	if (!ev)
		return;
	ev->ip = call->ip;
	ev->start = call->start;
	ev->end = call->end;
	ev->depth = call->depth;
	ev->flags = call->flags & CALL_UNWOUND ? GRAPH_UNWOUND : 0;
	ev->stack = number_of(g, rec->process, call->stack);
	take_retval(ev, rec);
}

static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	(void)parent;
	take_enter(arg, call, rec);
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	(void)parent;
	take_leave(arg, call, rec);
}

/* Callbacks for the usual records of a run by columns. */
static void run_enter(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	(void)parent;
	take_enter(c->arg, call, rec);
}

static void run_leave(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	(void)parent;
	take_leave(c->arg, call, rec);
}

static int on_run(struct calls *c, void *arg, const struct run *run)
{
	(void)arg;
	return calls_plain_run(c, run, run_enter, run_leave, NULL);
}

static void on_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct graph_events *g = arg;
	struct graph_event *ev = queue_event(g, GRAPH_EXIT, rec);

	if (!ev)
		return;
	ev->ip = rec->ip;
	ev->start = ev->end = rec->ts;
	ev->depth = depth;
	ev->flags = GRAPH_NO_START;
	ev->stack = number_of(g, rec->process, stack);
	take_retval(ev, rec);
}

struct graph_events *graph_events_new(struct reader *r, const bool *cpus, bool fold, int *err)
{
	static const struct calls_ops ops = {
		.enter = on_enter, .leave = on_leave, .unmatched = on_unmatched, .run = on_run};
	static const struct calls_limits limits = {.max_open = 1u << 20};
	struct graph_events *g = calloc(1, sizeof(*g));

	*err = -ENOMEM;
	if (g) {
		g->r = r;
		g->fold = fold;
		g->lost = calloc(r->nr_cpus + 1u, sizeof(*g->lost));
		g->folded = calloc(r->nr_cpus + 1u, sizeof(*g->folded));
		g->taken = calloc(r->nr_cpus + 1u, sizeof(*g->taken));
		g->runs = runs_new(r);
		g->calls = calls_new(&ops, g, &limits);
	}
	if (!g || !g->lost || !g->folded || !g->taken || !g->runs || !g->calls) {
		fail(ENOMEM, "out of memory");
		graph_events_free(g);
		return NULL;
	}
	if ((cpus || (fold && r->leaves_unknown)) && r->ops->find_depths)
		r->ops->find_depths(r);
	*err = calls_learn(g->calls, r, cpus);
	if (*err) {
		graph_events_free(g);
		return NULL;
	}
	for (unsigned int cpu = 0; cpus && cpu < r->nr_cpus; cpu++)
		if (!cpus[cpu])
			runs_skip_cpu(g->runs, cpu);
	return g;
}

int graph_events_bases(const struct graph_events *g, struct record_base **out, size_t *nr)
{
	return calls_bases(g->calls, out, nr);
}

int graph_events_ends(struct graph_events *g, struct record_end **out, size_t *nr)
{
	return calls_ends(g->calls, &g->numbers, out, nr);
}

void graph_events_free(struct graph_events *g)
{
	if (!g)
		return;
	runs_free(g->runs);
	calls_free(g->calls);
	free(g->lost);
	free(g->folded);
	free(g->taken);
	free(g->foreseen);
	free(g->queue);
	stack_numbers_clear(&g->numbers);
	free(g);
}

static bool same_thread(const struct record *a, const struct record *b)
{
	return a->pid == b->pid && a->process == b->process && a->task == b->task;
}

/* Of the record of a trace.dat. */
static void take_exit(struct graph_event *ev, const struct record *rec)
{
	if (rec->graph & RECORD_GRAPH_NO_START)
		ev->flags |= GRAPH_NO_START;
	if (rec->graph & RECORD_GRAPH_UNWOUND)
		ev->flags |= GRAPH_UNWOUND;
	ev->start = rec->ts - rec->duration;
	ev->end = rec->ts;
	take_retval(ev, rec);
	ev->overrun = rec->overrun;
}

static void record_with_depth(struct graph_events *g, const struct record *rec)
{
	struct graph_event *ev;

	if (rec->kind == RECORD_EXIT && g->folded[rec->cpu]) {
		g->folded[rec->cpu] = false;
		return;
	}
	ev = queue_event(g, rec->kind == RECORD_EXIT ? GRAPH_EXIT : GRAPH_ENTRY, rec);
	if (!ev)
		return;
	ev->ip = rec->ip;
	ev->depth = rec->depth;
	ev->stack = rec->task;
	if (rec->kind == RECORD_EXIT) {
		take_exit(ev, rec);
	} else {
		ev->start = rec->ts;
		ev->flags = rec->kind == RECORD_TAIL ? GRAPH_TAIL : 0;
		take_args(g, ev, rec);
	}
}

/*
 * Make a leaf of @q if the next record of its CPU ends its call. @q is the entry that was queued
 * last, of the last taken record. Return: 1: it is a leaf; 0; -errno with fail() set.
 */
static int fold(struct graph_events *g, struct queued *q)
{
	const struct record *rec = &q->rec;
	bool has_depth = rec->graph & RECORD_GRAPH_DEPTH, ends;
	struct record next;
	int ret = 1;

	if (g->run.nr)
		next = run_record(&g->run);
	else
		ret = runs_peek(g->runs, &next);
	if (ret <= 0)
		return ret;
	if (next.lost || (next.graph & RECORD_GRAPH_DEPTH) != (rec->graph & RECORD_GRAPH_DEPTH))
		return 0;
	if (has_depth) /* the kernel asks for no more */
		ends = next.kind == RECORD_EXIT && next.ip == rec->ip && next.pid == rec->pid &&
		       next.task == rec->task;
	else
		ends = same_thread(&next, rec) && calls_would_leave(g->calls, &next);
	if (!ends)
		return 0;
	if (has_depth) {
		q->ev.type = GRAPH_LEAF;
		take_exit(&q->ev, &next);
		g->folded[rec->cpu] = g->fold;
	} else {
		make_leaf(g, &q->ev, &next);
		take_retval(&q->ev, &next);
	}
	return 1;
}

int graph_events_foresee(struct graph_events *g)
{
	g->foreseen = calloc(g->r->nr_cpus + 1u, sizeof(*g->foreseen));
	if (!g->foreseen)
		return fail(ENOMEM, "out of memory");
	for (unsigned int cpu = 0; cpu < g->r->nr_cpus; cpu++)
		g->foreseen[cpu].ev.type = GRAPH_OTHER;
	return 0;
}

/* @q follows an entry: do the records of a trace.dat give the same leaf, or none, as foreseen? */
static bool foresaw(const struct queued *f, const struct queued *q)
{
	const uint32_t how = GRAPH_UNWOUND | GRAPH_NO_START;
	const struct graph_event *entry = &f->ev, *ev = &q->ev;
	bool leaf = ev->type == GRAPH_EXIT && !ev->lost && ev->ip == entry->ip &&
		    q->rec.pid == f->rec.pid && ev->stack == entry->stack;

	if (!leaf || entry->type != GRAPH_LEAF)
		return leaf == (entry->type == GRAPH_LEAF);
	return ev->end - ev->start == entry->end - entry->start &&
	       (ev->flags & how) == (entry->flags & how);
}

/* Compare a record's events with the foreseen ones, and foresee the next. */
static int foresee(struct graph_events *g)
{
	int ret = 0;

	for (size_t i = 0; i < g->nr; i++) {
		const struct queued *q = &g->queue[i];
		struct queued *f = &g->foreseen[q->rec.cpu];

		if (f->ev.type != GRAPH_OTHER && !foresaw(f, q))
			g->missed = true;
		*f = *q;
		if (q->ev.type != GRAPH_ENTRY)
			f->ev.type = GRAPH_OTHER;
		else if (i + 1 == g->nr)
			ret = fold(g, f);
	}
	return ret < 0 ? ret : 0;
}

bool graph_events_missed(struct graph_events *g)
{
	for (unsigned int cpu = 0; cpu < g->r->nr_cpus; cpu++)
		g->missed |= g->foreseen[cpu].ev.type == GRAPH_LEAF;
	return g->missed;
}

static void add_lost(struct graph_events *g, unsigned int cpu, uint64_t lost)
{
	uint64_t *sum = &g->lost[cpu];

	*sum = record_lost_sum(*sum, lost);
}

/* The first @nr records of the run are taken. */
static void drop_first(struct graph_events *g, unsigned int nr)
{
	g->taken[run_record(&g->run).cpu] += nr;
	g->run.nr -= nr;
	if (g->run.recs) {
		g->run.recs += nr;
		return;
	}
	g->run.ts += nr;
	g->run.words += nr;
	g->run.head.lost = 0;
}

/* Fold the last event, if it is an entry, with the next record of its CPU. */
static int fold_last(struct graph_events *g)
{
	struct queued *last = g->nr ? &g->queue[g->nr - 1] : NULL;
	int ret;

	if (!g->fold || !last || last->ev.type != GRAPH_ENTRY || g->on_another)
		return 0;
	g->folded[last->rec.cpu] = false;
	ret = fold(g, last);
	return ret < 0 ? ret : 0;
}

/* Take the next records of a run by columns, so few that their events fit the first-level cache. */
static int take_run(struct graph_events *g)
{
	struct run run = g->run;
	int ret;

	run.nr = run.nr < RUN_RECORDS ? run.nr : RUN_RECORDS;
	drop_first(g, run.nr);
	add_lost(g, run.head.cpu, run.head.lost);
	g->ahead = &run;
	ret = calls_run(g->calls, &run);
	g->ahead = NULL;
	/* the next record does not end the last event's call */
	g->on_another = RECORD_RUN_KIND(run.words[run.nr - 1]) == RECORD_STACK;
	return ret;
}

/* The next record of the run. */
static int take_record(struct graph_events *g)
{
	struct record rec = run_record(&g->run);
	int ret;

	drop_first(g, 1);
	add_lost(g, rec.cpu, rec.lost);
	g->on_another = false;
	if (rec.graph & RECORD_GRAPH_DEPTH) {
		record_with_depth(g, &rec);
		return 0;
	}
	ret = calls_record(g->calls, &rec); /* it may report lost records */
	if ((rec.kind < RECORD_ENTRY || rec.kind > RECORD_STACK) &&
	    !queue_event(g, GRAPH_OTHER, &rec))
		ret = -ENOMEM;
	return ret;
}

int graph_events_next(struct graph_events *g, const struct graph_event **ev)
{
	int ret;

	while (g->at == g->nr) {
		g->at = g->nr = 0;
		ret = g->run.nr ? 1 : runs_next(g->runs, &g->run);
		if (ret <= 0)
			return ret;
		ret = g->run.recs || !g->fold ? take_record(g) : take_run(g);
		if (!ret && !g->err && g->foreseen && !g->missed)
			ret = foresee(g);
		if (!ret && !g->err)
			ret = fold_last(g);
		if (ret || g->err)
			return ret ? ret : g->err;
	}
	*ev = &g->queue[g->at++].ev;
	return 1;
}

uint64_t graph_events_too_deep(const struct graph_events *g)
{
	return calls_too_deep(g->calls);
}

void graph_events_again(struct graph_events *g)
{
	runs_go_on(g->runs, g->r);
}

void graph_events_go_on(struct graph_events *g, struct reader *r)
{
	g->r = r;
	calls_use(g->calls, r);
	runs_go_on(g->runs, r);
}

uint64_t graph_events_nr_taken(const struct graph_events *g, unsigned int cpu)
{
	return g->taken[cpu];
}
