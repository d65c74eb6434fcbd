/* SPDX-License-Identifier: MIT */
/* `vestige tui`: a recording in a terminal of 80 columns and 24 lines or more. */
#ifndef VESTIGE_TOOLS_TUI_H
#define VESTIGE_TOOLS_TUI_H

#include <stdbool.h>

#include "tools/view/columns.h"

/* A live recording, which is read again and again. */
struct tui_live {
	/* Read again. Return: the new columns, or NULL if nothing has changed. */
	const struct columns *(*again)(void *arg);
	/* Free the columns that were shown before: they are not used any more. */
	void (*forget)(void *arg);
	void *arg;
};

/*
 * tui_run() - show @c until the user quits.
 * @live: NULL: the recording is a file. Return: 0 or -errno with fail() set: ENOTTY, ENOMEM, EINVAL
 * if the terminal is not known.
 */
int tui_run(const struct columns *c, const struct tui_live *live);

#endif
