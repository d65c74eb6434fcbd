/* SPDX-License-Identifier: MIT */
/*
 * System calls and watched memory, for region.c: the kernel cannot reach it by the program's
 * addresses, may change the mapping, and must not block SIGSEGV.
 */
#ifndef VESTIGE_SOURCES_REGION_CALLS_H
#define VESTIGE_SOURCES_REGION_CALLS_H

#include <stdint.h>

/*
 * region_calls_start() - from now on they get the alias. Under the tree's lock. Return: 0; -EBUSY:
 * a thread has SIGSEGV blocked; -errno: system calls are not seen.
 */
int region_calls_start(void);
void region_calls_stop(void);

/* Calls that have an alias now, or look for one. */
extern uint32_t region_calls_busy;

/* Of region.c: the alias of watched memory, or 0; any context. */
uint64_t region_alias(uint64_t at);
/* The mapping in these bounds is about to change: it is no longer watched. Any context. */
void region_change(uint64_t lo, uint64_t hi);
/* Some thread may wait by an address there (futex). */
void region_waits(uint64_t at);

#endif
