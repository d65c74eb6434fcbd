/* SPDX-License-Identifier: MIT */
/*
 * dynamic_events, kprobe_events, uprobe_events, synthetic_events and the two profiles. Each line of
 * a write is a command; `#` begins a comment. If the file was opened with O_TRUNC, all events of
 * the file's kind are removed first. Under the tree lock.
 * Tests: tests/engine/events/kprobe.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/error_log.h"
#include "engine/control/tree.h"
#include "engine/process/heap.h"
#include "engine/events/probe/dynevent.h"
#include "engine/events/probe/probe_event.h"
#include "engine/events/trigger/synth.h"

static int run_line(struct dyn_command *c, const char *text, size_t n, uint32_t kinds)
{
	struct dyn_error error;
	int err = n > DYN_MAX_COMMAND ? -EINVAL : dyn_command_split(c, text, n);

	if (err)
		return err;
	err = dyn_event_command(c, kinds, &error);
	if (err && error.location)
		error_log_add(error.location, error.error.text,
			      error.command ? error.command : c->text,
			      error.command ? error.bytes : c->text_bytes, error.error.position);
	return err;
}

static int run_synthetic(const char *text, size_t n)
{
	struct dyn_error error;
	int err = n > DYN_MAX_COMMAND ? -EINVAL : synth_command(text, n, &error);

	if (err && n <= DYN_MAX_COMMAND && error.location)
		error_log_add(error.location, error.error.text, error.command, error.bytes,
			      error.error.position);
	return err;
}

static int store(const char *text, size_t n, int truncate, uint32_t kinds)
{
	struct dyn_command *c;
	size_t i, end, comment;
	int err = truncate ? dyn_events_clear(kinds) : 0;

	if (err || !n)
		return err;
	c = heap_alloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	for (i = 0; i < n && !err; i = end + 1) {
		for (end = i; end < n && text[end] != '\n'; end++)
			;
		for (comment = i; comment < end && text[comment] != '#'; comment++)
			;
		err = kinds == DYN_SYNTH ? run_synthetic(text + i, comment - i)
					 : run_line(c, text + i, comment - i, kinds);
	}
	heap_free(c);
	return err;
}

static int dynamic_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_ANY, s);
	return 0;
}

static int dynamic_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_ANY);
}

static int kprobe_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_PROBE_KPROBE, s);
	return 0;
}

static int kprobe_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_PROBE_KPROBE);
}

static int uprobe_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	dyn_events_show(DYN_PROBE_UPROBE, s);
	return 0;
}

static int uprobe_events_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_PROBE_UPROBE);
}

static int synthetic_events_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	synth_show_all(s);
	return 0;
}

static int synthetic_events_store(const struct tree_at *at, const char *text, size_t n,
				  int truncate)
{
	(void)at;
	return store(text, n, truncate, DYN_SYNTH);
}

static int kprobe_profile_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	probe_events_profile(DYN_PROBE_KPROBE, s);
	return 0;
}

static int uprobe_profile_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	probe_events_profile(DYN_PROBE_UPROBE, s);
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"dynamic_events", 0640, .scope = TREE_GLOBAL,
	 .show = dynamic_events_show, .store = dynamic_events_store,
	 .help = "events that are defined by a write here, of all kinds: as in kprobe_events,\n"
		"\t  uprobe_events, f[:[<group>/][<event>]] <func-name>[%return] [<args>],\n"
		"\t  e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>],\n"
		"\t  t[:[<group>/][<event>]] <tracepoint> [<args>],\n"
		"\t  and s:[synthetic/]<name> <field>[; <field>...], as in synthetic_events"},
	{"kprobe_events", 0640, .scope = TREE_GLOBAL,
	 .show = kprobe_events_show, .store = kprobe_events_store,
	 .help = "Create/append/remove/show probes of the program's functions, a definition a line\n"
		"\t  p[:[<group>/][<event>]] <place> [<args>]\n"
		"\t  r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
		"\t  -:[<group>/][<event>]\n"
		"\t  place: [<module>:]<symbol>[+<offset>]|<memaddr>\n"
		"\t  place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>\n"
		"\t  place (uprobe): <path>:<offset>[%return]\n"
		"\t  args: [<name>=]fetcharg[:type]\n"
		"\t  fetcharg: (%<register>|$arg<N>), $stack<index>, $stack, $retval,\n"
		"\t    $comm, @<address>, @<symbol>[+|-<offset>], +|-[u]<offset>(<fetcharg>),\n"
		"\t    \\imm-value, \\\"imm-string\", $arg*,\n"
		"\t    <argname>[->field[->field|.field...]], where the program has DWARF\n"
		"\t  kernel return probes support: $retval, $arg<N> as the call had it, $comm\n"
		"\t  type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, symbol, string,\n"
		"\t    ustring, b<bit-width>@<bit-offset>/<container-size>, <type>\\[<array-size>\\]"},
	{"kprobe_profile", 0440, .scope = TREE_GLOBAL, .show = kprobe_profile_show,
	 .help = "how often each was hit, and missed"},
	{"uprobe_events", 0640, .scope = TREE_GLOBAL,
	 .show = uprobe_events_show, .store = uprobe_events_store,
	 .help = "the same, by `/FILE:OFFSET`"},
	{"uprobe_profile", 0440, .scope = TREE_GLOBAL, .show = uprobe_profile_show,
	 .help = "how often each was hit"},
	{"synthetic_events", 0640, .scope = TREE_GLOBAL,
	 .show = synthetic_events_show, .store = synthetic_events_store,
	 .help = "Create/append/remove/show synthetic events, that an action of a histogram makes\n"
		"\t  <name> <type> <field>[; <type> <field>...]\n"
		"\t  example: echo 'waited u64 ns; char name[]; long[] stack' >> synthetic_events\n"
		"\t  type: s8/16/32/64, u8/16/32/64, [unsigned] char, int, long, bool, pid_t, gfp_t,\n"
		"\t    char name[<size>], char name[], [unsigned] long[] (a stack)"},
};
/* clang-format on */
TREE_FILES(rows);
