/* SPDX-License-Identifier: MIT */
/*
 * What line_fast.c and line_plugin.c print records with: fields, and numbers that an event's
 * `print fmt` makes of them, `REC->flags & 0xff`. As libtraceevent has it, all is counted in 64 bits
 * without a sign.
 */
#ifndef VESTIGE_TOOLS_REPORT_LINE_EXPR_H
#define VESTIGE_TOOLS_REPORT_LINE_EXPR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <traceevent/event-parse.h>

struct line_expr {
	enum { EXPR_FIELD, EXPR_CONST, EXPR_OP, EXPR_MASK } kind;
	uint16_t offset, bytes; /* EXPR_FIELD */
	uint64_t value;		/* EXPR_CONST; EXPR_MASK: what a cast leaves of left */
	char op; /* EXPR_OP: of one character; l and r: shifts, e and n: equal, not */
	struct line_expr *left, *right;
};

/*
 * line_expr_new() - @ev: the event whose format @arg is of. Return: to be freed with
 * line_expr_free(); NULL: it has something that is not known here, or memory is short.
 */
struct line_expr *line_expr_new(struct tep_event *ev, const struct tep_print_arg *arg);
void line_expr_free(struct line_expr *e);

/* @data: a record with all fields of the event. @swap: it is in the other byte order. */
uint64_t line_expr_value(const struct line_expr *e, const unsigned char *data, bool swap);

/* A field of the event, also a common one; NULL: there is none of that name. */
struct tep_format_field *line_field(struct tep_event *ev, const char *name);

/* Whether @f is there and has 1, 2, 4 or 8 bytes at a fixed offset. */
bool line_field_is_number(const struct tep_format_field *f);

/* @bytes: 1, 2, 4 or 8. */
static inline uint64_t line_number(const unsigned char *at, unsigned int bytes, bool swap)
{
	uint64_t v = 0;

	switch (bytes) {
	case 1:
		return *at;
	case 2: {
		uint16_t n;

		memcpy(&n, at, 2);
		return swap ? __builtin_bswap16(n) : n;
	}
	case 4: {
		uint32_t n;

		memcpy(&n, at, 4);
		return swap ? __builtin_bswap32(n) : n;
	}
	default:
		memcpy(&v, at, 8);
		return swap ? __builtin_bswap64(v) : v;
	}
}

#endif
