/* SPDX-License-Identifier: MIT */
/*
 * System calls and watched memory, for region.c. The kernel cannot access watched memory by the
 * program's addresses; it may change the mapping; and it must not block SIGSEGV.
 */
#ifndef VESTIGE_SOURCES_REGION_CALLS_H
#define VESTIGE_SOURCES_REGION_CALLS_H

#include <stdint.h>

/*
 * region_calls_start() - from now on system calls get the alias. Under the tree lock. Return: 0;
 * -EBUSY: a thread has SIGSEGV blocked; -errno: system calls are not seen.
 */
int region_calls_start(void);
void region_calls_stop(void);

/* The number of calls that have an alias now, or look for one. */
extern uint32_t region_calls_busy;

/* Defined in region.c: the address in the alias for watched memory at @at, or 0. Any context. */
uint64_t region_alias(uint64_t at);
/*
 * Defined in region.c: the mapping within these bounds is about to change, so it is no longer
 * watched. Any context.
 */
void region_change(uint64_t lo, uint64_t hi);
/* Defined in region.c: a thread may wait at an address there (futex). */
void region_waits(uint64_t at);

#endif
