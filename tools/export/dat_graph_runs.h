/* SPDX-License-Identifier: MIT */
/*
 * The calls of a reader that has runs by columns, for dat_graph.c: the same events in a fifth of
 * the time.
 */
#ifndef VESTIGE_TOOLS_DAT_GRAPH_RUNS_H
#define VESTIGE_TOOLS_DAT_GRAPH_RUNS_H

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
};

enum dat_graph_end {
	DAT_GRAPH_DONE,
	DAT_GRAPH_LEARN, /* stacks were deeper at first: begin again with `learn` */
	DAT_GRAPH_OTHER, /* a record without columns, or a call without room in the compact form */
};

/*
 * dat_graph_runs() - the events of all calls, in the compact form of dat_events.h, into the pages.
 * Return: enum dat_graph_end, of which the last two leave pages and reader anywhere; -errno with
 * fail() set.
 */
int dat_graph_runs(struct dat_graph_runs *g);

#endif
