/* SPDX-License-Identifier: MIT */
/*
 * Settings of targets that a command changes while it runs. Their old values are in a file beside
 * the areas, which is locked while the command lives. If the command is killed, borrowed_clean()
 * restores the settings. A command may also leave its changes to a later command. One thread.
 */
#ifndef VESTIGE_TOOLS_BORROWED_H
#define VESTIGE_TOOLS_BORROWED_H

#include <stdbool.h>

#include "tools/target/target.h"

struct borrowed;

/*
 * borrowed_new() - begin with no change. @command: for the file's name. @out: to be ended with
 * borrowed_end() or borrowed_leave(). Return: 0 or -errno with fail() set.
 */
int borrowed_new(const char *command, struct borrowed **out);

/*
 * borrowed_set() - write @text to a control file, as target_set(). borrowed_end() restores the
 * contents from before the first write to the file. Not in an instance. Return: 0 or -errno with
 * fail() set, as the functions below.
 */
int borrowed_set(struct borrowed *b, struct target *t, const char *path, const char *text);

/* borrowed_note() - remember the contents for borrowed_end(); the caller writes the file itself. */
int borrowed_note(struct borrowed *b, struct target *t, const char *path);

/* borrowed_mkdir() - make an instance, which borrowed_end() removes. */
int borrowed_mkdir(struct borrowed *b, struct target *t, const char *instance);

/*
 * borrowed_add() - write @text behind what is in a control file, as target_write() without
 * truncation; borrowed_end() writes @undo in the same way.
 */
int borrowed_add(struct borrowed *b, struct target *t, const char *path, const char *text,
		 const char *undo);

/* borrowed_undo() - restore the control file @path of each target now, before borrowed_end(). */
void borrowed_undo(struct borrowed *b, const char *path);

/*
 * Restore all, the last change first. Targets that have ended are skipped. fail_text() stays. NULL:
 * nothing.
 */
void borrowed_end(struct borrowed *b);

/*
 * borrowed_leave() - the command ends and its changes stay, until borrowed_take() and
 * borrowed_end(), or borrowed_clean(). NULL: nothing.
 */
void borrowed_leave(struct borrowed *b);

/*
 * borrowed_take() - take over the changes that another run of @command has left. Return: 0;
 * -ENOENT: there are none; -EBUSY: that command still runs; or another -errno, each with fail()
 * set.
 */
int borrowed_take(const char *command, struct borrowed **out);

/*
 * borrowed_clean() - restore the changes that ended commands have left. @dry: only report them.
 * @report: called with a line for each. Return: 0 or -errno with fail() set.
 */
int borrowed_clean(bool dry, void (*report)(const char *what));

#endif
