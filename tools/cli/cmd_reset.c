/* SPDX-License-Identifier: MIT */
/* vestige reset: the state a process starts in. Tests: tests/cli/test_control.py. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
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

struct reset {
	struct control_buffers buffers;
	bool remove;
	const char *kb; /* NULL: the size stays */
	char *names[CONTROL_MAX_BUFFERS];
	unsigned int nr; /* instances to be removed */
};

/* @name: NULL, or the instance that it is. */
static int reset(struct target *t, const char *name, void *arg)
{
	const struct reset *opt = arg;
	bool kernel = opt->buffers.which.kernel;
	int err = 0;

	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes) && !err; i++) {
		if ((writes[i].whose == TOP && name) || (writes[i].whose == KERNEL && !kernel))
			continue;
		err = target_set(t, writes[i].file, writes[i].text);
		if (kernel)
			err = without(writes[i].file, err);
	}
	return err || !opt->kb ? err : target_set(t, "buffer_size_kb", opt->kb);
}

/* With -d: the instances by name, before any is removed. The target itself, of -t, is reset. */
static int reset_or_keep(struct target *t, const char *name, void *arg)
{
	struct reset *opt = arg;

	if (!name)
		return reset(t, name, arg);
	if (opt->nr == CONTROL_MAX_BUFFERS)
		return fail(E2BIG, "there are more than %u instances", CONTROL_MAX_BUFFERS);
	opt->names[opt->nr] = strdup(name);
	return opt->names[opt->nr++] ? 0 : fail(ENOMEM, "out of memory");
}

static int remove_instances(struct reset *opt)
{
	struct target *t = NULL;
	int err = control_open(&t, &opt->buffers.which, false);

	for (unsigned int i = 0; i < opt->nr; i++) {
		if (!err)
			err = t->ops->rmdir(t, opt->names[i]);
		free(opt->names[i]);
	}
	target_put(t);
	return err;
}

static int take_kb(const struct parsing *p, void *to, const char *value)
{
	unsigned long long n;
	int status = options_take_number(p, value, UINT32_MAX, "not a number of KB", &n);

	if (!status)
		((struct reset *)to)->kb = value;
	return status;
}

static const struct flag flags[] = {
	{'a', NULL, NULL, "all its instances, not the process itself", NULL,
	 offsetof(struct reset, buffers) + offsetof(struct control_buffers, all)},
	{'t', NULL, NULL, "with -B or -a: the process itself, too", NULL,
	 offsetof(struct reset, buffers) + offsetof(struct control_buffers, top)},
	{'b', NULL, "KB", "and set the size of the buffer, for each CPU", take_kb, 0},
	{'d', NULL, NULL, "remove the instances that -B or -a names", NULL,
	 offsetof(struct reset, remove)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	static struct reset opt;
	int status;

	opt = (struct reset){0};
	status = options_parse(c, (void *[]){&opt.buffers, &opt}, &argc, &argv);
	if (status >= 0)
		return status;
	if (opt.remove && !opt.buffers.nr && !opt.buffers.all)
		return options_wrong(c, "-d removes instances: name them with -B, or all with -a");
	if (opt.remove && opt.kb && !opt.buffers.top)
		return options_wrong(c, "-d removes the buffers: leave out -b");
	if (!opt.remove)
		return control_buffers_run(&opt.buffers, reset, &opt);
	status = control_buffers_run(&opt.buffers, reset_or_keep, &opt);
	return status ? status : cmd_end(remove_instances(&opt));
}

const struct command command_reset = {
	.name = "reset",
	.words = "",
	.what = "switch tracer and filters of a process off",
	.help = "Switch the tracer of a process to nop, clear all its filters, empty its buffer "
		"and\n"
		"switch recording on, as it was at the start.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, NULL},
	.run = run,
};
