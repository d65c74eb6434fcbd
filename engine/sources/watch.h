/* SPDX-License-Identifier: MIT */
/*
 * Variables that the processor watches (debug registers), by perf: up to four, in all threads. The
 * agent opens them and reports their samples.
 */
#ifndef VESTIGE_SOURCES_WATCH_H
#define VESTIGE_SOURCES_WATCH_H

#include <stdint.h>

#include "engine/sources/source.h"

#define WATCH_MAX 4u

/* As HW_BREAKPOINT_*. */
enum watch_type { WATCH_W = 2, WATCH_RW = 3 };

struct watch {
	uint64_t address;
	uint32_t bytes; /* 1, 2, 4 or 8; the address is a multiple of it */
	uint32_t type;	/* 0: the row is free */
};

/* Row @i saw an access. @ip: the instruction behind it. ring_as is the thread. */
struct watch_listener {
	struct source_link link;
	void (*call)(uint32_t i, uint64_t ip);
};
extern struct source watch_hits;

/*
 * watch_set() - set row @i; it is watched while there is a listener. Under the tree's lock.
 * Return: 0; -errno of perf, and the row is free, where the agent calls; elsewhere vestige_status
 * has it.
 */
int watch_set(uint32_t i, const struct watch *w);

#endif
