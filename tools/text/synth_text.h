/* SPDX-License-Identifier: MIT */
/* Records of synthetic events as the kernel's trace shows them. */
#ifndef VESTIGE_TOOLS_SYNTH_TEXT_H
#define VESTIGE_TOOLS_SYNTH_TEXT_H

#include <stdbool.h>
#include <traceevent/event-parse.h>

#include "tools/code/symbols.h"
#include "tools/text/out.h"

/*
 * synth_text() - `lat=12 pid=100 comm=app`. @data: the record, whose fields were found to lie
 * inside it. @verbose: with each conversion before it. Return: whether it was written: false: the
 * event is no synthetic one.
 */
bool synth_text(struct out *o, const struct tep_event *ev, const char *data, struct symbols *s,
		bool verbose);

#endif
