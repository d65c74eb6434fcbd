/* SPDX-License-Identifier: MIT */
/*
 * vestige stack: prints the deepest stack that the stack tracer has found. Tests:
 * tests/cli/test_kernel.py.
 */
#include <errno.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/pager.h"
#include "tools/cli/text_json.h"

struct stack {
	bool start, stop, reset, json;
};

static const struct flag flags[] = {
	{0, "start", NULL, "measure the stack at each call of a function that can be traced", NULL,
	 offsetof(struct stack, start)},
	{0, "stop", NULL, "stop measuring; the deepest stack that was found stays", NULL,
	 offsetof(struct stack, stop)},
	{0, "reset", NULL,
	 "forget the deepest stack; the next one that is measured takes its place", NULL,
	 offsetof(struct stack, reset)},
	{0, "json", NULL, "print it as JSON", NULL, offsetof(struct stack, json)},
	FLAGS_END};

static int print(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int act(struct target *t, const struct stack *s)
{
	if (s->start)
		return target_set(t, "stack_tracer_enabled", "1");
	if (s->stop)
		return target_set(t, "stack_tracer_enabled", "0");
	if (s->reset)
		return target_set(t, "stack_max_size", "0");
	return s->json ? text_json_print(t, "stack_trace", text_json_stack)
		       : control_print(t, print, "stack_trace");
}

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct stack s = {0};
	struct target *t;
	int status = options_parse(c, (void *[]){&which, &s}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (s.start + s.stop + s.reset > 1)
		return options_wrong(c, "--start, --stop and --reset: one at a time");
	if (s.json && (s.start || s.stop || s.reset))
		return options_wrong(c, "--json prints the stack: leave out --%s",
				     s.start  ? "start"
				     : s.stop ? "stop"
					      : "reset");
	err = control_open(&t, &which, false);
	if (err)
		return cmd_end(err);
	if (which.kernel && (s.start || s.stop))
		err = fail(ENOTSUP,
			   "the kernel's is switched by `sysctl "
			   "kernel.stack_tracer_enabled=%d`",
			   s.start);
	else
		err = act(t, &s);
	target_put(t);
	return cmd_end(err);
}

const struct command command_stack = {
	.name = "stack",
	.words = "",
	.what = "print the deepest stack that a process had",
	.help = "Without --start, --stop and --reset: print the deepest stack that was found since "
		"--start,\nas the control file stack_trace.\n",
	.flags = (const struct flag *const[]){control_flags, flags, pager_flags, NULL},
	.run = run,
};
