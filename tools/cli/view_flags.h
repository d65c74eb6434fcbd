/* SPDX-License-Identifier: MIT */
/* The flags of `replay`, `graph` and `profile`: they fill a struct view (text/view.h). */
#ifndef VESTIGE_TOOLS_VIEW_FLAGS_H
#define VESTIGE_TOOLS_VIEW_FLAGS_H

#include "tools/cli/cmd.h"
#include "tools/text/view.h"

/* The flags of all views; they are stored in a struct view. */
extern const struct flag view_flags[];

/* A flag --demangle. @to: an enum demangle. */
int view_take_demangle(const struct parsing *p, void *to, const char *value);

/*
 * A flag --cpu: refuses a value that is no list. Whether the recording has these CPUs is known when
 * it is open.
 */
int view_take_cpus(const struct parsing *p, const char **to, const char *value);

/*
 * The values of --filter, --tid and --time-range, for commands that have these flags under other
 * names, too. @to: a view.
 */
int view_take_under(const struct parsing *p, void *to, const char *value);
int view_take_range(const struct parsing *p, void *to, const char *value);
int view_take_tids(const struct parsing *p, void *to, const char *value);

/*
 * view_parse() - parse the words of a command that takes one file and has view_flags and a table of
 * its own, whose flags are stored in @own.
 * Return: as options_parse().
 */
int view_parse(struct view *v, const struct command *c, void *own, int argc, char **argv);

#endif
