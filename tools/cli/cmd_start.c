/* SPDX-License-Identifier: MIT */
/*
 * vestige start: choose tracer, functions and events of a live process or of the kernel and switch
 * recording on, as trace-cmd start does for the kernel. Tests: tests/cli/test_control.py,
 * tests/cli/test_settings.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/settings.h"
#include "tools/target/tracer_refusal.h"

static int write_one(void *arg, struct target *t, const char *path, const char *text, bool truncate)
{
	(void)arg;
	return control_write(t, path, text, truncate);
}

/*
 * Warn if calls of the program's own file cannot be wrapped. A line of vestige_status has the
 * object.
 */
static void warn_without_graph(struct target *t)
{
	struct target_text status;
	const char *why;
	int bytes;

	/* an instance has no such file */
	if (target_read(t, "vestige_status", &status))
		return;
	why = graph_refusal_of(status.at, &bytes);
	if (why && !memchr(why, '/', (size_t)bytes))
		note("function_graph can follow no function of the program of process %s: %.*s; -p "
		     "function records the calls",
		     t->name, bytes, why);
	free(status.at);
}

/*
 * Warn if the tracer is on but has no function to trace; an object that is loaded later may have
 * some. Only the process, not an instance, has enabled_functions with the functions of instances.
 */
static void warn_without_functions(struct target *t)
{
	char tracer[32], line[2];
	bool is_traced;
	int err;

	if (t->ops->grows || target_first_line(t, "current_tracer", tracer, sizeof(tracer)) ||
	    strncmp(tracer, "function", 8))
		return;
	err = target_first_line(t, "enabled_functions", line, sizeof(line));
	is_traced = !err && line[0];
	if (!is_traced && control_is_empty(t, "available_filter_functions"))
		note("process %s has no function that can be traced now: `vestige get -P "
		     "%s vestige_status` says why, `vestige list -e -P %s` has its events",
		     t->name, t->name, t->name);
	else if (!is_traced && !err)
		note("process %s has no function now that can be traced and is left by its "
		     "filters: "
		     "`vestige get -P %s available_filter_functions` shows those that it has, "
		     "`vestige get -P %s vestige_status` why others are left out",
		     t->name, t->name, t->name);
	if (!strcmp(tracer, "function_graph"))
		warn_without_graph(t);
}

static int switch_on(void *arg, struct target *t)
{
	const struct settings *s = arg;
	int err = target_set(t, "tracing_on", "1");

	if (!err && !s->which.kernel)
		warn_without_functions(t);
	return err;
}

/* Without -e and -p, set the tracer function in a process, in front of a -B if there is one. */
static void add_default(struct settings *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->at[i].kind == SET_EVENT || s->at[i].kind == SET_TRACER)
			return;
	if (s->which.kernel || s->nr == SETTINGS_MAX)
		return;
	if (s->nr && s->at[s->nr - 1].kind == SET_INSTANCE && s->at[s->nr - 1].negated)
		return;
	s->at[s->nr++] = (struct setting){SET_TRACER, "function", false};
}

static int run(const struct command *c, int argc, char **argv)
{
	static struct settings s;
	static const struct settings_writer writer = {write_one, switch_on, &s};
	int status;

	s = (struct settings){0};
	status = options_parse(c, (void *[]){&s, &s, &s}, &argc, &argv);
	if (status >= 0)
		return status;
	if (argc && !s.which.kernel)
		return options_wrong(c, "it starts no program, use `vestige record` for that: %s",
				     argv[0]);
	add_default(&s);
	status = cmd_end(settings_apply(&s, &writer));
	return status || !argc ? status : settings_run(&s, argv);
}

const struct command command_start = {
	.name = "start",
	.words = "[-k [--] PROG [ARGS]]",
	.what = "start tracing in a running process",
	.help = "Choose tracer, functions and events of a process and switch recording on. With "
		"-k,\nof the kernel; PROG then runs without the engine.\n",
	.more = "`vestige show` prints what is recorded, `vestige stop` stops, `vestige extract` "
		"writes\n"
		"a trace.dat.\n",
	.flags = (const struct flag *const[]){settings_target_flags, settings_flags,
					      settings_run_flags, NULL},
	.runs_program = true,
	.run = run,
};
