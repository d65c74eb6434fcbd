/* SPDX-License-Identifier: MIT */
/* How often events and calls happened, as a tree of their callers: `vestige hist`. */
#ifndef VESTIGE_TOOLS_REPORT_HIST_H
#define VESTIGE_TOOLS_REPORT_HIST_H

#include <stdbool.h>

/*
 * hist_print() - on stdout, the most frequent first.
 * @all: of all tasks together. Return: 0 or -errno with fail() set: ENODATA there is no record.
 */
int hist_print(const char *path, bool all, bool json);

#endif
