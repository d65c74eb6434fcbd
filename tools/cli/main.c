/* SPDX-License-Identifier: MIT */
/* vestige: one table of commands. Tests: tests/cli/test_main.py. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/note.h"
#include "tools/cli/cmd.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{"record", cmd_record, "run a program and record its functions into a trace.dat"},
	{"report", cmd_report, "print a recording as the kernel's trace text"},
	{"replay", cmd_replay, "print a recording's calls with their durations"},
	{"graph", cmd_graph, "print a recording's tree of calls, or one function's"},
	{"profile", cmd_profile, "tell where a recording's time went, by function"},
	{"list", cmd_list, "list the functions that can be traced"},
	{"doctor", cmd_doctor, "tell what of a program can be traced, what not, and why"},
	{"start", cmd_start, "start tracing in a running process"},
	{"stop", cmd_stop, "stop recording in a process"},
	{"show", cmd_show, "print what a process has recorded"},
	{"extract", cmd_extract, "write what a process has recorded into a trace.dat"},
	{"reset", cmd_reset, "switch tracer and filters of a process off"},
	{"get", cmd_get, "read a control file of a process"},
	{"set", cmd_set, "write a control file of a process"},
	{"ls", cmd_ls, "list the control files of a process"},
	{"run", cmd_run, "run a program as a session: it and all that it starts, together"},
	{"mount", cmd_mount, "mount the control files of all traced processes, as the kernel's"},
	{"umount", cmd_umount, "take that away again"},
	{"enter", cmd_enter, "run trace-cmd and its like on a process"},
	{"recover", cmd_recover, "write the spool of a killed recorder into a trace.dat"},
	{"clean", cmd_clean, "remove what processes that have ended left"},
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void usage(FILE *f)
{
	fputs("usage: vestige COMMAND [ARGS]\n"
	      "       vestige ./PROGRAM [ARGS]\n"
	      "ftrace for your own programs. Without a command: run PROGRAM and show who called "
	      "whom.\n"
	      "\n",
	      f);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n`vestige help COMMAND` tells a command's flags, `vestige --version` the "
	      "version.\n",
	      f);
}

/* Letters to insert, remove or change from @a to @b; names are short. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32];
	size_t n = strlen(b);

	if (n >= 31 || strlen(a) >= 31)
		return 99;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 1; j <= n; j++) {
			unsigned int change = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			if (row[j - 1] + 1 < change)
				change = row[j - 1] + 1;
			if (row[j] + 1 < change)
				change = row[j] + 1;
			row[j] = change;
		}
	}
	return row[n];
}

static const struct command *near(const char *name)
{
	const struct command *nearest = NULL;
	unsigned int best = 3;

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		unsigned int d = distance(name, commands[i].name);

		if (d < best) {
			best = d;
			nearest = &commands[i];
		}
	}
	return nearest;
}

static int unknown(const char *name)
{
	const struct command *nearest = near(name);

	if (nearest)
		note("there is no command %s: did you mean %s?", name, nearest->name);
	else
		note("there is no command %s: `vestige help` lists them", name);
	return CMD_USAGE;
}

static int run(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		usage(stderr);
		return CMD_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		puts("vestige " VESTIGE_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2)) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "help")) {
		char help[] = "--help";
		char *ask[] = {argv[2], help, NULL};

		c = find(argv[2]);
		return c ? c->run(2, ask) : unknown(argv[2]);
	}
	c = find(argv[1]);
	if (c)
		return c->run(argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		note("there is no flag %s: `vestige --help` tells the commands", argv[1]);
		return CMD_USAGE;
	}
	/* a command's name with a slip in it is not run, though there may be a program of that name */
	if (strchr(argv[1], '/') || (!near(argv[1]) && cmd_is_program(argv[1])))
		return cmd_program(argc - 1, argv + 1);
	return unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int status = run(argc, argv);

	/* What was printed into a full disk or a closed pipe was not printed. */
	if (fflush(stdout) && !status) {
		note("cannot write to stdout");
		return CMD_FAILURE;
	}
	return status;
}
