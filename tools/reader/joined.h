/* SPDX-License-Identifier: MIT */
/* A reader and the buffers beside it as one reader, for views that show all in order of time. */
#ifndef VESTIGE_TOOLS_READER_JOINED_H
#define VESTIGE_TOOLS_READER_JOINED_H

#include "tools/reader/reader.h"

/*
 * reader_join() - the records of @in and of in->further. A stream of it is a CPU of one buffer: those of
 * @in come first. A record's cpu is the CPU, not the stream; record_buffer() tells its buffer. Marks that
 * `record -k` writes to compare the clocks are left out. @in is owned by the new reader, and is
 * returned as it is where nothing is beside it. `further` of the new reader is for facts about the
 * buffers, as reader_buffer_name(); its records are read by the new reader alone.
 * Return: 0; -ENOMEM with fail() set, and @in was closed.
 */
int reader_join(struct reader *in, struct reader **out);

/* How many CPUs @r is of, which may have more streams. */
unsigned int reader_join_cpus(const struct reader *r);

/* The CPU of stream number @stream of @r, which reader_join() may have made. */
unsigned int reader_join_cpu(const struct reader *r, unsigned int stream);

/* The buffer that stream number @stream of @r is of: 0 the first one, else a number of reader_buffer_name(). */
unsigned int reader_join_buffer(const struct reader *r, unsigned int stream);

/*
 * reader_buffer_name() - the name of a buffer.
 * @buffer: of record_buffer(). Return: "" for the top one. Borrowed.
 */
const char *reader_buffer_name(const struct reader *r, unsigned int buffer);

#endif
