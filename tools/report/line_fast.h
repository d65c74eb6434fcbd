/* SPDX-License-Identifier: MIT */
/* Prints common events as libtraceevent does, in a tenth of the time. */
#ifndef VESTIGE_TOOLS_REPORT_LINE_FAST_H
#define VESTIGE_TOOLS_REPORT_LINE_FAST_H

#include <stdbool.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct tep_event;
struct line_fast;

/*
 * line_fast_new() - a printer for the records of an event.
 * @ev: borrowed; if libtraceevent prints it by a plug-in, the text is the plug-in's. @name: returns
 * the name of the function at an address, NULL if there is none; gets @arg. The name must live as
 * long as the printer. @swap: numbers have the other byte order.
 * Return: the printer, freed with line_fast_free(); NULL: libtraceevent must print this event.
 */
struct line_fast *line_fast_new(struct tep_event *ev, const char *(*name)(void *arg, uint64_t addr),
				void *arg, bool swap);
void line_fast_free(struct line_fast *f);

/* Print @rec, all fields of which lie inside it. Return: whether it was printed. */
bool line_fast_put(struct line_fast *f, struct out *o, const struct record *rec);

#endif
