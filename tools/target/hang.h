/* SPDX-License-Identifier: MIT */
/*
 * For a process that makes no progress: the object that each thread waits for, the time, and the
 * thread that could end the wait. From /proc, the process's memory and its stacks (libdw); it needs
 * no record, and no engine in the process.
 */
#ifndef VESTIGE_TOOLS_HANG_H
#define VESTIGE_TOOLS_HANG_H

#include <stdbool.h>

#include "tools/text/out.h"

/*
 * hang_print() - print each thread of process @pid with its stack, and circles of threads that wait
 * for one another. Each thread is stopped while its stack is taken, except threads in a system call
 * that a stop would end. @json: as an object with "threads" and
 * "deadlocks", times in nanoseconds, without the order of locks. Return: how many circles there are, or -errno with fail() set: ESRCH there
 * is no such process, EPERM, EACCES.
 */
int hang_print(int pid, bool json, struct out *o);

#endif
