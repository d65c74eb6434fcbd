/* SPDX-License-Identifier: MIT */
/* See match.h. */
#include "tools/view/match.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/spill_array.h"

#define MAX_STACK 64u

enum column { EVENT, INFO, TASK, PID, CPU, TIME, LATENCY, LENGTH, DEPTH, FIELD, NR_COLUMNS };
enum operation { EQ, NE, LT, LE, GT, GE, HAS, LACKS, GLOB, NR_OPERATIONS };
enum step_kind { TERM, AND, OR, NOT };

static const char *const column_names[FIELD] = {"event", "info",    "task",   "pid",  "cpu",
						"time",	 "latency", "length", "depth"};
static const char *const operation_names[NR_OPERATIONS] = {"eq", "ne",	"lt",	 "le",	"gt",
							   "ge", "has", "lacks", "glob"};

struct step {
	enum step_kind kind;
	enum column column;
	enum operation op;
	char *name; /* of a field: a column `.NAME` */
	char *value;
	double number;
	bool is_number;
	uint8_t *known; /* by number of a name, a text or a track: enum match_result */
};

struct match {
	const struct columns *c;
	struct step *steps;
	size_t nr, room;
};

static bool number_of(const char *text, double *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) &&
	    !((text[0] == '-' || text[0] == '.') && isdigit((unsigned char)text[1])))
		return false;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		*out = (double)strtoull(text, &end, 16);
	else
		*out = strtod(text, &end);
	return !*end;
}

/* A whole number without a sign, of up to 64 bits: a double does not hold all of them. */
static bool whole_of(const char *text, uint64_t *out)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (!isdigit((unsigned char)text[0]) || (!hex && text[0] == '0' && text[1]))
		return false;
	errno = 0;
	*out = strtoull(text, &end, hex ? 16 : 10);
	return !*end && !errno;
}

static enum match_result result(bool met)
{
	return met ? MATCH_YES : MATCH_NO;
}

static enum match_result compare(enum operation op, double a, double b)
{
	switch (op) {
	case EQ:
		return result(a == b);
	case NE:
		return result(a != b);
	case LT:
		return result(a < b);
	case LE:
		return result(a <= b);
	case GT:
		return result(a > b);
	default:
		return result(a >= b);
	}
}

static enum match_result compare_text(const struct step *s, const char *text)
{
	double number;
	uint64_t a, b;

	switch (s->op) {
	case HAS:
		return result(strcasestr(text, s->value));
	case LACKS:
		return result(!strcasestr(text, s->value));
	case GLOB:
		return result(!fnmatch(s->value, text, 0));
	default:
		break;
	}
	if (whole_of(text, &a) && whole_of(s->value, &b))
		return compare(s->op, (a > b) - (a < b), 0);
	if (s->is_number && number_of(text, &number))
		return compare(s->op, number, s->number);
	return compare(s->op, strcmp(text, s->value), 0);
}

static enum match_result compare_number(const struct step *s, double number)
{
	char text[32];

	if (s->op == HAS || s->op == LACKS || s->op == GLOB) {
		snprintf(text, sizeof(text), "%.0f", number);
		return compare_text(s, text);
	}
	/* a number and a word: only `ne` is met */
	return s->is_number ? compare(s->op, number, s->number) : result(s->op == NE);
}

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

/* The value behind `NAME=` or `NAME:`, up to a blank or a comma. */
static bool field_of(const char *text, const char *name, char *out, size_t room)
{
	size_t n = strlen(name), i = 0;

	for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
		if ((p > text && is_word(p[-1])) || (p[n] != '=' && p[n] != ':'))
			continue;
		p += n + 1;
		while (*p == ' ')
			p++;
		while (*p && *p != ' ' && *p != ',' && i + 1 < room)
			out[i++] = *p++;
		out[i] = '\0';
		return true;
	}
	return false;
}

static enum match_result compare_field(const struct step *s, const char *text)
{
	char value[128];

	return field_of(text, s->name, value, sizeof(value)) ? compare_text(s, value)
							     : MATCH_UNKNOWN;
}

/* A term is evaluated once for each name, text and track. */
static int prepare(const struct columns *c, struct step *s)
{
	size_t nr = s->column == EVENT	? c->nr_names
		    : s->column == TASK ? c->nr_tracks + c->nr_names
					: c->nr_texts;

	if (s->column != EVENT && s->column != TASK && s->column != INFO && s->column != LATENCY &&
	    s->column != FIELD)
		return 0;
	s->known = calloc(nr + 1, 1);
	if (!s->known)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++) {
		const char *text = s->column == EVENT  ? c->names[i].text
				   : s->column != TASK ? c->texts[i]
				   : i < c->nr_tracks  ? c->tracks[i].name
						       : c->names[i - c->nr_tracks].text;

		s->known[i] = (uint8_t)(s->column == FIELD ? compare_field(s, text)
							   : compare_text(s, text));
	}
	return 0;
}

static int bad(const char *line)
{
	return fail(EINVAL, "'%s' is no condition", line);
}

/* `COLUMN OPERATOR VALUE` */
static int take_term(struct step *s, char *line)
{
	char *op = strchr(line, ' '), *value = op ? strchr(op + 1, ' ') : NULL;
	int column = 0, operation = 0;

	if (!value)
		return bad(line);
	*op++ = '\0';
	*value++ = '\0';
	while (column < FIELD && strcmp(column_names[column], line))
		column++;
	while (operation < NR_OPERATIONS && strcmp(operation_names[operation], op))
		operation++;
	if (operation == NR_OPERATIONS || (column == FIELD && (line[0] != '.' || !line[1])))
		return bad(line);
	s->kind = TERM;
	s->column = (enum column)column;
	s->op = (enum operation)operation;
	s->value = strdup(value);
	s->name = strdup(column == FIELD ? line + 1 : "");
	if (!s->value || !s->name)
		return fail(ENOMEM, "out of memory");
	s->is_number = number_of(value, &s->number);
	return 0;
}

static int take_step(struct match *m, char *line, unsigned int *depth)
{
	static const char *const words[] = {[AND] = "and", [OR] = "or", [NOT] = "not"};
	struct step *s;
	int err;

	if (ARRAY_ROOM(m->steps, m->nr, m->room, 8))
		return fail(ENOMEM, "out of memory");
	s = &m->steps[m->nr++];
	*s = (struct step){0};
	for (int kind = AND; kind <= NOT; kind++) {
		unsigned int takes = kind == NOT ? 1 : 2;

		if (strcmp(line, words[kind]))
			continue;
		s->kind = (enum step_kind)kind;
		if (*depth < takes)
			return bad(line);
		*depth -= takes - 1;
		return 0;
	}
	if (++*depth > MAX_STACK)
		return fail(EINVAL, "the condition is too long");
	err = take_term(s, line);
	return err ? err : prepare(m->c, s);
}

int match_new(const struct columns *c, const char *steps, struct match **out)
{
	struct match *m = calloc(1, sizeof(*m));
	char *copy = strdup(steps), *save = NULL;
	unsigned int depth = 0;
	int err = m && copy ? 0 : fail(ENOMEM, "out of memory");

	if (!err) {
		m->c = c;
		for (char *line = strtok_r(copy, "\n", &save); line && !err;
		     line = strtok_r(NULL, "\n", &save))
			err = take_step(m, line, &depth);
		if (!err && depth != (m->nr ? 1 : 0))
			err = fail(EINVAL, "the condition is not complete");
	}
	free(copy);
	if (err)
		match_free(m);
	else
		*out = m;
	return err;
}

void match_free(struct match *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr; i++) {
		free(m->steps[i].name);
		free(m->steps[i].value);
		free(m->steps[i].known);
	}
	free(m->steps);
	free(m);
}

/* The values of the columns for one item. */
struct item {
	bool has[NR_COLUMNS]; /* the columns that it has */
	uint32_t name, text, latency, task;
	double pid, cpu, time, length, depth;
};

static enum match_result term(const struct step *s, const struct item *i)
{
	if (!i->has[s->column])
		return MATCH_UNKNOWN;
	switch (s->column) {
	case EVENT:
		return (enum match_result)s->known[i->name];
	case TASK:
		return (enum match_result)s->known[i->task];
	case INFO:
	case FIELD:
		return (enum match_result)s->known[i->text];
	case LATENCY:
		return (enum match_result)s->known[i->latency];
	case PID:
		return compare_number(s, i->pid);
	case CPU:
		return compare_number(s, i->cpu);
	case TIME:
		return compare_number(s, i->time);
	case LENGTH:
		return compare_number(s, i->length);
	default:
		return compare_number(s, i->depth);
	}
}

static enum match_result both(enum match_result a, enum match_result b)
{
	if (a == MATCH_NO || b == MATCH_NO)
		return MATCH_NO;
	return a == MATCH_YES && b == MATCH_YES ? MATCH_YES : MATCH_UNKNOWN;
}

static enum match_result negated(enum match_result a)
{
	return a == MATCH_UNKNOWN ? a : result(a == MATCH_NO);
}

static enum match_result work_out(const struct match *m, const struct item *i)
{
	enum match_result stack[MAX_STACK];
	unsigned int nr = 0;

	for (size_t k = 0; k < m->nr; k++) {
		const struct step *s = &m->steps[k];

		if (s->kind == TERM) {
			stack[nr++] = term(s, i);
		} else if (s->kind == NOT) {
			stack[nr - 1] = negated(stack[nr - 1]);
		} else {
			nr--;
			stack[nr - 1] =
				s->kind == AND
					? both(stack[nr - 1], stack[nr])
					: negated(both(negated(stack[nr - 1]), negated(stack[nr])));
		}
	}
	return nr ? stack[0] : MATCH_YES;
}

enum match_result match_event(const struct match *m, size_t nr)
{
	const struct column_events *e = &m->c->events;
	const struct item i = {
		.has = {[EVENT] = true,
			[INFO] = true,
			[TASK] = true,
			[PID] = true,
			[CPU] = true,
			[TIME] = true,
			[LATENCY] = true,
			[FIELD] = true},
		.name = e->name[nr],
		.text = e->text[nr],
		.latency = e->latency[nr],
		.task = e->track[nr],
		.pid = e->tid[nr],
		.cpu = e->cpu[nr],
		.time = (double)(e->ts[nr] - m->c->first),
	};

	return work_out(m, &i);
}

enum match_result match_item(const struct match *m, uint32_t track, uint32_t row, size_t nr)
{
	const struct track *t = &m->c->tracks[track];
	const struct span_row *r = &t->rows[row];
	uint32_t extra = r->extra[nr];
	struct item i = {
		.has = {[TASK] = true, [PID] = true, [CPU] = true},
		.name = r->name[nr],
		.task = track,
		.pid = t->id,
		.cpu = extra,
		.time = (double)(r->start[nr] - m->c->first),
		.length = (double)r->length[nr],
		.depth = row,
	};

	switch (t->kind) {
	case TRACK_CPU:
		i.task = (uint32_t)(m->c->nr_tracks + r->name[nr]);
		i.pid = extra;
		i.cpu = t->id;
		break;
	case TRACK_CALLS:
		i.has[EVENT] = i.has[TIME] = i.has[LENGTH] = i.has[DEPTH] = true;
		i.has[CPU] = extra != COLUMNS_NO_CPU;
		break;
	case TRACK_STATES:
		break;
	default:
		return match_event(m, extra);
	}
	return work_out(m, &i);
}

/* Keep the events that meet the condition, and set the new number of each old one. */
static int filter_events(const struct columns *c, const struct match *m, struct columns *out,
			 uint32_t *numbers)
{
	const struct column_events *e = &c->events;

	for (size_t i = 0; i < e->nr; i++) {
		int err;

		numbers[i] = UINT32_MAX;
		if (match_event(m, i) != MATCH_YES)
			continue;
		numbers[i] = (uint32_t)out->events.nr;
		err = column_events_add(&out->events, e, i);
		if (err)
			return err;
	}
	return 0;
}

static int filter_row(const struct columns *c, const struct match *m, struct columns *out,
		      uint32_t track, uint32_t row, const uint32_t *numbers)
{
	const struct span_row *from = &c->tracks[track].rows[row];
	struct span_row *to = &out->tracks[track].rows[row];
	enum track_kind kind = c->tracks[track].kind;
	bool events = kind == TRACK_EVENTS || kind == TRACK_CPU_EVENTS;

	to->has_extra = from->has_extra;
	for (size_t i = 0; i < from->nr; i++) {
		if ((i + 1) % SPILL_ARRAYS_ROWS == 0)
			spill_arrays_trim();
		uint32_t extra = from->extra[i];
		enum match_result met = MATCH_YES;
		int err;

		if (events)
			extra = numbers[extra];
		else
			met = match_item(m, track, row, i);
		if (events ? extra == UINT32_MAX
			   : met == MATCH_NO || (met == MATCH_UNKNOWN && kind == TRACK_CALLS))
			continue;
		err = span_row_add(to, from->start[i], from->length[i], from->name[i], extra);
		if (err)
			return err;
		out->nr_calls += kind == TRACK_CALLS;
	}
	return span_row_finish(to);
}

int columns_filter(const struct columns *c, const struct match *m, struct columns **out)
{
	struct columns *f = calloc(1, sizeof(*f));
	uint32_t *numbers = calloc(c->events.nr + 1, sizeof(*numbers));
	int err = 0;

	if (!f || !numbers) {
		free(f);
		free(numbers);
		return fail(ENOMEM, "out of memory");
	}
	*f = *c;
	f->parent = c;
	f->nr_calls = 0;
	f->events = (struct column_events){0};
	f->tracks = calloc(c->nr_tracks + 1, sizeof(*f->tracks));
	err = f->tracks ? filter_events(c, m, f, numbers) : fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; f->tracks && i < c->nr_tracks; i++) {
		f->tracks[i] = c->tracks[i];
		f->tracks[i].rows = calloc(c->tracks[i].nr_rows + 1, sizeof(*f->tracks[i].rows));
		if (!err && !f->tracks[i].rows)
			err = fail(ENOMEM, "out of memory");
		if (!f->tracks[i].rows)
			f->tracks[i].nr_rows = 0;
		for (uint32_t row = 0; !err && row < f->tracks[i].nr_rows; row++)
			err = filter_row(c, m, f, i, row, numbers);
		spill_arrays_trim();
	}
	free(numbers);
	if (err)
		columns_free(f);
	else
		*out = f;
	return err;
}
