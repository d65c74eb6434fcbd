/* SPDX-License-Identifier: MIT */
/* The contents of a trace.dat other than its records, as `trace-cmd dump` prints them. */
#ifndef VESTIGE_TOOLS_REPORT_DUMP_H
#define VESTIGE_TOOLS_REPORT_DUMP_H

#include <stdbool.h>

struct dump_options {
	bool validate, all;
	bool json; /* with summary alone: as an object */
	bool summary, head_page, head_event, ftrace_events, systems, events, kallsyms, printk;
	bool cmd_lines, options, flyrecord, clock;
};

/*
 * dump_print() - print it on stdout.
 * @path: a trace.dat. Return: 0 or -errno with fail() set. If the reader of stdout goes away, that
 * is no error: 0.
 */
int dump_print(const char *path, const struct dump_options *o);

#endif
