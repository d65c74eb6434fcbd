/* SPDX-License-Identifier: MIT */
/*
 * Idle states and frequencies of the CPUs on which threads of this process have run while there was
 * a listener, by the kernel's tracepoints power:cpu_idle, cpu_frequency and cpu_idle_miss. The
 * agent reports them, with ring_as set to the task that was on the CPU: mostly its idle task.
 */
#ifndef VESTIGE_SOURCES_POWER_H
#define VESTIGE_SOURCES_POWER_H

#include <stdint.h>

#include "engine/sources/source.h"

enum power_kind {
	POWER_IDLE,
	POWER_FREQUENCY,
	POWER_MISS, /* the idle state was too deep or not deep enough */
	NR_POWER_KINDS,
};

#define POWER_IDLE_END UINT32_MAX /* state of POWER_IDLE when the CPU leaves the idle state */

struct power {
	uint32_t kind;
	uint32_t cpu;
	uint32_t state; /* number of the idle state; POWER_FREQUENCY: kHz */
	uint32_t below; /* POWER_MISS: a deeper state would have been right */
};

struct power_listener {
	struct source_link link;
	void (*call)(const struct power *p);
};
extern struct source powers;

#endif
