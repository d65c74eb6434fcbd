/* SPDX-License-Identifier: MIT */
/*
 * speedscope's file format (https://www.speedscope.app/file-format-schema.json): a profile of type
 * `sampled` for each thread. Each path of callers to a function is a sample; its weight is the self
 * time in nanoseconds. Callees with the longest total time come first, so there is no order in
 * time.
 * Tests: tests/cli/test_export.py.
 */
#include <inttypes.h>

#include "tools/export/call_export.h"
#include "tools/export/call_path.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

static void put_frames(struct call_export *x, const struct call_tree *t)
{
	char buf[CALL_NAME_BYTES];

	for (uint32_t i = 0; i < call_filter_nr(t->filter) && !x->o.err; i++) {
		const struct call_function *fn = call_filter_function(t->filter, i);

		out_text(&x->o, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_put(&x->o, call_export_name(fn, buf));
		out_text(&x->o, ",\"file\":");
		json_put(&x->o, call_export_object(x->v, fn));
		out_text(&x->o, "}");
	}
}

/*
 * Write the nodes beneath @thread that have self time. @stacks: write their stacks; else their self
 * times. Return: the sum of the self times, in ns.
 */
static uint64_t put_nodes(struct call_export *x, const struct call_tree *t, uint32_t thread,
			  bool stacks)
{
	struct call_path path = {0};
	unsigned int depth = 1;
	const char *comma = "";
	uint64_t sum = 0;

	for (uint32_t i = call_tree_next(t, thread, &depth);
	     i && !t->nodes[i].thread && !x->o.err && !x->err; i = call_tree_next(t, i, &depth)) {
		if (!t->nodes[i].self)
			continue;
		out_text(&x->o, comma);
		comma = ",\n";
		sum += t->nodes[i].self;
		if (!stacks) {
			out_printf(&x->o, "%" PRIu64, t->nodes[i].self);
			continue;
		}
		x->err = call_path_of(&path, t, i);
		for (size_t k = path.nr; k-- > 0;)
			out_printf(&x->o, k + 1 == path.nr ? "[%u" : ",%u", path.functions[k]);
		out_text(&x->o, "]");
	}
	call_path_free(&path);
	return sum;
}

static void put_thread(struct call_export *x, const struct call_tree *t, uint32_t thread)
{
	int32_t tid = (int32_t)t->nodes[thread].function;
	uint64_t sum;

	out_text(&x->o, "{\"type\":\"sampled\",\"unit\":\"nanoseconds\",\"name\":");
	json_put(&x->o, tasks_comm(x->v->r->tasks, tid));
	out_printf(&x->o, ",\"vestige:tid\":%d,\"samples\":[", (int)tid);
	put_nodes(x, t, thread, true);
	out_text(&x->o, "],\n\"weights\":[");
	sum = put_nodes(x, t, thread, false);
	out_printf(&x->o, "],\n\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
}

static void put_speedscope(struct call_export *x, const struct call_tree *t)
{
	const char *comma = "\n";

	out_text(&x->o, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
			"\"exporter\":\"vestige\",\"name\":");
	json_put(&x->o, x->v->r->cmdline);
	out_text(&x->o, ",\n\"shared\":{\"frames\":[");
	put_frames(x, t);
	out_text(&x->o, "]},\n\"profiles\":[");
	for (uint32_t i = t->nodes[0].first_child; i; i = t->nodes[i].next) {
		out_text(&x->o, comma);
		comma = ",\n";
		put_thread(x, t, i);
	}
	out_text(&x->o, "]}\n");
}

int speedscope_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_speedscope);
}
