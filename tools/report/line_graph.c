/* SPDX-License-Identifier: MIT */
/*
 * The text of a call's entry and exit, as `trace-cmd` prints it: see line.h. Tests:
 * tests/cli/test_report.py.
 */
#include <inttypes.h>
#include <string.h>

#include "tools/base/control_byte.h"
#include "tools/report/line_impl.h"
#include "tools/text/number.h"

#define DURATION_BYTES 64u
#define MAX_DEPTH      1000u /* more are of damaged records */
#define NAME_BYTES     4096u /* of a name in a slot */
/* of a text without what the options add */
#define TEXT_BYTES (DURATION_BYTES + 2 * MAX_DEPTH + NAME_BYTES + 16)

/* How long a call took, in eleven columns with a mark for long ones, and the bar. */
static char *put_duration(char *p, uint64_t ns)
{
	static const struct {
		uint64_t above;
		char mark;
	} marks[] = {{1000000000, '$'}, {1000000, '#'}, {100000, '!'}, {10000, '+'}};
	uint64_t us = ns / 1000;
	char mark = ' ', *begin;

	if (ns < 10000) { /* most calls */
		memcpy(p, "  0.000 us   |  ", 16);
		p[2] = (char)('0' + us);
		number_zeros(p + 4, ns % 1000, 3);
		return p + 16;
	}
	for (size_t i = 0; ns > 10000 && mark == ' '; i++)
		if (ns > marks[i].above)
			mark = marks[i].mark;
	*p++ = mark;
	*p++ = ' ';
	begin = p;
	p = number_put(p, us);
	if (p - begin < 7) {
		*p++ = '.';
		p = number_zeros(p, ns % 1000, 3);
	}
	memcpy(p, " us ", 4);
	p += 4;
	p = line_put_blanks(p, 7 - (int)(p - 4 - begin));
	memcpy(p, "|  ", 3);
	return p + 3;
}

static char *put_depth(char *p, uint64_t depth)
{
	static const char blanks[] = "                                ";
	size_t n = 2 * (depth < MAX_DEPTH ? depth : MAX_DEPTH);

	if (n < sizeof(blanks)) /* the name comes over what is too much */
		memcpy(p, blanks, sizeof(blanks) - 1);
	else
		memset(p, ' ', n);
	return p + n;
}

/* A name in any form: of any length, with control bytes, or of no symbol. Return: as put_name(). */
static char *put_other_name(struct line *l, struct out *o, char *p, uint64_t addr)
{
	const struct symbol *s = line_function_at(l, addr);

	out_done(o, p);
	if (s)
		out_safe(o, s->name, strlen(s->name));
	else
		out_printf(o, "%" PRIx64, addr);
	return out_room(o, TEXT_BYTES);
}

/* The name of a function. Return: the first byte behind it, with room for another text. */
static char *put_name(struct line *l, struct out *o, char *p, uint64_t addr)
{
	struct name_slot *slot = name_slot_of(&l->names, addr);

	if (!name_slot_has(slot, addr)) {
		const struct symbol *s = line_function_at(l, addr);
		size_t n = s ? strlen(s->name) : 0;

		if (!s || n > NAME_BYTES || control_plain(s->name, n) < n)
			return put_other_name(l, o, p, addr);
		name_slot_set(slot, addr, s->name);
	}
	return name_slot_put(slot, p);
}

/* The end of the call that @rec begins, if @next is it. @func: the function. Return: NULL: no. */
static const struct line_event *end_of(struct line *l, const struct record *rec,
				       const struct record *next, uint64_t func)
{
	const struct line_event *exit = next ? line_event_of(l, next) : NULL;

	return exit && exit->ends_call && next->pid == rec->pid &&
			       line_field_value(l, next, exit->func) == func
		       ? exit
		       : NULL;
}

static uint64_t duration(const struct line *l, const struct line_event *exit,
			 const struct record *rec)
{
	return line_field_value(l, rec, exit->rettime) - line_field_value(l, rec, exit->calltime);
}

bool line_graph_entry(struct line *l, struct out *o, const struct line_event *e,
		      const struct record *rec, const struct record *next)
{
	uint64_t depth = line_field_value(l, rec, e->depth),
		 func = line_field_value(l, rec, e->func);
	const struct line_event *exit = end_of(l, rec, next, func);
	char *p = out_room(o, 2 * TEXT_BYTES);

	if (exit)
		p = put_duration(p, duration(l, exit, next));
	else
		p = (char *)memcpy(p, "             |  ", 16) + 16;
	p = put_name(l, o, put_depth(p, depth), func);
	memcpy(p, exit ? "(); " : "() {", 4);
	out_done(o, p + (exit ? 3 : 4));
	if (l->opt->depth)
		out_printf(o, " (%" PRIu64 ")", depth);
	return exit != NULL;
}

void line_graph_exit(struct line *l, struct out *o, const struct line_event *e,
		     const struct record *rec)
{
	uint64_t depth = line_field_value(l, rec, e->depth);
	char *p = put_duration(out_room(o, 2 * TEXT_BYTES), duration(l, e, rec));

	p = put_depth(p, depth);
	*p++ = '}';
	if (l->opt->tail) {
		memcpy(p, " /* ", 4);
		p = put_name(l, o, p + 4, line_field_value(l, rec, e->func));
		memcpy(p, " */", 3);
		p += 3;
	}
	out_done(o, p);
	if (l->opt->depth)
		out_printf(o, " (%" PRIu64 ")", depth);
}
