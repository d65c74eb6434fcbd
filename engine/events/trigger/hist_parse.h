/* SPDX-License-Identifier: MIT */
/* Shared by the parsers of a histogram's line. Control context. */
#ifndef VESTIGE_EVENTS_TRIGGER_HIST_PARSE_H
#define VESTIGE_EVENTS_TRIGGER_HIST_PARSE_H

#include "engine/base/text.h"
#include "engine/events/trigger/hist.h"

#define HIST_MAX_VARS 16u /* of all kinds */

struct line {
	const struct event_file *file; /* the event file that has the trigger */
	const struct event *event;
	struct word all; /* the whole line */
	struct parse_errors *errors;
	struct hist *hist;
	/*
	 * variables that the line defines, and the first operands of their expressions: see
	 * hist_vars_parse()
	 */
	struct {
		struct word name, expr;
	} defs[HIST_MAX_VARS];
	uint32_t nr_defs;
	int remove; /* the line removes a histogram: the names that it defines may exist already */
	enum hist_wish wish;
};

/* Log an error at the first occurrence of a word's text in the line, as the kernel does. */
int bad_word(struct line *l, const char *text, const struct word *w);

/* Parse `field[.modifier]`. */
int hist_field_parse(struct line *l, struct hist_field *f, struct word text, int is_val);

#endif
