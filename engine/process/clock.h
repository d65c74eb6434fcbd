/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_PROCESS_CLOCK_H
#define VESTIGE_PROCESS_CLOCK_H

#include "abi/area.h"

/*
 * clock_choose() - choose the clock of this process's stamps: the TSC if the kernel itself relies
 * on it. Finds the vDSO's function for the kernel's clocks, too. Constructor context.
 */
enum area_clock_id clock_choose(void);

/*
 * Whether reading the area's clock is a system call, because the vdso cannot read the kernel's
 * clock source.
 */
int clock_makes_calls(void);

/*
 * clock_from_ns() - convert CLOCK_MONOTONIC @ns to the area's clock, by the pairs so far. Normal
 * context.
 */
uint64_t clock_from_ns(uint64_t ns);

/*
 * clock_unit_ns() - the length of a unit of the area's clock in ns << 32, by the pairs so far.
 * Normal context.
 */
uint64_t clock_unit_ns(void);

/* clock_offset() - the difference of clock @id from CLOCK_MONOTONIC now, in ns. Normal context. */
int64_t clock_offset(int id);

/*
 * clock_add_pair() - add a pair to AREA_CLOCKS: the best of a few hundred bracketed reads, about 10
 * us. Constructor and destructor context.
 */
void clock_add_pair(void);

#endif
