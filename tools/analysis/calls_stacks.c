/* SPDX-License-Identifier: MIT */
/*
 * Threads and stacks of calls.h: two hash tables over the same limit, and a list in the order of
 * use. A thread is looked up once for each change of the thread on a CPU. Tests:
 * tests/unit/test_calls.c.
 */
#include "tools/analysis/calls_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_SLOTS 256u

static uint64_t thread_key(uint32_t process, int32_t pid, uint32_t task)
{
	return hash_pair((uint64_t)process << 32 | (uint32_t)pid, task);
}

static uint64_t stack_key(uint32_t process, uint32_t id)
{
	return hash_pair((uint64_t)process << 32 | id, UINT64_MAX);
}

static uint64_t key_of(const struct stack *s)
{
	const struct thread *t = (const struct thread *)s;

	return s->own ? thread_key(t->process, t->pid, t->task) : stack_key(s->process, s->id);
}

/* The idle tasks of all CPUs have one pid. */
static uint32_t task_of(const struct record *rec)
{
	if (!(rec->graph & RECORD_GRAPH_DEPTH))
		return rec->task;
	return rec->pid ? 0 : rec->cpu + 1u;
}

uint32_t calls_process(const struct record *rec)
{
	/* the overrun has its place */
	return (rec->graph & (RECORD_GRAPH_DEPTH | RECORD_OF_FURTHER)) == RECORD_GRAPH_DEPTH
		       ? 0
		       : rec->process;
}

static int grow_tables(struct calls *c)
{
	size_t nr = c->nr_slots ? c->nr_slots * 2 : FIRST_SLOTS;
	struct thread **threads = calloc(nr, sizeof(struct thread *));
	struct stack **stacks = calloc(nr, sizeof(struct stack *));

	if (!threads || !stacks) {
		free(threads);
		free(stacks);
		return fail(ENOMEM, "out of memory for the stacks of %zu threads", nr);
	}
	for (size_t i = 0; i < c->nr_slots; i++) {
		struct thread *t, *next_thread;
		struct stack *s, *next;

		for (t = c->threads[i]; t; t = next_thread) {
			size_t at = hash_pair((uint32_t)t->pid, 0) & (nr - 1);

			next_thread = t->next_hash;
			t->next_hash = threads[at];
			threads[at] = t;
		}
		for (s = c->stacks[i]; s; s = next) {
			size_t at = stack_key(s->process, s->id) & (nr - 1);

			next = s->next_hash;
			s->next_hash = stacks[at];
			stacks[at] = s;
		}
	}
	free(c->threads);
	free(c->stacks);
	c->threads = threads;
	c->stacks = stacks;
	c->nr_slots = nr;
	return 0;
}

/* Threads with one number, of several images, are in one chain. */
static struct thread **thread_slot(const struct calls *c, int32_t pid)
{
	return &c->threads[hash_pair((uint32_t)pid, 0) & (c->nr_slots - 1)];
}

static void count_stack(struct calls *c, const struct stack *s, int by)
{
	c->nr_stacks += (size_t)by;
	if (s->process < c->images.nr)
		c->images.at[s->process].nr_stacks += (uint32_t)by;
}

/* The list in order of use. */
static void list_add(struct calls *c, struct stack *s)
{
	s->newer = NULL;
	s->older = c->newest;
	if (c->newest)
		c->newest->newer = s;
	else
		c->oldest = s;
	c->newest = s;
}

static void list_remove(struct calls *c, struct stack *s)
{
	if (s->newer)
		s->newer->older = s->older;
	else
		c->newest = s->older;
	if (s->older)
		s->older->newer = s->newer;
	else
		c->oldest = s->newer;
}

static void touch(struct calls *c, struct stack *s)
{
	if (c->newest == s)
		return;
	list_remove(c, s);
	list_add(c, s);
}

static void hash_stack(struct calls *c, struct stack *s)
{
	struct stack **at = &c->stacks[stack_key(s->process, s->id) & (c->nr_slots - 1)];

	s->next_hash = *at;
	*at = s;
}

static void unhash_stack(struct calls *c, struct stack *s)
{
	struct stack **at = &c->stacks[stack_key(s->process, s->id) & (c->nr_slots - 1)];

	while (*at && *at != s)
		at = &(*at)->next_hash;
	if (*at)
		*at = s->next_hash;
}

static struct stack *find_stack(const struct calls *c, uint32_t process, uint32_t id)
{
	struct stack *s = c->stacks[stack_key(process, id) & (c->nr_slots - 1)];

	while (s && (s->process != process || s->id != id))
		s = s->next_hash;
	return s;
}

/* Take @s from the thread that is on it, if any. */
static void take(struct stack *s)
{
	if (!s->on)
		return;
	if (s->on->cur != &s->on->own) {
		s->on->taken = s->id;
		s->on->taken_ts = s->last_ts;
	}
	s->on->cur = &s->on->own;
}

/* Let @t run on @s. The `on` of a stack is NULL or a thread with that stack as `cur`. */
static void run_on(struct thread *t, struct stack *s)
{
	if (t->cur->on == t)
		t->cur->on = NULL;
	take(s);
	t->cur = s;
	t->taken = 0;
	s->on = t;
}

void calls_resume(struct stack *s, uint64_t ts)
{
	if (s->is_left && s->nr && ts > s->left_ts)
		s->calls[s->nr - 1].suspended += ts - s->left_ts;
	s->is_left = false;
}

/* @t has a call record on another stack: suspend @s if @t ran there. */
static void suspend(struct stack *s, const struct thread *t, uint64_t ts)
{
	if (!s || s->runner != t)
		return;
	s->runner = NULL;
	s->is_left = true;
	s->left_ts = ts;
}

static struct stack *ran_on(const struct calls *c, struct thread *t)
{
	return t->ran ? find_stack(c, t->ran_process, t->ran) : &t->own;
}

/*
 * Leave the stacks of threads with the same number in other images. The process of these images is
 * not known: exec() may have replaced them.
 */
static void leave_replaced(struct calls *c, const struct thread *t, uint64_t ts)
{
	struct thread *o;

	if (calls_knows_image(c, t->process))
		return;
	for (o = *thread_slot(c, t->pid); o; o = o->next_hash) {
		if (o == t || o->pid != t->pid || o->process == t->process)
			continue;
		suspend(ran_on(c, o), o, ts);
		o->moved = true;
	}
}

void calls_moved(struct calls *c, struct thread *t, uint64_t ts)
{
	struct stack *s = t->cur, *was = ran_on(c, t);

	t->moved = false;
	if (t->fresh)
		leave_replaced(c, t, ts);
	t->fresh = false;
	if (was != s)
		suspend(was, t, ts);
	if (s->runner && s->runner != t) /* it has left the stack, but has no call record since */
		suspend(s, s->runner, s->last_ts);
	calls_resume(s, ts);
	s->runner = t;
	t->ran = s == &t->own ? 0 : s->id;
	t->ran_process = s->process;
}

/*
 * The stack that another thread took from @t. NULL: there is none; or a later RECORD_STACK may be
 * lost; or the stack turned out to be the other thread's own.
 */
static const struct stack *taken_stack(const struct calls *c, const struct thread *t)
{
	const struct stack *s = NULL;

	if (t->taken && c->loss_ts <= t->taken_ts)
		s = find_stack(c, t->process, t->taken);
	return s && (!s->own || s == &t->own) ? s : NULL;
}

const struct stack *calls_current(const struct calls *c, const struct thread *t)
{
	const struct stack *s = taken_stack(c, t);

	return s ? s : t->cur;
}

/* @s is not a thread's own. */
static void free_stack(struct calls *c, struct stack *s)
{
	unhash_stack(c, s);
	list_remove(c, s);
	count_stack(c, s, -1);
	c->nr_open -= s->nr;
	take(s);
	free(s->calls);
	free(s->orphans);
	free(s);
}

static void free_thread(struct calls *c, struct thread *t)
{
	struct thread **at = thread_slot(c, t->pid);

	while (*at != t)
		at = &(*at)->next_hash;
	*at = t->next_hash;
	for (uint32_t i = 0; i < c->nr_cpus; i++)
		if (c->cpu_thread[i] == t)
			c->cpu_thread[i] = NULL;
	if (t->cur->on == t)
		t->cur->on = NULL;
	take(&t->own); /* another thread may run on this one's stack */
	suspend(ran_on(c, t), t, c->last_ts);
	if (t->own.id)
		unhash_stack(c, &t->own);
	list_remove(c, &t->own);
	count_stack(c, &t->own, -1);
	c->nr_open -= t->own.nr;
	free(t->own.calls);
	free(t->own.orphans);
	free(t);
}

void calls_drop_stack(struct calls *c, struct stack *s)
{
	if (s->own)
		free_thread(c, (struct thread *)s);
	else
		free_stack(c, s);
}

/* Make room for one more stack. @keep: a stack that must not be dropped. */
static int make_room(struct calls *c, const struct stack *keep)
{
	struct stack *s = c->oldest;

	if (c->nr_stacks >= c->limits.max_stacks && s == keep)
		s = s->newer;
	if (c->nr_stacks >= c->limits.max_stacks && s) {
		calls_end_stack(c, s, c->last_ts);
		calls_drop_stack(c, s);
		c->dropped++;
	}
	return c->nr_stacks >= c->nr_slots ? grow_tables(c) : 0;
}

static struct learnt *learnt_slot(struct learnt *at, size_t slots, uint64_t key)
{
	size_t i = key & (slots - 1);

	while (at[i].nr && at[i].key != key)
		i = (i + 1) & (slots - 1);
	return &at[i];
}

/* The slot of a stack, made if it is new; NULL: there is no room. */
static struct learnt *learnt_of(struct calls *c, uint64_t key)
{
	struct learnt *slot;

	if (c->nr_learnt >= c->learnt_slots / 2) {
		size_t slots = c->learnt_slots ? c->learnt_slots * 2 : FIRST_SLOTS;
		struct learnt *more;

		if (c->nr_learnt >= c->limits.max_stacks)
			return NULL;
		more = calloc(slots, sizeof(*more));
		if (!more)
			return NULL;
		for (size_t i = 0; i < c->learnt_slots; i++)
			if (c->learnt[i].nr)
				*learnt_slot(more, slots, c->learnt[i].key) = c->learnt[i];
		free(c->learnt);
		c->learnt = more;
		c->learnt_slots = slots;
	}
	slot = learnt_slot(c->learnt, c->learnt_slots, key);
	if (!slot->nr) {
		*slot = (struct learnt){.key = key};
		c->nr_learnt++;
	}
	return slot;
}

static void learn(const struct calls *c, struct learnt *slot, uint32_t nr)
{
	if (slot->nr < c->limits.max_depth)
		slot->nr += nr < c->limits.max_depth ? nr : c->limits.max_depth;
}

void calls_learn_one(struct calls *c, const struct stack *s, uint32_t nr)
{
	const struct thread *t = (const struct thread *)s;
	struct learnt *slot = learnt_of(c, key_of(s));

	if (!slot)
		return;
	slot->process = s->own ? t->process : s->process;
	slot->pid = s->own ? t->pid : 0;
	slot->task = s->own ? t->task : 0;
	slot->stack = s->own ? 0 : s->id;
	learn(c, slot, nr);
}

void calls_learn_base(struct calls *c, const struct record_base *base)
{
	uint64_t key = base->stack ? stack_key(base->process, base->stack)
				   : thread_key(base->process, base->pid, base->task);
	struct learnt *slot = base->nr ? learnt_of(c, key) : NULL;

	if (slot)
		learn(c, slot, base->nr);
}

int calls_bases(const struct calls *c, struct record_base **out, size_t *nr)
{
	*nr = 0;
	*out = malloc((c->nr_learnt + 1) * sizeof(**out));
	if (!*out)
		return fail(ENOMEM, "out of memory for what is known of %zu stacks", c->nr_learnt);
	for (size_t i = 0; i < c->learnt_slots; i++) {
		const struct learnt *l = &c->learnt[i];

		if (l->nr)
			(*out)[(*nr)++] = (struct record_base){.process = l->process,
							       .pid = l->pid,
							       .task = l->task,
							       .stack = l->stack,
							       .nr = l->nr};
	}
	return 0;
}

/* The base of a stack is for its first calls and is used once. */
static void take_base(struct calls *c, struct stack *s)
{
	struct learnt *slot;

	if (c->learning || !c->nr_learnt)
		return;
	slot = learnt_slot(c->learnt, c->learnt_slots, key_of(s));
	if (!slot->nr)
		return;
	s->base = slot->nr;
	/* the key stays, so that others are still found behind it */
	slot->key = ~slot->key;
}

static void init_stack(struct calls *c, struct stack *s)
{
	s->first_ts = c->last_ts;
	count_stack(c, s, 1);
	list_add(c, s);
	take_base(c, s);
}

struct thread *calls_find_thread(const struct calls *c, const struct record *rec)
{
	uint32_t process = calls_process(rec), task = task_of(rec);
	struct thread *t = rec->cpu < c->nr_cpus ? c->cpu_thread[rec->cpu] : NULL;

	if (t && t->pid == rec->pid && t->process == process && t->task == task)
		return t;
	if (!c->nr_slots)
		return NULL;
	t = *thread_slot(c, rec->pid);
	while (t && (t->pid != rec->pid || t->process != process || t->task != task))
		t = t->next_hash;
	return t;
}

static int see_cpu(struct calls *c, uint32_t cpu)
{
	uint32_t nr = (cpu + 8) & ~7u;
	struct thread **threads;
	bool *seen;

	if (cpu < c->nr_cpus)
		return 0;
	nr = nr > cpu ? nr : cpu + 1;
	threads = realloc(c->cpu_thread, nr * sizeof(struct thread *));
	if (threads)
		c->cpu_thread = threads;
	seen = realloc(c->cpu_seen, nr * sizeof(*seen));
	if (seen)
		c->cpu_seen = seen;
	if (!threads || !seen)
		return fail(ENOMEM, "out of memory for %u CPUs", nr);
	for (uint32_t i = c->nr_cpus; i < nr; i++) {
		threads[i] = NULL;
		seen[i] = false;
	}
	c->nr_cpus = nr;
	return 0;
}

struct thread *calls_thread(struct calls *c, const struct record *rec)
{
	struct thread *t, **at;

	if (rec->cpu >= c->nr_cpus && see_cpu(c, rec->cpu))
		return NULL;
	t = calls_find_thread(c, rec);
	if (!t) {
		if (make_room(c, NULL))
			return NULL;
		t = calloc(1, sizeof(*t));
		if (!t) {
			fail(ENOMEM, "out of memory for a thread");
			return NULL;
		}
		t->pid = rec->pid;
		t->process = t->own.process = calls_process(rec);
		t->task = task_of(rec);
		t->cur = &t->own;
		t->own.own = true;
		t->own.on = t;
		init_stack(c, &t->own);
		t->fresh = t->moved = true;
		at = thread_slot(c, t->pid);
		t->next_hash = *at;
		*at = t;
	}
	if (c->cpu_thread[rec->cpu] != t) {
		c->cpu_thread[rec->cpu] = t;
		touch(c, &t->own);
		touch(c, t->cur);
	}
	return t;
}

static bool is_empty(const struct stack *s)
{
	return !s->nr && !s->over && !s->base;
}

/* @t's own stack, which had no number, is @id: the stack that was taken for @id is another. */
static void number_own(struct calls *c, struct thread *t, uint32_t process, uint32_t id)
{
	struct stack *s = find_stack(c, process, id);

	if (s && s->own) {
		unhash_stack(c, s);
		s->id = 0;
	} else if (s) {
		free_stack(c, s);
	}
	t->own.process = process;
	t->own.id = id;
	hash_stack(c, &t->own);
}

void calls_bind_own(struct calls *c, struct thread *t)
{
	number_own(c, t, t->cur->process, t->cur->id);
	run_on(t, &t->own);
	calls_moved(c, t, c->last_ts);
}

int calls_switch(struct calls *c, struct thread *t, uint32_t process, uint32_t id)
{
	struct stack *old = t->cur, *s = &t->own;
	bool leaves_own = old == s && !s->id && !t->taken;

	if (old->id == id && (!id || old->process == process) && !t->taken)
		return 0;
	/* two STACK records in a row: the first had the number of the stack that @t leaves */
	if (t->renamed && !t->own.id && !old->own && old->id == t->renamed && is_empty(old))
		number_own(c, t, old->process, old->id);
	if (id) {
		s = find_stack(c, process, id);
		if (s)
			touch(c, s);
	}
	if (!s) {
		if (make_room(c, &t->own))
			return -ENOMEM;
		s = calloc(1, sizeof(*s));
		if (!s)
			return fail(ENOMEM, "out of memory for a stack");
		s->process = process;
		s->id = id;
		hash_stack(c, s);
		init_stack(c, s);
	}
	old = t->cur; /* the old one may have been freed */
	t->moved = true;
	run_on(t, s);
	t->renamed = leaves_own ? id : 0;
	if (old != s && !old->own && is_empty(old))
		free_stack(c, old);
	return 0;
}

int calls_switch_back(struct calls *c, struct thread *t)
{
	if (taken_stack(c, t))
		return calls_switch(c, t, t->process, t->taken);
	/* its stack is not known: assume its own */
	t->taken = 0;
	t->moved = true;
	return 0;
}

void calls_reset(struct calls *c)
{
	while (c->oldest)
		calls_drop_stack(c, c->oldest);
	if (c->nr_cpus)
		memset(c->cpu_seen, 0, c->nr_cpus * sizeof(*c->cpu_seen));
	memset(c->not_open, 0, sizeof(c->not_open));
	calls_free_images(c);
	c->last_ts = c->loss_ts = c->cut_ts = 0;
	c->too_deep = c->dropped = 0;
}

void calls_free_stacks(struct calls *c)
{
	while (c->oldest)
		calls_drop_stack(c, c->oldest);
	free(c->cpu_thread);
	free(c->cpu_seen);
	free(c->threads);
	free(c->stacks);
	free(c->learnt);
	calls_free_images(c);
}
