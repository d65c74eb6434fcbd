/* SPDX-License-Identifier: MIT */
/* The commands of `vestige`: one file each, one table of them in main.c. */
#ifndef VESTIGE_TOOLS_CMD_H
#define VESTIGE_TOOLS_CMD_H

#include <stdbool.h>

#include "tools/base/exit_status.h"
#include "tools/cli/options.h"

/*
 * Each gets its own name as argv[0] and the words behind it, and returns an exit status. `--help`
 * prints its help to stdout and returns 0; a wrong flag prints one line that names it and how to
 * get help to stderr.
 */
extern const struct command command_attach, command_detach;
extern const struct command command_dot, command_kd, command_kft;
extern const struct command command_blk, command_bootgraph, command_clean, command_clear,
	command_convert, command_crash, command_doctor, command_dump, command_options,
	command_check_events, command_enter, command_extract, command_flags, command_get,
	command_graph, command_hang, command_stacks, command_leaks, command_list, command_listen,
	command_ls, command_mount, command_profile, command_record, command_recover, command_replay,
	command_report, command_reset, command_restart, command_run, command_sched, command_set,
	command_show, command_snapshot, command_stack, command_start, command_stat, command_stop,
	command_sql, command_tui, command_view, command_top, command_umount, command_split,
	command_mem, command_hist, command_sqlhist, command_stream, command_restore, command_script,
	command_share, command_atrace;

/*
 * End a command. @err: 0; or -errno with fail() set, whose line is printed. Return: the exit
 * status.
 */
int cmd_end(int err);

/*
 * cmd_take_file() - take the word of a command that has one FILE, after options_parse().
 * @path: the file of a flag (-i), or NULL; set to the file, "trace.dat" if none is named.
 * Return: -1 to go on; else the exit status: more than one file is named, and the error was
 * printed.
 */
int cmd_take_file(const struct command *c, int argc, char **argv, const char **path);

/* `vestige ./prog args`: argv[0] is the program. */
int cmd_program(int argc, char **argv);

/* Is @word, which is no command, a program: a path, or an executable in PATH? */
bool cmd_is_program(const char *word);

#endif
