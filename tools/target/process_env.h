/* SPDX-License-Identifier: MIT */
/* The environment that a process began with. */
#ifndef VESTIGE_TOOLS_PROCESS_ENV_H
#define VESTIGE_TOOLS_PROCESS_ENV_H

/* The value of a variable, to be freed; NULL: it has none, or may not be read. */
char *process_env(int pid, const char *name);

#endif
