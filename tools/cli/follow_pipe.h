/* SPDX-License-Identifier: MIT */
/* trace_pipe of a target on stdout: `show -p`, `stream`. */
#ifndef VESTIGE_TOOLS_FOLLOW_PIPE_H
#define VESTIGE_TOOLS_FOLLOW_PIPE_H

#include <stdbool.h>

#include "tools/target/target.h"

/*
 * follow_pipe() - print what comes until it ends, Ctrl-C or SIGTERM, which is no failure; what is
 * printed is consumed. Once in this process.
 * @cpu: UINT32_MAX all. @over: asked when nothing is there; true: what comes at once is printed, and it
 * ends. NULL: never. Return: 0 or -errno with fail() set.
 */
int follow_pipe(struct target *t, unsigned int cpu, bool (*over)(void));

/* The signal that ended it; 0: none did. */
int follow_pipe_signal(void);

#endif
