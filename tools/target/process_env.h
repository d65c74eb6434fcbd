/* SPDX-License-Identifier: MIT */
/* The initial environment of a process (/proc/PID/environ). */
#ifndef VESTIGE_TOOLS_PROCESS_ENV_H
#define VESTIGE_TOOLS_PROCESS_ENV_H

/* The value of a variable, to be freed; NULL: it is not set, or the environment cannot be read. */
char *process_env(int pid, const char *name);

#endif
