/* SPDX-License-Identifier: MIT */
/* See function_text.h. The rows of an area are untrusted. Tests: tests/tracefs/. */
#include "tools/target/function_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/target/names.h"

/* A function and its address, by which the kernel's lists are sorted. */
struct row {
	uint32_t object, offset, id;
};

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * Print the functions that @want selects, with their counts of callbacks if @count is set.
 * Functions of unloaded objects are not printed, but counted: a filter that has only these matches
 * no call, as in the kernel. Return: the count, or -errno with fail() set.
 */
static int print_functions(const struct meta *m, struct out *o,
			   bool (*want)(const struct area_function *f), bool count)
{
	struct row *rows = calloc((size_t)m->nr_functions + 1, sizeof(*rows));
	struct names *names;
	uint32_t nr = 0, gone = 0;

	if (!rows)
		return fail(ENOMEM, "out of memory for %u functions", m->nr_functions);
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];

		if (f->object >= m->nr_objects || !want(f))
			continue;
		if (m->objects[f->object].unload_stamp)
			gone++;
		else
			rows[nr++] = (struct row){f->object, f->offset, i};
	}
	if (!nr) {
		free(rows);
		return gone > 0;
	}
	names = names_new(m);
	if (!names) {
		free(rows);
		return -ENOMEM;
	}
	qsort(rows, nr, sizeof(*rows), by_place);
	for (uint32_t i = 0; i < nr; i++) {
		const struct symbol *s = names_find(names, rows[i].object, rows[i].offset);

		if (!s)
			continue;
		out_text(o, s->name);
		if (s->module)
			out_printf(o, " [%s]", s->module);
		/* blanks where the kernel has its flags */
		if (count)
			out_printf(o, " (%u)           ", m->functions[rows[i].id].callbacks);
		out_text(o, "\n");
	}
	names_free(names);
	free(rows);
	return nr > INT32_MAX ? INT32_MAX : (int)nr;
}

/* The addresses are in the process's memory. */
int function_text_available_filter_functions_addrs(const struct meta *m, struct out *o)
{
	struct names *names = names_new(m);

	if (!names)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->nr_functions; i++) {
		const struct area_function *f = &m->functions[i];
		const struct symbol *s;

		if (f->object >= m->nr_objects || m->objects[f->object].unload_stamp)
			continue;
		s = names_find(names, f->object, f->offset);
		if (!s)
			continue;
		out_printf(o, "%016" PRIx64 " ", m->objects[f->object].bias + f->offset);
		out_text(o, s->name);
		if (s->module)
			out_printf(o, " [%s]", s->module);
		out_text(o, "\n");
	}
	names_free(names);
	return 0;
}

static bool want_all(const struct area_function *f)
{
	(void)f;
	return true;
}

static bool want_enabled(const struct area_function *f)
{
	return f->enabled;
}

static bool want_touched(const struct area_function *f)
{
	return f->flags & AREA_FUNCTION_TOUCHED;
}

static bool want_filter(const struct area_function *f)
{
	return f->filter & AREA_FILTER_TRACE;
}

static bool want_notrace(const struct area_function *f)
{
	return f->filter & AREA_FILTER_NOTRACE;
}

static bool want_stack(const struct area_function *f)
{
	return f->filter & AREA_FILTER_STACK;
}

static bool want_graph(const struct area_function *f)
{
	return f->filter & AREA_FILTER_GRAPH;
}

static bool want_graph_notrace(const struct area_function *f)
{
	return f->filter & AREA_FILTER_GRAPH_NOTRACE;
}

int function_text_available_filter_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_all, false);
}

int function_text_enabled_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_enabled, true);
}

int function_text_touched_functions(const struct meta *m, struct out *o)
{
	return print_functions(m, o, want_touched, true);
}

/* Words that wait for an object. Return: whether there are any. */
static bool print_pending(const struct meta *m, struct out *o, enum area_pending_of of)
{
	/* no more than there are lists: AREA_NR_PENDING is none */
	const char *words = of < AREA_NR_PENDING && of < m->nr_pending ? m->pending[of].words : "";
	size_t n = strnlen(words, AREA_PENDING_BYTES);

	out_write(o, words, n);
	return n;
}

static int print_set(const struct meta *m, struct out *o,
		     bool (*want)(const struct area_function *f), enum area_pending_of pending,
		     const char *none)
{
	int n = print_functions(m, o, want, false);

	if (!print_pending(m, o, pending) && !n)
		out_printf(o, "%s\n", none);
	return n;
}

#define ALL_ENABLED   "#### all functions enabled ####"
#define NONE_DISABLED "#### no functions disabled ####"

/* The last command first; the functions of a command by address. */
static int by_order(const void *a, const void *b)
{
	const struct area_probe *const *x = a, *const *y = b;

	if ((*x)->order != (*y)->order)
		return (*x)->order > (*y)->order ? -1 : 1;
	return (*x)->function < (*y)->function ? -1 : (*x)->function > (*y)->function;
}

/* `SYSTEM:NAME:` */
static void print_event(const struct meta *m, struct out *o, uint16_t id)
{
	for (uint32_t i = 0; i < m->nr_events; i++)
		if (m->events[i].id == id)
			out_printf(o, "%s:%s:", meta_string(m, m->events[i].system),
				   meta_string(m, m->events[i].name));
}

#define MAX_COMMANDS 256 /* as many as area_probe.command has values */

/* The names of func commands, indexed by their number. They are not trusted. */
struct commands {
	struct {
		const char *at;
		int n;
	} of[MAX_COMMANDS];
	unsigned int nr;
};

static void find_commands(const struct meta *m, struct commands *c)
{
	const char *at = m->head.func_commands ? meta_string(m, m->head.func_commands) : "", *end;
	size_t n;

	if (!*at)
		at = AREA_FUNC_COMMANDS; /* of an older engine */
	end = at + strnlen(at, AREA_FUNC_COMMANDS_BYTES - 1);
	/* no command has the number 0 */
	for (c->nr = 1; at < end && c->nr < MAX_COMMANDS; at += n + 1) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));

		n = (size_t)((blank ? blank : end) - at);
		c->of[c->nr].at = at;
		c->of[c->nr++].n = (int)n;
	}
}

static void print_probe(const struct meta *m, struct out *o, const struct commands *c,
			const char *name, const struct area_probe *p)
{
	const char *command;
	int n;

	if (p->command >= c->nr)
		return; /* of a later version */
	command = c->of[p->command].at;
	n = c->of[p->command].n;
	out_printf(o, "%s:%.*s:", name, n, command);
	if (p->event)
		print_event(m, o, p->event);
	/* the kernel does not print that cpudump comes once */
	if (p->count < 0 || (n == 7 && !memcmp(command, "cpudump", 7)))
		out_printf(o, "unlimited\n");
	else
		out_printf(o, "count=%" PRId64 "\n", p->count);
}

static int print_probes(const struct meta *m, struct out *o)
{
	const struct area_probe **rows;
	struct commands commands;
	struct names *names;
	uint32_t nr = 0;

	if (!m->nr_probes)
		return 0;
	rows = calloc(m->nr_probes, sizeof(*rows));
	names = rows ? names_new(m) : NULL;
	if (!names) {
		free(rows);
		return fail(ENOMEM, "out of memory for %u commands", m->nr_probes);
	}
	for (uint32_t i = 0; i < m->nr_probes; i++)
		if (m->probes[i].command && m->probes[i].function < m->nr_functions)
			rows[nr++] = &m->probes[i];
	qsort(rows, nr, sizeof(*rows), by_order);
	find_commands(m, &commands);
	for (uint32_t i = 0; i < nr; i++) {
		const struct area_function *f = &m->functions[rows[i]->function];
		const struct symbol *s = NULL;

		if (f->object < m->nr_objects && !m->objects[f->object].unload_stamp)
			s = names_find(names, f->object, f->offset);
		if (s)
			print_probe(m, o, &commands, s->name, rows[i]);
	}
	names_free(names);
	free(rows);
	return 0;
}

int function_text_set_ftrace_filter(const struct meta *m, struct out *o)
{
	int err = print_set(m, o, want_filter, AREA_PENDING_FILTER, ALL_ENABLED);

	return err < 0 ? err : print_probes(m, o);
}

int function_text_set_ftrace_notrace(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_notrace, AREA_PENDING_NOTRACE, NONE_DISABLED);
}

int function_text_set_graph_function(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_graph, AREA_NR_PENDING, ALL_ENABLED);
}

int function_text_set_graph_notrace(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_graph_notrace, AREA_NR_PENDING, NONE_DISABLED);
}

int function_text_stack_trace_filter(const struct meta *m, struct out *o)
{
	return print_set(m, o, want_stack, AREA_NR_PENDING, ALL_ENABLED);
}
