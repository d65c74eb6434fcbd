/* SPDX-License-Identifier: MIT */
/* A reader's records in order of time, the calls among them as function_graph's events. */
#ifndef VESTIGE_TOOLS_GRAPH_EVENTS_H
#define VESTIGE_TOOLS_GRAPH_EVENTS_H

#include <stdbool.h>

#include "tools/reader/graph_event.h"

struct graph_events;

/*
 * graph_events_new() - begin to read @r. A reader that can be read twice is read once before, for
 * the depth (calls_learn()).
 * @cpus: the wanted CPUs, nr_cpus of them; NULL: all.
 * @fold: make a GRAPH_LEAF of an entry and the exit behind it.
 * Return: the object, which borrows @r and is freed with graph_events_free(); NULL with fail() set
 * and *@err -errno.
 */
struct graph_events *graph_events_new(struct reader *r, const bool *cpus, bool fold, int *err);
/*
 * graph_events_foresee() - foresee at each entry whether it would be folded, and check that with
 * the later records. It may be wrong if a thread goes to another CPU and back, or if records were
 * lost. To be called before the first graph_events_next(), without @fold.
 * graph_events_missed() - was a prediction wrong? To be called at the end. If so, leaves must be
 * found in the records of a trace.dat, not in the ring's.
 * Return: 0 or -ENOMEM with fail() set.
 */
int graph_events_foresee(struct graph_events *g);
bool graph_events_missed(struct graph_events *g);

/*
 * graph_events_bases() - the results of calls_learn(), for another reading.
 * @out: freed by the caller. Before the first graph_events_next(). Return: 0 or -ENOMEM with fail()
 * set.
 */
int graph_events_bases(const struct graph_events *g, struct record_base **out, size_t *nr);
/* The ends of stacks whose program exec() has replaced. To be called at the end; else as above. */
int graph_events_ends(struct graph_events *g, struct record_end **out, size_t *nr);
void graph_events_free(struct graph_events *g);

/*
 * graph_events_next() - the next event. An unwound call ends when the unwinding was seen, a tail
 * call with the call that made it. A call that is open at the end, or whose exit was lost, has no
 * exit event.
 * Return: 1 and *@ev, borrowed until the next call; 0 at the end; -errno with fail() set.
 */
int graph_events_next(struct graph_events *g, const struct graph_event **ev);

/* After the end: the reader has more records; go on with them, in the calls that are open. */
void graph_events_again(struct graph_events *g);
/* The same with a new reader @r of the same processes. */
void graph_events_go_on(struct graph_events *g, struct reader *r);

/* The number of records of a CPU that were taken so far. */
uint64_t graph_events_nr_taken(const struct graph_events *g, unsigned int cpu);

/* Calls so deep that they were left out: see struct calls_limits. */
uint64_t graph_events_too_deep(const struct graph_events *g);

#endif
