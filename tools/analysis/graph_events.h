/* SPDX-License-Identifier: MIT */
/* A reader's records in order of time, the calls among them as function_graph's events. */
#ifndef VESTIGE_TOOLS_GRAPH_EVENTS_H
#define VESTIGE_TOOLS_GRAPH_EVENTS_H

#include <stdbool.h>

#include "tools/reader/graph_event.h"

struct graph_events;

/*
 * graph_events_new() - begin to read @r; where it can be read twice, it is read once for the depth.
 * @cpus: those wanted, nr_cpus of them; NULL: all.
 * @fold: make a GRAPH_LEAF of an entry and the exit behind it.
 * Return: it, borrowing @r, to be freed with graph_events_free(); NULL with fail() set, *@err then
 * being -errno.
 */
struct graph_events *graph_events_new(struct reader *r, const bool *cpus, bool fold, int *err);
/*
 * graph_events_foresee() - go and look at each entry whether it would be folded, and at what comes
 * whether that was right: it may be wrong where a thread goes to another CPU and back, or where
 * records were lost. Before the first graph_events_next() of events that are not folded.
 * graph_events_missed() - was it ever wrong? At the end. If so, leaves are what the records of a
 * trace.dat tell, and not what those of the ring do.
 * Return: 0 or -ENOMEM with fail() set.
 */
int graph_events_foresee(struct graph_events *g);
bool graph_events_missed(struct graph_events *g);

/*
 * graph_events_bases() - what reading all has shown of the stacks, for reading it again. @out:
 * freed by the caller. Before the first graph_events_next(). Return: 0 or -ENOMEM with fail().
 */
int graph_events_bases(const struct graph_events *g, struct record_base **out, size_t *nr);
void graph_events_free(struct graph_events *g);

/*
 * graph_events_next() - the next event. A call that vanished ends when that was seen, a tail call
 * with the call it was made from. Calls whose exit was lost, or which are open at the end, have
 * none. Return: 1 and *@ev, borrowed until the next call; 0 at the end; -errno with fail() set.
 */
int graph_events_next(struct graph_events *g, const struct graph_event **ev);

/* After the end: the reader has more records; go on with them, in the calls that are open. */
void graph_events_again(struct graph_events *g);
/* ... or @r has, a reader of the same processes made anew. */
void graph_events_go_on(struct graph_events *g, struct reader *r);

/* How many records of a CPU went into the events so far. */
uint64_t graph_events_nr_taken(const struct graph_events *g, unsigned int cpu);

/* Calls so deep that they were left out: see struct calls_limits. */
uint64_t graph_events_too_deep(const struct graph_events *g);

#endif
