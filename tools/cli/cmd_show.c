/* SPDX-License-Identifier: MIT */
/* vestige show: the trace of a process from its area. Tests: tests/cli/test_control.py. */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/event_names.h"
#include "tools/cli/follow_pipe.h"

struct show {
	bool pipe, snapshot, name;
	int cpu;	   /* -1: all */
	const char *file;  /* the file of a flag */
	const char *event; /* the event that has the file; NULL: it is the target's */
};

static int print(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int take_cpu(const struct parsing *p, void *to, const char *value)
{
	return options_take_cpu(p, value, &((struct show *)to)->cpu);
}

static const struct {
	const char *flag, *file;
} files[] = {
	{"tracing_on", "tracing_on"},
	{"current_tracer", "current_tracer"},
	{"buffer_size", "buffer_size_kb"},
	{"buffer_total_size", "buffer_total_size_kb"},
	{"buffer_subbuf_size", "buffer_subbuf_size_kb"},
	{"buffer_percent", "buffer_percent"},
	/* of an event */
	{"hist", "hist"},
	{"trigger", "trigger"},
	{"ftrace_filter", "set_ftrace_filter"},
	{"ftrace_notrace", "set_ftrace_notrace"},
	{"ftrace_pid", "set_ftrace_pid"},
	{"graph_function", "set_graph_function"},
	{"graph_notrace", "set_graph_notrace"},
	{"cpumask", "tracing_cpumask"},
};

static int take_file(const struct parsing *p, void *to, const char *value)
{
	struct show *s = to;

	s->event = value;
	if (s->file)
		return options_wrong(p->command, "one file at a time; one more is %s", p->typed);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(files[i].flag, p->flag->name))
			s->file = files[i].file;
	return 0;
}

static const struct flag flags[] = {
	{'p', NULL, NULL, "trace_pipe: wait for more until Ctrl-C; what is printed is consumed",
	 NULL, offsetof(struct show, pipe)},
	{'s', NULL, NULL, "the snapshot, see `vestige snapshot`", NULL,
	 offsetof(struct show, snapshot)},
	{'c', NULL, "CPU", "of that CPU alone", take_cpu, 0},
	{'f', NULL, NULL, "print first which file it is", NULL, offsetof(struct show, name)},
	{0, "tracing_on", NULL, "whether it records, in place of the trace", take_file, 0},
	{0, "current_tracer", NULL, "its tracer", take_file, 0},
	{0, "buffer_size", NULL, "the size of each CPU's buffer in KB", take_file, 0},
	{0, "buffer_total_size", NULL, "the size of all of them", take_file, 0},
	{0, "buffer_subbuf_size", NULL, "the size of their pages", take_file, 0},
	{0, "buffer_percent", NULL, "how full a buffer is when a reader of its pages wakes",
	 take_file, 0},
	{0, "hist", "EVENT", "the histograms of EVENT: SYSTEM:NAME or NAME", take_file, 0},
	{0, "trigger", "EVENT", "its triggers", take_file, 0},
	{0, "ftrace_filter", NULL, "the functions that are traced", take_file, 0},
	{0, "ftrace_notrace", NULL, "the functions that are not", take_file, 0},
	{0, "ftrace_pid", NULL, "the threads whose functions are traced", take_file, 0},
	{0, "graph_function", NULL, "set_graph_function", take_file, 0},
	{0, "graph_notrace", NULL, "set_graph_notrace", take_file, 0},
	{0, "cpumask", NULL, "the CPUs that are traced", take_file, 0},
	FLAGS_END};

static void file_of(const struct show *s, char *path, size_t bytes)
{
	const char *file = s->file	 ? s->file
			   : s->pipe	 ? "trace_pipe"
			   : s->snapshot ? "snapshot"
					 : "trace";

	if (s->cpu < 0)
		snprintf(path, bytes, "%s", file);
	else
		snprintf(path, bytes, "per_cpu/cpu%d/%s", s->cpu, file);
}

static void put_path(const struct show *s, const char *path)
{
	if (!s->name)
		return;
	printf("%s\n", path);
	fflush(stdout);
}

/* The file of an event. */
struct of_event {
	struct target *t;
	const struct show *s;
};

static int show_event(void *arg, const char *system, const char *event)
{
	const struct of_event *e = arg;
	char path[512];

	snprintf(path, sizeof(path), "events/%s/%s/%s", system, event, e->s->file);
	put_path(e->s, path);
	return control_print(e->t, print, path);
}

static int show(struct target *t, const struct show *s)
{
	char path[128];

	if (s->event)
		return event_names_each(t, s->event, show_event, &(struct of_event){t, s});
	file_of(s, path, sizeof(path));
	put_path(s, path);
	return s->pipe && !s->file ? follow_pipe(t, (uint32_t)s->cpu, NULL)
				   : control_print(t, print, path);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct show s = {.cpu = -1};
	struct target *t;
	int status = options_parse(c, (void *[]){&which, &s}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (s.pipe + s.snapshot + (s.file != NULL) > 1)
		return options_wrong(c, "-p, -s and the flags of files are one or the other");
	if (s.file && s.cpu >= 0)
		return options_wrong(c, "-c goes with the trace, -p and -s alone");
	err = control_open(&t, &which, false);
	if (err)
		return cmd_end(err);
	err = show(t, &s);
	target_put(t);
	return cmd_end(err);
}

const struct command command_show = {
	.name = "show",
	.words = "",
	.what = "print what a process has recorded",
	.help = "Print what a process has recorded, as the kernel's trace file. Nothing is "
		"consumed,\nexcept with -p, and the process is not stopped; it may be dead.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
