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

static const char help[] =
	"usage: vestige start [-P PID] [-B NAME] [-p TRACER] [-l FUNC]... [-n FUNC]...\n"
	"                     [-O OPTION]...\n"
	"Start tracing in process PID (default: the only traced one that lives).\n"
	"\n"
	"  -B NAME    in its instance NAME, which is made if it is not there\n"
	"  -p TRACER  function (default) or nop\n"
	"  -l FUNC    trace only functions that match FUNC; without -l the filter stays as it is\n"
	"  -n FUNC    trace no function that matches FUNC; without -n, too\n"
	"  -O OPTION  set an option of trace_options (func-args), noOPTION clears it\n"
	"\n"
	"`vestige show` prints what is recorded, `vestige stop` stops, `vestige extract` writes\n"
	"a trace.dat.\n";

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
		err = target_write(t, file, text, strlen(text), first);
		first = false;
	}
	return err;
}

static int start(const struct control_which *which, const struct start *s)
{
	struct target t;
	int err = control_open(&t, which, true);

	if (err)
		return err;
	err = write_list(&t, s, 'l', "set_ftrace_filter");
	if (!err)
		err = write_list(&t, s, 'n', "set_ftrace_notrace");
	if (!err)
		err = target_write(&t, "current_tracer", s->tracer, strlen(s->tracer), true);
	for (unsigned int i = 0; i < s->nr && !err; i++)
		if (s->patterns[i].kind == 'O')
			err = target_write(&t, "trace_options", s->patterns[i].text,
					   strlen(s->patterns[i].text), true);
	if (!err)
		err = target_write(&t, "tracing_on", "1", 1, true);
	target_close(&t);
	return err;
}

int cmd_start(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	static struct start s;
	struct control_which which = {0};
	int c;

	s = (struct start){.tracer = "function"};
	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:P:B:p:l:n:O:h", longs, NULL)) != -1) {
		switch (c) {
		case 'P':
			which.pid = control_parse_pid("start", optarg);
			if (which.pid < 0)
				return CMD_USAGE;
			break;
		case 'B':
			which.instance = optarg;
			break;
		case 'p':
			s.tracer = optarg;
			break;
		case 'l':
		case 'n':
		case 'O':
			if (s.nr == MAX_PATTERNS)
				return control_words("start", "too many patterns");
			s.patterns[s.nr].kind = (char)c;
			s.patterns[s.nr++].text = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("start", c, argv);
		}
	}
	if (argc != optind)
		return control_words("start", "it starts no program, `vestige record` does");
	return control_end(start(&which, &s));
}
