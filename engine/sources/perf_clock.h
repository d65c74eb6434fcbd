/* SPDX-License-Identifier: MIT */
/* The times of perf's records (CLOCK_MONOTONIC) as stamps of the area. Under the tree's lock. */
#ifndef VESTIGE_SOURCES_PERF_CLOCK_H
#define VESTIGE_SOURCES_PERF_CLOCK_H

#include <stdint.h>

/* Read both clocks: before records are turned. */
void perf_clock_look(void);

/* CLOCK_MONOTONIC at the last look, ns. */
uint64_t perf_clock_now(void);

/* @ns: CLOCK_MONOTONIC, of the last seconds. Return: the stamp. */
uint64_t perf_clock_stamp(uint64_t ns);

#endif
