/* SPDX-License-Identifier: MIT */
/* The texts of common events, compiled: what libtraceevent would print, in a tenth of the time. */
#ifndef VESTIGE_TOOLS_REPORT_LINE_FAST_H
#define VESTIGE_TOOLS_REPORT_LINE_FAST_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;
struct line_fast;

/*
 * line_fast_new() - the text of an event's records.
 * @ev: borrowed; where a plug-in prints it, the text is the plug-in's. @name: of the function at an
 * address, NULL if there is none; gets @arg, and what it returns lives as long as this.
 * @swap: numbers are in the other byte order.
 * Return: NULL: it has to be left to libtraceevent.
 */
struct line_fast *line_fast_new(struct tep_event *ev, const char *(*name)(void *arg, uint64_t addr),
				void *arg, bool swap);
void line_fast_free(struct line_fast *f);

/* All fields of @rec lie inside of it. Return: whether it was printed. */
bool line_fast_put(struct line_fast *f, struct out *o, const struct record *rec);

#endif
