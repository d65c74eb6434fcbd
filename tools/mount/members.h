/* SPDX-License-Identifier: MIT */
/* Which of a session's members somebody who follows it has already. */
#ifndef VESTIGE_TOOLS_MEMBERS_H
#define VESTIGE_TOOLS_MEMBERS_H

#include "tools/mount/session.h"

/* Zero at first. */
struct members {
	struct process **of; /* each with a reference */
	unsigned int nr;
};

/*
 * members_join() - those that @m does not have yet.
 * @add: is told of each, whose target stays until members_free(). Return of it does not matter.
 */
void members_join(struct members *m, struct session *s,
		  void (*add)(void *arg, const struct target *t), void *arg);
void members_free(struct members *m);

#endif
