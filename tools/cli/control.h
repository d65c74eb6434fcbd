/* SPDX-License-Identifier: MIT */
/* Shared by the commands that work on a target: flags, opening, error messages. */
#ifndef VESTIGE_TOOLS_CONTROL_H
#define VESTIGE_TOOLS_CONTROL_H

#include <stdbool.h>

#include "tools/cli/cmd.h"
#include "tools/target/target.h"
#include "tools/text/out.h"

/*
 * control_print() - print the text that @print makes of @file to stdout. If the reader of stdout
 * goes away, that is no error: 0. Return: the result of @print, or -errno with fail() set.
 */
int control_print(struct target *t, int (*print)(struct target *t, const char *file, struct out *o),
		  const char *file);

/* The target of a command. */
struct control_which {
	int pid;	      /* 0: the only traced process that lives */
	const char *instance; /* -B; NULL: the process itself */
	bool kernel;	      /* -k: this machine's kernel in place of a process */
};

/*
 * control_open() - open the target, as target_get().
 * @make: make the instance if it is not there.
 * Return: 0 and *@t, to be released with target_put(); or -errno with fail() set.
 */
int control_open(struct target **t, const struct control_which *w, bool make);

/*
 * control_open_attached() - the same; the instance is made, and the engine is loaded into a process
 * that runs without it.
 */
int control_open_attached(struct target **t, const struct control_which *w);

/*
 * control_open_file() - open the target for a file. @file: a path; for `instances/NAME/FILE` the
 * instance is opened, and @file is set to FILE.
 */
int control_open_file(struct target **t, const struct control_which *w, const char **file);

/*
 * control_words() - write the command that prints control file @list of the target, for messages:
 * `vestige get -k available_events`. @to: gets it, cut to @bytes. Return: @to.
 */
const char *control_words(const struct target *t, const char *list, char *to, size_t bytes);

/* control_is_empty() - does a control file exist, and is it without lines? */
bool control_is_empty(struct target *t, const char *file);

/*
 * control_write() - target_write() of a text from the user. After EINVAL the line of fail() also
 * has a similar word that is valid, or the file that lists the valid words. Return: as
 * target_write().
 */
int control_write(struct target *t, const char *path, const char *text, bool truncate);

/* -P, -B and -k, of a struct control_which. */
extern const struct flag control_flags[];

#define CONTROL_MAX_BUFFERS 64u

/* The buffers of one target that a command works on. */
struct control_buffers {
	struct control_which which; /* without an instance */
	unsigned int nr;
	const char *names[CONTROL_MAX_BUFFERS];
	bool all; /* all instances */
	bool top; /* the target itself, too */
};

/* -P, -k and -B, which may be repeated, of a struct control_buffers. */
extern const struct flag control_buffers_flags[];

/*
 * control_buffers_run() - open each of the buffers in turn and call @act with it; without -B, `all`
 * and `top` only the target itself. @name: the instance's; NULL: it is the target itself.
 * Return: the exit status.
 */
int control_buffers_run(const struct control_buffers *b,
			int (*act)(struct target *t, const char *name, void *arg), void *arg);

/* A process id for a row of flags. @to: an int. */
int control_take_pid(const struct parsing *p, void *to, const char *value);

/* -P of an int, for commands that take the process as a word, too. */
extern const struct flag control_pid_flags[];

/*
 * control_pid() - the process that the user names, by -P or by the only word.
 * @pid: the value of -P, 0 without it; set to the process.
 * Return: 0; or the exit status, and the error is printed.
 */
int control_pid(const struct command *c, int argc, char **argv, int *pid);

#endif
