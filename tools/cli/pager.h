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
 * pager_start() - if stdout is a terminal, what is written to it from now on goes to $PAGER (less,
 * when that is not set; none when it is empty or "cat").
 * A pager that cannot be had is none. Until pager_end() SIGPIPE is ignored.
 */
void pager_start(struct pager *p);
/* Wait until the reader has seen enough; stdout is the terminal again. */
void pager_end(struct pager *p);

#endif
