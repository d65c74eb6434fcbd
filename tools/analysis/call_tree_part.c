/* SPDX-License-Identifier: MIT */
/* See call_tree_part.h. */
#include "tools/analysis/call_tree_part.h"

#include <stdlib.h>
#include <string.h>

#include "tools/analysis/call_tree_impl.h"
#include "tools/base/array.h"

/*
 * Half the limit of calls.c: at the join, these calls are put on top of the first tree's open
 * calls.
 */
#define MAX_OPEN   (1u << 19)
#define MAX_STACKS (1u << 19)
#define MAX_TAILS  (CALLS_MAX_TAILS / 2)
#define MAX_LEVELS (1u << 12) /* the search is linear */

/* An open call of a thread that began before the part: its root node, and when it ended. */
struct level {
	int32_t pid;
	uint32_t process, task;
	uint32_t node;	   /* its root here */
	uint64_t children; /* time of the calls under it */
	bool ended;	   /* by an exit of @ip at @ts; else it is the thread's last level */
	uint64_t ip, ts;
	uint32_t to; /* its node in the first tree, 0: none */
};

struct call_tree_part {
	struct call_tree tree;
	struct call_filter *filter;
	struct calls *calls;
	struct level *levels; /* of each thread in order */
	size_t nr_levels, room;
	uint64_t nr_ended;
	size_t last; /* the level that was looked for last */
	bool failed; /* the part cannot be joined */
};

static bool is_of(const struct level *l, int32_t pid, uint32_t process, uint32_t task)
{
	return l->pid == pid && l->process == process && l->task == task;
}

static int add_level(struct call_tree_part *p, int32_t pid, uint32_t process, uint32_t task)
{
	uint32_t number = (uint32_t)p->nr_levels, node;

	if (p->nr_levels == MAX_LEVELS) {
		p->failed = true;
		return 0;
	}
	node = call_tree_child(&p->tree, 0, number, true);
	if (!node && !p->tree.err) {
		p->failed = true;
		return 0;
	}
	if (!node || ARRAY_ROOM(p->levels, p->nr_levels, p->room, 64))
		return p->tree.err = fail(ENOMEM, "out of memory");
	p->last = p->nr_levels++;
	p->levels[p->last] =
		(struct level){.pid = pid, .process = process, .task = task, .node = node};
	return 0;
}

/* The last level of a thread; NULL: there are too many, or no memory. */
static struct level *level_of(struct call_tree_part *p, int32_t pid, uint32_t process,
			      uint32_t task)
{
	if (p->nr_levels) {
		struct level *l = &p->levels[p->last];

		if (!l->ended && is_of(l, pid, process, task))
			return l;
	}
	for (size_t i = p->nr_levels; i-- > 0;)
		if (!p->levels[i].ended && is_of(&p->levels[i], pid, process, task)) {
			p->last = i;
			return &p->levels[i];
		}
	if (add_level(p, pid, process, task) || p->failed)
		return NULL;
	return &p->levels[p->last];
}

static inline void part_enter(struct call_tree_part *p, struct call *call,
			      const struct call *parent, const struct record *rec)
{
	uint32_t up = parent ? NODE(parent->data) : 0;

	if (!up) {
		const struct level *l = level_of(p, rec->pid, rec->process, rec->task);

		up = l ? l->node : 0;
	}
	/* a long row of tail calls, of which some may have begun before the part */
	if (call->flags & CALL_BARE && call->depth >= MAX_TAILS &&
	    (call - call->depth)->flags & CALL_BARE)
		p->failed = true;
	call_tree_enter(&p->tree, call, parent, up);
}

static inline void part_leave(struct call_tree_part *p, struct call *call,
			      const struct call *parent, const struct record *rec)
{
	call_tree_leave(&p->tree, call);
	if (!parent) {
		struct level *l = level_of(p, rec->pid, rec->process, rec->task);

		if (l)
			l->children += call->end - call->start;
	}
}

static void on_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	part_enter(arg, call, parent, rec);
}

static void on_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	/* a stack was dropped because there were too many */
	if (!rec)
		((struct call_tree_part *)arg)->failed = true;
	else
		part_leave(arg, call, parent, rec);
}

/* An exit without an entry. @depth: 0: nothing is open here. */
static void on_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct call_tree_part *p = arg;
	struct level *l = level_of(p, rec->pid, rec->process, rec->task);

	if (depth || stack || !l) {
		p->failed = true;
		return;
	}
	l->ended = true;
	l->ip = rec->ip;
	l->ts = rec->ts;
	p->nr_ended++;
	add_level(p, rec->pid, rec->process, rec->task);
}

static void run_enter(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	part_enter(c->arg, call, parent, rec);
}

static void run_leave(struct calls *c, struct call *call, struct call *parent,
		      const struct record *rec)
{
	part_leave(c->arg, call, parent, rec);
}

static inline bool run_leaf(struct calls *c, struct call *parent, const struct record *rec,
			    uint64_t end)
{
	struct call_tree_part *p = c->arg;

	return call_tree_leaf(&p->tree, parent, rec->ip, end - rec->ts);
}

static int on_run(struct calls *c, void *arg, const struct run *run)
{
	(void)arg;
	return calls_plain_run(c, run, run_enter, run_leave, run_leaf);
}

static const struct calls_ops ops = {
	.enter = on_enter, .leave = on_leave, .unmatched = on_unmatched, .run = on_run};

bool call_tree_can_part(const struct call_tree *t)
{
	return call_filter_all(t->filter->wish);
}

struct call_tree_part *call_tree_part_new(struct reader *r, const struct call_tree *like)
{
	static const struct calls_limits limits = {
		.max_depth = MAX_OPEN, .max_open = MAX_OPEN, .max_stacks = MAX_STACKS};
	struct call_tree_part *p = calloc(1, sizeof(*p));

	if (!p) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	p->filter = call_filter_new(r, like->filter->wish);
	p->calls = calls_new(&ops, p, &limits);
	if (p->filter && p->calls && !call_tree_init(&p->tree, p->filter, false, like->spreads))
		return p;
	call_tree_part_free(p);
	return NULL;
}

void call_tree_part_free(struct call_tree_part *p)
{
	if (!p)
		return;
	calls_free(p->calls);
	call_tree_clear(&p->tree);
	call_filter_free(p->filter);
	free(p->levels);
	free(p);
}

int call_tree_part_run(struct call_tree_part *p, const struct run *run)
{
	int err = calls_run(p->calls, run);

	return err ? err : p->tree.err ? p->tree.err : p->failed;
}

/* The thread of a level in the first builder, made if it is new there; NULL: no memory. */
static struct thread *thread_at(struct calls *c, const struct level *l)
{
	const struct record rec = {.pid = l->pid, .process = l->process, .task = l->task};

	return calls_thread(c, &rec);
}

/* The next level of the same thread; NULL: there is none. */
static struct level *next_level(const struct call_tree_part *p, const struct level *l)
{
	for (struct level *n = (struct level *)l + 1; n < p->levels + p->nr_levels; n++)
		if (is_of(n, l->pid, l->process, l->task))
			return n;
	return NULL;
}

static bool is_first(const struct call_tree_part *p, const struct level *l)
{
	for (const struct level *x = p->levels; x < l; x++)
		if (is_of(x, l->pid, l->process, l->task))
			return false;
	return true;
}

/* Do the exits of a thread fit the calls that are open at the end of the first half? */
static bool fits(const struct call_tree_part *p, struct calls *c, const struct level *first)
{
	const struct record rec = {
		.pid = first->pid, .process = first->process, .task = first->task};
	const struct thread *t = calls_find_thread(c, &rec);
	uint32_t nr = t ? t->cur->nr : 0, tails = 0;

	if (!t)
		return true;
	if (t->taken || t->moved || t->cur->over)
		return false;
	for (const struct level *l = first; l && l->ended; l = next_level(p, l)) {
		while (nr && t->cur->calls[nr - 1].flags & CALL_BARE && ++tails)
			nr--;
		if (nr ? t->cur->calls[nr - 1].ip != l->ip : t->cur != &t->own && t->own.nr)
			return false;
		nr -= nr > 0;
	}
	while (nr && t->cur->calls[nr - 1].flags & CALL_BARE && ++tails)
		nr--;
	return tails < MAX_TAILS;
}

static bool can_join(const struct call_tree_part *p, const struct call_tree *t, struct calls *c)
{
	const struct calls *later = p->calls;

	if (p->failed || later->too_deep || later->dropped || later->left_base != p->nr_ended ||
	    c->too_deep || c->dropped || c->nr_open > MAX_OPEN || c->nr_stacks > MAX_STACKS ||
	    t->left_out || p->tree.left_out || t->nr > CALL_TREE_MAX - p->tree.nr)
		return false;
	for (const struct level *l = p->levels; l < p->levels + p->nr_levels; l++)
		if (is_first(p, l) && !fits(p, c, l))
			return false;
	return true;
}

/* End the calls that began before the part, by the part's exits. Each level gets its node in @t. */
static int end_levels(struct call_tree_part *p, struct call_tree *t, struct calls *c)
{
	for (struct level *l = p->levels; l < p->levels + p->nr_levels; l++) {
		struct thread *thread = thread_at(c, l);
		const struct record exit = {.kind = RECORD_EXIT,
					    .ip = l->ip,
					    .ts = l->ts,
					    .pid = l->pid,
					    .process = l->process,
					    .task = l->task};
		struct stack *s;

		if (!thread)
			return -ENOMEM;
		s = thread->cur;
		l->to = s->nr ? NODE(s->calls[s->nr - 1].data) : 0;
		if (s->nr)
			s->calls[s->nr - 1].children += l->children;
		if (l->ended && calls_record(c, &exit))
			return -ENOMEM;
	}
	return t->err;
}

/* The node in @t of root @i; 0: the calls under it are outermost ones. */
static uint32_t root_of(const struct call_tree_part *p, struct call_tree *t, uint32_t i)
{
	const struct call_node *n = &p->tree.nodes[i];
	const struct level *l = &p->levels[n->function];

	if (l->to || !t->by_thread || !n->first_child)
		return l->to;
	return call_tree_child(t, 0, (uint32_t)l->pid, true);
}

static int add_nodes(struct call_tree_part *p, struct call_tree *t)
{
	uint32_t nr = call_filter_nr(p->filter), function;
	uint32_t *functions = calloc(nr + 1u, sizeof(*functions));
	uint32_t *to = calloc(p->tree.nr, sizeof(*to));
	int err = functions && to ? 0 : fail(ENOMEM, "out of memory");

	for (uint32_t i = 0; i < nr && !err; i++) {
		err = call_filter_number(t->filter, call_filter_function(p->filter, i)->ip,
					 &functions[i]);
		function = functions[i];
		if (err || !t->spreads || i >= p->tree.nr_spreads)
			continue;
		if (!(function < t->nr_spreads || call_tree_spread(t, function)) ||
		    percentiles_sum(&t->spreads[function], &p->tree.spreads[i]))
			err = fail(ENOMEM, "out of memory");
	}
	/* nodes come after their parents */
	for (uint32_t i = 1; i < p->tree.nr && !err; i++) {
		const struct call_node *n = &p->tree.nodes[i];

		if (n->thread) {
			to[i] = root_of(p, t, i);
			continue;
		}
		to[i] = call_tree_child(t, to[n->parent], functions[n->function], false);
		err = to[i] ? 0 : t->err ? t->err : fail(ENOMEM, "out of memory");
		if (!err)
			call_tree_add(t, to[i], &p->tree, i);
	}
	t->nr_calls += p->tree.nr_calls;
	free(functions);
	free(to);
	return err;
}

/* Open in @c the calls that are open at the end of the part. */
static int open_calls(struct call_tree_part *p, struct calls *c)
{
	for (const struct stack *s = p->calls->oldest; s; s = s->newer) {
		const struct thread *of = (const struct thread *)s;
		struct record rec = {.pid = of->pid, .process = of->process, .task = of->task};
		struct thread *t;

		for (uint32_t i = 0; i < s->nr; i++) {
			const struct call *call = &s->calls[i];
			struct call *copy;

			rec.kind = call->flags & CALL_BARE ? RECORD_TAIL : RECORD_ENTRY;
			rec.ip = call->ip;
			rec.ts = call->start;
			if (calls_record(c, &rec))
				return -ENOMEM;
			t = calls_find_thread(c, &rec);
			copy = &t->cur->calls[t->cur->nr - 1];
			copy->children = call->children;
			copy->nr_children = call->nr_children;
		}
		t = calls_find_thread(c, &rec);
		if (t)
			t->cur->last_ts = s->last_ts;
	}
	return 0;
}

int call_tree_part_join(struct call_tree_part *p, struct call_tree *t, struct calls *c)
{
	uint64_t last = p->calls->last_ts;
	int err;

	if (!can_join(p, t, c))
		return 0;
	err = end_levels(p, t, c);
	if (!err)
		err = add_nodes(p, t);
	if (!err)
		err = open_calls(p, c);
	if (!err)
		err = t->err;
	if (err)
		return err;
	c->last_ts = last;
	for (uint32_t i = 0; i < c->images.nr; i++)
		if (c->images.at[i].seen)
			c->images.at[i].last_ts = last;
	return 1;
}
