/* SPDX-License-Identifier: MIT */
/* An SQL statement as writes to control files: histograms and synthetic events, by libtracefs. */
#ifndef VESTIGE_TOOLS_SQLHIST_H
#define VESTIGE_TOOLS_SQLHIST_H

#include <stdbool.h>

#include "tools/target/target.h"

struct sqlhist {
	const char *sql;
	const char *name;     /* of the synthetic event */
	const char *max;      /* act only at a new maximum of this variable; NULL: always */
	const char *change;   /* act only at a change of this variable; NULL. Not with max */
	bool snapshot, trace; /* the actions, with max or change; neither: trace */
	const char *save;     /* fields, with commas, that are saved then; NULL */
};

/*
 * sqlhist_make() - call @put for each write, in their order.
 * @t: has the events. @dir: NULL; or the folder of a copy of tracefs, then @t is not used.
 * @put: gets a control file's path below the target's folder, and the text to append there; returns
 * non-zero to stop. Return: 0; what @put returned; -errno with fail() set: -EINVAL: the statement
 * is wrong.
 */
int sqlhist_make(struct target *t, const char *dir, const struct sqlhist *how,
		 int (*put)(void *arg, const char *path, const char *text), void *arg);

#endif
