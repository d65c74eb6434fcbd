/* SPDX-License-Identifier: MIT */
/*
 * For line_fast.c and line_plugin.c: the fields of a record, and expressions of an event's `print
 * fmt` with them, `REC->flags & 0xff`. As in libtraceevent, all values are unsigned, of 64 bits.
 */
#ifndef VESTIGE_TOOLS_REPORT_LINE_EXPR_H
#define VESTIGE_TOOLS_REPORT_LINE_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include <traceevent/event-parse.h>

struct line_expr {
	enum { EXPR_FIELD, EXPR_CONST, EXPR_OP, EXPR_MASK } kind;
	uint16_t offset, bytes; /* EXPR_FIELD */
	uint64_t value;		/* EXPR_CONST; EXPR_MASK: the bits of left that a cast keeps */
	char op;		/* EXPR_OP: one character; l and r: << and >>, e and n: == and != */
	struct line_expr *left, *right;
};

/*
 * line_expr_new() - convert an argument of a format. @ev: the event with the format.
 * Return: to be freed with line_expr_free(); NULL: a part of it is not supported, or memory is
 * short.
 */
struct line_expr *line_expr_new(struct tep_event *ev, const struct tep_print_arg *arg);
void line_expr_free(struct line_expr *e);

/* The value. @data: a record with all fields of the event. @swap: it has the other byte order. */
uint64_t line_expr_value(const struct line_expr *e, const unsigned char *data, bool swap);

/* A field of the event, also a common one; NULL: there is none of that name. */
struct tep_format_field *line_field(struct tep_event *ev, const char *name);

/* Whether @f is not NULL and has 1, 2, 4 or 8 bytes at a fixed offset. */
bool line_field_is_number(const struct tep_format_field *f);

#endif
