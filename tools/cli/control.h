/* SPDX-License-Identifier: MIT */
/* Shared by the commands on a target: their flags, and their messages at the end. */
#ifndef VESTIGE_TOOLS_CONTROL_H
#define VESTIGE_TOOLS_CONTROL_H

#include <stdbool.h>

#include "tools/cli/cmd.h"
#include "tools/target/target.h"
#include "tools/text/out.h"

/*
 * control_print() - print @print's text on stdout. If the reader goes away, that is no error: 0.
 * Return: what @print returned, or -errno with fail() set.
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
 * control_open() - the target that is meant, as target_get().
 * @make: an instance that is not there is made first.
 * Return: 0 and *@t, to be given back with target_put(); or -errno with fail() set.
 */
int control_open(struct target **t, const struct control_which *w, bool make);

/*
 * control_open_attached() - the same with the instance made; a process that runs without the engine
 * gets it.
 */
int control_open_attached(struct target **t, const struct control_which *w);

/*
 * control_open_file() - the same for a file by its path: of `instances/NAME/FILE` it opens the
 * instance. @file: on success the file's name there.
 */
int control_open_file(struct target **t, const struct control_which *w, const char **file);

/*
 * control_words() - the command that prints control file @list of the target: `vestige get -k
 * available_events`. @to: room for @bytes of it. Return: @to.
 */
const char *control_words(const struct target *t, const char *list, char *to, size_t bytes);

/* control_is_empty() - is a control file there, without a line? */
bool control_is_empty(struct target *t, const char *file);

/*
 * control_write() - target_write() of a text that the user gave: after EINVAL the line of fail()
 * also names the right word where one is near, or the file that lists them. Return: as target_write().
 */
int control_write(struct target *t, const char *path, const char *text, bool truncate);

/* -P, -B and -k, of a struct control_which. */
extern const struct flag control_flags[];

#define CONTROL_MAX_BUFFERS 64u

/* The buffers of one target that a command is about. */
struct control_buffers {
	struct control_which which; /* without an instance */
	unsigned int nr;
	const char *names[CONTROL_MAX_BUFFERS];
	bool all; /* each instance that there is */
	bool top; /* the target itself, besides the others */
};

/* -P, -k and -B, which may be repeated, of a struct control_buffers. */
extern const struct flag control_buffers_flags[];

/*
 * control_buffers_run() - open each of the buffers in turn and call @act with it. Without -B, all
 * and top it is the target itself. @name: NULL, or the instance that it is.
 * Return: the exit status.
 */
int control_buffers_run(const struct control_buffers *b,
			int (*act)(struct target *t, const char *name, void *arg), void *arg);

/* A process id for a row of flags. @to: an int. */
int control_take_pid(const struct parsing *p, void *to, const char *value);

/* -P of an int, for commands that take the process as a word, too. */
extern const struct flag control_pid_flags[];

/*
 * control_pid() - the one process that is named, by -P or by the only word.
 * @pid: what -P gave, 0 without it; on success the process.
 * Return: 0; or the exit status, and the error is printed.
 */
int control_pid(const struct command *c, int argc, char **argv, int *pid);

#endif
