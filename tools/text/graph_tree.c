/* SPDX-License-Identifier: MIT */
/* See graph_tree.h. Tests: tests/cli/test_views.py. */
#include "tools/text/graph_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/analysis/call_tree.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/text/duration.h"
#include "tools/text/json.h"
#include "tools/text/view_tree.h"

#define MAX_INDENT 400u

struct graph {
	struct view *v;
	const struct graph_options *opt;
	struct out *o;
	const struct call_tree *t;
};

static void put_time(struct out *o, uint64_t ns)
{
	char *to = out_room(o, DURATION_WIDTH + 1);

	*to = ' ';
	duration_put(to + 1, ns);
	out_done(o, to + 1 + DURATION_WIDTH);
}

static void put_times(struct out *o, const struct call_tree *t, uint32_t i)
{
	const struct call_node *n = &t->nodes[i];

	put_time(o, n->total);
	put_time(o, n->self);
	if (t->suspended)
		put_time(o, call_tree_suspended(t, i));
	out_printf(o, " %10" PRIu64, n->calls);
	put_time(o, n->calls ? n->total / n->calls : 0);
	put_time(o, n->calls ? n->min : 0);
	put_time(o, n->max);
}

static void put_head(struct out *o, const struct call_tree *t)
{
	out_printf(o, "#%10s %10s", "TOTAL", "SELF");
	if (t->suspended)
		out_printf(o, " %10s", "SUSPENDED");
	out_printf(o, " %10s %10s %10s %10s  %s\n", "CALLS", "AVG", "MIN", "MAX", "FUNCTION");
}

static void put_node(const struct graph *g, uint32_t i, unsigned int depth, const char *mark)
{
	const struct call_node *n = &g->t->nodes[i];
	const struct call_function *fn;
	const char *place;
	unsigned int indent = 2 * depth < MAX_INDENT ? 2 * depth : MAX_INDENT;

	if (n->thread) {
		out_printf(g->o, "# thread %d\n", (int)n->function);
		return;
	}
	fn = call_filter_function(g->v->filter, n->function);
	put_times(g->o, g->t, i);
	out_printf(g->o, "  %*s%s", (int)indent, "", mark);
	view_put_name(g->v, g->o, fn);
	place = view_place(g->v, fn->ip);
	if (place)
		out_printf(g->o, " [%s]", place);
	out_text(g->o, "\n");
}

static void print_tree(struct graph *g, const struct call_tree *t, const char *mark)
{
	unsigned int depth = 0;

	g->t = t;
	for (uint32_t i = call_tree_next(t, 0, &depth); i && !g->o->err;
	     i = call_tree_next(t, i, &depth)) {
		unsigned int level = depth - 1 - (t->by_thread && depth > 1);

		put_node(g, i, level, level ? mark : "");
	}
}

static void print_json(struct graph *g, const struct call_tree *t)
{
	unsigned int depth = 0, last = 0;

	g->t = t;
	out_text(g->o, "[");
	for (uint32_t i = call_tree_next(t, 0, &depth); i && !g->o->err;
	     i = call_tree_next(t, i, &depth)) {
		const struct call_node *n = &t->nodes[i];

		if (depth <= last)
			out_text(g->o, "]}");
		for (; last > depth; last--)
			out_text(g->o, "]}");
		if (depth == last)
			out_text(g->o, ",\n");
		last = depth;
		if (n->thread) {
			out_printf(g->o, "{\"tid\": %d, \"calls\": [", (int)n->function);
			continue;
		}
		out_text(g->o, "{\"name\": ");
		json_put(g->o, call_filter_function(g->v->filter, n->function)->name);
		out_text(g->o, ", \"module\": ");
		json_put(g->o, call_filter_function(g->v->filter, n->function)->module);
		out_printf(g->o,
			   ", \"address\": \"0x%" PRIx64 "\", \"count\": %" PRIu64
			   ", \"total\": %" PRIu64 ", \"self\": %" PRIu64
			   ", \"suspended\": %" PRIu64 ", \"min\": %" PRIu64 ", \"max\": %" PRIu64
			   ", \"calls\": [",
			   call_filter_function(g->v->filter, n->function)->ip, n->calls, n->total,
			   n->self, call_tree_suspended(t, i), n->min, n->max);
	}
	for (; last; last--)
		out_text(g->o, "]}");
	out_text(g->o, "]");
}

static bool *find_wanted(const struct graph *g)
{
	uint32_t nr = call_filter_nr(g->v->filter);
	bool *wanted = calloc(nr + 1u, sizeof(*wanted)), any = false;

	if (!wanted) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < nr; i++) {
		wanted[i] = call_name_matches(g->v->r, call_filter_function(g->v->filter, i)->ip,
					      g->opt->function);
		any |= wanted[i];
	}
	if (any)
		return wanted;
	free(wanted);
	fail(ENOENT, "'%s' has no call of %s", g->v->path, g->opt->function);
	return NULL;
}

static int print_function(struct graph *g, const struct call_tree *t)
{
	struct call_tree beneath = {0}, callers = {0};
	bool *wanted = find_wanted(g);
	int ret = wanted ? 0 : -ENOENT;

	if (!ret)
		ret = call_tree_init(&beneath, g->v->filter, false, false);
	if (!ret)
		ret = call_tree_init(&callers, g->v->filter, false, false);
	if (!ret)
		ret = call_tree_beneath(t, wanted, &beneath);
	if (!ret)
		ret = call_tree_callers(t, wanted, &callers);
	if (!ret)
		ret = call_tree_sort(&beneath);
	if (!ret)
		ret = call_tree_sort(&callers);
	if (!ret && g->opt->json) {
		out_text(g->o, "{\"callers\": ");
		print_json(g, &callers);
		out_text(g->o, ",\n\"tree\": ");
		print_json(g, &beneath);
		out_text(g->o, "}\n");
	} else if (!ret) {
		out_printf(g->o, "# who called %s\n", g->opt->function);
		put_head(g->o, &callers);
		print_tree(g, &callers, "<- ");
		out_printf(g->o, "\n# beneath %s\n", g->opt->function);
		put_head(g->o, &beneath);
		print_tree(g, &beneath, "");
	}
	call_tree_clear(&beneath);
	call_tree_clear(&callers);
	free(wanted);
	return ret;
}

static int print(struct graph *g, struct call_tree *t)
{
	int ret;

	if (g->opt->function)
		return print_function(g, t);
	ret = call_tree_sort(t);
	if (ret)
		return ret;
	if (g->opt->json) {
		out_text(g->o, "{\"tree\": ");
		print_json(g, t);
		out_text(g->o, "}\n");
	} else if (t->nr_calls) {
		put_head(g->o, t);
		print_tree(g, t, "");
	}
	return 0;
}

int graph_tree_print(struct view *v, const struct graph_options *opt)
{
	struct graph g = {.v = v, .opt = opt};
	struct call_tree t = {0};
	struct out o;
	int ret;

	ret = view_open_calls(v);
	if (!ret)
		ret = call_tree_init(&t, v->filter, opt->threads, false);
	if (!ret)
		ret = view_run_tree(v, &t);
	if (!ret && out_init(&o, STDOUT_FILENO))
		ret = fail(ENOMEM, "out of memory");
	if (!ret) {
		g.o = &o;
		if (t.nr_calls || !opt->function)
			ret = print(&g, &t);
		ret = out_end_stdout(&o, ret, "the graph");
	}
	if (!ret)
		view_notes(v, t.nr_calls);
	if (t.left_out)
		note("%" PRIu64 " calls were left out: the tree has more than %u branches",
		     t.left_out, CALL_TREE_MAX);
	call_tree_clear(&t);
	return ret;
}
