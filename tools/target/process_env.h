/* SPDX-License-Identifier: MIT */
/* The initial environment of a process (/proc/PID/environ). */
#ifndef VESTIGE_TOOLS_PROCESS_ENV_H
#define VESTIGE_TOOLS_PROCESS_ENV_H

#include <stdbool.h>

/* The value of a variable, to be freed; NULL: it is not set, or the environment cannot be read. */
char *process_env(int pid, const char *name);

enum process_env_state {
	PROCESS_ENV_NONE,  /* the process has ended, is the kernel's, or may not be read */
	PROCESS_ENV_EMPTY, /* in the middle of execve(), or it never had an environment */
	PROCESS_ENV_OTHER,
	PROCESS_ENV_SAME,
};

/*
 * process_env_is() - whether a variable has that value, from one moment: between two reads the
 * process may execute.
 */
enum process_env_state process_env_is(int pid, const char *name, const char *value);

/* Is a process in the middle of execve(), so that it has no command line yet? */
bool process_executes(int pid);

#endif
