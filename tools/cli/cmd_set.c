/* SPDX-License-Identifier: MIT */
/*
 * vestige set: writes a control file, as `echo TEXT > FILE` in a tracefs, or applies trace-cmd's
 * flags.
 * Tests: tests/cli/test_control.py, tests/cli/test_settings.py.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/settings.h"

struct set {
	bool append;
};

static const struct flag flags[] = {{'a', "append", NULL,
				     "FILE TEXT as `echo TEXT >> FILE`: add to a list, do not "
				     "replace it",
				     NULL, offsetof(struct set, append)},
				    FLAGS_END};

/* -B NAME FILE TEXT: the file's instance. Return: whether no other setting is there. */
static bool is_of_file(const struct settings *s, struct control_which *which)
{
	*which = s->which;
	if (s->nr == 1 && s->at[0].kind == SET_INSTANCE && !s->at[0].negated)
		which->instance = s->at[0].text;
	return !settings_any(s) || which->instance;
}

static int run(const struct command *c, int argc, char **argv)
{
	static struct settings s;
	struct control_which which;
	struct set opt = {0};
	const char *file;
	struct target *t;
	int status, err;

	s = (struct settings){0};
	status = options_parse(c, (void *[]){&s, &opt, &s, &s}, &argc, &argv);
	if (status >= 0)
		return status;
	if (!is_of_file(&s, &which) || !argc) {
		if (!settings_any(&s))
			return options_wrong(c, "name one control file and one text");
		if (opt.append)
			return options_wrong(c, "-a goes with a control file and a text");
		status = cmd_end(settings_apply(&s, NULL));
		return status || !argc ? status : settings_run(&s, argv);
	}
	if (argc != 2)
		return options_wrong(c, "name one control file and one text");
	file = argv[0];
	err = control_open_file(&t, &which, &file);
	if (err)
		return cmd_end(err);
	err = control_write(t, file, argv[1], !opt.append);
	target_put(t);
	return cmd_end(err);
}

const struct command command_set = {
	.name = "set",
	.words = "FILE TEXT | FLAGS [[--] PROG [ARGS]]",
	.what = "write a control file of a process",
	.help = "Write TEXT to control file FILE of a process, as `echo TEXT > FILE`. FILE may be\n"
		"instances/NAME/FILE, too. With flags: set what they name, as trace-cmd set does, "
		"and "
		"run\nPROG then. tracing_on stays as it is.\n",
	.more = "A list of functions takes patterns between blanks: 'parse_* [rw]ead ns::*'.\n",
	.flags = (const struct flag *const[]){settings_target_flags, flags, settings_flags,
					      settings_run_flags, NULL},
	/* a text may begin with a dash */
	.runs_program = true,
	.run = run,
};
