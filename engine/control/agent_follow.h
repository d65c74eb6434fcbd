/* SPDX-License-Identifier: MIT */
/* The agent makes the calls that change the main thread's credentials (core/credentials.h), too. */
#ifndef VESTIGE_CONTROL_AGENT_FOLLOW_H
#define VESTIGE_CONTROL_AGENT_FOLLOW_H

#include <stdint.h>

/* The calling thread is about to make an agent. */
void agent_follow_start(void);
/*
 * There is no agent, or no more. Waits until the kernel does not count its thread any more, some
 * microseconds after pthread_join(). @until_ms: of ring_clock_mono(), at most.
 */
void agent_follow_gone(uint64_t until_ms);

/* By the agent: its first step, each of its turns, and its last step. */
void agent_follow_begin(void);
void agent_follow_turn(void);
void agent_follow_end(void);

#endif
