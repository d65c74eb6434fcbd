/* SPDX-License-Identifier: MIT */
/* The members of a session whose records a reader reads already. */
#ifndef VESTIGE_TOOLS_MEMBERS_H
#define VESTIGE_TOOLS_MEMBERS_H

#include "tools/target/session.h"

/* Zero at first. */
struct members {
	struct process **of; /* each with a reference */
	unsigned int nr;
};

/*
 * members_join() - add the members that @m does not have yet. @add: called with the image of each
 * new member, which stays valid until members_free().
 */
void members_join(struct members *m, struct session *s,
		  void (*add)(void *arg, const struct image *t), void *arg);
void members_free(struct members *m);

#endif
