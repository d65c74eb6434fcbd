/* SPDX-License-Identifier: MIT */
/* A reader and the buffer beside it as one reader, for views that show both in order of time. */
#ifndef VESTIGE_TOOLS_READER_JOINED_H
#define VESTIGE_TOOLS_READER_JOINED_H

#include "tools/reader/reader.h"

/*
 * reader_join() - the records of @in and of in->second. The streams of the second are behind the
 * streams of the first; a record's cpu is the CPU, not the stream. Marks that `record -k` writes to
 * compare the clocks are left out. @in is owned by the new reader, and is returned as it is where it has no second.
 * Return: 0; -ENOMEM with fail() set, and @in was closed.
 */
int reader_join(struct reader *in, struct reader **out);

/* How many CPUs @r is of, which may have more streams. */
unsigned int reader_join_cpus(const struct reader *r);

#endif
