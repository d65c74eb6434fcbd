/* SPDX-License-Identifier: MIT */
/*
 * `vestige dot`: the graph of calls for Graphviz; text/call_dot.c prints. Tests:
 * tests/cli/test_dot.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/view_flags.h"
#include "tools/code/elf_code.h"
#include "tools/code/load_bias.h"
#include "tools/export/call_export.h"
#include "tools/text/call_dot.h"
#include "tools/text/view_tree.h"

struct options {
	struct dot_options dot;
	const char *old, *program, *color;
};

static int take_number(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	unsigned long long n;
	int err;

	if (!strcmp(p->flag->name, "nodes") && !strcmp(value, "0")) {
		opt->dot.nodes = 0;
		return 0;
	}
	err = options_take_number(p, value, 1, UINT32_MAX, "not a number", &n);
	if (err)
		return err;
	if (!strcmp(p->flag->name, "nodes"))
		opt->dot.nodes = (unsigned int)n;
	else if (!strcmp(p->flag->name, "distance"))
		opt->dot.distance = (unsigned int)n;
	else
		opt->dot.min_calls = n;
	return 0;
}

static int take_percent(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	char *end;

	opt->dot.min_percent = strtod(value, &end);
	if (end == value || *end || !(opt->dot.min_percent >= 0 && opt->dot.min_percent <= 100))
		return options_bad(p, "not a percentage, as 0.5", value);
	return 0;
}

static const char *const color_words[] = {"self", "total", NULL};

static int take_color(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	opt->dot.color_total = !strcmp(value, "total");
	return opt->dot.color_total || !strcmp(value, "self")
		       ? 0
		       : options_bad(p, "not self or total", value);
}

#define DOT(field) offsetof(struct options, dot.field)

static const struct flag flags[] = {
	{0, "nodes", "NR", "at most NR functions, those with the most time; 0: all (60)",
	 take_number, 0},
	{0, "min-percent", "PERCENT", "only functions with at least this share of all time",
	 take_percent, 0},
	{0, "min-calls", "NR", "only functions that were called at least so often", take_number, 0},
	{0, "near", "FUNC", "only these functions, a glob, their callers and their callees", NULL,
	 DOT(near)},
	{0, "distance", "NR", "how many calls these are away (2)", take_number, 0},
	{0, "clusters", NULL, "the functions of an object in a box", NULL, DOT(clusters)},
	{0, "color", "WHAT", "more red for more time of its own (self) or with callees (total)",
	 take_color, 0, color_words},
	{0, "diff", "OLD", "what changed since this recording: red is more time, green is less",
	 NULL, offsetof(struct options, old)},
	{0, "pvtrace", "PROGRAM", "FILE is a trace.txt of pvtrace, with addresses of this program",
	 NULL, offsetof(struct options, program)},
	FLAGS_END};

static const char *object_of(const void *arg, const struct call_function *fn)
{
	return call_export_object(arg, fn);
}

/* The calls of one recording. */
static int add_recording(struct dot_graph *g, struct view *v, bool old)
{
	struct call_tree t = {0};
	int err = view_open_calls(v);

	if (!err)
		err = call_tree_init(&t, v->filter, true, false);
	if (!err)
		err = view_run_tree(v, &t);
	if (!err && !t.nr_calls)
		err = fail(ENODATA, "no call in '%s' matches the flags", v->path);
	if (!err)
		err = dot_graph_add(g, &t, object_of, v, old);
	if (!err)
		view_notes(v, t.nr_calls);
	call_tree_clear(&t);
	return err;
}

/* The name of the function at an address; the address as text if there is none. */
static const char *function_at(const struct elf_code *code, uint64_t addr, char buf[24])
{
	const struct elf_symbol *best = NULL;

	for (size_t i = 0; i < code->nr_symbols; i++) {
		const struct elf_symbol *s = &code->symbols[i];

		if (s->addr <= addr && addr - s->addr < (s->size ? s->size : 1) &&
		    (!best || s->rank < best->rank))
			best = s;
	}
	if (best)
		return best->name;
	snprintf(buf, 24, "0x%llx", (unsigned long long)addr);
	return buf;
}

/* Of a trace.txt. */
struct pvtrace {
	struct pvtrace_line {
		uint64_t addr;
		bool entry;
	} * lines;
	size_t nr, room;
};

/* Lines E0xADDRESS at an entry and X0xADDRESS at an exit, as pvtrace's instrumentation writes. */
static int read_lines(struct pvtrace *t, FILE *f, const char *path)
{
	char line[128], *end;

	while (fgets(line, sizeof(line), f)) {
		uint64_t addr = strtoull(line + 1, &end, 16);

		if ((*line != 'E' && *line != 'X') || end == line + 1 || (*end && *end != '\n'))
			return fail(EINVAL, "%s: line %zu is not E0xADDRESS or X0xADDRESS", path,
				    t->nr + 1);
		if (ARRAY_ROOM(t->lines, t->nr, t->room, 1024))
			return fail(ENOMEM, "out of memory for the calls");
		t->lines[t->nr++] = (struct pvtrace_line){addr, *line == 'E'};
	}
	if (ferror(f))
		return fail_errno(errno, "cannot read '%s'", path);
	return t->nr ? 0 : fail(ENODATA, "'%s' is empty", path);
}

/* For a position-independent program: find the load address from the addresses, and subtract it. */
static int move_lines(struct pvtrace *t, const char *program, const struct elf_code *code)
{
	uint64_t *seen = malloc(t->nr * sizeof(*seen)), bias;
	size_t nr = 0;
	int err;

	if (!seen)
		return fail(ENOMEM, "out of memory for the calls");
	for (size_t i = 0; i < t->nr; i++)
		if (t->lines[i].entry)
			seen[nr++] = t->lines[i].addr;
	err = load_bias_of(program, code, seen, nr, &bias);
	free(seen);
	for (size_t i = 0; i < t->nr; i++)
		t->lines[i].addr -= bias;
	return err;
}

static int add_lines(struct dot_graph *g, const struct pvtrace *t, const char *path,
		     const struct elf_code *code)
{
	uint32_t *stack = NULL, node;
	size_t nr = 0, room = 0;
	char buf[24];
	int err = 0;

	for (size_t i = 0; i < t->nr && !err; i++) {
		if (!t->lines[i].entry) {
			nr -= nr != 0;
			continue;
		}
		err = dot_graph_node(g, function_at(code, t->lines[i].addr, buf), path, &node);
		if (err)
			break;
		g->nodes[node].now.calls++;
		if (nr)
			err = dot_graph_edge(g, &(struct dot_edge){.from = stack[nr - 1],
								   .to = node,
								   .now = {.calls = 1}});
		if (!err && ARRAY_ROOM(stack, nr, room, 64))
			err = fail(ENOMEM, "out of memory for the calls");
		if (!err)
			stack[nr++] = node;
	}
	free(stack);
	return err;
}

static int add_pvtrace(struct dot_graph *g, const char *path, const char *program)
{
	struct elf_code code = {0};
	struct pvtrace t = {0};
	FILE *f = fopen(path, "re");
	int err = f ? read_lines(&t, f, path) : fail_errno(errno, "cannot open '%s'", path);

	if (f)
		fclose(f);
	if (!err)
		err = elf_code_load(program, &code);
	if (!err) {
		err = move_lines(&t, program, &code);
		if (!err)
			err = add_lines(g, &t, path, &code);
		elf_code_free(&code);
	}
	free(t.lines);
	return err;
}

static int print(const struct options *opt, struct view *v, struct view *old)
{
	struct dot_graph g = {0};
	unsigned int shown, all;
	struct out o;
	int err;

	if (opt->program)
		err = add_pvtrace(&g, v->path, opt->program);
	else
		err = add_recording(&g, v, false);
	if (!err && opt->old)
		err = add_recording(&g, old, true);
	if (!err && out_init(&o, STDOUT_FILENO))
		err = fail(ENOMEM, "out of memory");
	else if (!err)
		err = out_end_stdout(&o, dot_graph_put(&o, &g, &opt->dot, &shown, &all),
				     "the graph");
	if (!err && shown < all)
		note("%u functions of %u are shown", shown, all);
	dot_graph_free(&g);
	return err;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {.dot = {.nodes = DOT_NODES, .distance = 2}};
	struct view v, old;
	int status, err;

	view_init(&v);
	status = view_parse(&v, c, &opt, argc, argv);
	if (status >= 0)
		return status;
	if (opt.program && !v.path)
		return options_wrong(c, "--pvtrace: name the trace.txt");
	if (opt.program && opt.old)
		return options_wrong(c, "--pvtrace and --diff cannot be used together");
	old = v;
	old.path = opt.old;
	err = print(&opt, &v, &old);
	if (err)
		note("%s", fail_text());
	if (!opt.program)
		view_close(&v);
	if (opt.old && old.r)
		view_close(&old);
	return err ? CMD_FAILURE : 0;
}

const struct command command_dot = {
	.name = "dot",
	.words = "[FILE]",
	.what = "draw a recording's graph of calls (for Graphviz)",
	.help = "Print the graph of calls of FILE (a recording of function_graph; default: "
		"trace.dat) for Graphviz:\na box for each function with its time and calls, an "
		"arrow from each caller. Cycles are red and dashed.\n"
		"\n"
		"  vestige dot | dot -Tsvg > calls.svg\n"
		"  vestige dot --near processCommand --distance 1 --clusters\n"
		"  vestige dot --diff old.dat new.dat\n"
		"  vestige dot --pvtrace ./program trace.txt\n",
	.flags = (const struct flag *const[]){view_flags, flags, NULL},
	.run = run,
};
