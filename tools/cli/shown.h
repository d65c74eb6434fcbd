/* SPDX-License-Identifier: MIT */
/*
 * The data that `view` and `tui` show: a recording, several recordings on one timeline, or the ring
 * of a live process.
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
 * shown_parse() - take the files and the flags of a command, whose tables are view_flags,
 * shown_flags and one of its own. The flags are taken once for each file, since each has its own
 * view.
 * @shown: all 0. @own: the object in which the command's own flags are stored. Return: as
 * options_parse().
 */
int shown_parse(struct shown *shown, void *own, const struct command *c, int argc, char **argv);

/*
 * shown_read() - read the data into shown->c. It waits for a target that has no records yet.
 * Return: 0 or -errno with fail() set. Either way the caller calls shown_close().
 */
int shown_read(struct shown *shown);

/*
 * shown_alone() - open the file, if there is only one and its times are not shifted.
 * @whole: set to whether no flag leaves out or renames any of its records.
 * Return: its view, which shown_close() closes; NULL: use shown_read(); or, if *@err is not 0, the
 * file cannot be opened, with fail() set.
 */
struct view *shown_alone(struct shown *shown, bool *whole, int *err);

/*
 * shown_refresh() - read a target again.
 * @before: gets the old columns, valid until shown_forget(). Return: whether the data has changed.
 * If not, or if it cannot be read any more, nothing is changed.
 */
bool shown_refresh(struct shown *shown, struct columns **before);
void shown_forget(struct shown *shown, struct columns *before);

void shown_close(struct shown *shown);

#endif
