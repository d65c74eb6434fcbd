/* SPDX-License-Identifier: MIT */
/* Writes a reader's calls as the kernel's funcgraph_entry and funcgraph_exit, for dat_write.c. */
#ifndef VESTIGE_TOOLS_DAT_GRAPH_H
#define VESTIGE_TOOLS_DAT_GRAPH_H

#include <stdatomic.h>

#include "tools/dat/native.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_graph_runs.h"
#include "tools/export/dat_write.h"

struct dat_graph;
struct graph_event;

/* Convert @ev to the record that is encoded, with the depth and the time of its call. */
struct record dat_graph_record(const struct graph_event *ev);

/*
 * Can the calls of @r be tried in the compact form of dat_events.h? Whether all of them fit is
 * known only when they are encoded.
 */
bool dat_graph_may_be_compact(const struct reader *r);

/*
 * dat_graph_new() - encode all records of @r. @file is cut off at @offset, and the chunks of the
 * CPU with the most records are written there. The chunks of the other CPUs are written to a
 * temporary file; dat_graph_copy() copies them.
 * @level: of zstd, 1 .. 19; 0: not compressed. @chunk_bytes: of a chunk before it is compressed.
 * @prototypes: finds the prototype of each function with arguments or results; NULL: not wanted.
 * @compact: in the compact form; only with dat_graph_may_be_compact().
 * Return: 0 and *@out, to be freed with dat_graph_free(); DAT_GRAPH_OTHER: the calls do not fit in
 * the compact form, and @r is at its start again; -errno with fail() set.
 */
int dat_graph_new(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		  int level, uint32_t chunk_bytes, struct prototypes *prototypes, bool compact,
		  uint64_t offset, struct dat_graph **out);
void dat_graph_free(struct dat_graph *g);

/*
 * dat_graph_begin() - begin the same in steps, in the compact form, while @r gets more records.
 * @file, @opt and @r are borrowed by the steps. Return: 0 and *@out; -errno with fail() set.
 */
int dat_graph_begin(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		    int level, uint32_t chunk_bytes, uint64_t offset, struct dat_graph **out);
/*
 * dat_graph_step() - encode the records that the reader has now. @stop: see dat_graph_runs_step().
 * Return: 0, DAT_GRAPH_HALF, DAT_GRAPH_LEARN, DAT_GRAPH_OTHER, -errno with fail() set.
 */
int dat_graph_step(struct dat_graph *g, const atomic_bool *stop);
/*
 * dat_graph_use() - from now on the calling thread does the steps; the threads that compress get
 * its priority. @file: the same file, for the caller's path. @opt: with the caller's progress. Both
 * are borrowed by the steps.
 */
void dat_graph_use(struct dat_graph *g, const struct dat_file *file, const struct dat_options *opt);
/*
 * dat_graph_finish() - encode the remaining records, from @r, whose position is the end of the last
 * step. Then @g is as after dat_graph_new(). Return: as dat_graph_step().
 */
int dat_graph_finish(struct dat_graph *g, struct reader *r);

/* The CPU whose chunks are in the output already. */
unsigned int dat_graph_first(const struct dat_graph *g);

/* Facts about the calls, some only with opt->native. The caller then owns bases and ends. */
void dat_graph_take_known(struct dat_graph *g, struct native_known *known);
/* The number of events of all CPUs. */
uint64_t dat_graph_events(const struct dat_graph *g);

/*
 * dat_graph_place() - the chunks of @cpu have their place in the output from @offset on. The chunks
 * of dat_graph_first() are there already.
 * @bytes, @nr_chunks: get the size and the number of the chunks.
 * Return: 0 or -errno with fail() set.
 */
int dat_graph_place(struct dat_graph *g, unsigned int cpu, uint64_t offset, uint64_t *bytes,
		    uint32_t *nr_chunks);
/*
 * dat_graph_copy() - begin to copy the chunks to their places, once, after all calls of
 * dat_graph_place(). Return: the copy, which the caller must end with dat_copy_end() before the
 * output is complete; @g may be freed before.
 */
struct dat_copy *dat_graph_copy(struct dat_graph *g);

#endif
