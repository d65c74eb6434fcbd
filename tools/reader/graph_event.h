/* SPDX-License-Identifier: MIT */
/*
 * Input of printers and writers of function_graph: entries and exits with their depth and times, as
 * the kernel's funcgraph_entry and funcgraph_exit have them, and all other records between.
 * analysis/graph_events.h makes them of a reader.
 */
#ifndef VESTIGE_TOOLS_GRAPH_EVENT_H
#define VESTIGE_TOOLS_GRAPH_EVENT_H

#include "tools/reader/reader.h"

enum graph_event_type {
	GRAPH_OTHER, /* a record of another kind */
	GRAPH_ENTRY,
	GRAPH_EXIT,
	GRAPH_LEAF, /* an entry whose exit is the next event of its CPU: both in one */
};

enum graph_event_flag {
	GRAPH_TAIL = 1,	    /* ENTRY, LEAF: entered by a tail call */
	GRAPH_UNWOUND = 2,  /* EXIT, LEAF: it did not return */
	GRAPH_NO_START = 4, /* EXIT: the trace has no entry of the call; start is equal to end */
	GRAPH_RETVAL = 8,   /* EXIT, LEAF: retval is valid */
	GRAPH_ARGS = 16,    /* ENTRY, LEAF: args is valid */
};

struct graph_event {
	enum graph_event_type type;
	uint32_t flags; /* enum graph_event_flag */
	const struct record
		*rec;	     /* its record; for a LEAF the entry's. Borrowed, as from merge.h */
	uint64_t lost;	     /* records lost on this CPU just before this event */
	uint64_t ip;	     /* the function's entry */
	uint64_t start, end; /* of the call; ENTRY: start alone */
	uint64_t retval;
	const void *args; /* see record_arg(); borrowed as the event is */
	uint32_t depth;	  /* calls around it */
	uint32_t overrun;
	uint32_t stack; /* a number that is unique in the trace; 0: the thread's own stack */
};

#endif
