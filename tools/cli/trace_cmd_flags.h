/* SPDX-License-Identifier: MIT */
/*
 * Flags of trace-cmd's commands that ours of the same name do not have, and what to use instead.
 * make-trace-cmd-flags makes the table from docs/trace-cmd.md. Tests: tests/cli/test_trace_cmd.py.
 */
#ifndef VESTIGE_TOOLS_TRACE_CMD_FLAGS_H
#define VESTIGE_TOOLS_TRACE_CMD_FLAGS_H

struct trace_cmd_flag {
	const char *command; /* NULL: behind the last one */
	const char *typed;   /* -x or --name */
	const char *said;    /* the message: "means nothing here" */
	const char *text;    /* the reason, or the flag to use instead; "" none */
};

extern const struct trace_cmd_flag trace_cmd_flags[];

#endif
