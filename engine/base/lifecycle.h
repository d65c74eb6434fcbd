/* SPDX-License-Identifier: MIT */
/*
 * The table of all parts that start with the engine, begin anew in a fork's child, and end with the
 * process. Each part registers its row in its own file. The level gives the order; within a level
 * the order must not matter. The area and the ring (control/boot.c) and the locks that fork() takes
 * (control/fork.c) are not in the table, because all rows need them.
 *
 *	LIFECYCLE(LIFECYCLE_CORE, functions_start, NULL, NULL);
 */
#ifndef VESTIGE_BASE_LIFECYCLE_H
#define VESTIGE_BASE_LIFECYCLE_H

#include <stdint.h>

#include "engine/base/registry.h"

struct area_header;

/* The order of start and of fork; exit has the reverse order. */
enum lifecycle_level {
	LIFECYCLE_PROCESS, /* what a process is: areas of the dead, clock, threads, objects */
	LIFECYCLE_THREAD,  /* the calling thread can make records */
	LIFECYCLE_HOOK,	   /* the hooks register with core */
	LIFECYCLE_HOOK_2,  /* the hook for functions that the first one cannot handle */
	LIFECYCLE_CORE,	   /* functions are found; core's parts for events start */
	LIFECYCLE_SYSTEM,  /* built-in events */
	LIFECYCLE_PROGRAM, /* events that the program's objects define */
	LIFECYCLE_BOOT,	   /* VESTIGE_BOOT is carried out */
	LIFECYCLE_SESSION, /* the writes to the session are carried out */
	LIFECYCLE_LIVE,	   /* from here on other threads run, and objects come and go */
	LIFECYCLE_AGENT,   /* the agent's thread */
	LIFECYCLE_AGENT_2, /* parts that wait for the agent */
	LIFECYCLE_LEVELS
};

struct lifecycle_start {
	const char *boot; /* VESTIGE_BOOT; NULL: none */
	int with_agent;	  /* 0: the process is not steered from outside */
};

/* The child's side of fork(): all rows are called for each of these steps, in this order. */
enum lifecycle_fork_when {
	LIFECYCLE_FORK_LEAVE,	 /* in each child: forget the parent's threads and descriptors */
	LIFECYCLE_FORK_TAKE,	 /* the child has its area and rings; @parent is still mapped */
	LIFECYCLE_FORK_RESUME,	 /* the parent's area is unmapped; records are made from here on */
	LIFECYCLE_FORK_UNLOCKED, /* the tree lock has been released */
};

struct lifecycle_fork {
	enum lifecycle_fork_when when;
	const struct area_header *parent; /* of LIFECYCLE_FORK_TAKE */
	int with_agent;
};

/*
 * A row. Each function may be NULL.
 * @start: constructor context, one thread. A part that fails adds a line to vestige_status.
 * @fork: in the child, once for each step above. @exit: at exit(); the agent's thread may still
 * run.
 */
struct lifecycle {
	uint8_t level;
	void (*start)(const struct lifecycle_start *how);
	void (*fork)(const struct lifecycle_fork *f);
	void (*exit)(void);
};

REGISTRY(vestige_lifecycle, const struct lifecycle);

#define LIFECYCLE(level, start, fork, exit)	   LIFECYCLE_ROW(__COUNTER__, level, start, fork, exit)
#define LIFECYCLE_ROW(n, level, start, fork, exit) LIFECYCLE_NTH(n, level, start, fork, exit)
#define LIFECYCLE_NTH(n, level, start, fork, exit)                                                 \
	static const struct lifecycle lifecycle_##n = {level, start, fork, exit};                  \
	REGISTRY_ADD(vestige_lifecycle, lifecycle_##n)

/* Call the rows' functions in their order. */
void lifecycle_start(const struct lifecycle_start *how);
void lifecycle_fork(const struct lifecycle_fork *f);
void lifecycle_exit(void);

#endif
