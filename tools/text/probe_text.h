/* SPDX-License-Identifier: MIT */
/* Records of dynamic probes (kprobe_events) as the kernel's trace shows them. */
#ifndef VESTIGE_TOOLS_PROBE_TEXT_H
#define VESTIGE_TOOLS_PROBE_TEXT_H

#include <stdbool.h>
#include <traceevent/event-parse.h>

#include "tools/code/symbols.h"
#include "tools/text/out.h"

/*
 * probe_text() - ` (work+0x0/0x40) n=1 s="a"`, from the first parenthesis on.
 * @data: the record; the caller has checked that its fields lie inside it.
 * Return: false: it is no event of a probe, and nothing was written.
 */
bool probe_text(struct out *o, const struct tep_event *ev, const char *data, struct symbols *s);

/* `sym+0x0/0x40`, as the kernel's %pS. */
void place_put_sized(struct out *o, struct symbols *s, uint64_t addr);

#endif
