/* SPDX-License-Identifier: MIT */
/*
 * What `view` and `tui` show: a recording, several on one timeline, or what a process that runs has
 * in its ring.
 */
#ifndef VESTIGE_TOOLS_SHOWN_H
#define VESTIGE_TOOLS_SHOWN_H

#include "tools/cli/options.h"
#include "tools/target/target.h"
#include "tools/text/view.h"
#include "tools/view/columns.h"

#define SHOWN_MAX_FILES 16u

struct shown_wish {
	const char *target, *offsets;
	bool align;
};

struct shown {
	struct shown_wish wish;
	struct target *target; /* NULL: files */
	struct columns *c;
	/* the module's */
	struct view views[SHOWN_MAX_FILES], plain;
	unsigned int nr, at;
};

/* -P, --ts-offset, --align: of a struct shown_wish. */
extern const struct flag shown_flags[];

/*
 * shown_parse() - take the flags of a command, whose tables are view_flags, shown_flags and one of
 * its own, and the files. The flags are taken once for each file, as each has a view of its own.
 * @shown: all 0. @own: what its own flags are stored in. Return: as options_parse().
 */
int shown_parse(struct shown *shown, void *own, const struct command *c, int argc, char **argv);

/*
 * shown_read() - read it into shown->c. A target that has no records yet is waited for.
 * Return: 0 or -errno with fail() set. Either way shown_close().
 */
int shown_read(struct shown *shown);

/*
 * shown_alone() - open the file, if there is one alone and its times are not moved.
 * @whole: set to whether no flag leaves out or renames what is in it.
 * Return: its view, which shown_close() closes; NULL: shown_read() is the way; fail() is set and
 * *@err is not 0 where it cannot be opened.
 */
struct view *shown_alone(struct shown *shown, bool *whole, int *err);

/*
 * shown_refresh() - read a target again.
 * @before: what was shown, if it has changed: it is valid until shown_forget(). Return: has it?
 * Else, and where it cannot be read any more, all stays as it is.
 */
bool shown_refresh(struct shown *shown, struct columns **before);
void shown_forget(struct shown *shown, struct columns *before);

void shown_close(struct shown *shown);

#endif
