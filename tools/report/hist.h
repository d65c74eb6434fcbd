/* SPDX-License-Identifier: MIT */
/* `vestige hist`: counts of events and calls, as a tree of their callers. */
#ifndef VESTIGE_TOOLS_REPORT_HIST_H
#define VESTIGE_TOOLS_REPORT_HIST_H

#include <stdbool.h>

/*
 * hist_print() - print the counts of the trace.dat @path to stdout, the most frequent first.
 * @all: of all tasks together, not by task. @json: as JSON. Return: 0 or -errno with fail() set:
 * ENODATA: there is no record.
 */
int hist_print(const char *path, bool all, bool json);

#endif
