/* SPDX-License-Identifier: MIT */
/* The text of the kernel's `trace` file under function_graph. */
#ifndef VESTIGE_TOOLS_GRAPH_TEXT_H
#define VESTIGE_TOOLS_GRAPH_TEXT_H

#include <stdbool.h>

#include "tools/reader/graph_event.h"
#include "tools/text/out.h"

/* The options of the kernel that change the text; bits. */
enum graph_option {
	GRAPH_PRINT_OVERRUN = 1 << 0,
	GRAPH_PRINT_CPU = 1 << 1,
	GRAPH_PRINT_OVERHEAD = 1 << 2,
	GRAPH_PRINT_PROC = 1 << 3,
	GRAPH_PRINT_DURATION = 1 << 4,
	GRAPH_PRINT_ABSTIME = 1 << 5,
	GRAPH_PRINT_IRQS = 1 << 6,
	GRAPH_PRINT_TAIL = 1 << 7,
	GRAPH_PRINT_RETVAL = 1 << 8,
	GRAPH_PRINT_RETVAL_HEX = 1 << 9,
	GRAPH_SLEEP_TIME = 1 << 10,
	GRAPH_GRAPH_TIME = 1 << 11,
	GRAPH_LATENCY_FORMAT = 1 << 12,
	GRAPH_PRINT_ARGS = 1 << 13,
};

#define GRAPH_OPTIONS_DEFAULT                                                                      \
	(GRAPH_PRINT_CPU | GRAPH_PRINT_OVERHEAD | GRAPH_PRINT_DURATION | GRAPH_PRINT_IRQS |        \
	 GRAPH_SLEEP_TIME | GRAPH_GRAPH_TIME)

/*
 * graph_option_set() - set an option by its name in options/, or clear it if `no` is before the
 * name.
 * Return: whether there is an option of this name.
 */
bool graph_option_set(uint32_t *options, const char *name);

/* The options that were set in the traced process; the kernel's defaults if @r has no options. */
uint32_t graph_options_of(const struct reader *r);

/* The name of the i-th option, from 0; NULL behind the last. */
const char *graph_option_name(unsigned int i);

struct graph_text;

/*
 * graph_text_new() - a printer of @r's events to @o, both borrowed.
 * @cpus: the CPUs that are printed, for the counts of the header; NULL: all.
 * Return: it, to be freed with graph_text_free(), or NULL if memory is short.
 */
struct graph_text *graph_text_new(struct reader *r, struct out *o, const bool *cpus,
				  uint32_t options);
void graph_text_free(struct graph_text *g);

/* The lines that begin with '#'. */
void graph_text_header(struct graph_text *g);

/* Print an event's line, and before it the lines about lost records and a change of task. */
void graph_text_event(struct graph_text *g, const struct graph_event *ev);

#endif
