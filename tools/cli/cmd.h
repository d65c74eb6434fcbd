/* SPDX-License-Identifier: MIT */
/* The commands of `vestige`: one file each, one table of them in main.c. */
#ifndef VESTIGE_TOOLS_CMD_H
#define VESTIGE_TOOLS_CMD_H

#include <stdbool.h>

/* Exit statuses of every command but record and run, which pass the child's on. */
#define CMD_FAILURE 1
#define CMD_USAGE   2
/* record and run. */
#define CMD_OURS	125 /* we failed, the program did not start or its trace is not complete */
#define CMD_CANNOT_EXEC 126
#define CMD_NOT_FOUND	127

/*
 * A command gets its own name as argv[0] and the words behind it, and returns an exit status.
 * `--help` prints its usage to stdout and returns 0; a wrong flag prints one line that names it
 * and how to get help to stderr and returns CMD_USAGE.
 */
int cmd_clean(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_enter(int argc, char **argv);
int cmd_extract(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_graph(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_mount(int argc, char **argv);
int cmd_profile(int argc, char **argv);
/* `vestige ./prog args`: argv[0] is the program. */
int cmd_program(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recover(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_start(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_umount(int argc, char **argv);

/* Does a word that is no command name a program: by a path, or an executable in PATH? */
bool cmd_is_program(const char *word);

#endif
