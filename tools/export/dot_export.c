/* SPDX-License-Identifier: MIT */
/*
 * The graph of calls for Graphviz: a node for each function, an arrow for each pair of caller and
 * function with its calls and time, with more red for more time of its own. If there are many
 * functions, the NODES with the most time. Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/call_edges.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/export/call_export.h"
#include "tools/text/duration.h"

#define NODES 60u /* a person reads no more in one picture */

static void put_text(struct out *o, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			out_text(o, "\\");
		out_write(o, (unsigned char)*text < ' ' ? "?" : text, 1);
	}
}

static void put_time(struct out *o, uint64_t ns)
{
	char time[DURATION_WIDTH + 1] = {0};

	duration_put(time, ns);
	out_text(o, time + strspn(time, " "));
}

static int by_number(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a > *b ? -1 : *a < *b;
}

/* The least total time of a node that is shown. Return: 0 or -ENOMEM with fail() set. */
static int threshold(const struct call_edges *e, uint64_t *least, uint32_t *nr)
{
	uint64_t *totals = malloc((e->nr_functions + 1u) * sizeof(*totals));

	if (!totals)
		return fail(ENOMEM, "out of memory");
	*nr = 0;
	for (uint32_t i = 0; i < e->nr_functions; i++)
		if (e->calls[i])
			totals[(*nr)++] = e->total[i];
	qsort(totals, *nr, sizeof(*totals), by_number);
	*least = *nr > NODES ? totals[NODES - 1] : 0;
	free(totals);
	return 0;
}

static void put_node(struct call_export *x, const struct call_tree *t, const struct call_edges *e,
		     uint32_t i, uint64_t all)
{
	char buf[CALL_NAME_BYTES];
	double share = all ? (double)e->self[i] / (double)all : 0;

	out_printf(&x->o, "\tf%u [label=\"", i);
	put_text(&x->o, call_export_name(call_filter_function(t->filter, i), buf));
	out_text(&x->o, "\\nself ");
	put_time(&x->o, e->self[i]);
	out_printf(&x->o, " (%.1f %%)\\ntotal ", share * 100);
	put_time(&x->o, e->total[i]);
	out_printf(&x->o, "\\n%" PRIu64 " calls\", fillcolor=\"0.02 %.3f 1.0\"];\n", e->calls[i],
		   share < 1 ? share : 1.0);
}

static void put_dot(struct call_export *x, const struct call_tree *t)
{
	struct call_edges e = {0};
	uint64_t all = 0, least = 0;
	uint32_t nr = 0, shown = 0;

	x->err = call_edges_make(t, &e);
	if (!x->err)
		x->err = threshold(&e, &least, &nr);
	for (uint32_t i = 0; i < e.nr_functions && !x->err; i++)
		all += e.self[i];
	out_text(&x->o, "digraph calls {\n\tnode [shape=box, style=filled, fontname=sans, "
			"fontsize=10];\n\tedge [fontname=sans, fontsize=9];\n");
	for (uint32_t i = 0; i < e.nr_functions && !x->err; i++) {
		if (!e.calls[i] || e.total[i] < least)
			continue;
		put_node(x, t, &e, i, all);
		shown++;
	}
	for (size_t k = 0; k < e.nr && !x->err; k++) {
		const struct call_edge *edge = &e.at[k];

		if (e.total[edge->caller] < least || e.total[edge->callee] < least)
			continue;
		out_printf(&x->o, "\tf%u -> f%u [label=\"%" PRIu64 "\\n", edge->caller,
			   edge->callee, edge->calls);
		put_time(&x->o, edge->total);
		out_printf(&x->o, "\", penwidth=%.2f];\n",
			   1 + (all ? 4 * (double)edge->total / (double)all : 0));
	}
	out_text(&x->o, "}\n");
	if (!x->err && shown < nr)
		note("the %u functions with the most time of %u are shown: -F, -N and -D choose "
		     "others",
		     shown, nr);
	call_edges_free(&e);
}

int dot_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_dot);
}
