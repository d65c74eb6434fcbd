/* SPDX-License-Identifier: MIT */
/* vestige: one table of commands. Tests: tests/cli/test_main.py. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/nearest.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/complete.h"
#include "tools/cli/pager.h"
#include "tools/text/out.h"
#include "tools/cli/trace_cmd_flags.h"

/* clang-format off */
/* Grouped by purpose: the help has them in this order, below the headings of groups[]. */
static const struct command *const commands[] = {
	&command_record, &command_run, &command_leaks, &command_kft, &command_listen, &command_recover,
	&command_restore,
	&command_replay, &command_graph, &command_profile, &command_report, &command_sched,
	&command_stacks, &command_hist, &command_mem, &command_bootgraph, &command_kd,
	&command_view, &command_tui, &command_sql, &command_script,
	&command_convert, &command_share, &command_split, &command_dot, &command_dump, &command_options,
	&command_check_events,
	&command_start, &command_stop, &command_restart, &command_clear, &command_reset,
	&command_show, &command_extract, &command_snapshot, &command_stack, &command_stat,
	&command_sqlhist,
	&command_top, &command_stream, &command_atrace, &command_hang, &command_crash,
	&command_ls, &command_get, &command_set, &command_mount, &command_umount, &command_enter,
	&command_attach, &command_detach, &command_clean,
	&command_blk,
	&command_doctor, &command_list, &command_flags,
	NULL,
};
/* clang-format on */

/* The headings of the help: @title is before @first. */
static const struct {
	const struct command *first;
	const char *title;
} groups[] = {
	{&command_record, "Record a program"},
	{&command_replay, "Print a recording"},
	{&command_view, "Look around in a recording"},
	{&command_convert, "Convert a recording, and see what a file holds"},
	{&command_start, "Trace a process that runs, or the kernel (-k)"},
	{&command_top, "Watch a process that runs, or find why it died"},
	{&command_ls, "The control files of a process"},
	{&command_attach, "The engine in a process"},
	{&command_blk, "Block I/O of the kernel"},
	{&command_doctor, "Set up"},
};

#define STDOUT_BYTES 65536u
#define NR_COMMANDS  (sizeof(commands) / sizeof(*commands) - 1)
#define NR_GROUPS    (sizeof(groups) / sizeof(*groups))

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void usage(FILE *f)
{
	fputs("usage: vestige [--color WHEN] [--no-pager] COMMAND [ARGS]\n       vestige ./PROGRAM "
	      "[ARGS]\nftrace for your own "
	      "programs. Without a command: run PROGRAM and show its calls.\n\n",
	      f);
	for (size_t i = 0, group = 0; i < NR_COMMANDS; i++) {
		if (group < NR_GROUPS && groups[group].first == commands[i])
			fprintf(f, "%s:\n", groups[group++].title);
		fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->what);
		if (group < NR_GROUPS && groups[group].first == commands[i + 1])
			fputc('\n', f);
	}
	fputs("\n`vestige help COMMAND` prints a command's flags.\n", f);
}

static const char *command_name(const void *arg, size_t i)
{
	static const char help[] = "help";

	(void)arg;
	return i < NR_COMMANDS ? commands[i]->name : i == NR_COMMANDS ? help : NULL;
}

static const char *flag_name(const void *arg, size_t i)
{
	static const char *const names[] = {"--help", "--version", "--color", "--no-pager", NULL};

	(void)arg;
	return names[i];
}

static const char *help_flag_name(const void *arg, size_t i)
{
	static const char *const names[] = {"--help", "--version", NULL};

	(void)arg;
	return names[i];
}

static int unknown(const char *what, const char *name,
		   const char *(*name_at)(const void *arg, size_t i))
{
	const char *nearest;
	char bare[64];

	/* a flag without its value */
	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, "="), name);
	nearest = nearest_name(bare, name_at, NULL);
	if (!*name)
		note("no %s is named: the word for it is empty (see vestige --help)", what);
	else if (nearest)
		note("there is no %s %s: did you mean %s? (see vestige --help)", what, name,
		     nearest);
	else
		note("there is no %s %s (see vestige --help)", what, name);
	return CMD_USAGE;
}

/*
 * Report an unknown command; for one of trace-cmd's that we do not have, with the text of its table
 * row.
 */
static int unknown_command(const char *name)
{
	const struct trace_cmd_flag *f = trace_cmd_flags;

	while (f->command && strcmp(f->command, name) != 0)
		f++;
	if (!f->command)
		return unknown("command", name, command_name);
	note("trace-cmd's %s %s: %s (see vestige --help)", name, f->said, f->text);
	return CMD_USAGE;
}

static int no_command(void)
{
	note("no command is named behind the flags (see vestige --help)");
	return CMD_USAGE;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

static bool is_version(const char *word)
{
	return !strcmp(word, "--version") || !strcmp(word, "-V");
}

static int run(int argc, char **argv)
{
	const struct command *c;
	int taken;

	if (argc < 2) {
		usage(stderr);
		return CMD_USAGE;
	}
	taken = pager_take_before(argc - 1, argv + 1);
	if (taken < 0)
		return CMD_USAGE;
	argc -= taken;
	argv += taken;
	if (argc < 2)
		return no_command();
	if (!strcmp(argv[1], "--complete"))
		return argc > 2 ? complete(commands, argc - 2, argv + 2) : 0;
	/* `help --help` and `help -V` are --help and -V */
	if (!strcmp(argv[1], "help") && argc > 2 && (is_help(argv[2]) || is_version(argv[2]))) {
		argc--;
		argv++;
	}
	if (is_version(argv[1]) || !strcmp(argv[1], "version")) {
		puts("vestige " VESTIGE_VERSION);
		return 0;
	}
	if (is_help(argv[1]) ||
	    (!strcmp(argv[1], "help") && (argc == 2 || !strcmp(argv[2], "help")))) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "help")) {
		c = find(argv[2]);
		if (!c && argv[2][0] == '-')
			return unknown("flag of help", argv[2], help_flag_name);
		if (!c)
			return unknown_command(argv[2]);
		options_help(c);
		return 0;
	}
	c = find(argv[1]);
	if (c)
		return c->run(c, argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return unknown("flag", argv[1], flag_name);
	/*
	 * a word that is nearly a command's name is not run, even if there is a program of that
	 * name
	 */
	if (strchr(argv[1], '/') ||
	    (!nearest_name(argv[1], command_name, NULL) && cmd_is_program(argv[1])))
		return cmd_program(argc - 1, argv + 1);
	return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
	bool no_pager, quit;
	int status;

	if (isatty(STDOUT_FILENO))
		out_terminal(true);
	else /* a help is one write, whose error is not lost */
		setvbuf(stdout, NULL, _IOFBF, STDOUT_BYTES);
	status = run(argc, argv);
	quit = pager_end(&no_pager);
	if (no_pager)
		return status ? status : CMD_FAILURE;
	/* a user who has quit the pager has seen enough */
	if (quit)
		return status;
	/* Report a full disk or a closed pipe: the output is not complete. */
	if (fflush(stdout) && !status) {
		note("cannot write to stdout: %s", strerror(errno));
		return CMD_FAILURE;
	}
	return status;
}
