/* SPDX-License-Identifier: MIT */
/*
 * A spool that is read while it is written: a reader of its plain calls, in turns (pages.h,
 * pages_grow()). Another thread or process writes it (spool_write.h).
 */
#ifndef VESTIGE_TOOLS_SPOOL_GROW_H
#define VESTIGE_TOOLS_SPOOL_GROW_H

#include <stdint.h>

#include "tools/reader/reader.h"

#define SPOOL_GROW_MEMBERS 256u /* of more processes the tables would be read too often */

struct spool_grow;

/*
 * spool_grow_open() - begin to read the spool @path, of which the head is written.
 * Return: 0 and *@out, to be freed with spool_grow_close(); -errno with fail() set.
 */
int spool_grow_open(const char *path, struct spool_grow **out);
void spool_grow_close(struct spool_grow *g);

/*
 * spool_grow_turn() - look at what was written, and give the records before @stamp.
 * @end: bytes of the spool, the end of a chunk. @stamp: all pages that begin before it are in these
 * bytes; in the clock units of the processes.
 * Return: 1: the reader has them, and they must be read before the next turn; 0: there is nothing
 * new; -errno with fail() set, -ESTALE: it cannot be read so. After an error it is only closed.
 */
int spool_grow_turn(struct spool_grow *g, uint64_t end, uint64_t stamp);

/* The reader, after the first turn. Borrowed. It has runs (read_run()), no names and no tasks. */
struct reader *spool_grow_reader(struct spool_grow *g);

#endif
