/* SPDX-License-Identifier: MIT */
/* -f and -R of `record`: filters and triggers of the events that a -e names. */
#ifndef VESTIGE_TOOLS_EVENT_RULES_H
#define VESTIGE_TOOLS_EVENT_RULES_H

#include <stdbool.h>

#include "tools/target/target.h"

struct event_rule {
	const char *events; /* the words of -e, between commas */
	const char *text;
	bool trigger; /* else a filter */
	bool alone;   /* the events are not switched on */
};

/*
 * event_rules_check() - no event of a filter may have one already.
 * event_rules_write() - write all of them. @names: the target that lists the events of @t: itself, or the
 * kernel of an instance. An event that is not there is no error unless
 * the rule is alone: the caller switches it on, and reports it.
 * event_rules_undo() - no filter, and without the triggers. Errors are ignored.
 * Return: 0 or -errno with fail() set.
 */
int event_rules_check(struct target *t, const struct event_rule *rules, unsigned int nr);
int event_rules_write(struct target *names, struct target *t, const struct event_rule *rules,
		      unsigned int nr);
void event_rules_undo(struct target *t, const struct event_rule *rules, unsigned int nr);

#endif
