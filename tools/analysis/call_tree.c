/* SPDX-License-Identifier: MIT */
/* See call_tree.h. */
#include "tools/analysis/call_tree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/call_tree_impl.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_NODES 1024u
#define FIRST_SLOTS 4096u

int call_tree_init(struct call_tree *t, struct call_filter *filter, bool by_thread, bool spreads)
{
	memset(t, 0, sizeof(*t));
	t->filter = filter;
	t->by_thread = by_thread;
	t->nodes = aligned_alloc(sizeof(*t->nodes), FIRST_NODES * sizeof(*t->nodes));
	t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
	if (spreads) {
		t->nr_spreads = 256;
		t->spreads = calloc(t->nr_spreads, sizeof(*t->spreads));
	}
	if (!t->nodes || !t->slots || (spreads && !t->spreads))
		return fail(ENOMEM, "out of memory");
	t->room = FIRST_NODES;
	t->nr_slots = FIRST_SLOTS;
	t->nr = 1;
	t->nodes[0] = (struct call_node){.min = UINT64_MAX};
	return 0;
}

void call_tree_clear(struct call_tree *t)
{
	for (uint32_t i = 0; t->spreads && i < t->nr_spreads; i++)
		percentiles_clear(&t->spreads[i]);
	free(t->spreads);
	free(t->suspended);
	free(t->nodes);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static struct call_tree_slot *slot_of(const struct call_tree *t, uint32_t parent, uint32_t function)
{
	uint64_t h = hash_u64((uint64_t)parent << 32 | function);
	uint32_t i = (uint32_t)(h >> 32) & (t->nr_slots - 1);

	while (t->slots[i].node &&
	       (t->slots[i].parent != parent || t->slots[i].function != function))
		i = (i + 1) & (t->nr_slots - 1);
	return &t->slots[i];
}

static void fill_slot(struct call_tree *t, uint32_t n)
{
	const struct call_node *node = &t->nodes[n];

	*slot_of(t, node->parent, node->function) = (struct call_tree_slot){
		.parent = node->parent, .function = node->function, .node = n};
}

/* Make room for one more node. */
static int grow(struct call_tree *t)
{
	if (t->nr == t->room) {
		size_t bytes = t->room * sizeof(struct call_node);
		struct call_node *more = aligned_alloc(sizeof(*more), 2 * bytes);

		if (!more)
			return -ENOMEM;
		memcpy(more, t->nodes, bytes);
		free(t->nodes);
		t->nodes = more;
		t->room *= 2;
	}
	if (t->nr > t->nr_slots / 2) {
		struct call_tree_slot *more = calloc(2 * (size_t)t->nr_slots, sizeof(*more));

		if (!more)
			return -ENOMEM;
		free(t->slots);
		t->slots = more;
		t->nr_slots *= 2;
		for (uint32_t i = 1; i < t->nr; i++)
			fill_slot(t, i);
	}
	return 0;
}

uint32_t call_tree_child(struct call_tree *t, uint32_t parent, uint32_t function, bool thread)
{
	uint32_t n = slot_of(t, parent, function)->node, up;

	if (n)
		return n;
	if (t->nr == CALL_TREE_MAX)
		return 0;
	if (grow(t)) {
		t->err = fail(ENOMEM, "out of memory for a tree of %u calls", t->nr);
		return 0;
	}
	n = t->nr++;
	t->nodes[n] = (struct call_node){.function = function,
					 .parent = parent,
					 .next = t->nodes[parent].first_child,
					 .thread = thread,
					 .min = UINT64_MAX};
	fill_slot(t, n);
	t->nodes[parent].first_child = n;
	for (up = parent; !thread && up; up = t->nodes[up].parent) {
		if (t->nodes[up].function == function && !t->nodes[up].thread)
			break;
	}
	t->nodes[n].same = up;
	return n;
}

static_assert(sizeof(struct call_node) == 64, "a node is a cache line");

struct percentiles *call_tree_spread(struct call_tree *t, uint32_t function)
{
	if (function >= t->nr_spreads) {
		uint32_t nr = t->nr_spreads * 2 > function ? t->nr_spreads * 2 : function + 1;
		struct percentiles *more = realloc(t->spreads, nr * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + t->nr_spreads, 0, (nr - t->nr_spreads) * sizeof(*more));
		t->spreads = more;
		t->nr_spreads = nr;
	}
	return &t->spreads[function];
}

/* Few trees have suspended calls, so their times are not in the nodes. */
__attribute__((noinline)) void call_tree_suspend(struct call_tree *t, uint32_t n, uint64_t time)
{
	if (n >= t->nr_suspended) {
		uint64_t *more = realloc(t->suspended, t->room * sizeof(*more));

		if (!more) {
			t->err = fail(ENOMEM, "out of memory for a tree of %u calls", t->nr);
			return;
		}
		memset(more + t->nr_suspended, 0, (t->room - t->nr_suspended) * sizeof(*more));
		t->suspended = more;
		t->nr_suspended = t->room;
	}
	t->suspended[n] += time;
}

/* See call_tree_impl.h. */
__attribute__((noinline)) uint32_t call_tree_find(struct call_tree *t, struct call *call,
						  const struct call *parent, uint32_t *up)
{
	uint32_t function, n;
	int shown = call_filter_judge(t->filter, call, parent, &function);

	if (shown < 0)
		t->err = shown;
	if (!*up && t->by_thread && shown > 0)
		*up = call_tree_child(t, 0, (uint32_t)call->pid, true);
	if (shown <= 0)
		return 0;
	/* most nodes have one child, or call the first child again */
	n = t->nodes[*up].first_child;
	if (!n || t->nodes[n].function != function || t->nodes[n].thread)
		n = call_tree_child(t, *up, function, false);
	t->left_out += !n;
	if (n && t->nodes[t->left].parent == *up && t->left)
		t->nodes[t->left].follower = n;
	return n;
}

static void tree_enter(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	call_tree_enter(arg, call, parent, parent ? NODE(parent->data) : 0);
}

static void tree_leave(void *arg, struct call *call, struct call *parent, const struct record *rec)
{
	call_tree_leave(arg, call);
}

static inline void run_enter(struct calls *c, struct call *call, struct call *parent,
			     const struct record *rec)
{
	call_tree_enter(c->arg, call, parent, parent ? NODE(parent->data) : 0);
}

static inline void run_leave(struct calls *c, struct call *call, struct call *parent,
			     const struct record *rec)
{
	call_tree_leave(c->arg, call);
}

static inline bool run_leaf(struct calls *c, struct call *parent, const struct record *rec,
			    uint64_t end)
{
	return call_tree_leaf(c->arg, parent, rec->ip, end - rec->ts);
}

static int tree_run(struct calls *c, void *arg, const struct run *run)
{
	return calls_plain_run(c, run, run_enter, run_leave, run_leaf);
}

const struct calls_ops call_tree_ops = {.enter = tree_enter, .leave = tree_leave, .run = tree_run};

/* Add the counts of node @n to node @i of @out. */
void call_tree_add(struct call_tree *out, uint32_t i, const struct call_tree *t, uint32_t n)
{
	const struct call_node *from = &t->nodes[n];
	struct call_node *to = &out->nodes[i];

	to->calls += from->calls;
	to->total += from->total;
	to->self += from->self;
	to->min = from->min < to->min ? from->min : to->min;
	to->max = from->max > to->max ? from->max : to->max;
	if (call_tree_suspended(t, n))
		call_tree_suspend(out, i, call_tree_suspended(t, n));
}

/* Is a wanted function at a node above @n? */
static bool within(const struct call_tree *t, const bool *wanted, uint32_t n)
{
	for (n = t->nodes[n].parent; n; n = t->nodes[n].parent)
		if (!t->nodes[n].thread && wanted[t->nodes[n].function])
			return true;
	return false;
}

/* A node has a higher number than its parent, so a pass in order of numbers sees parents first. */
int call_tree_beneath(const struct call_tree *t, const bool *wanted, struct call_tree *out)
{
	uint32_t *to = calloc(t->nr, sizeof(*to));

	if (!to)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = 1; i < t->nr && !out->err; i++) {
		const struct call_node *n = &t->nodes[i];

		if (n->thread || (!to[n->parent] && !wanted[n->function]))
			continue;
		to[i] = call_tree_child(out, to[n->parent], n->function, false);
		if (to[i])
			call_tree_add(out, to[i], t, i);
	}
	free(to);
	return out->err;
}

int call_tree_callers(const struct call_tree *t, const bool *wanted, struct call_tree *out)
{
	for (uint32_t i = 1; i < t->nr && !out->err; i++) {
		const struct call_node *n = &t->nodes[i];
		uint32_t up, at = 0;

		if (n->thread || !n->calls || !wanted[n->function] || within(t, wanted, i))
			continue;
		for (up = i; up && !out->err; up = t->nodes[up].parent) {
			if (t->nodes[up].thread)
				break;
			at = call_tree_child(out, at, t->nodes[up].function, false);
			if (!at)
				break;
			call_tree_add(out, at, t, i);
		}
	}
	return out->err;
}

static const struct call_node *sort_nodes;

static int by_total(const void *a, const void *b)
{
	const struct call_node *x = &sort_nodes[*(const uint32_t *)a];
	const struct call_node *y = &sort_nodes[*(const uint32_t *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

int call_tree_sort(struct call_tree *t)
{
	uint32_t *kids = malloc(t->nr * sizeof(*kids));

	if (!kids)
		return fail(ENOMEM, "out of memory");
	sort_nodes = t->nodes;
	for (uint32_t i = 0; i < t->nr; i++) {
		uint32_t nr = 0, k;

		for (k = t->nodes[i].first_child; k; k = t->nodes[k].next)
			kids[nr++] = k;
		qsort(kids, nr, sizeof(*kids), by_total);
		t->nodes[i].first_child = nr ? kids[0] : 0;
		for (k = 0; k < nr; k++)
			t->nodes[kids[k]].next = k + 1 < nr ? kids[k + 1] : 0;
	}
	free(kids);
	return 0;
}

static bool is_counted(const struct call_node *n)
{
	return n->calls || n->thread;
}

/*
 * The next node in the order of call_tree_next(), counted or not. The links suffice; no stack is
 * needed.
 */
static uint32_t next_node(const struct call_tree *t, uint32_t i, unsigned int *depth)
{
	if (t->nodes[i].first_child && (!i || is_counted(&t->nodes[i]))) {
		++*depth;
		return t->nodes[i].first_child;
	}
	while (i && !t->nodes[i].next) {
		i = t->nodes[i].parent;
		--*depth;
	}
	return i ? t->nodes[i].next : 0;
}

uint32_t call_tree_next(const struct call_tree *t, uint32_t i, unsigned int *depth)
{
	do {
		i = next_node(t, i, depth);
	} while (i && !is_counted(&t->nodes[i]));
	return i;
}
