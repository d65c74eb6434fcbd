/* SPDX-License-Identifier: MIT */
/* The kernel's `trace` text of a reader, record by record: printed at once, or pulled. */
#ifndef VESTIGE_TOOLS_TRACE_STREAM_H
#define VESTIGE_TOOLS_TRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct trace_stream;

struct trace_shape {
	const bool *cpus;   /* which CPUs to print, nr_cpus entries; NULL: all. Borrowed */
	uint32_t set, keep; /* as for trace_print() */
	bool no_header;	    /* as trace_pipe has none */
};

/*
 * trace_stream_new() - begin to print @r to @o, both borrowed.
 * Return: NULL with fail() set; *@err is -errno then.
 */
struct trace_stream *trace_stream_new(struct reader *r, struct out *o,
				      const struct trace_shape *shape, int *err);
void trace_stream_free(struct trace_stream *s);

/*
 * trace_stream_step() - print the next record.
 * Return: 1; 0 at the end; -errno with fail() set.
 */
int trace_stream_step(struct trace_stream *s);

/*
 * trace_stream_all() - print all that is left, a trace of calls with the help of a second thread.
 * Return: 0, also when the output has failed; -errno with fail() set.
 */
int trace_stream_all(struct trace_stream *s);

/* After the end: the reader has more records; go on with them. */
void trace_stream_again(struct trace_stream *s);

/*
 * trace_stream_go_on() - after the end: go on with @r, a new reader of the same processes, which is
 * borrowed from now on. Open calls stay open. @shape: as at first, without a header. Return: 1; 0:
 * it is another kind of trace, so the caller must make a new stream; -errno with fail() set.
 */
int trace_stream_go_on(struct trace_stream *s, struct reader *r, const struct trace_shape *shape);

/* How many records of a CPU were printed. */
uint64_t trace_stream_nr_taken(const struct trace_stream *s, unsigned int cpu);

/* After the end: how many calls were left out because they were nested too deep. */
uint64_t trace_stream_too_deep(const struct trace_stream *s);

#endif
