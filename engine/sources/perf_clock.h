/* SPDX-License-Identifier: MIT */
/*
 * Converts the times of perf's records (CLOCK_MONOTONIC) to stamps of the area. Under the tree
 * lock.
 */
#ifndef VESTIGE_SOURCES_PERF_CLOCK_H
#define VESTIGE_SOURCES_PERF_CLOCK_H

#include <stdint.h>

/* Read both clocks. Call it before records are converted. */
void perf_clock_look(void);

/* CLOCK_MONOTONIC at the last perf_clock_look(), ns. */
uint64_t perf_clock_now(void);

/* Convert @ns, CLOCK_MONOTONIC, of the last seconds. Return: the stamp. */
uint64_t perf_clock_stamp(uint64_t ns);

#endif
