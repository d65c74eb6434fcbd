/* SPDX-License-Identifier: MIT */
/* `vestige list` of a target: the same lists that trace-cmd list prints of the kernel. */
#ifndef VESTIGE_TOOLS_LIST_TARGET_H
#define VESTIGE_TOOLS_LIST_TARGET_H

#include <stdbool.h>

#include "tools/cli/control.h"

struct list_target {
	bool systems, events, tracers, options, clocks, instances, compression, plugins,
		plugin_options;
	bool functions;		/* available_filter_functions */
	bool fields, full;	/* -F, --full: of the events */
	bool filters, triggers; /* -l, -R */
	bool json;		/* an object with an array for each part */
	const char *regex;	/* of events or functions; NULL: all */
};

/* Whether any list of a target or of the machine was requested. */
bool list_target_any(const struct list_target *l);

/* Print the requested lists, one after the other. Return: 0 or -errno with fail() set. */
int list_target(const struct control_which *which, const struct list_target *l);

#endif
