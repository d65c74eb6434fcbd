/* SPDX-License-Identifier: MIT */
/* An SQL statement as writes to control files: histograms and synthetic events, by libtracefs. */
#ifndef VESTIGE_TOOLS_SQLHIST_H
#define VESTIGE_TOOLS_SQLHIST_H

#include <stdbool.h>

#include "tools/target/target.h"

struct sqlhist {
	const char *sql;
	const char *name;     /* of the synthetic event */
	const char *max;      /* the variable at whose new maximum it acts; NULL: always */
	const char *change;   /* the variable at whose change; NULL. Not both */
	bool snapshot, trace; /* what is done then, with @max or @change; neither: trace */
	const char *save;     /* fields, with commas, that are kept then; NULL */
};

/*
 * sqlhist_make() - call @put for each write, in their order.
 * @t: whose events are meant. @dir: NULL; or the folder of a copy of tracefs, then @t is not used.
 * @put: gets a control file's path below the target's folder and the text, which is written behind
 * what is there; returns non-zero to stop. Return: 0; what @put returned; -errno with fail() set:
 * -EINVAL the sentence is wrong.
 */
int sqlhist_make(struct target *t, const char *dir, const struct sqlhist *how,
		 int (*put)(void *arg, const char *path, const char *text), void *arg);

#endif
