/* SPDX-License-Identifier: MIT */
/*
 * The registry of functions that can be traced (AREA_FUNCTIONS: the index is the id in records;
 * function.c), and their text as the users of calls want it (function_arm.c).
 */
#ifndef VESTIGE_CORE_FUNCTION_H
#define VESTIGE_CORE_FUNCTION_H

#include "abi/record.h"
#include "engine/base/registry.h"
#include "engine/core/function_set.h"
#include "engine/process/object.h"

/*
 * function_add() - a hook found a function that it can trace.
 * @found: its row, copied; the object's index is filled in.
 * Return: 0 or -ENOSPC: the table is full.
 */
int function_add(struct object *o, const struct area_function *found);

/* A hook found one that it cannot trace; counted always, listed while there is room. */
void function_refuse(struct object *o, uint32_t offset, enum area_refusal why, uint32_t nop_bytes);

/*
 * Objects are scanned when functions are first asked for: a program that is started and not traced
 * pays nothing. From then on, objects that dlopen() brings are scanned at once.
 *
 * functions_need() - scan the objects that wait. In the constructor, or under the tree's lock.
 * Return: 0 or -errno.
 */
int functions_need(void);

/*
 * The same, also when there was no memory for it before. Return: 0 or -errno (-ENOMEM: some still
 * wait).
 */
int functions_need_again(void);
int functions_wait(void); /* whether objects wait; any context */

/*
 * How many there are, after functions_need(), and so in its contexts; and how many are known so
 * far.
 */
uint32_t function_count(void);
uint32_t function_count_known(void);

/*
 * functions_name() - a filter names the object by `:mod:`: a hook that looks only into objects that are
 * named gets it again. Under the tree's lock. Return: 0 or -errno.
 */
int functions_name(struct object *o);

/*
 * The id of the function of @o that starts @offset bytes from its bias; UINT32_MAX: none. As above.
 */
uint32_t function_at(const struct object *o, uint64_t offset);

/* The address at which the function of an id begins. Any context. */
uint64_t function_ip(uint32_t id);

/*
 * For parts that want to see each function that functions_need() finds:
 * REGISTRY_ADD(vestige_functions_found, self).
 */
struct functions_found {
	void (*call)(void);
};
REGISTRY(vestige_functions_found, const struct functions_found);

/*
 * For functions_update(). The first: an object is new; scan it, or let it wait. The second: it is
 * no longer mapped.
 */
void functions_meet(struct object *o);
void functions_forget(struct object *o);

/*
 * functions_update() - objects came or went: scan the new ones and trace them as the filters say.
 * Before the first of their code runs, under the loader's lock.
 */
void functions_update(void);

/*
 * What function_graph asks for, the same in all instances: the calls beneath these functions alone
 * (empty: all), never those beneath those, at most that many levels (0: all), and only calls that
 * took at least that time (0: all).
 */
extern struct function_set graph_function;
extern struct function_set graph_notrace;
extern uint32_t graph_max_depth;
extern uint64_t tracing_thresh_ns;

/* Whether records have the registers of arguments and of results: func-args, funcgraph-args,
 * -retval. */
extern uint32_t function_args, graph_args, graph_retval;

/*
 * For core/ops.c, which knows the users of calls. functions_arm() - bring the text of all objects
 * up to date; functions_settle() - the users of graphs may have changed; functions_prepare(),
 * _finish() - the top instance's calls make records of @kind from now on, or no more: see hook.h.
 * Return: 0 or -errno.
 */
int functions_arm(void);
int functions_settle(void);
int functions_prepare(enum record_kind kind);
void functions_finish(enum record_kind kind);

#endif
