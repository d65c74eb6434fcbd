/* SPDX-License-Identifier: MIT */
/* A program that is started and then worked on as a process that runs, by its control files. */
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
 * launch_process() - start @argv with the engine in it and hold it before main(); launch_go() lets it
 * run. VESTIGE_BOOT is the user's. @unmodified: functions without a flag can be traced, too, also of what
 * it executes; @built_only: never those. @mask: its signal mask. Return: 0 or -errno with fail() set: ENOENT
 * there is no such program; nothing runs then.
 */
int launch_process(struct launch_process *p, char **argv, bool unmodified, bool built_only,
		   const sigset_t *mask);

/* Whether it runs; when it has ended its status is taken. */
bool launch_process_runs(struct launch_process *p);

/* Wait until it has ended. */
void launch_process_wait(struct launch_process *p);

/* End: what has not been let run is killed, and the areas of processes that have ended are removed. */
void launch_process_end(struct launch_process *p);

#endif
