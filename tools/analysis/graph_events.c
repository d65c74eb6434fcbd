/* SPDX-License-Identifier: MIT */
/*
 * See graph_events.h. The ring's records go through calls.h, whose callbacks queue what a record
 * has brought about; records of a trace.dat have all of it and pass as they are.
 *
 * A leaf is the same as the kernel's: an entry whose exit is the next record of the same CPU. The
 * exit's event is then left out when its record comes. Costs about 20 ns a record; bench: `report`.
 * Tests: tests/unit/test_dat_graph.c.
 */
#include "tools/analysis/graph_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/calls.h"
#include "tools/analysis/merge.h"
#include "tools/analysis/stack_numbers.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"

/* The last event of a CPU, if it is an entry, and what it would be as a leaf. */
struct foreseen {
	struct graph_event entry; /* type GRAPH_LEAF: it would be one; GRAPH_OTHER: none */
	int32_t pid;
};

struct graph_events {
	struct reader *r;
	struct merge *merge;
	struct calls *calls;
	bool fold;
	int err; /* of a callback */
	const struct record *rec;
	struct graph_event *queue;
	size_t nr, at, room;
	uint64_t *lost;		   /* not reported yet, a CPU each */
	bool *folded;		   /* the next exit of this CPU is out already */
	struct foreseen *foreseen; /* a CPU each; NULL: not asked for */
	bool missed;
	uint64_t args[RECORD_NR_ARGS]; /* of rec, whose own may go before its event does */
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

/* Room for an event of the current record; NULL when memory is short. */
static struct graph_event *queue_event(struct graph_events *g, enum graph_event_type type)
{
	struct graph_event *ev;

	if (ARRAY_ROOM(g->queue, g->nr, g->room, 16)) {
		g->err = fail(ENOMEM, "no memory for more than %zu events", g->nr);
		return NULL;
	}
	ev = &g->queue[g->nr++];
	*ev = (struct graph_event){.type = type, .rec = g->rec};
	if (g->lost[g->rec->cpu]) {
		ev->lost = g->lost[g->rec->cpu];
		g->lost[g->rec->cpu] = 0;
	}
	return ev;
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

static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct graph_events *g = arg;
	struct graph_event *ev = queue_event(g, GRAPH_ENTRY);

	if (!ev)
		return;
	ev->ip = call->ip;
	ev->start = call->start;
	ev->depth = call->depth;
	ev->flags = call->flags & CALL_TAIL ? GRAPH_TAIL : 0;
	ev->stack = number_of(g, rec->process, call->stack);
	take_args(g, ev, rec);
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	struct graph_events *g = arg;
	struct graph_event *ev;

	if (!rec || call->flags & CALL_NO_EXIT)
		return;
	if (g->folded[rec->cpu]) {
		g->folded[rec->cpu] = false;
		return;
	}
	ev = queue_event(g, GRAPH_EXIT);
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

static void on_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct graph_events *g = arg;
	struct graph_event *ev = queue_event(g, GRAPH_EXIT);

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
		.enter = on_enter, .leave = on_leave, .unmatched = on_unmatched};
	static const struct calls_limits limits = {.max_open = 1u << 20};
	struct graph_events *g = calloc(1, sizeof(*g));

	*err = -ENOMEM;
	if (g) {
		g->r = r;
		g->fold = fold;
		g->lost = calloc(r->nr_cpus + 1u, sizeof(*g->lost));
		g->folded = calloc(r->nr_cpus + 1u, sizeof(*g->folded));
		g->merge = merge_new(r);
		g->calls = calls_new(&ops, g, &limits);
	}
	if (!g || !g->lost || !g->folded || !g->merge || !g->calls) {
		fail(ENOMEM, "no memory");
		graph_events_free(g);
		return NULL;
	}
	if ((cpus || (fold && r->leaves_told)) && r->ops->tell_depths)
		r->ops->tell_depths(r);
	*err = calls_learn(g->calls, r, cpus);
	if (*err) {
		graph_events_free(g);
		return NULL;
	}
	for (unsigned int cpu = 0; cpus && cpu < r->nr_cpus; cpu++)
		if (!cpus[cpu])
			merge_skip_cpu(g->merge, cpu);
	return g;
}

int graph_events_bases(const struct graph_events *g, struct record_base **out, size_t *nr)
{
	return calls_bases(g->calls, out, nr);
}

void graph_events_free(struct graph_events *g)
{
	if (!g)
		return;
	merge_free(g->merge);
	calls_free(g->calls);
	free(g->lost);
	free(g->folded);
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
static void tell(struct graph_event *ev, const struct record *rec)
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

static void told_record(struct graph_events *g, const struct record *rec)
{
	struct graph_event *ev;

	if (rec->kind == RECORD_EXIT && g->folded[rec->cpu]) {
		g->folded[rec->cpu] = false;
		return;
	}
	ev = queue_event(g, rec->kind == RECORD_EXIT ? GRAPH_EXIT : GRAPH_ENTRY);
	if (!ev)
		return;
	ev->ip = rec->ip;
	ev->depth = rec->depth;
	ev->stack = rec->task;
	if (rec->kind == RECORD_EXIT) {
		tell(ev, rec);
	} else {
		ev->start = rec->ts;
		ev->flags = rec->kind == RECORD_TAIL ? GRAPH_TAIL : 0;
		take_args(g, ev, rec);
	}
}

/* Make a leaf of the entry @ev by g->rec, which was queued last, if the next record of its CPU ends
 * it. */
static int fold(struct graph_events *g, struct graph_event *ev)
{
	bool told = g->rec->graph & RECORD_GRAPH_TOLD, ends;
	const struct record *next;
	int ret;

	ret = merge_peek(g->merge, &g->rec, &next);
	for (size_t i = 0; i < g->nr; i++)
		g->queue[i].rec = g->rec;
	if (ret <= 0)
		return ret;
	if (next->lost || (next->graph & RECORD_GRAPH_TOLD) != (g->rec->graph & RECORD_GRAPH_TOLD))
		return 0;
	if (told) /* more the kernel does not ask for */
		ends = next->kind == RECORD_EXIT && next->ip == g->rec->ip &&
		       next->pid == g->rec->pid && next->task == g->rec->task;
	else
		ends = same_thread(next, g->rec) && calls_would_leave(g->calls, next);
	if (!ends)
		return 0;
	ev->type = GRAPH_LEAF;
	if (told) {
		tell(ev, next);
	} else {
		ev->end = next->ts;
		ev->flags |= next->kind == RECORD_UNWOUND ? GRAPH_UNWOUND : 0;
		take_retval(ev, next);
	}
	return 0;
}

int graph_events_foresee(struct graph_events *g)
{
	g->foreseen = calloc(g->r->nr_cpus + 1u, sizeof(*g->foreseen));
	if (!g->foreseen)
		return fail(ENOMEM, "no memory");
	for (unsigned int cpu = 0; cpu < g->r->nr_cpus; cpu++)
		g->foreseen[cpu].entry.type = GRAPH_OTHER;
	return 0;
}

/* @ev comes behind an entry: would the records of a trace.dat make a leaf of them, and the same? */
static bool foresaw(const struct foreseen *f, const struct graph_event *ev)
{
	const uint32_t how = GRAPH_UNWOUND | GRAPH_NO_START;
	bool leaf = ev->type == GRAPH_EXIT && !ev->lost && ev->ip == f->entry.ip &&
		    ev->rec->pid == f->pid && ev->stack == f->entry.stack;

	if (!leaf || f->entry.type != GRAPH_LEAF)
		return leaf == (f->entry.type == GRAPH_LEAF);
	return ev->end - ev->start == f->entry.end - f->entry.start &&
	       (ev->flags & how) == (f->entry.flags & how);
}

/* Compare a record's events with the foreseen ones, and foresee the next. */
static int foresee(struct graph_events *g)
{
	for (size_t i = 0; i < g->nr; i++) {
		const struct graph_event *ev = &g->queue[i];
		struct foreseen *f = &g->foreseen[ev->rec->cpu];

		if (f->entry.type != GRAPH_OTHER && !foresaw(f, ev))
			g->missed = true;
		f->entry = *ev;
		f->pid = ev->rec->pid;
		if (ev->type != GRAPH_ENTRY)
			f->entry.type = GRAPH_OTHER;
		else if (i + 1 == g->nr)
			return fold(g, &f->entry);
	}
	return 0;
}

bool graph_events_missed(struct graph_events *g)
{
	for (unsigned int cpu = 0; cpu < g->r->nr_cpus; cpu++)
		g->missed |= g->foreseen[cpu].entry.type == GRAPH_LEAF;
	return g->missed;
}

int graph_events_next(struct graph_events *g, const struct graph_event **ev)
{
	int ret;

	while (g->at == g->nr) {
		struct graph_event *other;

		g->at = g->nr = 0;
		ret = merge_next(g->merge, &g->rec);
		if (ret <= 0)
			return ret;
		if (g->rec->lost) {
			uint64_t *lost = &g->lost[g->rec->cpu];

			*lost = *lost > RECORD_LOST_UNKNOWN - g->rec->lost ? RECORD_LOST_UNKNOWN
									   : *lost + g->rec->lost;
		}
		if (g->rec->graph & RECORD_GRAPH_TOLD) {
			told_record(g, g->rec);
			ret = g->err;
		} else if (g->rec->kind < RECORD_ENTRY || g->rec->kind > RECORD_STACK) {
			ret = calls_record(g->calls, g->rec); /* it may tell of a loss */
			other = queue_event(g, GRAPH_OTHER);
			if (!other)
				ret = -ENOMEM;
		} else {
			ret = calls_record(g->calls, g->rec);
		}
		if (!ret && !g->err && g->foreseen && !g->missed)
			ret = foresee(g);
		if (!ret && !g->err && g->fold && g->nr &&
		    g->queue[g->nr - 1].type == GRAPH_ENTRY) {
			ret = fold(g, &g->queue[g->nr - 1]);
			g->folded[g->rec->cpu] = g->queue[g->nr - 1].type == GRAPH_LEAF;
		}
		if (ret || g->err)
			return ret ? ret : g->err;
	}
	*ev = &g->queue[g->at++];
	return 1;
}

uint64_t graph_events_too_deep(const struct graph_events *g)
{
	return calls_too_deep(g->calls);
}

void graph_events_again(struct graph_events *g)
{
	merge_again(g->merge);
}

void graph_events_go_on(struct graph_events *g, struct reader *r)
{
	g->r = r;
	merge_go_on(g->merge, r);
}

uint64_t graph_events_nr_taken(const struct graph_events *g, unsigned int cpu)
{
	return merge_nr_taken(g->merge, cpu);
}
