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
	const struct dat_file *file; /* the output, for fail() */
	struct reader *r;
	const struct dat_options *opt;
	struct subbuf_writer *pages; /* a CPU each, not ended */
	bool learn; /* read all records once before, to find the initial depth of each stack */
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
	DAT_GRAPH_LEARN, /* stacks were deeper at the start: begin again with `learn` */
	DAT_GRAPH_HALF,	 /* a step was stopped: another one continues it */
	DAT_GRAPH_OTHER, /* a record without columns, or a call without room in the compact form */
};

/*
 * dat_graph_runs() - write the events of all calls, in the compact form of dat_events.h, to the
 * pages.
 * Return: enum dat_graph_end; after the last two the position of pages and reader is undefined;
 * -errno with fail() set.
 */
int dat_graph_runs(struct dat_graph_runs *g);

/*
 * The same in steps, for a reader that gets more records: begin, then steps, each for all records
 * that it has then, then the end. Each step sets the results as if it were the last one. Between
 * two steps dat_graph_runs_go_on() may replace the reader by one with the same number of CPUs at
 * the same position.
 * @stop: when it is set, a step ends between two runs; may be NULL. Return: as dat_graph_runs();
 * dat_graph_runs_begin(): 0 or -errno.
 */
int dat_graph_runs_begin(struct dat_graph_runs *g);
int dat_graph_runs_step(struct dat_graph_runs *g, const atomic_bool *stop);
void dat_graph_runs_go_on(struct dat_graph_runs *g, struct reader *r);
void dat_graph_runs_end(struct dat_graph_runs *g); /* also after an error */

#endif
