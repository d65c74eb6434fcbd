/* SPDX-License-Identifier: MIT */
/* What the commands on a live process share: their flags, and how they end. */
#ifndef VESTIGE_TOOLS_CONTROL_H
#define VESTIGE_TOOLS_CONTROL_H

#include <getopt.h>
#include <stdbool.h>

#include "tools/target/target.h"
#include "tools/text/out.h"

/*
 * control_parse_pid() - the value of -P.
 * @command: named in the message. Return: the pid, or -1 when it is none, which was told.
 */
int control_parse_pid(const char *command, const char *text);

/* A flag that getopt_long() did not know, or that lacks its value (@c is ':'). Return: CMD_USAGE. */
int control_usage(const char *command, int c, char **argv);

/* Too few or too many words: @what says what is wanted. Return: CMD_USAGE. */
int control_words(const char *command, const char *what);

/* The exit status of @err, 0 or -errno with fail() set, whose line is printed. */
int control_end(int err);

/*
 * control_print() - what @print puts out, on stdout. A reader that goes away has seen enough: 0.
 * Return: what @print returned, or -errno with fail() set.
 */
int control_print(struct target *t, int (*print)(struct target *t, const char *file, struct out *o),
		  const char *file);

/* Whose files a command is about. */
struct control_which {
	int pid;	      /* 0: the only traced process that lives */
	const char *instance; /* -B; NULL: the process itself */
};

/*
 * control_open() - as target_open(), and on to the instance.
 * @make: one that is not there is made first.
 */
int control_open(struct target *t, const struct control_which *w, bool make);

/*
 * control_open_file() - the same for a file by its path: of `instances/NAME/FILE` it opens the instance.
 * @file: on success what the file is called there.
 */
int control_open_file(struct target *t, const struct control_which *w, const char **file);

/* A flag of a command's own: one with a value or a switch. */
struct control_flag {
	char letter;	  /* 0: the last one */
	const char *name; /* as --NAME; NULL: it has none */
	bool *on;
	const char **value; /* NULL: a switch */
};
#define CONTROL_MAX_FLAGS 4

/*
 * control_flags() - parse `[-P PID] [-B NAME]`, `--help` and @flags; NULL: no others.
 * Return: -1 to go on with *@w set and the words from optind on, else an exit status.
 */
int control_flags(const char *command, const char *help, const struct control_flag *flags, int argc,
		  char **argv, struct control_which *w);

#endif
