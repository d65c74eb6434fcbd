/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_COPIERS_H
#define VESTIGE_HOOK_GRAPH_GRAPH_COPIERS_H

/*
 * graph_is_refused() - whether no call may be wrapped in this process, because it has an object
 * that copies stacks. Once true, it stays true. Any context.
 */
int graph_is_refused(void);

/* Refuse the graph if the main thread has a user shadow stack. Control context. */
void graph_look_at_shadow_stacks(void);

/* Add a line to vestige_status: @what, and the reason or the object. */
void graph_report_refused(const char *what);

#endif
