/* SPDX-License-Identifier: MIT */
/* Starts a program that is then controlled like any live process, by its control files. */
#ifndef VESTIGE_TOOLS_LAUNCH_PROCESS_H
#define VESTIGE_TOOLS_LAUNCH_PROCESS_H

#include "tools/record/launch.h"
#include "tools/target/areas_dir.h"

struct launch_process {
	struct launch launch; /* its pid is 0 when it has ended */
	struct areas_dir dir;
	int status; /* its exit status, when it has ended */
};

/*
 * launch_process() - start @argv with the engine in it and hold it before main(); launch_go() lets
 * it run. VESTIGE_BOOT stays the user's. @unmodified: trace also functions that were built without
 * a flag, here and in programs that it executes; @built_only: never such functions. @mask: its
 * signal mask. Return: 0; or -errno with fail() set, and no program runs: ENOENT: there is no such
 * program.
 */
int launch_process(struct launch_process *p, char **argv, bool unmodified, bool built_only,
		   const sigset_t *mask);

/* Whether it runs. When it has ended, `status` is set. */
bool launch_process_runs(struct launch_process *p);

/* Wait until it has ended. */
void launch_process_wait(struct launch_process *p);

/*
 * Clean up: kill a program that is still held, and remove the areas of its processes that have
 * ended.
 */
void launch_process_end(struct launch_process *p);

#endif
