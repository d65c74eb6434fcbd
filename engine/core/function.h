/* SPDX-License-Identifier: MIT */
/*
 * The registry of functions that can be traced (AREA_FUNCTIONS: the index is the id in records),
 * the filters on it, and who wants their calls.
 */
#ifndef VESTIGE_CORE_FUNCTION_H
#define VESTIGE_CORE_FUNCTION_H

#include "abi/record.h"
#include "engine/core/object.h"

struct ring;

/*
 * function_add() - a hook found a function that it can trace.
 * @found: its row, copied; the object's index is filled in.
 * Return: 0 or -ENOSPC: the table is full.
 */
int function_add(struct object *o, const struct area_function *found);

/* A hook found one that it cannot trace; counted always, listed while there is room. */
void function_refuse(struct object *o, uint32_t offset, enum area_refusal why, uint32_t nop_bytes);

uint32_t function_count(void);

/* The id of the function of @o that starts @offset bytes from its bias; UINT32_MAX: none. */
uint32_t function_at(const struct object *o, uint64_t offset);

/* Scan every object with every hook. Return: 0 or -errno. */
int functions_scan(void);

/*
 * functions_update() - objects came or went: scan the new ones and trace them as the filters say.
 * Before the first of their code runs, under the loader's lock.
 */
void functions_update(void);

/* Sets of functions, one bit an id. */
struct function_set {
	uint64_t *bits;
	uint32_t nr; /* functions for which there is room */
	uint32_t count;
	uint8_t shown;		 /* enum area_function_filter: how the area shows its members */
	const struct ring *ring; /* in whose area it is shown */
};

/*
 * function_set_apply() - add or remove functions by one word of set_ftrace_filter's grammar.
 * @word: `glob`, `!glob`, `glob:mod:objectglob`, `N` (the N-th of available_filter_functions).
 * @n: its length.
 * Return: 0; -EINVAL if it names no function (or takes none out of a set of the graph's); -ENOMEM.
 */
int function_set_apply(struct function_set *set, const char *word, size_t n);
void function_set_clear(struct function_set *set);
void function_set_free(struct function_set *set);

/* Add or remove one function. Nothing in the area shows it. Return: 0 or -ENOMEM. */
int function_set_put(struct function_set *set, uint32_t id, int add);

int function_set_has(const struct function_set *set, uint32_t id);

/*
 * What function_graph asks for, the same in all instances: the calls beneath these functions alone (empty: all), never those
 * beneath those, so many levels (0: all), and only calls that took at least so long (0: all).
 */
extern struct function_set graph_function;
extern struct function_set graph_notrace;
extern uint32_t graph_max_depth;
extern uint64_t tracing_thresh_ns;

/* Whether records have the registers of arguments and of results: func-args, funcgraph-args, -retval. */
extern uint32_t function_args, graph_args, graph_retval;

struct trace_array;

/* What an instance's tracer wants of calls. */
struct tracer_ops {
	const char *name;
	enum record_kind kind;
};

/*
 * ftrace_register_ops() - patch what the instance's filters leave, so that each call makes a record.
 * Return: 0; -EBUSY if it has another; -errno of the hook, nothing is patched then.
 */
int ftrace_register_ops(struct trace_array *tr, const struct tracer_ops *ops);
void ftrace_unregister_ops(struct trace_array *tr, const struct tracer_ops *ops);

/* Whether the top instance's tracer is a graph. */
int ftrace_top_graph(void);

/* One of the graph's four, or its args or retval, has changed. Return: 0 or -errno. */
int ftrace_graph_update(void);

/* The filters changed: bring the text up to date. Return: 0 or -errno. */
int ftrace_update(void);

#endif
