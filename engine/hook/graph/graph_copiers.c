/* SPDX-License-Identifier: MIT */
/*
 * Finds objects that copy pieces of a stack elsewhere and back (greenlet, callcc). A wrapped call's
 * shadow belongs to the address of its stack slot. Such an object lets calls of several stacks use
 * one address in turn, so they would return to each other's callers. So once such an object is
 * loaded, no call is wrapped, in any object. The function tracer is not affected.
 *
 * If dlopen() loads it while there is a graph, the functions are switched off before its code runs.
 * Calls that are open then are further out on their stacks than anything that the object will copy,
 * as it copies from its own caller inwards. They return as usual.
 *
 * A processor that also keeps return addresses on a shadow stack of its own ends a program at the
 * return of a wrapped call, so no call is wrapped there either. The kernel switches this on when a
 * program starts, so one look before the first wrapped call is enough.
 *
 * Constructor and notification contexts. fork: the child has the same objects. dlclose(): the graph
 * stays refused. Costs: a few look-ups by hash for each object. Tests:
 * tests/cli/test_unmodified.py.
 */
#include "engine/hook/graph/graph_copiers.h"

#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/process/elf_dynamic.h"
#include "engine/process/libc.h"
#include "engine/process/thread_list.h"
#include "object/entries.h"

static int refused;
static uint32_t nr_seen; /* objects that have been examined */
static char why[384];

int graph_is_refused(void)
{
	return refused;
}

void graph_report_refused(const char *what)
{
	area_status(what, why, 0);
}

static void look(const struct object *o)
{
	const struct entry_runtime *c;
	struct seq_buf s;

	for (c = entry_copiers; c->symbol && !refused; c++) {
		if (!dynamic_function(o, c->symbol, NULL).address)
			continue;
		seq_init(&s, why, sizeof(why) - 1);
		seq_puts(&s, o->path);
		seq_puts(&s, " (");
		seq_puts(&s, c->what);
		seq_puts(&s, ") copies stacks elsewhere and back");
		refused = 1;
	}
}

void graph_look_at_shadow_stacks(void)
{
	static int looked;
	char text[4096];
	const char *at = text;
	struct seq_buf s;

	if (looked || refused || thread_list_main("status", text, sizeof(text)) <= 0)
		return;
	looked = 1;
	while (*at && !(at[0] == '\n' && str_starts(at + 1, "x86_Thread_features:")))
		at++;
	at += *at == '\n';
	while (*at && *at != '\n' && !str_starts(at, "shstk"))
		at++;
	if (!str_starts(at, "shstk"))
		return;
	seq_init(&s, why, sizeof(why) - 1);
	seq_puts(&s, "the processor checks return addresses by a shadow stack (start the program "
		     "without: GLIBC_TUNABLES=glibc.cpu.x86_shstk=off)");
	refused = 1;
}

static void look_at_new(void)
{
	for (; nr_seen < object_count() && !libc_is_static && !refused; nr_seen++)
		if (object_at(nr_seen)->loaded)
			look(object_at(nr_seen));
}

static void follow(void)
{
	int before = refused;

	look_at_new();
	if (refused == before || !ftrace_any())
		return;
	if (ftrace_top_graph() || ops_any_graph())
		graph_report_refused("function_graph has ended");
	ftrace_update();
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	look_at_new();
}

LIFECYCLE(LIFECYCLE_HOOK, start, NULL, NULL);
OBJECT_FOLLOWER(OBJECT_FOLLOW_GRAPH, follow);
