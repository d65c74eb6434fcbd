/* SPDX-License-Identifier: MIT */
/*
 * events/ of a process that cannot be asked, as its area tells them: the events that there were, and the
 * state that the last write has left.
 */
#ifndef VESTIGE_TOOLS_EVENTS_LEFT_H
#define VESTIGE_TOOLS_EVENTS_LEFT_H

#include <stdbool.h>

#include "tools/target/target.h"
#include "tools/text/out.h"

/*
 * events_left_list() - the names in @dir: events, events/SYSTEM or events/SYSTEM/NAME.
 * @put: returns non-zero to stop. Return: 0; -ENOENT without fail(): there is no such folder; or -errno.
 */
int events_left_list(const struct target *t, const char *dir,
		     int (*put)(void *arg, const char *name, bool is_dir), void *arg);

/* events_left_print() - a file of it but hist. Return: as events_left_list(). */
int events_left_print(const struct target *t, const char *file, struct out *o);

#endif
