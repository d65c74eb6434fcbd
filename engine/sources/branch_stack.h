/* SPDX-License-Identifier: MIT */
/*
 * Branches that the processor took in this process's own code, by perf's branch stacks (Intel's LBR,
 * AMD's BRS and LBR): the last ones before each sample; where there is Intel's branch trace store
 * alone, all. The agent reports them, with ring_as set to the thread.
 */
#ifndef VESTIGE_SOURCES_BRANCH_STACK_H
#define VESTIGE_SOURCES_BRANCH_STACK_H

#include <stdint.h>

#include "engine/sources/source.h"

/* A sample is made of a thread each time that it has executed as many branches. */
#define BRANCH_STACK_PERIOD 1000u

/* In the order in which they were taken. */
struct branch_stack_listener {
	struct source_link link;
	void (*call)(uint64_t from, uint64_t to);
};
extern struct source branch_stacks;

/* Why there are none; NULL: there are, as far as may be said without a try. Any time; some system
 * calls. */
const char *branch_stack_refused(void);

#endif
