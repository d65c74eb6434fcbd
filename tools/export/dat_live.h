/* SPDX-License-Identifier: MIT */
/*
 * Encodes a trace.dat while the program runs, from the growing spool, on idle CPU time
 * (SCHED_IDLE). dat_write() continues it when the program has ended.
 *
 * If records cannot be encoded so (other records than plain calls, a stack that was deeper at the
 * start, a disk with little space), that is no error: dat_write() then begins from the start.
 */
#ifndef VESTIGE_TOOLS_DAT_LIVE_H
#define VESTIGE_TOOLS_DAT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/export/dat_file.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_native.h"
#include "tools/export/dat_write.h"
#include "tools/reader/reader.h"

#define DAT_LIVE_LEVEL 1 /* of zstd, which dat_write() must be called with */

/* With less free bytes on the disk, all are left for the spool. */
#define DAT_LIVE_FREE (UINT64_C(1) << 30)

struct dat_live;

/*
 * dat_live_new() - start a thread that encodes up to the turns that dat_live_turn() reports.
 * @output: the trace.dat; the unfinished file, without a name if possible, is in its folder.
 * @spool: exists.
 * @idle: only on CPU time that nothing else wants.
 * Return: it, to be freed with dat_live_free(); NULL with fail() set.
 */
struct dat_live *dat_live_new(const char *output, const char *spool, bool idle);

/*
 * dat_live_turn() - the spool has grown. Never waits.
 * @end, @stamp: as spool_grow_turn() takes them.
 */
void dat_live_turn(struct dat_live *l, uint64_t end, uint64_t stamp);

/*
 * The number of turns that the thread has processed; UINT64_MAX: it has ended. Several calls of
 * dat_live_turn() may be one turn.
 */
uint64_t dat_live_turns(const struct dat_live *l);

/* End the thread and remove the unfinished file, to free disk space. */
void dat_live_drop(struct dat_live *l);
void dat_live_free(struct dat_live *l);

/*
 * dat_live_take() - go on with @r, the whole spool, nothing of which is read yet.
 * @path: the output. @opt: of version 7, with DAT_LIVE_LEVEL and one buffer.
 * @file, *@graph, *@native: set to the file, all of its calls, and its native block, which has
 * begun, or NULL. *@graph NULL: there is nothing to go on with, and @r is at its start.
 * Return: 0; DAT_GRAPH_LEARN: nor that, and a first try would end so; -errno with fail() set.
 */
int dat_live_take(struct dat_live *l, const char *path, struct reader *r,
		  const struct dat_options *opt, struct dat_file *file, struct dat_graph **graph,
		  struct dat_native **native);

#endif
