/* SPDX-License-Identifier: MIT */
/*
 * function_profile_enabled: for each function and CPU the number of calls, their time, and their
 * time without the functions that they called. It is a graph without records: the calls are
 * wrapped, and graph_calls.c reports them here. The counts are in the area (struct area_profile),
 * for the tools.
 */
#ifndef VESTIGE_CORE_FUNCTION_PROFILE_H
#define VESTIGE_CORE_FUNCTION_PROFILE_H

#include <stdint.h>

/* The counts of one function on one CPU; times in ns. */
struct function_profile {
	uint64_t hits;
	uint64_t time_ns;
	uint64_t squares; /* sum of the squares of times, ns * ns */
};

/*
 * function_profile_set() - on: count from zero, for the functions that set_ftrace_filter and
 * set_ftrace_notrace allow. off: keep the counts. Under the tree lock. Return: 0; -ENOMEM; -errno
 * of the hook.
 */
int function_profile_set(int on);
int function_profile_is_on(void);

/* Stamp of the last time that it was switched on. */
extern uint64_t function_profile_since;

/*
 * function_profile_enter() - a call begins. function_profile_exit() - it returns after @took, of
 * which @self since the last report was its own (units of the area's clock).
 * function_profile_self() - an open call has run for @self by itself. Any context.
 */
void function_profile_enter(uint32_t id);
void function_profile_self(uint32_t id, uint64_t self);
void function_profile_exit(uint32_t id, uint64_t took, uint64_t self);

/* Get the counts; they are zero for functions that were not known at the switch. */
struct function_profile function_profile_get(uint32_t cpu, uint32_t id);

#endif
