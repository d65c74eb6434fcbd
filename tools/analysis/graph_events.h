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
 * graph_events_foresee() - foresee at each entry whether it would be folded, and check that with
 * the records that follow. It may be wrong if a thread goes to another CPU and back, or if records
 * were lost. Before the first graph_events_next() of events that are not folded.
 * graph_events_missed() - was it ever wrong? At the end. If so, leaves have to be found in the
 * records of a trace.dat, not in the ring's.
 * Return: 0 or -ENOMEM with fail() set.
 */
int graph_events_foresee(struct graph_events *g);
bool graph_events_missed(struct graph_events *g);

/*
 * graph_events_bases() - what a whole reading has found of the stacks, for another reading. @out:
 * freed by the caller. Before the first graph_events_next(). Return: 0 or -ENOMEM with fail().
 */
int graph_events_bases(const struct graph_events *g, struct record_base **out, size_t *nr);
/* Of stacks whose program exec() has replaced: struct record_end. At the end; otherwise as above. */
int graph_events_ends(struct graph_events *g, struct record_end **out, size_t *nr);
void graph_events_free(struct graph_events *g);

/*
 * graph_events_next() - the next event. An unwound call ends when that was seen, a tail call with
 * the call that made it. Calls whose exit was lost, or which are open at the end, have none.
 * Return: 1 and *@ev, borrowed until the next call; 0 at the end; -errno with fail() set.
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
