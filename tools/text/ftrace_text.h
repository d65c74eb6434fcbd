/* SPDX-License-Identifier: MIT */
/*
 * The text of tracers whose records are events of the system ftrace, in the form of the kernel's
 * `trace` file, and the column titles of tracers that have their own.
 */
#ifndef VESTIGE_TOOLS_FTRACE_TEXT_H
#define VESTIGE_TOOLS_FTRACE_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;

/* Print the titles over the columns if @tracer has its own. Return: whether it has. */
bool ftrace_text_titles(struct out *o, const char *tracer);

/*
 * ftrace_text() - print the text of a record without its newline. @data: its fields, all of which
 * lie inside the record. Return: false: this event has no such form, and nothing was printed.
 */
bool ftrace_text(const struct reader *r, struct out *o, const struct tep_event *ev,
		 const char *data);

#endif
