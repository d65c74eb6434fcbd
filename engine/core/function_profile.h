/* SPDX-License-Identifier: MIT */
/*
 * function_profile_enabled: how often each function was called, how long its calls took and how
 * long without what they called, by CPU. A graph without records: the calls are wrapped, and
 * graph_calls.c reports them here. The counts are in the area (struct area_profile), for the tools.
 */
#ifndef VESTIGE_CORE_FUNCTION_PROFILE_H
#define VESTIGE_CORE_FUNCTION_PROFILE_H

#include <stdint.h>

/* Of one function on one CPU, times in ns. */
struct function_profile {
	uint64_t hits;
	uint64_t time_ns;
	uint64_t squares; /* of the times: ns * ns */
};

/*
 * function_profile_set() - on: from zero, for the functions that set_ftrace_filter and _notrace
 * leave. Switching it off keeps the counts. Under the tree's lock. Return: 0; -ENOMEM; -errno of
 * the hook.
 */
int function_profile_set(int on);
int function_profile_is_on(void);

/* When it was last switched on, in the area's clock. */
extern uint64_t function_profile_since;

/*
 * A call begins; it returns after @took, in the area's clock, of which the last @self was its own.
 * Any context. function_profile_self() - a call that goes on has run for @self without calls.
 */
void function_profile_enter(uint32_t id);
void function_profile_self(uint32_t id, uint64_t self);
void function_profile_exit(uint32_t id, uint64_t took, uint64_t self);

/* The counts; zeros for functions beyond the number at that time. */
struct function_profile function_profile_get(uint32_t cpu, uint32_t id);

#endif
