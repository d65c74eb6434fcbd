/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_TOOLS_FILE_LIMIT_H
#define VESTIGE_TOOLS_FILE_LIMIT_H

#include <sys/resource.h>

/* Let this process open as many files as it may. Its children inherit that. */
static inline void file_limit_raise(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

#endif
