/* SPDX-License-Identifier: MIT */
/*
 * Settings of targets that a command changes for as long as it runs. Their old values are in a file
 * beside the areas, locked while the command lives: when it is killed, borrowed_clean() puts them
 * back. A command may also leave them to a later one. One thread.
 */
#ifndef VESTIGE_TOOLS_BORROWED_H
#define VESTIGE_TOOLS_BORROWED_H

#include <stdbool.h>

#include "tools/target/target.h"

struct borrowed;

/* Nothing is changed yet. @command: for the file's name. Return: 0 or -errno with fail() set. */
int borrowed_new(const char *command, struct borrowed **out);

/*
 * borrowed_set() - write @text to a control file, as target_set(); the first write of each file is
 * what borrowed_end() takes back. Not in an instance.
 */
int borrowed_set(struct borrowed *b, struct target *t, const char *path, const char *text);

/* borrowed_note() - the same without a write: the caller writes the file itself. */
int borrowed_note(struct borrowed *b, struct target *t, const char *path);

/* borrowed_mkdir() - make an instance, which borrowed_end() removes. */
int borrowed_mkdir(struct borrowed *b, struct target *t, const char *instance);

/*
 * borrowed_add() - write @text behind what is in a control file, as target_write() without truncation;
 * borrowed_end() writes @undo in the same way.
 */
int borrowed_add(struct borrowed *b, struct target *t, const char *path, const char *text,
		 const char *undo);

/* borrowed_undo() - put back what was changed in @path of each target; borrowed_end() has less to do then. */
void borrowed_undo(struct borrowed *b, const char *path);

/* Put all back, the last change first. Targets that have ended are left; fail_text() stays. NULL: nothing. */
void borrowed_end(struct borrowed *b);

/*
 * borrowed_leave() - the command ends and its changes stay, until borrowed_take() and borrowed_end(), or
 * borrowed_clean(). NULL: nothing.
 */
void borrowed_leave(struct borrowed *b);

/*
 * borrowed_take() - the changes that another run of @command has left. Return: 0; ENOENT none has;
 * EBUSY it still runs; or another -errno, each with fail() set.
 */
int borrowed_take(const char *command, struct borrowed **out);

/*
 * borrowed_clean() - put back what commands that have ended left. @dry: only report it. @report:
 * called with a line for each. Return: 0 or -errno with fail() set.
 */
int borrowed_clean(bool dry, void (*report)(const char *what));

#endif
