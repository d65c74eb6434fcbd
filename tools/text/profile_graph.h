/* SPDX-License-Identifier: MIT */
/* `vestige profile` of a recording that has entries and exits: time by function, thread, object. */
#ifndef VESTIGE_TOOLS_PROFILE_GRAPH_H
#define VESTIGE_TOOLS_PROFILE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/analysis/call_table.h"
#include "tools/text/view.h"

#define PROFILE_MAX_KEYS 8

struct profile_options {
	const char *sort; /* the argument of --sort, NULL none */
	enum call_sort keys[PROFILE_MAX_KEYS];
	unsigned int nr_keys;
	enum call_table_by by;
	bool threads; /* a row for each function of each thread */
	size_t top;   /* 0 all */
	bool callers, json;
	const char *diff; /* an earlier recording, NULL none */
};

/*
 * profile_graph() - print the profile of @v, which is open, to stdout.
 * Return: 0 or -errno with fail() set.
 */
int profile_graph(struct view *v, const struct profile_options *opt);

#endif
