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

static int write_one(void *arg, struct target *t, const char *path, const char *text, bool truncate)
{
	(void)arg;
	return control_write(t, path, text, truncate);
}

/*
 * A process whose tracer is on and has nothing to trace; an object that it loads may have functions.
 * Functions that an instance traces are not in enabled_functions of its area.
 */
static void warn_without_functions(struct target *t)
{
	struct target_text tracer;

	if (t->ops->grows || target_read(t, "current_tracer", &tracer))
		return;
	if (!strncmp(tracer.at, "function", 8) && control_is_empty(t, "enabled_functions") &&
	    control_is_empty(t, "available_filter_functions"))
		note("process %s has no function that can be traced now: `vestige get -P "
		     "%s vestige_status` says why, `vestige list -e -P %s` has its events",
		     t->name, t->name, t->name);
	free(tracer.at);
}

static int switch_on(void *arg, struct target *t)
{
	const struct settings *s = arg;
	int err = target_set(t, "tracing_on", "1");

	if (!err && !s->which.kernel)
		warn_without_functions(t);
	return err;
}

/* Without -e and -p: function, in a process. In front of its -B, if it has one. */
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
	.help = "Choose tracer, functions and events of a process and switch recording on. With -k "
		"of\nthe kernel, and PROG is run then, untraced by us.\n",
	.more = "`vestige show` prints what is recorded, `vestige stop` stops, `vestige extract` "
		"writes\n"
		"a trace.dat.\n",
	.flags = (const struct flag *const[]){settings_target_flags, settings_flags,
					      settings_run_flags, NULL},
	.runs_program = true,
	.run = run,
};
