/* SPDX-License-Identifier: MIT */
/* Processes that a command starts for itself. */
#ifndef VESTIGE_TOOLS_CHILD_H
#define VESTIGE_TOOLS_CHILD_H

#include <errno.h>
#include <sys/wait.h>

/* child_wait() - wait until @pid has ended. Return: waitpid()'s status; 0: no such child. */
static inline int child_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return status;
}

#endif
