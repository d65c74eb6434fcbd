/* SPDX-License-Identifier: MIT */
/* Records of synthetic events as the kernel's trace shows them. */
#ifndef VESTIGE_TOOLS_SYNTH_TEXT_H
#define VESTIGE_TOOLS_SYNTH_TEXT_H

#include <stdbool.h>
#include <traceevent/event-parse.h>

#include "tools/code/symbols.h"
#include "tools/text/out.h"

/*
 * synth_text() - `lat=12 pid=100 comm=app`. @data: the record; the caller has checked that its
 * fields lie inside it. @verbose: print each field's conversion before the field.
 * Return: false: it is no synthetic event, and nothing was written.
 */
bool synth_text(struct out *o, const struct tep_event *ev, const char *data, struct symbols *s,
		bool verbose);

#endif
