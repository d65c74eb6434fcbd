/* SPDX-License-Identifier: MIT */
/* Finds the areas that belong to a session. */
#ifndef VESTIGE_TOOLS_SESSION_MEMBERS_H
#define VESTIGE_TOOLS_SESSION_MEMBERS_H

#include "tools/target/process.h"

/* Zero at first. */
struct session_members {
	struct areas *seen; /* NULL: it was not looked yet */
	/*
	 * the kind of each file of it: a mark of session_members.c, or a member with a reference
	 */
	struct process **found;
	bool undecided; /* one is not known yet, such as a file that is being filled in */
};

struct session_member_calls {
	/* Whose area is new, or gone; the process stays until `left` returns. */
	void (*joined)(void *arg, struct process *p);
	void (*left)(void *arg, struct process *p);
	void *arg;
};

/*
 * session_members_call() - look. @instance: "" the processes themselves, else that instance of
 * theirs.
 */
void session_members_call(struct session_members *r, const char *session, const char *instance,
			  const struct session_member_calls *calls);
void session_members_free(struct session_members *r);

#endif
