/* SPDX-License-Identifier: MIT */
/* Output of commands on a terminal: colours and a pager. Elsewhere it is unchanged. */
#ifndef VESTIGE_TOOLS_PAGER_H
#define VESTIGE_TOOLS_PAGER_H

#include "tools/cli/options.h"

/*
 * --color and --no-pager: the last table of a command that prints. options_parse() calls
 * pager_begin() for such a command, unless flags end at a program's name: it may be called again then, and
 * the command does. main() calls pager_end().
 */
extern const struct flag pager_flags[];

/*
 * pager_take_before() - take the same flags in front of a command's name: `vestige --no-pager report`. A command that
 * prints nothing for a person ignores them there.
 * @argv: @argc words behind the program's name. Return: how many were taken; -1: a value is wrong, and the error is
 * printed.
 */
int pager_take_before(int argc, char **argv);

/*
 * pager_begin() - from now on stdout has colours if --color says so, or if it is a terminal and neither
 * NO_COLOR nor TERM=dumb is in the environment; JSON has none. On a terminal it goes to $VESTIGE_PAGER, else
 * to $PAGER, else to less, if that is there and TERM is not dumb; an empty one or "cat" is none. Until pager_end() SIGPIPE is
 * ignored, and with a pager SIGINT, which is its own.
 */
void pager_begin(void);
/*
 * Wait until the user quits the pager; stdout is what it was. *@no_pager: it could not be run, which is
 * said: nothing was shown. Return: whether the user has quit it early.
 */
bool pager_end(bool *no_pager);

#endif
