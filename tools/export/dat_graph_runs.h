/* SPDX-License-Identifier: MIT */
/*
 * The calls of a reader that has runs by columns, for dat_graph.c: the same events in a fifth of
 * the time.
 */
#ifndef VESTIGE_TOOLS_DAT_GRAPH_RUNS_H
#define VESTIGE_TOOLS_DAT_GRAPH_RUNS_H

#include <stdatomic.h>

#include "tools/export/dat_file.h"
#include "tools/export/dat_pages.h"
#include "tools/export/dat_write.h"

struct dat_graph_runs {
	const struct dat_file *file; /* that is written, for fail() */
	struct reader *r;
	const struct dat_options *opt;
	struct subbuf_writer *pages; /* a CPU each, not ended */
	bool learn; /* read all once before, to know how deep each stack was at first */
	/* results */
	uint64_t events;
	bool missed;		   /* see graph_events_missed() */
	struct record_base *bases; /* calls_bases(); freed by the caller, also after an error */
	size_t nr_bases;
	struct record_end *ends; /* as graph_events_ends(); freed by the caller, too */
	size_t nr_ends;
	struct encoder *e; /* from dat_graph_runs_begin() to dat_graph_runs_end() */
};

enum dat_graph_end {
	DAT_GRAPH_DONE,
	DAT_GRAPH_LEARN, /* stacks were deeper at first: begin again with `learn` */
	DAT_GRAPH_HALF,	 /* a step was stopped: another one goes on */
	DAT_GRAPH_OTHER, /* a record without columns, or a call without room in the compact form */
};

/*
 * dat_graph_runs() - the events of all calls, in the compact form of dat_events.h, into the pages.
 * Return: enum dat_graph_end, of which the last two leave pages and reader anywhere; -errno with
 * fail() set.
 */
int dat_graph_runs(struct dat_graph_runs *g);

/*
 * The same in steps, of a reader that gets more records: begin, steps with all that it has each, the
 * end. A step's results are as if it were the last one. After it and before the next one, another
 * reader may go on, dat_graph_runs_go_on(), with as many CPUs, at the same place. @stop: ends a step
 * between two runs when it is set; may be NULL. Return: as
 * dat_graph_runs(), of dat_graph_runs_begin() 0 or -errno.
 */
int dat_graph_runs_begin(struct dat_graph_runs *g);
int dat_graph_runs_step(struct dat_graph_runs *g, const atomic_bool *stop);
void dat_graph_runs_go_on(struct dat_graph_runs *g, struct reader *r);
void dat_graph_runs_end(struct dat_graph_runs *g); /* also after an error */

#endif
