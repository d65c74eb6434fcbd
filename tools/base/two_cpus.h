/* SPDX-License-Identifier: MIT */
/* Whether a second thread has a CPU of its own. */
#ifndef VESTIGE_TOOLS_TWO_CPUS_H
#define VESTIGE_TOOLS_TWO_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* May the calling thread run on two CPUs or more? False also if that cannot be found out. */
static inline bool has_two_cpus(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	return !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1;
}

#endif
