/* SPDX-License-Identifier: MIT */
/* trace_pipe of a target on stdout: `show -p`, `stream`. */
#ifndef VESTIGE_TOOLS_FOLLOW_PIPE_H
#define VESTIGE_TOOLS_FOLLOW_PIPE_H

#include <stdbool.h>

#include "tools/target/target.h"

/*
 * follow_pipe() - print and consume records until the pipe ends, or until Ctrl-C or SIGTERM, which
 * is no failure. To be called once in a process.
 * @cpu: UINT32_MAX: all. @over: called when there are no records; true: print the records that are
 * there at once, then end; NULL: never. Return: 0 or -errno with fail() set.
 */
int follow_pipe(struct target *t, unsigned int cpu, bool (*over)(void));

/*
 * follow_pipe_catch() - from now on the signals that end follow_pipe() do not end the process: one
 * that comes before follow_pipe() ends that at once. For a caller that has settings to restore.
 */
void follow_pipe_catch(void);

/* The signal that ended follow_pipe(); 0: none. */
int follow_pipe_signal(void);

#endif
