/* SPDX-License-Identifier: MIT */
/*
 * Filters of events: `bytes >= 64 && (comm ~ "app*" || common_pid != 1)`. A filter is compiled to a
 * program of comparisons, each with two jump targets, which runs before the record is in the ring.
 */
#ifndef VESTIGE_EVENTS_FILTER_FILTER_H
#define VESTIGE_EVENTS_FILTER_FILTER_H

#include "engine/base/seq_buf.h"
#include "engine/events/event.h"

struct event_filter;

#define FILTER_MAX_TEXT 4095u /* bytes, as in the kernel: a page */

/* The error in a command, and its position. */
struct parse_error {
	const char *text;  /* the kernel's text; NULL: the kernel has none */
	uint32_t position; /* offset in the command, in bytes */
};

/* The errors that a parser found, for the error log. */
struct parse_errors {
	uint32_t nr;
	struct parse_error e[4];
};

/*
 * filter_compile() - compile an expression over @e's fields. @text: @n bytes, without blanks at its
 * ends. @e: NULL: there are no event's fields, as in a test of the grammar. Return: 0 and *@out, to
 * be freed with filter_free(); -errno as the kernel's, and *@error.
 */
int filter_compile(const struct event *e, const char *text, size_t n, struct event_filter **out,
		   struct parse_error *error);
void filter_free(struct event_filter *filter);

/* The expression as it was written. */
const char *filter_text(const struct event_filter *filter);

/*
 * filter_match() - whether a record passes. @record: common fields included, but these are not
 * read. Any context.
 */
int filter_match(const struct event_filter *filter, const void *record);

#endif
