/* SPDX-License-Identifier: MIT */
/* vestige reset: the state a process starts in. Tests: tests/cli/test_control.py. */
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static const char help[] =
	"usage: vestige reset [-P PID]\n"
	"Switch the tracer of process PID (default: the only traced one that lives) to nop, clear\n"
	"all its filters, empty its buffer and switch recording on, as it was at the start.\n";

int cmd_reset(int argc, char **argv)
{
	static const struct {
		const char *file, *text;
	} writes[] = {
		{"current_tracer", "nop"},  {"set_ftrace_filter", ""}, {"set_ftrace_notrace", ""},
		{"set_graph_function", ""}, {"set_graph_notrace", ""}, {"max_graph_depth", "0"},
		{"tracing_thresh", "0"},    {"trace_clock", "local"},  {"trace", ""},
		{"tracing_on", "1"},
	};
	struct target t;
	int pid, status, err;

	status = control_simple("reset", help, argc, argv, &pid);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("reset", "it takes no words");
	err = target_open(&t, pid);
	if (err)
		return control_end(err);
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes) && !err; i++)
		err = target_write(&t, writes[i].file, writes[i].text, strlen(writes[i].text),
				   true);
	target_close(&t);
	return control_end(err);
}
