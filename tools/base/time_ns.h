/* SPDX-License-Identifier: MIT */
/* A clock of the machine as a number. */
#ifndef VESTIGE_TOOLS_TIME_NS_H
#define VESTIGE_TOOLS_TIME_NS_H

#include <stdint.h>
#include <time.h>

/* time_ns() - the time of clock @id now, in ns: CLOCK_MONOTONIC, CLOCK_REALTIME ... Any thread. */
static inline uint64_t time_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

#endif
