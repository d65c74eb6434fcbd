/* SPDX-License-Identifier: MIT */
/*
 * The registry of functions that can be traced (AREA_FUNCTIONS, the index is the id in records;
 * function.c), and the patching of their text for the users of calls (function_arm.c).
 */
#ifndef VESTIGE_CORE_FUNCTION_H
#define VESTIGE_CORE_FUNCTION_H

#include "abi/record.h"
#include "engine/base/registry.h"
#include "engine/core/function_set.h"
#include "engine/process/object.h"

/*
 * function_add() - called by a hook for a function that it can trace. @found: its row, copied; the
 * object's index is filled in here. Return: 0; -ENOSPC: the table is full.
 */
int function_add(struct object *o, const struct area_function *found);

/*
 * Called by a hook for a function that it cannot trace. It is always counted, and listed while
 * there is room.
 */
void function_refuse(struct object *o, uint32_t offset, enum area_refusal why, uint32_t nop_bytes);

/*
 * Objects are scanned when functions are first needed, so a program that is not traced pays
 * nothing. From then on, objects that dlopen() loads are scanned at once.
 *
 * functions_need() - scan the objects that wait. In the constructor, or under the tree lock.
 * Return: 0 or -errno.
 */
int functions_need(void);

/*
 * As functions_need(), even if there was no memory before. Return: 0; -errno (-ENOMEM: some objects
 * still wait).
 */
int functions_need_again(void);
int functions_wait(void); /* whether objects wait; any context */

/*
 * function_count() - the number of functions, after functions_need(), in its contexts.
 * function_count_known() - the number of those that are known so far.
 */
uint32_t function_count(void);
uint32_t function_count_known(void);

/*
 * functions_name() - a filter names the object by `:mod:`: pass it again to a hook that only scans
 * named objects. Under the tree lock. Return: 0 or -errno.
 */
int functions_name(struct object *o);

/*
 * The id of the function at @offset from the bias of @o; UINT32_MAX: none. In the contexts of
 * functions_need().
 */
uint32_t function_at(const struct object *o, uint64_t offset);

/* The address of a function's first byte. Any context. */
uint64_t function_ip(uint32_t id);

/*
 * For parts that need each function that functions_need() finds:
 * REGISTRY_ADD(vestige_functions_found, self).
 */
struct functions_found {
	void (*call)(void);
};
REGISTRY(vestige_functions_found, const struct functions_found);

/*
 * For functions_update(). functions_meet() - an object is new: scan it, or let it wait. The second:
 * it is no longer mapped.
 */
void functions_meet(struct object *o);
void functions_forget(struct object *o);

/*
 * functions_update() - objects were loaded or unloaded: scan new ones and trace them as the filters
 * say. Before any of their code runs, under the loader's lock.
 */
void functions_update(void);

/*
 * The filters of function_graph, the same in all instances: only calls beneath these functions
 * (empty: all), none beneath those, at most this number of levels (0: all), and only calls that
 * took at least this time (0: all).
 */
extern struct function_set graph_function;
extern struct function_set graph_notrace;
extern uint32_t graph_max_depth;
extern uint64_t tracing_thresh_ns;

/*
 * Whether records have the registers of arguments and of results: func-args, funcgraph-args,
 * funcgraph-retval.
 */
extern uint32_t function_args, graph_args, graph_retval;

/*
 * For core/ops.c, which knows the users of calls. functions_arm() - patch the text of all objects
 * for the current users. functions_settle() - the users of graphs may have changed.
 * functions_prepare(), functions_finish() - the top instance's calls make records of @kind from now
 * on, or no longer: see hook.h. Return: 0 or -errno.
 */
int functions_arm(void);
int functions_settle(void);
int functions_prepare(enum record_kind kind);
void functions_finish(enum record_kind kind);

#endif
