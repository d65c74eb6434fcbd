/* SPDX-License-Identifier: MIT */
/* -f and -R of `record`: filters and triggers for the events of a -e. */
#ifndef VESTIGE_TOOLS_EVENT_RULES_H
#define VESTIGE_TOOLS_EVENT_RULES_H

#include <stdbool.h>

#include "tools/target/target.h"

struct event_rule {
	const char *events; /* the words of -e, between commas */
	const char *text;
	bool trigger; /* else a filter */
	bool alone;   /* the trigger alone: the events are not switched on */
};

/*
 * event_filter_join() - join two filters of one event, as trace-cmd does it. Return: the caller's,
 * from malloc(); NULL: memory is short.
 */
char *event_filter_join(const char *first, const char *second);

/*
 * event_rules_check() - fail if an event for which there is a filter has one already.
 * event_rules_write() - write all rules. @names: the target that lists the events of @t: @t itself,
 * or the kernel for an instance. A missing event is an error only if the rule is `alone`; else the
 * caller reports it when switching the event on. After an error none of the rules is there.
 * event_rules_undo() - remove the filters and the triggers that event_rules_write() has written.
 * Errors are ignored.
 * Return: 0 or -errno with fail() set.
 */
int event_rules_check(struct target *t, const struct event_rule *rules, unsigned int nr);
int event_rules_write(struct target *names, struct target *t, const struct event_rule *rules,
		      unsigned int nr);
void event_rules_undo(struct target *t, const struct event_rule *rules, unsigned int nr);

#endif
