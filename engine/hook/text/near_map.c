/* SPDX-License-Identifier: MIT */
/*
 * Memory within 2 GiB of a text. It tries addresses with MAP_FIXED_NOREPLACE instead of reading
 * /proc/self/maps, which may not exist: first below the object (above a program is its heap), in
 * growing steps. Tests: tests/engine/hooks.
 */
#include "engine/hook/text/near_map.h"

#include "engine/arch/sys.h"

#define REACH	 UINT64_C(0x7fff0000)
#define LOWEST	 UINT64_C(0x10000)
#define HEAP_GAP UINT64_C(0x40000000)

static void *try_at(uint64_t addr, size_t bytes)
{
	long p = sys_mmap((void *)addr, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (sys_failed(p))
		return NULL;
	if ((uint64_t)p != addr) { /* a kernel before 4.17 takes the address as a hint */
		sys_munmap((void *)p, bytes);
		return NULL;
	}
	return (void *)p;
}

/* Steps of 64 KiB near the text, longer ones farther away: at most about 2,000 tries. */
static uint64_t next_step(uint64_t distance)
{
	return distance < UINT64_C(0x1000000) ? 0x10000 : 0x100000;
}

void *near_map(uint64_t lo, uint64_t hi, size_t bytes)
{
	uint64_t lowest = hi > REACH ? hi - REACH : 0;
	uint64_t highest = lo + REACH;
	uint64_t at, distance;
	void *p;

	bytes = (bytes + 4095) & ~(size_t)4095;
	lo &= ~UINT64_C(0xfff);
	if (lowest < LOWEST)
		lowest = LOWEST;
	for (distance = bytes + 0x10000; distance < lo && lo - distance >= lowest;
	     distance += next_step(distance)) {
		p = try_at(lo - distance, bytes);
		if (p)
			return p;
	}
	for (distance = HEAP_GAP; hi + distance + bytes < highest; distance += 0x100000) {
		at = (hi + distance) & ~UINT64_C(0xfff);
		p = try_at(at, bytes);
		if (p)
			return p;
	}
	return NULL;
}
