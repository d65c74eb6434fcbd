/* SPDX-License-Identifier: MIT */
/* vestige reset: restores the initial state of a process. Tests: tests/cli/test_control.py. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/settings.h"

enum whose { ALL, TOP, KERNEL };

/* TOP: files that instances do not have. KERNEL: a process's events have other users. */
static const struct {
	const char *file, *text;
	enum whose whose;
} writes[] = {
	{"current_tracer", "nop", ALL},
	{"events/enable", "0", KERNEL},
	{"set_event_pid", "", KERNEL},
	{"set_event_notrace_pid", "", KERNEL},
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
	{"tracing_max_latency", "0", KERNEL},
	{"error_log", "", KERNEL},
	{"trace", "", ALL},
	{"tracing_on", "1", ALL},
};

/* The files that a kernel that is locked down refuses to write. */
struct refused {
	char names[256]; /* cut if there are too many */
	unsigned int nr;
};

static struct refused refused;

/*
 * Ignore errors of files that this kernel does not have, or refuses to write when it is locked
 * down.
 */
static int without(const char *file, int err)
{
	size_t n = strlen(refused.names);

	if (err == -EPERM && n + strlen(file) + 2 < sizeof(refused.names))
		sprintf(refused.names + n, "%s%s", n ? " " : "", file);
	refused.nr += err == -EPERM;
	return err == -EPERM || err == -ENOENT ? 0 : err;
}

/* One line for all of them. */
static void note_refused(void)
{
	if (refused.nr)
		note("the kernel refuses to write %u %s, so these settings stay as they are: %s "
		     "(%s)",
		     refused.nr, refused.nr > 1 ? "files" : "file", refused.names, strerror(EPERM));
}

struct reset {
	struct control_buffers buffers;
	bool remove;
	const char *kb; /* NULL: the size stays */
	char *names[CONTROL_MAX_BUFFERS];
	unsigned int nr; /* instances to be removed */
};

/* A system or an event of the kernel, to reset. */
struct place {
	struct target *t;
	const char *path; /* its folder */
	int err;
};

/*
 * Remove the triggers of an event, as its file shows them: behind ` [` comes a histogram's state.
 */
static int remove_triggers(struct target *t, const char *path)
{
	struct target_text text;
	int err = target_read(t, path, &text);
	char *next = text.at, *line, *state;

	if (err)
		return without(path, err);
	while (!err && (line = strsep(&next, "\n"))) {
		char *remove = NULL;

		if (!*line || *line == '#')
			continue;
		state = strstr(line, " [");
		if (asprintf(&remove, "!%.*s", (int)(state ? state - line : (long)strlen(line)),
			     line) < 0)
			err = fail(ENOMEM, "out of memory");
		else
			err = target_set(t, path, remove);
		free(remove);
	}
	free(text.at);
	return err;
}

static int reset_event(void *arg, const char *name, bool is_dir)
{
	struct place *system = arg;
	char path[512];

	if (!is_dir)
		return 0;
	snprintf(path, sizeof(path), "%s/%s/trigger", system->path, name);
	system->err = remove_triggers(system->t, path);
	return system->err;
}

static int reset_system(void *arg, const char *name, bool is_dir)
{
	struct place *events = arg, system = {.t = events->t};
	char path[256], filter[300];

	if (!is_dir)
		return 0;
	snprintf(path, sizeof(path), "events/%s", name);
	snprintf(filter, sizeof(filter), "%s/filter", path);
	system.path = path;
	/* a system's filter first, then its events */
	events->err = without(filter, target_set(events->t, filter, "0"));
	if (!events->err)
		events->err = events->t->ops->files(events->t, path, reset_event, &system);
	if (!events->err || events->err > 0)
		events->err = system.err;
	return events->err;
}

/* Filters and triggers of all events of the kernel, and the CPUs. */
static int reset_kernel(struct target *t)
{
	struct place events = {.t = t};
	char all[CPU_MASK_BYTES];
	int err = without("tracing_cpumask",
			  target_set(t, "tracing_cpumask", settings_all_cpus(all)));

	if (err)
		return err;
	err = t->ops->files(t, "events", reset_system, &events);
	return err < 0 ? err : events.err;
}

/* @name: NULL, or the instance that it is. */
static int reset(struct target *t, const char *name, void *arg)
{
	const struct reset *opt = arg;
	bool kernel = opt->buffers.which.kernel;
	/* removing a trigger may leave an event switched on */
	int err = kernel ? reset_kernel(t) : 0;

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
	int status = options_take_number(p, value, 1, UINT32_MAX, "not a number of KB", &n);

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
	refused = (struct refused){0};
	status = control_buffers_run(&opt.buffers, opt.remove ? reset_or_keep : reset, &opt);
	note_refused();
	if (!opt.remove)
		return status;
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
