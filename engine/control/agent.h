/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_AGENT_H
#define VESTIGE_CONTROL_AGENT_H

/*
 * agent_start() - start the thread that answers the outside. Constructor context, or the child's
 * side of fork. What goes wrong is a line in vestige_status; the process is then traced as it is
 * set up, and cannot be steered from outside.
 */
void agent_start(void);

/* Make the agent look at what it does beside answering (sched_perf_work()). Normal context. */
void agent_wake(void);

/* Remove the agent's socket; at exit. */
void agent_remove(void);

#endif
