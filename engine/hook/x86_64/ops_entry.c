/* SPDX-License-Identifier: MIT */
/*
 * The processor's state that a callback may change: all enabled components except protection keys
 * and AMX tiles, which compiled C does not touch by itself. Read once, when a callback is first
 * wanted: in a virtual machine each cpuid is an exit to its host, of some microseconds.
 */
#include <assert.h>
#include <cpuid.h>
#include <stddef.h>

#include "engine/core/ops.h"
#include "engine/hook/port.h"
#include "engine/hook/x86_64/offsets.h"

#define XFEATURE_MASK UINT64_C(0xe7) /* x87, SSE, AVX, AVX-512 */

uint64_t ops_xsave_bytes = 512;
uint64_t ops_xsave_mask;
uint32_t ops_xsave_how;

static_assert(offsetof(struct ops_frame, ip) == OPS_FRAME_IP, "OPS_FRAME_IP");

void ops_entry_start(void)
{
	uint32_t a, b, c, d, lo, hi, i;
	uint64_t bytes = 576;
	static int started;

	if (started)
		return;
	started = 1;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	ops_xsave_mask = ((uint64_t)hi << 32 | lo) & XFEATURE_MASK;
	/* the end of the last component; the compacted form needs less */
	for (i = 2; i < 63; i++) {
		if (!(ops_xsave_mask >> i & 1))
			continue;
		__cpuid_count(0xd, i, a, b, c, d);
		if (b + a > bytes)
			bytes = (uint64_t)b + a;
	}
	__cpuid_count(0xd, 1, a, b, c, d);
	ops_xsave_how = a & 2 ? 2 : 1;
	ops_xsave_bytes = (bytes + 63) & ~UINT64_C(63);
}
