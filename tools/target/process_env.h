/* SPDX-License-Identifier: MIT */
/* The initial environment of a process (/proc/PID/environ). */
#ifndef VESTIGE_TOOLS_PROCESS_ENV_H
#define VESTIGE_TOOLS_PROCESS_ENV_H

#include <stdbool.h>

/*
 * Whether the program has more rights than its caller (AT_SECURE: it is set-user-ID, or the like).
 * The engine does not obey the environment of such a program.
 */
bool process_is_secure(int pid);

/* The value of a variable, to be freed; NULL: it is not set, or the environment cannot be read. */
char *process_env(int pid, const char *name);

enum process_env_state {
	PROCESS_ENV_NONE,     /* the process has ended, is the kernel's, or may not be read */
	PROCESS_ENV_EXECUTES, /* in the middle of execve(): it has no environment yet */
	PROCESS_ENV_OTHER,
	PROCESS_ENV_SAME,
};

/* process_env_is() - whether a variable has that value, also while the process executes. */
enum process_env_state process_env_is(int pid, const char *name, const char *value);

#endif
