/* SPDX-License-Identifier: MIT */
/* Who is in a probe of the program's own, and the functions that vestige/tracepoint.h is given. */
#ifndef VESTIGE_EVENTS_GUARD_H
#define VESTIGE_EVENTS_GUARD_H

#include "vestige/tracepoint.h"

extern const struct vestige_tracepoint_api tracepoint_api;

/*
 * What control has, for what a program calls: the tree's lock, for register_trace_NAME(); @ready, for
 * objects that are relocated. Constructor context.
 */
void guard_use_lock(void (*take)(void), void (*release)(void), void (*ready)(const void *address));

/* In a fork's child: nobody else is in a probe. */
void guard_fork(void);

#endif
