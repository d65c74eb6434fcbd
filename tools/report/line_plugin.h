/* SPDX-License-Identifier: MIT */
/*
 * Prints the events that libtraceevent prints by a plug-in and not by their `print fmt`: the
 * function tracer's, sched_switch and sched_wakeup. The text is the same as the plug-in's.
 */
#ifndef VESTIGE_TOOLS_REPORT_LINE_PLUGIN_H
#define VESTIGE_TOOLS_REPORT_LINE_PLUGIN_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;
struct line_plugin;

/* As line_fast_new(). Return: NULL: @ev is none of these events, or memory is short. */
struct line_plugin *line_plugin_new(struct tep_event *ev,
				    const char *(*name)(void *arg, uint64_t addr), void *arg,
				    bool swap);
void line_plugin_free(struct line_plugin *f);

/*
 * Print @rec, all fields of which lie inside it. Return: whether it was printed; if not, @o has a
 * part of the text.
 */
bool line_plugin_put(struct line_plugin *f, struct out *o, const struct record *rec);

#endif
