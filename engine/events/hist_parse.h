/* SPDX-License-Identifier: MIT */
/* What the parsers of a histogram's line share. Control context. */
#ifndef VESTIGE_EVENTS_HIST_PARSE_H
#define VESTIGE_EVENTS_HIST_PARSE_H

#include "engine/events/hist.h"

#define HIST_MAX_VARS 16u /* of all kinds */

struct word {
	const char *at;
	size_t n;
};

struct line {
	const struct event_file *file; /* whose trigger it is */
	const struct event *event;
	struct word all; /* the line */
	struct parse_errors *errors;
	struct hist *hist;
	/* the variables that it defines, and what is left of their expressions: see hist_vars_parse() */
	struct {
		struct word name, expr;
	} defs[HIST_MAX_VARS];
	uint32_t nr_defs;
	int remove; /* it is to go: what it names may be there already */
	enum hist_wish wish;
};

/* What is wrong, at a place of the line; or where the text of a word is found first, as the kernel points. */
int bad(struct line *l, const char *text, const char *at);
int bad_word(struct line *l, const char *text, const struct word *w);

int word_is(const struct word *w, const char *name);
/* The bytes up to @end; *@rest is behind it. Return: whether there was anything left. */
int word_next(struct word *rest, char end, struct word *out);

/* `field[.modifier]` */
int hist_field_parse(struct line *l, struct hist_field *f, struct word text, int is_val);

#endif
