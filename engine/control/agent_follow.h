/* SPDX-License-Identifier: MIT */
/* The agent makes the calls that change the main thread's credentials (core/credentials.h), too. */
#ifndef VESTIGE_CONTROL_AGENT_FOLLOW_H
#define VESTIGE_CONTROL_AGENT_FOLLOW_H

/*
 * An agent is about to start, by the calling thread. @wake: makes it call agent_follow_main();
 * -ESRCH: there is none. @end: makes it end, without waiting.
 */
void agent_follow_start(int (*wake)(void), void (*end)(void));

/* Make the call that the main thread has asked for, if any. The agent. */
void agent_follow_main(void);

/* Whether the main thread has ever asked. */
int agent_follow_is_used(void);

/* The agent makes no more calls. */
void agent_follow_end(void);

#endif
