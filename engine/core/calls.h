/* SPDX-License-Identifier: MIT */
/*
 * Which instances want which calls: the list that is read on the way of a call that more than the
 * top instance's tracer wants. A call of a function that the top one alone wants never comes here.
 */
#ifndef VESTIGE_CORE_CALLS_H
#define VESTIGE_CORE_CALLS_H

#include <stdint.h>

#include "arch_barrier.h"
#include "engine/ring/ring.h"

struct call_user {
	struct ring *ring;
	const uint64_t *bits; /* one a function */
	uint32_t nr_bits;
};

struct call_list {
	uint32_t nr_function, nr_graph;
	struct call_user function[RING_MAX]; /* instances whose tracer is function */
	struct call_user
		graph[RING_MAX];  /* function_graph; the top one's too, if there are others */
	struct call_user returns; /* return probes: no ring */
	struct call_user profile; /* function_profile_enabled; no ring */
	uint64_t bytes;		  /* of its mapping, the bits behind it */
};

/* The registers of a call's arguments, in the order in which calls_entry.S has saved them. */
struct call_args {
	uint64_t r9, r8, di, si, cx, dx;
};

extern struct call_list
	*calls_current; /* never NULL; to be read between ring_enter() and _leave() */

static inline const struct call_list *calls_list(void)
{
	return load_acquire(&calls_current);
}

static inline int call_wanted(const struct call_user *u, uint32_t id)
{
	return id < u->nr_bits && (u->bits[id / 64] >> (id % 64) & 1);
}

/*
 * calls_update() - read anew what the instances want, and let callers see it.
 * @old: the list that they may still be reading, for calls_free().
 * Return: 0, or -ENOMEM: nothing has changed. Under the tree's lock, as all below.
 */
int calls_update(struct call_list **old);
void calls_free(struct call_list *old);

/*
 * Whether an instance, or the top one, wants the stack of each call of the function: then it has to be entered
 * with all registers saved.
 */
int calls_with_stack(uint32_t id);
/* Whether the top one wants of the function's calls what C alone can do (func-no-repeats). */
int calls_by_c(uint32_t id);
/* Whether there may be a function of either kind. */
int calls_any_by_c(void);

/* How many instances but the top one want the calls of the function; in a graph. */
int calls_wanting(uint32_t id);
int calls_graph_wanting(uint32_t id);
/* Whether there is one that wants any; a graph. */
int calls_any(void);
int calls_graph_any(void);

/*
 * Who wants to know when functions return. A call is told by the address of its slot, where its return address
 * lies, and CALLS_TAIL if the function took another one's place there by a tail call. Any context,
 * between ring_enter() and ring_leave().
 */
#define CALLS_TAIL UINT64_C(1)
struct calls_return_ops {
	/* It begins. NULL: nobody wants to know. @args: its registers. */
	void (*begun)(uint32_t id, uint64_t call, const struct call_args *args);
	/* @retval: rax. @ip: where it returns to. */
	void (*returned)(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
	/* It has vanished without a return, as a throw or longjmp() leaves it. With `begun`. */
	void (*vanished)(uint64_t call);
};

/*
 * calls_set_returns() - say it of the functions of @set, from the next ftrace_update() on.
 * @set: stays as it is until it is said again. @ops: for ever.
 */
struct function_set;
void calls_set_returns(const struct function_set *set, const struct calls_return_ops *ops);
void calls_begun(uint32_t id, uint64_t call, const struct call_args *args);
void calls_returned(uint32_t id, uint64_t call, uint64_t retval, uint64_t ip);
void calls_vanished(uint64_t call);

/* In a fork's child; @instances: it has its parent's. */
void calls_fork(int instances);

/*
 * calls_enter() - a function is called that instances want; called by hook/<cpu>/calls_entry.S.
 * @word: the record's head word. @parent_ip: where it returns to. @site_end: where it goes on. @args:
 * NULL: not known.
 * Return: where the call goes on. Any context.
 */
uint64_t calls_enter(uint64_t word, uint64_t parent_ip, uint64_t site_end,
		     const struct call_args *args);

/* The same where all registers are saved, vectors too: stacks may be recorded. */
uint64_t calls_enter_saved(uint64_t word, uint64_t parent_ip, uint64_t site_end,
			   const struct call_args *args);

#endif
