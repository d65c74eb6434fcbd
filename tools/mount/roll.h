/* SPDX-License-Identifier: MIT */
/* Which of the areas that there are belong to a session. */
#ifndef VESTIGE_TOOLS_MOUNT_ROLL_H
#define VESTIGE_TOOLS_MOUNT_ROLL_H

#include "tools/mount/process.h"

/* Zero at first. */
struct roll {
	struct areas *seen; /* NULL: it was not looked yet */
	struct process *
		*found; /* what each file of it is: one of roll.c, or a member's with a reference */
	bool undecided; /* one could not be told: it is filled in just now, say */
};

struct roll_calls {
	/* Whose area is new, or gone; the process stays until `left` returns. */
	void (*joined)(void *arg, struct process *p);
	void (*left)(void *arg, struct process *p);
	void *arg;
};

/* roll_call() - look. @instance: "" the processes themselves, else that instance of theirs. */
void roll_call(struct roll *r, const char *session, const char *instance,
	       const struct roll_calls *calls);
void roll_free(struct roll *r);

#endif
