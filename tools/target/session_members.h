/* SPDX-License-Identifier: MIT */
/* Finds the areas that belong to a session. */
#ifndef VESTIGE_TOOLS_SESSION_MEMBERS_H
#define VESTIGE_TOOLS_SESSION_MEMBERS_H

#include "tools/target/process.h"

/* Zero at first. */
struct session_members {
	struct areas *seen; /* NULL before the first look */
	/* for each file of `seen`: a member with a reference, or a mark of session_members.c */
	struct process **found;
	bool undecided; /* of a file it is not known yet, such as one that is being filled in */
};

struct session_member_calls {
	/* A process whose area is new, or gone; @p stays valid until `left` returns. */
	void (*joined)(void *arg, struct process *p);
	void (*left)(void *arg, struct process *p);
	void *arg;
};

/*
 * session_members_call() - look for changes and report them by @calls. @instance: "": the processes
 * themselves; else their instance of that name.
 */
void session_members_call(struct session_members *r, const char *session, const char *instance,
			  const struct session_member_calls *calls);
void session_members_free(struct session_members *r);

#endif
