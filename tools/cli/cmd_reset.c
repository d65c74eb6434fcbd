/* SPDX-License-Identifier: MIT */
/* vestige reset: the state a process starts in. Tests: tests/cli/test_control.py. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

/* @global: files that instances do not have. */
static const struct {
	const char *file, *text;
	bool global;
} writes[] = {
	{"current_tracer", "nop", false},
	{"set_ftrace_filter", "", false},
	{"set_ftrace_notrace", "", false},
	{"set_ftrace_pid", "", false},
	{"set_ftrace_notrace_pid", "", false},
	{"set_graph_function", "", true},
	{"set_graph_notrace", "", true},
	{"max_graph_depth", "0", true},
	{"tracing_thresh", "0", true},
	{"ksym_trace_filter", "0", true},
	{"kmemtrace_stacks", "0", true},
	{"prove_locking", "0", true},
	{"guard_budget", "5", true},
	{"trace_clock", "local", false},
	{"trace", "", false},
	{"tracing_on", "1", false},
};

static int reset(const struct control_which *which)
{
	struct target *t;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes) && !err; i++)
		if (!writes[i].global || !which->instance)
			err = target_set(t, writes[i].file, writes[i].text);
	target_put(t);
	return err;
}

static int remove_instance(const struct control_which *which)
{
	struct target *t;
	int err = control_open(&t, &(struct control_which){.pid = which->pid}, false);

	if (err)
		return err;
	err = t->ops->rmdir(t, which->instance);
	target_put(t);
	return err;
}

struct reset {
	bool remove;
};

static const struct flag flags[] = {{'d', NULL, NULL, "remove the instance that -B names", NULL,
				     offsetof(struct reset, remove)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct reset opt = {0};
	int status = options_parse(c, (void *[]){&which, &opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc)
		return options_wrong(c, "it takes no arguments: %s", argv[0]);
	if (opt.remove && !which.instance)
		return options_wrong(c, "-d removes an instance: name it with -B");
	return control_end(opt.remove ? remove_instance(&which) : reset(&which));
}

const struct command command_reset = {
	.name = "reset",
	.words = "",
	.what = "switch tracer and filters of a process off",
	.help = "Switch the tracer of a process to nop, clear all its filters, empty its buffer "
		"and\n"
		"switch recording on, as it was at the start.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
