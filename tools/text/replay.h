/* SPDX-License-Identifier: MIT */
/*
 * `vestige replay`: calls as text, a line for the entry and one for the exit. A call that shows no
 * call inside it has one line.
 */
#ifndef VESTIGE_TOOLS_REPLAY_H
#define VESTIGE_TOOLS_REPLAY_H

#include <stdbool.h>

#include "tools/text/view.h"

struct replay_options {
	bool column; /* a column for each thread */
};

/*
 * replay_print() - print all calls of @v, which is open, to stdout.
 * Return: 0 or -errno with fail() set. If the reader of stdout goes away, that is no error: 0.
 */
int replay_print(struct view *v, const struct replay_options *opt);

#endif
