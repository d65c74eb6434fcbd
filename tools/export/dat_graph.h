/* SPDX-License-Identifier: MIT */
/* The calls of a reader as the kernel's funcgraph_entry and funcgraph_exit, for dat_write.c. */
#ifndef VESTIGE_TOOLS_DAT_GRAPH_H
#define VESTIGE_TOOLS_DAT_GRAPH_H

#include <stdatomic.h>

#include "tools/dat/native.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_graph_runs.h"
#include "tools/export/dat_write.h"

struct dat_graph;
struct graph_event;

/* Convert @ev to the record that is encoded, with its depth and its call's time. */
struct record dat_graph_record(const struct graph_event *ev);

/*
 * May the calls of @r have the compact form of dat_events.h? Only the encoding shows whether they
 * do.
 */
bool dat_graph_may_be_compact(const struct reader *r);

/*
 * dat_graph_new() - encode all records of @r. The chunks of the CPU with the most records are
 * written to
 * @file at once, at @offset; the rest of the file is cut off. The other CPUs' chunks are written to
 * a file without a name beside it, see dat_graph_copy().
 * @level: zstd's, 0 none. @chunk_bytes: of a chunk before it is compressed.
 * @prototypes: finds the prototype of each function with arguments or results; NULL: not wanted.
 * @compact: in the compact form; only with dat_graph_may_be_compact().
 * Return: 0 and *@out, to be freed with dat_graph_free(); DAT_GRAPH_OTHER: not in the compact form,
 * @r is at its start again; -errno with fail() set.
 */
int dat_graph_new(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		  int level, uint32_t chunk_bytes, struct prototypes *prototypes, bool compact,
		  uint64_t offset, struct dat_graph **out);
void dat_graph_free(struct dat_graph *g);

/*
 * dat_graph_begin() - the same in steps, in the compact form, while @r gets more records. @file,
 * @opt and @r are used by the steps. Return: 0 and *@out, -errno with fail() set.
 */
int dat_graph_begin(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		    int level, uint32_t chunk_bytes, uint64_t offset, struct dat_graph **out);
/*
 * dat_graph_step() - encode the records that the reader has now. @stop: see dat_graph_runs_step().
 * Return: 0, DAT_GRAPH_HALF, DAT_GRAPH_LEARN, DAT_GRAPH_OTHER, -errno with fail() set.
 */
int dat_graph_step(struct dat_graph *g, const atomic_bool *stop);
/*
 * dat_graph_use() - the calling thread does the further steps, with its priority. @file: the same
 * file; @opt: with the caller's progress; both are used by the steps.
 */
void dat_graph_use(struct dat_graph *g, const struct dat_file *file, const struct dat_options *opt);
/*
 * dat_graph_finish() - encode the rest from @r, which is at the position where the last step ended.
 * Then @g is as after dat_graph_new(). Return: as dat_graph_step().
 */
int dat_graph_finish(struct dat_graph *g, struct reader *r);

/* The CPU whose chunks are in the file already. */
unsigned int dat_graph_first(const struct dat_graph *g);

/* Facts about the calls, with opt->native; the caller owns its bases from now on. */
void dat_graph_take_known(struct dat_graph *g, struct native_known *known);
/* Events of all CPUs. */
uint64_t dat_graph_events(const struct dat_graph *g);

/*
 * dat_graph_copy() - write the chunks of @cpu at @offset of the file; those of dat_graph_first()
 * are there already and are only counted.
 * @bytes, @nr_chunks: get the size and the number of chunks.
 * Return: 0 or -errno with fail() set.
 */
int dat_graph_copy(const struct dat_graph *g, unsigned int cpu, uint64_t offset, uint64_t *bytes,
		   uint32_t *nr_chunks);

#endif
