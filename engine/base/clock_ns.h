/* SPDX-License-Identifier: MIT */
/* The time of a clock of the kernel. Callable anywhere; most clocks need no system call (vDSO). */
#ifndef VESTIGE_BASE_CLOCK_NS_H
#define VESTIGE_BASE_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

/* @clock: as of clock_gettime(). Return: ns. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

#endif
