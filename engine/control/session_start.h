/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_SESSION_START_H
#define VESTIGE_CONTROL_SESSION_START_H

/*
 * session_start() - carry out what was written to this process's session before it came (abi/session.h), so that
 * it holds from the program's first instruction. What one of the writes says is its own affair.
 * Constructor context, before the agent.
 */
void session_start(void);

#endif
