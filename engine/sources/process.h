/* SPDX-License-Identifier: MIT */
/*
 * The calls by which the program makes threads and processes, waits for them, and ends. Calls
 * within libc are not seen, so neither are the processes of system() and popen(). In a static
 * program only threads are seen.
 */
#ifndef VESTIGE_SOURCES_PROCESS_H
#define VESTIGE_SOURCES_PROCESS_H

#include "engine/sources/source.h"

/* @id: of the new thread or process; of the process that is waited for, 0: any. */
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
 * process_ends: the calling thread ends, or its process ends by _exit(). process_leaves: the
 * process leaves its memory by _exit() or by an exec, which may fail.
 */
extern struct source process_ends, process_leaves;

#endif
