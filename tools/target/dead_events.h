/* SPDX-License-Identifier: MIT */
/*
 * events/ of a process that cannot answer, from its area: the events that existed, and their
 * state after the last write.
 */
#ifndef VESTIGE_TOOLS_DEAD_EVENTS_H
#define VESTIGE_TOOLS_DEAD_EVENTS_H

#include <stdbool.h>

#include "tools/target/image.h"
#include "tools/text/out.h"

/*
 * dead_events_list() - the names in @dir: events, events/SYSTEM or events/SYSTEM/NAME. @put:
 * returns non-zero to stop. Return: 0; -ENOENT without fail(): there is no such folder; or -errno.
 */
int dead_events_list(const struct image *t, const char *dir,
		     int (*put)(void *arg, const char *name, bool is_dir), void *arg);

/* dead_events_print() - print a file below events/, except hist. Return: as dead_events_list(). */
int dead_events_print(const struct image *t, const char *file, struct out *o);

/*
 * dead_events_names() - its events, a line SYSTEM:NAME each. Events that are made at their first
 * use are included. Return: the text, malloced; NULL with fail() set.
 */
char *dead_events_names(const struct image *t);

#endif
