/* SPDX-License-Identifier: MIT */
/* The counter behind the stamps: the TSC, where it is invariant. */
#ifndef VESTIGE_ARCH_CLOCK_H
#define VESTIGE_ARCH_CLOCK_H

#include <stdint.h>

#include "arch_cpuid.h"

/* Unordered, for the hooks. About 11 ns under a hypervisor, which is most of a record's cost. */
static inline uint64_t arch_clock_read(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

/* Ordered after all earlier instructions: for calibration. */
static inline uint64_t arch_clock_read_ordered(void)
{
	__asm__ volatile("lfence" ::: "memory");
	return arch_clock_read();
}

/* Whether the counter ticks at one rate through every power state (CPUID 8000_0007h EDX bit 8). */
static inline int arch_clock_invariant(void)
{
	return arch_cpuid(0x80000007).d >> 8 & 1;
}

/* The text of /sys/.../current_clocksource where the kernel itself uses the counter. */
#define ARCH_CLOCKSOURCE "tsc"

/* The vDSO's name of clock_gettime(), vdso(7). */
#define ARCH_VDSO_CLOCK "__vdso_clock_gettime"

#endif
