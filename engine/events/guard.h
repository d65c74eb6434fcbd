/* SPDX-License-Identifier: MIT */
/* Who is in a probe of the program's own, and the functions that vestige/tracepoint.h is given. */
#ifndef VESTIGE_EVENTS_GUARD_H
#define VESTIGE_EVENTS_GUARD_H

#include "vestige/tracepoint.h"

extern const struct vestige_tracepoint_api tracepoint_api;

/*
 * The tree's lock, for what a program calls: register_trace_NAME(). Set by control, which has it.
 * Constructor context.
 */
void guard_use_lock(void (*take)(void), void (*release)(void));

/* In a fork's child: nobody else is in a probe. */
void guard_fork(void);

#endif
