/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_TOOLS_SIGNALS_H
#define VESTIGE_TOOLS_SIGNALS_H

#include <signal.h>
#include <time.h>

/* signals_drop() - drop pending signals. @set: the signals, which this thread has blocked. */
static inline void signals_drop(const sigset_t *set)
{
	static const struct timespec now = {0};

	while (sigtimedwait(set, NULL, &now) > 0)
		;
}

#endif
