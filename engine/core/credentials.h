/* SPDX-License-Identifier: MIT */
/*
 * Calls that change the user ids or the capabilities of the calling thread alone: capset(), some
 * options of prctl(), and setuid() and its kind by syscall().
 */
#ifndef VESTIGE_CORE_CREDENTIALS_H
#define VESTIGE_CORE_CREDENTIALS_H

#include <stdint.h>

struct credentials_call {
	long nr; /* of the system call */
	unsigned long arg[5];
	/* what the first two arguments of capset() point to */
	uint32_t header[2], caps[6];
};

/*
 * The agent follows the main thread. @follow: makes the agent make a call of the main thread, and
 * waits for that. @own: the agent's thread has made a call itself, in a handler of the program. One
 * pair; both in any context.
 */
void credentials_use_agent(void (*follow)(const struct credentials_call *call),
			   void (*own)(const struct credentials_call *call));

/*
 * The calling thread has made a system call, without an error. Nothing happens unless it changed
 * the credentials of the main thread. @arg: five arguments. Any context; keeps errno.
 */
void credentials_called(long nr, const unsigned long *arg);

int credentials_are_same(const struct credentials_call *a, const struct credentials_call *b);

/* Make @call in the calling thread. Any context. */
void credentials_repeat(struct credentials_call *call);

#endif
