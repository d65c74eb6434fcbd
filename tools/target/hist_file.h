/* SPDX-License-Identifier: MIT */
/* events/SYSTEM/NAME/hist, of one process or of all members of a session. */
#ifndef VESTIGE_TOOLS_HIST_FILE_H
#define VESTIGE_TOOLS_HIST_FILE_H

#include <stdbool.h>

#include "tools/target/image.h"
#include "tools/text/out.h"

bool hist_file_is(const char *file);

/*
 * hist_file_has_since() - whether the process has a histogram of the event whose trigger file
 * @trigger is that began to count at @since_ns (CLOCK_MONOTONIC) or later; a fork's child has its
 * parent's beginning.
 */
bool hist_file_has_since(const struct image *t, const char *trigger, uint64_t since_ns);

/*
 * hist_file_print() - print the sum of the processes' counts, live or dead: entries with the same
 * keys are one. Addresses of one process are shown as they are in it. Of several processes they are
 * shown as a trace.dat has them, which is the same in all. Return: 0, also when no process has an
 * entry; -errno with fail() set: ENOENT no process has such an event.
 */
int hist_file_print(struct image *const *targets, unsigned int nr, const char *file, struct out *o);

#endif
