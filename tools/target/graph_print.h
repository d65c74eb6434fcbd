/* SPDX-License-Identifier: MIT */
/* The text of a whole trace of calls, by two threads. */
#ifndef VESTIGE_TOOLS_GRAPH_PRINT_H
#define VESTIGE_TOOLS_GRAPH_PRINT_H

#include "tools/analysis/graph_events.h"
#include "tools/text/graph_text.h"

/*
 * graph_print() - print all events that are left, until the output has failed.
 * @text: prints to @o. A thread of its own uses both, while this one makes the events; neither
 * does at the end.
 * Return: 0, also after an error of the output (o->err); -errno with fail() set.
 */
int graph_print(struct graph_events *events, struct graph_text *text, const struct out *o);

#endif
