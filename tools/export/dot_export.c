/* SPDX-License-Identifier: MIT */
/*
 * The graph of calls for Graphviz, as `vestige dot` prints it by default. Tests:
 * tests/cli/test_export.py.
 */
#include "tools/base/note.h"
#include "tools/export/call_export.h"
#include "tools/text/call_dot.h"

static const char *object_of(const void *arg, const struct call_function *fn)
{
	return call_export_object(arg, fn);
}

static void put_dot(struct call_export *x, const struct call_tree *t)
{
	static const struct dot_options opt = {.nodes = DOT_NODES};
	struct dot_graph g = {0};
	unsigned int shown, all;

	x->err = dot_graph_add(&g, t, object_of, x->v, false);
	if (!x->err)
		x->err = dot_graph_put(&x->o, &g, &opt, &shown, &all);
	if (!x->err && shown < all)
		note("the %u functions with the most time of %u are shown: -F, -N and -D choose "
		     "others",
		     shown, all);
	dot_graph_free(&g);
}

int dot_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_dot);
}
