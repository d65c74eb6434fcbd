/* SPDX-License-Identifier: MIT */
/*
 * For a process that makes no progress: for each thread the object that it waits for, how long, and
 * the thread that could end the wait. Read from /proc, the process's memory and its stacks (libdw).
 * It needs neither records nor the engine.
 */
#ifndef VESTIGE_TOOLS_HANG_H
#define VESTIGE_TOOLS_HANG_H

#include <stdbool.h>

#include "tools/text/out.h"

/*
 * hang_print() - print each thread of process @pid with its stack, and the deadlocks: cycles of
 * threads that wait for one another. Each thread is stopped while its stack is taken, except
 * threads in a system call that a stop would interrupt.
 * @json: print an object with "threads" and "deadlocks", times in nanoseconds, without the order of
 * locks.
 * Return: the number of deadlocks, or -errno with fail() set: ESRCH: there is no such process;
 * EPERM, EACCES.
 */
int hang_print(int pid, bool json, struct out *o);

#endif
