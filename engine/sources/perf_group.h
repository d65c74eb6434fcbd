/* SPDX-License-Identifier: MIT */
/*
 * Kinds of perf's (process/perf.h) that a source opens all together or not at all: a user of
 * sched_perf.h with one switch.
 */
#ifndef VESTIGE_SOURCES_PERF_GROUP_H
#define VESTIGE_SOURCES_PERF_GROUP_H

#include "engine/sources/sched_perf.h"

struct perf_group {
	/* The owner sets first, nr and record. */
	struct perf_user user;
	/* Open all of them. The agent, under the tree's lock. Return: 0, or -errno and none is open. */
	int (*open)(void);
	const char *refused; /* for vestige_status, if open() fails in the agent */
	int is_wanted, is_open;
};

/* @g stays for ever. Constructor context. */
void perf_group_add(struct perf_group *g);

/*
 * perf_group_want() - switch it on or off: at once where the caller is the agent, else the agent
 * does it soon. Under the tree's lock. Return: 0, -ENODEV: there is no agent; -errno of open().
 */
int perf_group_want(struct perf_group *g, int on);

#endif
