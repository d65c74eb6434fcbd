/* SPDX-License-Identifier: MIT */
/*
 * The control files of a process as the outside sees them: which there are, and those that are
 * rendered from its area, whether it runs, is stopped or is dead.
 */
#ifndef VESTIGE_TOOLS_RENDER_H
#define VESTIGE_TOOLS_RENDER_H

#include <stdbool.h>

#include "tools/target/target.h"

/*
 * render_file() - print control file @file to stdout if it is a rendered one.
 * Return: 0; -EOPNOTSUPP without fail() when it is not: the engine has it; -errno with fail() set.
 */
int render_file(struct target *t, const char *file);

/*
 * render_list() - print the names of the control files, one a line; of a dead process those that
 * still read. Return: 0 or -errno with fail() set.
 */
int render_list(struct target *t);

#endif
