/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat whose records are encoded while the program runs, of the spool that grows, on CPU time
 * that no other thread wants (SCHED_IDLE). dat_write() goes on with it when the program has ended.
 *
 * What cannot be encoded so (another form than plain calls, a stack that was deeper, a disk with
 * little room) is no error: dat_write() begins at the beginning then.
 */
#ifndef VESTIGE_TOOLS_DAT_LIVE_H
#define VESTIGE_TOOLS_DAT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/export/dat_file.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_write.h"
#include "tools/reader/reader.h"

#define DAT_LIVE_LEVEL 1 /* of zstd, which dat_write() must be called with */

/* Less room on the disk is left to the spool: bytes. */
#define DAT_LIVE_FREE (UINT64_C(1) << 30)

struct dat_live;

/*
 * dat_live_new() - begin a thread that encodes what dat_live_turn() tells it of.
 * @output: the trace.dat, of which an unfinished file, without a name if possible, is in its folder. @spool: exists.
 * @idle: only on CPU time that nothing else wants.
 * Return: it, to be freed with dat_live_free(); NULL with fail() set.
 */
struct dat_live *dat_live_new(const char *output, const char *spool, bool idle);

/*
 * dat_live_turn() - the spool has grown. Never waits.
 * @end, @stamp: as spool_grow_turn() takes them.
 */
void dat_live_turn(struct dat_live *l, uint64_t end, uint64_t stamp);

/* How many turns its thread has looked at, UINT64_MAX when it has ended; it may take several calls of dat_live_turn() for one. */
uint64_t dat_live_turns(const struct dat_live *l);

/* End it and remove its unfinished file, so that the disk has room again. */
void dat_live_drop(struct dat_live *l);
void dat_live_free(struct dat_live *l);

/*
 * dat_live_take() - go on with @r, the whole spool, nothing of which is read yet.
 * @path: the output. @opt: of version 7, with DAT_LIVE_LEVEL and one buffer.
 * @file, *@graph: set to the file and all of its calls. *@graph NULL: there is nothing to go on
 * with, and @r is at its start. Return: 0; DAT_GRAPH_LEARN: nor that, and a first try would end so; -errno
 * with fail() set.
 */
int dat_live_take(struct dat_live *l, const char *path, struct reader *r,
		  const struct dat_options *opt, struct dat_file *file, struct dat_graph **graph);

#endif
