/* SPDX-License-Identifier: MIT */
/* A reader and its further buffers as one reader, for views that show all in order of time. */
#ifndef VESTIGE_TOOLS_READER_JOINED_H
#define VESTIGE_TOOLS_READER_JOINED_H

#include "tools/reader/reader.h"

/*
 * reader_join() - the records of @in and of in->further. A stream of it is a CPU of one buffer; the
 * streams of @in come first. A record's cpu is the CPU, not the stream; record_buffer() gives its
 * buffer. Marks that `record -k` writes to compare the clocks are left out.
 * @in: owned by the new reader; without further buffers it is returned itself. @out: the new
 * reader. Its `further` is for facts about the buffers, such as reader_buffer_name(); the caller
 * must not read records from them.
 * Return: 0; -ENOMEM with fail() set, and @in was closed.
 */
int reader_join(struct reader *in, struct reader **out);

/* The number of CPUs of @r; a joined reader has more streams than CPUs. */
unsigned int reader_join_cpus(const struct reader *r);

/* The CPU of stream number @stream of @r, which reader_join() may have made. */
unsigned int reader_join_cpu(const struct reader *r, unsigned int stream);

/*
 * The buffer of stream number @stream of @r: 0 the first one, else a number for
 * reader_buffer_name().
 */
unsigned int reader_join_buffer(const struct reader *r, unsigned int stream);

/*
 * reader_buffer_name() - the name of a buffer.
 * @buffer: of record_buffer(). Return: "" for the top one. Borrowed.
 */
const char *reader_buffer_name(const struct reader *r, unsigned int buffer);

#endif
