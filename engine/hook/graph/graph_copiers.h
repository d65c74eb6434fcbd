/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_COPIERS_H
#define VESTIGE_HOOK_GRAPH_GRAPH_COPIERS_H

/*
 * graph_is_refused() - whether the process has an object that copies stacks away and back, beside
 * which no call is wrapped. Once true it stays. Any context.
 */
int graph_is_refused(void);

/* Refuse it where the main thread has a user shadow stack. Control context. */
void graph_look_at_shadow_stacks(void);

/* A line of vestige_status: @what, and why, or which object it is. */
void graph_report_refused(const char *what);

#endif
