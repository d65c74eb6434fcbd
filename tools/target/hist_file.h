/* SPDX-License-Identifier: MIT */
/* events/SYSTEM/NAME/hist, of one process or of all members of a session. */
#ifndef VESTIGE_TOOLS_HIST_FILE_H
#define VESTIGE_TOOLS_HIST_FILE_H

#include <stdbool.h>

#include "tools/target/image.h"
#include "tools/text/out.h"

bool hist_file_is(const char *file);

/*
 * hist_file_has_since() - whether the process has a histogram that began to count at @since_ns
 * (CLOCK_MONOTONIC) or later. @trigger: the trigger file of its event. A fork's child has the begin
 * time of its parent.
 */
bool hist_file_has_since(const struct image *t, const char *trigger, uint64_t since_ns);

/*
 * hist_file_print() - print the sum of the processes' counts, live or dead: entries with the same
 * keys are added. For one process, addresses are the process's own. For several they are
 * converted to a trace.dat's, which are the same in all processes. Return: 0, also when no process
 * has an entry; -errno with fail() set: ENOENT: no process has such an event.
 */
int hist_file_print(struct image *const *targets, unsigned int nr, const char *file, struct out *o);

#endif
