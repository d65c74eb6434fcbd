/* SPDX-License-Identifier: MIT */
/* `vestige tui`: a recording in a terminal of 80 columns and 24 lines or more. */
#ifndef VESTIGE_TOOLS_TUI_H
#define VESTIGE_TOOLS_TUI_H

#include <stdbool.h>

#include "tools/view/columns.h"

/* A recording that goes on: it is read again. */
struct tui_live {
	/* Read again. Return: the new columns, or NULL where nothing has changed. */
	const struct columns *(*again)(void *arg);
	/* The recording that was shown before is not used any more. */
	void (*forget)(void *arg);
	void *arg;
};

/*
 * tui_run() - show @c until the user ends it.
 * @live: NULL: it is a file. Return: 0 or -errno with fail() set: ENOTTY, ENOMEM, EINVAL where the
 * terminal is too small or unknown.
 */
int tui_run(const struct columns *c, const struct tui_live *live);

#endif
