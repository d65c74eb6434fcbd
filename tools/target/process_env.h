/* SPDX-License-Identifier: MIT */
/* The initial environment of a process (/proc/PID/environ). */
#ifndef VESTIGE_TOOLS_PROCESS_ENV_H
#define VESTIGE_TOOLS_PROCESS_ENV_H

#include <stdbool.h>

/* The value of a variable, to be freed; NULL: it is not set, or the environment cannot be read. */
char *process_env(int pid, const char *name);

/*
 * process_executes() - whether a process is in the middle of execve(): it has memory, but neither
 * an environment nor a command line yet. process_is_bare() - the same, or a process that never had
 * an environment. False if they cannot be read.
 */
bool process_executes(int pid);
bool process_is_bare(int pid);

#endif
