/* SPDX-License-Identifier: MIT */
/*
 * vestige start: choose tracer and functions of a live process and switch recording on, as
 * trace-cmd start does for the kernel. Filters come before the tracer, so that nothing else is
 * recorded in between. Tests: tests/cli/test_control.py.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

#define MAX_PATTERNS 256

struct start {
	const char *tracer;
	unsigned int nr;
	struct {
		char kind;
		const char *text;
	} patterns[MAX_PATTERNS];
};

/* The first pattern of a kind replaces the list. */
static int write_list(struct target *t, const struct start *s, char kind, const char *file)
{
	bool first = true;
	int err = 0;

	for (unsigned int i = 0; i < s->nr && !err; i++) {
		const char *text = s->patterns[i].text;

		if (s->patterns[i].kind != kind)
			continue;
		err = control_write(t, file, text, first);
		first = false;
	}
	return err;
}

static int start(const struct control_which *which, const struct start *s)
{
	struct target *t;
	int err = control_open_attached(&t, which);

	if (err)
		return err;
	err = write_list(t, s, 'l', "set_ftrace_filter");
	if (!err)
		err = write_list(t, s, 'n', "set_ftrace_notrace");
	if (!err && s->tracer)
		err = control_write(t, "current_tracer", s->tracer, true);
	for (unsigned int i = 0; i < s->nr && !err; i++) {
		const char *text = s->patterns[i].text;

		if (s->patterns[i].kind != 'e')
			continue;
		text = strcmp(text, "all") ? text : "*:*";
		err = control_write(t, "set_event", text, false);
	}
	for (unsigned int i = 0; i < s->nr && !err; i++)
		if (s->patterns[i].kind == 'O')
			err = control_write(t, "trace_options", s->patterns[i].text, true);
	if (!err)
		err = target_set(t, "tracing_on", "1");
	target_put(t);
	return err;
}

static int take_pattern(const struct parsing *p, void *to, const char *value)
{
	struct start *s = to;

	if (s->nr == MAX_PATTERNS)
		return options_bad(p, "too many of them, the last is", value);
	s->patterns[s->nr].kind = p->flag->letter;
	s->patterns[s->nr++].text = value;
	return 0;
}

static const struct flag flags[] = {
	{'p', NULL, "TRACER",
	 "function (default, unless -e or -k is given), function_graph (entries and exits) or "
	 "another of available_tracers",
	 NULL, offsetof(struct start, tracer)},
	{'l', NULL, "FUNC",
	 "trace only functions that match FUNC (may be repeated); without -l the filter stays as "
	 "it is",
	 take_pattern, 0},
	{'n', NULL, "FUNC",
	 "do not trace functions that match FUNC (may be repeated); without -n that filter stays, "
	 "too",
	 take_pattern, 0},
	{'e', NULL, "EVENT",
	 "record EVENT, too: SYSTEM:NAME, SYSTEM or NAME, with * and ?, or all (may be repeated)",
	 take_pattern, 0},
	{'O', NULL, "OPTION",
	 "set an option of trace_options (func-args), noOPTION clears it (may be repeated)",
	 take_pattern, 0},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	static struct start s;
	struct control_which which = {0};
	bool events = false;
	int status;

	s = (struct start){0};
	status = options_parse(c, (void *[]){&which, &s}, &argc, &argv);
	if (status >= 0)
		return status;
	for (unsigned int i = 0; i < s.nr; i++)
		events |= s.patterns[i].kind == 'e';
	if (!s.tracer && !events && !which.kernel)
		s.tracer = "function";
	return control_end(start(&which, &s));
}

const struct command command_start = {
	.name = "start",
	.words = "",
	.no_words = "it starts no program, use `vestige record` for that",
	.what = "start tracing in a running process",
	.help = "Choose tracer and functions of a process and switch recording on. An instance "
		"that -B\n"
		"names is made if it is not there.\n",
	.more = "`vestige show` prints what is recorded, `vestige stop` stops, `vestige extract` "
		"writes\n"
		"a trace.dat.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
