/* SPDX-License-Identifier: MIT */
/*
 * Reads the plain calls of a spool while another thread or process writes it (spool_write.h), in
 * turns (pages.h, pages_grow()).
 */
#ifndef VESTIGE_TOOLS_SPOOL_GROW_H
#define VESTIGE_TOOLS_SPOOL_GROW_H

#include <stdint.h>

#include "tools/reader/reader.h"

#define SPOOL_GROW_MEMBERS 256u /* with more processes the tables would be read too often */

struct spool_grow;

/*
 * spool_grow_open() - begin to read the spool @path; its head must be written.
 * Return: 0 and *@out, to be freed with spool_grow_close(); -errno with fail() set.
 */
int spool_grow_open(const char *path, struct spool_grow **out);
void spool_grow_close(struct spool_grow *g);

/*
 * spool_grow_turn() - read the new chunks, and give the records before @stamp.
 * @end: bytes of the spool to read, up to the end of a chunk. @stamp: in the processes' clock
 * units; all pages that begin before it must be in these bytes.
 * Return: 1: the reader has them, and they must be read before the next turn; 0: nothing is new;
 * -errno with fail() set; -ESTALE: the spool cannot be read this way. After an error it can only be
 * closed.
 */
int spool_grow_turn(struct spool_grow *g, uint64_t end, uint64_t stamp);

/* The reader, after the first turn. Borrowed. It has runs (read_run()), no names and no tasks. */
struct reader *spool_grow_reader(struct spool_grow *g);

#endif
