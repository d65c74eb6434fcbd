/* SPDX-License-Identifier: MIT */
/*
 * Filters of events: `bytes >= 64 && (comm ~ "app*" || common_pid != 1)`. Compiled to a program of
 * comparisons with a jump each, which a probe runs before the record is in the ring.
 */
#ifndef VESTIGE_EVENTS_FILTER_FILTER_H
#define VESTIGE_EVENTS_FILTER_FILTER_H

#include "engine/base/seq_buf.h"
#include "engine/events/event.h"

struct event_filter;

/* The error in a command, and its place. */
struct parse_error {
	const char *text;  /* the kernel's; NULL: it has no words for it */
	uint32_t position; /* in the command */
};

/* The errors that a parser found, as the error log has them. */
struct parse_errors {
	uint32_t nr;
	struct parse_error e[4];
};

/*
 * filter_compile() - make a program of an expression over @e's fields.
 * @text: @n bytes, blanks at its ends stripped.
 * @e: NULL: no field is an event's, as in a test of the grammar.
 * Return: 0 and *@out, to be freed with filter_free(); -errno as the kernel's and *@error.
 */
int filter_compile(const struct event *e, const char *text, size_t n, struct event_filter **out,
		   struct parse_error *error);
void filter_free(struct event_filter *filter);

/* The expression as it was written. */
const char *filter_text(const struct event_filter *filter);

/*
 * filter_match() - whether a record passes.
 * @record: from its common fields on, of which nothing is read. Any context.
 */
int filter_match(const struct event_filter *filter, const void *record);

#endif
