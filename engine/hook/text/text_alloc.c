/* SPDX-License-Identifier: MIT */
/*
 * See text_alloc.h. Owns pages, mapped at free addresses to which a jump can lead, and a tree of
 * the bytes in use (range_tree.h). An island may begin at any address and cross a page. Pages are
 * kept: the next island often fits. Control context; fork: the child has the same.
 * Tests: tests/unit/test_range_tree.c, tests/engine/events/inner.
 */
#include "engine/hook/text/text_alloc.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/text_patch.h"
#include "engine/hook/text/near_map.h"
#include "engine/hook/text/range_tree.h"

#define PAGE	  UINT64_C(4096)
#define CHUNK	  (16 * PAGE) /* mapped at once if there is room */
#define MAX_TRIES 256u
#define WIDE	  UINT64_C(0x40000000) /* for a range of at least this size near_map() is used */

static struct range_tree room;

/* Make the page at @at ours, if it is not. Return: whether it is. */
static int own_page(uint64_t at, int narrow)
{
	long m;

	if (range_tree_has(&room, at))
		return 1;
	m = sys_mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_failed(m))
		return 0;
	/* a kernel before 4.17 takes the address as a hint */
	if ((uint64_t)m == at && !range_tree_add(&room, at, at + PAGE, narrow))
		return 1;
	sys_munmap((void *)m, PAGE);
	return 0;
}

/* Take @bytes at @at exactly, in pages that are mapped if needed. */
static uint64_t try_place(uint64_t at, uint32_t bytes, int narrow)
{
	if (!own_page(at & ~(PAGE - 1), narrow) ||
	    !own_page((at + bytes - 1) & ~(PAGE - 1), narrow))
		return 0;
	return range_tree_take(&room, at, at, bytes, 1);
}

/* Take @bytes in @n bytes of new memory near the text, within the bounds. */
static uint64_t try_near(uint64_t lo, uint64_t hi, uint32_t bytes, uint64_t text_lo,
			 uint64_t text_hi, uint64_t n)
{
	uint64_t near = (uint64_t)near_map(text_lo, text_hi, n), at = near > lo ? near : lo;

	if (!near)
		return 0;
	if (at <= hi && at + bytes <= near + n && !range_tree_add(&room, near, near + n, 0))
		return range_tree_take(&room, lo, hi, bytes, 0);
	sys_munmap((void *)near, n);
	return 0;
}

uint64_t text_alloc_get(uint64_t lo, uint64_t hi, uint32_t bytes, uint64_t text_lo,
			uint64_t text_hi)
{
	int narrow = hi - lo < TEXT_ROOMY;
	uint64_t at = range_tree_take(&room, lo, hi, bytes, narrow), step, got;

	if (at)
		return at;
	if (hi - lo >= WIDE) {
		/* a single page may be nearer, in a gap between objects */
		at = try_near(lo, hi, bytes, text_lo, text_hi, CHUNK);
		return at ? at : try_near(lo, hi, bytes, text_lo, text_hi, PAGE);
	}
	step = ((hi - lo) / MAX_TRIES + PAGE) & ~(PAGE - 1);
	for (at = lo; at <= hi; at = (at & ~(PAGE - 1)) + step) {
		got = try_place(at, bytes, narrow);
		if (got)
			return got;
	}
	return 0;
}

void text_alloc_put(uint64_t at)
{
	range_tree_give(&room, at);
}

int text_alloc_write(uint64_t at, const uint8_t *from, uint32_t bytes)
{
	uint64_t lo = at & ~(PAGE - 1), hi = (at + bytes + PAGE - 1) & ~(PAGE - 1);
	int err = text_open(lo, hi);

	if (err)
		return err;
	memcpy(text_at((void *)at), from, bytes);
	return text_seal((void *)lo, hi - lo);
}
