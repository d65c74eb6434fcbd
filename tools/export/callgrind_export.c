/* SPDX-License-Identifier: MIT */
/*
 * callgrind's profile format (valgrind's manual, "Callgrind Format Specification"), for
 * callgrind_annotate and KCachegrind. The event is nanoseconds. The position is a line, always 0:
 * not known. Calls of all threads are added up. Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/analysis/call_edges.h"
#include "tools/base/fail.h"
#include "tools/export/call_export.h"

/* A function's name is written once, with its number; later only the number is written. */
struct names {
	struct call_export *x;
	const struct call_tree *t;
	bool *written;
};

/* Write @name and a newline. A control character in the name, such as a newline, becomes `?`. */
static void put_line(struct out *o, const char *name)
{
	for (; *name; name++)
		out_write(o, (unsigned char)*name < ' ' ? "?" : name, 1);
	out_text(o, "\n");
}

static void put_function(struct names *n, const char *prefix, uint32_t function)
{
	const struct call_function *fn = call_filter_function(n->t->filter, function);
	char buf[CALL_NAME_BYTES];

	out_printf(&n->x->o, "%sob=", prefix);
	put_line(&n->x->o, call_export_object(n->x->v, fn));
	out_printf(&n->x->o, *prefix ? "cfi=(1)\n%sfn=(%u)" : "fl=(1)\n%sfn=(%u)", prefix,
		   function + 1);
	if (!n->written[function])
		out_text(&n->x->o, " ");
	put_line(&n->x->o, n->written[function] ? "" : call_export_name(fn, buf));
	n->written[function] = true;
}

static void put_callgrind(struct call_export *x, const struct call_tree *t)
{
	struct names n = {.x = x, .t = t, .written = calloc(call_filter_nr(t->filter) + 1u, 1)};
	struct call_edges e = {0};
	uint64_t sum = 0;
	size_t k = 0;

	x->err = n.written ? call_edges_make(t, &e) : fail(ENOMEM, "out of memory");
	for (uint32_t i = 0; i < e.nr_functions && !x->err; i++)
		sum += e.self[i];
	out_text(&x->o, "# callgrind format\nversion: 1\ncreator: vestige\ncmd: ");
	put_line(&x->o, x->v->r->cmdline);
	out_printf(&x->o, "positions: line\nevents: ns\nsummary: %" PRIu64 "\n\nfl=(1) ???\n", sum);
	for (uint32_t i = 0; i < e.nr_functions && !x->o.err && !x->err; i++) {
		if (!e.calls[i])
			continue;
		out_text(&x->o, "\n");
		put_function(&n, "", i);
		out_printf(&x->o, "0 %" PRIu64 "\n", e.self[i]);
		for (; k < e.nr && e.at[k].caller == i; k++) {
			put_function(&n, "c", e.at[k].callee);
			out_printf(&x->o, "calls=%" PRIu64 " 0\n0 %" PRIu64 "\n", e.at[k].calls,
				   e.at[k].total);
		}
	}
	call_edges_free(&e);
	free(n.written);
}

int callgrind_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_callgrind);
}
