/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_AGENT_H
#define VESTIGE_CONTROL_AGENT_H

/* Whether the agent was asked to end. */
int agent_is_to_end(void);

/* Remove the agent's socket; at exit. */
void agent_remove(void);

#endif
