/* SPDX-License-Identifier: MIT */
/*
 * Forms of a record other than the default one, for the options raw, hex, bin and fields, and for
 * latency-format, which has other columns before the text.
 */
#ifndef VESTIGE_TOOLS_TRACE_FORMS_H
#define VESTIGE_TOOLS_TRACE_FORMS_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

enum trace_form {
	TRACE_FORM_DEFAULT,
	TRACE_FORM_BIN,
	TRACE_FORM_HEX,
	TRACE_FORM_RAW,
};

/* The form that the options of @r choose; if several are set the kernel's order holds. */
enum trace_form trace_form_of(const struct reader *r);

/* trace_form_put() - a whole line (bin: its bytes) in a form other than the default one. */
void trace_form_put(const struct reader *r, struct out *o, const struct record *rec,
		    enum trace_form form);

/* The text of the option `fields` in place of an event's text, newline included. */
void trace_fields_put(const struct reader *r, struct out *o, const struct record *rec);

/*
 * Latency-format: a line shows the time to the next line, so it is printed when that one comes.
 */
struct trace_latency;

/* Return: it, to be freed; NULL: memory is short. @r, @o: borrowed. */
struct trace_latency *trace_latency_new(const struct reader *r, struct out *o);
void trace_latency_free(struct trace_latency *l);

/*
 * The part of the latency header that all tracers have. @in_buffer, @written: counts of records.
 */
void trace_latency_lines(const struct reader *r, struct out *o, const char *tracer,
			 uint64_t in_buffer, uint64_t written);

/* The lines that begin with `#`, behind the first two. @in_buffer, @written: counts of records. */
void trace_latency_header(struct trace_latency *l, uint64_t in_buffer, uint64_t written);

/*
 * For each record call these in turn: trace_latency_next() prints the line that waits,
 * trace_latency_hold() keeps this record; then its text is written to trace_latency_body().
 */
void trace_latency_next(struct trace_latency *l, const struct record *rec);
void trace_latency_hold(struct trace_latency *l, const struct record *rec);

/* The buffer for the text of the record that is kept. */
struct out *trace_latency_body(struct trace_latency *l);

/* There are no more records for now: print the one that waits. */
void trace_latency_flush(struct trace_latency *l);

#endif
