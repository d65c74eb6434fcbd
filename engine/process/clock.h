/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_PROCESS_CLOCK_H
#define VESTIGE_PROCESS_CLOCK_H

#include "abi/area.h"

/* Which clock stamps records here: the TSC where the kernel itself relies on it. */
enum area_clock_id clock_choose(void);

/*
 * Whether reading the area's clock is a system call, because the vdso cannot read the kernel's
 * clock source.
 */
int clock_makes_calls(void);

/* clock_from_ns() - the same time in the area's clock, by the pairs so far. Normal context. */
uint64_t clock_from_ns(uint64_t ns);

/*
 * clock_unit_ns() - ns that a unit of the area's clock takes, << 32, by the pairs so far. Normal
 * context.
 */
uint64_t clock_unit_ns(void);

/* clock_offset() - ns by which the clock @id is ahead of CLOCK_MONOTONIC now. Normal context. */
int64_t clock_offset(int id);

/*
 * clock_add_pair() - add one moment on both clocks to AREA_CLOCKS: the best of a few hundred
 * bracketed readings, about 10 us. Constructor and destructor context.
 */
void clock_add_pair(void);

#endif
