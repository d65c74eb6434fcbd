/* SPDX-License-Identifier: MIT */
/*
 * Branches that the processor took in this process's own code, by perf's branch stacks (Intel's
 * LBR, AMD's BRS and LBR): the last ones before each sample. With Intel's branch trace store alone:
 * all branches. The agent reports them, with ring_as set to the thread.
 */
#ifndef VESTIGE_SOURCES_BRANCH_STACK_H
#define VESTIGE_SOURCES_BRANCH_STACK_H

#include <stdint.h>

#include "engine/sources/source.h"

/* One sample for this number of branches that a thread has executed. */
#define BRANCH_STACK_PERIOD 1000u

/* Gets one branch at a time, in the order in which they were taken. In the agent. */
struct branch_stack_listener {
	struct source_link link;
	void (*call)(uint64_t from, uint64_t to);
};
extern struct source branch_stacks;

/*
 * Why this process cannot record branches; NULL: it can, as far as is known without a trial. Any
 * time; makes some system calls.
 */
const char *branch_stack_refused(void);

#endif
