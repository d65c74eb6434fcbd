/* SPDX-License-Identifier: MIT */
/* events/SYSTEM/NAME/hist, of one process or of all that a session has. */
#ifndef VESTIGE_TOOLS_HIST_FILE_H
#define VESTIGE_TOOLS_HIST_FILE_H

#include <stdbool.h>

#include "tools/target/target.h"
#include "tools/text/out.h"

bool hist_file_is(const char *file);

/*
 * hist_file_has_since() - whether the process has a histogram of the event whose trigger file @trigger is that
 * began to count at @since_ns (CLOCK_MONOTONIC) or later; a fork's child has its parent's beginning.
 */
bool hist_file_has_since(const struct target *t, const char *trigger, uint64_t since_ns);

/*
 * hist_file_print() - what the processes have counted, live or dead, added up: rows with the same keys
 * are one. Addresses that are shown by name are those of one process as they are in it; of several
 * those of its objects in a trace.dat, which are the same in all of them.
 * Return: 0, also when none of them has any; -errno with fail() set: ENOENT nobody has such an event.
 */
int hist_file_print(struct target *const *targets, unsigned int nr, const char *file,
		    struct out *o);

#endif
