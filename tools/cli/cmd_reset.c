/* SPDX-License-Identifier: MIT */
/* vestige reset: the state a process starts in. Tests: tests/cli/test_control.py. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

enum whose { ALL, TOP, KERNEL };

/* TOP: files that instances do not have. KERNEL: a process's events have other users. */
static const struct {
	const char *file, *text;
	enum whose whose;
} writes[] = {
	{"current_tracer", "nop", ALL},
	{"events/enable", "0", KERNEL},
	{"set_ftrace_filter", "", ALL},
	{"set_ftrace_notrace", "", ALL},
	{"set_ftrace_pid", "", ALL},
	{"set_ftrace_notrace_pid", "", ALL},
	{"set_graph_function", "", TOP},
	{"set_graph_notrace", "", TOP},
	{"max_graph_depth", "0", TOP},
	{"tracing_thresh", "0", TOP},
	{"ksym_trace_filter", "0", TOP},
	{"mmiotrace_filter", "0", TOP},
	{"kmemtrace_stacks", "0", TOP},
	{"prove_locking", "0", TOP},
	{"guard_budget", "5", TOP},
	{"trace_clock", "local", ALL},
	{"trace", "", ALL},
	{"tracing_on", "1", ALL},
};

/* A kernel has not all files, and one that is locked down refuses some: those stay. */
static int without(const char *file, int err)
{
	if (err == -EPERM)
		note("%s stays as it is: %s", file, strerror(EPERM));
	return err == -EPERM || err == -ENOENT ? 0 : err;
}

static int reset(const struct control_which *which)
{
	struct target *t;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes) && !err; i++) {
		if ((writes[i].whose == TOP && which->instance) ||
		    (writes[i].whose == KERNEL && !which->kernel))
			continue;
		err = target_set(t, writes[i].file, writes[i].text);
		if (which->kernel)
			err = without(writes[i].file, err);
	}
	target_put(t);
	return err;
}

static int remove_instance(const struct control_which *which)
{
	struct target *t;
	int err = control_open(
		&t, &(struct control_which){.pid = which->pid, .kernel = which->kernel}, false);

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
