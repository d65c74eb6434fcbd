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
	const bool *cpus;   /* those wanted, nr_cpus of them; NULL: all. Borrowed */
	uint32_t set, keep; /* of a trace of calls: options set, and those of the process kept */
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
 * trace_stream_go_on() - ... or @r has, a reader of the same processes made anew, of which
 * everything is borrowed from now on; calls that are open stay so. @shape: as at first, without a
 * header. Return: 1; 0 it is another kind of trace: make a new stream; -errno with fail() set.
 */
int trace_stream_go_on(struct trace_stream *s, struct reader *r, const struct trace_shape *shape);

/* How many records of a CPU are in what was printed. */
uint64_t trace_stream_nr_taken(const struct trace_stream *s, unsigned int cpu);

/* Calls that were nested deeper than is kept, after the end. */
uint64_t trace_stream_too_deep(const struct trace_stream *s);

#endif
