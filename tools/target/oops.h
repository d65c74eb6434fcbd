/* SPDX-License-Identifier: MIT */
/* The death of a traced process and its last records: from its area, or from a core. */
#ifndef VESTIGE_TOOLS_OOPS_H
#define VESTIGE_TOOLS_OOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/text/out.h"

/*
 * oops_print() - the last oops in the area at @path, with names and lines of the source if the
 * objects' files have them.
 * @tid: gets the id of the thread. Return: 1; 0: there is no oops; -errno with fail() set.
 */
int oops_print(const char *path, struct out *o, int *tid);

/* Whether the area at @path has an oops. */
bool oops_is_there(const char *path);

/*
 * oops_records() - the last @lines lines of the area's trace (0: all) under the kernel's heading.
 * @tid: the records of this thread; 0: all. Return: 0 or -errno with fail() set.
 */
int oops_records(const char *path, int tid, uint64_t lines, struct out *o);

/* Whether @path is a core. */
bool core_is(const char *path);

/*
 * core_print() - the same for a core: its signal, registers and the stack of the thread that died.
 * @all: print the other threads, too. @pid: gets the PID of its process; 0: not known.
 * Return: 0 or -errno with fail() set.
 */
int core_print(const char *path, bool all, struct out *o, int *pid);

#endif
