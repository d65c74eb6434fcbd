/* SPDX-License-Identifier: MIT */
/* The text of the kernel's `trace` file: header and lines of the default format. */
#ifndef VESTIGE_TOOLS_TRACE_TEXT_H
#define VESTIGE_TOOLS_TRACE_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct trace_text;

/*
 * trace_text_new() - a printer of @r's records to @o, both borrowed.
 * @cpus: the CPUs that are printed, nr_cpus of them; NULL: all. The header counts these alone.
 * Return: it, to be freed with trace_text_free(), or NULL if memory is short.
 */
struct trace_text *trace_text_new(struct reader *r, struct out *o, const bool *cpus);
void trace_text_free(struct trace_text *t);

/* The lines that begin with '#'. */
void trace_text_header(struct trace_text *t);

/* Print as trace_pipe does: no line `CPU:N buffer started`. */
void trace_text_pipe(struct trace_text *t);

/*
 * Print a record's line, and before it the lines about lost records and the start of a CPU's
 * buffer.
 */
void trace_text_record(struct trace_text *t, const struct record *rec);

/*
 * There are no more records for now: print the line that waits for the next one (latency-format).
 */
void trace_text_flush(struct trace_text *t);

/* The five characters of latency flags. */
void trace_text_flags(char to[5], uint8_t flags, uint8_t preempt_count);

#endif
