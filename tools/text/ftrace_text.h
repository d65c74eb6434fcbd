/* SPDX-License-Identifier: MIT */
/*
 * The text of tracers whose records are events of the system ftrace, in the kernel's own form, and
 * the header of tracers that have their own.
 */
#ifndef VESTIGE_TOOLS_FTRACE_TEXT_H
#define VESTIGE_TOOLS_FTRACE_TEXT_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;

/* The titles over the columns, where the tracer has its own. Return: whether it has. */
bool ftrace_text_titles(struct out *o, const char *tracer);

/*
 * ftrace_text() - the text of a record without its newline. @data: its fields, all of which lie
 * inside. Return: whether the event has a form here.
 */
bool ftrace_text(const struct reader *r, struct out *o, const struct tep_event *ev,
		 const char *data);

#endif
