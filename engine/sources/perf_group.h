/* SPDX-License-Identifier: MIT */
/*
 * Kinds of perf's records (process/perf.h) that a source opens all together or not at all: a user
 * of sched_perf.h with one switch.
 */
#ifndef VESTIGE_SOURCES_PERF_GROUP_H
#define VESTIGE_SOURCES_PERF_GROUP_H

#include "engine/sources/sched_perf.h"

struct perf_group {
	/* The owner sets its fields first, nr and record. */
	struct perf_user user;
	/* Open all kinds. The agent, under the tree lock. Return: 0; -errno: none is open. */
	int (*open)(void);
	const char *refused; /* text for vestige_status if open() fails in the agent */
	int is_wanted, is_open;
};

/* Add @g, which stays for ever. Constructor context. */
void perf_group_add(struct perf_group *g);

/*
 * perf_group_want() - switch the group on or off: at once if the caller is the agent, else the
 * agent does it soon. Under the tree lock. Return: 0; -ENODEV: there is no agent; -errno of open().
 */
int perf_group_want(struct perf_group *g, int on);

#endif
