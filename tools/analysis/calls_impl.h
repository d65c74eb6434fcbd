/* SPDX-License-Identifier: MIT */
/*
 * Private to calls*.c: threads, their stacks, the stack that each thread runs on; images.
 *
 * A thread begins on a stack of its own, which has no number until a record gives it. Numbered
 * stacks belong to a process and may be passed between threads; one without open calls is forgotten
 * when it is left, so that a program may have any number of coroutines one after another.
 */
#ifndef VESTIGE_TOOLS_CALLS_IMPL_H
#define VESTIGE_TOOLS_CALLS_IMPL_H

#include <errno.h>

#include "tools/analysis/calls.h"
#include "tools/analysis/stack_numbers.h"
#include "tools/base/hash_index.h"

/* In call.flags, beside enum call_flag: the call has no exit of its own. */
#define CALL_BARE 0x80000000u

/* The process of a stack whose number is from a trace.dat: its numbers are not per process. */
#define PROCESS_NONE UINT32_MAX

struct thread;

struct stack {
	struct call *calls;
	uint32_t nr, room;
	uint32_t over;	       /* open calls that are too deep to be kept */
	uint32_t base;	       /* open calls around these that began before the trace */
	uint32_t process, id;  /* id 0: a thread's own, not numbered */
	struct thread *on;     /* the thread that ran on it last */
	struct thread *runner; /* of its last call record, unless it made a later one elsewhere */
	uint64_t last_ts;      /* when that was */
	uint64_t left_ts;      /* is_left: when `runner` made a call record elsewhere */
	bool is_left;
	bool own; /* it is inside a struct thread */
	uint64_t first_ts;
	uint64_t *orphans; /* time of calls that ended without a parent, by depth; NULL: none */
	struct stack *next_hash;
	struct stack *older, *newer; /* in the order of use */
};

struct thread {
	struct stack own; /* first */
	struct stack *cur;
	int32_t pid;
	uint32_t process, task;
	uint32_t renamed; /* id of a STACK by which it has just left its own; 0 no */
	/*
	 * The number of its stack on which another thread has run since; 0: none. A record without
	 * a STACK before it is on that stack again.
	 */
	uint32_t taken;
	uint64_t taken_ts;	   /* of its last record on that stack */
	bool moved;		   /* `cur` has changed since its last call record */
	bool fresh;		   /* it has no call record yet */
	uint32_t ran_process, ran; /* the stack of its last call record, 0: its own */
	struct thread *next_hash;
};

/* The number of calls that were open on a stack when its records began. */
struct learnt {
	uint64_t key;
	uint32_t nr;
	uint32_t process, task, stack;
	int32_t pid;
};

/* An image of a process; the reader numbers them. */
struct image {
	uint64_t last_ts; /* of its records, of any kind */
	uint32_t nr_stacks;
	bool seen;  /* it has a record */
	bool known; /* which process it is of is known, so that exec() shows */
};

struct calls_images {
	struct image *at; /* by number */
	uint32_t nr;
	struct process_row {
		uint64_t key;
		uint32_t latest; /* its image */
	} * rows;
	size_t nr_rows, room;
	struct hash_index index; /* by key */
};

struct calls_end {
	uint32_t process, stack;
	uint64_t ts;
};

struct not_open {
	const struct stack *stack;
	uint64_t ip, below_ip, below_start;
	uint32_t nr;
};

#define NOT_OPEN_SLOTS 256u
#define ORPHAN_DEPTHS  256u

struct calls {
	struct calls_ops ops;
	void *arg;
	struct calls_limits limits;
	struct thread **cpu_thread; /* that ran last, by CPU */
	bool *cpu_seen;
	uint32_t nr_cpus;
	struct thread **threads;
	struct stack **stacks; /* those that have a number */
	size_t nr_slots;       /* of threads and of stacks: a power of two */
	size_t nr_stacks;      /* of both kinds */
	size_t nr_open;	       /* calls */
	struct reader *r;      /* of the records; NULL: it is not known */
	bool knows_processes;  /* `r` has the process of each image */
	struct calls_images images;
	struct calls_end *ends; /* of stacks with open calls that exec() has ended */
	size_t nr_ends, room_ends;
	struct stack *oldest, *newest;
	struct learnt *learnt;
	size_t nr_learnt, learnt_slots;
	bool learning;
	uint32_t run_at; /* calls_plain_run(): the number of the record in its run */
	uint64_t last_ts;
	uint64_t loss_ts; /* of the record behind the last loss */
	uint64_t cut_ts;  /* of the last calls_cut(); 0 none */
	uint64_t too_deep, dropped;
	uint64_t left_base; /* ended calls that began before the records */
	struct not_open not_open[NOT_OPEN_SLOTS];
};

/*
 * The first record of image @process: end the calls of the image that exec() replaced.
 * Return: 0 or -ENOMEM with fail() set.
 */
int calls_new_image(struct calls *c, uint32_t process);
void calls_free_images(struct calls *c);

/*
 * The ends of stacks that exec(), or the end of their process, has ended with open calls. If there
 * are none: the ends that the reader knows.
 * @numbers: numbers the stacks. @out: by stack; freed by the caller, also after an error.
 * Return: 0 or -ENOMEM with fail() set.
 */
int calls_ends(const struct calls *c, struct stack_numbers *numbers, struct record_end **out,
	       size_t *nr);

/* The latest time at which open calls of @s end, by the reader; @ts if it has no earlier one. */
uint64_t calls_end_of(const struct calls *c, const struct stack *s, uint64_t ts);

/*
 * The end of the open calls of @s that have no exit: the last record, or the last one of its
 * process if that has ended.
 */
uint64_t calls_last_of(const struct calls *c, const struct stack *s);

/*
 * Image @process has a record at @ts. To be called before calls_thread(), since stacks may be
 * freed.
 * @process: of the record; 0 for a record with its depth. Return: 0 or -ENOMEM with fail() set.
 */
static inline int calls_see_image(struct calls *c, uint32_t process, uint64_t ts)
{
	if (!c->knows_processes)
		return 0;
	if ((process >= c->images.nr || !c->images.at[process].seen) && calls_new_image(c, process))
		return -ENOMEM;
	if (process < c->images.nr)
		c->images.at[process].last_ts = ts;
	return 0;
}

/* Is the process of image @process known, so that an exec() shows by the next image? */
static inline bool calls_knows_image(const struct calls *c, uint32_t process)
{
	return process < c->images.nr && c->images.at[process].known;
}

/* The process of @rec; 0 for a record that has the overrun in its place. */
uint32_t calls_process(const struct record *rec);
/* The thread of @rec, made if it is new. NULL: no memory, with fail() set. */
struct thread *calls_thread(struct calls *c, const struct record *rec);
/* The thread of @rec; NULL: there is none. */
struct thread *calls_find_thread(const struct calls *c, const struct record *rec);

/* @t changes to stack @id of @process. Return: 0 or -ENOMEM with fail() set. */
int calls_switch(struct calls *c, struct thread *t, uint32_t process, uint32_t id);
/* @t is back on the stack that another thread took. Return: as calls_switch(). */
int calls_switch_back(struct calls *c, struct thread *t);
/*
 * The first call record of @t, or the first after a change of stacks: the old stack is suspended
 * from @ts on, `cur` is resumed.
 */
void calls_moved(struct calls *c, struct thread *t, uint64_t ts);

/*
 * To be called before a record of @t at @ts that is no RECORD_STACK. If no RECORD_STACK came before
 * it, @t may be on the stack that another thread took. Return: as calls_switch().
 */
static inline int calls_settle(struct calls *c, struct thread *t, uint64_t ts)
{
	if (t->taken && calls_switch_back(c, t))
		return -ENOMEM;
	if (t->moved)
		calls_moved(c, t, ts);
	return 0;
}

/* The stack of @t's next record, unless that is a RECORD_STACK. */
const struct stack *calls_current(const struct calls *c, const struct thread *t);

/* End the suspension of the open calls on @s, if there is one, at @ts. */
void calls_resume(struct stack *s, uint64_t ts);

/* The numbered stack on which @t runs turns out to be @t's own. */
void calls_bind_own(struct calls *c, struct thread *t);

/* @nr more calls were open on @s when its records began. */
void calls_learn_one(struct calls *c, const struct stack *s, uint32_t nr);
/* Set the number of calls that were open on the stack of @base. */
void calls_learn_base(struct calls *c, const struct record_base *base);

/* End all calls of @s as unfinished, at @ts or earlier (calls_end_of()). In calls.c. */
void calls_end_stack(struct calls *c, struct stack *s, uint64_t ts);
/* Free @s, which has no open calls; a thread's own stack is freed with the thread. */
void calls_drop_stack(struct calls *c, struct stack *s);

/* Take a record of the ring, of thread @t. In calls.c. Return: 0 or -ENOMEM with fail() set. */
int calls_ring_record(struct calls *c, struct thread *t, const struct record *rec);

/* The number of calls of @s up to the innermost one that has an exit of its own, with that one. */
static inline uint32_t calls_innermost(const struct stack *s)
{
	uint32_t nr = s->nr;

	while (nr && s->calls[nr - 1].flags & CALL_BARE)
		nr--;
	return nr;
}

/* The longest row of tail calls that is kept. */
#define CALLS_MAX_TAILS 64u

/* A callback of calls_plain_run(). */
typedef void calls_run_fn(struct calls *c, struct call *call, struct call *parent,
			  const struct record *rec);

/*
 * A leaf: a call of @parent from its entry @rec to @end, without calls beneath. Return: false:
 * report it by enter and leave.
 */
typedef bool calls_leaf_fn(struct calls *c, struct call *parent, const struct record *rec,
			   uint64_t end);

/*
 * calls_plain_run() - calls_run() of a run by columns. A loop takes the usual records;
 * calls_ring_record() takes the others.
 * @enter, @leave: as in calls_ops; constant, so that the compiler inlines them.
 * @leaf: called first for leaves, which are half of the calls of most programs; NULL: none.
 */
static inline __attribute__((always_inline)) int
calls_plain_run(struct calls *c, const struct run *run, calls_run_fn *enter, calls_run_fn *leave,
		calls_leaf_fn *leaf)
{
	const uint32_t max_depth = c->limits.max_depth, max_open = c->limits.max_open;
	struct record rec = run->head;
	struct thread *t;
	struct stack *s;

	rec.ts = c->last_ts = run->ts[0];
	if (rec.lost && rec.cpu < c->nr_cpus && c->cpu_seen[rec.cpu])
		c->loss_ts = rec.ts;
	if (calls_see_image(c, calls_process(&rec), run->ts[run->nr - 1]))
		return -ENOMEM;
	t = calls_thread(c, &rec);
	if (!t)
		return -ENOMEM;
	c->cpu_seen[rec.cpu] = true;
	if (RECORD_RUN_KIND(run->words[0]) != RECORD_STACK && calls_settle(c, t, run->ts[0]))
		return -ENOMEM;
	s = t->cur;
	for (unsigned int i = 0; i < run->nr; i++) {
		uint32_t word = run->words[i], id = RECORD_RUN_ID(word);
		bool tail;
		int ret;

		c->run_at = i;
		rec.kind = (uint8_t)RECORD_RUN_KIND(word);
		rec.ip = rec.kind <= RECORD_EXIT ? run->functions[id] : id;
		rec.ts = run->ts[i];
		tail = rec.kind == RECORD_TAIL;
		if ((rec.kind == RECORD_ENTRY || tail) && !s->over && s->nr < s->room &&
		    s->nr < max_depth && c->nr_open < max_open &&
		    !(tail && s->nr - calls_innermost(s) >= CALLS_MAX_TAILS)) {
			struct call *call = &s->calls[s->nr], *parent = s->nr ? call - 1 : NULL;

			t->renamed = 0;
			if (leaf && !tail && parent && i + 1 < run->nr &&
			    run->words[i + 1] == RECORD_RUN_WORD(RECORD_EXIT, id) &&
			    leaf(c, parent, &rec, run->ts[i + 1])) {
				rec.ts = run->ts[++i];
				parent->children += rec.ts - run->ts[i - 1];
				parent->nr_children += parent->nr_children < UINT32_MAX;
				continue;
			}
			*call = (struct call){
				.ip = rec.ip,
				.start = rec.ts,
				.pid = rec.pid,
				.depth = parent ? parent->depth + 1 : s->base,
				.process = rec.process,
				.stack = s->own ? 0 : s->id,
				.flags = tail ? CALL_TAIL | CALL_BARE : 0,
			};
			s->nr++;
			c->nr_open++;
			enter(c, call, parent, &rec);
			continue;
		}
		if (rec.kind == RECORD_EXIT && !s->over) {
			uint32_t nr = calls_innermost(s);

			/* the calls that it jumped to end with it */
			if (nr && s->calls[nr - 1].ip == rec.ip) {
				t->renamed = 0;
				while (s->nr >= nr) {
					struct call *call = &s->calls[--s->nr];
					struct call *parent = s->nr ? call - 1 : NULL;

					c->nr_open--;
					call->end = rec.ts > call->start ? rec.ts : call->start;
					call->flags &= ~CALL_BARE;
					if (call->start < c->loss_ts)
						call->flags |= CALL_BROKEN;
					if (parent) {
						parent->children += call->end - call->start;
						parent->nr_children +=
							parent->nr_children < UINT32_MAX;
					}
					leave(c, call, parent, &rec);
				}
				continue;
			}
		}
		c->last_ts = rec.ts;
		if (i && RECORD_RUN_KIND(run->words[i - 1]) != RECORD_STACK)
			s->last_ts = run->ts[i - 1];
		ret = calls_ring_record(c, t, &rec);
		if (!ret && rec.kind == RECORD_STACK && i + 1 < run->nr &&
		    RECORD_RUN_KIND(run->words[i + 1]) != RECORD_STACK)
			ret = calls_settle(c, t, run->ts[i + 1]);
		if (ret)
			return ret;
		s = t->cur;
	}
	c->last_ts = rec.ts;
	if (rec.kind != RECORD_STACK)
		t->cur->last_ts = rec.ts;
	return 0;
}

void calls_free_stacks(struct calls *c);
/* Free all threads and stacks, but not the results of calls_learn(). */
void calls_reset(struct calls *c);

#endif
