/* SPDX-License-Identifier: MIT */
/*
 * See text_alloc.h. Single pages, mapped where a jump can lead and nothing else is, each with a bit
 * for every byte that is taken. An island may begin at any address and lie in two pages. Pages are
 * kept: there are few, and the next island often fits. Control context; fork: the child has the
 * same. Tests: tests/engine/events/inner.
 */
#include "engine/hook/text/text_alloc.h"

#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/process/heap.h"
#include "engine/hook/text/near_map.h"

#define PAGE	  UINT64_C(4096)
#define STEP	  16u /* between addresses that are tried */
#define MAX_TRIES 256u
#define WIDE	  UINT64_C(0x40000000) /* a range in which near_map() looks */

struct page {
	struct page *next;
	uint64_t at;
	int narrow; /* of a range that left no choice: others will want to be beside it */
	uint64_t taken[PAGE / 64];
};

static struct page *pages;

static struct page *page_of(uint64_t address)
{
	struct page *p;

	for (p = pages; p; p = p->next)
		if (p->at == (address & ~(PAGE - 1)))
			return p;
	return NULL;
}

static struct page *add_page(uint64_t at, int narrow)
{
	struct page *p = heap_alloc(sizeof(*p));

	if (!p)
		return NULL;
	p->at = at;
	p->narrow = narrow;
	p->next = pages;
	pages = p;
	return p;
}

/* The page is ours, or becomes it. */
static struct page *get_page(uint64_t address, int narrow)
{
	struct page *p = page_of(address);
	uint64_t at = address & ~(PAGE - 1);
	long m;

	if (p)
		return p;
	m = sys_mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (sys_failed(m))
		return NULL;
	p = (uint64_t)m == at ? add_page(at, narrow) : NULL;
	if (!p)
		sys_munmap((void *)m, PAGE);
	return p;
}

enum act { LOOK, TAKE, GIVE };

/* Each byte of an island. Return: whether one of them was taken before. */
static int each_byte(uint64_t at, uint32_t bytes, enum act act)
{
	uint64_t a;
	int taken = 0;

	for (a = at; a < at + bytes; a++) {
		struct page *p = page_of(a);
		uint32_t i = (uint32_t)(a & (PAGE - 1));
		uint64_t bit = UINT64_C(1) << (i % 64);

		if (!p)
			continue;
		taken |= (p->taken[i / 64] & bit) != 0;
		if (act == TAKE)
			p->taken[i / 64] |= bit;
		else if (act == GIVE)
			p->taken[i / 64] &= ~bit;
	}
	return taken;
}

static int try_at(uint64_t at, uint32_t bytes, int narrow)
{
	if (each_byte(at, bytes, LOOK) || !get_page(at, narrow) ||
	    !get_page(at + bytes - 1, narrow))
		return 0;
	each_byte(at, bytes, TAKE);
	return 1;
}

/* In a page that is ours. */
static uint64_t try_page(const struct page *p, uint64_t lo, uint64_t hi, uint32_t bytes)
{
	uint64_t at = lo > p->at ? lo : p->at, end = p->at + PAGE - bytes;

	for (; at <= hi && at <= end; at = (at | (STEP - 1)) + 1)
		if (try_at(at, bytes, p->narrow))
			return at;
	return 0;
}

uint64_t text_alloc_get(uint64_t lo, uint64_t hi, uint32_t bytes, uint64_t text_lo,
			uint64_t text_hi)
{
	int narrow = hi - lo < TEXT_ROOMY;
	uint64_t at, step;
	struct page *p;

	for (p = pages; p; p = p->next) {
		if (p->narrow && !narrow)
			continue;
		at = try_page(p, lo, hi, bytes);
		if (at)
			return at;
	}
	if (hi - lo >= WIDE) {
		void *near = near_map(text_lo, text_hi, PAGE);

		p = near ? add_page((uint64_t)near, 0) : NULL;
		return p ? try_page(p, lo, hi, bytes) : 0;
	}
	step = ((hi - lo) / MAX_TRIES + PAGE) & ~(PAGE - 1);
	for (at = lo; at <= hi; at = (at & ~(PAGE - 1)) + step)
		if (try_at(at, bytes, narrow))
			return at;
	return 0;
}

void text_alloc_put(uint64_t at, uint32_t bytes)
{
	each_byte(at, bytes, GIVE);
}

int text_alloc_write(uint64_t at, const uint8_t *from, uint32_t bytes)
{
	uint64_t lo = at & ~(PAGE - 1), hi = (at + bytes + PAGE - 1) & ~(PAGE - 1);
	int err = sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);

	if (err)
		return err;
	memcpy((void *)at, from, bytes);
	return sys_mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC);
}
