/* SPDX-License-Identifier: MIT */
/*
 * The calls by which the program makes threads and processes, waits for them, and ends. Calls
 * within libc are not seen: the processes of system() and popen(). In a static program threads
 * alone are.
 */
#ifndef VESTIGE_SOURCES_PROCESS_H
#define VESTIGE_SOURCES_PROCESS_H

#include "engine/sources/source.h"

/* @id: a thread or process was made; a process is waited for, 0: any. */
struct process_listener {
	struct source_link link;
	void (*call)(int id);
};
extern struct source process_forks, process_waits;

struct process_end_listener {
	struct source_link link;
	void (*call)(void);
};
/*
 * The calling thread ends, or its process does by _exit(); the process leaves its memory by _exit()
 * or by an exec, which may fail.
 */
extern struct source process_ends, process_leaves;

#endif
