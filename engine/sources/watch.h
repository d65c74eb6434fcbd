/* SPDX-License-Identifier: MIT */
/*
 * Variables that the processor watches by its debug registers, through perf: up to four, in all
 * threads. The agent opens them and reports their samples.
 */
#ifndef VESTIGE_SOURCES_WATCH_H
#define VESTIGE_SOURCES_WATCH_H

#include <stdint.h>

#include "engine/sources/source.h"

#define WATCH_MAX 4u

/* The values of HW_BREAKPOINT_*. */
enum watch_type { WATCH_W = 2, WATCH_RW = 3 };

struct watch {
	uint64_t address;
	uint32_t bytes; /* 1, 2, 4 or 8; the address is a multiple of it */
	uint32_t type;	/* enum watch_type; 0: a free row */
};

/* An access to row @i's memory. @ip: the instruction after it. ring_as is the thread. */
struct watch_listener {
	struct source_link link;
	void (*call)(uint32_t i, uint64_t ip);
};
extern struct source watch_hits;

/*
 * watch_set() - set row @i; its memory is watched while there is a listener. Under the tree lock.
 * Return: 0; -errno of perf: the row is free. Only the agent gets that error at once; for other
 * callers it is a line in vestige_status.
 */
int watch_set(uint32_t i, const struct watch *w);

#endif
