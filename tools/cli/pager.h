/* SPDX-License-Identifier: MIT */
/* Long text on a terminal goes through a pager. */
#ifndef VESTIGE_TOOLS_PAGER_H
#define VESTIGE_TOOLS_PAGER_H

#include <sys/types.h>

struct pager {
	pid_t pid; /* 0 none */
	int stdout_was;
};

/*
 * pager_start() - if stdout is a terminal, send its output from now on to $PAGER (less, if that is
 * not set; none if it is empty or "cat"). If the pager cannot be run, there is none. Until
 * pager_end() SIGPIPE is ignored.
 */
void pager_start(struct pager *p);
/* Wait until the user quits the pager; stdout is the terminal again. */
void pager_end(struct pager *p);

#endif
