/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, for flamegraph.pl, inferno and speedscope. Each path of callers to a function has
 * a line: the thread's name, the functions, and the self time of the last one in nanoseconds. The
 * sum of all lines is the time of all outermost calls, less the time for which stacks were
 * suspended. Threads with the same name have separate lines, which readers add up. Tests:
 * tests/cli/test_export.py.
 */
#include <inttypes.h>

#include "tools/export/call_export.h"
#include "tools/export/call_path.h"
#include "tools/reader/tasks.h"

/* Replace characters that would end the frame, the stack or the line. */
static void put_frame(struct out *o, const char *name)
{
	for (; *name; name++)
		out_write(o,
			  *name == ';'				       ? ":"
			  : *name == ' '			       ? "_"
			  : (unsigned char)*name < ' ' || *name == 127 ? "?"
								       : name,
			  1);
}

static void put_folded(struct call_export *x, const struct call_tree *t)
{
	struct call_path path = {0};
	char buf[CALL_NAME_BYTES];
	unsigned int depth = 0;

	for (uint32_t i = call_tree_next(t, 0, &depth); i && !x->o.err && !x->err;
	     i = call_tree_next(t, i, &depth)) {
		if (t->nodes[i].thread || !t->nodes[i].self)
			continue;
		x->err = call_path_of(&path, t, i);
		put_frame(&x->o, tasks_comm(x->v->r->tasks, path.tid));
		for (size_t k = path.nr; k-- > 0;) {
			out_text(&x->o, ";");
			put_frame(&x->o,
				  call_export_name(
					  call_filter_function(t->filter, path.functions[k]), buf));
		}
		out_printf(&x->o, " %" PRIu64 "\n", t->nodes[i].self);
	}
	call_path_free(&path);
}

int folded_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_folded);
}
