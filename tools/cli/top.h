/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of `vestige top`: cmd_top.c counts, top_table.c makes lines, top_screen.c
 * shows them.
 */
#ifndef VESTIGE_TOOLS_TOP_H
#define VESTIGE_TOOLS_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/target/counts.h"
#include "tools/text/out.h"

/* Columns, each a key to sort by. */
enum top_key { TOP_RATE, TOP_TOTAL, TOP_SELF, TOP_P50, TOP_P99, TOP_MAX, TOP_NAME, TOP_NR_KEYS };
extern const char *const top_key_names[TOP_NR_KEYS + 1]; /* of -s, the last NULL */
extern const char top_key_letters[TOP_NR_KEYS + 1];	 /* of the screen */

/* Times in ns; -1: not known. */
struct top_row {
	const struct count *count;
	uint64_t calls;
	double values[TOP_NAME]; /* by column; the rate is calls a second */
};

struct top_table {
	struct top_row *rows; /* sorted; only functions and events that were called */
	unsigned int nr, room;
	double seconds; /* length of the turn */
	uint64_t calls; /* of functions */
	uint64_t missed;
};

/* What the user has chosen. */
struct top_view {
	enum top_key key;
	unsigned int lines; /* most lines; 0: all */
	char pattern[64];   /* only names that contain it; "": all */
};

/*
 * top_table_make() - make the rows of @c's last turn, which took @seconds. @t: zeros at first; the
 * caller frees t->rows at the end. Return: 0 or -ENOMEM with fail() set.
 */
int top_table_make(struct top_table *t, const struct counts *c, const struct top_view *v,
		   double seconds);

/*
 * Write a line of the table to @line; with @row NULL its titles. Control bytes in names are
 * replaced.
 */
void top_line(char *line, size_t bytes, const struct top_row *row);
void top_print(const struct top_table *t, struct out *o);
void top_print_json(const struct top_table *t, struct out *o);

/* Functions of cmd_top.c for the screen. */
struct top;
int top_turn(struct top *top, struct top_table *t); /* 0; -errno; -ESRCH: all have ended */
int top_toggle_filter(struct top *top);
const char *top_subject(const struct top *top);
bool top_filter_is_on(const struct top *top);
bool top_has_filter(const struct top *top);
extern volatile int top_stopped; /* by a signal */

/* Show it until `q` or a signal. Return: 0 or -errno with fail() set. */
int top_screen(struct top *top, struct top_view *v, double delay);

#endif
