/* SPDX-License-Identifier: MIT */
/*
 * See dat_graph_runs.h. calls_plain_run() gives the events of a whole run; graph_events.c gives the
 * same for one record after another. Each event is encoded at once. If a call does not fit the
 * compact form, the caller starts again with graph_events.c.
 *
 * Costs 10 to 15 ns a record. Tests: tests/engine/dat_graph.c, tests/cli/test_convert.py (both
 * ways).
 */
#include "tools/export/dat_graph_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/calls_impl.h"
#include "tools/analysis/runs.h"
#include "tools/analysis/stack_numbers.h"
#include "tools/base/fail.h"
#include "tools/export/dat_events.h"

/*
 * The last event of a CPU, while it is an entry. In the ring it is a leaf if its exit is the next
 * record, in the file if its exit is the next event. Both must agree.
 */
struct last_entry {
	bool pending;
	bool known; /* the next record was the first of a run: leaf, end and unwound are known */
	bool leaf;
	bool unwound;
	bool any_exit;	      /* an exit of any function would end it */
	uint32_t at;	      /* its number in the run */
	uint64_t ip, exit_ip; /* the exit that would end it */
	uint64_t start, end;
	int32_t pid;
	uint32_t process, task;
	uint32_t stack; /* its number */
};

struct encoder {
	struct dat_graph_runs *g;
	struct calls *calls;
	struct last_entry *last; /* a CPU each */
	uint64_t *lost;		 /* not reported yet, a CPU each */
	/* of the current run: its CPU's entries of the arrays above, and all its events' fields */
	struct last_entry *run_last;
	uint64_t *run_lost;
	struct subbuf_writer *page;
	uint64_t common;
	struct stack_numbers numbers;
	struct runs *runs;
	bool missed; /* so far, without the entries whose next event is not known */
	bool other;
	int err;
};

/* The common fields, without the id. */
static uint64_t common_fields(const struct record *rec)
{
	return (uint64_t)rec->flags << 16 | (uint64_t)rec->preempt_count << 24 |
	       (uint64_t)(uint32_t)rec->pid << 32;
}

/* Room for an event of @bytes; NULL after an error. */
static inline unsigned char *put(struct encoder *e, uint64_t ts, uint32_t bytes)
{
	uint64_t lost = *e->run_lost;

	*e->run_lost = 0;
	e->g->events++;
	return subbuf_reserve(e->page, ts, lost, bytes, &e->err);
}

/* Does @rec, the record after the entry, end the call? */
static bool would_end(const struct last_entry *l, const struct record *rec)
{
	if (rec->kind == RECORD_UNWOUND)
		return record_unwinds(rec);
	return rec->kind == RECORD_EXIT && (l->any_exit || rec->ip == l->exit_ip);
}

/* The number of stack @id. Sets `other` if it or @depth does not fit the compact form. */
static inline uint32_t number_of(struct encoder *e, uint32_t process, uint32_t id, uint32_t depth)
{
	uint32_t number = id ? stack_number(&e->numbers, process, id) : 0;

	if (id && !number)
		e->err = -ENOMEM;
	e->other |= depth > DAT_COMPACT_DEPTH || number > DAT_COMPACT_STACK;
	return number;
}

/*
 * Compare both kinds of leaf: an event of @rec follows the entry. @exit: it is an exit, of @ip on
 * stack number @stack; its call took @took; @how: the exit's. Otherwise it is an entry.
 */
static void check_leaf(struct encoder *e, struct last_entry *l, const struct record *rec, bool exit,
		       uint64_t ip, uint32_t stack, uint64_t took, uint32_t how)
{
	bool ends = l->leaf, unwound = l->unwound, is_leaf;
	uint64_t end = l->end;

	l->pending = false;
	if (!l->known) {
		ends = e->calls->run_at == l->at + 1 && would_end(l, rec);
		unwound = rec->kind == RECORD_UNWOUND;
		end = rec->ts;
	}
	is_leaf = exit && !*e->run_lost && ip == l->ip && rec->pid == l->pid && stack == l->stack;
	if (is_leaf != ends ||
	    (is_leaf && (took != end - l->start || how != (unwound ? DAT_HOW_UNWOUND : 0))))
		e->missed = true;
}

/*
 * A call by a jump has no exit of its own. It ends with the nearest call below that has one.
 */
static void find_exit(const struct encoder *e, struct last_entry *l, const struct record *rec)
{
	const struct stack *s = e->calls->cpu_thread[rec->cpu]->cur;
	uint32_t nr = calls_innermost(s);

	l->any_exit = !nr;
	l->exit_ip = nr ? s->calls[nr - 1].ip : 0;
}

static inline void put_entry(struct encoder *e, const struct record *rec, uint64_t ip,
			     uint32_t depth, uint32_t stack, uint32_t how)
{
	struct last_entry *l = e->run_last;
	unsigned char *data;

	if (l->pending)
		check_leaf(e, l, rec, false, ip, stack, 0, 0);
	data = put(e, rec->ts, DAT_COMPACT_ENTRY_BYTES);
	if (data)
		dat_compact_entry(data, e->common | DAT_ID_ENTRY, ip, depth, stack, how);
}

static inline void put_exit(struct encoder *e, uint64_t ip, uint64_t start, uint64_t end,
			    uint32_t depth, uint32_t stack, uint32_t how)
{
	unsigned char *data = put(e, end, DAT_COMPACT_EXIT_BYTES);

	if (data)
		dat_compact_exit(data, e->common | DAT_ID_EXIT, ip, start, end, depth, stack, how);
}

static inline void encode_entry(struct encoder *e, const struct call *call,
				const struct record *rec)
{
	uint32_t stack = number_of(e, rec->process, call->stack, call->depth);
	struct last_entry *l = e->run_last;

	put_entry(e, rec, call->ip, call->depth, stack, call->flags & CALL_TAIL ? DAT_HOW_TAIL : 0);
	l->pending = true;
	l->known = l->any_exit = false;
	l->at = e->calls->run_at;
	l->ip = l->exit_ip = call->ip;
	l->start = call->start;
	l->pid = rec->pid;
	l->process = rec->process;
	l->task = rec->task;
	l->stack = stack;
	if (call->flags & CALL_BARE)
		find_exit(e, l, rec);
}

/* An exit of @ip, of a call on stack @stack_id that took @took. */
static inline void end_call(struct encoder *e, const struct record *rec, uint64_t ip, uint64_t took,
			    uint32_t depth, uint32_t stack_id, uint32_t how)
{
	uint32_t stack = number_of(e, rec->process, stack_id, depth);
	struct last_entry *l = e->run_last;

	if (l->pending)
		check_leaf(e, l, rec, true, ip, stack, took, how);
	put_exit(e, ip, rec->ts - took, rec->ts, depth, stack, how);
}

static inline void encode_exit(struct encoder *e, const struct call *call, const struct record *rec)
{
	if (rec && !(call->flags & CALL_NO_EXIT))
		end_call(e, rec, call->ip, call->end - call->start, call->depth, call->stack,
			 call->flags & CALL_UNWOUND ? DAT_HOW_UNWOUND : 0);
}

/* Callbacks for the usual records of a run. */
static void run_enter(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	(void)parent;
	encode_entry(c->arg, call, rec);
}

static void run_leave(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	(void)parent;
	encode_exit(c->arg, call, rec);
}

/* Encode both events of a leaf. Both kinds of leaf agree here. */
static bool run_leaf(struct calls *c, struct call *parent, const struct record *rec, uint64_t end)
{
	const struct stack *s = c->cpu_thread[rec->cpu]->cur;
	uint32_t depth = parent->depth + 1, stack;
	struct encoder *e = c->arg;

	if (end < rec->ts)
		return false;
	stack = number_of(e, rec->process, s->own ? 0 : s->id, depth);
	put_entry(e, rec, rec->ip, depth, stack, 0);
	put_exit(e, rec->ip, rec->ts, end, depth, stack, 0);
	return true;
}

/* The same for other records. */
static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	(void)parent;
	encode_entry(arg, call, rec);
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	(void)parent;
	encode_exit(arg, call, rec);
}

static void on_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	end_call(arg, rec, rec->ip, 0, depth, stack, DAT_HOW_NO_START);
}

static int on_run(struct calls *c, void *arg, const struct run *run)
{
	(void)arg;
	return calls_plain_run(c, run, run_enter, run_leave, run_leaf);
}

/* The run's first record is the next one after the entry that ended the CPU's last run: note it. */
static void begin_run(struct encoder *e, const struct run *run)
{
	struct last_entry *l = &e->last[run->head.cpu];
	uint64_t *lost = &e->lost[run->head.cpu];
	uint32_t word = run->words[0], id = RECORD_RUN_ID(word);
	struct record rec = run->head;

	e->run_last = l;
	e->run_lost = lost;
	e->page = &e->g->pages[rec.cpu];
	e->common = common_fields(&rec);
	*lost = record_lost_sum(*lost, rec.lost);
	if (!l->pending || l->known)
		return;
	rec.kind = (uint8_t)RECORD_RUN_KIND(word);
	rec.ip = rec.kind <= RECORD_EXIT ? run->functions[id] : id;
	l->known = true;
	l->leaf = !rec.lost && rec.pid == l->pid && rec.process == l->process &&
		  rec.task == l->task && would_end(l, &rec);
	l->unwound = rec.kind == RECORD_UNWOUND;
	l->end = run->ts[0];
}

int dat_graph_runs_begin(struct dat_graph_runs *g)
{
	static const struct calls_ops ops = {
		.enter = on_enter, .leave = on_leave, .unmatched = on_unmatched, .run = on_run};
	static const struct calls_limits limits = {.max_open = 1u << 20};
	bool learn = g->learn || g->r->bases_known;
	struct encoder *e = calloc(1, sizeof(*e));
	int ret = 0;

	g->events = 0;
	g->missed = false;
	g->e = e;
	if (!e)
		return fail(ENOMEM, "out of memory");
	e->g = g;
	e->last = calloc(g->r->nr_cpus + 1u, sizeof(*e->last));
	e->lost = calloc(g->r->nr_cpus + 1u, sizeof(*e->lost));
	e->calls = calls_new(&ops, e, &limits);
	if (!e->last || !e->lost || !e->calls)
		return fail(ENOMEM, "out of memory");
	calls_use(e->calls, g->r);
	ret = learn ? calls_learn(e->calls, g->r, NULL) : 0;
	/* if a stack was deeper at its start, all is encoded again */
	if (!ret)
		e->calls->learning = !learn;
	if (!ret)
		ret = calls_bases(e->calls, &g->bases, &g->nr_bases);
	if (ret)
		return ret;
	e->runs = runs_new(g->r);
	return e->runs ? 0 : fail(ENOMEM, "out of memory");
}

int dat_graph_runs_step(struct dat_graph_runs *g, const atomic_bool *stop)
{
	struct encoder *e = g->e;
	struct run run;
	uint64_t done;
	int ret;

	runs_go_on(e->runs, g->r);
	for (;;) {
		if (stop && atomic_load_explicit(stop, memory_order_relaxed))
			return DAT_GRAPH_HALF;
		ret = runs_next(e->runs, &run);
		if (ret <= 0)
			break;
		e->other |= run.recs || run.head.preempt_count;
		if (e->other)
			break;
		begin_run(e, &run);
		done = g->events;
		ret = calls_run(e->calls, &run);
		if (!ret && e->err)
			ret = dat_file_failed(g->file, e->err);
		if (ret || (e->calls->learning && e->calls->nr_learnt))
			break;
		dat_progress(g->opt, g->r, g->events, g->events - done);
	}
	if (ret < 0)
		return ret;
	if (e->other)
		return DAT_GRAPH_OTHER;
	if (e->calls->learning && e->calls->nr_learnt)
		return DAT_GRAPH_LEARN;
	g->missed = e->missed;
	for (unsigned int cpu = 0; cpu < g->r->nr_cpus; cpu++)
		g->missed |= e->last[cpu].pending && e->last[cpu].known && e->last[cpu].leaf;
	free(g->ends);
	ret = calls_ends(e->calls, &e->numbers, &g->ends, &g->nr_ends);
	return ret ? ret : DAT_GRAPH_DONE;
}

void dat_graph_runs_go_on(struct dat_graph_runs *g, struct reader *r)
{
	g->r = r;
	if (g->e)
		calls_use(g->e->calls, r);
}

void dat_graph_runs_end(struct dat_graph_runs *g)
{
	struct encoder *e = g->e;

	g->e = NULL;
	if (!e)
		return;
	runs_free(e->runs);
	calls_free(e->calls);
	stack_numbers_clear(&e->numbers);
	free(e->last);
	free(e->lost);
	free(e);
}

int dat_graph_runs(struct dat_graph_runs *g)
{
	int ret = dat_graph_runs_begin(g);

	if (!ret)
		ret = dat_graph_runs_step(g, NULL);
	dat_graph_runs_end(g);
	return ret;
}
