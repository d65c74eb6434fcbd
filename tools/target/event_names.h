/* SPDX-License-Identifier: MIT */
/* The events of a target that a pattern names: trace-cmd's -e, which the kernel's set_event does not know. */
#ifndef VESTIGE_TOOLS_EVENT_NAMES_H
#define VESTIGE_TOOLS_EVENT_NAMES_H

#include "tools/target/target.h"

/*
 * event_names_each() - call @act for each event of available_events that @pattern names.
 * @pattern: SYSTEM:NAME, SYSTEM or NAME, each with *, ? and []; `all` is all of them.
 * Return: 0; -EINVAL with fail() set: none matches; what @act returned first that is not 0; -errno with
 * fail() set. Any thread.
 */
int event_names_each(struct target *t, const char *pattern,
		     int (*act)(void *arg, const char *system, const char *event), void *arg);

/* A word of -e as set_event has it: `all` and `*` are *:*. Any thread. */
const char *event_names_word(const char *word);

/* The same of all events, whose order is the target's. Return: as above, and 0 where there is none. */
int event_names_all(struct target *t, int (*act)(void *arg, const char *system, const char *event),
		    void *arg);

#endif
