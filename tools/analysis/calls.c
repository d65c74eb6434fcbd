/* SPDX-License-Identifier: MIT */
/*
 * See calls.h. Each stack is an array of its open calls. The usual record is an ENTRY, which is
 * pushed, or an EXIT of the top call. Any other EXIT takes the slow path, close_exit().
 *
 * A call by RECORD_TAIL has no exit of its own (CALL_BARE), except in a trace.dat. It lies on the
 * stack above the call that jumped to it and ends with that call. Records of a trace.dat have a
 * depth, which shows the open calls even where records were lost.
 *
 * Costs 6 to 10 ns a record without callbacks. Tests: tests/unit/test_calls.c (random programs
 * against the program's own list of its calls), tests/fuzz/calls.c.
 */
#include "tools/analysis/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/calls_impl.h"
#include "tools/analysis/runs.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define DEFAULT_DEPTH  (1u << 20)
#define DEFAULT_OPEN   (1u << 22)
#define DEFAULT_STACKS (1u << 20)
#define FIRST_CALLS    16u

struct calls *calls_new(const struct calls_ops *ops, void *arg, const struct calls_limits *limits)
{
	struct calls *c = calloc(1, sizeof(*c));

	if (!c) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	c->ops = *ops;
	c->arg = arg;
	if (limits)
		c->limits = *limits;
	if (!c->limits.max_depth)
		c->limits.max_depth = DEFAULT_DEPTH;
	if (!c->limits.max_open)
		c->limits.max_open = DEFAULT_OPEN;
	/* a thread that changes its stack needs two stacks, and the old one must not be dropped */
	if (!c->limits.max_stacks)
		c->limits.max_stacks = DEFAULT_STACKS;
	if (c->limits.max_stacks < 4)
		c->limits.max_stacks = 4;
	return c;
}

void calls_free(struct calls *c)
{
	if (!c)
		return;
	calls_free_stacks(c);
	free(c);
}

static struct call *top_of(const struct stack *s)
{
	return s->nr ? &s->calls[s->nr - 1] : NULL;
}

static int enter(struct calls *c, struct stack *s, const struct record *rec, uint32_t depth,
		 uint32_t flags)
{
	struct call *call, *parent = top_of(s);

	if (s->nr == c->limits.max_depth || c->nr_open >= c->limits.max_open) {
		c->too_deep++;
		return 1;
	}
	if (s->nr == s->room) {
		uint32_t room = s->room ? s->room * 2 : FIRST_CALLS;
		struct call *more = realloc(s->calls, room * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "out of memory for %u open calls", room);
		s->calls = more;
		s->room = room;
		parent = top_of(s);
	}
	call = &s->calls[s->nr++];
	c->nr_open++;
	*call = (struct call){
		.ip = rec->ip,
		.start = rec->ts,
		.pid = rec->pid,
		.depth = depth,
		.process = calls_process(rec),
		.stack = s->own ? 0 : s->id,
		.flags = flags,
	};
	if (c->ops.enter)
		c->ops.enter(c->arg, call, parent, rec);
	return 0;
}

/* Keep the time of a call without a parent: the parent may still be reported, when it returns. */
static void add_orphan(struct stack *s, uint32_t depth, uint64_t time)
{
	if (depth >= ORPHAN_DEPTHS)
		return;
	if (!s->orphans)
		s->orphans = calloc(ORPHAN_DEPTHS, sizeof(*s->orphans));
	if (s->orphans)
		s->orphans[depth] += time;
}

static void add_child(struct stack *s, struct call *parent, const struct call *call,
		      const struct record *rec)
{
	if (parent) {
		parent->children += call->end - call->start;
		parent->nr_children += parent->nr_children < UINT32_MAX;
	} else if (rec && rec->graph & RECORD_GRAPH_DEPTH) {
		add_orphan(s, call->depth, call->end - call->start);
	}
}

/* End the innermost call of @s, which has one. */
static void leave(struct calls *c, struct stack *s, uint64_t ts, uint32_t flags,
		  const struct record *rec)
{
	struct call *call = &s->calls[--s->nr], *parent = top_of(s);

	c->nr_open--;
	call->end = ts > call->start ? ts : call->start;
	call->flags = (call->flags & ~CALL_BARE) | flags;
	if (call->start < c->loss_ts)
		call->flags |= CALL_BROKEN;
	/* its stack may have been left behind its last record */
	if (call->suspended > call->end - call->start - call->children)
		call->suspended = call->end - call->start - call->children;
	add_child(s, parent, call, rec);
	if (c->ops.leave)
		c->ops.leave(c->arg, call, parent, rec);
}

/* The same of a call without an exit: it was open at the last record of the stack. */
static void leave_lost(struct calls *c, struct stack *s, const struct record *rec)
{
	leave(c, s, s->last_ts, CALL_NO_EXIT, rec);
}

void calls_end_stack(struct calls *c, struct stack *s, uint64_t ts)
{
	ts = calls_end_of(c, s, ts);
	calls_resume(s, ts);
	while (s->nr)
		leave(c, s, ts, CALL_UNFINISHED, NULL);
	s->over = 0;
}

/*
 * Find the innermost open call of @ip among the first @nr that has an exit of its own. Return: its
 * number + 1, 0 none. A failed search is remembered until the stack changes below: else each exit
 * without an entry would cost a search of the whole stack.
 */
static uint32_t find_open(struct calls *c, const struct stack *s, uint32_t nr, uint64_t ip)
{
	struct not_open *known =
		&c->not_open[hash_u64(ip ^ (uintptr_t)s >> 6) >> 56 & (NOT_OPEN_SLOTS - 1)];
	uint32_t end = 0;

	if (known->stack == s && known->ip == ip && known->nr <= nr && known->nr &&
	    s->calls[known->nr - 1].ip == known->below_ip &&
	    s->calls[known->nr - 1].start == known->below_start)
		end = known->nr;
	for (uint32_t i = nr; i > end; i--)
		if (s->calls[i - 1].ip == ip && !(s->calls[i - 1].flags & CALL_BARE))
			return i;
	if (nr)
		*known = (struct not_open){
			.stack = s,
			.ip = ip,
			.nr = nr,
			.below_ip = s->calls[nr - 1].ip,
			.below_start = s->calls[nr - 1].start,
		};
	return 0;
}

static void unmatched(struct calls *c, const struct stack *s, uint32_t depth,
		      const struct record *rec)
{
	if (c->ops.unmatched)
		c->ops.unmatched(c->arg, depth, s->own ? 0 : s->id, rec);
}

/* An exit without an entry. The record has its depth, and perhaps the start of its call. */
static void returned(struct calls *c, struct stack *s, const struct record *rec)
{
	struct call *parent = top_of(s);
	struct call call = {
		.ip = rec->ip,
		.start = rec->duration < rec->ts ? rec->ts - rec->duration : 0,
		.pid = rec->pid,
		.depth = rec->depth,
		.process = calls_process(rec),
		.stack = s->own ? 0 : s->id,
		.flags = CALL_RETURN_ONLY,
	};

	if (rec->graph & RECORD_GRAPH_NO_START) {
		unmatched(c, s, rec->depth, rec);
		return;
	}
	if (parent && parent->depth >= rec->depth)
		parent = NULL;
	if (call.start < c->cut_ts) {
		call.start = c->cut_ts;
		call.flags |= CALL_CUT_BEGIN;
	}
	if (c->ops.enter)
		c->ops.enter(c->arg, &call, parent, rec);
	call.end = rec->ts > call.start ? rec->ts : call.start;
	if (s->orphans && rec->depth + 1 < ORPHAN_DEPTHS) {
		uint64_t beneath = s->orphans[rec->depth + 1];

		call.children = beneath < call.end - call.start ? beneath : call.end - call.start;
		s->orphans[rec->depth + 1] = 0;
	}
	if (call.start < c->loss_ts)
		call.flags |= CALL_BROKEN;
	if (rec->graph & RECORD_GRAPH_UNWOUND)
		call.flags |= CALL_UNWOUND;
	add_child(s, parent, &call, rec);
	if (c->ops.leave)
		c->ops.leave(c->arg, &call, parent, rec);
}

/* End @nr calls of @s that began before its records. */
static void leave_base(struct calls *c, struct stack *s, uint32_t nr)
{
	c->left_base += nr;
	/* after a loss they may have begun in the lost part */
	if (c->learning && s->first_ts >= c->loss_ts)
		calls_learn_one(c, s, nr);
	s->base -= nr < s->base ? nr : s->base;
}

/* An EXIT of the ring that is not of the top call. */
static void close_exit(struct calls *c, struct thread *t, const struct record *rec)
{
	struct stack *s = t->cur;
	uint32_t nr = calls_innermost(s), at;

	/* the first record that shows that the thread is back on its first stack */
	if (!nr && !s->own && !t->own.id && !s->nr) {
		uint32_t own = calls_innermost(&t->own);

		if (own && t->own.calls[own - 1].ip == rec->ip) {
			calls_bind_own(c, t);
			s = t->cur;
			nr = own;
		}
	}
	at = nr ? find_open(c, s, nr, rec->ip) : 0;
	if (at) {
		/* calls that the ended call jumped to have ended with it */
		for (nr = at; nr < s->nr && s->calls[nr].flags & CALL_BARE;)
			nr++;
		while (s->nr > nr)
			leave_lost(c, s, rec);
		while (s->nr >= at)
			leave(c, s, rec->ts, 0, rec);
		return;
	}
	if (nr) { /* it was called by the open calls, its entry is lost */
		unmatched(c, s, s->calls[s->nr - 1].depth + 1, rec);
		return;
	}
	while (s->nr)
		leave(c, s, rec->ts, 0, rec);
	leave_base(c, s, 1);
	unmatched(c, s, s->base, rec);
}

/*
 * An UNWOUND record: end the innermost calls, as many as it says. If they have returned it is not
 * known when: they were open at the stack's last record.
 */
static void close_unwound(struct calls *c, struct thread *t, const struct record *rec)
{
	struct stack *s = t->cur;
	uint64_t left = rec->ip & ~(uint64_t)RECORD_UNWOUND_RETURNED;
	bool returned = rec->ip & RECORD_UNWOUND_RETURNED;

	if (!s->own && !t->own.id && !s->nr && !s->over && t->own.nr) {
		calls_bind_own(c, t);
		s = t->cur;
	}
	if (left <= s->over) {
		s->over -= (uint32_t)left;
		return;
	}
	left -= s->over;
	s->over = 0;
	while (s->nr && left) {
		if (!(s->calls[s->nr - 1].flags & CALL_BARE))
			left--;
		if (returned)
			leave_lost(c, s, rec);
		else
			leave(c, s, rec->ts, CALL_UNWOUND, rec);
	}
	if (left)
		leave_base(c, s, left < c->limits.max_depth ? (uint32_t)left : c->limits.max_depth);
}

int calls_ring_record(struct calls *c, struct thread *t, const struct record *rec)
{
	struct call *top;
	struct stack *s;
	int ret;

	if (rec->kind == RECORD_STACK)
		return calls_switch(c, t, t->process, (uint32_t)rec->ip);
	ret = calls_settle(c, t, rec->ts);
	if (ret)
		return ret;
	s = t->cur;
	t->renamed = 0;
	switch (rec->kind) {
	case RECORD_TAIL:
		if (s->nr - calls_innermost(s) >= CALLS_MAX_TAILS)
			leave(c, s, rec->ts, 0, rec);
		/* fall through */
	case RECORD_ENTRY:
		top = top_of(s);
		ret = 1;
		if (s->over)
			c->too_deep++;
		else
			ret = enter(c, s, rec, top ? top->depth + 1 : s->base,
				    rec->kind == RECORD_TAIL ? CALL_TAIL | CALL_BARE : 0);
		if (ret > 0 && rec->kind == RECORD_ENTRY)
			s->over++;
		return ret < 0 ? ret : 0;
	case RECORD_EXIT:
		top = top_of(s);
		if (s->over)
			s->over--;
		else if (top && top->ip == rec->ip && !(top->flags & CALL_BARE))
			leave(c, s, rec->ts, 0, rec);
		else
			close_exit(c, t, rec);
		return 0;
	default:
		close_unwound(c, t, rec);
		return 0;
	}
}

/* A record of a trace.dat: its depth shows which other calls have ended. */
static int record_with_depth(struct calls *c, struct thread *t, const struct record *rec)
{
	uint32_t flags = rec->graph & RECORD_GRAPH_UNWOUND ? CALL_UNWOUND : 0;
	struct call *top;
	struct stack *s;
	int ret;

	t->renamed = 0; /* only records of the ring do not say which stack is the thread's own */
	ret = calls_switch(c, t, rec->graph & RECORD_OF_FURTHER ? rec->process : PROCESS_NONE,
			   rec->task);
	if (ret)
		return ret;
	if (t->moved)
		calls_moved(c, t, rec->ts);
	s = t->cur;
	for (top = top_of(s); top && top->depth > rec->depth; top = top_of(s))
		leave_lost(c, s, rec);
	if (rec->kind == RECORD_EXIT) {
		if (top && top->depth == rec->depth && top->ip == rec->ip) {
			leave(c, s, rec->ts, flags, rec);
			return 0;
		}
		if (top && top->depth == rec->depth)
			leave_lost(c, s, rec);
		if (s->nr < c->limits.max_depth)
			returned(c, s, rec);
		return 0;
	}
	if (top && top->depth == rec->depth)
		leave_lost(c, s, rec);
	ret = enter(c, s, rec, rec->depth, rec->kind == RECORD_TAIL ? CALL_TAIL : 0);
	return ret < 0 ? ret : 0;
}

static bool is_graph(const struct record *rec)
{
	return rec->kind >= RECORD_ENTRY && rec->kind <= RECORD_STACK;
}

int calls_record(struct calls *c, const struct record *rec)
{
	struct thread *t;
	int ret;

	/* the kernel's events of a further buffer do not make calls longer */
	if (!(rec->graph & RECORD_OF_FURTHER) || is_graph(rec))
		c->last_ts = rec->ts;
	if (rec->lost) {
		if (rec->cpu < c->nr_cpus && c->cpu_seen[rec->cpu])
			c->loss_ts = rec->ts;
	}
	if (!(rec->graph & RECORD_OF_FURTHER) && calls_see_image(c, calls_process(rec), rec->ts))
		return -ENOMEM;
	if (!is_graph(rec))
		return 0;
	t = calls_thread(c, rec);
	if (!t)
		return -ENOMEM;
	c->cpu_seen[rec->cpu] = true;
	ret = rec->graph & RECORD_GRAPH_DEPTH ? record_with_depth(c, t, rec)
					      : calls_ring_record(c, t, rec);
	if (rec->kind != RECORD_STACK)
		t->cur->last_ts = rec->ts;
	return ret;
}

static void report_enter(struct calls *c, struct call *call, struct call *parent,
			 const struct record *rec)
{
	if (c->ops.enter)
		c->ops.enter(c->arg, call, parent, rec);
}

static void report_leave(struct calls *c, struct call *call, struct call *parent,
			 const struct record *rec)
{
	if (c->ops.leave)
		c->ops.leave(c->arg, call, parent, rec);
}

int calls_run(struct calls *c, const struct run *run)
{
	int ret = 0;

	if (!run->recs)
		return c->ops.run ? c->ops.run(c, c->arg, run)
				  : calls_plain_run(c, run, report_enter, report_leave, NULL);
	for (unsigned int i = 0; i < run->nr && !ret; i++)
		ret = calls_record(c, &run->recs[i]);
	return ret;
}

void calls_finish(struct calls *c)
{
	for (struct stack *s = c->oldest; s; s = s->newer)
		calls_end_stack(c, s, calls_last_of(c, s));
}

/* calls_cut(), the first half of one stack. */
static void cut_leave(struct calls *c, struct stack *s, uint64_t ts)
{
	ts = calls_end_of(c, s, ts);
	if (s->is_left && s->nr && ts > s->left_ts) {
		s->calls[s->nr - 1].suspended += ts - s->left_ts;
		s->left_ts = ts;
	}
	for (uint32_t i = s->nr; i-- > 0;) {
		struct call *call = &s->calls[i], *parent = i ? call - 1 : NULL;
		uint32_t flags = call->flags;

		call->end = ts > call->start ? ts : call->start;
		call->flags = (flags & ~CALL_BARE) | CALL_CUT_END;
		if (call->start < c->loss_ts)
			call->flags |= CALL_BROKEN;
		add_child(s, parent, call, NULL);
		report_leave(c, call, parent, NULL);
		call->flags = (flags & (CALL_TAIL | CALL_BARE)) | CALL_CUT_BEGIN;
	}
	if (s->orphans)
		memset(s->orphans, 0, ORPHAN_DEPTHS * sizeof(*s->orphans));
}

void calls_cut(struct calls *c, uint64_t ts, void (*between)(void *arg), void *arg)
{
	for (struct stack *s = c->oldest; s; s = s->newer)
		cut_leave(c, s, ts);
	if (between)
		between(arg);
	for (struct stack *s = c->oldest; s; s = s->newer) {
		for (uint32_t i = 0; i < s->nr; i++) {
			struct call *call = &s->calls[i];

			call->start = call->end;
			call->data = call->end = call->children = call->suspended = 0;
			call->nr_children = 0;
			if (c->ops.enter)
				c->ops.enter(c->arg, call, i ? call - 1 : NULL, NULL);
		}
	}
	c->cut_ts = ts;
}

/* The stack on which @rec happens; NULL: a new one. */
static const struct stack *stack_of(const struct calls *c, const struct record *rec)
{
	const struct thread *t = calls_find_thread(c, rec);

	if (!t)
		return NULL;
	if (!(rec->graph & RECORD_GRAPH_DEPTH))
		return calls_current(c, t);
	if (t->cur->id == rec->task)
		return t->cur;
	return rec->task ? NULL : &t->own;
}

bool calls_would_leave(const struct calls *c, const struct record *rec)
{
	const struct stack *s = stack_of(c, rec);
	const struct call *top;
	uint32_t nr;

	if (!s || !s->nr || s->over)
		return false;
	top = top_of(s);
	if (rec->graph & RECORD_GRAPH_DEPTH)
		return rec->kind == RECORD_EXIT && top->ip == rec->ip && top->depth == rec->depth;
	if (rec->kind == RECORD_UNWOUND)
		return record_unwinds(rec);
	if (rec->kind != RECORD_EXIT)
		return false;
	nr = calls_innermost(s);
	/* all open calls are tail calls of a call whose entry was not seen: that call ends */
	return !nr || s->calls[nr - 1].ip == rec->ip;
}

/* Has a record of @run its depth? Then all have, and there is nothing to learn. */
static bool has_depth(const struct run *run)
{
	for (unsigned int i = 0; run->recs && i < run->nr; i++)
		if (is_graph(&run->recs[i]) && run->recs[i].graph & RECORD_GRAPH_DEPTH &&
		    !(run->recs[i].graph & RECORD_GRAPH_ALONE))
			return true;
	return false;
}

int calls_learn(struct calls *c, struct reader *r, const bool *cpus)
{
	const struct calls_ops none = {0}, ops = c->ops;
	struct runs *runs;
	struct run run;
	int ret;

	calls_use(c, r);
	for (size_t i = 0; r->bases_known && i < r->nr_bases; i++)
		calls_learn_base(c, &r->bases[i]);
	if (!r->graph || !r->ops->rewind || r->bases_known)
		return 0;
	runs = runs_new(r);
	if (!runs)
		return fail(ENOMEM, "out of memory");
	for (unsigned int cpu = 0; cpus && cpu < r->nr_cpus; cpu++)
		if (!cpus[cpu])
			runs_skip_cpu(runs, cpu);
	c->ops = none;
	c->learning = true;
	while ((ret = runs_next(runs, &run)) > 0 && !has_depth(&run))
		if (calls_run(c, &run)) {
			ret = -ENOMEM;
			break;
		}
	runs_free(runs);
	calls_reset(c);
	c->ops = ops;
	c->learning = false;
	return ret < 0 ? ret : r->ops->rewind(r);
}

uint64_t calls_too_deep(const struct calls *c)
{
	return c->too_deep;
}

uint64_t calls_dropped_stacks(const struct calls *c)
{
	return c->dropped;
}
