/* SPDX-License-Identifier: MIT */
/* The events of a target that match a pattern of trace-cmd's -e; set_event has fewer patterns. */
#ifndef VESTIGE_TOOLS_EVENT_NAMES_H
#define VESTIGE_TOOLS_EVENT_NAMES_H

#include "tools/target/target.h"

/*
 * event_names_each() - call @act for each event of available_events that matches @pattern.
 * @pattern: SYSTEM:NAME, SYSTEM or NAME, each with *, ? and []; `all` is all of them.
 * @act: a result other than 0 stops. Return: 0; that result; -EINVAL with fail() set: none matches;
 * another -errno with fail() set. Any thread.
 */
int event_names_each(struct target *t, const char *pattern,
		     int (*act)(void *arg, const char *system, const char *event), void *arg);

/* A word of -e in the form of set_event: `all` and `*` become *:*. Any thread. */
const char *event_names_word(const char *word);

/* Call @act for all events, in the target's order. Return: as above; 0 if there is no event. */
int event_names_all(struct target *t, int (*act)(void *arg, const char *system, const char *event),
		    void *arg);

#endif
