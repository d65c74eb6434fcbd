/* SPDX-License-Identifier: MIT */
/* The CPUID instruction. */
#ifndef VESTIGE_ARCH_CPUID_H
#define VESTIGE_ARCH_CPUID_H

#include <stdint.h>

struct arch_cpuid {
	uint32_t a, b, c, d;
};

/* CPUID leaf @leaf, subleaf 0. All zero if the processor does not have the leaf. Any context. */
static inline struct arch_cpuid arch_cpuid(uint32_t leaf)
{
	struct arch_cpuid r = {.a = leaf & 0x80000000}, none = {0};

	__asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
	if (r.a < leaf)
		return none;
	r.a = leaf;
	r.c = 0;
	__asm__ volatile("cpuid" : "+a"(r.a), "=b"(r.b), "+c"(r.c), "=d"(r.d));
	return r;
}

#endif
