/* SPDX-License-Identifier: MIT */
/*
 * ftrace's text: the kernel's `trace` file, systrace's and `trace-cmd report`'s lines,
 *
 *	comm-123   (   99) [001] d..2. 12.345678: sched_switch: prev_comm=...
 *
 * Marks B|PID|NAME and E of the kinds that Android writes are calls; `leaf <-caller` is a function
 * that was called; all else is an event with its text. Lines of another shape are skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/import/import.h"
#include "tools/text/atrace_mark.h"

struct line {
	char *comm, *text; /* text: behind the stamp */
	int64_t tid, pid;  /* pid 0: not given */
	unsigned int cpu;
	uint64_t ts;
};

/* Digits up to @end; -1: they are none. */
static int64_t number(const char *p, const char *end)
{
	int64_t v = 0;

	if (p == end || end - p > 10)
		return -1;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		v = 10 * v + (*p - '0');
	}
	return v;
}

/* What is before the CPU: `comm-123`, `comm-123   (   99)`. */
static bool take_task(struct line *l, char *p, char *end)
{
	char *open, *dash;

	p = import_skip_blanks(p);
	while (end > p && end[-1] == ' ')
		end--;
	if (end > p && end[-1] == ')') {
		for (open = end - 1; open > p && *open != '(';)
			open--;
		l->pid = number(import_skip_blanks(open + 1), end - 1);
		if (l->pid < 0)
			l->pid = 0; /* (-----) */
		for (end = open; end > p && end[-1] == ' ';)
			end--;
	}
	for (dash = end; dash > p && *dash != '-';)
		dash--;
	l->tid = dash > p ? number(dash + 1, end) : -1;
	*dash = '\0';
	l->comm = p;
	return l->tid >= 0;
}

/* The rest of the line: perhaps flags, then the stamp and a colon. */
static bool take_stamp(struct line *l, char *p)
{
	const char *end;

	for (int i = 0; i < 2; i++) {
		p = import_skip_blanks(p);
		if (import_decimal(p, 1000000000, &l->ts, &end) && *end == ':' &&
		    memchr(p, '.', (size_t)(end - p))) {
			l->text = import_skip_blanks((char *)(uintptr_t)end + 1);
			return true;
		}
		while (*p && *p != ' ')
			p++;
	}
	return false;
}

static bool parse(struct line *l, char *text)
{
	for (char *p = text; (p = strchr(p, '[')); p++) {
		char *end = strchr(p, ']');
		int64_t cpu = end ? number(p + 1, end) : -1;

		*l = (struct line){0};
		if (cpu < 0 || cpu >= (int64_t)IMPORT_MAX_CPUS || p == text || p[-1] != ' ' ||
		    !take_stamp(l, end + 1))
			continue;
		l->cpu = (unsigned int)cpu;
		return take_task(l, text, p);
	}
	return false;
}

/* Add a mark that begins or ends a call. Return: 1: it is another text. */
static int take_mark(struct import *im, const struct line *l, int32_t thread)
{
	struct atrace_mark mark;
	uint64_t ip;
	int err;

	if (!atrace_mark_parse(l->text, &mark) || (mark.kind != 'B' && mark.kind != 'E'))
		return 1;
	if (mark.kind == 'E')
		return import_leave(im, l->cpu, thread, l->ts);
	err = import_function(im, mark.name, NULL, &ip);
	return err ? err : import_enter(im, l->cpu, thread, l->ts, ip);
}

static int take_function(struct import *im, struct line *l, int32_t thread, char *arrow)
{
	uint64_t ip, parent_ip;
	int err;

	*arrow = '\0';
	err = import_function(im, l->text, NULL, &ip);
	if (!err)
		err = import_function(im, arrow + 3, NULL, &parent_ip);
	return err ? err : import_hit(im, l->cpu, thread, l->ts, ip, parent_ip);
}

/* The colon behind an event's name; the colons of `ns::f` are part of a name. */
static char *find_colon(char *p)
{
	while ((p = strchr(p, ':')) && p[1] && p[1] != ' ')
		p += 1 + (p[1] == ':');
	return p;
}

static int take(struct import *im, struct line *l)
{
	char *colon = find_colon(l->text), *arrow = strstr(l->text, " <-");
	int32_t thread;
	uint64_t ip;
	int err = import_thread(im, 0, l->tid, &thread);

	if (!err)
		err = import_task(im, thread, (int32_t)l->pid, l->comm);
	if (err)
		return err;
	if (arrow && (!colon || colon > arrow))
		return take_function(im, l, thread, arrow);
	if (!colon || colon == l->text)
		return 0;
	*colon = '\0';
	err = import_function(im, l->text, NULL, &ip);
	if (err)
		return err;
	if (!strcmp(l->text, "tracing_mark_write") || !strcmp(l->text, "print")) {
		char *name = l->text;

		l->text = import_skip_blanks(colon + 1);
		if (!strncmp(l->text, "tracing_mark_write: ", 20)) /* trace-cmd's: print: ...: */
			l->text += 20;
		err = take_mark(im, l, thread);
		if (err <= 0)
			return err;
		(void)name;
		return import_text(im, l->cpu, thread, l->ts, ip, l->text);
	}
	return import_text(im, l->cpu, thread, l->ts, ip, import_skip_blanks(colon + 1));
}

static int ftrace_read(struct import_text *in, struct import *im)
{
	struct line l;
	char *text;
	int err = 0;

	while (!err && (text = import_line(in))) {
		if (!strncmp(text, "# tracer: function_graph", 24))
			return fail(ENOTSUP, "the text of function_graph has no stamps; record "
					     "it as a trace.dat");
		if (*text != '#' && parse(&l, text))
			err = take(im, &l);
	}
	return err;
}

static bool is_line(char *text)
{
	struct line l;

	return parse(&l, text);
}

static bool ftrace_is(const char *head, size_t bytes)
{
	return !strncmp(head, "# tracer:", 9) || import_text_any(head, bytes, is_line);
}

const struct importer ftrace_importer = {"ftrace's text", ftrace_is, ftrace_read};
