/* SPDX-License-Identifier: MIT */
/* Colours and a pager for the output of commands on a terminal. Other output is not changed. */
#ifndef VESTIGE_TOOLS_PAGER_H
#define VESTIGE_TOOLS_PAGER_H

#include "tools/cli/options.h"

/*
 * --color and --no-pager: the last table of a command that prints. options_parse() calls
 * pager_begin() for such a command. If the command runs a program (runs_program), the command calls
 * it itself. main() calls pager_end().
 */
extern const struct flag pager_flags[];

/*
 * pager_take_before() - take the same flags in front of a command's name: `vestige --no-pager
 * report`. A command that prints no text for a person ignores them there.
 * @argv: @argc words behind the program's name. Return: the number of words taken; -1: a value is
 * wrong, and the error was printed.
 */
int pager_take_before(int argc, char **argv);

/*
 * pager_begin() - from now on stdout has colours if --color asks for them, or if it is a terminal
 * and neither NO_COLOR nor TERM=dumb is in the environment. JSON has no colours. On a terminal
 * stdout goes through $VESTIGE_PAGER, else $PAGER, else less, if that is installed and TERM is not
 * dumb; an empty variable or "cat" means no pager. Until pager_end() SIGPIPE is ignored; with a
 * pager SIGINT, too, since it is for the pager.
 */
void pager_begin(void);
/*
 * pager_end() - wait until the user quits the pager, and restore stdout. *@no_pager: set if the
 * pager could not be run; then an error was printed and no output was shown. Return: whether the
 * user has quit it before the end.
 */
bool pager_end(bool *no_pager);

#endif
