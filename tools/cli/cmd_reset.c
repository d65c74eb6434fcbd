/* SPDX-License-Identifier: MIT */
/* vestige reset: the state a process starts in. Tests: tests/cli/test_control.py. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static const char help[] =
	"usage: vestige reset [-P PID] [-B NAME [-d]]\n"
	"Switch the tracer of process PID (default: the only traced one that lives) to nop, clear\n"
	"all its filters, empty its buffer and switch recording on, as it was at the start.\n"
	"\n"
	"  -B NAME  in its instance NAME\n"
	"  -d       remove that instance\n";

/* @global: what instances do not have. */
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
	{"trace_clock", "local", false},
	{"trace", "", false},
	{"tracing_on", "1", false},
};

static int reset(const struct control_which *which)
{
	struct target t;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes) && !err; i++)
		if (!writes[i].global || !which->instance)
			err = target_write(&t, writes[i].file, writes[i].text,
					   strlen(writes[i].text), true);
	target_close(&t);
	return err;
}

static int remove_instance(const struct control_which *which)
{
	struct target t;
	int err = target_open(&t, which->pid);

	if (err)
		return err;
	err = target_rmdir(&t, which->instance);
	target_close(&t);
	return err;
}

int cmd_reset(int argc, char **argv)
{
	struct control_which which;
	bool remove = false;
	const struct control_flag flags[] = {{'d', NULL, &remove, NULL}, {0}};
	int status;

	status = control_flags("reset", help, flags, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("reset", "it takes no words");
	if (remove && !which.instance)
		return control_words("reset", "-d removes an instance: name it with -B");
	return control_end(remove ? remove_instance(&which) : reset(&which));
}
